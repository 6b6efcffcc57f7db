//! `session-binding`: what one principal opened, another can't use.

use super::CheckId;
use crate::{
    gate::{
        Check, Context, Docs, Event, Passing, Proposals, StateUse,
        facts::{session, sessions},
    },
    protocol::{
        Direction, Message, Shape,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct SessionBinding;

static DOCS: Docs = Docs {
    id: CheckId::new("session-binding"),
    summary: "a session, a `requestState`, a reply or a cached result that is another principal's",
    leg: "both",
    what: "A principal is known by the digest of its `authorization` header (or of those that the policy names in \
           `sessions.principals`); whoever sends none is nobody in particular. A session belongs to the principal \
           whose `initialize` it was issued for: every POST, GET and DELETE of another principal with its id, and \
           any with an id that was never issued here or whose session is over, is answered 404, which tells an \
           honest client to start afresh and anybody else nothing. A reply goes only to the principal and session \
           that asked. A `requestState` is good for the principal, method, target and arguments that it was handed \
           out for. A result that says `cacheScope: \"public\"` and was asked for with credentials goes on as \
           `private`. A request of the stateless era belongs to no session, and a session's id is taken off it. On \
           stdio one process has one principal.",
    why: "A session id is a number that servers log and hand around; where it is taken for a proof of who speaks, \
          whoever learns it is its owner.",
    misses: "Whether the credentials are good: that is the server's to say. A principal whose token is renewed in \
             the middle of a session is taken for another and has to open a new one. Two principals that share one \
             token are one. A state that is used twice for the same request. `Cache-Control` headers. Sessions that \
             were opened before the gate was started.",
    example: "a tool call of user B with `mcp-session-id` set to the id that user A's `initialize` was answered with",
    source: "T11, T12, V09, S10; mcp-gateway-registry#1357; protocol rules 57 to 60, 88 to 95, 112, 138",
    rules: &[
        ("unknown-session", "a session that was never opened here, or is over"),
        ("foreign-session", "a session that another principal opened"),
        ("reissued-session", "a session opened under an id that is another principal's"),
        ("foreign-reply", "a reply to somebody else's request"),
        ("unknown-state", "a `requestState` that the server never handed out"),
        ("foreign-state", "a `requestState` that was handed out for something else, or to somebody else"),
        ("no-session", "a session's id goes no further with a request that belongs to no session"),
        ("public-cache", "a result that was asked for with credentials may not be shared"),
    ],
};

impl Check for SessionBinding {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(Passing { direction, message, headers, .. }) = event else { return };
        match direction {
            Direction::Requestward => {
                // A request to open is about no session yet.
                if message.is_stateless() {
                    without_session(headers.unwrap_or_default(), proposals);
                } else if let Some(headers) = headers.filter(|_| message.method() != Some("initialize")) {
                    in_session(context, event, headers, proposals);
                }
                with_state(context, event, message, proposals);
            }
            Direction::Replyward => replied(context, event, message, proposals),
        }
    }
}

fn in_session(context: &Context<'_>, event: &Event<'_>, headers: &[(String, String)], proposals: &mut Proposals) {
    for id in sessions(headers).map(session) {
        let known = context.server(event).sessions.get(&id).filter(|session| !session.over);
        let (rule, why) = match known {
            Some(session) if session.principal == context.who.principal => continue,
            Some(_) => ("foreign-session", "there is no such session for whoever asks"),
            None => ("unknown-session", "there is no such session"),
        };
        proposals.refuse_with_status(404, rule, why);
    }
}

/// A request of the stateless era belongs to no session: an id that it brings is
/// nothing for the server to go by.
fn without_session(headers: &[(String, String)], proposals: &mut Proposals) {
    if sessions(headers).next().is_some() {
        let why = "there are no sessions in the version that the request is spoken in";
        proposals.header("mcp-session-id", None, "no-session", why);
    }
}

fn with_state(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    let Some(params) = message.params().filter(|_| message.is_call()) else { return };
    for state in params.members().iter().filter(|member| member.key == "requestState") {
        let digest = crate::digest::fingerprint(message.raw(), &state.value);
        let uses = context.server(event).sessions.uses(&digest);
        if uses.is_empty() {
            proposals.refuse("unknown-state", "the server never handed out this request state");
        } else if !StateUse::of(message, context.who).is_some_and(|wanted| uses.contains(&wanted)) {
            proposals.refuse("foreign-state", "this request state was handed out for another request");
        }
    }
}

fn replied(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    if context.crossed.is_some() {
        return proposals.discard("foreign-reply", "the reply belongs to somebody else's request");
    }
    if context.reissued {
        proposals.refuse("reissued-session", "the server opened the session under the id of another one");
    }
    let Some(answered) = context.answered.filter(|_| message.shape() == Shape::Response) else { return };
    let delegated = context.policy(event).identity.is_some() && context.delegations.contains_key(event.server());
    if answered.who.principal.is_none() && !delegated {
        return;
    }
    for scope in message.result().map_or(&[][..], Node::members).iter().filter(|member| member.key == "cacheScope") {
        let shared = match &scope.value.kind {
            Kind::String(text) => text != "private",
            _ => true,
        };
        if shared {
            let why = "what was asked for with credentials is nobody else's to get from a cache";
            proposals.splice(scope.value.span.clone(), "\"private\"".to_owned(), "public-cache", why);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::{
        Decision, Reach, Verb,
        testing::{Driver, Outcome},
    };

    const CHECK: &str = "session-binding";
    const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    const ROSA: (&str, &str) = ("authorization", "Bearer rosa-made-up");
    const MARC: (&str, &str) = ("authorization", "Bearer marc-made-up");
    const JSON: (&str, &str) = ("content-type", "application/json");

    fn open(gate: &mut Driver, who: &[(&str, &str)], id: &str) -> Outcome {
        gate.via(Verb::Post, who);
        gate.req("initialize", "{}").passes();
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, gate.last());
        gate.tell_with(&text, &[("mcp-session-id", id)])
    }

    fn ping(gate: &mut Driver, verb: Verb, headers: &[(&str, &str)]) -> Outcome {
        let body = if verb == Verb::Post { PING } else { "" };
        gate.via(verb, headers).ask(body)
    }

    #[track_caller]
    fn not_found(outcome: &Outcome, rule: &str) {
        outcome.refuses(rule);
        assert!(matches!(outcome.ruling.decision, Decision::Refuse { status: Some(404), .. }), "{:?}", outcome.ruling);
    }

    #[test]
    fn a_session_is_its_openers_on_every_verb_and_connection() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, &[ROSA], "s-1").passes();
        gate.open(Reach::Url("https://board.example/mcp".into()), &[]);
        let with = |who| [who, ("mcp-session-id", "s-1")];
        for verb in [Verb::Post, Verb::Get, Verb::Delete] {
            ping(&mut gate, verb, &with(ROSA)).passes();
            not_found(&ping(&mut gate, verb, &with(MARC)), "foreign-session");
            not_found(&ping(&mut gate, verb, &[("mcp-session-id", "s-1")]), "foreign-session");
            not_found(&ping(&mut gate, verb, &[ROSA, ("mcp-session-id", "s-2")]), "unknown-session");
        }
        not_found(
            &ping(&mut gate, Verb::Post, &[MARC, ("mcp-session-id", "s-9"), ("mcp-session-id", "s-1")]),
            "unknown-session",
        );
        let note = gate.via(Verb::Post, &with(MARC)).ask(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#);
        assert_eq!(note.ruling.decision, Decision::Refuse { reply: None, status: Some(404) });
        // Whoever brings nothing may have a session, too.
        open(&mut gate, &[], "s-3").passes();
        ping(&mut gate, Verb::Post, &[("mcp-session-id", "s-3")]).passes();
        not_found(&ping(&mut gate, Verb::Post, &[ROSA, ("mcp-session-id", "s-3")]), "foreign-session");
        ping(&mut gate, Verb::Post, &[ROSA]).passes();
    }

    #[test]
    fn a_session_that_was_ended_is_over() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, &[ROSA], "s-1").passes();
        let mine = [ROSA, ("mcp-session-id", "s-1")];
        ping(&mut gate, Verb::Delete, &mine).passes();
        gate.head(405, &[], None).passes();
        ping(&mut gate, Verb::Post, &mine).passes();
        ping(&mut gate, Verb::Delete, &mine).passes();
        gate.head(200, &[], None).passes();
        not_found(&ping(&mut gate, Verb::Post, &mine), "unknown-session");
        open(&mut gate, &[ROSA], "s-2").passes();
        // A server without a stream to GET may answer with 404 as well.
        gate.via(Verb::Get, &[ROSA, ("mcp-session-id", "s-2")]).head(404, &[], None).passes();
        ping(&mut gate, Verb::Post, &[ROSA, ("mcp-session-id", "s-2")]).passes();
        gate.head(404, &[], Some(7)).passes();
        not_found(&ping(&mut gate, Verb::Post, &[ROSA, ("mcp-session-id", "s-2")]), "unknown-session");
    }

    #[test]
    fn a_session_id_is_issued_to_one_principal() {
        let mut gate = Driver::only(CHECK, "");
        open(&mut gate, &[ROSA], "s-1").passes();
        open(&mut gate, &[ROSA], "s-1").passes();
        open(&mut gate, &[MARC], "s-1").refuses("reissued-session");
        ping(&mut gate, Verb::Post, &[ROSA, ("mcp-session-id", "s-1")]).passes();
    }

    #[test]
    fn a_reply_goes_to_whoever_asked() {
        let mut gate = Driver::only(CHECK, "");
        gate.via(Verb::Post, &[ROSA]).ask(PING).passes();
        gate.via(Verb::Post, &[MARC]).ask(&PING.replace('7', "8")).passes();
        let reply = r#"{"jsonrpc":"2.0","id":7,"result":{"x":"rosa's"}}"#;
        gate.tell(reply).drops("foreign-reply");
        gate.via(Verb::Post, &[ROSA]).tell(reply).passes();
        let mut both = Driver::new("");
        both.via(Verb::Post, &[ROSA, JSON]).ask(PING).passes();
        both.via(Verb::Post, &[MARC, JSON]).ask(&PING.replace('7', "8")).passes();
        both.tell(reply).drops("foreign-reply");
        both.via(Verb::Post, &[ROSA, JSON]).tell(reply).passes();
    }

    #[test]
    fn a_state_is_good_for_what_it_was_handed_out_for() {
        let state = |text: &str| format!(r#"{{"resultType":"input_required","requestState":{text}}}"#);
        let call = |tool: &str, id: &str, state: &str| {
            format!(r#"{{"name":"{tool}","arguments":{{"id":"{id}"}},"requestState":{state}}}"#)
        };
        let mut gate = Driver::only(CHECK, "");
        gate.exchange("tools/call", r#"{"name":"delete","arguments":{"id":"T-1"}}"#, &state("\"abc\"")).passes();
        gate.req("tools/call", &call("delete", "T-1", "\"abc\"")).passes();
        gate.req("tools/call", &call("delete", "T-1", "\"a\\u0062c\"")).passes();
        for (tool, id) in [("delete", "T-2"), ("read", "T-1")] {
            gate.req("tools/call", &call(tool, id, "\"abc\"")).refuses("foreign-state");
        }
        gate.req("prompts/get", &call("delete", "T-1", "\"abc\"")).refuses("foreign-state");
        gate.req("ping", r#"{"requestState":"abc"}"#).refuses("foreign-state");
        for forged in ["\"abd\"", "\"\"", "null", "[\"abc\"]"] {
            gate.req("tools/call", &call("delete", "T-1", forged)).refuses("unknown-state");
        }
        gate.via(Verb::Post, &[MARC]).req("tools/call", &call("delete", "T-1", "\"abc\"")).refuses("foreign-state");
        gate.on("other").req("tools/call", &call("delete", "T-1", "\"abc\"")).refuses("unknown-state");
    }

    #[test]
    fn what_was_asked_for_with_credentials_is_not_shared() {
        let list = |who: &[(&str, &str)], scope: &str| {
            let mut gate = Driver::only(CHECK, "");
            gate.via(Verb::Post, who);
            gate.exchange("tools/list", "{}", &format!(r#"{{"tools":[],"cacheScope":{scope}}}"#)).body()
        };
        for scope in ["\"public\"", "\"PUBLIC\"", "\"pub\\u006cic\"", "true"] {
            assert!(list(&[ROSA], scope).ends_with(r#""cacheScope":"private"}}"#), "{scope}");
        }
        assert!(list(&[], "\"public\"").ends_with(r#""cacheScope":"public"}}"#));
        assert!(list(&[ROSA], "\"private\"").ends_with(r#""cacheScope":"private"}}"#));
    }

    #[test]
    fn principals_may_be_known_by_other_headers() {
        let mut gate = Driver::only(CHECK, "[servers.board.sessions]\nprincipals = [\"x-user\"]\n");
        open(&mut gate, &[("x-user", "rosa"), ROSA], "s-1").passes();
        ping(&mut gate, Verb::Post, &[("x-user", "rosa"), MARC, ("mcp-session-id", "s-1")]).passes();
        not_found(
            &ping(&mut gate, Verb::Post, &[("x-user", "marc"), ROSA, ("mcp-session-id", "s-1")]),
            "foreign-session",
        );
    }
}
