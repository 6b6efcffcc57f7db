//! Every reader of bytes that somebody else wrote, against bytes that nobody would.
//!
//! No bytes make one panic or hang, how they are cut into pieces changes nothing, and
//! where there is another reader or a plain transcription of the specification, both
//! read the same.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail loudly")]

use std::{
    sync::{
        Arc, Once,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use gateproof::{
    guard::audit,
    protocol::{Message, strict},
    transcript::saved,
    transport::{
        Careless, Carrier, Close, Connection, Exchange, Form, Frame,
        http::{self, Listener, sse},
        stdio,
    },
};
use proptest::{collection::vec, prelude::*, sample::Index};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Honest texts, to be damaged.
const TRAFFIC: [&str; 6] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"q":"café 🦀","n":5.0}}}"#,
    r#"{"jsonrpc":"2.0","id":"1","result":{"content":[{"type":"text","text":"\ud83d oops \u0000"}],"isError":false}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no","data":[[],{},1e9]}}"#,
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r\n\u{feff}[1]\n\n\r\r\n",
    "\u{feff}id: a_0\r\nretry: 10\r\ndata:\r\n\r\nevent: message\rdata: {\ndata:}\n\n: ping\n\n",
    "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
];

/// Something done to a text.
#[derive(Clone, Debug)]
enum Damage {
    Put(Index, Vec<u8>),
    Cut(Index, Index),
    Flip(Index, u8),
    Twice(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let piece = prop_oneof![
        vec(any::<u8>(), 1..4),
        "[\\[\\]{}\",:\\\\\r\n 0e.-]{1,4}".prop_map(String::into_bytes),
        Just(b"\xEF\xBB\xBF".to_vec()),
    ];
    prop_oneof![
        (any::<Index>(), piece).prop_map(|(at, piece)| Damage::Put(at, piece)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Damage::Cut(from, to)),
        (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Damage::Twice(from, to)),
    ]
}

fn damaged(text: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    let range = |length: usize, a: &Index, b: &Index| {
        let (a, b) = (a.index(length + 1), b.index(length + 1));
        a.min(b)..a.max(b)
    };
    for damage in damages {
        match damage {
            Damage::Put(at, piece) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, piece.iter().copied());
            }
            Damage::Cut(from, to) => drop(bytes.drain(range(bytes.len(), from, to))),
            Damage::Flip(at, bit) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] ^= bit;
            }
            Damage::Flip(..) => {}
            Damage::Twice(from, to) => {
                let range = range(bytes.len(), from, to);
                let (end, again) = (range.end, bytes[range].to_vec());
                bytes.splice(end..end, again);
            }
        }
    }
    bytes
}

/// Any bytes, or traffic that was damaged.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let mutated =
        (0..TRAFFIC.len(), vec(damage(), 0..4)).prop_map(|(nth, damages)| damaged(TRAFFIC[nth].as_bytes(), &damages));
    let framed = "[a:é \r\n\u{feff}]{0,40}".prop_map(String::into_bytes);
    prop_oneof![2 => mutated, 1 => vec(any::<u8>(), 0..64), 1 => framed]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    vec(1_usize..9, 0..60)
}

/// `bytes` in pieces of these sizes, and the rest.
fn pieces<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes {
        let (piece, rest) = bytes.split_at((*size).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Only bounds a reader that hangs.
    let bounded = async { tokio::time::timeout(Duration::from_secs(20), work).await };
    runtime.block_on(bounded).unwrap_or_else(|_| panic!("it hangs"))
}

/// Panics so far, in any thread: one in a task would pass unseen.
fn panics() -> usize {
    static HOOK: Once = Once::new();
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_ours = info.location().is_some_and(|place| place.file().starts_with("src/"));
            COUNT.fetch_add(usize::from(is_ours), Ordering::SeqCst);
            before(info);
        }));
    });
    COUNT.load(Ordering::SeqCst)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// serde_json is the independent reader.
    #[test]
    fn what_is_json_is_no_matter_of_opinion(bytes in hostile()) {
        let ours = strict::parse(&bytes);
        let theirs = serde_json::from_slice::<&serde_json::value::RawValue>(&bytes);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", String::from_utf8_lossy(&bytes));
        // A view of whatever it is can be asked for.
        let message = Message::new(bytes);
        let _ = (message.shape(), message.id(), message.method(), message.called_tool(), message.damaged_id());
    }

    /// What stands before the damage is read as if there were none.
    #[test]
    fn a_damaged_message_begins_as_the_whole_one(nth in 0..3_usize, at in any::<Index>(), rest in vec(any::<u8>(), 0..6)) {
        let whole = TRAFFIC[nth].as_bytes();
        let at = at.index(whole.len());
        let root = strict::parse(whole).unwrap().root;
        let beginning = strict::beginning(&[&whole[..at], &rest].concat());
        // The rest may go on with the value or the key that stands there.
        let sure = root.members().iter().filter(|member| member.value.span.end < at).count();
        prop_assert!(beginning.len() >= sure);
        for (ours, member) in beginning.iter().zip(root.members()).take(sure) {
            prop_assert_eq!((&ours.key, &ours.value), (&member.key, &member.value));
        }
    }

    /// One message a line, line feed only; see the transport for what is taken off.
    #[test]
    fn lines_are_lines(bytes in hostile(), sizes in sizes()) {
        let mut expected: Vec<Bytes> = Vec::new();
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        for line in text.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                expected.push(line.to_vec().into());
            }
        }
        let got = run(async {
            let (near, mut far) = tokio::io::duplex(16);
            let (reader, writer) = tokio::io::split(near);
            let mut connection = stdio::over(reader, writer);
            let write = async {
                for piece in pieces(&bytes, &sizes) {
                    far.write_all(piece).await.unwrap();
                }
                far.shutdown().await.unwrap();
            };
            let read = async {
                let mut got = Vec::new();
                while let Some(frame) = connection.incoming.recv().await {
                    got.push(frame.body);
                }
                (got, connection.close_reason())
            };
            tokio::join!(write, read).1
        });
        prop_assert_eq!(got, (expected, Close::Ended));
    }

    #[test]
    fn events_are_those_of_the_standard(bytes in hostile(), sizes in sizes()) {
        let mut decoder = sse::Decoder::default();
        let events: Vec<_> = pieces(&bytes, &sizes).into_iter().flat_map(|piece| decoder.feed(piece)).collect();
        prop_assert!(decoder.held() <= bytes.len());
        let messages: Vec<_> = events.into_iter().filter_map(sse::Event::message).map(|data| data.to_vec()).collect();
        prop_assert_eq!(messages, by_the_standard(&bytes));
    }

    #[test]
    fn an_encoded_message_is_one_event(bytes in hostile(), sizes in sizes()) {
        // A line end of any kind arrives as a line feed.
        let mut expected = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => {}
                b'\r' => expected.push(b'\n'),
                other => expected.push(*other),
            }
        }
        let mut decoder = sse::Decoder::default();
        let encoded = sse::encode(&bytes);
        let events: Vec<_> = pieces(&encoded, &sizes).into_iter().flat_map(|piece| decoder.feed(piece)).collect();
        let data: Vec<_> = events.into_iter().map(|event| event.data.unwrap().to_vec()).collect();
        prop_assert_eq!(data, [expected]);
    }

    #[test]
    fn files_are_read_to_their_end(bytes in hostile(), damages in vec(damage(), 0..3)) {
        for text in [
            &br#"{"schema":"gateproof.transcripts/1","gateproof":"0.1.0","corpus":"00","gate":null,"live":null,"trials":1}"#[..],
            br#"{"seq":1,"event":"start","prev":"00","hash":"00"}"#,
            &bytes,
        ] {
            let file = [&damaged(text, &damages)[..], b"\n", &bytes].concat();
            if let Ok(reader) = saved::Reader::new(&file[..]) {
                prop_assert!(reader.count() <= file.len());
            }
            prop_assert!(file.is_empty() || audit::verify(&file[..], None).unwrap().is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever one client writes, the next is served.
    #[test]
    fn a_listener_outlives_its_clients(
        nth in prop_oneof![4 => Just(TRAFFIC.len() - 1), 1 => 0..TRAFFIC.len()],
        damages in vec(damage(), 0..4),
        sizes in sizes(),
    ) {
        let before = panics();
        let bytes = damaged(TRAFFIC[nth].as_bytes(), &damages);
        run(async {
            let Listener { url, connection: Connection { outgoing, mut incoming, tasks, .. } } =
                Listener::bind().await.unwrap();
            let answering = tokio::spawn(async move {
                while let Some(frame) = incoming.recv().await {
                    let answer = http::whole(frame.exchange, 200, Vec::new(), "{}");
                    let _ = outgoing.send(answer).await;
                }
                drop(tasks);
            });
            let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
            let mut client = TcpStream::connect(address).await.unwrap();
            for piece in pieces(&bytes, &sizes) {
                // It may have heard enough.
                let _ = client.write_all(piece).await;
            }
            let _ = client.shutdown().await;
            let mut said = Vec::new();
            let _ = client.read_to_end(&mut said).await;
            let mut next = http::connect(&url, Arc::new(Careless));
            next.outgoing.send(Frame::line(Exchange(1), TRAFFIC[0])).await.unwrap();
            let frame = next.incoming.recv().await.unwrap();
            assert_eq!(frame.reply_head().map(|head| head.status), Some(200));
            answering.abort();
        });
        prop_assert_eq!(panics(), before);
    }

    /// Whatever a server answers, its client learns that the exchange is over.
    #[test]
    fn a_client_outlives_its_servers(
        head in prop_oneof![
            Just("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"id\":1    }"),
            Just("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: {}\n\r\n1\r\n\n\r\n0\r\n\r\n"),
            Just("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"),
        ],
        damages in vec(damage(), 0..4),
        sizes in sizes(),
    ) {
        let before = panics();
        let bytes = damaged(head.as_bytes(), &damages);
        run(async {
            let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", socket.local_addr().unwrap());
            let serving = tokio::spawn(async move {
                let (mut stream, _) = socket.accept().await.unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(TRAFFIC[0].as_bytes()) {
                    stream.read_buf(&mut asked).await.unwrap();
                }
                for piece in pieces(&bytes, &sizes) {
                    let _ = stream.write_all(piece).await;
                }
            });
            let mut client = http::connect(&url, Arc::new(Careless));
            client.outgoing.send(Frame::line(Exchange(1), TRAFFIC[0])).await.unwrap();
            loop {
                let frame = client.incoming.recv().await.unwrap();
                let Carrier::Reply { form, .. } = frame.carrier else { panic!("no reply: {frame:?}") };
                if matches!(form, Form::Whole | Form::End) {
                    break;
                }
            }
            serving.abort();
        });
        prop_assert_eq!(panics(), before);
    }
}

/// The messages of a stream, read as the HTML standard says it (9.2.6), one sentence
/// after another, with the whole stream at hand.
fn by_the_standard(stream: &[u8]) -> Vec<Vec<u8>> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    // Lines end in CRLF, LF or CR; what stands behind the last end is no line.
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < stream.len() {
        match stream[at] {
            b'\r' => {
                lines.push(std::mem::take(&mut line));
                at += usize::from(stream.get(at + 1) == Some(&b'\n'));
            }
            b'\n' => lines.push(std::mem::take(&mut line)),
            byte => line.push(byte),
        }
        at += 1;
    }
    let (mut messages, mut data, mut name) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if line.is_empty() {
            // The data buffer's last line feed is taken off; an empty one is no event.
            if data.pop().is_some() && !data.is_empty() && (name.is_empty() || name == b"message") {
                messages.push(std::mem::take(&mut data));
            }
            data.clear();
            name.clear();
            continue;
        }
        if line[0] == b':' {
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = colon.map_or((&line[..], &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => name = value.to_vec(),
            b"data" => {
                data.extend_from_slice(value);
                data.push(b'\n');
            }
            _ => {}
        }
    }
    messages
}
