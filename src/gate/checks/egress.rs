//! `egress`: addresses lead to the public internet, over HTTPS.

use super::CheckId;
use crate::gate::{
    Check, Context, Docs, Event, Proposals, Where,
    addresses::is_public,
    urls::{Site, Slip},
};

/// See the module.
#[derive(Debug)]
pub(super) struct Egress;

static DOCS: Docs = Docs {
    id: CheckId::new("egress"),
    summary: "addresses that lead into the network, or out of it by another way than HTTPS",
    leg: "requestward, replyward, discovery",
    what: "On where the policy has an `egress` section for the server; the empty one means HTTPS, port 443, public \
           addresses. Judges the URLs in requests (every string at any depth that is a URL or begins with one, \
           arguments that the schema declares as `format: uri` or that the policy marks, the resource that is read), \
           redirects to another origin, resource links and embedded resources in results, and icons. A URL is read as \
           browsers read it (decimal, octal, hex and short hosts, IDNA, escapes, a dot at the end) and refused where \
           others read another host: backslashes, control characters, credentials. Every address of its host must be \
           globally reachable by IANA's registries; one that carries an IPv4 address (mapped, NAT64, 6to4, Teredo) is \
           judged by that. A name that can't be resolved is refused, and so is, for the rest of the session, one whose \
           addresses changed, unless the policy lets it rotate. A link under a scheme of the server's own passes. \
           Icons may also be pictures in `data` URLs, in SVG only without script; a definition with another icon is \
           withheld, the icons of the server itself are emptied.",
    why: "A server stands inside the network and fetches what it is told to: the cloud's metadata, an admin page on \
          loopback. And a client that follows a server's link or shows its icon fetches it from the user's own machine.",
    misses: "What the server resolves: it asks the name again, and a gate can't hold it to the addresses that were \
             judged. URLs in the middle of a text, in the query of another URL, or under names of members. Redirects \
             that the server follows itself. Text in results, which is data.",
    example: r#"{"name":"fetch_page","arguments":{"url":"https://0xa9fea9fe/latest/meta-data/"}}"#,
    source: "C06, D23, R06; MCP 2025-11-25 security best practices (SSRF), icons; mcp-searxng#82, RFC 6890, RFC 6052, \
             CWE-918",
    rules: &[
        ("scheme", "a scheme that the policy doesn't allow"),
        ("odd-url", "no URL where one must be, or one in which two readers read two hosts"),
        ("credentials", "a user or a password in the address"),
        ("port", "a port that the policy doesn't allow"),
        ("local-name", "a name of this machine or of the network around it"),
        ("private-address", "an address that is not globally reachable, or a name with one among its addresses"),
        ("unresolved", "a name that could not be resolved"),
        ("changed-name", "a name whose addresses changed in the session"),
        ("icon-data", "an icon that is neither a picture nor an address"),
    ],
};

impl Check for Egress {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some(policy) = &context.policy(event).egress else { return };
        let mut emptied = Vec::new();
        for outward in context.outward {
            let found = match &outward.site {
                Err(slip) => Some(of_slip(*slip)),
                Ok(Site::Allowed) => None,
                Ok(Site::Address(address)) => (!is_public(*address)).then_some(PRIVATE),
                Ok(Site::Name(name)) => match context.facts.hosts().host(name) {
                    None => Some(UNRESOLVED),
                    Some(host) if host.addresses.is_empty() => Some(UNRESOLVED),
                    Some(host) if !host.addresses.iter().all(|address| is_public(*address)) => Some(PRIVATE),
                    Some(host) if host.changed && !policy.may_rotate(name) => {
                        Some(("changed-name", "the addresses of the host changed since it was named first"))
                    }
                    Some(_) => None,
                },
            };
            let Some((rule, why)) = found else { continue };
            match &outward.place {
                Where::Request => return proposals.refuse(rule, format!("the request names an address: {why}")),
                Where::Hop => return proposals.refuse(rule, format!("the server sent the request elsewhere: {why}")),
                Where::Link => return proposals.refuse(rule, format!("the result links to an address: {why}")),
                Where::Icon(index) => proposals.withhold(*index, rule, format!("its icon is at an address: {why}")),
                Where::ServerIcon(span) if !emptied.contains(span) => {
                    let why = format!("an icon of the server is at an address: {why}");
                    proposals.splice(span.clone(), "[]".to_owned(), rule, why);
                    emptied.push(span.clone());
                }
                Where::ServerIcon(_) => {}
            }
        }
    }
}

const PRIVATE: (&str, &str) = ("private-address", "an address of it is not on the public internet");
const UNRESOLVED: (&str, &str) = ("unresolved", "its host could not be resolved");

fn of_slip(slip: Slip) -> (&'static str, &'static str) {
    match slip {
        Slip::Scheme => ("scheme", "its scheme is not allowed"),
        Slip::Odd => ("odd-url", "it is no URL, or different readers read different hosts in it"),
        Slip::Credentials => ("credentials", "a user or a password stands in it"),
        Slip::Port => ("port", "its port is not allowed"),
        Slip::LocalName => ("local-name", "its host is a name inside the network"),
        Slip::Icon => ("icon-data", "it is no picture"),
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const POLICY: &str = "[servers.board.egress]\n[servers.board.tools.fetch]\nurls = [\"/target\"]\n";
    const NAMES: &[(&str, &[&[&str]])] = &[
        ("public.example", &[&["192.31.196.7", "2620:4f:8000::7"]]),
        ("mixed.example", &[&["192.31.196.7", "10.0.0.7"]]),
        ("nat64.example", &[&["64:ff9b::192.31.196.7"]]),
        ("turning.example", &[&["192.31.196.7"], &["10.0.0.7"], &["192.31.196.7"]]),
        ("moving.example", &[&["192.31.196.7"], &["192.31.196.8"]]),
        ("shuffled.example", &[&["192.31.196.7", "192.31.196.8"], &["192.31.196.8", "192.31.196.7"]]),
    ];

    fn with(settings: &str) -> Driver {
        Driver::within("egress", settings, NAMES, &[])
    }

    fn fetch(url: &str) -> crate::gate::testing::Outcome {
        with(POLICY).call("fetch", &format!(r#"{{"url":"{url}"}}"#))
    }

    #[test]
    fn public_addresses_pass_and_private_ones_do_not() {
        for url in [
            "https://public.example/a",
            "https://nat64.example",
            "https://192.31.196.7/",
            "https://[64:ff9b::c01f:c407]/",
        ] {
            fetch(url).passes();
        }
        for (url, rule) in [
            ("https://mixed.example/CANARY", "private-address"),
            ("https://10.0.0.1/CANARY", "private-address"),
            ("https://0xa9fea9fe/CANARY", "private-address"),
            ("https://[::1]/CANARY", "private-address"),
            ("https://[::ffff:127.0.0.1]/", "private-address"),
            ("https://[64:ff9b::a00:1]/", "private-address"),
            ("https://[2002:7f00:1::]/", "private-address"),
            ("https://nobody.example/CANARY", "unresolved"),
            ("https://localhost/CANARY", "local-name"),
            ("http://public.example/CANARY", "scheme"),
            ("https://CANARY@public.example/", "credentials"),
            ("https://public.example:22/CANARY", "port"),
            ("https://public.example\\\\@10.0.0.1/CANARY", "odd-url"),
        ] {
            fetch(url).refuses(rule).never_says("CANARY");
        }
    }

    #[test]
    fn every_argument_at_any_depth_is_looked_at() {
        for arguments in [
            r#"{"a":[{"b":"https://10.0.0.1/"}]}"#,
            r#"{"url":"https://public.example/","url":"https://10.0.0.1/"}"#,
            r#"{"url":"https:\/\/\u0031\u0030.0.0.1"}"#,
            r#"{"target":"10.0.0.1"}"#,
            r#"{"target":167772161}"#,
            r#"{"target":{"host":"10.0.0.1"}}"#,
            r#"{"Target":["public.example","10.0.0.1"]}"#,
        ] {
            assert!(with(POLICY).call("fetch", arguments).ruling.acted(), "{arguments}");
        }
        for arguments in [
            r#"{"note":"see http://localhost:3000 and 10.0.0.1"}"#,
            r#"{"target":"public.example/x"}"#,
            r#"{"target":null,"ref":"helpdesk://ticket/4"}"#,
            r#"{"q":"10.0.0.1","at":"12:30"}"#,
        ] {
            with(POLICY).call("fetch", arguments).passes();
        }
        with(POLICY).req("resources/read", r#"{"uri":"http://10.0.0.1/"}"#).refuses("scheme");
        with(POLICY).req("resources/read", r#"{"uri":"board://lobby"}"#).passes();
        Driver::only("egress", "").call("fetch", r#"{"url":"http://10.0.0.1/"}"#).passes();
    }

    #[test]
    fn declared_urls_are_judged_as_urls() {
        let tools = r#"[{"name":"get","inputSchema":{"properties":{"page":{"type":"string","format":"uri"}}}}]"#;
        let mut gate = with(POLICY);
        gate.list(tools).passes();
        gate.call("get", r#"{"page":"10.0.0.1/x"}"#).refuses("private-address");
        gate.call("get", r#"{"page":"board://lobby"}"#).passes();
        gate.call("get", r#"{"page":"public.example/x"}"#).passes();
    }

    #[test]
    fn a_name_that_moved_is_refused_from_then_on() {
        let call = |gate: &mut Driver, host: &str| gate.call("fetch", &format!(r#"{{"url":"https://{host}/"}}"#));
        let mut gate = with(POLICY);
        call(&mut gate, "turning.example").passes();
        call(&mut gate, "turning.example").refuses("private-address");
        call(&mut gate, "turning.example").refuses("changed-name");
        call(&mut gate, "moving.example").passes();
        call(&mut gate, "MOVING.example.").refuses("changed-name");
        for _ in 0..3 {
            call(&mut gate, "shuffled.example").passes();
        }
        let mut gate = with("[servers.board.egress]\nrotating = [\"moving.example\", \"turning.example\"]\n");
        call(&mut gate, "moving.example").passes();
        call(&mut gate, "moving.example").passes();
        call(&mut gate, "turning.example").passes();
        call(&mut gate, "turning.example").refuses("private-address");
    }

    #[test]
    fn redirects_to_other_origins_are_judged() {
        let hop = |to: &str| with(POLICY).hop("http://127.0.0.1:9/mcp", to, Some(7));
        hop("http://127.0.0.1:9/elsewhere").passes();
        hop("https://public.example/mcp").passes();
        hop("http://127.0.0.1:10/mcp").refuses("scheme").answers("7");
        hop("https://mixed.example/mcp").refuses("private-address");
        hop("not an address").refuses("odd-url");
    }

    #[test]
    fn links_of_results_are_judged_and_text_is_not() {
        let result = |block: &str| with(POLICY).result("fetch", "{}", &format!(r#"{{"content":[{block}]}}"#));
        for block in [
            r#"{"type":"text","text":"see http://10.0.0.1/ and file:///etc/passwd"}"#,
            r#"{"type":"text","text":"http://10.0.0.1/"}"#,
            r#"{"type":"resource_link","name":"a","uri":"helpdesk://ticket/4"}"#,
            r#"{"type":"resource_link","name":"a","uri":"https://public.example/x"}"#,
            r#"{"type":"resource","resource":{"uri":"board://lobby","text":"x"}}"#,
        ] {
            result(block).passes();
        }
        for (block, rule) in [
            (r#"{"type":"resource_link","name":"a","uri":"file:///etc/CANARY"}"#, "scheme"),
            (r#"{"type":"resource_link","name":"a","uri":"https://10.0.0.1/CANARY"}"#, "private-address"),
            (r#"{"type":"resource_link","uri":"helpdesk://x","uri":"javascript:CANARY"}"#, "scheme"),
            (r#"{"type":"resource_link","uri":"helpdesk://x","icons":[{"src":"http://10.0.0.1/CANARY"}]}"#, "scheme"),
            (r#"{"type":"resource","resource":{"uri":"file:///etc/CANARY","text":"x"}}"#, "scheme"),
        ] {
            result(block).refuses(rule).never_says("CANARY");
        }
        let prompt =
            r#"{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"file:///x","text":""}}}]}"#;
        with(POLICY).exchange("prompts/get", "{}", prompt).refuses("scheme");
        let read = r#"{"contents":[{"uri":"file:///etc/passwd","text":"x"}]}"#;
        with(POLICY).exchange("resources/read", r#"{"uri":"board://x"}"#, read).refuses("scheme");
    }

    #[test]
    fn icons_are_withheld_with_what_they_stand_for() {
        let icon = |src: &str| {
            format!(r#"{{"name":"bad","icons":[{{"src":"https://public.example/a.png"}},{{"src":"{src}"}}]}}"#)
        };
        for src in ["data:image/png;base64,AA==", "https://public.example/x.svg"] {
            with(POLICY).list(&format!("[{}]", icon(src))).passes();
        }
        for (src, rule) in [
            ("https://169.254.169.254/x", "private-address"),
            ("http://public.example/x.png", "scheme"),
            ("data:text/html,x", "icon-data"),
            ("javascript:x", "scheme"),
            ("/x.png", "odd-url"),
        ] {
            let outcome = with(POLICY).list(&format!(r#"[{{"name":"good"}},{}]"#, icon(src)));
            assert_eq!(outcome.names(), ["good"], "{src}");
            assert!(outcome.withheld(rule), "{src}");
        }
        let info = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"b","icons":[{"src":"https://10.0.0.1/"},{"src":"http://x"}]}}"#;
        let body = with(POLICY).exchange("initialize", "{}", info).body();
        assert!(body.contains(r#""serverInfo":{"name":"b","icons":[]}"#), "{body}");
    }
}
