//! `origin`: a gate that listens answers its own clients, and no web page that
//! happens to reach it.

use super::CheckId;
use crate::{
    gate::{Check, Context, Docs, Event, Passing, Proposals, policy::ListenPolicy},
    protocol::Direction,
};

/// See the module.
#[derive(Debug)]
pub(super) struct Origin;

static DOCS: Docs = Docs {
    id: CheckId::new("origin"),
    summary: "requests of web pages that aren't allowed, or to a name that isn't the gate's",
    leg: "requestward",
    what: "Looks at each HTTP request of the client, whatever its method. Its one `Origin`, where it has one, must be \
           among the policy's `listen.origins` (pages on this machine unless given); its `Host` must be one of the \
           gate's own names in `listen.hosts` (the loopback interface's unless given); a browser's \
           `Sec-Fetch-Site: cross-site` is believed; and a POST must say that it is JSON, which a page can't without \
           asking first. Refused with 403 (415 for the media type), before anything reaches the server.",
    why: "A browser on the same machine reaches every listener on loopback. A page can post to it blindly, and one \
          whose name is rebound to 127.0.0.1 can read the answers too. The request runs even where the answer is \
          withheld for lack of CORS headers.",
    misses: "Programs on the same machine, which send what they like: an origin is no authentication. A page that is \
             served from an origin that is allowed. stdio, which has no origin.",
    example: "POST with `origin: https://page.example` and a `tools/call` in its body",
    source: "T09, T10; MCP basic/transports (Origin MUST be validated, 403); routecraft#554; CWE-346, CWE-350",
    rules: &[
        ("foreign-origin", "the request comes from a web page that is not allowed"),
        ("several-origins", "the request names more than one origin"),
        ("foreign-host", "the request is for a name that is not the gate's"),
        ("cross-site", "the browser says that another site sent the request"),
        ("not-json", "the request's media type is one that any page may send unasked"),
    ],
};

impl Check for Origin {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(Passing { direction: Direction::Requestward, message, headers: Some(headers), .. }) = event
        else {
            return;
        };
        let policy = &context.policy(event).listen;
        if let Some((status, rule, why)) = wrong(policy, headers, !message.raw().is_empty()) {
            proposals.refuse_with_status(status, rule, why);
        }
    }
}

fn wrong(
    policy: &ListenPolicy,
    headers: &[(String, String)],
    has_body: bool,
) -> Option<(u16, &'static str, &'static str)> {
    let all =
        |wanted: &'static str| headers.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let mut origins = all("origin");
    if let Some(origin) = origins.next() {
        if origins.next().is_some() {
            return Some((403, "several-origins", "the request names more than one origin"));
        }
        if !policy.allows_origin(origin) {
            return Some((403, "foreign-origin", "web pages of this origin may not use the gate"));
        }
    }
    if all("host").any(|host| !policy.allows_host(host)) {
        return Some((403, "foreign-host", "the gate does not go by this host name"));
    }
    if all("sec-fetch-site").any(|site| site.eq_ignore_ascii_case("cross-site")) {
        return Some((403, "cross-site", "another site may not use the gate"));
    }
    let is_json =
        |value: &str| value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json");
    let mut types = all("content-type").peekable();
    if has_body && (types.peek().is_none() || types.any(|value| !is_json(value))) {
        return Some((415, "not-json", "a message comes as application/json"));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::gate::{Decision, testing::Driver};

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;

    const JSON: (&str, &str) = ("content-type", "application/json");

    fn ask(text: &str, headers: &[(&str, &str)]) -> crate::gate::testing::Outcome {
        Driver::only("origin", "").ask_with(text, headers)
    }

    #[test]
    fn clients_and_pages_of_this_machine_pass() {
        for headers in [
            &[JSON][..],
            &[("host", "127.0.0.1:40123"), JSON],
            &[("origin", "http://localhost:6274"), ("sec-fetch-site", "same-site"), JSON],
            &[("content-type", "Application/JSON; charset=utf-8"), ("host", "[::1]:1")],
        ] {
            ask(CALL, headers).passes();
        }
        Driver::only("origin", "").ask(CALL).passes();
        // A GET or a DELETE has no body and no media type.
        ask("", &[("host", "localhost:1")]).passes();
    }

    #[test]
    fn others_are_told_so_with_the_status_that_the_specification_demands() {
        for (status, rule, headers) in [
            (403, "foreign-origin", &[("origin", "https://page.example")][..]),
            (403, "foreign-origin", &[("origin", "null")]),
            (403, "several-origins", &[("origin", "http://localhost"), ("origin", "https://page.example")]),
            (403, "foreign-host", &[("host", "rebound.example:40123"), ("origin", "http://localhost:1")]),
            (403, "cross-site", &[("sec-fetch-site", "cross-site")]),
            (415, "not-json", &[]),
            (415, "not-json", &[("content-type", "text/plain")]),
            (415, "not-json", &[JSON, ("content-type", "text/plain")]),
            (415, "not-json", &[("content-type", "application/x-www-form-urlencoded")]),
        ] {
            let outcome = ask(CALL, headers);
            outcome.refuses(rule).answers("1");
            assert!(matches!(outcome.ruling.decision, Decision::Refuse { status: Some(got), .. } if got == status));
        }
        // The stream on which a server speaks is as much worth to a page.
        assert!(matches!(ask("", &[("origin", "https://page.example")]).ruling.decision, Decision::Refuse { .. }));
    }

    #[test]
    fn the_policy_names_others() {
        let policy = "[servers.board.listen]\norigins = [\"https://app.example\"]\nhosts = [\"gate.example\"]\n";
        let mut gate = Driver::only("origin", policy);
        gate.ask_with(CALL, &[("origin", "https://app.example"), ("host", "gate.example:8443"), JSON]).passes();
        gate.ask_with(CALL, &[("origin", "http://localhost:1")]).refuses("foreign-origin");
        gate.ask_with(CALL, &[("host", "localhost:1")]).refuses("foreign-host");
    }
}
