//! Plays the steps of a case, one after another.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    peer::{Awaited, Peer},
    send::Sent,
    wire,
};
use crate::{
    case::{self, Case, Emit, Launch, List, Mutation, OwnHeaders, Step, Until},
    protocol::{Direction, Id, Leg, Message, Revision, ServerName, Shape, meta, strict::Node},
    transcript::{Answer, Event, Mark, Recorder},
    transport::{Close, Connection, Exchange, Verb},
};

/// How long things may take. Whatever is awaited ends the waiting; these only
/// bound it.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// For the answer to one request.
    pub step: Duration,
    /// For what nothing on the wire announces: that a message which a gate may
    /// rightly swallow has not come, that nothing more follows.
    pub settle: Duration,
    /// What the answer to an opening may take besides: whatever stands in the
    /// middle may have to start first.
    pub start: Duration,
    /// Before the session is closed, where a request had to be denied: a gate that
    /// sends it on all the same may do so late.
    pub linger: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(5),
            settle: Duration::from_millis(300),
            start: Duration::ZERO,
            linger: Duration::ZERO,
        }
    }
}

/// What surrounds the client: the way to a server, and the host's and the
/// servers' own acts.
pub trait World {
    /// Connects the client towards a server, through the gate if there is one.
    /// `launch` says how the host launches the server, where that is not the
    /// harness's own way.
    fn connect(
        &mut self,
        server: &ServerName,
        launch: Option<&Launch>,
    ) -> impl Future<Output = Result<Connection, String>> + Send;

    /// Whether connections are HTTP.
    fn http(&self) -> bool;

    /// The host approves what the server lists now.
    fn approve(&mut self, server: &ServerName) -> impl Future<Output = Result<(), String>> + Send;

    /// The gate, if there is one, restarts with what it stored.
    fn restart(&mut self);

    /// The user consents to one call of `tool`, with these arguments (JSON text).
    fn consent(&mut self, server: &ServerName, tool: &str, arguments: &str);

    /// The server changes.
    ///
    /// # Errors
    /// Where the change doesn't apply.
    fn mutate(&mut self, server: &ServerName, mutation: &Mutation) -> Result<(), String>;

    /// The server says something unasked.
    fn emit(&mut self, server: &ServerName, text: &Bytes);
}

/// The client in the middle of a case.
#[derive(Debug)]
pub struct Session<'a, W> {
    pub(super) case: &'a Case,
    pub(super) revision: Revision,
    pub(super) recorder: Recorder,
    pub(super) deadlines: Deadlines,
    pub(super) world: W,
    pub(super) peers: BTreeMap<ServerName, Peer>,
    labels: Vec<(String, &'a Step)>,
    pub(super) next: u64,
    /// Something was written behind a message: whoever reads on may take it for another
    /// one, whose answer nobody waits for.
    pub(super) unanswered: bool,
}

impl<'a, W: World> Session<'a, W> {
    /// A client before its first step.
    pub fn new(case: &'a Case, revision: Revision, recorder: Recorder, deadlines: Deadlines, world: W) -> Self {
        let labels = case::labels(&case.body.steps);
        Self { case, revision, recorder, deadlines, world, peers: BTreeMap::new(), labels, next: 0, unanswered: false }
    }

    /// Plays every step, then closes and takes in what still comes.
    ///
    /// # Errors
    /// Where the script can't be played: the trial is blocked.
    pub async fn play(mut self) -> Result<W, String> {
        let case = self.case;
        for step in &case.body.steps {
            self.step(step, None).await?;
        }
        // Who sends on what it denied may take its time over it.
        if case.body.expect.refusal.as_ref().is_some_and(|refusal| refusal.stage == case::Stage::Request) {
            tokio::time::sleep(self.deadlines.linger).await;
        }
        if self.unanswered {
            tokio::time::sleep(self.deadlines.settle).await;
        }
        for (_, peer) in std::mem::take(&mut self.peers) {
            self.close(peer).await;
        }
        Ok(self.world)
    }

    /// Plays a step as authored, or as its `n`th repetition has it.
    async fn step(&mut self, authored: &'a Step, n: Option<usize>) -> Result<(), String> {
        let server = authored.server().cloned().unwrap_or_else(|| self.case.first_server());
        let filled = n.map(|n| authored.nth(n));
        match filled.as_ref().unwrap_or(authored) {
            Step::Open(open) => self.open(&server, self.label(authored), open).await?,
            Step::List(list) => self.list(&server, &self.label(authored), list).await?,
            Step::Approve(_) => {
                self.world.approve(&server).await?;
                self.recorder.event(Event::Acted(format!("the host approves what {server} lists")));
            }
            Step::Consent(consent) => {
                let arguments = consent.arguments.as_deref().unwrap_or("{}");
                self.world.consent(&server, &consent.tool, arguments);
                let what = format!("the user consents to one call of {} on {server}", consent.tool);
                self.recorder.event(Event::Acted(what));
            }
            Step::Mutate(mutation) => self.mutate(&server, mutation).await?,
            Step::Emit(Emit { text, times, pad_to, .. }) => {
                let drawn_out = |text: String| {
                    let blanks = pad_to.unwrap_or(0).saturating_sub(text.len());
                    text + &" ".repeat(blanks)
                };
                let texts = (1..=times.unwrap_or(1)).map(|n| drawn_out(text.replace("{{n}}", &n.to_string())).into());
                self.emit(&server, texts.collect()).await;
            }
            Step::Reconnect(_) => {
                if let Some(peer) = self.peers.remove(&server) {
                    self.close(peer).await;
                }
                self.recorder.event(Event::Acted(format!("the client reconnects to {server}")));
            }
            Step::Restart(_) => {
                for (_, peer) in std::mem::take(&mut self.peers) {
                    self.close(peer).await;
                }
                self.world.restart();
                self.recorder.event(Event::Acted("the gate restarts".to_owned()));
            }
            Step::Together(_) => self.together(authored.inner(), n).await?,
            Step::Repeat(repeat) => {
                for n in 1..=repeat.times {
                    for step in authored.inner() {
                        Box::pin(self.step(step, Some(n))).await?;
                    }
                }
            }
            Step::Call(_) | Step::Request(_) | Step::Notify(_) | Step::Send(_) | Step::Obey(_) => {
                let sent = self.send_step(&server, authored, n).await?;
                if !sent.is_empty() {
                    let marks = self.settle(&server, sent).await?;
                    self.rounds(&server, marks).await?;
                }
            }
        }
        Ok(())
    }

    /// What a step is called, whichever repetition of it this is.
    pub(super) fn label(&self, authored: &Step) -> String {
        let found = self.labels.iter().find(|(_, step)| std::ptr::eq(*step, authored));
        found.map(|(label, _)| label.clone()).unwrap_or_default()
    }

    /// Waits until everything that was sent is answered, and records the marks.
    pub(super) async fn settle(&mut self, server: &ServerName, sent: Vec<Sent>) -> Result<Vec<Mark>, String> {
        let (mut marks, mut awaited): (Vec<Mark>, Vec<Awaited>) =
            sent.into_iter().map(|sent| (sent.mark, sent.awaited)).unzip();
        let opens = marks.iter().any(|mark| mark.method.as_deref().is_some_and(meta::is_opening));
        let start = if opens { self.deadlines.start } else { Duration::ZERO };
        let deadline = Instant::now() + self.deadlines.step + start;
        self.receive(server, &mut awaited, deadline).await?;
        for (mark, awaited) in marks.iter_mut().zip(awaited) {
            mark.took = awaited.took;
            mark.answer = match awaited.answer {
                // That a message without an id was accepted is no answer to it.
                Some(Answer::Http { status: 200..300, .. }) if mark.id.is_none() && !mark.sent.is_empty() => {
                    mark.took = None;
                    Answer::NotAwaited
                }
                Some(answer) => answer,
                None => Answer::Silence,
            };
            self.recorder.mark(mark.clone());
        }
        Ok(marks)
    }

    /// Takes in frames until nothing is awaited any more.
    pub(super) async fn receive(
        &mut self,
        server: &ServerName,
        awaited: &mut [Awaited],
        deadline: Instant,
    ) -> Result<(), String> {
        while awaited.iter().any(|waits| waits.answer.is_none()) {
            let peer = self.peers.get_mut(server).ok_or_else(|| format!("{server} was not opened"))?;
            // Where something always comes, waiting for it never times out.
            if Instant::now() > deadline {
                return Ok(());
            }
            let Ok(frame) = tokio::time::timeout_at(deadline, peer.connection.incoming.recv()).await else {
                return Ok(());
            };
            let Some(frame) = frame else {
                let reason = reason(&peer.connection);
                for waits in awaited.iter_mut().filter(|waits| waits.answer.is_none()) {
                    waits.answer = Some(Answer::Closed(reason.clone()));
                }
                self.recorder.event(Event::Closed { leg: Leg::Downstream, server: server.clone(), reason });
                return Ok(());
            };
            let reply = peer.take(&self.recorder, &frame, awaited);
            if peer.is_flooded() {
                continue;
            }
            if let Some(reply) = reply {
                self.next += 1;
                peer.send(&self.recorder, Exchange(self.next), reply, (Verb::Post, false), &OwnHeaders::new()).await;
            }
        }
        Ok(())
    }

    async fn list(&mut self, server: &ServerName, label: &str, list: &List) -> Result<(), String> {
        /// A careless client follows any cursor; the harness must still end.
        const PAGES: usize = 200;
        let method = wire::listing(list.what.as_deref())?;
        let mut cursor = None;
        for _ in 0..PAGES {
            let id = self.fresh_id();
            let params = cursor.take().map(|cursor: String| format!(r#"{{"cursor":{cursor}}}"#));
            let text = wire::request(&id, method, params.as_deref());
            let sent = self
                .send(
                    server,
                    label.to_owned(),
                    Some(id),
                    Until::Reply,
                    text.into(),
                    ((Verb::Post, false), &list.headers, &[]),
                )
                .await?;
            let marks = self.settle(server, vec![sent]).await?;
            if let Some(Answer::Reply(reply)) = marks.first().map(|mark| &mark.answer) {
                let reply = Message::new(reply.clone());
                if let Some(peer) = self.peers.get_mut(server).filter(|peer| peer.http && peer.stateless.is_some()) {
                    peer.mirrors.learn(&reply);
                }
                let next = reply.result().and_then(|result| result.member("nextCursor"));
                cursor = next.and_then(Node::as_str).map(|text| serde_json::Value::from(text).to_string());
            }
            if cursor.is_none() {
                break;
            }
        }
        Ok(())
    }

    async fn mutate(&mut self, server: &ServerName, mutation: &Mutation) -> Result<(), String> {
        self.world.mutate(server, mutation)?;
        self.recorder.event(Event::Acted(format!("{server} changes what it lists")));
        if mutation.announce {
            let text = wire::notification("notifications/tools/list_changed", None);
            self.emit(server, vec![text.into()]).await;
        }
        Ok(())
    }

    /// The server speaks unasked; waits until the client has it, or long enough
    /// to say that it won't.
    async fn emit(&mut self, server: &ServerName, texts: Vec<Bytes>) {
        // What comes later comes later on the server's side, too.
        let before = self.recorder.clone();
        self.until(|| caught_up(&before, server)).await;
        let texts: Vec<Bytes> = texts.into_iter().map(|text| self.subscribed(server, text)).collect();
        for text in &texts {
            self.world.emit(server, text);
        }
        let Some(text) = texts.into_iter().last() else { return };
        let message = Message::new(text.clone());
        let asks = message.id().filter(|_| message.shape() == Shape::Request);
        let recorder = self.recorder.clone();
        let mut deadline = Instant::now() + self.deadlines.settle;
        while let Some(peer) = self.peers.get_mut(server) {
            let news = recorder.news();
            // A request that something in the way answered never comes here.
            if asks.is_some_and(|id| answered(&recorder, server, id)) {
                return;
            }
            let frame = tokio::select! {
                biased;
                frame = peer.connection.incoming.recv() => frame,
                () = news => continue,
                () = tokio::time::sleep_until(deadline) => None,
            };
            let Some(frame) = frame else { return };
            // Where much is said, each message may take its time.
            deadline = Instant::now() + self.deadlines.settle;
            let arrived = frame.body == text;
            let reply = peer.take(&self.recorder, &frame, &mut []);
            if peer.is_flooded() {
                return;
            }
            let answers = reply.as_ref().and_then(|reply| Message::new(reply.clone()).id().cloned());
            if let Some(reply) = reply {
                self.next += 1;
                peer.send(&self.recorder, Exchange(self.next), reply, (Verb::Post, false), &OwnHeaders::new()).await;
            }
            if arrived {
                // What the server says next, it says as one that was answered.
                if let Some(id) = answers {
                    self.until(|| answered(&recorder, server, &id)).await;
                }
                return;
            }
        }
    }

    /// A notification as a server of the stateless era says it: for the
    /// subscription that the client opened.
    fn subscribed(&self, server: &ServerName, text: Bytes) -> Bytes {
        let peer = self.peers.get(server).filter(|peer| peer.stateless.is_some());
        let message = Message::new(text.clone());
        let says = message.shape() != Shape::Notification || message.in_meta(meta::SUBSCRIPTION).next().is_some();
        match peer.and_then(|peer| peer.subscription.as_ref()).filter(|_| !says) {
            Some(id) => message.with_meta(&format!(r#""{}":{id}"#, meta::SUBSCRIPTION)),
            None => text,
        }
    }

    /// Waits until `is_so`, or long enough to say that it won't be.
    pub(super) async fn until(&self, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + self.deadlines.settle;
        loop {
            let news = self.recorder.news();
            if is_so() || tokio::time::timeout_at(deadline, news).await.is_err() {
                return;
            }
        }
    }

    /// The client's answers, each on one line: JSON holds line breaks only between
    /// its tokens.
    pub(super) fn answers(&self) -> BTreeMap<String, String> {
        let answers = self.case.body.host.answers.iter();
        answers.map(|(method, text)| (method.clone(), text.replace(['\n', '\r'], " "))).collect()
    }

    /// Closes in order and takes in what still comes.
    async fn close(&mut self, peer: Peer) {
        let mut peer = peer;
        if !peer.http {
            // Nothing more will be sent: the other end may finish and close.
            peer.connection.outgoing = tokio::sync::mpsc::channel(1).0;
        }
        let deadline = Instant::now() + self.deadlines.settle;
        loop {
            // On HTTP nothing says that a client is done; it is when no request
            // of its own is open.
            if peer.http && peer.open_exchanges.is_empty() {
                while let Ok(frame) = peer.connection.incoming.try_recv() {
                    peer.take(&self.recorder, &frame, &mut []);
                }
                return;
            }
            match tokio::time::timeout_at(deadline, peer.connection.incoming.recv()).await {
                Ok(Some(frame)) => {
                    peer.take(&self.recorder, &frame, &mut []);
                }
                Ok(None) | Err(_) => return,
            }
        }
    }

    pub(super) fn client_saw(&self, text: &str) -> bool {
        self.recorder.with(|transcript| {
            transcript.at_client().any(|crossing| crate::transcript::holds_text(&crossing.message, text))
        })
    }

    pub(super) fn fresh_id(&mut self) -> Id {
        self.next += 1;
        Id::Number(self.next.to_string())
    }
}

/// Whether the server has got what the client sent it last.
fn caught_up(recorder: &Recorder, server: &ServerName) -> bool {
    recorder.with(|transcript| {
        let sent = transcript.crossings(Leg::Downstream, Direction::Requestward);
        // A piece of a message that a script writes is none that arrives so.
        let whole = sent.filter(|crossing| crossing.server == *server && crossing.message.shape() != Shape::Broken);
        let Some(last) = whole.last() else { return true };
        let same = |message: &Message| message.method() == last.message.method() && message.id() == last.message.id();
        transcript.at_server().any(|crossing| crossing.server == *server && same(&crossing.message))
    })
}

/// Whether the server has got an answer to its request.
fn answered(recorder: &Recorder, server: &ServerName, id: &Id) -> bool {
    recorder.with(|transcript| {
        transcript.at_server().any(|crossing| {
            crossing.server == *server
                && crossing.message.shape() == Shape::Response
                && crossing.message.id() == Some(id)
        })
    })
}

fn reason(connection: &Connection) -> String {
    match connection.close_reason() {
        Close::Ended => "closed".to_owned(),
        Close::Broken(reason) => reason,
    }
}
