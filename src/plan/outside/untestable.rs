//! Why a case can't be played through a gate.

use super::{Outside, approvals::Approvals, knowledge, ready::allowed_tools};
use crate::{
    case::{Case, Step},
    fixture::Placeholder,
    plan::Prepared,
    transport,
};

/// Checks that look at several servers at once.
const SEES_SEVERAL: [&str; 3] = ["name-collision", "shadowing", "taint-flow"];

/// Why a case can't be played through this gate, or would mean nothing there;
/// `None` where it can.
pub fn untestable(prepared: &Prepared, outside: &Outside) -> Option<String> {
    legs(&prepared.case, outside)
        .or_else(|| acts(&prepared.case, outside))
        .or_else(|| several(&prepared.case, outside))
        .or_else(|| unknown_tools(prepared, outside))
        .or_else(|| knowledge::lacking(prepared, &outside.profile))
        .or_else(|| outside.features.lacks(prepared))
}

/// The legs of the gate are what its maker made them.
fn legs(case: &Case, outside: &Outside) -> Option<String> {
    let means = |kind: transport::Kind| case.body.transports.contains(&kind);
    let name = |kind: transport::Kind| if kind == transport::Kind::Http { "HTTP" } else { "standard streams" };
    let only = case.body.transports.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(" and ");
    if !means(outside.front()) {
        return Some(format!("the case is for {only} alone; the gate is reached over {}", name(outside.front())));
    }
    (!means(outside.back()))
        .then(|| format!("the case is for {only} alone; the gate reaches its server over {}", name(outside.back())))
}

/// What a host can only tell gateproof's own gate.
fn acts(case: &Case, outside: &Outside) -> Option<String> {
    let host = &case.body.host;
    let only = |what: &str| Some(format!("{what}: there is no way to tell the gate"));
    if host.user.is_some() || host.delegations.is_some() {
        return only("the host holds tokens of its user's");
    }
    if host.pin_store.is_some() {
        return only("approvals are on disk at the start");
    }
    if case.body.surroundings.is_some() {
        return only("the case says how names and links resolve");
    }
    if case.servers().any(|(_, server)| server.launch.is_some()) {
        return only("the case says how the host launches the server");
    }
    let approvals = Approvals::of(case);
    if outside.profile.approve.is_empty() && !approvals.later.is_empty() {
        return only("the host approves what changed");
    }
    if !approvals.used_before.is_empty() {
        return Some("tools are used before the host approves any; the gate is set up beforehand".to_owned());
    }
    let mut steps: Vec<&Step> = case.body.steps.iter().collect();
    while let Some(step) = steps.pop() {
        steps.extend(step.inner());
        match step {
            Step::Consent(_) => return only("the user consents to single calls"),
            Step::Open(open) if open.launch.is_some() => {
                return only("the case says how the host launches the server");
            }
            Step::Restart(_) if outside.standing.is_some() => {
                return Some("the gate runs already and isn't the harness's to restart".to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Each server of a case has a gate of its own before it.
fn several(case: &Case, outside: &Outside) -> Option<String> {
    let opened = case.servers().filter(|(_, server)| server.connect).count();
    if outside.standing.is_some() && case.servers().count() > 1 {
        return Some("the gate runs already, before one server alone".to_owned());
    }
    let by = case.body.by.as_deref()?;
    (opened > 1 && SEES_SEVERAL.contains(&by))
        .then(|| format!("each server has a gate of its own before it; {by} needs one that sees them all"))
}

/// A gate that must be told its tools can't be told those of a server that nobody
/// asked yet.
fn unknown_tools(prepared: &Prepared, outside: &Outside) -> Option<String> {
    let told = outside.profile.placeholders().contains(&Placeholder::AllowedTools);
    let unknown = || prepared.case.servers().any(|(name, _)| allowed_tools(prepared, &name).is_none());
    (told && unknown()).then(|| "the gate must be told all tools, and the policy lists none".to_owned())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::Path};

    use super::{super::Feature, *};
    use crate::{fixture::GateProfile, plan::Suite};

    fn gate(command: &str) -> Outside {
        let words = command.split(' ').map(str::to_owned).collect();
        Outside::new("g", GateProfile::of_command(words), Path::new("/g"), |_| None)
    }

    #[test]
    fn reasons_are_the_gate_s_own() {
        let suite = Suite::load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let why = |id: &str, outside: &Outside| {
            let is_it = |prepared: &&std::sync::Arc<Prepared>| prepared.case.id.base() == id;
            untestable(suite.cases.iter().find(is_it).expect(id), outside)
        };
        let plain = gate("g {upstream}");
        let without = |feature: Feature, got: &str| {
            let mut outside = plain.clone();
            outside.features.absent = BTreeMap::from([(feature, got.to_owned())]);
            outside
        };
        let mut approves = plain.clone();
        approves.profile.approve = vec![vec!["g".to_owned(), "approve".to_owned()]];
        let http = gate("g {listen} {upstream_url}");
        let standing = Outside::standing("http://127.0.0.1:1/mcp", 2);
        for (id, outside, reason) in [
            ("helpdesk.drift.description", &plain, None),
            ("helpdesk.drift.typo-approved", &plain, Some("the host approves what changed: there is no way")),
            ("helpdesk.drift.typo-approved", &approves, None),
            ("helpdesk.drift.never-approved", &approves, Some("used before the host approves any")),
            ("pins.restart.same", &plain, None),
            ("browser.foreign-origin", &plain, Some("for http alone; the gate is reached over standard streams")),
            (
                "browser.foreign-origin",
                &gate("g {listen} {upstream}"),
                Some("reaches its server over standard streams"),
            ),
            ("browser.foreign-origin", &http, None),
            ("pins.reach.renamed", &http, Some("for memory and stdio alone; the gate is reached over HTTP")),
            ("pins.store.changed", &plain, Some("approvals are on disk")),
            ("approval.used-up", &plain, Some("the user consents")),
            ("helpdesk.allowed.hidden-call", &plain, Some("the gate was not told which tools")),
            ("helpdesk.allowed.hidden-call", &gate("g {allowed_tools} {upstream}"), None),
            ("helpdesk.allowed.hidden-call", &gate("g {policy} {upstream}"), None),
            ("helpdesk.allowed.allowed-call", &plain, None),
            ("overlay.drift.restart", &plain, None),
            ("overlay.drift.restart", &standing, Some("isn't the harness's to restart")),
            (
                "pins.templates.changed",
                &without(Feature::Templates, "resources/templates/list got -32601"),
                Some("the gate offers no resource templates (resources/templates/list got -32601)"),
            ),
            ("pins.templates.changed", &without(Feature::Prompts, "prompts/list got -32601"), None),
            ("overlay.drift.announced", &without(Feature::ListChanged, "nothing"), Some("no notice of changed tools")),
        ] {
            let found = why(id, outside);
            let fits = match (&found, reason) {
                (None, None) => true,
                (Some(found), Some(reason)) => found.contains(reason),
                _ => false,
            };
            assert!(fits, "{id}: {found:?}, wanted {reason:?}");
        }
    }

    #[test]
    fn a_check_that_sees_several_servers_needs_a_gate_that_does() {
        let suite = Suite::load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let names = |prepared: &&std::sync::Arc<Prepared>| {
            prepared.case.body.by.as_deref() == Some("name-collision")
                && prepared.case.servers().count() > 1
                && prepared.case.body.transports.contains(&transport::Kind::Stdio)
        };
        let prepared = suite.cases.iter().find(names).expect("a collision");
        let found = untestable(prepared, &gate("g {policy} {upstream}")).unwrap();
        assert!(found.contains("needs one that sees them all"), "{found}");
    }
}
