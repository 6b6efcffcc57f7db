//! What is enforced, and how gates are made of it.

use std::{sync::Arc, time::SystemTime};

use super::{
    super::{exit, screen, screen::Screen, trouble},
    What,
};
use crate::{
    digest::Fingerprint,
    fixture::{Source, suggest},
    gate::{CheckSet, Delegations, Guarded, PinStore, Rules, SchemaCache, SessionPins},
    guard::{
        ThisMachine, Watch, Watched,
        audit::{Log, Session},
    },
    pins::FileStore,
    plan::load_policy,
    protocol::ServerName,
    relay::SharedGate,
};

/// A policy with all that its gates share.
#[derive(Debug)]
pub(super) struct Enforced {
    rules: Rules,
    digest: Fingerprint,
    pub(super) server: ServerName,
    store: Arc<dyn PinStore>,
    observe: bool,
    pub(super) log: Option<Log>,
}

impl Enforced {
    /// Reads everything, or says what is wrong.
    pub(super) fn load(what: &What, screen: &Screen) -> Result<Self, u8> {
        let Some(path) = &what.policy else { return Err(mistake("which policy? Say --policy FILE")) };
        let told = |error| {
            screen::note(&trouble::graphical(&error, screen));
            exit::USAGE
        };
        let source = Source::read(path, path.display().to_string()).map_err(told)?;
        let rules = load_policy(&source, &Arc::new(SchemaCache::default())).map_err(told)?;
        let server = server(what.server.as_deref(), &rules)?;
        if rules.policy().server(&server).identity.is_some() {
            return Err(mistake(&format!(
                "the policy delegates an identity to '{server}', and this program holds no tokens to delegate; \
                 take its section 'identity' away"
            )));
        }
        if rules.policy().server(&server).approval.is_some() && !what.observe {
            return Err(mistake(&format!(
                "the policy asks the user about calls of '{server}', and nobody can be asked here; take its section \
                 'approval' away, or allow the calls that need no question"
            )));
        }
        let store: Arc<dyn PinStore> = match &what.pins {
            None => Arc::new(SessionPins::default()),
            Some(path) => {
                let store = FileStore::new(path, "guard", SystemTime::now);
                store.read().map_err(|error| mistake(&error.to_string()))?;
                Arc::new(store)
            }
        };
        let log = match &what.audit {
            None => None,
            Some(path) => Some(Log::open(path, SystemTime::now).map_err(|error| mistake(&error.to_string()))?),
        };
        let digest = Fingerprint::of(source.text().as_bytes());
        Ok(Self { rules, digest, server, store, observe: what.observe, log })
    }

    /// The session of this number, as it is logged.
    pub(super) fn session(&self, number: u64) -> Session {
        Session { number, server: self.server.clone(), policy: self.digest, observe: self.observe }
    }

    /// The headers that name principals.
    pub(super) fn principals(&self) -> Vec<String> {
        self.rules.policy().server(&self.server).sessions.principals.clone()
    }

    /// A gate at the start of a session.
    pub(super) fn gate(&self, session: &Session, watch: &Watch) -> SharedGate {
        let (rules, store, observe) = (self.rules.clone(), Arc::clone(&self.store), self.observe);
        let (watch, log) = (watch.clone(), self.log.clone().map(|log| (log, session.clone())));
        SharedGate::new(move || {
            let gate = Guarded::new(rules.clone(), Delegations::default())
                .with_store(Arc::clone(&store))
                .with_surroundings(Arc::new(ThisMachine));
            let gate = if observe { gate.enforcing(CheckSet::none()) } else { gate };
            Box::new(Watched::new(Box::new(gate), watch.clone(), log.clone()))
        })
    }
}

/// Which server is meant. A name that the policy doesn't know would be held to
/// its defaults, which is hardly what somebody wants who wrote it down.
fn server(given: Option<&str>, rules: &Rules) -> Result<ServerName, u8> {
    let known = &rules.policy().servers;
    match (given, known.len()) {
        (Some(name), 0) => Ok(ServerName::new(name)),
        (Some(name), _) => {
            let name = ServerName::new(name);
            if known.contains_key(&name) {
                return Ok(name);
            }
            let hint = suggest(name.as_str(), known.keys().map(ServerName::as_str));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Err(mistake(&format!("the policy names no server '{name}'{hint}")))
        }
        (None, 0) => Ok(ServerName::new("server")),
        (None, 1) => Ok(known.keys().next().cloned().unwrap_or_else(|| ServerName::new("server"))),
        (None, _) => {
            let names: Vec<_> = known.keys().map(ServerName::as_str).collect();
            Err(mistake(&format!("which server? Say --server with one of {}", names.join(", "))))
        }
    }
}

pub(super) fn mistake(what: &str) -> u8 {
    screen::note(&format!("error: {what}"));
    exit::USAGE
}
