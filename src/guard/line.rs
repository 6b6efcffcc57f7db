//! A guard between a client and a server that both speak in lines.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{Broken, Child, Gated, Hub, Watch, child::code};
use crate::{
    protocol::{REFUSED, error_reply},
    transport::{Close, Connection, Exchange, Frame, Tasks},
};

/// What whoever waits is told when the gate breaks.
pub(super) const CLOSED: &str = "the gate failed and closed the session; nothing passes any more";

/// The same, when the server has ended.
pub(super) const UNANSWERED: &str = "the server ended before it answered";

/// How long a session takes to end.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How long a server may take to end after its standard input was closed, and
    /// again after it was told to (TERM).
    pub grace: Duration,
    /// How long replies are waited for once the client has closed.
    pub patience: Duration,
}

impl Default for Manner {
    fn default() -> Self {
        Self { grace: Duration::from_secs(2), patience: Duration::from_secs(60) }
    }
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// In order; the server's exit code, or 0 where it had to be told to end.
    Ended(u8),
    /// Whoever served it went away before the client did.
    Gone,
    /// The client's side broke; says how.
    Client(String),
    /// The gate broke, and everything was refused from there on.
    Broken(Broken),
}

/// Whoever answers a client that speaks in lines: the gate is behind it.
#[derive(Debug)]
pub enum Server {
    /// One child process.
    Child(Gated, Box<(Child, Connection)>),
    /// One over HTTP, at this URL.
    Url(Gated, String),
    /// Several.
    Hub(Hub),
}

impl Server {
    /// Begins to answer the client; what it ends with, and the process that is
    /// waited for.
    fn start(self, client: Connection) -> (JoinHandle<()>, Option<Child>) {
        match self {
            Self::Child(gated, ends) => {
                let (child, upstream) = *ends;
                (gated.before(client, upstream), Some(child))
            }
            Self::Url(gated, url) => (tokio::spawn(gated.reach(client, url)), None),
            Self::Hub(hub) => (tokio::spawn(hub.serve(client)), None),
        }
    }
}

/// Serves one session until the client closes, the server ends, `stop` resolves
/// or the gate breaks. The server's opening has been decided; `watch` is told
/// whoever waits.
pub async fn serve(
    watch: &Watch,
    client: Connection,
    server: Server,
    stop: impl Future<Output = ()>,
    manner: Manner,
) -> Outcome {
    let Connection { outgoing: to_client, incoming, close, tasks } = client;
    let (tapped, from_tap) = mpsc::channel(1);
    let (cut, cutting) = watch::channel(false);
    let closed = Arc::<AtomicBool>::default();
    let mut tapping = tokio::spawn(tap(incoming, tapped, cutting, Arc::clone(&closed)));
    let downstream =
        Connection { outgoing: to_client.clone(), incoming: from_tap, close: Arc::default(), tasks: Tasks::default() };
    let (mut serving, mut child) = server.start(downstream);
    let mut stop = pin!(stop);

    let (mut asked, mut stopped) = (false, false);
    let mut reading = manner.grace;
    tokio::select! {
        () = watch.breaks() => {}
        // It ends with its client too, and then may be seen to first.
        _ = &mut serving => asked = closed.load(Ordering::SeqCst),
        () = ended(child.as_mut()) => {}
        // Nobody reads what is said any more, whoever still holds the other end.
        () = to_client.closed() => asked = true,
        _ = &mut tapping => {
            asked = true;
            reading = manner.patience;
            tokio::select! {
                () = watch.settled() => {}
                _ = &mut serving => {}
                () = ended(child.as_mut()) => {}
                () = &mut stop => stopped = true,
                () = sleep(manner.patience) => {}
            }
        }
        () = &mut stop => {
            (asked, stopped) = (true, true);
            cut.send_replace(true);
            tokio::select! {
                () = watch.settled() => {}
                _ = &mut serving => {}
                () = ended(child.as_mut()) => {}
                () = sleep(manner.grace) => {}
            }
        }
    }
    // The server's standard input closes when the end of the tap is seen, or is gone.
    cut.send_replace(true);
    if watch.broken().is_some() {
        serving.abort();
    }
    if stopped || watch.broken().is_some() {
        reading = manner.grace;
    }
    let status = match &mut child {
        Some(child) => {
            tokio::select! {
                () = child.taken_in(reading) => {}
                () = &mut stop, if !stopped => {}
            }
            Some(child.end(manner.grace).await)
        }
        None => None,
    };
    // What it said before it ended is still on its way.
    if !serving.is_finished() && timeout(manner.grace, &mut serving).await.is_err() {
        serving.abort();
        let _ = serving.await;
    }
    let broken = watch.broken();
    let why = if broken.is_some() { CLOSED } else { UNANSWERED };
    let told = async {
        for (server, id) in watch.waiting() {
            let reply = error_reply(Some(&id), REFUSED, why, None);
            if to_client.send(Frame::line(Exchange::NONE, reply)).await.is_err() {
                break;
            }
            watch.over(&server, &id);
        }
    };
    // A client that doesn't read holds nothing up for ever.
    let _ = timeout(manner.grace, told).await;
    drop((to_client, tasks));
    match (broken, close.get(), status) {
        (Some(broken), ..) => Outcome::Broken(broken),
        (None, Some(Close::Broken(why)), _) => Outcome::Client(why.clone()),
        (None, _, Some(Ok(status))) => Outcome::Ended(code(status, asked)),
        (None, _, Some(Err(error))) => Outcome::Client(format!("the server can't be waited for: {error}")),
        (None, _, None) if asked => Outcome::Ended(0),
        (None, _, None) => Outcome::Gone,
    }
}

/// Waits for the process to end, where there is one.
async fn ended(child: Option<&mut Child>) {
    match child {
        Some(child) => drop(child.wait().await),
        None => std::future::pending().await,
    }
}

/// Hands on what the client says, until it ends or is cut off.
/// `closed` is set before whoever is spoken to can notice.
async fn tap(
    mut incoming: mpsc::Receiver<Frame>,
    on: mpsc::Sender<Frame>,
    mut cutting: watch::Receiver<bool>,
    closed: Arc<AtomicBool>,
) {
    loop {
        let frame = tokio::select! {
            frame = incoming.recv() => frame,
            _ = cutting.wait_for(|cut| *cut) => None,
        };
        let Some(frame) = frame else {
            closed.store(true, Ordering::SeqCst);
            return;
        };
        // While this waits the session is held up by the server, or over.
        let sent = tokio::select! {
            sent = on.send(frame) => sent.is_ok(),
            _ = cutting.wait_for(|cut| *cut) => false,
        };
        if !sent {
            return;
        }
    }
}

/// A gate that fails when it meets a word, watched.
#[cfg(test)]
pub(super) fn fragile(watch: &Watch) -> crate::relay::SharedGate {
    use crate::gate::{Event, Gate, Naive, Ruling};

    #[derive(Debug)]
    struct Fragile(Naive);

    impl Gate for Fragile {
        fn decide(&mut self, event: &Event<'_>) -> Ruling {
            if let Event::Passing(passing) = event {
                assert!(!passing.message.text().contains("boom"), "on purpose");
            }
            self.0.decide(event)
        }
    }

    let watch = watch.clone();
    crate::relay::SharedGate::new(move || Box::new(super::Watched::new(Box::new(Fragile(Naive)), watch.clone(), None)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        protocol::{Id, Message, ServerName},
        transport::pair,
    };

    /// Plays `lines` against a server of this script; what the client heard, and the end.
    async fn play(script: &str, lines: &[&'static str]) -> (Vec<Message>, Outcome) {
        let watch = Watch::default();
        let gate = fragile(&watch);
        let (mut host, client) = pair();
        let argv = ["sh", "-c", script].map(str::to_owned);
        let path = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let child = Child::spawn(&argv, &path).unwrap();
        for line in lines {
            host.outgoing.send(Frame::line(Exchange::NONE, *line)).await.unwrap();
        }
        let manner = Manner { grace: Duration::from_secs(5), patience: Duration::from_secs(60) };
        let gated = Gated { gate, server: ServerName::new("desk"), asks: None };
        let server = Server::Child(gated, Box::new(child));
        let outcome = serve(&watch, client, server, std::future::pending(), manner).await;
        let mut heard = Vec::new();
        while let Some(frame) = host.incoming.recv().await {
            heard.push(Message::new(frame.body));
        }
        (heard, outcome)
    }

    fn refused(heard: &[Message]) -> Vec<Option<Id>> {
        let refused = heard.iter().filter(|message| message.error().is_some());
        refused.map(|message| message.id().cloned()).collect()
    }

    #[tokio::test]
    async fn a_gate_that_fails_answers_everybody_who_waits_and_closes() {
        let folder = tempfile::TempDir::new().unwrap();
        let seen = folder.path().join("seen");
        let lines = [r#"{"id":1,"method":"wait"}"#, r#"{"id":2,"method":"boom"}"#, r#"{"id":3,"method":"late"}"#];
        let (heard, outcome) = play(&format!("cat > {}", seen.display()), &lines).await;
        assert_eq!(outcome, Outcome::Broken(Broken::Panicked));
        let ids = refused(&heard);
        assert_eq!(ids.len(), heard.len());
        assert!(ids.starts_with(&[Some(Id::from(1)), Some(Id::from(2))]), "{ids:?}");
        let seen = std::fs::read_to_string(seen).unwrap();
        assert!(!seen.contains("boom") && !seen.contains("late"), "{seen}");
    }

    #[tokio::test]
    async fn a_reply_that_the_gate_fails_at_is_not_delivered() {
        let script = r#"read -r line; echo '{"id":1,"result":"boom"}'; cat > /dev/null"#;
        let (heard, outcome) = play(script, &[r#"{"id":1,"method":"ask"}"#]).await;
        assert_eq!(outcome, Outcome::Broken(Broken::Panicked));
        assert_eq!((heard.len(), refused(&heard)), (1, vec![Some(Id::from(1))]));
    }

    #[tokio::test]
    async fn a_gate_that_does_not_fail_lets_the_server_end_by_itself() {
        let (heard, outcome) = play("read -r line; echo \"$line\"; exit 3", &[r#"{"id":1,"result":{}}"#]).await;
        assert_eq!((heard.len(), outcome), (1, Outcome::Ended(3)));
    }
}
