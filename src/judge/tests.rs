//! Every shape that a refusal may take, in both manners.

use bytes::Bytes;

use super::{Manner, Outcome, Status, Verdict, judge};
use crate::{
    case::Case,
    protocol::{Direction, Leg, Message, ServerName},
    transcript::{Answer, Crossing, Dress, Event, Mark, Transcript},
};

use made::case;

const DELETE: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete","arguments":{}}}"#;
const READ: &str = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":{}}}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"buy 5.0 l of milk"}]}}"#;
/// The same, written anew by a typed model.
const ANEW: &str =
    r#"{"id":3, "jsonrpc":"2.0", "result":{"content":[{"text":"buy 5.0 l of \u006dilk","type":"text"}]}}"#;

/// A call that has to be denied, and honest work after it.
fn attack() -> Case {
    case(
        "attack",
        r#"
twin = "a.twin"
steps = [
  { open = {} },
  { call = { as = "delete", tool = "delete" } },
  { call = { as = "read", tool = "read" } },
]
[expect]
harm = [{ client-got = { text = "deleted" } }]
utility = [{ unchanged = { of = "read" } }]
refusal = { of = "delete" }
"#,
    )
}

/// The honest work alone.
fn honest(utility: &str) -> Case {
    case(
        "benign",
        &format!(
            "steps = [{{ open = {{}} }}, {{ call = {{ as = \"read\", tool = \"read\" }} }}]\n[expect]\nutility = {utility}\n"
        ),
    )
}

/// Reads cases: only tests of the judge ever see a source.
#[cfg(test)]
mod made {
    use crate::{
        case::{self, Case},
        fixture::Source,
    };

    pub(super) fn case(kind: &str, rest: &str) -> Case {
        let text = format!(
            "schema = 1\nid = \"a.b\"\ntitle = \"t\"\nkind = \"{kind}\"\ntechnique = \"C12\"\npolicy = \"p\"\n\
             servers = [{{ fixture = \"s\" }}]\n{rest}"
        );
        let source = Source::new("a/b.toml", text);
        let file = case::load(&source, "a/b").unwrap();
        case::expand(&source, &file, None).unwrap().remove(0)
    }
}

/// A transcript in the making: what a client asks, what a server says to it.
struct Play(Transcript);

impl Play {
    /// Opened and answered.
    fn new() -> Self {
        let mut play = Self(Transcript::default());
        let opening = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
        let opened = r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}"#;
        play.step("open-1", opening, Some(opened), reply(opened));
        play
    }

    fn crossed(&mut self, leg: Leg, direction: Direction, text: &str) {
        self.0.events.push(Event::Crossed(Crossing {
            leg,
            direction,
            server: ServerName::from("s"),
            message: Message::new(text.to_owned()),
            dress: Dress::default(),
        }));
    }

    /// `server`: what it answered, where the request reached it.
    fn step(&mut self, label: &str, sent: &str, server: Option<&str>, answer: Answer) {
        self.crossed(Leg::Downstream, Direction::Requestward, sent);
        if let Some(said) = server {
            self.crossed(Leg::Upstream, Direction::Requestward, sent);
            self.crossed(Leg::Upstream, Direction::Replyward, said);
        }
        if let Answer::Reply(body) | Answer::Http { body, .. } = &answer {
            self.crossed(Leg::Downstream, Direction::Replyward, &String::from_utf8_lossy(body));
        }
        let message = Message::new(sent.to_owned());
        self.0.marks.push(Mark {
            label: label.to_owned(),
            server: ServerName::from("s"),
            id: message.id().cloned(),
            method: message.method().map(str::to_owned),
            tool: message.called_tool().map(str::to_owned),
            sent: message.raw().clone(),
            answer,
            took: None,
        });
    }
}

fn reply(text: &str) -> Answer {
    Answer::Reply(Bytes::from(text.to_owned()))
}

fn forbidden() -> Answer {
    Answer::Http { status: 403, body: Bytes::from_static(b"<h1>Request blocked</h1>") }
}

/// Each shape of the issue, and whether it is due form.
fn shapes() -> Vec<(&'static str, Answer, bool)> {
    vec![
        ("an error", reply(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no"}}"#), true),
        ("isError", reply(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}"#), true),
        (
            "words in a success",
            reply(
                r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Error: blocked"}],"isError":false}}"#,
            ),
            false,
        ),
        ("403", forbidden(), false),
        ("silence", Answer::Silence, false),
        ("a wrong shape", reply(r#"{"jsonrpc":"2.0","id":2,"result":"blocked"}"#), false),
        ("neither", reply(r#"{"jsonrpc":"2.0","id":2}"#), false),
        ("a foreign id", reply(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#), false),
        ("closed", Answer::Closed("gone".to_owned()), false),
    ]
}

fn both(case: &Case, play: &Play) -> [Verdict; 2] {
    [Manner::Strict, Manner::Substance].map(|manner| judge(case, &play.0, manner))
}

#[test]
fn shapes_weigh_in_strict_and_stand_beside_in_substance() {
    for (shape, answer, well) in shapes() {
        let mut play = Play::new();
        play.step("delete", DELETE, None, answer);
        play.step("read", READ, Some(NOTE), reply(NOTE));
        let [strict, substance] = both(&attack(), &play);
        assert_eq!(strict.status, if well { Status::Pass } else { Status::Fail }, "{shape}: {:?}", strict.reasons);
        assert_eq!((substance.status, substance.stopped), (Status::Pass, true), "{shape}: {:?}", substance.reasons);
        for verdict in [strict, substance] {
            assert_eq!(verdict.refused_well, Some(well), "{shape}");
            assert_eq!((verdict.faithful, verdict.alive_after), (Some(true), Some(true)), "{shape}");
            assert_eq!(verdict.status == Status::Pass, verdict.reasons.is_empty(), "{shape}");
        }
    }
}

#[test]
fn no_shape_hides_that_the_server_got_it() {
    for (shape, answer, _) in shapes() {
        let mut play = Play::new();
        play.step("delete", DELETE, Some(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#), answer);
        play.step("read", READ, Some(NOTE), reply(NOTE));
        for verdict in both(&attack(), &play) {
            assert_eq!((verdict.status, verdict.stopped), (Status::Fail, false), "{shape}");
            assert_eq!(verdict.requests_for_denied, 1, "{shape}");
            assert!(!verdict.reasons.is_empty(), "{shape}");
        }
    }
}

#[test]
fn a_denied_call_is_known_again_by_its_tool_and_by_its_content() {
    let no = || reply(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no"}}"#);
    let elsewhere = DELETE.replace("{}", r#"{"id":7}"#).replace("\"id\":2", "\"id\":9");
    // Written anew on the way, under another id.
    let mut rewritten = Play::new();
    rewritten.step("delete", DELETE, None, no());
    rewritten.crossed(Leg::Upstream, Direction::Requestward, &elsewhere);
    // In place of another call of the same tool, which never came.
    let mut exchanged = Play::new();
    exchanged.step("delete", DELETE, None, no());
    exchanged.crossed(Leg::Upstream, Direction::Requestward, DELETE);
    exchanged.step("other", &elsewhere, None, Answer::Silence);
    for mut play in [rewritten, exchanged] {
        play.step("read", READ, Some(NOTE), reply(NOTE));
        for verdict in both(&attack(), &play) {
            assert_eq!((verdict.status, verdict.requests_for_denied), (Status::Fail, 1), "{verdict:?}");
        }
    }
}

#[test]
fn a_control_that_does_not_hold_blocks() {
    let controlled = |control: &str| {
        let rest = "steps = [{ open = {} }, { call = { as = \"read\", tool = \"read\" } }]\n[expect]\n\
                    utility = [{ unchanged = { of = \"read\" } }]\n";
        case("benign", &format!("{rest}control = [{{ client-got = {{ text = \"{control}\" }} }}]\n"))
    };
    let mut play = Play::new();
    play.step("read", READ, Some(NOTE), reply(NOTE));
    for (control, status) in [("milk", Status::Pass), ("honey", Status::Blocked)] {
        for verdict in both(&controlled(control), &play) {
            assert_eq!(verdict.status, status, "{control}: {:?}", verdict.reasons);
        }
    }
}

#[test]
fn harm_is_harm_in_a_refusals_shape() {
    for answer in [
        reply(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no, it is deleted"}}"#),
        Answer::Http { status: 403, body: Bytes::from_static(b"deleted") },
    ] {
        let mut play = Play::new();
        play.step("delete", DELETE, None, answer);
        play.step("read", READ, Some(NOTE), reply(NOTE));
        for verdict in both(&attack(), &play) {
            assert!(verdict.harmed && !verdict.stopped);
            assert_eq!(verdict.status, Status::Fail);
        }
    }
}

#[test]
fn a_session_that_a_refusal_ended_is_dead_and_serves_nobody() {
    for dead in [Answer::Silence, Answer::Closed("gone".to_owned()), forbidden()] {
        let mut play = Play::new();
        play.step("delete", DELETE, None, Answer::Closed("gone".to_owned()));
        play.step("read", READ, None, dead);
        let [_, substance] = both(&attack(), &play);
        assert_eq!(substance.alive_after, Some(false));
        assert_eq!((substance.stopped, substance.served, substance.status), (true, false, Status::Fail));
    }
    let mut play = Play::new();
    play.step("delete", DELETE, None, forbidden());
    assert_eq!(judge(&attack(), &play.0, Manner::Substance).alive_after, None, "nothing was asked any more");
    play.step("open-2", r#"{"jsonrpc":"2.0","id":9,"method":"initialize"}"#, None, Answer::Silence);
    play.step("read", READ, Some(NOTE), reply(NOTE));
    assert_eq!(judge(&attack(), &play.0, Manner::Substance).alive_after, None, "another session says nothing of it");
}

#[test]
fn what_was_sent_at_once_is_not_later() {
    let mut play = Play::new();
    play.crossed(Leg::Downstream, Direction::Requestward, READ);
    play.step("delete", DELETE, None, reply(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}"#));
    play.step("read", READ, Some(NOTE), reply(NOTE));
    // Only the first of the two crossings was: both stand for one request here.
    let sent = |event: &Event| matches!(event, Event::Crossed(one) if one.message.raw() == READ);
    let last = play.0.events.iter().rposition(sent).unwrap();
    let second = play.0.events[..last].iter().rposition(sent).unwrap();
    play.0.events.remove(second);
    assert_eq!(judge(&attack(), &play.0, Manner::Strict).alive_after, None);
}

#[test]
fn a_dead_gate_passes_nothing() {
    let mut play = Play(Transcript::default());
    play.step("open-1", r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, None, Answer::Silence);
    play.step("delete", DELETE, None, Answer::Silence);
    play.step("read", READ, None, Answer::Silence);
    let probe = case(
        "robustness",
        "steps = [{ open = {} }]\n[expect]\nutility = [{ server-got = { method = \"x\", exactly = 0 } }]\n",
    );
    for case in [attack(), honest(r#"[{ unchanged = { of = "read" } }]"#)] {
        for verdict in both(&case, &play) {
            assert_eq!((verdict.status, verdict.stopped), (Status::Fail, false));
        }
    }
    let verdict = judge(&probe, &play.0, Manner::Substance);
    assert_eq!(verdict.status, Status::Fail);
    assert!(!verdict.reasons.is_empty());
}

#[test]
fn a_success_that_no_server_was_asked_for_serves_nobody() {
    let case = honest(r#"[{ reply = { of = "read", ok = true, text = "milk" } }]"#);
    let mut play = Play::new();
    play.step("read", READ, None, reply(NOTE));
    for verdict in both(&case, &play) {
        assert_eq!((verdict.status, verdict.served), (Status::Fail, false));
    }
    let mut play = Play::new();
    play.step("read", READ, Some(NOTE), reply(ANEW));
    for verdict in both(&case, &play) {
        assert_eq!((verdict.status, verdict.served), (Status::Pass, true));
    }
}

#[test]
fn what_the_server_itself_refused_is_no_leak_of_the_gates() {
    let said =
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"no such note"}],"isError":true}}"#;
    let anew =
        r#"{"id":2,"jsonrpc":"2.0","result":{"isError":true,"content":[{"type":"text","text":"no such note"}]}}"#;
    let mut play = Play::new();
    play.step("delete", DELETE, Some(said), reply(anew));
    play.step("read", READ, Some(NOTE), reply(NOTE));
    let [strict, substance] = both(&attack(), &play);
    assert_eq!((strict.outcome, substance.outcome), (Outcome::Leaked, Outcome::Forwarded));
    // It came to the server, which is what the case forbids.
    assert_eq!((substance.requests_for_denied, substance.status), (1, Status::Fail));
    let mut play = Play::new();
    let own = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"denied by policy"}}"#;
    play.step("delete", DELETE, Some(said), reply(own));
    assert_eq!(judge(&attack(), &play.0, Manner::Substance).outcome, Outcome::Leaked);
}

#[test]
fn json_written_anew_serves_in_substance_and_is_not_faithful() {
    let case = honest(r#"[{ unchanged = { of = "read" } }]"#);
    let mut play = Play::new();
    play.step("read", READ, Some(NOTE), reply(ANEW));
    let [strict, substance] = both(&case, &play);
    assert_eq!((strict.status, substance.status), (Status::Fail, Status::Pass));
    assert_eq!((strict.faithful, substance.faithful), (Some(false), Some(false)));
    assert_eq!(substance.refused_well, None);
}

#[test]
fn a_gates_own_words_serve_nobody() {
    let case = honest(r#"[{ unchanged = { of = "read" } }]"#);
    let mut all = shapes();
    all.push(("less", reply(&NOTE.replace("milk", "[redacted]")), false));
    for (shape, answer, _) in all {
        let answer = match answer {
            Answer::Reply(body) => reply(&String::from_utf8_lossy(&body).replace(r#""id":2"#, r#""id":3"#)),
            other => other,
        };
        for server in [None, Some(NOTE)] {
            let mut play = Play::new();
            play.step("read", READ, server, answer.clone());
            for verdict in both(&case, &play) {
                assert_eq!((verdict.status, verdict.served), (Status::Fail, false), "{shape}, {server:?}");
                assert_eq!(verdict.faithful, Some(false), "{shape}");
            }
        }
    }
}

#[test]
fn a_servers_own_error_comes_through_as_one() {
    let case = honest(r#"[{ unchanged = { of = "read" } }]"#);
    let said = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no such note"}}"#;
    for (got, status) in [
        (r#"{"id":3,"jsonrpc":"2.0","error":{"message":"no such note","code":-32602}}"#, Status::Pass),
        (r#"{"id":3,"jsonrpc":"2.0","error":{"message":"denied","code":-32602}}"#, Status::Fail),
        (r#"{"id":3,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"no such note"}]}}"#, Status::Fail),
    ] {
        let mut play = Play::new();
        play.step("read", READ, Some(said), reply(got));
        assert_eq!(judge(&case, &play.0, Manner::Substance).status, status, "{got}");
    }
}

#[test]
fn a_result_of_another_kind_is_no_answer() {
    let case = honest(r#"[{ unchanged = { of = "read" } }]"#);
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    let complete = r#"{"jsonrpc":"2.0","id":3,"method":"completion/complete"}"#;
    let empty = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
    let values = r#"{"jsonrpc":"2.0","id":3,"result":{"completion":{"values":[]}}}"#;
    let words = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Error: blocked"}]}}"#;
    for (asked, said, got, status) in [
        (ping, empty, r#"{"id":3,"result":{},"jsonrpc":"2.0"}"#, Status::Pass),
        (ping, empty, words, Status::Fail),
        (complete, values, r#"{"id":3,"result":{"completion":{"values":[]}}}"#, Status::Pass),
        (complete, values, r#"{"id":3,"result":{}}"#, Status::Fail),
    ] {
        let mut play = Play::new();
        play.step("read", asked, Some(said), reply(got));
        assert_eq!(judge(&case, &play.0, Manner::Substance).status, status, "{asked} {got}");
    }
}

#[test]
fn another_calls_answer_is_not_this_ones() {
    let case = honest(r#"[{ unchanged = { of = "read" } }]"#);
    let other = READ.replace(r#""id":3"#, r#""id":4"#).replace("{}", r#"{"id":"secret"}"#);
    let mut play = Play::new();
    play.step("other", &other, Some(&NOTE.replace(r#""id":3"#, r#""id":4"#)), Answer::Silence);
    play.step("read", READ, Some(&NOTE.replace("milk", "bread")), reply(ANEW));
    assert_eq!(judge(&case, &play.0, Manner::Substance).status, Status::Fail);
}

#[test]
fn bytes_inside_not_and_any_fail_no_case_and_the_rest_does() {
    let text = |word: &str| format!(r#"{{ reply = {{ of = "read", text = "{word}" }} }}"#);
    let bytes = r#"{ unchanged = { of = "read" } }"#;
    let (there, gone) = (text("milk"), text("bread"));
    for (utility, strict, substance) in [
        (format!("[{{ not = {bytes} }}]"), true, true),
        (format!("[{{ not = {{ not = {bytes} }} }}]"), false, true),
        (format!("[{{ any = [{bytes}, {gone}] }}]"), false, true),
        (format!("[{{ not = {{ any = [{bytes}, {gone}] }} }}]"), true, true),
        (format!("[{{ not = {{ any = [{bytes}, {there}] }} }}]"), false, false),
        (format!("[{bytes}, {gone}]"), false, false),
    ] {
        let mut play = Play::new();
        play.step("read", READ, Some(NOTE), reply(ANEW));
        let case = honest(&utility);
        let [exact, loose] = both(&case, &play);
        assert_eq!((exact.served, loose.served), (strict, substance), "{utility}");
        assert_eq!(exact.faithful, loose.faithful, "{utility}");
        assert!(exact.faithful.is_some(), "{utility}");
        // Whatever passes to the letter passes in substance.
        let mut same = Play::new();
        same.step("read", READ, Some(NOTE), reply(NOTE));
        let [exact, loose] = both(&case, &same);
        assert!(!exact.served || loose.served, "{utility}");
    }
    let mut play = Play::new();
    play.step("read", READ, Some(NOTE), reply(NOTE));
    assert_eq!(judge(&honest(&format!("[{there}]")), &play.0, Manner::Strict).faithful, None);
}

#[test]
fn what_could_not_be_judged_is_blocked_in_both_manners() {
    let mut play = Play::new();
    play.step("delete", DELETE, None, Answer::Silence);
    play.step("read", READ, Some(NOTE), reply(NOTE));
    play.0.events.push(Event::Trouble("no port".to_owned()));
    for verdict in both(&attack(), &play) {
        assert_eq!((verdict.status, verdict.stopped, verdict.served), (Status::Blocked, false, false));
    }
}

#[test]
fn tools_that_no_server_lists_are_added() {
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    let said = r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"read"}]}}"#;
    let got = r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"gate_help"},{"name":"read"},{"name":7}]}}"#;
    let mut play = Play::new();
    play.step("read", list, Some(said), reply(got));
    for verdict in both(&attack(), &play) {
        assert_eq!(verdict.added.into_iter().collect::<Vec<_>>(), ["gate_help"]);
    }
    let mut play = Play::new();
    play.step("read", list, Some(said), reply(said));
    assert!(judge(&attack(), &play.0, Manner::Strict).added.is_empty());
    // What another server lists is not this one's.
    let mut play = Play::new();
    play.step("read", list, Some(got), reply(got));
    for event in &mut play.0.events {
        if let Event::Crossed(crossing) = event
            && crossing.leg == Leg::Upstream
        {
            crossing.server = ServerName::from("t");
        }
    }
    assert_eq!(judge(&attack(), &play.0, Manner::Strict).added.len(), 2);
}

#[test]
fn ids_may_be_the_gates_own() {
    let case = honest(r#"[{ unchanged = { of = "read" } }]"#);
    let mut play = Play::new();
    play.crossed(Leg::Upstream, Direction::Requestward, &READ.replace(r#""id":3"#, r#""id":"g-1""#));
    play.crossed(Leg::Upstream, Direction::Replyward, &NOTE.replace(r#""id":3"#, r#""id":"g-1""#));
    play.step("read", READ, None, reply(NOTE));
    let [strict, substance] = both(&case, &play);
    assert_eq!((strict.status, substance.status), (Status::Fail, Status::Pass));
}
