//! What only the operator knows, and whether a gate was told.
//!
//! A check that needs no settings is expected of any gate. One that enforces what
//! somebody decided (which tools, which folders, whose identity) can only be
//! expected of a gate that was told what was decided.

use std::{collections::BTreeSet, fmt::Debug};

use super::approvals::Approvals;
use crate::{
    fixture::{GateProfile, Placeholder},
    gate::{EgressPolicy, NamesPolicy, PinMode, Policy, ServerPolicy, ToolPolicy},
    plan::Prepared,
};

/// What the check that a case names needs to know and the gate was not told, as
/// a reason.
pub(super) fn lacking(prepared: &Prepared, profile: &GateProfile) -> Option<String> {
    let used = profile.placeholders();
    if used.contains(&Placeholder::Policy) {
        return None;
    }
    let by = prepared.case.body.by.as_deref()?;
    let policy = prepared.rules.policy();
    let opened = prepared.case.servers().filter(|(_, server)| server.connect).map(|(name, _)| name);
    let servers: Vec<&ServerPolicy> = opened.map(|name| policy.server(&name)).collect();
    if by == "definition-pins" && !Approvals::of(&prepared.case).at_start.is_empty() {
        return None;
    }
    let what = needs(by, policy, &servers, profile, &used)?;
    Some(format!("the gate was not told {what} ({{policy}} in its command or files would tell it)"))
}

/// What the check enforces beyond its defaults, and isn't conveyed.
fn needs(
    by: &str,
    policy: &Policy,
    servers: &[&ServerPolicy],
    profile: &GateProfile,
    used: &BTreeSet<Placeholder>,
) -> Option<&'static str> {
    let server = |set: &dyn Fn(&ServerPolicy) -> bool| servers.iter().any(|server| set(server));
    let tool = |set: &dyn Fn(&ToolPolicy) -> bool| server(&|server| server.tools.values().any(set));
    let approves = !(profile.prepare.is_empty() && profile.approve.is_empty());
    let (needed, what) = match by {
        "tool-allowlist" => (
            server(&|server| server.allow.is_some()) && !used.contains(&Placeholder::AllowedTools),
            "which tools may be listed and called",
        ),
        "argument-scope" => (tool(&|tool| !tool.pinned.is_empty()), "which arguments the host sets"),
        "argument-policy" => (tool(&|tool| !tool.fields.is_empty()), "what single arguments are for"),
        "argument-schema" | "host-schema" => {
            (tool(&|tool| tool.show.is_some()), "the host's own words and schemas of the tools")
        }
        "path-scope" => (
            server(&|server| server.paths.is_some()) || tool(&|tool| tool.paths.is_some()),
            "which folders may be reached, and which arguments are paths",
        ),
        "egress" => (
            server(&|server| server.egress.as_ref().is_some_and(|egress| is_set(egress, &EgressPolicy::default())))
                || tool(&|tool| !tool.urls.is_empty()),
            "which addresses may be reached, and which arguments are addresses",
        ),
        "taint-flow" => (
            server(&|server| is_set(&server.flow, &ServerPolicy::default().flow))
                || tool(&|tool| is_set(&tool.flow, &ToolPolicy::default().flow)),
            "where values come from and where they may go",
        ),
        "call-budget" => (
            server(&|server| is_set(&server.budget, &ServerPolicy::default().budget))
                || tool(&|tool| is_set(&tool.budget, &ToolPolicy::default().budget)),
            "how often tools may be called",
        ),
        "delegated-identity" => (server(&|server| server.identity.is_some()), "under whose identity calls run"),
        "name-collision" => (is_set(&policy.names, &NamesPolicy::default()), "how the host tells names apart"),
        "result-scope" => (tool(&|tool| tool.scope.is_some()), "what a result may hold"),
        "result-shape" => (tool(&|tool| tool.shape.is_some()), "what a result must look like"),
        "trust-framing" => (tool(&|tool| tool.framing.is_some()), "how messages show whom they are from"),
        "continuation" => (tool(&|tool| tool.pages.is_some()), "how the tool pages"),
        "stale-listing" => (
            server(&|server| is_set(&server.build, &ServerPolicy::default().build)),
            "where the server says which version of it answers",
        ),
        "list-integrity" => {
            (server(&|server| is_set(&server.lists, &ServerPolicy::default().lists)), "how long listings may be")
        }
        "server-requests" => (
            server(&|server| is_set(&server.requests, &ServerPolicy::default().requests)),
            "what the server may ask its client for",
        ),
        "origin" => (server(&|server| is_set(&server.listen, &ServerPolicy::default().listen)), "who may speak to it"),
        "session-binding" => (
            server(&|server| is_set(&server.sessions, &ServerPolicy::default().sessions)),
            "by what principals are known",
        ),
        "launch-consent" => {
            (server(&|server| is_set(&server.launch, &ServerPolicy::default().launch)), "which launches were approved")
        }
        "approval" => (server(&|server| server.approval.is_some()), "which calls the user is asked about"),
        "definition-pins" => {
            (server(&|server| server.pins == Some(PinMode::Approved)) && !approves, "which definitions were approved")
        }
        _ => return None,
    };
    needed.then_some(what)
}

/// Whether a section says anything beyond its defaults. Sections are plain data,
/// so what they print is what they hold.
fn is_set<T: Debug>(section: &T, default: &T) -> bool {
    format!("{section:?}") != format!("{default:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(by: &str, settings: &str, command: &str) -> Option<&'static str> {
        let policy: Policy = toml::from_str(&format!("schema = 1\ntitle = \"t\"\n{settings}")).unwrap();
        let profile = GateProfile::of_command(command.split(' ').map(str::to_owned).collect());
        let server = policy.server(&"board".into());
        needs(by, &policy, &[server], &profile, &profile.placeholders())
    }

    #[test]
    fn what_was_decided_has_to_be_told() {
        let allow = "[servers.board]\nallow = [\"a\"]";
        assert_eq!(needed("tool-allowlist", allow, "g {upstream}"), Some("which tools may be listed and called"));
        assert_eq!(needed("tool-allowlist", allow, "g {allowed_tools} {upstream}"), None);
        assert_eq!(needed("tool-allowlist", "", "g {upstream}"), None);
        for (by, settings) in [
            ("argument-scope", "[servers.board.tools.a]\npinned = { room = '\"x\"' }"),
            ("path-scope", "[servers.board.paths]\nroots = [\"/srv\"]"),
            ("egress", "[servers.board.egress]\nports = [80]"),
            ("egress", "[servers.board.tools.a]\nurls = [\"/url\"]"),
            ("taint-flow", "[servers.board.flow]\nsource = \"private\""),
            ("call-budget", "[servers.board.budget]\ncalls = 3"),
            ("server-requests", "[servers.board.requests.roots]\nallow = false"),
            ("definition-pins", "[servers.board]\npins = \"approved\""),
            ("approval", "[servers.board.approval]"),
        ] {
            assert!(needed(by, settings, "g {upstream}").is_some(), "{by}");
            assert_eq!(needed(by, "", "g {upstream}"), None, "{by}");
        }
    }

    #[test]
    fn defaults_are_nobody_s_secret() {
        for (by, settings) in [
            ("definition-pins", "[servers.board]\npins = \"first-use\""),
            ("egress", "[servers.board.egress]"),
            ("description-scan", "[servers.board.scan]\nexcept = []"),
            ("protocol-version", "[servers.board.wire]\nmin_version = \"2025-06-18\""),
        ] {
            assert_eq!(needed(by, settings, "g {upstream}"), None, "{by}");
        }
    }

    #[test]
    fn one_server_s_settings_are_not_another_s() {
        assert_eq!(needed("tool-allowlist", "[servers.other]\nallow = [\"a\"]", "g {upstream}"), None);
    }
}
