//! What the reference gate with every check on adds to single messages, at the
//! median and at the 99th percentile, over sizes: nothing may grow faster than
//! its input.
//!
//! `cargo bench --bench latency`. Machines are noisy: read the columns against
//! each other, within one run.

#![expect(clippy::expect_used, reason = "a bench without its policy has nothing to measure")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::{
    collections::BTreeMap,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use gateproof::{
    gate::{Decision, Event, Gate, Guarded, Layer, Opening, Passing, Policy, Reach, Rules, SchemaCache},
    protocol::{Direction, Message, ServerName},
};

/// How many calls one session holds: under every budget.
const CALLS: usize = 200;
/// How many sessions.
const SESSIONS: usize = 50;
/// How often each listing is met, each time by a gate that has not seen it.
const LISTINGS: usize = 30;

fn main() {
    let rules = rules();
    println!("a call and its result, every check on ({} each)\n", SESSIONS * CALLS);
    println!(
        "{:>9}  {:>10} {:>10}  {:>10} {:>10}  {:>9}",
        "bytes", "call p50", "call p99", "result p50", "result p99", "ns/byte"
    );
    for size in [100_u32, 1_000, 10_000, 100_000] {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        let sessions = if size > 10_000 { SESSIONS / 10 } else { SESSIONS };
        for _ in 0..sessions {
            session(&rules, bytes, &mut calls, &mut results);
        }
        let (a, b, c, d) = (at(&mut calls, 50), at(&mut calls, 99), at(&mut results, 50), at(&mut results, 99));
        println!(
            "{size:>9}  {:>10} {:>10}  {:>10} {:>10}  {:>9.1}",
            micros(a),
            micros(b),
            micros(c),
            micros(d),
            (a + c).as_secs_f64() * 1e9 / f64::from(2 * size)
        );
    }
    println!("\na listing that the gate has not met, every check on ({LISTINGS} each)\n");
    println!("{:>9}  {:>10} {:>10}  {:>9}", "tools", "p50", "p99", "µs/tool");
    for tools in [10_u32, 100, 300, 1_000] {
        let mut times: Vec<_> =
            (0..LISTINGS).map(|_| listing(&rules, usize::try_from(tools).unwrap_or(usize::MAX))).collect();
        let median = at(&mut times, 50);
        let each = median.as_secs_f64() * 1e6 / f64::from(tools);
        println!("{tools:>9}  {:>10} {:>10}  {each:>9.2}", micros(median), micros(at(&mut times, 99)));
    }
}

fn rules() -> Rules {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/everything.toml");
    let policy: Policy =
        toml::from_str(&std::fs::read_to_string(path).expect("the policy is there")).expect("the policy fits");
    Rules::new(policy, Arc::new(SchemaCache::default())).expect("the policy can be enforced")
}

/// One session: opened, listed, and then many calls, no two alike.
fn session(rules: &Rules, size: usize, calls: &mut Vec<Duration>, results: &mut Vec<Duration>) {
    let mut gate = opened(rules);
    pass(&mut gate, Direction::Requestward, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_owned());
    pass(&mut gate, Direction::Replyward, format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{}]}}}}"#, tool(0)));
    for id in 10..10 + CALLS {
        let text = prose(size);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"tool_0","arguments":{{"number":{id},"note":"{text}"}}}}}}"#
        );
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"Record {id}: {text}"}}]}}}}"#
        );
        calls.push(pass(&mut gate, Direction::Requestward, call));
        results.push(pass(&mut gate, Direction::Replyward, result));
    }
}

fn opened(rules: &Rules) -> Guarded {
    let mut gate = Guarded::new(rules.clone(), BTreeMap::new());
    let opening = Opening { server: server(), reach: Reach::Memory, env: BTreeMap::new(), layer: Layer::User };
    gate.decide(&Event::Opening(&opening));
    pass(
        &mut gate,
        Direction::Requestward,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#.to_owned(),
    );
    pass(
        &mut gate,
        Direction::Replyward,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"records","version":"1"}}}"#.to_owned(),
    );
    pass(&mut gate, Direction::Requestward, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned());
    gate
}

/// How long a listing of so many tools takes that no scan has met before.
fn listing(rules: &Rules, tools: usize) -> Duration {
    // A fresh set of rules: what was scanned once is remembered with them.
    let rules = Rules::new(rules.policy().clone(), Arc::new(SchemaCache::default())).expect("as before");
    let mut gate = opened(&rules);
    pass(&mut gate, Direction::Requestward, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#.to_owned());
    let all: Vec<_> = (0..tools).map(tool).collect();
    pass(
        &mut gate,
        Direction::Replyward,
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{}]}}}}"#, all.join(",")),
    )
}

fn tool(n: usize) -> String {
    format!(
        r#"{{"name":"tool_{n}","description":"Looks up record number {n} in the ledger and returns its title, its owner and the date of the last change. Use it when you know the number; otherwise search first.","inputSchema":{{"type":"object","properties":{{"number":{{"type":"integer","description":"The number of the record, from 1."}},"note":{{"type":"string"}}}},"required":["number"]}}}}"#
    )
}

fn prose(size: usize) -> String {
    "The printer on the second floor is out of paper; the next delivery comes on day 12. "
        .chars()
        .cycle()
        .take(size)
        .collect()
}

fn server() -> ServerName {
    ServerName::from("records")
}

/// Shows a message, and says how long the gate took; the message's own parsing
/// counts. Whatever is refused was not what this measures.
fn pass(gate: &mut Guarded, direction: Direction, raw: String) -> Duration {
    let (server, message) = (server(), Message::new(raw));
    let passing = Passing { server: &server, direction, message: &message, headers: None, via: None, batched: false };
    let start = Instant::now();
    let ruling = black_box(gate.decide(&Event::Passing(passing)));
    let took = start.elapsed();
    assert!(!matches!(ruling.decision, Decision::Refuse { .. }), "{:?}", ruling.findings);
    took
}

fn at(times: &mut [Duration], percentile: usize) -> Duration {
    times.sort_unstable();
    times.get((times.len() * percentile / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}
