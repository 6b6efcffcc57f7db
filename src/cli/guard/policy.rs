//! What is enforced, and how gates are made of it.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use super::{
    super::{exit, screen, screen::Screen, trouble},
    What, ask,
    servers::{Served, served},
};
use crate::{
    digest::Fingerprint,
    fixture::Source,
    gate::{
        CheckId, CheckSet, Delegations, FlowSettings, Guarded, NamesPolicy, PinStore, Place, Policy, Rules,
        SchemaCache, ServerPolicy, SessionPins,
    },
    guard::{
        Approvals, Asker, Asks, Consents, ThisMachine, Watch, Watched,
        audit::{Log, Session},
    },
    pins::FileStore,
    plan::load_policy,
    protocol::ServerName,
    relay::SharedGate,
};

/// The checks that have to do with HTTP, whatever is said over it.
const DOOR: &[&str] = &["origin", "session-binding", "protocol-version", "size-limits"];

/// A policy with all that its gates share.
#[derive(Debug)]
pub(super) struct Enforced {
    rules: Rules,
    digest: Fingerprint,
    /// In the order in which equal names are theirs.
    pub(super) servers: Vec<Served>,
    store: Arc<dyn PinStore>,
    observe: bool,
    pub(super) log: Option<Log>,
    consents: Consents,
    asker: Option<Asker>,
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
        let servers = served(what, &rules, screen)?;
        for Served { name, .. } in &servers {
            if rules.policy().server(name).identity.is_some() {
                return Err(mistake(&format!(
                    "the policy delegates an identity to '{name}', and this program holds no tokens to delegate; \
                     take its section 'identity' away"
                )));
            }
            let asks = rules.policy().server(name).approval.is_some() && !what.observe;
            if asks && what.approvals.is_none() && what.ask.is_none() {
                return Err(mistake(&format!(
                    "the policy asks the user about calls of '{name}'; say --approvals FILE (consents come from \
                     `gateproof guard approve`) or --ask (a terminal), or take its section 'approval' away"
                )));
            }
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
        let asker = match &what.ask {
            Some(terminal) if !what.observe => Some(ask::at(terminal, what.ask_for()).map_err(|why| mistake(&why))?),
            _ => None,
        };
        let consents = Consents {
            file: what.approvals.as_ref().map(|path| Approvals::new(path, SystemTime::now)),
            how: how(what),
            asked: asker.is_some(),
        };
        if let Some(file) = &consents.file {
            file.read().map_err(|error| mistake(&error.to_string()))?;
        }
        Ok(Self { rules, digest, servers, store, observe: what.observe, log, consents, asker })
    }

    /// What asks about the calls of a server, where the policy does and somebody
    /// can be asked.
    pub(super) fn asks(&self, gate: &SharedGate, watch: &Watch, server: &ServerName) -> Option<Asks> {
        let asker = self.asker.clone().filter(|_| self.rules.policy().server(server).approval.is_some())?;
        Some(Asks { gate: gate.clone(), watch: watch.clone(), server: server.clone(), asker })
    }

    /// All servers under one name, as the log has it.
    pub(super) fn label(&self) -> ServerName {
        let names: Vec<_> = self.servers.iter().map(|server| server.name.as_str()).collect();
        ServerName::new(names.join("+"))
    }

    /// The session of this number, as it is logged.
    pub(super) fn session(&self, number: u64) -> Session {
        Session { number, server: self.label(), policy: self.digest, observe: self.observe }
    }

    /// What is enforced of everybody who comes on HTTP: the server's settings, or
    /// the defaults where there are several.
    fn at_the_door(&self) -> &ServerPolicy {
        match self.servers.as_slice() {
            [only] => self.rules.policy().server(&only.name),
            _ => &self.rules.policy().default,
        }
    }

    /// The headers that name principals.
    pub(super) fn principals(&self) -> Vec<String> {
        self.at_the_door().sessions.principals.clone()
    }

    /// A gate that looks at HTTP alone, for whoever stands behind it has one for
    /// each server.
    pub(super) fn door(&self, session: &Session, watch: &Watch) -> Result<SharedGate, String> {
        let ServerPolicy { wire, listen, sessions, .. } = self.at_the_door().clone();
        let default = ServerPolicy { wire, listen, sessions, ..ServerPolicy::default() };
        let policy = Policy {
            schema: 1,
            title: "the door".to_owned(),
            checks: BTreeMap::new(),
            names: NamesPolicy::default(),
            flow: FlowSettings::default(),
            servers: BTreeMap::new(),
            default,
        };
        let rules = Rules::new(policy, Arc::new(SchemaCache::default())).map_err(|error| error.to_string())?;
        let door: CheckSet = DOOR.iter().filter_map(|name| CheckId::parse(name)).collect();
        Ok(self.made(rules.with_checks(door.and(self.rules.checks())), session, watch))
    }

    /// A gate at the start of a session.
    pub(super) fn gate(&self, session: &Session, watch: &Watch) -> SharedGate {
        self.made(self.rules.clone(), session, watch)
    }

    fn made(&self, rules: Rules, session: &Session, watch: &Watch) -> SharedGate {
        let (store, observe, consents) = (Arc::clone(&self.store), self.observe, self.consents.clone());
        let (watch, log) = (watch.clone(), self.log.clone().map(|log| (log, session.clone())));
        SharedGate::new(move || {
            let gate = Guarded::new(rules.clone(), Delegations::default())
                .with_store(Arc::clone(&store))
                .with_surroundings(Arc::new(ThisMachine));
            let gate = if observe { gate.enforcing(CheckSet::none()) } else { gate };
            let watched = Watched::new(Box::new(gate), watch.clone(), log.clone());
            Box::new(watched.with_consents(consents.clone()))
        })
    }
}

/// How somebody consents to a call, up to its digest.
fn how(what: &What) -> String {
    let path = what.approvals.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let path = path.unwrap_or_default().display().to_string();
    let words = ["gateproof", "guard", "approve", "--approvals", &path].map(str::to_owned);
    Place::Argv(words.into()).to_string()
}

pub(super) fn mistake(what: &str) -> u8 {
    screen::note(&format!("error: {what}"));
    exit::USAGE
}
