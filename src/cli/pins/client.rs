//! Reads everything that a server lists, over its own protocol.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use tokio::time::timeout;

use crate::{
    endpoint::Scripted,
    gate::{Definition, ListingKind, PinKind},
    guard::call,
    pins::Shown,
    protocol::{
        Id, METHOD_NOT_FOUND, Message, Revision, Shape, error_reply,
        strict::{Kind, Node},
    },
    transport::{Careless, Close, Connection, Exchange, Frame, http, pair, stdio::Child},
};

/// How many pages a list may have before it is taken for an endless one.
const PAGES: usize = 1000;

/// A server that can be asked.
#[derive(Debug)]
pub(in crate::cli) struct Client {
    next: i64,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Live { child: Box<Child>, patience: Duration },
    Reached { connection: Box<Connection>, patience: Duration },
    Scripted(Box<Scripted>),
}

impl Client {
    /// Starts a server. It gets the environment that this program has.
    pub(super) fn start(argv: &[String], patience: Duration) -> Result<Self, String> {
        Self::start_with(argv, &std::env::vars().collect(), patience)
    }

    /// Starts a server with exactly this environment.
    pub(in crate::cli) fn start_with(
        argv: &[String],
        env: &BTreeMap<String, String>,
        patience: Duration,
    ) -> Result<Self, String> {
        let child = Child::spawn(argv, env, None).map_err(|error| format!("it can't be started: {error}"))?;
        Ok(Self { next: 0, server: Server::Live { child: Box::new(child), patience } })
    }

    /// A server over HTTP. Must be asked where it was made: in a runtime.
    pub(in crate::cli) fn reach(url: &str, patience: Duration) -> Self {
        let (connection, client) = pair();
        tokio::spawn(call(client, http::connect(url, Arc::new(Careless))));
        Self { next: 0, server: Server::Reached { connection: Box::new(connection), patience } }
    }

    /// A server of the harness's own.
    pub(super) fn scripted(server: Scripted) -> Self {
        Self { next: 0, server: Server::Scripted(Box::new(server)) }
    }

    /// Ends it in order.
    pub(in crate::cli) async fn end(self) {
        if let Server::Live { child, .. } = self.server {
            child.shutdown(Duration::from_secs(1)).await;
        }
    }

    async fn ask(&mut self, method: &str, params: &str) -> Result<Message, String> {
        self.next += 1;
        let id = Id::from(self.next);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        match &mut self.server {
            Server::Scripted(scripted) => {
                let said = scripted.arrive("", &[], &Message::new(text)).says;
                said.into_iter().next().map(Message::new).ok_or_else(|| format!("no answer to {method}"))
            }
            Server::Live { child, patience } => ask(&mut child.connection, text, method, &id, *patience).await,
            Server::Reached { connection, patience } => ask(connection, text, method, &id, *patience).await,
        }
    }

    async fn notify(&mut self, method: &str) -> Result<(), String> {
        match &mut self.server {
            Server::Scripted(_) => Ok(()),
            Server::Live { child, .. } => say(&child.connection, notification(method)).await,
            Server::Reached { connection, .. } => say(connection, notification(method)).await,
        }
    }
}

fn notification(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

async fn say(server: &Connection, text: impl Into<bytes::Bytes>) -> Result<(), String> {
    let sent = server.outgoing.send(Frame::line(Exchange::NONE, text.into())).await;
    sent.map_err(|_| "it is gone".to_owned())
}

async fn ask(
    server: &mut Connection,
    text: String,
    method: &str,
    id: &Id,
    patience: Duration,
) -> Result<Message, String> {
    say(server, text).await?;
    let answer = timeout(patience, answer(server, id)).await;
    answer.unwrap_or_else(|_| Err(format!("no answer to {method} within {patience:?}")))
}

/// Waits for the answer to a request; what the server asks meanwhile is declined.
async fn answer(server: &mut Connection, id: &Id) -> Result<Message, String> {
    while let Some(frame) = server.incoming.recv().await {
        let message = Message::new(frame.body);
        match (message.shape(), message.id()) {
            (Shape::Response, Some(own)) if own == id => return Ok(message),
            (Shape::Request, Some(other)) if message.method() == Some("ping") => {
                say(server, format!(r#"{{"jsonrpc":"2.0","id":{other},"result":{{}}}}"#)).await?;
            }
            (Shape::Request, Some(other)) => {
                say(server, error_reply(Some(other), METHOD_NOT_FOUND, "nothing of this kind is offered here", None))
                    .await?;
            }
            _ => {}
        }
    }
    Err(match server.close_reason() {
        Close::Ended => "it ended".to_owned(),
        Close::Broken(why) => why,
    })
}

/// Everything that a server lists: all kinds, all pages; and the messages of
/// prompts that need no arguments.
pub(in crate::cli) async fn read_all(client: &mut Client, capabilities: &str) -> Result<Shown, String> {
    let opening = format!(
        r#"{{"protocolVersion":"{}","capabilities":{capabilities},"clientInfo":{{"name":"gateproof","version":"{}"}}}}"#,
        Revision::V2025_11_25.as_str(),
        env!("CARGO_PKG_VERSION")
    );
    let opened = client.ask("initialize", &opening).await?;
    let result = result(&opened, "initialize")?;
    client.notify("notifications/initialized").await?;
    let mut shown = Shown::default();
    shown.whole.insert(PinKind::Instructions);
    for member in result.members().iter().filter(|member| member.key == "instructions") {
        if member.value.kind != Kind::Null {
            shown.add((PinKind::Instructions, String::new()), Definition::of(opened.raw(), &member.value));
        }
    }
    let offers = |what: &str| result.member("capabilities").and_then(|all| all.member(what)).is_some();
    for (kind, what, method) in [
        (ListingKind::Tools, "tools", "tools/list"),
        (ListingKind::Prompts, "prompts", "prompts/list"),
        (ListingKind::Resources, "resources", "resources/list"),
        (ListingKind::Templates, "resources", "resources/templates/list"),
    ] {
        if offers(what) {
            list(client, kind, method, &mut shown).await?;
        }
        shown.whole.insert(kind.into());
    }
    messages(client, &mut shown).await?;
    Ok(shown)
}

async fn list(client: &mut Client, kind: ListingKind, method: &str, shown: &mut Shown) -> Result<(), String> {
    let mut params = "{}".to_owned();
    let mut seen = BTreeSet::new();
    for _ in 0..PAGES {
        let reply = client.ask(method, &params).await?;
        let code = reply.error().and_then(|error| error.member("code")).and_then(Node::as_number);
        if seen.is_empty() && code == Some(METHOD_NOT_FOUND.to_string().as_str()) {
            return Ok(());
        }
        let result = result(&reply, method)?;
        let items = result.member(kind.member()).filter(|node| matches!(node.kind, Kind::Array(_)));
        for item in items.ok_or_else(|| format!("the answer to {method} holds no list"))?.items() {
            match item.member(kind.key()).and_then(Node::as_str) {
                Some(name) => shown.add((kind.into(), name.to_owned()), Definition::of(reply.raw(), item)),
                None => shown.unnamed += 1,
            }
        }
        let Some(cursor) = result.member("nextCursor").and_then(Node::as_str) else { return Ok(()) };
        if !seen.insert(cursor.to_owned()) {
            return Err(format!("{method} gives the same cursor twice"));
        }
        params = serde_json::json!({ "cursor": cursor }).to_string();
    }
    Err(format!("{method} does not end after {PAGES} pages"))
}

/// What `prompts/get` returns without arguments, where that can be asked for.
async fn messages(client: &mut Client, shown: &mut Shown) -> Result<(), String> {
    let prompts: Vec<(String, Definition)> = shown
        .definitions
        .iter()
        .filter(|((kind, _), _)| *kind == PinKind::Prompt)
        .map(|((_, name), definition)| (name.clone(), definition.clone()))
        .collect();
    for (name, definition) in prompts {
        let message = Message::new(definition.text.to_string());
        let arguments = message.root().and_then(|root| root.member("arguments")).map_or(&[][..], Node::items);
        let needs = |argument: &Node| argument.member("required").and_then(Node::as_bool) == Some(true);
        if arguments.iter().any(needs) {
            continue;
        }
        let reply = client.ask("prompts/get", &serde_json::json!({ "name": name }).to_string()).await?;
        if let Some(result) = reply.result() {
            shown.add((PinKind::Messages, name), Definition::of(reply.raw(), result));
        }
    }
    Ok(())
}

fn result<'a>(reply: &'a Message, method: &str) -> Result<&'a Node, String> {
    reply.result().ok_or_else(|| match reply.error().and_then(|error| error.member("message")).and_then(Node::as_str) {
        Some(why) => format!("{method} failed: {why}"),
        None => format!("the answer to {method} is no result"),
    })
}
