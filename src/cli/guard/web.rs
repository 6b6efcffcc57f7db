//! A guard that listens on HTTP.

use std::net::SocketAddr;

use super::{
    super::{exit, screen, screen::Screen},
    What,
    behind::behind,
    policy::{Enforced, mistake},
    servers::Served,
    stdio::{broken, failed, quiet, stopped},
};
use crate::{
    gate::Reach,
    guard::{
        Broken, Gated, Host, Keeper, Manner, Opened, Server, Unopened, Upstream, Watch, Web,
        audit::{Ending, Session},
        lobby, session_id,
    },
    transport::{http::Listener, pair},
};

pub(super) fn run(what: &What, listen: SocketAddr, screen: &Screen) -> Result<u8, u8> {
    if !listen.ip().is_loopback() && !what.allow_exposed {
        return Err(mistake(&format!(
            "{listen} can be reached from outside this machine, and nothing here speaks TLS; listen on 127.0.0.1, or \
             say --allow-exposed and name the gate's host under 'listen.hosts' in the policy"
        )));
    }
    let enforced = Enforced::load(what, screen)?;
    quiet();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| failed(&format!("no runtime: {error}")))?;
    // On a worker like everything else: what waits on this thread would have to be woken
    // with every message.
    let serving = runtime.spawn(serve(what.manner(), what.sessions.get(), listen, enforced));
    Ok(runtime.block_on(serving).unwrap_or_else(|_| broken(&Broken::Panicked)))
}

async fn serve(manner: Manner, most: usize, listen: SocketAddr, enforced: Enforced) -> u8 {
    let stop = match stopped() {
        Ok(stop) => stop,
        Err(error) => return failed(&format!("signals can't be heard: {error}")),
    };
    let Listener { url, connection } = match Listener::bind_to(listen).await {
        Ok(listener) => listener,
        Err(error) => return failed(&format!("{listen}: {error}")),
    };
    screen::note(&format!("listening on {url}"));
    let (keeper, kept) = Keeper::new(manner.grace);
    let web = Web { principals: enforced.principals(), ids: !is_passed_on(&enforced), most, grace: manner.grace };
    let served = web.serve(connection, Sessions { enforced, keeper }, stop).await;
    kept.all().await;
    match served {
        Ok(()) => exit::FINE,
        Err(why) => broken(&why),
    }
}

/// Whether sessions are the server's own.
fn is_passed_on(enforced: &Enforced) -> bool {
    matches!(enforced.servers.as_slice(), [Served { reach: Reach::Url(_), .. }])
}

struct Sessions {
    enforced: Enforced,
    keeper: Keeper,
}

impl Sessions {
    fn logged(&self, number: u64) -> Session {
        self.enforced.session(number)
    }

    /// A gate for a new session, and whom it stands before.
    fn ready(&self, logged: &Session, watch: &Watch) -> Result<(Gated, Upstream), String> {
        let gate = self.enforced.gate(logged, watch);
        let id = session_id().map_err(|error| format!("no randomness for a session's id: {error}"))?;
        let (lines, served) = pair();
        let (clients, upstream) = pair();
        match behind(&gate, watch, &self.enforced, &self.keeper)? {
            (Server::Url(gated, url), _) => return Ok((gated, Upstream::Url(url))),
            (Server::Child(gated, ends), _) => {
                let (child, mut server) = *ends;
                server.tasks.keep(self.keeper.keep(child));
                tokio::spawn(lobby(clients, server, id));
                return Ok((gated, Upstream::Here(upstream)));
            }
            (Server::Hub(hub), _) => drop(tokio::spawn(hub.serve(served))),
        }
        tokio::spawn(lobby(clients, lines, id));
        let gate = self.enforced.door(logged, watch)?;
        Ok((Gated { gate, server: self.enforced.label(), asks: None }, Upstream::Here(upstream)))
    }
}

impl Host for Sessions {
    fn open(&mut self, number: u64) -> Result<Opened, Unopened> {
        let (logged, watch) = (self.logged(number), Watch::default());
        if let Some(Err(error)) = self.enforced.log.as_ref().map(|log| log.start(&logged)) {
            return Err(Unopened::Broken(Broken::Unlogged(error.to_string())));
        }
        let ready = self.ready(&logged, &watch);
        if let Some(broken) = watch.broken() {
            return Err(Unopened::Broken(broken));
        }
        match ready {
            Ok((gated, upstream)) => Ok(Opened { gated, watch, upstream }),
            Err(why) => match self.enforced.log.as_ref().map(|log| log.end(&logged, &Ending::Unopened)) {
                Some(Err(error)) => Err(Unopened::Broken(Broken::Unlogged(error.to_string()))),
                _ => Err(Unopened::Refused(why)),
            },
        }
    }

    fn close(&mut self, number: u64, failed: bool) -> Result<(), Broken> {
        let how = if failed { Ending::Failed } else { Ending::Ended };
        match self.enforced.log.as_ref().map(|log| log.end(&self.logged(number), &how)) {
            Some(Err(error)) => Err(Broken::Unlogged(error.to_string())),
            _ => Ok(()),
        }
    }
}
