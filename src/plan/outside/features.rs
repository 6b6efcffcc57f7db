//! What a gate carries, and what a case needs of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    case::{Case, Fault, List, Raw, Request, Step},
    plan::Prepared,
    protocol::{Message, Shape, strict::Node},
};

/// Something of the protocol that a gate may or may not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Resources are listed and read.
    Resources,
    /// Templates of resources are listed.
    Templates,
    /// Prompts are listed and fetched.
    Prompts,
    /// A listing of tools has pages.
    Pages,
    /// `ping` is answered.
    Ping,
    /// Notifications of the server's arrive.
    Notifications,
    /// `notifications/tools/list_changed` arrives.
    ListChanged,
    /// The server may ask for completions.
    Sampling,
    /// The server may ask the user.
    Elicitation,
    /// The server may ask for folders.
    Roots,
    /// Several messages in one.
    Batches,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Resources,
        Self::Templates,
        Self::Prompts,
        Self::Pages,
        Self::Ping,
        Self::Notifications,
        Self::ListChanged,
        Self::Sampling,
        Self::Elicitation,
        Self::Roots,
        Self::Batches,
    ];

    /// What it is called in a sentence: "the gate offers no …".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Templates => "resource templates",
            Self::Prompts => "prompts",
            Self::Pages => "listing in pages",
            Self::Ping => "ping",
            Self::Notifications => "notifications of the server's",
            Self::ListChanged => "notice of changed tools",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
            Self::Batches => "batches",
        }
    }

    /// What sends, or asks for, a message of this method. `asks`: with an id.
    fn of_method(method: &str, asks: bool) -> Option<Self> {
        Some(match method {
            "ping" => Self::Ping,
            "resources/templates/list" => Self::Templates,
            "notifications/tools/list_changed" => Self::ListChanged,
            "sampling/createMessage" => Self::Sampling,
            "elicitation/create" => Self::Elicitation,
            "roots/list" => Self::Roots,
            _ if method.starts_with("resources/") => Self::Resources,
            _ if method.starts_with("prompts/") => Self::Prompts,
            _ if method.starts_with("notifications/") && !asks => Self::Notifications,
            _ => return None,
        })
    }
}

/// What was seen to survive a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// What did not, with what came instead.
    pub absent: BTreeMap<Feature, String>,
    /// The revision that the gate answered to the default one.
    pub revision: Option<String>,
    /// Tools that the gate lists and the server does not.
    pub added_tools: Vec<String>,
}

impl Features {
    /// The first feature that a case needs and the gate doesn't offer, as a reason.
    pub(super) fn lacks(&self, prepared: &Prepared) -> Option<String> {
        let needed = needed(prepared);
        let (feature, got) = self.absent.iter().find(|(feature, _)| needed.contains(feature))?;
        Some(format!("the gate offers no {} ({got})", feature.as_str()))
    }
}

/// What a case needs beside opening, listing tools and calling them.
fn needed(prepared: &Prepared) -> BTreeSet<Feature> {
    let case = &prepared.case;
    let mut out = BTreeSet::new();
    for step in &case.body.steps {
        of_step(step, &mut out);
    }
    for (name, server) in case.servers() {
        for fault in &server.faults {
            of_fault(fault, &mut out);
        }
        let has_pages = prepared.servers.get(&name).is_some_and(|server| server.has_pages());
        if has_pages && lists_tools(case) {
            out.insert(Feature::Pages);
        }
    }
    out
}

fn lists_tools(case: &Case) -> bool {
    fn lists(step: &Step) -> bool {
        matches!(step, Step::List(List { what, .. }) if what.as_deref().is_none_or(|what| what == "tools"))
            || step.inner().iter().any(lists)
    }
    case.body.steps.iter().any(lists)
}

fn of_step(step: &Step, out: &mut BTreeSet<Feature>) {
    match step {
        Step::List(List { what, .. }) => out.extend(match what.as_deref() {
            Some("resources") => Some(Feature::Resources),
            Some("templates") => Some(Feature::Templates),
            Some("prompts") => Some(Feature::Prompts),
            _ => None,
        }),
        Step::Request(Request { method, .. }) => out.extend(Feature::of_method(method, true)),
        Step::Send(Raw { text: Some(text), .. }) => of_text(text, out),
        Step::Emit(emit) => of_text(&emit.text, out),
        Step::Mutate(mutation) if mutation.announce => {
            out.insert(Feature::ListChanged);
        }
        _ => {}
    }
    for inner in step.inner() {
        of_step(inner, out);
    }
}

/// What a server says beside its replies.
fn of_fault(fault: &Fault, out: &mut BTreeSet<Feature>) {
    for text in [&fault.before, &fault.then].into_iter().flatten() {
        of_text(text, out);
    }
}

fn of_text(text: &str, out: &mut BTreeSet<Feature>) {
    let message = Message::new(text.replace("{{id}}", "1").replace("{{n}}", "1"));
    match message.shape() {
        Shape::Batch => {
            out.insert(Feature::Batches);
        }
        shape => {
            let method = message.root().and_then(|root| root.member("method")).and_then(Node::as_str);
            out.extend(method.and_then(|method| Feature::of_method(method, shape == Shape::Request)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_says_what_is_needed() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":{{id}},"method":"prompts/get"}"#, vec![Feature::Prompts]),
            (r#"{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{}}"#, vec![Feature::Sampling]),
            (r#"{"jsonrpc":"2.0","method":"notifications/message"}"#, vec![Feature::Notifications]),
            (r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#, vec![Feature::ListChanged]),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#, vec![Feature::Batches]),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, vec![]),
            ("garbage", vec![]),
        ] {
            let mut found = BTreeSet::new();
            of_text(text, &mut found);
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
