//! A guard that speaks on standard streams.

use std::time::Duration;

use super::{
    super::{exit, screen, screen::Screen},
    What,
    behind::behind,
    policy::Enforced,
    standard::{input, output},
};
use crate::{
    guard::{Broken, Keeper, Outcome, Watch, audit::Ending, serve, told},
    transport::stdio,
};

/// How long the client may take to read what it was told last.
const FLUSH: Duration = Duration::from_secs(2);

pub(super) fn run(what: &What, screen: &Screen) -> Result<u8, u8> {
    let enforced = Enforced::load(what, screen)?;
    quiet();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
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
    let (keeper, kept) = Keeper::new(what.manner().grace);
    let (server, seen) = match behind(&gate, &watch, enforced, &keeper) {
        _ if watch.broken().is_some() => {
            return end(Ending::Failed, broken(&watch.broken().unwrap_or(Broken::Panicked)));
        }
        Ok(ready) => ready,
        Err(why) => return end(Ending::Unopened, failed(&why)),
    };
    drop(keeper);
    let (writer, written) = told(output());
    let client = stdio::over(input(), writer);
    let outcome = serve(&seen, client, server, stop, what.manner()).await;
    kept.all().await;
    let _ = tokio::time::timeout(FLUSH, written).await;
    match outcome {
        Outcome::Ended(code) => end(Ending::Ended, code),
        Outcome::Gone => end(Ending::Broken, failed("whoever served it has ended")),
        Outcome::Client(why) => end(Ending::Broken, failed(&why)),
        Outcome::Broken(why) => end(Ending::Failed, broken(&why)),
    }
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

pub(super) fn failed(what: &str) -> u8 {
    screen::note(&format!("error: {what}"));
    exit::FAILED
}

pub(super) fn broken(why: &Broken) -> u8 {
    screen::note(&format!("error: {why}; the session is closed"));
    exit::BUG
}
