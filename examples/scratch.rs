#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
use gateproof::{
    gate::{
        CheckId, CheckSet, Delegation, Delegations, Event, Gate as _, Guarded, Passing, Policy, Rules, SchemaCache,
    },
    protocol::{Direction, Message, ServerName},
};
use std::{io::BufRead, sync::Arc, time::Instant};
fn main() {
    let policy: Policy = toml::from_str("schema = 1\ntitle = \"x\"").unwrap();
    let only = CheckSet::none().with(CheckId::parse("secrets-out").unwrap(), true);
    let rules = Rules::new(policy, Arc::new(SchemaCache::default())).unwrap().with_checks(only);
    let server = ServerName::new("s");
    let held = std::env::args().nth(1).is_some();
    let (mut n, mut bytes, mut alarms) = (0, 0, 0);
    let start = Instant::now();
    let mut spent = std::time::Duration::ZERO;
    let mut slow = (std::time::Duration::ZERO, String::new());
    let mut by_size: Vec<(usize, f64)> = vec![];
    for line in std::io::stdin().lock().lines() {
        let path = line.unwrap();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let call = serde_json::json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":{"text":text}}}).to_string();
        let message = Message::new(call);
        let _ = message.shape();
        let mut d = Delegations::new();
        if held {
            d.insert("s".into(), Delegation { token: "canary-held-9f3b-71ce-a1b2".into() });
        }
        let mut gate = Guarded::new(rules.clone(), d);
        let at = Instant::now();
        let ruling = gate.decide(&Event::Passing(Passing {
            server: &server,
            direction: Direction::Requestward,
            message: &message,
            headers: None,
        }));
        let took = at.elapsed();
        spent += took;
        n += 1;
        bytes += text.len();
        by_size.push((text.len(), took.as_secs_f64() * 1e6));
        if took > slow.0 {
            slow = (took, path.clone());
        }
        if !ruling.findings.is_empty() {
            alarms += 1;
            println!("{path}: {:?}", ruling.findings.iter().map(|f| f.rule).collect::<Vec<_>>());
        }
    }
    for (lo, hi) in [(0, 500), (500, 2000), (2000, 8000), (8000, 64000), (64000, 2000000)] {
        let mut t: Vec<_> = by_size.iter().filter(|(s, _)| *s >= lo && *s < hi).map(|(_, t)| *t).collect();
        t.sort_by(f64::total_cmp);
        if !t.is_empty() {
            println!("{lo}-{hi}: {} median {:.1} us p99 {:.1}", t.len(), t[t.len() / 2], t[t.len() * 99 / 100]);
        }
    }
    println!(
        "{n} files {bytes} bytes {alarms} alarms {spent:?} of {:?}; {:.1} MB/s slowest {slow:?}",
        start.elapsed(),
        bytes as f64 / spent.as_secs_f64() / 1e6
    );
}
