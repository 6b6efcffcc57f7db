//! Finds out on the wire what a gate carries, before anything is played.

mod read;

use std::{collections::BTreeMap, sync::Arc};

use self::read::{Heard, more, session, unopened};
use super::super::{Settings, Stop, play};
use crate::{
    case,
    endpoint::Prototype,
    fixture::{Source, load_server},
    gate::{SchemaCache, Told},
    plan::{Arm, Outside, Prepared, Trial, load_policy, outside::Features},
    transcript::Transcript,
};

/// The fixture that is served, as authored.
const SERVER: &str = include_str!("server.toml");
/// The session that is opened and no more.
const OPEN: &str = include_str!("open.toml");
/// The session with most of it.
const SESSION: &str = include_str!("session.toml");
/// What needs a session of its own.
const MORE: &str = include_str!("more.toml");
/// The policy: nothing is set.
const POLICY: &str = "schema = 1\ntitle = \"Nothing is set\"\n";

/// What was found out about a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// What it carries.
    pub features: Features,
    /// Why nothing can be played through it; `None` where it opens a session, lists
    /// tools and calls one.
    pub broken: Option<String>,
    /// The `--tool-name` that would explain the names it gives to tools.
    pub tool_name: Option<String>,
}

impl Probed {
    /// The gate with what was found out.
    #[must_use]
    pub fn told_of(self, outside: Outside) -> Outside {
        let mut outside = outside;
        outside.features = self.features;
        outside.broken = self.broken;
        outside
    }
}

/// Plays honest sessions through a gate and says what survived. Once it is stopped,
/// what was started ends with it.
pub fn probe(outside: &Outside, settings: &Settings, stop: &Stop) -> Probed {
    let outside = Arc::new(outside.clone());
    let broken = |why: String| Probed { broken: Some(why), ..Probed::default() };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return broken(format!("no runtime: {error}")),
    };
    let played = |name: &str, text: &str, pages: bool| -> Result<Transcript, String> {
        let trial = trial(&outside, name, text, pages)?;
        runtime.block_on(async {
            tokio::select! {
                biased;
                played = play(&trial, settings) => Ok(played.transcript),
                () = stop.stopped() => Err("the run was interrupted".to_owned()),
            }
        })
    };
    // A gate that opens no session would be asked everything else in vain, each step
    // until its deadline.
    match played("open", OPEN, false) {
        Ok(transcript) => {
            if let Some(why) = unopened(&Heard::new(&transcript)) {
                return broken(why);
            }
        }
        Err(error) => return broken(error),
    }
    let probed = match played("session", SESSION, false) {
        Ok(transcript) => session(&Heard::new(&transcript)),
        Err(error) => return broken(error),
    };
    let Probed { mut features, broken: None, tool_name } = probed else { return probed };
    match played("more", MORE, true) {
        Ok(transcript) => features.absent.extend(more(&Heard::new(&transcript))),
        Err(error) => return broken(error),
    }
    Probed { features, broken: None, tool_name }
}

/// The session that `text` scripts, before the gate.
fn trial(outside: &Arc<Outside>, name: &str, text: &str, pages: bool) -> Result<Trial, String> {
    let mut fixture = load_server(&Source::new("probe/server.toml", SERVER)).map_err(|error| error.to_string())?;
    fixture.page_size = pages.then_some(1);
    let start = Prototype::new(&fixture, &[], &[]).map_err(|error| error.to_string())?;
    let source = Source::new(format!("probe/{name}.toml"), text);
    let file = case::load(&source, &format!("probe/{name}")).map_err(|error| error.to_string())?;
    let cases = case::expand(&source, &file, None).map_err(|error| error.to_string())?;
    let case = Arc::new(cases.into_iter().next().ok_or("the probe has no session")?);
    let rules = load_policy(&Source::new("probe/policy.toml", POLICY), &Arc::new(SchemaCache::default()))
        .map_err(|error| error.to_string())?;
    let servers = BTreeMap::from([(case.first_server(), Arc::new(start))]);
    let revision = case.home_revision();
    let outside = Some(Arc::clone(outside));
    let transport = outside.as_ref().map_or(crate::transport::Kind::Stdio, |outside| outside.front());
    let prepared = Prepared { case, servers, rules, surroundings: Told::default(), live: None, outside };
    Ok(Trial { prepared: Arc::new(prepared), arm: Arm::Outside, transport, revision })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{fixture::GateProfile, plan::outside::Feature};

    #[test]
    fn the_probe_is_a_case_like_any_other() {
        let profile = GateProfile::of_command(vec!["{upstream}".to_owned()]);
        let outside = Arc::new(Outside::new("g", profile, Path::new("/g"), |_| None));
        for (name, text) in [("session", SESSION), ("more", MORE)] {
            let trial = trial(&outside, name, text, true).unwrap();
            assert!(trial.prepared.servers.values().all(|server| server.has_pages()));
        }
        assert_eq!(Feature::ALL.len(), read::WAYS.len(), "every feature is looked for");
    }
}
