//! `path-scope`: what a call may reach on a disk lies below the roots.

use super::CheckId;
use crate::{
    gate::{
        Check, Context, Docs, Event, Proposals, check,
        marked::each_marked,
        paths::{Astray, judge},
    },
    protocol::{
        INVALID_PARAMS,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct PathScope;

static DOCS: Docs = Docs {
    id: CheckId::new("path-scope"),
    summary: "paths that leave the folders that the host allows",
    leg: "requestward",
    what: "Judges the arguments that the policy marks as paths (`tools.<name>.paths`), and `file` URIs of resources \
           where the server has roots (`paths`). A path is read in every way that a server may read it in: as it \
           stands, with its percent escapes undone as often as it has any, with full-width and look-alike dots and \
           slashes read as these, with backslashes as separators. In each of them it must lie in a root, part by part \
           (`/srv/files-old` does not lie in `/srv/files`), and a `..` may undo only what was entered below a root. \
           Then the links that the gate knows of are followed as a system would, at most 40; where they end must lie \
           in a root, or in what a root is itself a link to. A relative path begins at the first root. A percent sign \
           in a real name passes where what it may escape stays inside too.",
    why: "A server that opens files opens what it is asked for. One that looks for `..` alone is passed by an escape, \
          a second spelling of a slash, a link.",
    misses: "Arguments that the policy doesn't mark, and paths inside of other text. Links that the gate isn't told \
             of, and those that are made between the gate's look and the server's. Hard links and mounts. Drive \
             letters and UNC paths are refused, so Windows servers need paths relative to their root. Without roots \
             it judges nothing.",
    example: r#"{"name":"read_file","arguments":{"path":"notes/%2e%2e/%2e%2e/secrets/key"}}"#,
    source: "C01, C02; CWE-22, CWE-59, CWE-176; MCP 2025-06-18 server/resources, security considerations",
    rules: &[
        ("outside-roots", "the path leaves the roots as it is written"),
        ("link-out", "a link on the path leaves the roots, or links lead in a circle"),
        ("odd-path", "a path that two systems read as two: empty, control characters, `~`, `...`, a drive letter"),
        ("elsewhere", "an address of something else than a local file"),
        ("disguised-path", "the path stays inside as it is written, and not as a server may read it"),
        ("not-a-path", "the argument that must be a path is no text"),
    ],
};

impl Check for PathScope {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let policy = context.policy(event);
        let own = policy.paths.as_ref().map_or(&[][..], |paths| &paths.roots);
        if let Some((message, name)) = check::call(event) {
            let Some(tool) = name.and_then(|name| policy.tools.get(name)) else { return };
            let Some(paths) = &tool.paths else { return };
            let roots = paths.roots.as_deref().unwrap_or(own);
            for pointer in &paths.arguments {
                each_marked(message, pointer, &mut |node| inspect(node, roots, context, proposals));
            }
            return;
        }
        let Some(message) = check::acting_request(event).filter(|_| !own.is_empty()) else { return };
        for uri in check::addresses(message) {
            let Some(text) = uri.as_str() else { continue };
            if !has_own_scheme(text) {
                inspect(uri, own, context, proposals);
            }
        }
    }
}

/// Whether a URI is of the server's own making (`helpdesk://…`) and so no path. A
/// single letter is a drive.
fn has_own_scheme(uri: &str) -> bool {
    let is_scheme = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(is_scheme) && !scheme.eq_ignore_ascii_case("file")
    })
}

fn inspect(node: &Node, roots: &[String], context: &Context<'_>, proposals: &mut Proposals) {
    let mut refuse = |rule, why: &str| proposals.refuse_as(INVALID_PARAMS, rule, why);
    let text = match &node.kind {
        Kind::Null => return,
        Kind::String(text) => text,
        _ => return refuse("not-a-path", "the argument must be a path, and is no text"),
    };
    match judge(text, roots, &|path| context.surroundings.target(path)) {
        Ok(()) => {}
        Err(Astray::Outside) => refuse("outside-roots", "the path leaves the folders that may be reached"),
        Err(Astray::Link) => refuse("link-out", "a link on the path leaves the folders that may be reached"),
        Err(Astray::Odd) => refuse("odd-path", "what the path means depends on who reads it"),
        Err(Astray::Elsewhere) => refuse("elsewhere", "the path is the address of something else than a local file"),
        Err(Astray::Disguised) => {
            refuse("disguised-path", "read with its escapes or look-alikes undone, the path can't be allowed");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const POLICY: &str = r#"
[servers.board.paths]
roots = ["/srv/files", "/srv/inbox"]
[servers.board.tools.read.paths]
arguments = ["/path", "/paths", "/edits/file"]
[servers.board.tools.log.paths]
arguments = ["/path"]
roots = ["/var/log/board"]
"#;
    const LINKS: &[(&str, &str)] = &[("/srv/files/latest", "releases/7"), ("/srv/files/keys", "/etc/keys")];

    fn gate() -> Driver {
        Driver::within("path-scope", POLICY, &[], LINKS)
    }

    #[test]
    fn marked_arguments_stay_in_the_roots() {
        for arguments in [
            r#"{"path":"notes/today.txt"}"#,
            r#"{"path":"/srv/inbox/a"}"#,
            r#"{"paths":["a","/srv/files/b"],"edits":[{"file":"c"}]}"#,
            r#"{"path":"latest/notes.txt"}"#,
            r#"{"path":null}"#,
            r#"{"text":"../../etc/passwd"}"#,
        ] {
            gate().call("read", arguments).passes();
        }
        for (arguments, rule) in [
            (r#"{"path":"../CANARY"}"#, "outside-roots"),
            (r#"{"Path":"../CANARY"}"#, "outside-roots"),
            (r#"{"path":"a","path":"/CANARY"}"#, "outside-roots"),
            (r#"{"paths":["a",["/CANARY"]]}"#, "outside-roots"),
            (r#"{"edits":[{"file":"a"},{"FILE":"/CANARY"}]}"#, "outside-roots"),
            (r#"{"path":"\u002e\u002e/CANARY"}"#, "outside-roots"),
            (r#"{"path":"keys/CANARY"}"#, "link-out"),
            (r#"{"path":"https://CANARY.example/"}"#, "elsewhere"),
            (r#"{"path":"%2e%2e/CANARY"}"#, "disguised-path"),
            (r#"{"path":"~/CANARY"}"#, "odd-path"),
            (r#"{"path":{"CANARY":1}}"#, "not-a-path"),
            (r#"{"path":7}"#, "not-a-path"),
        ] {
            gate().call("read", arguments).refuses(rule).code(-32602).never_says("CANARY");
        }
        gate().call("log", r#"{"path":"/srv/files/a"}"#).refuses("outside-roots");
        gate().call("log", r#"{"path":"today.log"}"#).passes();
        gate().call("other", r#"{"path":"/etc/passwd"}"#).passes();
    }

    #[test]
    fn resources_with_file_uris_are_held_to_the_servers_roots() {
        for uri in ["file:///srv/files/a%20b.txt", "helpdesk://../handbook", "FILE://localhost/srv/inbox/a", "handbook"]
        {
            gate().req("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).passes();
        }
        for uri in [
            "file:///etc/passwd",
            "File:///srv/files/../../etc/passwd",
            "file:///srv/files/%2e%2e/%2e%2e/etc/passwd",
            "file://files.example/srv/files/a",
            "file:etc/passwd",
            "%66ile:///etc/passwd",
            "f\\tile:///etc/passwd",
            "/etc/passwd",
            "C:/Windows/win.ini",
        ] {
            for method in ["resources/read", "resources/subscribe"] {
                let refused = gate().req(method, &format!(r#"{{"uri":"{uri}"}}"#));
                assert!(refused.ruling.acted(), "{uri}");
            }
        }
        Driver::only("path-scope", "").req("resources/read", r#"{"uri":"file:///etc/passwd"}"#).passes();
    }
}
