//! Stands between the gate's upstream leg and a real server.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{Changes, LiveStage};
use crate::{
    protocol::{Direction, Id, Leg, Message, ServerName, Shape},
    transcript::{Crossing, Dress, Event, Recorder},
    transport::{Carrier, Close, Connection, Exchange, Frame, Verb, http, stdio::Child},
};

/// How a real server is started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The command, word by word.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// How long it may take until it first says something.
    pub start: Duration,
}

/// How the upstream leg travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    /// One message a line, or in memory.
    Lines,
    /// HTTP, which the harness speaks for the server; the session id that it issues.
    Web(String),
}

/// Where a driver stands.
#[derive(Clone, Debug)]
pub struct Stand {
    /// What is changed.
    pub stage: LiveStage,
    /// The server's name in the case.
    pub server: ServerName,
    /// How the upstream leg travels.
    pub manner: Manner,
    /// Where crossings are recorded.
    pub recorder: Recorder,
}

/// A request that the real server has not answered yet.
struct Open {
    id: Id,
    exchange: Exchange,
    changes: Option<Changes>,
    opens: bool,
}

/// Starts the real server and serves `connection` from it until either ends.
/// Each call starts a process of its own, in a new and empty folder.
pub async fn serve(stand: Stand, program: Program, connection: Connection, unasked: mpsc::UnboundedReceiver<Bytes>) {
    if let Err(trouble) = stand.run(&program, connection, unasked).await {
        stand.recorder.event(Event::Trouble(trouble));
    }
    let reason = "the server's end is over".to_owned();
    stand.recorder.event(Event::Closed { leg: Leg::Upstream, server: stand.server.clone(), reason });
}

impl Stand {
    async fn run(
        &self,
        program: &Program,
        connection: Connection,
        mut unasked: mpsc::UnboundedReceiver<Bytes>,
    ) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| format!("no folder for the live server: {error}"))?;
        let Child { connection: real, process } = Child::spawn(&program.argv, &program.env, Some(folder.path()))
            .map_err(|error| format!("the live server can't be started: {error}"))?;
        let Connection { outgoing: to_real, incoming: mut from_real, close, tasks: _tasks } = real;
        let Connection { outgoing, mut incoming, tasks: _served, .. } = connection;
        let mut to_real = Some(to_real);
        let mut silent_until = Some(Instant::now() + program.start);
        let mut open: Vec<Open> = Vec::new();
        loop {
            let frames = tokio::select! {
                biased;
                frame = from_real.recv() => match frame {
                    Some(frame) => {
                        silent_until = None;
                        vec![self.said(frame.body, &mut open)?]
                    }
                    None if to_real.is_none() => break,
                    None => {
                        let how = match close.get() {
                            Some(Close::Broken(how)) => how.clone(),
                            _ => format!("ended; stderr: {}", process.stderr_tail().trim()),
                        };
                        return Err(format!("the live server was not to end yet: {how}"));
                    }
                },
                frame = incoming.recv(), if to_real.is_some() => {
                    let Some(frame) = frame else {
                        // The real server may finish what it has to say.
                        to_real = None;
                        continue;
                    };
                    let (forward, answer) = self.heard(frame, &mut open);
                    if let (Some(frame), Some(to_real)) = (forward, &to_real) {
                        // That it is gone shows at its other end.
                        let _ = to_real.send(frame).await;
                    }
                    answer
                },
                said = unasked.recv() => match said {
                    Some(said) => vec![self.own_accord(said)],
                    None => break,
                },
                () = until(silent_until), if to_real.is_some() => {
                    let tail = process.stderr_tail();
                    return Err(format!("the live server said nothing for {:?}; stderr: {}", program.start, tail.trim()));
                }
            };
            for frame in frames {
                if outgoing.send(frame).await.is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes in a frame from the gate: what the real server gets, and what is
    /// answered in its place.
    fn heard(&self, frame: Frame, open: &mut Vec<Open>) -> (Option<Frame>, Vec<Frame>) {
        let exchange = frame.exchange;
        let dress = match &frame.carrier {
            Carrier::Gone => return (None, Vec::new()),
            Carrier::Request { verb: Verb::Get, .. } => return (None, vec![http::open_stream(exchange, Vec::new())]),
            Carrier::Request { verb: Verb::Delete, .. } => {
                return (None, vec![http::whole(exchange, 200, Vec::new(), Bytes::new())]);
            }
            Carrier::Request { headers, .. } => Dress { headers: headers.clone(), verb: Some("POST"), status: None },
            _ => Dress::default(),
        };
        let message = Message::new(frame.body.clone());
        self.record(Direction::Requestward, message.clone(), dress);
        let mut answer = Vec::new();
        match (message.shape(), message.id()) {
            (Shape::Request, Some(id)) => {
                let changes = self.stage.overlaid().asked(&message);
                open.push(Open { id: id.clone(), exchange, changes, opens: message.method() == Some("initialize") });
            }
            _ if self.manner != Manner::Lines => {
                self.record(
                    Direction::Replyward,
                    Message::new(Bytes::new()),
                    Dress { status: Some(202), ..Dress::default() },
                );
                answer.push(http::accepted(exchange));
            }
            _ => {}
        }
        (Some(Frame::line(Exchange::NONE, frame.body)), answer)
    }

    /// What the real server says, with the overlays on it.
    fn said(&self, body: Bytes, open: &mut Vec<Open>) -> Result<Frame, String> {
        let message = Message::new(body.clone());
        let answered = (message.shape() == Shape::Response)
            .then(|| open.iter().position(|open| Some(&open.id) == message.id()))
            .flatten()
            .map(|index| open.swap_remove(index));
        let Some(request) = answered else { return Ok(self.own_accord(body)) };
        let body = match request.changes {
            Some(changes) => self
                .stage
                .overlaid()
                .change(changes, &message)
                .map_err(|error| format!("the overlay doesn't fit the live server: {error}"))?,
            None => body,
        };
        let Manner::Web(session) = &self.manner else {
            self.record(Direction::Replyward, Message::new(body.clone()), Dress::default());
            return Ok(Frame::line(Exchange::NONE, body));
        };
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if request.opens {
            headers.push(("mcp-session-id".to_owned(), session.clone()));
        }
        let dress = Dress { status: Some(200), headers: headers.clone(), verb: None };
        self.record(Direction::Replyward, Message::new(body.clone()), dress);
        Ok(http::whole(request.exchange, 200, headers, body))
    }

    /// What answers nothing: a notification, a request of the server's, noise.
    fn own_accord(&self, body: Bytes) -> Frame {
        self.record(Direction::Replyward, Message::new(body.clone()), Dress::default());
        match self.manner {
            Manner::Lines => Frame::line(Exchange::NONE, body),
            Manner::Web(_) => http::event(Exchange::NONE, Vec::new(), body),
        }
    }

    fn record(&self, direction: Direction, message: Message, dress: Dress) {
        let server = self.server.clone();
        self.recorder.event(Event::Crossed(Crossing { leg: Leg::Upstream, direction, server, message, dress }));
    }
}

/// Sleeps until then; for ever without a time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Overlaid, *};
    use crate::transport;

    /// What a client reads from a shell script in the server's place, and the
    /// trouble that was recorded.
    async fn play(script: &str, start: Duration, requests: &[&'static str]) -> (Vec<Bytes>, Option<String>) {
        let recorder = Recorder::default();
        let stage = LiveStage::new(Overlaid::default());
        let unasked = stage.unasked.listen();
        let stand = Stand { stage, server: ServerName::new("s"), manner: Manner::Lines, recorder: recorder.clone() };
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let program = Program { argv, env: BTreeMap::new(), start };
        let (mut client, end) = transport::pair();
        let serving = tokio::spawn(serve(stand, program, end, unasked));
        let mut heard = Vec::new();
        for request in requests {
            client.outgoing.send(Frame::line(Exchange::NONE, *request)).await.unwrap();
            heard.extend(client.incoming.recv().await.map(|frame| frame.body));
        }
        if requests.is_empty() {
            heard.extend(client.incoming.recv().await.map(|frame| frame.body));
        }
        drop(client);
        serving.await.unwrap();
        let transcript = recorder.take();
        (heard, transcript.trouble().map(str::to_owned))
    }

    #[tokio::test]
    async fn what_the_server_says_comes_back_byte_for_byte() {
        let asked = r#"{"id":1,"method":"tools/call"}"#;
        let (heard, trouble) = play("cat", Duration::from_secs(60), &[asked]).await;
        assert_eq!((heard, trouble), (vec![Bytes::from(asked)], None));
    }

    #[tokio::test]
    async fn a_server_that_ends_early_is_trouble_with_what_it_complained_of() {
        let (heard, trouble) = play("echo no port >&2; exit 3", Duration::from_secs(60), &[]).await;
        assert!(heard.is_empty());
        let trouble = trouble.unwrap();
        assert!(trouble.contains("status 3") && trouble.contains("no port"), "{trouble}");
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_is_trouble() {
        let (_, trouble) = play("echo waiting >&2; sleep 1000", Duration::from_millis(200), &[]).await;
        assert!(trouble.unwrap().contains("said nothing for 200ms"));
    }
}
