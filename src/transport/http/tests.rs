//! The client against the listener, and against servers that misbehave.

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::transport::{
    Careless, Carrier, Connection, Exchange, Form, Frame, Go, Headers, Mark, Redirect, Referee, ReplyHead, Verb, header,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Stops at heads, redirects, or neither.
#[derive(Debug)]
struct Strict {
    head: Go,
    redirect: Go,
}

impl Referee for Strict {
    fn head(&self, _: Exchange, _: &ReplyHead) -> Go {
        self.head
    }

    fn redirect(&self, _: Exchange, _: &Redirect) -> Go {
        self.redirect
    }
}

fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn request(exchange: u64, verb: Verb, pairs: &[(&str, &str)], body: &'static str) -> Frame {
    let carrier = Carrier::Request { verb, headers: headers(pairs) };
    Frame { exchange: Exchange(exchange), carrier, body: body.into() }
}

async fn pair() -> (Connection, Connection) {
    let Listener { url, connection } = Listener::bind().await.unwrap();
    (connect(&url, Arc::new(Careless)), connection)
}

async fn next(connection: &mut Connection) -> Frame {
    connection.incoming.recv().await.expect("a frame")
}

/// The next reply: its exchange, status, form and text.
async fn reply(client: &mut Connection) -> (u64, u16, Form, String) {
    let frame = next(client).await;
    let Carrier::Reply { head, form, .. } = frame.carrier else { panic!("not a reply: {frame:?}") };
    (frame.exchange.0, head.status, form, String::from_utf8(frame.body.to_vec()).unwrap())
}

fn seen(exchange: u64, status: u16, form: Form, text: &str) -> (u64, u16, Form, String) {
    (exchange, status, form, text.to_owned())
}

/// A server that takes one connection and gives each request on it the next of
/// the `answers`, then closes.
async fn raw(answers: &'static [&'static str]) -> String {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", socket.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = socket.accept().await.unwrap();
        drop(socket);
        for answer in answers {
            let mut asked = Vec::new();
            while !asked.ends_with(CALL.as_bytes()) {
                stream.read_buf(&mut asked).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn whole_json_there_and_back() {
    let (mut client, mut server) = pair().await;
    let given = [("authorization", "Bearer t"), ("mcp-session-id", "s"), ("connection", "close")];
    client.outgoing.send(request(42, Verb::Post, &given, CALL)).await.unwrap();

    let asked = next(&mut server).await;
    assert_eq!((asked.exchange, &asked.body[..]), (Exchange(1), CALL.as_bytes()));
    let got = asked.request_headers().unwrap();
    assert_eq!(header(got, "authorization"), Some("Bearer t"));
    assert_eq!(header(got, "mcp-session-id"), Some("s"));
    assert_eq!(header(got, "accept"), Some("application/json, text/event-stream"));
    assert_eq!(header(got, "content-type"), Some("application/json"));
    assert!(header(got, "host").unwrap().starts_with("127.0.0.1:"));
    assert_eq!((header(got, "connection"), header(got, "content-length")), (None, None));

    server.outgoing.send(Frame::line(asked.exchange, r#"{"id":1,"result":{"n":5.0}}"#)).await.unwrap();
    let answer = next(&mut client).await;
    assert_eq!(answer.reply_head().unwrap().headers, headers(&[("content-type", "application/json")]));
    assert_eq!((answer.exchange, &answer.body[..]), (Exchange(42), &br#"{"id":1,"result":{"n":5.0}}"#[..]));
}

#[tokio::test]
async fn events_arrive_one_by_one() {
    let (mut client, mut server) = pair().await;
    client.outgoing.send(Frame::line(Exchange(7), CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    server.outgoing.send(event(asked, headers(&[("mcp-session-id", "s")]), "{\n}")).await.unwrap();
    let first = next(&mut client).await;
    let head = first.reply_head().unwrap();
    assert_eq!((first.exchange, &first.body[..]), (Exchange(7), &b"{\n}"[..]));
    assert_eq!(header(&head.headers, "mcp-session-id"), Some("s"));
    assert_eq!(header(&head.headers, "content-type"), Some("text/event-stream"));
    server.outgoing.send(event(asked, Headers::new(), "[]")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(7, 200, Form::Event, "[]"));
    server.outgoing.send(end(asked)).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(7, 200, Form::End, ""));
}

#[tokio::test]
async fn a_notification_is_accepted_before_the_next_request_goes_out() {
    let (mut client, mut server) = pair().await;
    client.outgoing.send(Frame::line(Exchange(1), NOTE)).await.unwrap();
    client.outgoing.send(Frame::line(Exchange(2), CALL)).await.unwrap();
    let note = next(&mut server).await;
    assert_eq!(note.body, NOTE);
    server.outgoing.send(accepted(note.exchange)).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(1, 202, Form::Whole, ""));
    let call = next(&mut server).await;
    server.outgoing.send(whole(call.exchange, 404, Headers::new(), "no session")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(2, 404, Form::Whole, "no session"));
}

#[tokio::test]
async fn requests_run_side_by_side() {
    let (mut client, mut server) = pair().await;
    client.outgoing.send(Frame::line(Exchange(1), CALL)).await.unwrap();
    let first = next(&mut server).await.exchange;
    client.outgoing.send(Frame::line(Exchange(2), CALL)).await.unwrap();
    let second = next(&mut server).await.exchange;
    server.outgoing.send(Frame::line(second, "2")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(2, 200, Form::Whole, "2"));
    server.outgoing.send(Frame::line(first, "1")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(1, 200, Form::Whole, "1"));
}

#[tokio::test]
async fn redirects_are_followed_with_everything() {
    for status in [301, 302, 303, 307, 308] {
        let (mut client, mut server) = pair().await;
        let mut other = Listener::bind().await.unwrap();
        let given = [("authorization", "Bearer t"), ("host", "localhost:1")];
        client.outgoing.send(request(3, Verb::Post, &given, CALL)).await.unwrap();

        // To the same server, by a relative reference, and from there elsewhere.
        for location in ["mcp?again", other.url.as_str()] {
            let asked = next(&mut server).await;
            let to = headers(&[("location", location)]);
            server.outgoing.send(whole(asked.exchange, status, to, "")).await.unwrap();
        }
        let asked = next(&mut other.connection).await;
        let got = asked.request_headers().unwrap();
        assert!(matches!(asked.carrier, Carrier::Request { verb: Verb::Post, .. }));
        assert_eq!((header(got, "authorization"), &asked.body[..]), (Some("Bearer t"), CALL.as_bytes()));
        assert!(other.url.contains(header(got, "host").unwrap()), "asks the other server by its name");
        other.connection.outgoing.send(Frame::line(asked.exchange, "{}")).await.unwrap();
        assert_eq!(reply(&mut client).await, seen(3, 200, Form::Whole, "{}"));
    }
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let (mut client, mut server) = pair().await;
    client.outgoing.send(Frame::line(Exchange(3), CALL)).await.unwrap();
    for _ in 0..=10 {
        let asked = next(&mut server).await.exchange;
        server.outgoing.send(whole(asked, 307, headers(&[("location", "/mcp")]), "")).await.unwrap();
    }
    assert_eq!(reply(&mut client).await, seen(3, UNREACHABLE, Form::Whole, "more than 10 redirects"));
}

#[tokio::test]
async fn the_referee_stops_redirects_and_heads() {
    let Listener { url, connection: mut server } = Listener::bind().await.unwrap();
    let mut client = connect(&url, Arc::new(Strict { head: Go::On, redirect: Go::Stop }));
    client.outgoing.send(Frame::line(Exchange(3), CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    server.outgoing.send(whole(asked, 302, headers(&[("location", "http://169.254.169.254/")]), "")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(3, 302, Form::Stopped, ""));

    let mut client = connect(&url, Arc::new(Strict { head: Go::Stop, redirect: Go::On }));
    client.outgoing.send(Frame::line(Exchange(4), CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    server.outgoing.send(whole(asked, 200, headers(&[("content-type", "text/html")]), "<html>")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(4, 200, Form::Stopped, ""));
}

#[tokio::test]
async fn what_cannot_be_reached_is_said_as_a_reply() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [format!("http://{free}/mcp"), "https://localhost/mcp".to_owned(), "file:///mcp".to_owned()] {
        let mut client = connect(&url, Arc::new(Careless));
        client.outgoing.send(Frame::line(Exchange(3), CALL)).await.unwrap();
        let (exchange, status, form, _) = reply(&mut client).await;
        assert_eq!((exchange, status, form), (3, UNREACHABLE, Form::Whole), "{url}");
    }
    let mut client = connect("no url", Arc::new(Careless));
    assert_eq!(client.incoming.recv().await, None);
    assert!(client.close_reason() != crate::transport::Close::Ended);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_unreachable_too() {
    let (mut client, mut server) = pair().await;
    client.outgoing.send(Frame::line(Exchange(3), CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    server.outgoing.send(event(asked, Headers::new(), "{}")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(3, 200, Form::Event, "{}"));
    server.outgoing.send(whole(asked, 500, Headers::new(), "")).await.unwrap();
    let (exchange, status, form, _) = reply(&mut client).await;
    assert_eq!((exchange, status, form), (3, UNREACHABLE, Form::Whole));

    let url = raw(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}"]).await;
    let mut client = connect(&url, Arc::new(Careless));
    client.outgoing.send(Frame::line(Exchange(4), CALL)).await.unwrap();
    let (exchange, status, form, _) = reply(&mut client).await;
    assert_eq!((exchange, status, form), (4, UNREACHABLE, Form::Whole));
}

#[tokio::test]
async fn connections_are_used_again() {
    let url = raw(&[
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nb\r\ndata: a\r\n\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 500 Oops\r\ncontent-length: 1\r\n\r\n3",
    ])
    .await;
    let mut client = connect(&url, Arc::new(Careless));
    client.outgoing.send(Frame::line(Exchange(1), CALL)).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(1, 200, Form::Whole, "1"));
    client.outgoing.send(Frame::line(Exchange(2), CALL)).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(2, 200, Form::Event, "a"));
    assert_eq!(reply(&mut client).await, seen(2, 200, Form::End, ""));
    client.outgoing.send(Frame::line(Exchange(3), CALL)).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(3, 500, Form::Whole, "3"));
}

#[tokio::test]
async fn a_get_stream_carries_what_the_server_says_unasked() {
    let (mut client, mut server) = pair().await;
    server.outgoing.send(Frame::line(Exchange::NONE, "early")).await.unwrap();
    client.outgoing.send(request(5, Verb::Get, &[], "")).await.unwrap();
    let asked = next(&mut server).await;
    let got = asked.request_headers().unwrap();
    assert!(matches!(asked.carrier, Carrier::Request { verb: Verb::Get, .. }));
    assert_eq!((header(got, "accept"), header(got, "content-type")), (Some("text/event-stream"), None));
    server.outgoing.send(open_stream(asked.exchange, Headers::new())).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(5, 200, Form::Event, ""));
    assert_eq!(reply(&mut client).await, seen(5, 200, Form::Event, "early"));
    server.outgoing.send(Frame::line(Exchange::NONE, NOTE)).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(5, 200, Form::Event, NOTE));
    drop(server);
    assert_eq!(reply(&mut client).await, seen(5, 200, Form::End, ""));
}

#[tokio::test]
async fn what_was_accepted_is_sent_although_the_owner_is_gone() {
    let (client, mut server) = pair().await;
    client.outgoing.send(request(1, Verb::Delete, &[], "")).await.unwrap();
    drop(client);
    assert!(matches!(next(&mut server).await.carrier, Carrier::Request { verb: Verb::Delete, .. }));

    let (mut client, mut server) = pair().await;
    client.outgoing.send(Frame::line(Exchange(2), CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    server.outgoing.send(Frame::line(asked, "{}")).await.unwrap();
    drop(server);
    assert_eq!(reply(&mut client).await, seen(2, 200, Form::Whole, "{}"));
}

#[tokio::test]
async fn events_keep_their_marks() {
    let (mut client, mut server) = pair().await;
    client.outgoing.send(request(5, Verb::Post, &[], CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    let mark = |id: &str, retry| Some(Arc::new(Mark { id: Some(id.to_owned()), retry }));
    let marked = |mark, body: &'static str| {
        let mut frame = event(asked, Headers::new(), body);
        if let Carrier::Reply { mark: none, .. } = &mut frame.carrier {
            *none = mark;
        }
        frame
    };
    for frame in [marked(mark("a:0", Some(250)), ""), marked(mark("a:1", None), "{}"), end(asked)] {
        server.outgoing.send(frame).await.unwrap();
    }
    let mut heard = Vec::new();
    for _ in 0..3 {
        let frame = next(&mut client).await;
        heard.push((frame.mark().cloned(), String::from_utf8(frame.body.to_vec()).unwrap()));
    }
    let id = |id: &str, retry| Some(Mark { id: Some(id.to_owned()), retry });
    let wanted = [(id("a:0", Some(250)), ""), (id("a:1", None), "{}"), (None, "")];
    assert_eq!(heard, wanted.map(|(mark, body)| (mark, body.to_owned())));
}

#[tokio::test]
async fn whoever_goes_away_is_told_of_and_may_be_called_off() {
    let (client, mut server) = pair().await;
    client.outgoing.send(request(5, Verb::Get, &[], "")).await.unwrap();
    client.outgoing.send(request(6, Verb::Post, &[], CALL)).await.unwrap();
    let mut asked = [next(&mut server).await, next(&mut server).await];
    asked.sort_by_key(|frame| !matches!(frame.carrier, Carrier::Request { verb: Verb::Get, .. }));
    server.outgoing.send(open_stream(asked[0].exchange, Headers::new())).await.unwrap();
    let gone = |exchange| Frame { exchange, carrier: Carrier::Gone, body: Bytes::new() };
    for (own, theirs) in [(6, asked[1].exchange), (5, asked[0].exchange)] {
        client.outgoing.send(gone(Exchange(own))).await.unwrap();
        assert_eq!(next(&mut server).await, gone(theirs));
    }
}

#[tokio::test]
async fn the_listener_serves_one_path_and_forgets_who_left() {
    let Listener { url, connection: mut server } = Listener::bind().await.unwrap();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let announced = (BODY_CAP + 1).to_string();
    for (line, length, status) in
        [("GET /.well-known/x", "0", "404"), ("PUT /mcp", "0", "405"), ("POST /mcp", announced.as_str(), "413")]
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }

    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    let gone = next(&mut server).await.exchange;
    drop(stream);
    server.outgoing.send(Frame::line(gone, "nobody reads this")).await.unwrap();
    server.outgoing.send(Frame::line(Exchange(999), "nor this")).await.unwrap();

    let mut client = connect(&url, Arc::new(Careless));
    client.outgoing.send(Frame::line(Exchange(1), CALL)).await.unwrap();
    let asked = next(&mut server).await.exchange;
    assert!(asked > gone);
    server.outgoing.send(Frame::line(asked, "{}")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(1, 200, Form::Whole, "{}"));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_broken_off_and_holds_nobody_up() {
    let Listener { url, connection: mut server } = Listener::bind().await.unwrap();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut deaf = TcpStream::connect(address).await.unwrap();
    deaf.write_all(b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n").await.unwrap();
    let stream = next(&mut server).await.exchange;
    server.outgoing.send(open_stream(stream, Headers::new())).await.unwrap();

    // More than the stream and the kernel together hold.
    let megabyte = Bytes::from(vec![b'x'; 1 << 20]);
    for _ in 0..64 {
        server.outgoing.send(event(stream, Headers::new(), megabyte.clone())).await.unwrap();
    }
    let mut client = connect(&url, Arc::new(Careless));
    client.outgoing.send(request(1, Verb::Post, &[], CALL)).await.unwrap();
    let asked = loop {
        // The other one's end is told as well.
        let frame = next(&mut server).await;
        if frame.carrier != Carrier::Gone {
            break frame.exchange;
        }
    };
    server.outgoing.send(whole(asked, 200, Headers::new(), "{}")).await.unwrap();
    assert_eq!(reply(&mut client).await, seen(1, 200, Form::Whole, "{}"));

    // What had been written arrives, and then the connection is gone.
    let mut heard = Vec::new();
    let _ = deaf.read_to_end(&mut heard).await;
    assert!(heard.len() < 48 << 20, "{} bytes waited for it", heard.len());
}
