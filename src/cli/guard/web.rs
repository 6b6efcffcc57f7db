//! A guard that listens on HTTP.

use std::net::SocketAddr;

use url::Url;

use super::{
    super::{exit, screen, screen::Screen},
    What,
    policy::{Enforced, mistake},
    stdio::{broken, failed, opened, quiet, stopped},
};
use crate::{
    gate::{Layer, Opening, Reach},
    guard::{
        Broken, Host, Opened, Watch, Web,
        audit::{Ending, Session},
    },
    transport::http::Listener,
};

/// How many sessions there may be at once.
const SESSIONS: usize = 64;

pub(super) fn run(what: &What, listen: SocketAddr, upstream: &str, screen: &Screen) -> Result<u8, u8> {
    if !listen.ip().is_loopback() && !what.allow_exposed {
        return Err(mistake(&format!(
            "{listen} can be reached from outside this machine, and nothing here speaks TLS; listen on 127.0.0.1, or \
             say --allow-exposed and name the gate's host under 'listen.hosts' in the policy"
        )));
    }
    match Url::parse(upstream) {
        Ok(url) if url.scheme() == "http" && url.has_host() => {}
        Ok(url) if url.scheme() == "https" => {
            return Err(mistake("nothing here speaks TLS; reach an https server through a proxy on this machine"));
        }
        _ => return Err(mistake(&format!("--upstream {upstream:?} is no address; write it as http://host:port/mcp"))),
    }
    let enforced = Enforced::load(what, screen)?;
    quiet();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| failed(&format!("no runtime: {error}")))?;
    Ok(runtime.block_on(serve(what, listen, upstream, enforced)))
}

async fn serve(what: &What, listen: SocketAddr, upstream: &str, enforced: Enforced) -> u8 {
    let stop = match stopped() {
        Ok(stop) => stop,
        Err(error) => return failed(&format!("signals can't be heard: {error}")),
    };
    let Listener { url, connection } = match Listener::bind_to(listen).await {
        Ok(listener) => listener,
        Err(error) => return failed(&format!("{listen}: {error}")),
    };
    screen::note(&format!("listening on {url}"));
    let web = Web {
        server: enforced.server.clone(),
        upstream: upstream.to_owned(),
        principals: enforced.principals(),
        most: SESSIONS,
        grace: what.manner().grace,
    };
    let host = Sessions { enforced, upstream: upstream.to_owned() };
    match web.serve(connection, host, stop).await {
        Ok(()) => exit::FINE,
        Err(why) => broken(&why),
    }
}

struct Sessions {
    enforced: Enforced,
    upstream: String,
}

impl Sessions {
    fn logged(&self, number: u64) -> Session {
        self.enforced.session(number)
    }
}

impl Host for Sessions {
    fn open(&mut self, number: u64) -> Result<Opened, String> {
        let (logged, watch) = (self.logged(number), Watch::default());
        if let Some(Err(error)) = self.enforced.log.as_ref().map(|log| log.start(&logged)) {
            watch.break_off(Broken::Unlogged(error.to_string()));
        }
        let gate = self.enforced.gate(&logged, &watch);
        let opening = Opening {
            server: self.enforced.server.clone(),
            reach: Reach::Url(self.upstream.clone()),
            env: std::collections::BTreeMap::new(),
            layer: Layer::User,
        };
        match opened(&gate, &opening) {
            Ok(_) => Ok(Opened { gate, watch }),
            Err(_) if watch.broken().is_some() => Ok(Opened { gate, watch }),
            Err(why) => {
                if let Some(Err(error)) = self.enforced.log.as_ref().map(|log| log.end(&logged, &Ending::Unopened)) {
                    watch.break_off(Broken::Unlogged(error.to_string()));
                    return Ok(Opened { gate, watch });
                }
                Err(why)
            }
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
