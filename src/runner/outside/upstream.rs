//! The server that a gate starts: a relay to here, and who plays behind it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::task::JoinSet;

use super::super::wiring::Actor;
use crate::{
    protocol::ServerName,
    transcript::{Event, Recorder},
    transport::{Tasks, bridge::Rendezvous},
};

/// Somebody else behind the relay for a while, whose words are not the trial's.
type Understudy = Arc<Mutex<Option<Actor>>>;

/// One server's relay. Its command stays the same for as long as the trial lasts:
/// gates know their servers by it.
#[derive(Debug)]
pub(super) struct Upstream {
    /// What the gate is told to start.
    pub(super) argv: Vec<String>,
    understudy: Understudy,
    _attending: Tasks,
}

impl Upstream {
    /// Waits for relays from now on, each of which is served by `actor`.
    pub(super) async fn open(
        program: &Path,
        server: &ServerName,
        actor: Actor,
        recorder: Recorder,
    ) -> Result<Self, String> {
        let rendezvous = Rendezvous::bind().await.map_err(|error| format!("no port for a relay: {error}"))?;
        let argv = rendezvous.argv(
            program,
            &["gateproof-endpoint".to_owned(), server.to_string()],
            actor.complaints().as_deref(),
        );
        let understudy = Understudy::default();
        let mut attending = Tasks::default();
        let (server, replaced) = (server.clone(), Arc::clone(&understudy));
        attending.keep(tokio::spawn(async move {
            // Dropped with this task, and every connection with it.
            let mut served = JoinSet::new();
            while let Ok((hello, end)) = rendezvous.accept().await {
                // What a gate hands down of its own environment is nobody's choice.
                let env = BTreeMap::new();
                let understudy = held(&replaced).clone();
                if let Some(understudy) = understudy {
                    served.spawn(understudy.serve(&server, &env, end, Recorder::default()));
                } else {
                    let launched = Event::Launched { server: server.clone(), argv: hello.words(), env: env.clone() };
                    recorder.event(launched);
                    served.spawn(actor.clone().serve(&server, &env, end, recorder.clone()));
                }
                while served.try_join_next().is_some() {}
            }
        }));
        Ok(Self { argv, understudy, _attending: attending })
    }

    /// Until [`Upstream::resume`], `actor` plays behind the relay, off the record.
    pub(super) fn replace(&self, actor: Actor) {
        *held(&self.understudy) = Some(actor);
    }

    /// The server of the trial plays again.
    pub(super) fn resume(&self) {
        *held(&self.understudy) = None;
    }
}

fn held(understudy: &Understudy) -> MutexGuard<'_, Option<Actor>> {
    understudy.lock().unwrap_or_else(PoisonError::into_inner)
}
