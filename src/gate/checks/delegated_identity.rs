//! `delegated-identity`: calls run as the user, with the token made for this server.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, IdentityMode, Passing, Proposals, Reach},
    protocol::Direction,
};

/// See the module.
#[derive(Debug)]
pub(super) struct DelegatedIdentity;

static DOCS: Docs = Docs {
    id: CheckId::new("delegated-identity"),
    summary: "calls under the server's own account, and tokens meant for somebody else",
    leg: "launch, requestward",
    what: "Where the policy asks for the delegated identity, hands a launched server the token that the host holds \
           for it in the named environment variable, and sets it as the only `Authorization` of every HTTP message: \
           whatever the client sent there goes no further. Where the host holds no token for this server, or there \
           is no way to hand it over, every call of a tool, read of a resource and prompt is refused.",
    why: "A server with a powerful account of its own does for anybody what only some may do; and a token that is \
          passed on to a server that it was not made for can be used there against its owner.",
    misses: "What the server does with the token: it may still use its own account. Credentials in other headers, \
             variables or arguments. Without an identity policy the check is idle.",
    example: "a call through a server that was started with a service account, without the user's token",
    source: "A01, A03; MCPJungle#252; protocol rules 133, 134, 136",
    rules: &[
        ("no-delegation", "the call would run under the server's own account"),
        ("token-set", "the delegated token was handed over, and replaced what was there"),
        ("token-stripped", "a credential that is not the delegated one was taken away"),
    ],
};

impl Check for DelegatedIdentity {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some(identity) = &context.policy(event).identity else { return };
        match identity.mode {
            IdentityMode::Delegated => {}
        }
        let token = context.delegations.get(event.server()).map(|delegation| delegation.token.as_str());
        match event {
            Event::Opening(opening) => {
                let Some(variable) = &identity.env else { return };
                let there = opening.env.get(variable).map(String::as_str);
                if there != token {
                    let (rule, why) = said(token.is_some());
                    proposals.env(variable, token.map(str::to_owned), rule, why);
                }
            }
            Event::Passing(Passing { direction: Direction::Requestward, headers, .. }) => {
                // A server that was launched gets its token by the variable alone.
                let launched = matches!(context.server(event).reach, Some(Reach::Argv(_)));
                let handed_over = token.is_some() && (!launched || identity.env.is_some());
                if !handed_over && check::acting_request(event).is_some() {
                    let why = "the host holds no delegated token for this server, so the call would run under the \
                               server's own account";
                    proposals.refuse("no-delegation", why);
                }
                if let Some(headers) = headers {
                    let sent: Vec<_> =
                        headers.iter().filter(|(name, _)| name == "authorization").map(|(_, value)| value).collect();
                    let wanted = token.map(|token| format!("Bearer {token}"));
                    if sent != wanted.iter().collect::<Vec<_>>() {
                        let (rule, why) = said(token.is_some());
                        proposals.header("authorization", wanted, rule, why);
                    }
                }
            }
            _ => {}
        }
    }
}

fn said(has_token: bool) -> (&'static str, &'static str) {
    if has_token {
        ("token-set", "the delegated token was handed over")
    } else {
        ("token-stripped", "a credential that was not delegated to this server was taken away")
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::{Decision, Reach, Rewrite, testing::Driver};

    const POLICY: &str = r#"
[servers.board.identity]
mode = "delegated"
env = "BOARD_TOKEN"
"#;
    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;
    const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    const CHECK: &str = "delegated-identity";

    fn argv() -> Reach {
        Reach::Argv(vec!["board".into()])
    }

    fn headers(gate: &mut Driver, text: &str, sent: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
        match gate.ask_with(text, sent).ruling.decision {
            Decision::Forward => Vec::new(),
            Decision::Rewrite(Rewrite { headers, .. }) => headers,
            Decision::Refuse { .. } => panic!("refused"),
        }
    }

    #[test]
    fn a_launched_server_gets_the_delegated_token_and_keeps_the_rest() {
        let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
        let rewrite = gate.open(argv(), &[("BOARD_TOKEN", "service"), ("PATH", "/bin")]);
        assert_eq!(rewrite.env, [("BOARD_TOKEN".to_owned(), Some("made-up-token".to_owned()))]);
        gate.ask(CALL).passes();
    }

    #[test]
    fn without_a_delegation_nothing_runs_under_the_servers_account() {
        let mut gate = Driver::only(CHECK, POLICY);
        let rewrite = gate.open(argv(), &[("BOARD_TOKEN", "service")]);
        assert_eq!(rewrite.env, [("BOARD_TOKEN".to_owned(), None)]);
        gate.ask(LIST).passes();
        gate.ask(CALL).refuses("no-delegation").answers("1").never_says("service");
        gate.req("resources/read", r#"{"uri":"x:y"}"#).refuses("no-delegation");
        gate.req("prompts/get", r#"{"name":"x"}"#).refuses("no-delegation");
    }

    #[test]
    fn a_token_that_cannot_be_handed_over_is_no_delegation() {
        let mut gate = Driver::with_token(CHECK, "[servers.board.identity]\nmode = \"delegated\"\n", "made-up-token");
        gate.open(argv(), &[]);
        gate.ask(CALL).refuses("no-delegation");
    }

    #[test]
    fn the_clients_token_is_never_passed_on() {
        let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
        gate.open(Reach::Url("https://board.example/mcp".into()), &[]);
        let set = [("authorization".to_owned(), Some("Bearer made-up-token".to_owned()))];
        assert_eq!(headers(&mut gate, CALL, &[("authorization", "Bearer client")]), set);
        assert_eq!(headers(&mut gate, LIST, &[]), set);
        let twice = [("authorization", "Bearer made-up-token"), ("authorization", "Bearer client")];
        assert_eq!(headers(&mut gate, LIST, &twice), set);
        assert_eq!(headers(&mut gate, LIST, &[("authorization", "Bearer made-up-token")]), []);
        let mut gate = Driver::only(CHECK, POLICY);
        let stripped = headers(&mut gate, LIST, &[("authorization", "Bearer client")]);
        assert_eq!(stripped, [("authorization".to_owned(), None)]);
    }

    #[test]
    fn nothing_prints_a_token() {
        let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
        let ruling = gate.ask_with(LIST, &[("authorization", "Bearer client")]).ruling;
        assert!(!format!("{:?}", ruling.findings).contains("made-up"));
        assert!(!format!("{gate:?}").contains("made-up"));
    }

    #[test]
    fn other_servers_are_left_alone() {
        let mut gate = Driver::only(CHECK, "");
        assert_eq!(headers(&mut gate, CALL, &[("authorization", "Bearer client")]), []);
    }
}
