//! What stands behind a session's gate: the servers, opened and started.

use std::collections::BTreeMap;

use super::{super::screen, policy::Enforced, servers::Served};
use crate::{
    gate::{Layer, Opening, Reach},
    guard::{Child, Gated, Hub, Keeper, Leg, Server, Watch},
    protocol::{Message, ServerName, strict::Node},
    relay::SharedGate,
    transport::Connection,
};

/// Opens and starts what is served. The watch is told whoever waits for an
/// answer.
///
/// # Errors
/// With plain words, where nothing can be served.
pub(super) fn behind(
    gate: &SharedGate,
    watch: &Watch,
    enforced: &Enforced,
    keeper: &Keeper,
) -> Result<(Server, Watch), String> {
    let gated = |served: &Served| Gated {
        gate: gate.clone(),
        server: served.name.clone(),
        asks: enforced.asks(gate, watch, &served.name),
    };
    if let [only] = enforced.servers.as_slice() {
        let server = match started(gate, only)? {
            Started::Child(ends) => Server::Child(gated(only), ends),
            Started::Url(url) => Server::Url(gated(only), url),
        };
        return Ok((server, watch.clone()));
    }
    let mut legs = Vec::new();
    for served in &enforced.servers {
        let leg = match started(gate, served) {
            Ok(Started::Child(ends)) => Leg::child(gated(served), *ends, keeper),
            Ok(Started::Url(url)) => Leg::url(gated(served), url),
            // The others are served all the same.
            Err(why) => {
                screen::note(&why);
                continue;
            }
        };
        legs.push(leg.renaming(served.rename.clone()));
    }
    if legs.is_empty() {
        return Err("no server could be started".to_owned());
    }
    let seen = Watch::default();
    let (inner, outer) = (watch.clone(), seen.clone());
    tokio::spawn(async move {
        inner.breaks().await;
        if let Some(why) = inner.broken() {
            outer.break_off(why);
        }
    });
    Ok((Server::Hub(Hub::new(legs, seen.clone(), screen::note)), seen))
}

enum Started {
    Child(Box<(Child, Connection)>),
    Url(String),
}

fn started(gate: &SharedGate, served: &Served) -> Result<Started, String> {
    let Served { name, reach, env, .. } = served;
    let mut given = BTreeMap::new();
    if let Reach::Argv(_) = reach {
        given = environment();
        given.extend(env.clone());
    }
    let env = started_with(gate, name, reach, given)?;
    match reach {
        Reach::Argv(argv) => {
            let program = argv.first().map_or("", String::as_str);
            let child = Child::spawn(argv, &env);
            child
                .map(|ends| Started::Child(Box::new(ends)))
                .map_err(|error| format!("{name} can't be started: {program}: {error}"))
        }
        Reach::Url(url) => Ok(Started::Url(url.clone())),
        Reach::Memory => Err(format!("{name} can't be reached")),
    }
}

/// The environment to start a server with, of what is there; or the gate's words.
pub(super) fn started_with(
    gate: &SharedGate,
    name: &ServerName,
    reach: &Reach,
    env: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let opening = Opening { server: name.clone(), reach: reach.clone(), env, layer: Layer::User };
    gate.open(&opening).map_err(|reply| {
        let why = reply.and_then(|reply| words(&Message::new(reply)));
        format!("{name} is not started: {}", why.unwrap_or_else(|| "it is refused".to_owned()))
    })
}

/// This program's environment. Variables that are not Unicode can't be judged,
/// and are not handed down.
pub(super) fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

fn words(reply: &Message) -> Option<String> {
    reply.error()?.member("message").and_then(Node::as_str).map(str::to_owned)
}
