//! The hub with scripted servers.

use tokio::task::JoinHandle;

use super::*;
use crate::{
    protocol::Message,
    transport::{Exchange, Frame, pair},
};

/// A client, and two servers in whose place a test speaks.
struct Desk {
    client: Connection,
    servers: Vec<Option<Connection>>,
    hub: JoinHandle<()>,
}

const OPENING: &str = r#"{"jsonrpc":"2.0","id":"o","method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;

impl Desk {
    fn new(renames: &[(&str, &str)]) -> Self {
        let (legs, servers): (Vec<_>, Vec<_>) = ["one", "two"]
            .map(|name| {
                let (near, far) = pair();
                (Leg::of(name, near), Some(far))
            })
            .into_iter()
            .unzip();
        let renames: std::collections::BTreeMap<_, _> =
            renames.iter().map(|(own, shown)| ((*own).to_owned(), (*shown).to_owned())).collect();
        let legs = legs.into_iter().map(|leg| leg.renaming(renames.clone())).collect();
        let (client, far) = pair();
        let hub = tokio::spawn(Hub::new(legs, Watch::default(), |_| ()).serve(far));
        Self { client, servers, hub }
    }

    async fn ask(&self, text: &str) {
        self.client.outgoing.send(Frame::line(Exchange::NONE, text.to_owned())).await.unwrap();
    }

    async fn heard(&mut self) -> String {
        String::from_utf8(self.client.incoming.recv().await.unwrap().body.to_vec()).unwrap()
    }

    /// What a server is asked next.
    async fn asked(&mut self, server: usize) -> String {
        let server = self.servers[server].as_mut().unwrap();
        String::from_utf8(server.incoming.recv().await.unwrap().body.to_vec()).unwrap()
    }

    async fn say(&self, server: usize, text: &str) {
        let server = self.servers[server].as_ref().unwrap();
        server.outgoing.send(Frame::line(Exchange::NONE, text.to_owned())).await.unwrap();
    }

    /// The server's result for what it is asked next.
    async fn answer(&mut self, server: usize, method: &str, result: &str) {
        let asked = Message::new(self.asked(server).await);
        assert_eq!(asked.method(), Some(method));
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, asked.id().unwrap());
        self.say(server, &text).await;
    }

    async fn open(&mut self) {
        self.ask(OPENING).await;
        for (server, name) in ["One.", "Two."].into_iter().enumerate() {
            assert_eq!(self.asked(server).await, OPENING);
            let text = format!(
                r#"{{"id":"o","result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"instructions":"{name}"}}}}"#
            );
            self.say(server, &text).await;
        }
        let opened = self.heard().await;
        assert!(opened.contains(r#""id":"o""#) && opened.contains(r"# one\n\nOne.\n\n# two\n\nTwo."), "{opened}");
    }

    async fn list(&mut self, one: &str, two: &str) -> String {
        self.ask(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#).await;
        self.answer(0, "tools/list", one).await;
        self.answer(1, "tools/list", two).await;
        self.heard().await
    }
}

fn call(id: &str, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc": "2.0", "id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":1.0}}}}}}"#
    )
}

#[tokio::test]
async fn calls_go_to_whoever_listed_the_tool_and_keep_their_ids() {
    let mut desk = Desk::new(&[("search", "two_search")]);
    desk.open().await;
    let listed =
        desk.list(r#"{"tools":[{"name":"read"},{"name":"a_b"}]}"#, r#"{"tools":[{"name":"search"},{"name":"read"}]}"#);
    assert!(listed.await.ends_with(r#"[{"name":"read"},{"name":"a_b"},{"name":"two_search"}]}}"#));
    for (id, tool, server) in [("0", "read", 0), ("\"0\"", "a_b", 0)] {
        desk.ask(&call(id, tool)).await;
        assert_eq!(desk.asked(server).await, call(id, tool));
    }
    desk.ask(&call("1", "two_search")).await;
    assert_eq!(desk.asked(1).await, call("1", "search"));
    // Answers come in another order, and none under another's id.
    for (server, id) in [(1, "1"), (0, "\"0\""), (0, "0")] {
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"by":{server}}}}}"#);
        desk.say(server, &reply).await;
        assert_eq!(desk.heard().await, reply);
    }
    // Not the other's to answer, and not there to be called.
    desk.ask(&call("2", "read")).await;
    desk.asked(0).await;
    desk.say(1, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#).await;
    for (id, tool, why) in [("3", "search", "no server here lists"), ("2", "read", "has not been answered")] {
        desk.ask(&call(id, tool)).await;
        let refused = desk.heard().await;
        assert!(refused.contains(why) && refused.contains(&format!("\"id\":{id}")), "{refused}");
    }
    desk.ask(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#).await;
    assert!(desk.asked(0).await.contains("notifications/cancelled"));
}

#[tokio::test]
async fn a_call_before_any_list_waits_for_them() {
    let mut desk = Desk::new(&[]);
    desk.open().await;
    desk.ask(&call("1", "late")).await;
    desk.answer(0, "tools/list", r#"{"tools":[],"nextCursor":"n"}"#).await;
    desk.answer(0, "tools/list", r#"{"tools":[{"name":"read"}]}"#).await;
    desk.answer(1, "tools/list", r#"{"tools":[{"name":"late"}]}"#).await;
    assert_eq!(desk.asked(1).await, call("1", "late"));
}

#[tokio::test]
async fn the_client_hears_of_a_change_exactly_when_its_view_changes() {
    let mut desk = Desk::new(&[]);
    desk.open().await;
    let change = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    // Nothing was seen, so nothing changes.
    desk.say(1, change).await;
    let (one, two) = (r#"{"tools":[{"name":"read"}]}"#, r#"{"tools":[{"name":"other"}]}"#);
    desk.list(one, two).await;
    desk.say(1, change).await;
    desk.answer(1, "tools/list", two).await;
    // The other's tool of that name hides this one.
    desk.say(1, change).await;
    desk.answer(1, "tools/list", r#"{"tools":[{"name":"other"},{"name":"read","title":"Mine"}]}"#).await;
    desk.say(0, change).await;
    desk.answer(0, "tools/list", r#"{"tools":[]}"#).await;
    assert_eq!(desk.heard().await, change);
    assert!(desk.list(r#"{"tools":[]}"#, one).await.ends_with(r#"[{"name":"read"}]}}"#));
}

#[tokio::test]
async fn a_server_that_goes_leaves_the_list_and_the_others() {
    let mut desk = Desk::new(&[]);
    desk.open().await;
    desk.list(r#"{"tools":[{"name":"read"}]}"#, r#"{"tools":[{"name":"other"}]}"#).await;
    desk.ask(&call("1", "other")).await;
    desk.asked(1).await;
    desk.say(1, r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#).await;
    assert_eq!(desk.heard().await, r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    desk.servers[1] = None;
    assert!(desk.heard().await.contains(r#"cancelled","params":{"requestId":1"#));
    let told = desk.heard().await;
    assert!(told.contains(r#""id":1,"error""#) && told.contains("ended before it answered"), "{told}");
    assert!(desk.heard().await.contains("tools/list_changed"));
    desk.ask(&call("2", "other")).await;
    assert!(desk.heard().await.contains("no server here lists"));
    desk.ask(&call("3", "read")).await;
    assert_eq!(desk.asked(0).await, call("3", "read"));
    desk.servers[0] = None;
    assert!(desk.heard().await.contains(r#""id":3,"error""#));
    desk.hub.await.unwrap();
}

#[tokio::test]
async fn clients_without_a_session_are_served_from_the_first_request_on() {
    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1}"#;
    let mut desk = Desk::new(&[]);
    let ask =
        |id: u32, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{META}}}}}"#);
    desk.ask(&ask(1, "tools/list")).await;
    for (server, listed) in [(0, "read"), (1, "other")] {
        let asked = desk.asked(server).await;
        assert!(
            asked.contains(r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#),
            "{asked}"
        );
        let id = Message::new(asked).id().unwrap().to_json();
        desk.say(server, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"{listed}"}}]}}}}"#))
            .await;
    }
    let listed = desk.heard().await;
    assert!(listed.contains(r#"[{"name":"read"},{"name":"other"}],"resultType":"complete","ttlMs":0"#), "{listed}");
    // What all of them speak.
    desk.ask(&ask(2, "server/discover")).await;
    desk.answer(
        0,
        "server/discover",
        r#"{"supportedVersions":["2026-07-28","2027-01-01"],"capabilities":{"tools":{}}}"#,
    )
    .await;
    desk.answer(1, "server/discover", r#"{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}}"#).await;
    let found = desk.heard().await;
    assert!(found.contains(r#""supportedVersions":["2026-07-28"]"#) && found.contains(r#""prompts""#), "{found}");
    // One that does not know the era sends the client to the other one.
    desk.ask(&ask(3, "server/discover")).await;
    desk.answer(0, "server/discover", r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#).await;
    desk.asked(1).await;
    desk.say(1, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no"}}"#).await;
    assert!(desk.heard().await.contains("-32601"));
    desk.open().await;
}

#[tokio::test]
async fn what_servers_ask_is_told_apart() {
    let mut desk = Desk::new(&[]);
    desk.open().await;
    for server in 0..2 {
        desk.say(server, r#"{"jsonrpc":"2.0","id":"x","method":"sampling/createMessage"}"#).await;
        assert!(desk.heard().await.contains(&format!("\"id\":{},", server + 1)));
    }
    desk.ask(r#"{"jsonrpc":"2.0","id":2,"result":{"of":2}}"#).await;
    assert_eq!(desk.asked(1).await, r#"{"jsonrpc":"2.0","id":"x","result":{"of":2}}"#);
    desk.ask(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#).await;
    assert_eq!(desk.asked(0).await, r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}"#);
    for (text, why) in
        [("[]", "batch"), ("{", "not JSON"), (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#, "not served")]
    {
        desk.ask(text).await;
        assert!(desk.heard().await.contains(why), "{text}");
    }
}
