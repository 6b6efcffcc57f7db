use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{
    gate::{Delegations, Gate, Guarded, Naive, Rules, SchemaCache},
    relay::{Exchanges, SharedGate, pump},
    transport::{Connection, Headers, ReplyHead, Verb, pair},
};

const OPENING: &str = r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{}}"#;
const READ: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#;
const POST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"post"}}"#;
const PING: &str = r#"{"id" : "p" ,"jsonrpc":"2.0","method":"ping"}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;

fn guarded() -> Box<dyn Gate> {
    let policy = "schema = 1\ntitle = \"a test\"\n[default]\nallow = [\"read\"]\n";
    let rules = Rules::new(toml::from_str(policy).unwrap(), Arc::new(SchemaCache::default())).unwrap();
    Box::new(Guarded::new(rules, Delegations::new()))
}

/// A client, a gate and a server that is played by hand.
struct Stage {
    client: Connection,
    server: Connection,
}

impl Stage {
    fn of(gate: fn() -> Box<dyn Gate>) -> Self {
        let ((client, down), (up, server)) = (pair(), pair());
        tokio::spawn(pump(Exchanges::new(SharedGate::new(gate), "board".into()), down, up));
        Self { client, server }
    }

    /// A session in 2025-03-26.
    async fn opened() -> Self {
        let mut stage = Self::of(guarded);
        stage.ask(OPENING).await;
        assert_eq!(stage.at_server().await, OPENING);
        stage
            .tell(r#"{"jsonrpc":"2.0","id":"open","result":{"protocolVersion":"2025-03-26","capabilities":{}}}"#)
            .await;
        stage.at_client().await;
        stage
    }

    async fn ask(&self, text: &str) {
        self.client.outgoing.send(Frame::line(Exchange::NONE, text.to_owned())).await.unwrap();
    }

    async fn tell(&self, text: &str) {
        self.server.outgoing.send(Frame::line(Exchange::NONE, text.to_owned())).await.unwrap();
    }

    async fn at_server(&mut self) -> String {
        String::from_utf8(self.server.incoming.recv().await.unwrap().body.to_vec()).unwrap()
    }

    async fn at_client(&mut self) -> String {
        String::from_utf8(self.client.incoming.recv().await.unwrap().body.to_vec()).unwrap()
    }

    async fn post(&self, exchange: u64, text: &str) {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let carrier = Carrier::Request { verb: Verb::Post, headers };
        let frame = Frame { exchange: Exchange(exchange), carrier, body: text.to_owned().into() };
        self.client.outgoing.send(frame).await.unwrap();
    }

    async fn respond(&self, frame: Frame) {
        self.server.outgoing.send(frame).await.unwrap();
    }

    /// The next part of a response: its status, its form and its body.
    async fn heard(&mut self) -> (u16, Form, String) {
        let frame = self.client.incoming.recv().await.unwrap();
        let Carrier::Reply { head, form, .. } = &frame.carrier else { panic!("{frame:?}") };
        (head.status, *form, String::from_utf8(frame.body.to_vec()).unwrap())
    }

    /// Ends the session, and says what each side still heard.
    async fn end(self) -> (Vec<Message>, Vec<Message>) {
        let Self { client, mut server } = self;
        let Connection { outgoing, mut incoming, .. } = client;
        drop(outgoing);
        let (mut at_server, mut at_client) = (Vec::new(), Vec::new());
        while let Some(frame) = server.incoming.recv().await {
            at_server.push(Message::new(frame.body));
        }
        drop(server);
        while let Some(frame) = incoming.recv().await {
            at_client.push(Message::new(frame.body));
        }
        (at_server, at_client)
    }
}

fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

fn json(exchange: u64, body: &str) -> Frame {
    super::json(Exchange(exchange), 200, body.to_owned().into())
}

/// The ids of the answers in a body, and whether each is a result.
fn answers(body: &str) -> Vec<(String, bool)> {
    let message = Message::new(body.to_owned());
    let all = message.each();
    all.iter().map(|one| (one.id().map(Id::to_json).unwrap_or_default(), one.result().is_some())).collect()
}

fn is(id: &str, result: bool) -> (String, bool) {
    (id.to_owned(), result)
}

#[tokio::test]
async fn what_passes_whole_goes_on_byte_for_byte() {
    let mut stage = Stage::opened().await;
    let batch = format!(" \t[ {READ} ,\n {PING},{NOTE} ] ");
    stage.ask(&batch).await;
    assert_eq!(stage.at_server().await, batch);
    let replies = format!("[ {} ,{}\t]", result("\"p\""), result("1"));
    stage.tell(&replies).await;
    assert_eq!(stage.at_client().await, replies);
}

#[tokio::test]
async fn what_is_refused_goes_back_with_the_answer_to_the_rest() {
    let mut stage = Stage::opened().await;
    stage.ask(&format!("[{POST},{PING} , {NOTE},[{READ}],7]")).await;
    assert_eq!(stage.at_server().await, format!("[{PING},{NOTE}]"));
    stage.tell(&format!("[{}]", result("\"p\""))).await;
    let heard = answers(&stage.at_client().await);
    assert_eq!(heard, [is("\"p\"", true), is("2", false), is("null", false), is("null", false)]);
    // A server may answer one by one.
    stage.ask(&format!("[{POST},{READ},{PING}]")).await;
    assert_eq!(stage.at_server().await, format!("[{READ},{PING}]"));
    stage.tell(&result("1")).await;
    assert_eq!(answers(&stage.at_client().await), [is("2", false)]);
    assert_eq!(stage.at_client().await, result("1"));
    stage.tell(&result("\"p\"")).await;
    assert_eq!(stage.at_client().await, result("\"p\""));
}

#[tokio::test]
async fn where_nothing_is_answered_refusals_go_back_at_once() {
    let mut stage = Stage::opened().await;
    for (batch, on) in [(format!("[{POST}]"), None), (format!("[{POST},{NOTE}]"), Some(format!("[{NOTE}]")))] {
        stage.ask(&batch).await;
        assert_eq!(answers(&stage.at_client().await), [is("2", false)]);
        if let Some(on) = on {
            assert_eq!(stage.at_server().await, on);
        }
    }
    // Or when the server will answer no more.
    stage.ask(&format!("[{POST},{READ}]")).await;
    let (at_server, at_client) = stage.end().await;
    assert_eq!(at_server.last().unwrap().text(), format!("[{READ}]"));
    assert_eq!(answers(&at_client.last().unwrap().text()), [is("2", false)]);
}

#[tokio::test]
async fn a_server_that_never_answers_holds_no_refusal_back_for_ever() {
    let mut stage = Stage::opened().await;
    for n in 0..=MOST {
        let slow = format!(r#"{{"jsonrpc":"2.0","id":"s{n}","method":"ping"}}"#);
        stage
            .ask(&format!(
                r#"[{slow},{{"jsonrpc":"2.0","id":"f{n}","method":"tools/call","params":{{"name":"post"}}}}]"#
            ))
            .await;
        assert_eq!(stage.at_server().await, format!("[{slow}]"));
    }
    assert_eq!(answers(&stage.at_client().await), [is("\"f0\"", false)]);
}

#[tokio::test]
async fn the_servers_batch_is_judged_message_by_message() {
    let mut stage = Stage::opened().await;
    stage.ask(READ).await;
    stage.at_server().await;
    let (stray, log) = (result("99"), r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#);
    let roots = r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#;
    stage.tell(&format!("[{log},{roots},\"noise\",{},{stray},[{}]]", result("1"), result("1"))).await;
    let said = stage.at_client().await;
    assert_eq!(said, format!("[{log},{}]", result("1")));
    // The client offered no roots, and the server hears that.
    assert_eq!(answers(&stage.at_server().await), [is("5", false)]);
    let (_, at_client) = stage.end().await;
    assert!(at_client.is_empty(), "{at_client:?}");
}

#[tokio::test]
async fn a_post_is_answered_with_one_body() {
    let mut stage = Stage::opened().await;
    stage.post(1, &format!("[{POST},{READ},{NOTE}]")).await;
    assert_eq!(stage.at_server().await, format!("[{READ},{NOTE}]"));
    stage.respond(json(1, &format!("[{}]", result("1")))).await;
    let (status, form, body) = stage.heard().await;
    assert_eq!((status, form, answers(&body)), (200, Form::Whole, vec![is("1", true), is("2", false)]));
    // One answer that is no batch, and one that is missing.
    stage.post(2, &format!("[{READ},{PING}]")).await;
    stage.at_server().await;
    stage.respond(json(2, &result("1"))).await;
    let (_, form, body) = stage.heard().await;
    assert_eq!((form, answers(&body)), (Form::Whole, vec![is("1", true), is("\"p\"", false)]));
    // Everything refused, and nothing to be answered.
    stage.post(3, &format!("[{POST},3]")).await;
    let (status, form, body) = stage.heard().await;
    assert_eq!((status, form, answers(&body)), (200, Form::Whole, vec![is("2", false), is("null", false)]));
    stage.post(4, &format!("[{POST},{NOTE}]")).await;
    assert_eq!(stage.at_server().await, format!("[{NOTE}]"));
    stage.respond(http::accepted(Exchange(4))).await;
    let (status, _, body) = stage.heard().await;
    assert_eq!((status, answers(&body)), (200, vec![is("2", false)]));
    stage.post(5, &format!("[{NOTE}]")).await;
    stage.at_server().await;
    stage.respond(http::accepted(Exchange(5))).await;
    assert_eq!(stage.heard().await, (202, Form::Whole, String::new()));
}

#[tokio::test]
async fn a_stream_answers_all_of_a_batch() {
    let mut stage = Stage::opened().await;
    stage.post(1, &format!("[{READ},{POST},{PING}]")).await;
    assert_eq!(stage.at_server().await, format!("[{READ},{PING}]"));
    stage.respond(http::event(Exchange(1), Headers::new(), result("1"))).await;
    let (_, form, body) = stage.heard().await;
    assert_eq!((form, answers(&body)), (Form::Event, vec![is("2", false)]));
    assert_eq!(stage.heard().await.2, result("1"));
    stage.respond(http::end(Exchange(1))).await;
    let (_, form, body) = stage.heard().await;
    assert_eq!((form, answers(&body)), (Form::Event, vec![is("\"p\"", false)]));
    assert_eq!(stage.heard().await.1, Form::End);
}

#[tokio::test]
async fn an_error_page_hides_no_answer() {
    let mut stage = Stage::opened().await;
    stage.post(1, &format!("[{READ}]")).await;
    stage.at_server().await;
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let head = ReplyHead { status: 400, headers };
    let carrier = Carrier::Reply { head: Arc::new(head), form: Form::Whole, mark: None };
    let body = format!("[{},{}]", result("1"), result("99"));
    stage.respond(Frame { exchange: Exchange(1), carrier, body: body.into() }).await;
    assert_eq!(answers(&stage.heard().await.2), [is("1", true)]);
}

/// One message of the client's under the id `n`.
fn message(kind: usize, n: usize) -> String {
    match kind {
        0 => format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"read"}}}}"#),
        1 => format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"post"}}}}"#),
        2 => {
            format!(r#"{{"jsonrpc":"2.0","id":"{n}","method":"tools/call","params":{{"name":"read","Name":"post"}}}}"#)
        }
        3 => NOTE.to_owned(),
        4 => format!(r#"{{"id":"{n}","jsonrpc":"2.0","method":"ping"}}"#),
        5 => r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(),
        _ => "17".to_owned(),
    }
}

/// What reaches the server and what is answered, each message on its own, when the
/// server answers everything in the way that it was asked.
async fn outcome(sent: &[String]) -> (Vec<String>, Vec<(String, bool)>) {
    let mut stage = Stage::opened().await;
    for text in sent {
        stage.ask(text).await;
    }
    let Connection { outgoing, mut incoming, .. } = stage.client;
    drop(outgoing);
    let mut at_server = Vec::new();
    while let Some(frame) = stage.server.incoming.recv().await {
        let message = Message::new(frame.body);
        let each = message.each();
        at_server.extend(each.iter().map(|one| one.text().into_owned()));
        let ids = each.iter().filter(|one| one.shape() == Shape::Request).filter_map(|one| one.id());
        let replies: Vec<Bytes> = ids.map(|id| result(&id.to_json()).into()).collect();
        let said = match (replies.as_slice(), message.shape()) {
            ([], _) => continue,
            (all, Shape::Batch) => protocol::batch(all),
            (all, _) => all[0].clone(),
        };
        stage.server.outgoing.send(Frame::line(Exchange::NONE, said)).await.unwrap();
    }
    drop(stage.server);
    let mut heard = Vec::new();
    while let Some(frame) = incoming.recv().await {
        heard.extend(answers(std::str::from_utf8(&frame.body).unwrap()));
    }
    heard.sort();
    (at_server, heard)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_comes_to_what_its_messages_come_to(kinds in prop::collection::vec(0usize..7, 1..7), cut in 0usize..7) {
        let alone: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| message(*kind, n)).collect();
        let (first, rest) = alone.split_at(cut.min(alone.len()));
        let together: Vec<_> =
            [first, rest].into_iter().filter(|part| !part.is_empty()).map(|part| format!("[{}]", part.join(" , "))).collect();
        let expected = block_on(outcome(&alone));
        prop_assert_eq!(block_on(outcome(&together)), expected);
    }

    #[test]
    fn a_naive_gate_hands_batches_on_as_they_came(batch in r"[ \t\n]{0,3}\[([0-9,\[\]{} ]|\{\}){0,12}\]?[ \t]{0,2}") {
        let seen = block_on(async {
            let mut stage = Stage::of(|| Box::new(Naive));
            stage.ask(&batch).await;
            let there = stage.at_server().await;
            stage.tell(&there).await;
            (there, stage.at_client().await)
        });
        prop_assert_eq!(seen, (batch.clone(), batch));
    }
}
