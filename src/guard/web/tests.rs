//! The front with scripted ends.

use super::*;
use std::sync::Arc;

use crate::{guard::line::fragile, protocol::ServerName, transport::http::Listener};

/// Opens fragile gates before the server at a URL.
struct Fragile(String);

impl Host for Fragile {
    fn open(&mut self, _: u64) -> Result<Opened, Unopened> {
        let watch = Watch::default();
        let gated = Gated { gate: fragile(&watch), server: ServerName::new("desk"), asks: None };
        Ok(Opened { gated, watch, upstream: Upstream::Url(self.0.clone()) })
    }

    fn close(&mut self, _: u64, _: bool) -> Result<(), Broken> {
        Ok(())
    }
}

fn web() -> Web {
    Web { principals: vec!["authorization".to_owned()], ids: false, most: 2, grace: Duration::from_secs(5) }
}

fn request(exchange: u64, verb: Verb, session: Option<&str>, body: &'static str) -> Frame {
    let headers = session.map(|id| (SESSION.to_owned(), id.to_owned())).into_iter().collect();
    Frame { exchange: Exchange(exchange), carrier: Carrier::Request { verb, headers }, body: body.into() }
}

async fn heard(client: &mut Connection) -> (u64, Option<Form>, String) {
    let frame = client.incoming.recv().await.unwrap();
    let form = match &frame.carrier {
        Carrier::Reply { form, .. } => Some(*form),
        _ => None,
    };
    (frame.exchange.0, form, String::from_utf8(frame.body.to_vec()).unwrap())
}

#[tokio::test]
async fn streams_pass_as_they_come_and_end_with_the_session() {
    let mut server = Listener::bind().await.unwrap();
    let front = Listener::bind().await.unwrap();
    let mut client = http::connect(&front.url, Arc::new(crate::transport::Careless));
    let (web, host, (stop, stopping)) = (web(), Fragile(server.url.clone()), tokio::sync::oneshot::channel::<()>());
    let serving = tokio::spawn(async move {
        let stop = async {
            let _ = stopping.await;
        };
        web.serve(front.connection, host, stop).await
    });
    let open = r#"{"id":1,"method":"initialize"}"#;
    client.outgoing.send(request(1, Verb::Post, None, open)).await.unwrap();
    let asked = server.connection.incoming.recv().await.unwrap();
    let answers = &server.connection.outgoing;
    let given = vec![(SESSION.to_owned(), "s-1".to_owned())];
    answers.send(http::event(asked.exchange, given, r#"{"method":"first"}"#)).await.unwrap();
    assert_eq!(heard(&mut client).await, (1, Some(Form::Event), r#"{"method":"first"}"#.to_owned()));
    // The id counts from the head on, before the stream has ended.
    client.outgoing.send(request(2, Verb::Get, Some("s-1"), "")).await.unwrap();
    let stream = server.connection.incoming.recv().await.unwrap();
    answers.send(http::open_stream(stream.exchange, Headers::new())).await.unwrap();
    assert_eq!(heard(&mut client).await, (2, Some(Form::Event), String::new()));
    answers.send(Frame::line(Exchange::NONE, r#"{"method":"unasked"}"#)).await.unwrap();
    assert_eq!(heard(&mut client).await, (2, Some(Form::Event), r#"{"method":"unasked"}"#.to_owned()));
    answers.send(http::event(asked.exchange, Headers::new(), r#"{"id":1,"result":{}}"#)).await.unwrap();
    answers.send(http::end(asked.exchange)).await.unwrap();
    assert_eq!(heard(&mut client).await, (1, Some(Form::Event), r#"{"id":1,"result":{}}"#.to_owned()));
    assert_eq!(heard(&mut client).await, (1, Some(Form::End), String::new()));
    stop.send(()).unwrap();
    assert_eq!(heard(&mut client).await, (2, Some(Form::End), String::new()));
    assert_eq!(serving.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_gate_that_fails_answers_everybody_who_waits_and_closes() {
    let mut server = Listener::bind().await.unwrap();
    let front = Listener::bind().await.unwrap();
    let mut client = http::connect(&front.url, Arc::new(crate::transport::Careless));
    let (web, host) = (web(), Fragile(server.url.clone()));
    let serving = tokio::spawn(async move { web.serve(front.connection, host, std::future::pending()).await });
    client.outgoing.send(request(1, Verb::Post, None, r#"{"id":1,"method":"wait"}"#)).await.unwrap();
    assert!(server.connection.incoming.recv().await.unwrap().body.ends_with(b"\"wait\"}"));
    client.outgoing.send(request(2, Verb::Post, None, r#"{"id":2,"method":"boom"}"#)).await.unwrap();
    let mut told = BTreeMap::new();
    for _ in 0..2 {
        let frame = client.incoming.recv().await.unwrap();
        assert_eq!(frame.reply_head().unwrap().status, 500);
        let message = Message::new(frame.body);
        assert!(message.text().contains("closed the session"));
        told.insert(frame.exchange.0, message.id().unwrap().to_json());
    }
    assert_eq!(told, BTreeMap::from([(1, "1".to_owned()), (2, "2".to_owned())]));
    assert_eq!(serving.await.unwrap(), Err(Broken::Panicked));
    assert!(server.connection.incoming.try_recv().is_err());
}

#[tokio::test]
async fn two_clients_that_use_one_id_at_a_time_get_their_own_answers() {
    let mut server = Listener::bind().await.unwrap();
    let front = Listener::bind().await.unwrap();
    let mut client = http::connect(&front.url, Arc::new(crate::transport::Careless));
    let (web, host) = (web(), Fragile(server.url.clone()));
    let serving = tokio::spawn(async move { web.serve(front.connection, host, std::future::pending()).await });
    client.outgoing.send(request(1, Verb::Post, None, r#"{"id":7,"method":"initialize"}"#)).await.unwrap();
    let opened = server.connection.incoming.recv().await.unwrap();
    let json = vec![("content-type".to_owned(), "application/json".to_owned())];
    let answers = server.connection.outgoing.clone();
    answers.send(http::whole(opened.exchange, 200, json.clone(), r#"{"id":7,"result":{}}"#)).await.unwrap();
    assert_eq!(heard(&mut client).await.0, 1);
    let mut asked = Vec::new();
    for exchange in [2, 3] {
        client.outgoing.send(request(exchange, Verb::Post, None, r#"{"id": 7, "method":"ask"}"#)).await.unwrap();
        asked.push(server.connection.incoming.recv().await.unwrap());
    }
    assert_eq!(asked[0].body, r#"{"id": 7, "method":"ask"}"#);
    let ids: Vec<_> = asked.iter().map(|frame| Message::new(frame.body.clone()).id().cloned().unwrap()).collect();
    assert_ne!(ids[0], ids[1]);
    for (exchange, place) in [(3, 1), (2, 0)] {
        let reply = format!(r#"{{"id":{},"result":{exchange}}}"#, ids[place]);
        answers.send(http::whole(asked[place].exchange, 200, json.clone(), reply)).await.unwrap();
        let told = format!(r#"{{"id":7,"result":{exchange}}}"#);
        assert_eq!(heard(&mut client).await, (exchange, Some(Form::Whole), told));
    }
    serving.abort();
}
