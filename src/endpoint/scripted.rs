//! The scripted server: what it answers, and what that does to its state.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde_json::Value;

use super::{
    Catalogue, EndpointError, Prototype, Script,
    prototype::Rule,
    stateless,
    template::{self, Scope},
};
use crate::{
    case::{Fault, Overlay, blown_up},
    protocol::{
        Era, INVALID_PARAMS, Id, METHOD_NOT_FOUND, MISSING_CAPABILITY, Message, Revision, ServerName, Shape,
        error_reply, strict::Node,
    },
};

/// How a reply is dressed on HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Web {
    /// 200 unless given.
    pub status: Option<u16>,
    /// `application/json` unless given; an event stream makes the reply events.
    pub content_type: Option<String>,
    /// Further headers.
    pub headers: BTreeMap<String, String>,
    /// A redirect to this server.
    pub redirect: Option<ServerName>,
    /// What goes on the stream of a GET first.
    pub on_get: Option<Bytes>,
    /// Informational responses that come first.
    pub interim: Vec<u16>,
}

/// What comes of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// What the server says, in order: the reply, and what a fault adds.
    pub says: Vec<Bytes>,
    /// How the reply is dressed on HTTP.
    pub web: Web,
    /// How that is written, where it isn't in the framing of the transport.
    pub script: Option<Script>,
    /// It waits until so many further messages have come.
    pub hold: u32,
    /// The connection ends afterwards.
    pub close: bool,
    /// This was the nth `initialize`: on HTTP, a session begins.
    pub opens: Option<u32>,
    /// What is said unasked from now on is said to this `subscriptions/listen`.
    pub listens: Option<Id>,
}

/// A scripted server in the middle of a trial.
#[derive(Clone, Debug)]
pub struct Scripted {
    start: Arc<Prototype>,
    changed: Option<Catalogue>,
    state: Value,
    counts: BTreeMap<String, u32>,
    requests: u32,
    /// Who opened the nth session.
    openers: BTreeMap<u32, String>,
    /// Changes to come, by the count of requests after which they take effect.
    due: Vec<(u32, Overlay)>,
}

impl Scripted {
    /// A server at the start.
    pub fn new(start: Arc<Prototype>) -> Self {
        let state = start.state.clone();
        Self {
            start,
            changed: None,
            state,
            counts: BTreeMap::new(),
            requests: 0,
            openers: BTreeMap::new(),
            due: Vec::new(),
        }
    }

    /// What it started from.
    pub fn prototype(&self) -> &Prototype {
        &self.start
    }

    /// Its state now.
    pub fn state(&self) -> &Value {
        &self.state
    }

    /// Who speaks in the nth session, for a server that takes that for a proof.
    pub fn opener(&self, nth: u32) -> Option<&str> {
        self.openers.get(&nth).filter(|_| self.start.by_session).map(String::as_str)
    }

    fn catalogue(&self) -> &Catalogue {
        self.changed.as_ref().unwrap_or(&self.start.catalogue)
    }

    /// Changes the definitions, at once or after `after` further requests.
    ///
    /// # Errors
    /// Where the overlay doesn't apply.
    pub fn mutate(&mut self, overlay: &Overlay, after: Option<u32>) -> Result<(), EndpointError> {
        let mut changed = self.catalogue().clone();
        changed.overlay(overlay)?;
        match after {
            None | Some(0) => self.changed = Some(changed),
            Some(after) => self.due.push((self.requests + after, overlay.clone())),
        }
        Ok(())
    }

    /// Takes a message in, with the headers that it came with on HTTP, and says what
    /// comes of it.
    pub fn arrive(&mut self, principal: &str, headers: &[(String, String)], message: &Message) -> Served {
        let method = match (message.shape(), message.method()) {
            (Shape::Batch, _) => return self.batch(principal, headers, message),
            (Shape::Notification, Some(method)) => return self.notified(method, headers),
            (Shape::Request, Some(method)) => method,
            _ => return Served::default(),
        };
        let Some(id) = message.id() else {
            let error = error_reply(None, crate::protocol::INVALID_REQUEST, "an id is a string or a number", None);
            return Served { says: vec![error], ..Served::default() };
        };
        self.requests += 1;
        self.fall_due();
        let nth = self.count(method);
        if method == "initialize" {
            self.openers.insert(nth, principal.to_owned());
        }
        let Answer { reply, status, listens } = self.in_its_era(principal, method, id, message);
        let start = Arc::clone(&self.start);
        let opens = (method == "initialize" && start.speaks_in(Era::Handshake)).then_some(nth);
        let web = Web { status, ..Web::default() };
        let mut served = Served { web, opens, listens, ..Served::default() };
        match start.fault(method, nth, headers) {
            Some(fault) => misbehave(fault, Some(id), &reply, &mut served),
            None => served.says.push(reply),
        }
        served
    }

    fn count(&mut self, method: &str) -> u32 {
        let nth = self.counts.entry(method.to_owned()).or_default();
        *nth += 1;
        *nth
    }

    /// What comes of something that asks for no reply: a notification, or an HTTP
    /// request with this method that carries no message.
    pub fn notified(&mut self, method: &str, headers: &[(String, String)]) -> Served {
        let nth = self.count(method);
        let mut served = Served::default();
        if let Some(fault) = self.start.fault(method, nth, headers) {
            misbehave(fault, None, &Bytes::new(), &mut served);
        }
        served
    }

    /// Changes that were to come after so many requests.
    fn fall_due(&mut self) {
        let requests = self.requests;
        let due: Vec<_> = self.due.extract_if(.., |(at, _)| *at < requests).collect();
        for (_, overlay) in due {
            let mut changed = self.catalogue().clone();
            // It applied when it was scheduled; another change may have come between.
            if changed.overlay(&overlay).is_ok() {
                self.changed = Some(changed);
            }
        }
    }

    fn batch(&mut self, principal: &str, headers: &[(String, String)], message: &Message) -> Served {
        let items = message.root().map(Node::items).unwrap_or_default();
        let mut says = Vec::new();
        for item in items {
            let single = Message::new(message.raw().slice(item.span.clone()));
            if single.shape() != Shape::Batch {
                says.extend(self.arrive(principal, headers, &single).says);
            }
        }
        if says.is_empty() {
            return Served::default();
        }
        Served { says: vec![[b"[", &says.join(&b","[..])[..], b"]"].concat().into()], ..Served::default() }
    }

    /// The answer, by the era that the request is spoken in.
    fn in_its_era(&mut self, principal: &str, method: &str, id: &Id, message: &Message) -> Answer {
        let start = Arc::clone(&self.start);
        let (handshake, stateless) = (start.speaks_in(Era::Handshake), start.speaks_in(Era::Stateless));
        if !stateless || (handshake && !message.is_stateless()) {
            let reply = self.answer(principal, method, id, message);
            // A server of that era alone has no word for what it never heard of.
            let status = (message.is_stateless() && !is_known(&reply)).then_some(400);
            return Answer { reply, status, listens: None };
        }
        if let Some((code, why, data)) = stateless::problem(message, &start) {
            let status = if code == METHOD_NOT_FOUND { 404 } else { 400 };
            return Answer {
                reply: error_reply(Some(id), code, &why, data.as_ref()),
                status: Some(status),
                listens: None,
            };
        }
        let reply = match method {
            "server/discover" => result(id, &self.discovery()),
            "subscriptions/listen" => {
                let reply = stateless::acknowledged(id, message);
                return Answer { reply, status: None, listens: Some(id.clone()) };
            }
            _ => self.answer(principal, method, id, message),
        };
        let (reply, status) = stateless::finished(method, reply);
        Answer { reply, status, listens: None }
    }

    fn answer(&mut self, principal: &str, method: &str, id: &Id, message: &Message) -> Bytes {
        let params = message.params();
        match method {
            "initialize" => result(id, &self.opening(params)),
            "ping" => result(id, "{}"),
            "tools/list" => self.page(id, "tools", &self.catalogue().tools, principal, message),
            "resources/list" => self.page(id, "resources", &self.catalogue().resources, principal, message),
            "resources/templates/list" => {
                self.page(id, "resourceTemplates", &self.catalogue().templates, principal, message)
            }
            "prompts/list" => self.page(id, "prompts", &self.catalogue().prompts, principal, message),
            "tools/call" => self.call(principal, id, message),
            "prompts/get" => {
                let name = params.and_then(|params| params.member("name")).and_then(Node::as_str).unwrap_or_default();
                let start = Arc::clone(&self.start);
                match start.prompts.get(name) {
                    Some(rules) => self.by_rules(rules, principal, id, message),
                    None => error_reply(Some(id), INVALID_PARAMS, "unknown prompt", None),
                }
            }
            "resources/read" => {
                let uri = params.and_then(|params| params.member("uri")).and_then(Node::as_str).unwrap_or_default();
                let code = if message.is_stateless() { INVALID_PARAMS } else { -32002 };
                match self.start.resources.get(uri) {
                    Some(text) => result(id, &template::fill(text, &self.scope(principal, message))),
                    None => error_reply(Some(id), code, "resource not found", None),
                }
            }
            _ => error_reply(Some(id), METHOD_NOT_FOUND, "method not found", None),
        }
    }

    fn opening(&self, params: Option<&Node>) -> String {
        let asked = params.and_then(|params| params.member("protocolVersion")).and_then(Node::as_str);
        let spoken = || self.start.speaks.iter().rev().filter(|revision| revision.era() == Era::Handshake);
        let same = spoken().find(|revision| asked == Some(revision.as_str()));
        let version = same.or(spoken().next()).copied().unwrap_or(Revision::LAST_HANDSHAKE);
        format!(r#"{{"protocolVersion":"{version}",{}}}"#, self.presentation())
    }

    /// What it says of itself, in whichever era.
    fn presentation(&self) -> String {
        let instructions = match &self.catalogue().instructions {
            Some(text) => format!(",\"instructions\":{}", Value::from(text.as_str())),
            None => String::new(),
        };
        format!(r#""capabilities":{},"serverInfo":{}{instructions}"#, self.start.capabilities, self.catalogue().info)
    }

    fn discovery(&self) -> String {
        let versions: Vec<_> = self.start.speaks.iter().rev().map(|revision| revision.as_str()).collect();
        format!(r#"{{"supportedVersions":{},{}}}"#, Value::from(versions), self.presentation())
    }

    fn page(
        &self,
        id: &Id,
        key: &str,
        all: &[super::catalogue::Definition],
        principal: &str,
        message: &Message,
    ) -> Bytes {
        let cursor = message.params().and_then(|params| params.member("cursor")).and_then(Node::as_str);
        let from = match cursor.map(|cursor| cursor.strip_prefix("after-").unwrap_or("").parse::<usize>()) {
            None => 0,
            Some(Ok(from)) if from <= all.len() => from,
            Some(_) => return error_reply(Some(id), INVALID_PARAMS, "unknown cursor", None),
        };
        let to = self.start.page_size.map_or(all.len(), |size| (from + size).min(all.len()));
        let texts: Vec<&str> = all[from..to].iter().map(|definition| &*definition.text).collect();
        let next = if to < all.len() { format!(r#","nextCursor":"after-{to}""#) } else { String::new() };
        let filled =
            self.catalogue().listing.as_deref().map(|text| template::fill(text, &self.scope(principal, message)));
        let more = filled.as_deref().and_then(|text| text.trim().strip_prefix('{')?.strip_suffix('}'));
        let more = more.filter(|more| !more.trim().is_empty()).map_or_else(String::new, |more| format!(",{more}"));
        result(id, &format!(r#"{{"{key}":[{}]{next}{more}}}"#, texts.join(",")))
    }

    fn call(&mut self, principal: &str, id: &Id, message: &Message) -> Bytes {
        let start = Arc::clone(&self.start);
        let name = message.called_tool();
        let rules = name.and_then(|name| start.tools.get(name));
        let listed = name.is_some_and(|name| self.catalogue().tools.iter().any(|tool| tool.name == name));
        match (rules, name) {
            (Some(rules), _) => self.by_rules(rules, principal, id, message),
            // A tool that an overlay added has no rules: it takes whatever it is
            // given and says which tool it was.
            (None, Some(name)) if listed => {
                let text = Value::from(format!("{name} has run"));
                result(id, &format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#))
            }
            _ => error_reply(Some(id), INVALID_PARAMS, "unknown tool", None),
        }
    }

    fn by_rules(&mut self, rules: &[Rule], principal: &str, id: &Id, message: &Message) -> Bytes {
        let Some(rule) = rules.iter().find(|rule| self.applies(rule, principal, message)) else {
            return result(id, r#"{"content":[{"type":"text","text":"nothing fits these arguments"}],"isError":true}"#);
        };
        if let Some(missing) = rule.requires.as_ref().and_then(|wanted| stateless::undeclared(message, wanted)) {
            return error_reply(Some(id), MISSING_CAPABILITY, "the client did not declare this", Some(&missing));
        }
        let scope = self.scope(principal, message);
        let reply = match (&rule.result, &rule.error) {
            (Some(text), _) => result(id, &template::fill(text, &scope)),
            (None, Some(text)) => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, template::fill(text, &scope)).into()
            }
            (None, None) => error_reply(Some(id), METHOD_NOT_FOUND, "the fixture has no reply", None),
        };
        if let Some(effects) = &rule.effects {
            let filled = template::fill(effects, &scope);
            let patch = serde_json::from_str::<json_patch::Patch>(&filled);
            let applied = patch.is_ok_and(|patch| json_patch::patch(&mut self.state, &patch).is_ok());
            if !applied {
                return error_reply(Some(id), -32603, "the fixture's effects don't apply", None);
            }
        }
        reply
    }

    fn scope<'a>(&'a self, principal: &'a str, request: &'a Message) -> Scope<'a> {
        Scope { request, state: &self.state, principal, info: &self.catalogue().info }
    }

    fn applies(&self, rule: &Rule, principal: &str, message: &Message) -> bool {
        let arguments = || message.params().and_then(|params| params.member("arguments"));
        rule.principal.as_ref().is_none_or(|names| names.iter().any(|name| name == principal))
            && rule.answered.is_none_or(|wanted| wanted == stateless::brings_answers(message))
            && rule.arguments.as_ref().is_none_or(|wanted| arguments().is_some_and(|given| holds(given, wanted)))
            && rule.exists.iter().all(|pointer| {
                let scope = self.scope(principal, message);
                self.state.pointer(&template::fill_plain(pointer, &scope)).is_some()
            })
    }
}

/// Whether `given` has every member of `wanted`, with equal values.
fn holds(given: &Node, wanted: &Value) -> bool {
    match wanted {
        Value::Object(map) => {
            map.iter().all(|(key, wanted)| given.member(key).is_some_and(|given| holds(given, wanted)))
        }
        other => given.to_value().as_ref() == Some(other),
    }
}

/// An answer before faults.
struct Answer {
    reply: Bytes,
    /// HTTP: this status.
    status: Option<u16>,
    listens: Option<Id>,
}

/// Whether a reply answers a request that the server knows.
fn is_known(reply: &Bytes) -> bool {
    let reply = Message::new(reply.clone());
    let code = reply.error().and_then(|error| error.member("code")).and_then(Node::as_number);
    code != Some(METHOD_NOT_FOUND.to_string().as_str())
}

fn result(id: &Id, result: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

/// `id` is the request's; without one there is no honest reply.
fn misbehave(fault: &Fault, id: Option<&Id>, reply: &Bytes, served: &mut Served) {
    let honest = Message::new(reply.clone());
    let own = id.map_or_else(|| "null".to_owned(), Id::to_json);
    let fill = |text: &str| -> Bytes {
        let result = honest.result().map_or(&b"null"[..], |node| &reply[node.span.clone()]);
        let filled = text
            .replace("{{id}}", &own)
            .replace("{{result}}", &String::from_utf8_lossy(result))
            .replace("{{reply}}", &String::from_utf8_lossy(reply));
        blown_up(&filled).into()
    };
    served.says.extend(fault.before.as_deref().map(fill));
    if !fault.silent && !fault.close && (id.is_some() || fault.reply.is_some()) {
        let mut said = fault.reply.as_deref().map_or_else(|| reply.clone(), fill);
        if let Some(size) = fault.pad_to {
            said = pad(&said, size);
        }
        served.says.push(said);
    }
    served.says.extend(fault.then.as_deref().map(fill));
    if !fault.wire.is_empty() {
        served.script = Some(Script::new(&fault.wire, &own, &served.says));
    }
    served.hold = fault.hold;
    served.close = fault.close;
    served.web = Web {
        status: fault.status.or(served.web.status.filter(|_| fault.reply.is_none())),
        content_type: fault.content_type.clone(),
        headers: fault.headers.clone(),
        redirect: fault.redirect.clone(),
        on_get: fault.on_get.as_deref().map(fill),
        interim: fault.interim.clone(),
    };
}

/// The message with its first text block made long enough.
fn pad(message: &Bytes, size: usize) -> Bytes {
    let parsed = Message::new(message.clone());
    let text = parsed.root().and_then(|root| root.pointer("/result/content/0/text")).map(|node| node.span.clone());
    match text {
        Some(span) if message.len() < size => {
            let filler = "x".repeat(size - message.len());
            let at = span.end - 1;
            [&message[..at], filler.as_bytes(), &message[at..]].concat().into()
        }
        _ => message.clone(),
    }
}
