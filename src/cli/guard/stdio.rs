//! A guard between standard streams and a child process.

use std::{collections::BTreeMap, time::Duration};

use super::{
    super::{exit, screen, screen::Screen},
    What,
    policy::{Enforced, mistake},
};
use crate::{
    gate::{Layer, Opening, Reach},
    guard::{Broken, Child, Outcome, Watch, audit::Ending, serve, told},
    protocol::{Message, strict::Node},
    relay::SharedGate,
    transport::stdio,
};

/// How long the client may take to read what it was told last.
const FLUSH: Duration = Duration::from_secs(2);

pub(super) fn run(what: &What, screen: &Screen) -> Result<u8, u8> {
    if what.argv.is_empty() {
        return Err(mistake("which command starts the server? Say it behind --"));
    }
    let enforced = Enforced::load(what, screen)?;
    quiet();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| failed(&format!("no runtime: {error}")))?;
    let code = runtime.block_on(session(what, &enforced));
    // A read of standard input can't be called off, and nobody waits for it.
    runtime.shutdown_background();
    Ok(code)
}

/// A panic of the gate says where it was and not what: its words may quote what
/// it was looking at.
pub(super) fn quiet() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        screen::note(&format!("gateproof: a bug at {place}"));
    }));
}

async fn session(what: &What, enforced: &Enforced) -> u8 {
    let (watch, logged) = (Watch::default(), enforced.session(1));
    if let Some(Err(error)) = enforced.log.as_ref().map(|log| log.start(&logged)) {
        return broken(&Broken::Unlogged(error.to_string()));
    }
    let gate = enforced.gate(&logged, &watch);
    let end = |how: Ending, code: u8| match enforced.log.as_ref().map(|log| log.end(&logged, &how)) {
        Some(Err(error)) if how != Ending::Failed => broken(&Broken::Unlogged(error.to_string())),
        _ => code,
    };
    // Somebody may stop this program from the first moment on.
    let stop = match stopped() {
        Ok(stop) => stop,
        Err(error) => return end(Ending::Unopened, failed(&format!("signals can't be heard: {error}"))),
    };
    let opening = Opening {
        server: enforced.server.clone(),
        reach: Reach::Argv(what.argv.clone()),
        env: environment(),
        layer: Layer::User,
    };
    let opened = opened(&gate, &opening);
    if let Some(why) = watch.broken() {
        return end(Ending::Failed, broken(&why));
    }
    let env = match opened {
        Ok(env) => env,
        Err(why) => {
            return end(Ending::Unopened, failed(&format!("{} is not started: {why}", enforced.server)));
        }
    };
    let child = match Child::spawn(&what.argv, &env) {
        Ok(child) => child,
        Err(error) => {
            let program = what.argv.first().map_or("", String::as_str);
            let said = format!("{} can't be started: {program}: {error}", enforced.server);
            return end(Ending::Unopened, failed(&said));
        }
    };
    let (writer, written) = told(tokio::io::stdout());
    let client = stdio::over(tokio::io::stdin(), writer);
    let outcome = serve(gate, &watch, enforced.server.clone(), client, child, stop, what.manner()).await;
    let _ = tokio::time::timeout(FLUSH, written).await;
    match outcome {
        Outcome::Ended(code) => end(Ending::Ended, code),
        Outcome::Client(why) => end(Ending::Broken, failed(&why)),
        Outcome::Broken(why) => end(Ending::Failed, broken(&why)),
    }
}

/// This program's environment. Variables that are not Unicode can't be judged,
/// and are not handed down.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Resolves at the first signal that asks this program to end.
pub(super) fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

/// The environment to start the server with, or the gate's words.
pub(super) fn opened(gate: &SharedGate, opening: &Opening) -> Result<BTreeMap<String, String>, String> {
    gate.open(opening).map_err(|reply| {
        let why = reply.and_then(|reply| words(&Message::new(reply)));
        why.unwrap_or_else(|| "it is refused".to_owned())
    })
}

fn words(reply: &Message) -> Option<String> {
    reply.error()?.member("message").and_then(Node::as_str).map(str::to_owned)
}

pub(super) fn failed(what: &str) -> u8 {
    screen::note(&format!("error: {what}"));
    exit::FAILED
}

pub(super) fn broken(why: &Broken) -> u8 {
    screen::note(&format!("error: {why}; the session is closed"));
    exit::BUG
}
