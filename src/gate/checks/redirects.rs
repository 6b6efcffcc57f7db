//! `redirects`: a server is asked at the address that the host was given.

use url::Url;

use super::CheckId;
use crate::gate::{self, Check, Context, Docs, Event, Hop, Proposals};

/// See the module.
#[derive(Debug)]
pub(super) struct Redirects;

static DOCS: Docs = Docs {
    id: CheckId::new("redirects"),
    summary: "redirects, all of them or those that lead to another origin",
    leg: "replyward",
    what: "Follows no redirect, unless the policy allows those that stay on the scheme, host and port that were asked \
           (`wire.redirects = \"same-origin\"`); even these never with credentials in the address. The request that \
           was redirected is answered with the refusal; the other address gets nothing.",
    why: "Whoever may redirect a request chooses who reads it, with its arguments and its credentials, and who \
          answers in the server's name: another host, an address inside the network, plain HTTP instead of HTTPS.",
    misses: "Within one origin: another path may belong to somebody else. An origin whose name is made to resolve to \
             another address is for `egress`. A server that forwards the request itself is not seen at all.",
    example: "307 with `location: https://elsewhere.example/mcp` as the answer to a tool call",
    source: "T14, fields 56 and 57; microsoft/vscode#320347; RFC 9110 section 15.4; CWE-601",
    rules: &[
        ("redirect", "a redirect where the policy follows none"),
        ("other-origin", "a redirect that leaves the scheme, host or port that was asked"),
        ("credentials", "a redirect to an address with a user or a password in it"),
    ],
};

impl Check for Redirects {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Hop(Hop { from, to, .. }) = event else { return };
        match context.policy(event).wire.redirects {
            gate::Redirects::None => {
                proposals.refuse("redirect", "the server sent the request elsewhere, and redirects are not followed");
            }
            gate::Redirects::SameOrigin => {
                // Addresses that can't be read, or have no host, have no origin in common.
                let (Ok(from), Ok(to)) = (Url::parse(from), Url::parse(to)) else {
                    return proposals.refuse("other-origin", "the server sent the request to an address with no host");
                };
                if from.origin() != to.origin() {
                    proposals.refuse("other-origin", "the server sent the request to another server");
                } else if !to.username().is_empty() || to.password().is_some() {
                    proposals.refuse("credentials", "the server sent the request to an address with credentials in it");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const SAME_ORIGIN: &str = "[servers.board.wire]\nredirects = \"same-origin\"\n";
    const HERE: &str = "https://board.example/mcp";

    #[test]
    fn no_redirect_is_followed_unless_the_policy_says_so() {
        for to in [HERE, "https://board.example/v2", "https://elsewhere.example/mcp-5e1f"] {
            let mut gate = Driver::only("redirects", "");
            gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
            gate.hop(HERE, to, Some(7)).refuses("redirect").answers("7").never_says("5e1f");
        }
        Driver::only("redirects", "").hop(HERE, HERE, None).refuses("redirect").answers("null");
    }

    #[test]
    fn same_origin_means_scheme_host_and_port() {
        let mut gate = Driver::only("redirects", SAME_ORIGIN);
        for to in ["https://board.example/v2", "https://BOARD.example:443/mcp?x=1"] {
            gate.hop(HERE, to, Some(7)).passes();
        }
        for to in [
            "http://board.example/mcp",
            "https://board.example:8443/mcp",
            "https://board.example.attacker.example/mcp",
            "https://sub.board.example/mcp",
            "https://board.example@attacker.example/mcp",
            "file:///etc/passwd",
            "data:text/plain,x",
            "not an address",
            "",
        ] {
            gate.hop(HERE, to, Some(7)).refuses("other-origin").answers("7");
        }
        let to = "https://user:made-up@board.example/mcp";
        gate.hop(HERE, to, Some(7)).refuses("credentials").never_says("made-up");
    }

    #[test]
    fn a_request_that_was_redirected_is_over() {
        let mut gate = Driver::new("");
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
        gate.hop(HERE, "https://elsewhere.example/", Some(7)).refuses("redirect");
        gate.tell(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).drops("late-or-duplicate");
        gate.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#).passes();
    }
}
