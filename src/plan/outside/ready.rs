//! A profile made ready: what starts the gate here, whether it is installed, and
//! what was found out about it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{Features, approvals::Approvals, controls::relaxed};
use crate::{
    case::{Kind, Step},
    endpoint::Prototype,
    fixture::{GateProfile, Placeholder},
    plan::{Prepared, Suite, live},
    protocol::ServerName,
    transport,
};

/// A gate on this machine that is not gateproof's own.
#[derive(Clone, Debug)]
pub struct Outside {
    /// What it is called: the profile's name, or what it was given as.
    pub name: String,
    /// Its profile.
    pub profile: GateProfile,
    /// Why it can't be played here; `None` where the pinned version is installed.
    pub missing: Option<String>,
    /// Where it runs already; `None` where the harness starts it.
    pub standing: Option<Standing>,
    /// What it carries; all, until somebody looked.
    pub features: Features,
    /// Why nothing can be played through it though it is there: it doesn't start,
    /// or can't do what every case needs.
    pub broken: Option<String>,
    /// Its environment, but for `HOME`.
    env: BTreeMap<String, String>,
    /// Where gates are installed.
    gates: PathBuf,
    /// Policies as written, by name.
    policies: BTreeMap<String, String>,
    /// Servers without anything that a case does to them, by fixture.
    honest: BTreeMap<String, Arc<Prototype>>,
}

/// A gate that runs already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it listens.
    pub url: String,
    /// The port of the loopback interface that it takes for its server.
    pub upstream_port: u16,
}

/// A policy for what has none: everything by default.
const NO_POLICY: &str = "schema = 1\ntitle = \"Nothing is set\"\n";

impl Outside {
    /// Makes a profile ready. `gates` is the absolute path of the folder that gates
    /// are installed in; `variable` gives environment variables.
    pub fn new(
        name: impl Into<String>,
        profile: GateProfile,
        gates: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let name = name.into();
        let path = "PATH".to_owned();
        let named = profile.env.iter().chain([&path]);
        let env = named.filter_map(|key| Some((key.clone(), variable(key)?))).collect();
        let missing = missing(&name, &profile, gates);
        Self {
            name,
            profile,
            missing,
            standing: None,
            features: Features::default(),
            broken: None,
            env,
            gates: gates.to_owned(),
            policies: BTreeMap::new(),
            honest: BTreeMap::new(),
        }
    }

    /// A gate that runs already.
    pub fn standing(url: impl Into<String>, upstream_port: u16) -> Self {
        let standing = Standing { url: url.into(), upstream_port };
        let profile = GateProfile::of_command(Vec::new());
        let gate = Self::new(standing.url.clone(), profile, Path::new(""), |_| None);
        Self { standing: Some(standing), ..gate }
    }

    /// How the client reaches it.
    pub fn front(&self) -> transport::Kind {
        let used = self.profile.placeholders();
        let listens = [Placeholder::Listen, Placeholder::Port].iter().any(|found| used.contains(found));
        if listens || self.standing.is_some() { transport::Kind::Http } else { transport::Kind::Stdio }
    }

    /// How it reaches its server.
    pub fn back(&self) -> transport::Kind {
        let connects = self.profile.placeholders().contains(&Placeholder::UpstreamUrl);
        if connects || self.standing.is_some() { transport::Kind::Http } else { transport::Kind::Stdio }
    }

    /// Where gates are installed.
    pub fn gates(&self) -> &Path {
        &self.gates
    }

    /// Its whole environment, with this home.
    pub fn env(&self, home: &Path) -> BTreeMap<String, String> {
        let home = home.to_string_lossy().into_owned();
        self.env.iter().map(|(name, value)| (name.clone(), value.clone())).chain([("HOME".to_owned(), home)]).collect()
    }

    /// How long it may take until it is ready.
    pub fn start(&self) -> Duration {
        Duration::from_secs(self.profile.start_seconds.into())
    }

    /// How long it may take for one answer.
    pub fn step(&self) -> Duration {
        Duration::from_secs(self.profile.step_seconds.into())
    }

    /// The text of a case's policy.
    pub fn policy(&self, name: &str) -> &str {
        self.policies.get(name).map_or(NO_POLICY, String::as_str)
    }

    /// The server that was honest when the operator set the gate up: the fixture's
    /// own where the case is an attack. In an honest case, what the case does to
    /// its server is honest, too; and what the host of a case approves at its start
    /// is what it is.
    pub fn honest(&self, prepared: &Prepared, server: &ServerName) -> Option<Arc<Prototype>> {
        let used = prepared.case.servers().find(|(name, _)| name == server).map(|(_, used)| used);
        let own = used.and_then(|used| self.honest.get(&used.fixture));
        let is_bad = prepared.case.body.kind == Kind::Attack;
        let is_bad = is_bad && !Approvals::of(&prepared.case).at_start.contains(server);
        own.filter(|_| is_bad).or(prepared.servers.get(server)).cloned()
    }
}

/// The tools that the operator of a gate would name: those that the policy allows
/// on this server; without a list there, all that the server ever lists in the
/// case. `None` where nobody knows them.
pub(super) fn allowed_tools(prepared: &Prepared, server: &ServerName) -> Option<Vec<String>> {
    if let Some(allow) = &prepared.rules.policy().server(server).allow {
        return Some(allow.iter().map(|tool| tool.as_str().to_owned()).collect());
    }
    let start = prepared.servers.get(server)?;
    let first = prepared.case.first_server();
    let mut mutations = Vec::new();
    let mut steps: Vec<&Step> = prepared.case.body.steps.iter().collect();
    while let Some(step) = steps.pop() {
        steps.extend(step.inner());
        if let Step::Mutate(mutation) = step
            && mutation.server.as_ref().unwrap_or(&first) == server
        {
            mutations.push(&mutation.overlay);
        }
    }
    Some(start.tool_names(&mutations))
}

impl Prepared {
    /// The tools that the operator of a gate would name for this server; none
    /// where nobody knows them.
    pub fn allowed_tools(&self, server: &ServerName) -> Vec<String> {
        allowed_tools(self, server).unwrap_or_default()
    }
}

fn missing(name: &str, profile: &GateProfile, gates: &Path) -> Option<String> {
    let package = profile.package.as_ref()?;
    match live::installed(&package.name, package, gates) {
        Some(found) if found == package.version => None,
        Some(found) => Some(format!(
            "{} {found} is installed, {} is pinned: run `gateproof gates install {name}`",
            package.name, package.version
        )),
        None => Some(format!("{} is not installed: run `gateproof gates install {name}`", package.name)),
    }
}

impl Suite {
    /// The same cases, each of which can be played through this gate.
    #[must_use]
    pub fn through(mut self, outside: Outside) -> Self {
        let policies = self.policies.iter();
        let policies = policies.map(|(name, (source, _))| (name.clone(), source.text().to_owned())).collect();
        let plain = |(name, fixture): (&String, &Arc<_>)| {
            // A fixture that can't be made is a mistake that every case of it shows.
            Some((name.clone(), Arc::new(Prototype::new(fixture, &[], &[]).ok()?)))
        };
        let honest = self.corpus.servers.iter().filter_map(plain).collect();
        let outside = Arc::new(Outside { policies, honest, ..outside });
        let again = |prepared: &Arc<Prepared>| {
            Arc::new(Prepared {
                case: relaxed(&prepared.case),
                servers: prepared.servers.clone(),
                rules: prepared.rules.clone(),
                surroundings: prepared.surroundings.afresh(),
                live: prepared.live.clone(),
                outside: Some(Arc::clone(&outside)),
            })
        };
        self.cases = self.cases.iter().map(again).collect();
        self.outside = Some(outside);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn legs(command: &str) -> (transport::Kind, transport::Kind) {
        let profile = GateProfile::of_command(command.split(' ').map(str::to_owned).collect());
        let gate = Outside::new("g", profile, Path::new("/g"), |key| (key == "PATH").then(|| "/bin".to_owned()));
        assert_eq!(gate.missing, None);
        let env = BTreeMap::from([("PATH", "/bin"), ("HOME", "/h")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        assert_eq!(gate.env(Path::new("/h")), env);
        (gate.front(), gate.back())
    }

    #[test]
    fn placeholders_say_how_a_gate_is_reached() {
        use transport::Kind::{Http, Stdio};
        assert_eq!(legs("g -- {upstream}"), (Stdio, Stdio));
        assert_eq!(legs("g {upstream_url}"), (Stdio, Http));
        assert_eq!(legs("g --port={port} {upstream}"), (Http, Stdio));
        assert_eq!(legs("g {listen} {upstream_url}"), (Http, Http));
        let standing = Outside::standing("http://127.0.0.1:9/mcp", 8);
        assert_eq!((standing.front(), standing.back()), (Http, Http));
    }
}
