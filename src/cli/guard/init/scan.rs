//! What the gate says of definitions that nobody has approved yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    gate::{
        Act, Decision, Delegations, Event, Finding, FlowSettings, Gate as _, Guarded, LaunchPolicy, ListingKind,
        NamesPolicy, Passing, PinKey, PinKind, Policy, PolicyError, Rules, Ruling, SchemaCache, ServerPolicy,
    },
    pins::Shown,
    protocol::{Direction, Message, ServerName, strict::Node},
    relay::SharedGate,
};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// What the gate objects to, with its reasons.
    pub(super) objections: BTreeMap<PinKey, Vec<String>>,
}

/// The rules that hold where a policy says nothing, but for the environment.
///
/// # Errors
/// Where a variable's name is none.
pub(super) fn rules(name: &ServerName, env: &[String]) -> Result<Rules, PolicyError> {
    let env = (!env.is_empty()).then(|| env.to_vec());
    let own = ServerPolicy { launch: LaunchPolicy { env, ..LaunchPolicy::default() }, ..ServerPolicy::default() };
    let policy = Policy {
        schema: 1,
        title: "as it is written first".to_owned(),
        checks: BTreeMap::new(),
        names: NamesPolicy::default(),
        flow: FlowSettings::default(),
        servers: BTreeMap::from([(name.clone(), own)]),
        default: ServerPolicy::default(),
    };
    Rules::new(policy, Arc::new(SchemaCache::default()))
}

/// A gate of those rules, which decides how the server is started.
pub(super) fn gate(rules: &Rules) -> SharedGate {
    let rules = rules.clone();
    SharedGate::new(move || Box::new(Guarded::new(rules.clone(), Delegations::default())))
}

/// Shows every definition to a gate, by itself and with the rest of its kind.
pub(super) fn scan(rules: &Rules, name: &ServerName, shown: &Shown) -> Scanned {
    let mut scanned = Scanned::default();
    for (key, definition) in &shown.definitions {
        let whys = objections(&alone(rules, name, key, &definition.text));
        if !whys.is_empty() {
            scanned.objections.insert(key.clone(), whys);
        }
    }
    for kind in ListingKind::ALL {
        let of_kind = || shown.definitions.iter().filter(|((other, _), _)| *other == PinKind::from(kind));
        let texts: Vec<_> = of_kind().map(|(_, definition)| &*definition.text).collect();
        let ruling =
            asked(rules, name, method(kind), "{}", &format!(r#"{{"{}":[{}]}}"#, kind.member(), texts.join(",")));
        let passed = passed(kind, &ruling, of_kind().map(|((_, name), _)| name.as_str()));
        for (key, _) in of_kind().filter(|((_, name), _)| !passed.contains(name)) {
            // What it objects to is beside it.
            scanned.objections.entry(key.clone()).or_insert_with(|| objections(&ruling));
        }
    }
    scanned
}

fn method(kind: ListingKind) -> &'static str {
    match kind {
        ListingKind::Tools => "tools/list",
        ListingKind::Resources => "resources/list",
        ListingKind::Templates => "resources/templates/list",
        ListingKind::Prompts => "prompts/list",
    }
}

/// What the gate makes of one definition alone.
fn alone(rules: &Rules, name: &ServerName, (kind, called): &PinKey, text: &str) -> Ruling {
    let list = |method: &str, member: &str| asked(rules, name, method, "{}", &format!(r#"{{"{member}":[{text}]}}"#));
    match kind {
        PinKind::Tool => list("tools/list", "tools"),
        PinKind::Prompt => list("prompts/list", "prompts"),
        PinKind::Resource => list("resources/list", "resources"),
        PinKind::Template => list("resources/templates/list", "resourceTemplates"),
        PinKind::Messages => {
            let params = serde_json::json!({ "name": called }).to_string();
            asked(rules, name, "prompts/get", &params, text)
        }
        PinKind::Instructions => {
            let result = format!(
                r#"{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"server","version":"1"}},"instructions":{text}}}"#
            );
            let params =
                r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"gateproof","version":"1"}}"#;
            asked(rules, name, "initialize", params, &result)
        }
    }
}

/// What a new gate makes of a result.
fn asked(rules: &Rules, name: &ServerName, method: &str, params: &str, result: &str) -> Ruling {
    let mut gate = Guarded::new(rules.clone(), Delegations::default());
    let mut pass = |direction: Direction, text: String| {
        let message = Message::new(text);
        gate.decide(&Event::Passing(Passing {
            server: name,
            direction,
            message: &message,
            headers: None,
            via: None,
            batched: false,
        }))
    };
    pass(Direction::Requestward, format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
    pass(Direction::Replyward, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
}

fn objections(ruling: &Ruling) -> Vec<String> {
    let acts = ruling.findings.iter().filter(|finding| finding.act != Act::Noted);
    acts.map(|Finding { check, rule, why, .. }| format!("{}/{rule}: {why}", check.as_str())).collect()
}

/// The names of what the client would see.
fn passed<'a>(kind: ListingKind, ruling: &Ruling, all: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    match &ruling.decision {
        Decision::Refuse { .. } | Decision::Each => BTreeSet::new(),
        Decision::Rewrite(rewrite) if rewrite.body.is_some() => {
            let message = Message::new(rewrite.body.clone().unwrap_or_default());
            let items = message.result().and_then(|result| result.member(kind.member())).map_or(&[][..], Node::items);
            items.iter().filter_map(|item| Some(item.member(kind.key())?.as_str()?.to_owned())).collect()
        }
        Decision::Forward | Decision::Rewrite(_) => all.map(str::to_owned).collect(),
    }
}
