//! How many descriptions that are presumed honest alarm the checks that read text,
//! and which.
//!
//! `cargo run --example false_alarms -- FILE`, where FILE is a JSON array of
//! objects with `server`, `name` and `description`. Each goes through the gate as
//! a listing of one tool, and as the argument of a call; then all servers together in
//! one session. No such collection is part of gateproof.

#![expect(clippy::print_stdout, reason = "what it measures is all it does")]

use std::{collections::BTreeSet, error::Error, sync::Arc};

use gateproof::{
    gate::{CheckId, CheckSet, Delegations, Event, Finding, Gate as _, Guarded, Passing, Policy, Rules, SchemaCache},
    protocol::{Direction, Message, ServerName},
};
use serde_json::{Value, json};

const CHECKS: [&str; 3] = ["hidden-text", "description-scan", "secrets-out"];
/// What looks over several servers: judged with all of them in one session.
const ACROSS: [&str; 1] = ["shadowing"];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file? a JSON array of {server, name, description}")?;
    let tools: Vec<Value> = serde_json::from_slice(&std::fs::read(path)?)?;
    let alone = rules(&CHECKS)?;
    report("alone", tools.len(), tools.iter().flat_map(|tool| findings(&mut gate(&alone), tool)));

    let mut together = gate(&rules(&ACROSS)?);
    // Twice, so that the first server is judged beside the last one, too.
    for tool in &tools {
        findings(&mut together, tool);
    }
    report("together", tools.len(), tools.iter().flat_map(|tool| findings(&mut together, tool)));
    Ok(())
}

fn rules(checks: &[&str]) -> Result<Rules, Box<dyn Error>> {
    let policy: Policy = toml::from_str("schema = 1\ntitle = \"nothing but the checks that read text\"")?;
    let these =
        checks.iter().filter_map(|name| CheckId::parse(name)).fold(CheckSet::none(), |on, id| on.with(id, true));
    Ok(Rules::new(policy, Arc::new(SchemaCache::default()))?.with_checks(these))
}

fn gate(rules: &Rules) -> Guarded {
    Guarded::new(rules.clone(), Delegations::new())
}

fn report(how: &str, total: usize, findings: impl Iterator<Item = (String, Finding)>) {
    let mut alarmed = BTreeSet::new();
    for (tool, Finding { check, rule, why, .. }) in findings {
        println!("{tool}: {check}/{rule}: {why}");
        alarmed.insert(tool);
    }
    let (alarms, all) = (alarmed.len(), total.max(1));
    println!(
        "{how}: {alarms} of {total} descriptions alarm ({}.{:02} %)",
        alarms * 100 / all,
        alarms * 10_000 / all % 100
    );
}

/// What the checks say of one tool in a listing of its own, and of its words in a call.
fn findings(gate: &mut Guarded, tool: &Value) -> Vec<(String, Finding)> {
    let server = ServerName::new(tool["server"].as_str().unwrap_or_default());
    let definition = json!({ "name": tool["name"], "description": tool["description"], "inputSchema": {} });
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    // One page of a listing that goes on: the tools before it stay.
    let answered = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [definition], "nextCursor": "more" } });
    // A name that was never listed, so that no other check has a say.
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "note", "arguments": { "text": tool["description"] } } });
    let mut found = Vec::new();
    for (direction, text) in
        [(Direction::Requestward, asked), (Direction::Replyward, answered), (Direction::Requestward, call)]
    {
        let message = Message::new(text.to_string());
        let passing =
            Passing { server: &server, direction, message: &message, headers: None, via: None, batched: false };
        found.extend(gate.decide(&Event::Passing(passing)).findings);
        let reply = Message::new(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
        if direction == Direction::Requestward && message.method() == Some("tools/call") {
            let passing = Passing { direction: Direction::Replyward, message: &reply, ..passing };
            gate.decide(&Event::Passing(passing));
        }
    }
    let tool = format!("{} {}", tool["server"], tool["name"]);
    found.into_iter().map(|finding| (tool.clone(), finding)).collect()
}
