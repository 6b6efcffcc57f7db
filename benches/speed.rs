//! What a trial, a call through the guarded gate and the scan of a listing cost.
//!
//! Machines differ and are noisy: read these as ratios within one run. The
//! naive and direct figures stand beside the guarded ones for that.

#![expect(clippy::expect_used, reason = "a bench without its corpus has nothing to measure")]

use std::{collections::BTreeMap, hint::black_box, path::Path, sync::Arc};

use divan::{Bencher, counter::ItemsCount};
use gateproof::{
    gate::{BudgetPolicy, Event, Gate, Guarded, Naive, Passing, Policy, Rules, SchemaCache},
    plan::{Arm, Suite, Trial},
    protocol::{Direction, Message, Revision, ServerName},
    runner::{Ended, Schedule, Settings, play, run},
    score::Record,
    transport::Kind,
};

fn main() {
    divan::main();
}

fn suite() -> Suite {
    Suite::load(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the corpus loads")
}

fn trial(suite: &Suite, id: &str, arm: Arm) -> Trial {
    let prepared = suite.cases.iter().find(|prepared| prepared.case.id.as_str() == id).expect("the case exists");
    Trial { prepared: Arc::clone(prepared), arm, transport: Kind::Memory, revision: Revision::DEFAULT }
}

/// Open, list and call in memory, with the verdict: one whole trial.
#[divan::bench(args = ["direct", "naive", "guarded"])]
fn one_trial(bencher: Bencher, arm: &str) {
    let suite = suite();
    let trial = trial(&suite, "helpdesk.basics.call", arm.parse().expect("an arm"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let settings = Settings::default();
    bencher.bench_local(|| {
        let played = runtime.block_on(play(&trial, &settings));
        Record::new(&trial, Ended::Played(played))
    });
}

/// The whole corpus in memory on every core; the rate is trials a second.
#[divan::bench(sample_count = 10)]
fn corpus_in_memory(bencher: Bencher) {
    let suite = suite();
    let arms = [Arm::Naive, Arm::Guarded];
    let trials = gateproof::plan::Selection::new(arms, [Kind::Memory]).trials(&suite);
    let jobs = std::thread::available_parallelism().map_or(2, usize::from);
    let schedule = Schedule { jobs, ..Schedule::default() };
    bencher
        .counter(ItemsCount::new(trials.len()))
        .bench_local(|| run(&trials, &schedule, |numbered, ended| Record::new(&numbered.trial, ended), |_| {}));
}

fn gate(guarded: bool) -> Box<dyn Gate> {
    if !guarded {
        return Box::new(Naive);
    }
    let policy =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policies/helpdesk-pinned.toml"))
            .expect("the policy is there");
    let mut policy: Policy = toml::from_str(&policy).expect("the policy fits");
    // A bench is the loop that a budget is there to stop.
    let endless = usize::MAX;
    policy.default.budget = BudgetPolicy { calls: endless, identical: endless, in_a_row: endless, in_flight: 256 };
    let rules = Rules::new(policy, Arc::new(SchemaCache::default())).expect("the policy can be enforced");
    Box::new(Guarded::new(rules, BTreeMap::new()))
}

fn pass(gate: &mut dyn Gate, direction: Direction, raw: &'static str) {
    let server = ServerName::from("helpdesk");
    let message = Message::new(raw);
    let passing = Passing { server: &server, direction, message: &message, headers: None, via: None, batched: false };
    black_box(gate.decide(&Event::Passing(passing)));
}

/// A call and its result through a gate that has seen the listing.
#[divan::bench(args = ["naive", "guarded"])]
fn one_call(bencher: Bencher, arm: &str) {
    let mut gate = gate(arm == "guarded");
    pass(&mut *gate, Direction::Requestward, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    pass(
        &mut *gate,
        Direction::Replyward,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"find_ticket","description":"Finds a ticket by its number.","inputSchema":{"type":"object","properties":{"id":{"type":"string","minLength":1}},"required":["id"],"additionalProperties":false}}]}}"#,
    );
    bencher.bench_local(|| {
        pass(
            &mut *gate,
            Direction::Requestward,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find_ticket","arguments":{"id":"T-1"}}}"#,
        );
        pass(
            &mut *gate,
            Direction::Replyward,
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"T-1: the printer on the second floor is out of paper"}]}}"#,
        );
    });
}

/// Listings of so many tools, met for the first time.
#[divan::bench(args = [10, 100, 1000])]
fn scan_listing(bencher: Bencher, tools: usize) {
    let definitions: Vec<String> = (0..tools)
        .map(|n| {
            format!(
                r#"{{"name":"tool_{n}","description":"Looks up record number {n} in the ledger and returns its title, its owner and the date of the last change. Use it when you know the number; otherwise search first.","inputSchema":{{"type":"object","properties":{{"number":{{"type":"integer","description":"The number of the record, from 1."}},"fields":{{"type":"array","items":{{"type":"string"}},"description":"Which fields to return; all of them unless given."}}}},"required":["number"]}}}}"#
            )
        })
        .collect();
    let text = format!("[{}]", definitions.join(","));
    let document = gateproof::protocol::strict::parse(text.as_bytes()).expect("the listing is JSON");
    bencher.counter(ItemsCount::new(tools)).bench_local(|| {
        document.root.items().iter().map(|tool| gateproof::gate::text::scan_node(tool).len()).sum::<usize>()
    });
}
