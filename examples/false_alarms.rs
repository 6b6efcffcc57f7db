//! How many descriptions that are presumed honest alarm the checks that read text,
//! and which.
//!
//! `cargo run --example false_alarms -- FILE`, where FILE is a JSON array of
//! objects with `server`, `name` and `description`. Each goes through the gate as
//! a listing of one tool, and as the argument of a call. No such collection is part of gateproof.

#![expect(clippy::print_stdout, reason = "what it measures is all it does")]

use std::{error::Error, sync::Arc};

use gateproof::{
    gate::{CheckId, CheckSet, Delegations, Event, Finding, Gate as _, Guarded, Passing, Policy, Rules, SchemaCache},
    protocol::{Direction, Message, ServerName},
};
use serde_json::{Value, json};

const CHECKS: [&str; 3] = ["hidden-text", "description-scan", "secrets-out"];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file? a JSON array of {server, name, description}")?;
    let tools: Vec<Value> = serde_json::from_slice(&std::fs::read(path)?)?;
    let policy: Policy = toml::from_str("schema = 1\ntitle = \"nothing but the checks that read text\"")?;
    let these =
        CHECKS.iter().filter_map(|name| CheckId::parse(name)).fold(CheckSet::none(), |on, id| on.with(id, true));
    let rules = Rules::new(policy, Arc::new(SchemaCache::default()))?.with_checks(these);
    let mut alarms = 0;
    for tool in &tools {
        let findings = findings(&rules, tool);
        alarms += usize::from(!findings.is_empty());
        for Finding { check, rule, why, .. } in findings {
            println!("{} {}: {check}/{rule}: {why}", tool["server"], tool["name"]);
        }
    }
    let total = tools.len().max(1);
    println!(
        "{alarms} of {} descriptions alarm ({}.{:02} %)",
        tools.len(),
        alarms * 100 / total,
        alarms * 10_000 / total % 100
    );
    Ok(())
}

/// What the checks say of one tool in a listing of its own, and of its words in a call.
fn findings(rules: &Rules, tool: &Value) -> Vec<Finding> {
    let server = ServerName::new("presumed-honest");
    let mut gate = Guarded::new(rules.clone(), Delegations::new());
    let definition = json!({ "name": tool["name"], "description": tool["description"], "inputSchema": {} });
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let answered = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [definition] } });
    // A name that was never listed, so that no other check has a say.
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "note", "arguments": { "text": tool["description"] } } });
    [(Direction::Requestward, asked), (Direction::Replyward, answered), (Direction::Requestward, call)]
        .into_iter()
        .flat_map(|(direction, text)| {
            let message = Message::new(text.to_string());
            gate.decide(&Event::Passing(Passing {
                server: &server,
                direction,
                message: &message,
                headers: None,
                via: None,
            }))
            .findings
        })
        .collect()
}
