//! A server that makes noise, answers late and out of order, and dies when asked.

use std::{
    fmt::Write as _,
    io::{self, BufRead, BufReader, Read as _, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// How late a slow answer is.
const LATE: Duration = Duration::from_millis(20);

/// What is said where nobody asked, every so often. A reply under an id that nobody
/// asked with is left out: where a single request waits, the gate takes it for its
/// answer, which it refuses (`reply-correlation`, rule `wrong-id`).
const NOISE: [&str; 4] = [
    "server: ready to serve",
    r#"{"level":"info","msg":"a line of a log"}"#,
    r#"{"jsonrpc":"2.0","id":"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"noise"}}"#,
];

fn tools() -> Value {
    let tool = |name: &&str| {
        let properties = json!({ "word": { "type": "string" }, "times": { "type": "integer" } });
        json!({ "name": name, "description": "Says a word.", "inputSchema": { "type": "object", "properties": properties } })
    };
    ["echo", "slow", "climb", "die", "forbidden"].iter().map(tool).collect()
}

/// What is asked for, and what comes of it: messages before the reply, the reply,
/// and whether it comes late. Nothing at all where the server dies of it.
struct Answer {
    before: Vec<Value>,
    reply: Option<Value>,
    late: bool,
    dies: bool,
}

fn answer(asked: &str) -> Answer {
    let none = Answer { before: Vec::new(), reply: None, late: false, dies: false };
    let Ok(asked) = serde_json::from_str::<Value>(asked) else { return none };
    let id = asked["id"].clone();
    if id.is_null() {
        return none;
    }
    let params = &asked["params"];
    let result = match (asked["method"].as_str(), params["name"].as_str()) {
        (Some("tools/call"), Some("die")) => return Answer { dies: true, ..none },
        (Some("tools/call"), Some("forbidden")) => json!({ "content": [{ "type": "text", "text": "leaked" }] }),
        (Some("tools/call"), _) => {
            let word = params["arguments"]["word"].as_str().unwrap_or_default();
            let times = params["arguments"]["times"].as_u64().unwrap_or(1);
            json!({ "content": [{ "type": "text", "text": format!("{word} ").repeat(usize::try_from(times).unwrap_or(1)) }] })
        }
        (Some("tools/list"), _) => json!({ "tools": tools() }),
        (Some("initialize"), _) => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "logging": {} }, "serverInfo": { "name": "shelf", "version": "1" } })
        }
        _ => json!({}),
    };
    let climbs = params["name"] == "climb";
    let token = &params["_meta"]["progressToken"];
    let progress = |reached: u32| json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": token, "progress": reached } });
    Answer {
        before: if climbs { (1..=3).map(progress).collect() } else { Vec::new() },
        reply: Some(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        late: params["name"] == "slow",
        dies: false,
    }
}

/// Serves one client on standard input and output.
#[expect(clippy::exit, reason = "a server that dies does not tidy up")]
pub(crate) fn stdio() {
    let output = Arc::new(Mutex::new(io::stdout()));
    let say = |output: &Mutex<io::Stdout>, lines: &[String]| {
        let Ok(mut output) = output.lock() else { return };
        for line in lines {
            let _ = writeln!(output, "{line}");
        }
        let _ = output.flush();
    };
    for (nth, line) in io::stdin().lock().lines().map_while(Result::ok).enumerate() {
        let Answer { before, reply, late, dies } = answer(&line);
        if dies {
            std::process::exit(3);
        }
        if nth % 7 == 6 {
            say(&output, &[NOISE[nth / 7 % NOISE.len()].to_owned()]);
        }
        let lines: Vec<String> = before.into_iter().chain(reply).map(|message| message.to_string()).collect();
        if late {
            let output = Arc::clone(&output);
            thread::spawn(move || {
                thread::sleep(LATE);
                say(&output, &lines);
            });
        } else {
            say(&output, &lines);
        }
    }
}

/// Serves every client on this port (0: a free one), which it prints.
pub(crate) fn http(port: &str) {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).expect("the port is free");
    println!("{}", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicU64::new(0));
    for stream in listener.incoming().flatten() {
        let count = Arc::clone(&count);
        thread::spawn(move || attend(stream, &count));
    }
}

fn attend(stream: TcpStream, count: &AtomicU64) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (first, body) = request(&mut reader)?;
        let nth = count.fetch_add(1, Ordering::Relaxed);
        let Answer { before, reply, late, dies } = answer(&body);
        if dies {
            return None;
        }
        if late {
            thread::sleep(LATE);
        }
        let head = "content-type: text/event-stream\r\ntransfer-encoding: chunked";
        let response = match reply {
            _ if !first.starts_with("POST") => {
                "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            // A stream, with noise in it every so often.
            Some(reply) if !before.is_empty() || nth % 5 == 4 => {
                let noise = usize::try_from(nth / 5).unwrap_or_default() % NOISE.len();
                let noise = format!(": a comment\n\ndata: {}\n\n", NOISE[noise]);
                let mut events = String::new();
                for message in before.iter().chain([&reply]) {
                    let _ = write!(events, "event: message\ndata: {message}\n\n");
                }
                let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
                format!(
                    "HTTP/1.1 200 OK\r\n{head}\r\nmcp-session-id: shelf\r\n\r\n{}{}0\r\n\r\n",
                    chunk(&noise),
                    chunk(&events)
                )
            }
            Some(reply) => {
                let reply = reply.to_string();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: shelf\r\ncontent-length: {}\r\n\r\n{reply}",
                    reply.len()
                )
            }
        };
        reader.get_mut().write_all(response.as_bytes()).ok()?;
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut first, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let text = line.trim_end();
        if first.is_empty() {
            text.clone_into(&mut first);
        } else if text.is_empty() {
            break;
        } else if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).ok()?))
}
