//! Each control gate does what it is there for, event by event.

use std::sync::Arc;

use super::{Control, Mutation};
use crate::{
    gate::{
        Act, CheckId, Decision, Delegations, Event, Gate, Guarded, Layer, Opening, Passing, Reach, Rules, Ruling,
        SchemaCache,
    },
    protocol::{Direction, Message, ServerName},
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"drop","arguments":{}}}"#;
const READ: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read","arguments":{}}}"#;
const REPLY: &str = r#"{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"dropped"}]}}"#;

/// A gate that allows `read` alone.
fn rules() -> Rules {
    let text = "schema = 1\ntitle = \"a test\"\n[default]\nallow = [\"read\"]\n";
    Rules::new(toml::from_str(text).unwrap(), Arc::new(SchemaCache::default())).unwrap()
}

fn reference() -> Guarded {
    Guarded::new(rules(), Delegations::new())
}

fn check() -> CheckId {
    CheckId::parse("tool-allowlist").unwrap()
}

fn pass(gate: &mut dyn Gate, direction: Direction, text: &'static str) -> Ruling {
    let (server, message) = (ServerName::from("s"), Message::new(text));
    gate.decide(&Event::Passing(Passing {
        server: &server,
        direction,
        message: &message,
        headers: None,
        via: None,
        batched: false,
    }))
}

fn ask(gate: &mut dyn Gate, text: &'static str) -> Ruling {
    pass(gate, Direction::Requestward, text)
}

fn answer(ruling: &Ruling) -> String {
    match &ruling.decision {
        Decision::Refuse { reply: Some(reply), .. } => String::from_utf8_lossy(reply).into_owned(),
        other => panic!("no answer: {other:?}"),
    }
}

fn is_swallowed(ruling: &Ruling) -> bool {
    matches!(ruling.decision, Decision::Refuse { reply: None, .. })
}

fn opening() -> Opening {
    Opening { server: "s".into(), reach: Reach::Memory, env: std::collections::BTreeMap::new(), layer: Layer::User }
}

#[test]
fn the_reference_refuses_what_these_tests_are_about() {
    assert!(answer(&ask(&mut reference(), CALL)).contains("refused by tool-allowlist"));
    assert_eq!(ask(&mut reference(), READ).decision, Decision::Forward);
}

#[test]
fn a_leaky_gate_forwards_and_denies() {
    let mut gate = Control::Leaky.gate(reference());
    assert_eq!(ask(&mut *gate, CALL).decision, Decision::Forward);
    let denied = pass(&mut *gate, Direction::Replyward, REPLY);
    assert!(answer(&denied).contains("refused by tool-allowlist"));
    // One refusal for one reply: what comes next is the reference gate's affair.
    assert!(denied.findings.is_empty());
    assert!(!pass(&mut *gate, Direction::Replyward, REPLY).findings.is_empty());
}

#[test]
fn answers_that_are_made_up_carry_the_requests_own_id() {
    const ODD: &str = r#"{"jsonrpc":"2.0","id":7.0,"method":"ping"}"#;
    let yes = answer(&ask(&mut *Control::CannedYes.gate(reference()), ODD));
    assert!(yes.contains("\"id\":7.0") && yes.contains("\"result\""), "{yes}");
    let no = answer(&ask(&mut *Control::DenyAll.gate(reference()), ODD));
    assert!(no.contains("\"id\":7.0") && no.contains("\"error\""), "{no}");
}

#[test]
fn silent_gates_say_nothing() {
    for (control, opens) in [(Control::Dead, false), (Control::Hanging, true)] {
        let mut gate = control.gate(reference());
        assert_eq!(gate.decide(&Event::Opening(&opening())).decision == Decision::Forward, opens, "{control}");
        assert!(is_swallowed(&ask(&mut *gate, READ)), "{control}");
        assert!(is_swallowed(&pass(&mut *gate, Direction::Replyward, REPLY)), "{control}");
    }
}

#[test]
fn a_wrong_reason_changes_the_account_and_nothing_else() {
    let (right, wrong) = (ask(&mut reference(), CALL), ask(&mut *Control::WrongReason.gate(reference()), CALL));
    assert_eq!(right.decision, wrong.decision);
    assert!(right.findings.iter().any(|finding| finding.check == check()));
    assert!(!wrong.findings.is_empty() && wrong.findings.iter().all(|finding| finding.check != check()));
}

#[test]
fn mutants_go_wrong_in_their_own_way() {
    let policy = rules().checks();
    let of = |mutation: Mutation, text| ask(&mut *mutation.gate(check(), reference(), policy), text);
    let blind = of(Mutation::Blind, CALL);
    assert_eq!(blind, Ruling::forward());
    let hollow = of(Mutation::Hollow, CALL);
    assert_eq!(hollow.decision, Decision::Forward);
    assert!(hollow.findings.iter().any(|finding| finding.check == check() && finding.act == Act::Refused));
    assert!(answer(&of(Mutation::Zealous, READ)).contains("refused by tool-allowlist"));
    // A check that the policy switches off has nothing to be zealous about.
    let off = policy.with(check(), false);
    assert_eq!(ask(&mut *Mutation::Zealous.gate(check(), reference(), off), READ).decision, Decision::Forward);
}
