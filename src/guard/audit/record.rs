//! What a line says.

use serde_json::{Map, Value, json};

use super::super::watch::Asked;
use crate::{
    digest::Fingerprint,
    gate::{Act, Decision, Event, Finding, Passing, Reach, Ruling},
    protocol::{Direction, Id, Message, ServerName, Shape},
};

/// The longest name that is written as it stands.
const NAME: usize = 128;

/// What the lines of one session have in common.
#[derive(Clone, Debug)]
pub struct Session {
    /// Which one, of those that one program serves.
    pub number: u64,
    /// Whose; of several servers, all their names.
    pub server: ServerName,
    /// The digest of the policy's file.
    pub policy: Fingerprint,
    /// Decides and lets pass.
    pub observe: bool,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In order.
    Ended,
    /// Not at all: the server could not be started, or might not be.
    Unopened,
    /// The client's side broke, or the server could not be waited for.
    Broken,
    /// The gate failed.
    Failed,
}

/// A name of a peer's choosing as a log may hold it: as it stands if it is a
/// name, and else its digest. Text that is put where a name belongs is payload.
pub(in crate::guard) fn plain(text: &str) -> String {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./$:@+".contains(&byte);
    if !text.is_empty() && text.len() <= NAME && text.bytes().all(is_name) {
        text.to_owned()
    } else {
        format!("sha256:{}", Fingerprint::of(text.as_bytes()))
    }
}

fn id(id: &Id) -> Value {
    match id {
        Id::Number(number) if number.len() <= NAME => {
            serde_json::from_str(number).unwrap_or_else(|_| plain(number).into())
        }
        Id::Number(text) | Id::String(text) => plain(text).into(),
        Id::Null => Value::Null,
    }
}

fn base(event: &str, session: &Session) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("event".to_owned(), event.into());
    record.insert("session".to_owned(), session.number.into());
    record.insert("server".to_owned(), plain(session.server.as_str()).into());
    record
}

pub(super) fn start(session: &Session) -> Map<String, Value> {
    let mut record = base("start", session);
    let mode = if session.observe { "observe" } else { "enforce" };
    record.insert("mode".to_owned(), mode.into());
    record.insert("policy".to_owned(), session.policy.to_string().into());
    record.insert("gateproof".to_owned(), env!("CARGO_PKG_VERSION").into());
    record
}

pub(super) fn end(session: &Session, ending: &Ending) -> Map<String, Value> {
    let mut record = base("end", session);
    let how = match ending {
        Ending::Ended => "ended",
        Ending::Unopened => "not opened",
        Ending::Broken => "broken",
        Ending::Failed => "the gate failed",
    };
    record.insert("how".to_owned(), how.into());
    record
}

pub(super) fn ruling(
    session: &Session,
    event: &Event<'_>,
    asked: Option<&Asked>,
    ruling: &Ruling,
) -> Map<String, Value> {
    let kind = match event {
        Event::Opening(_) => "opening",
        Event::Head(_) => "head",
        Event::Hop(_) => "redirect",
        Event::Passing(_) => "message",
        Event::Unanswered(_) => "unanswered",
        Event::Approval(_) => "approval",
        Event::Consent(_) => "consent",
    };
    let mut record = base(kind, session);
    // One session may have several servers.
    record.insert("server".to_owned(), plain(event.server().as_str()).into());
    match event {
        Event::Passing(Passing { direction, message, .. }) => {
            let towards = match direction {
                Direction::Requestward => "to-server",
                Direction::Replyward => "to-client",
            };
            record.insert("direction".to_owned(), towards.into());
            about(message, asked, &mut record);
        }
        Event::Opening(opening) => {
            let reach = match &opening.reach {
                Reach::Argv(_) => "command",
                Reach::Url(_) => "url",
                Reach::Memory => "memory",
            };
            record.insert("reach".to_owned(), reach.into());
        }
        Event::Head(head) => {
            record.insert("status".to_owned(), head.status.into());
        }
        Event::Unanswered(unanswered) => {
            record.insert("id".to_owned(), id(unanswered.id));
        }
        _ => {}
    }
    record.insert("decision".to_owned(), decision(&ruling.decision).into());
    // Without a check that acts, everything was looked at and let pass.
    if session.observe {
        record.insert("would".to_owned(), would(&ruling.shadow).into());
    }
    let said = ruling.findings.iter().map(|finding| (finding, true));
    let findings: Vec<Value> = said
        .chain(ruling.shadow.iter().map(|finding| (finding, false)))
        .map(|(finding, acted)| one(finding, acted))
        .collect();
    if !findings.is_empty() {
        record.insert("findings".to_owned(), findings.into());
    }
    record
}

fn about(message: &Message, asked: Option<&Asked>, record: &mut Map<String, Value>) {
    let shape = match message.shape() {
        Shape::Request => "request",
        Shape::Notification => "notification",
        Shape::Response => "response",
        Shape::Batch => "batch",
        Shape::Other => "other",
        Shape::Broken => "not JSON",
    };
    record.insert("shape".to_owned(), shape.into());
    let method = message.method().map(plain).or_else(|| asked.and_then(|asked| asked.method.clone()));
    let tool = message.called_tool().map(plain).or_else(|| asked.and_then(|asked| asked.tool.clone()));
    for (key, value) in [
        ("method", method.map(Value::from)),
        ("id", message.id().map(id)),
        ("tool", tool.map(Value::from)),
        ("bytes", Some(message.raw().len().into())),
    ] {
        if let Some(value) = value {
            record.insert(key.to_owned(), value);
        }
    }
}

fn decision(decision: &Decision) -> &'static str {
    match decision {
        Decision::Forward => "forward",
        Decision::Rewrite(_) => "rewrite",
        Decision::Each => "take apart",
        Decision::Refuse { .. } => "refuse",
    }
}

/// What would have been done.
fn would(shadow: &[Finding]) -> &'static str {
    let has = |act: Act| shadow.iter().any(|finding| finding.act == act);
    if has(Act::Refused) {
        "refuse"
    } else if has(Act::Withheld) || has(Act::Rewrote) {
        "rewrite"
    } else {
        "forward"
    }
}

fn one(finding: &Finding, acted: bool) -> Value {
    let act = match (finding.act, acted) {
        (Act::Refused, true) => "refused",
        (Act::Withheld, true) => "withheld",
        (Act::Rewrote, true) => "rewrote",
        (Act::Refused, false) => "would-refuse",
        (Act::Withheld, false) => "would-withhold",
        (Act::Rewrote, false) => "would-rewrite",
        (Act::Noted, _) => "noted",
    };
    json!({ "check": finding.check.as_str(), "rule": finding.rule, "act": act, "why": finding.why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_and_the_rest_is_a_digest() {
        assert_eq!(plain("read_messages"), "read_messages");
        assert_eq!(plain("notifications/initialized"), "notifications/initialized");
        for odd in ["", "two words", "a\nb", "é", &"a".repeat(200)] {
            assert!(plain(odd).starts_with("sha256:"), "{odd:?}");
        }
        let of = |text: &'static str| Message::new(text).id().map(id);
        assert_eq!(of(r#"{"id":7,"method":"ping"}"#), Some(json!(7)));
        assert_eq!(of(r#"{"id":"a-1","method":"ping"}"#), Some(json!("a-1")));
        assert!(of(r#"{"id":"my password is x","method":"ping"}"#).unwrap().as_str().unwrap().starts_with("sha256:"));
    }
}
