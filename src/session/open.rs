//! Opens sessions, in either era and in whichever way the case says.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::{
    Session, World,
    peer::{Awaited, Peer, Stateless},
    wire,
};
use crate::{
    case::{self, Open, Opening, OwnHeaders, Until},
    protocol::{
        Era, HEADER_MISMATCH, MISSING_CAPABILITY, Message, Mirrors, Revision, ServerName, UNSUPPORTED_VERSION,
        strict::Node,
    },
    transcript::{Answer, Mark, Recorder},
    transport::{Exchange, Headers, Verb},
};

impl<W: World> Session<'_, W> {
    pub(super) async fn open(&mut self, server: &ServerName, label: String, open: &Open) -> Result<(), String> {
        let opening = match &open.opening {
            Some(name) => Opening::named(name).ok_or_else(|| format!("no opening is called '{name}'"))?,
            None => match self.revision.era() {
                Era::Handshake => Opening::Initialize,
                Era::Stateless => Opening::Discover,
            },
        };
        if !self.peers.contains_key(server) {
            let peer = self.connect(server, open).await?;
            self.peers.insert(server.clone(), peer);
        }
        let falls_back = opening == Opening::DiscoverThenFallback;
        let opened = match opening {
            Opening::Initialize => self.initialize(server, label, open).await?,
            Opening::Discover | Opening::DiscoverThenFallback => {
                let answer = self.discover(server, label.clone(), open).await?;
                if falls_back && is_of_the_handshake_era(answer.as_ref()) {
                    self.initialize(server, label, open).await?
                } else {
                    true
                }
            }
        };
        let steps = &self.case.body.steps;
        let streams = opened && steps.iter().any(case::speaks_unasked);
        let is_stateless = self.peers.get(server).is_some_and(|peer| peer.stateless.is_some());
        match (streams, is_stateless) {
            (true, true) if !steps.iter().any(case::listens) => self.listen(server, open).await,
            (true, false) => {
                // A server that speaks of its own accord waits until its client is ready.
                let recorder = self.recorder.clone();
                self.until(|| ready(&recorder, server)).await;
                self.next += 1;
                if let Some(peer) = self.peers.get_mut(server) {
                    peer.open_stream(Exchange(self.next)).await;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn connect(&mut self, server: &ServerName, open: &Open) -> Result<Peer, String> {
        let used = self.case.servers().find(|(name, _)| name == server);
        let launch = open.launch.as_ref().or(used.and_then(|(_, used)| used.launch.as_ref()));
        let connection = self.world.connect(server, launch).await?;
        let http = self.world.http();
        let headers: Headers = if http {
            self.case.body.host.headers.iter().map(|(k, v)| (k.to_lowercase(), v.clone())).collect()
        } else {
            Vec::new()
        };
        Ok(Peer {
            server: server.clone(),
            connection,
            http,
            headers,
            answers: self.answers(),
            open_exchanges: BTreeSet::new(),
            taken: 0,
            stateless: None,
            mirrors: Mirrors::default(),
            subscription: None,
        })
    }

    /// A session that is to be opened has neither an id nor a version yet.
    fn anew(&mut self, server: &ServerName, stateless: Option<Stateless>) {
        if let Some(peer) = self.peers.get_mut(server) {
            let is_old =
                |name: &str| name == "mcp-session-id" || (stateless.is_some() && name == "mcp-protocol-version");
            peer.headers.retain(|(name, _)| !is_old(name));
            peer.stateless = stateless;
            peer.subscription = None;
        }
    }

    /// Asks what the server speaks; what is asked from then on is of the stateless era.
    async fn discover(&mut self, server: &ServerName, label: String, open: &Open) -> Result<Option<Mark>, String> {
        let asked = open.version.clone().unwrap_or_else(|| Revision::V2026_07_28.to_string());
        let capabilities = open.capabilities.clone().unwrap_or_else(|| "{}".to_owned());
        self.anew(server, Some(Stateless { version: asked, capabilities }));
        let id = self.fresh_id();
        let text = wire::request(&id, "server/discover", None);
        let how = ((Verb::Post, false), &open.headers, &[][..]);
        let sent = self.send(server, label, Some(id), Until::Reply, text.into(), how).await?;
        let marks = self.settle(server, vec![sent]).await?;
        if let Some(stateless) = self.peers.get_mut(server).and_then(|peer| peer.stateless.as_mut()) {
            // Whatever was asked for, what follows is in what both speak.
            Revision::V2026_07_28.as_str().clone_into(&mut stateless.version);
        }
        Ok(marks.into_iter().next())
    }

    /// The handshake; says whether it opened a session.
    async fn initialize(&mut self, server: &ServerName, label: String, open: &Open) -> Result<bool, String> {
        self.anew(server, None);
        let revision = match self.revision.era() {
            Era::Handshake => self.revision,
            Era::Stateless => Revision::LAST_HANDSHAKE,
        };
        let id = self.fresh_id();
        let text = wire::request(&id, "initialize", Some(&wire::opening(open, revision)));
        let how = ((Verb::Post, false), &open.headers, &[][..]);
        let sent = self.send(server, label, Some(id), Until::Reply, text.into(), how).await?;
        let marks = self.settle(server, vec![sent]).await?;
        let Some(Answer::Reply(reply)) = marks.into_iter().next().map(|mark| mark.answer) else { return Ok(false) };
        let reply = Message::new(reply);
        let Some(result) = reply.result() else { return Ok(false) };
        let version = result.member("protocolVersion").and_then(Node::as_str).map(str::to_owned);
        if let (Some(version), Some(peer)) = (version, self.peers.get_mut(server))
            && peer.http
            && revision.has_version_header()
        {
            peer.headers.retain(|(name, _)| name != "mcp-protocol-version");
            peer.headers.push(("mcp-protocol-version".to_owned(), version));
        }
        self.next += 1;
        let exchange = Exchange(self.next);
        if let Some(peer) = self.peers.get_mut(server) {
            let text = wire::notification("notifications/initialized", None);
            let sent = peer.send(&self.recorder, exchange, text.into(), (Verb::Post, false), &open.headers).await;
            if peer.http {
                let mut awaited = [Awaited { id: None, exchange, until: Until::Reply, answer: None, sent, took: None }];
                let deadline = Instant::now() + self.deadlines.step;
                self.receive(server, &mut awaited, deadline).await?;
            }
        }
        Ok(true)
    }

    /// Opens the stream on which a server of the stateless era speaks unasked, and
    /// waits until it says that it will.
    async fn listen(&mut self, server: &ServerName, open: &Open) -> Result<(), String> {
        const EVERYTHING: &str =
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}"#;
        let id = self.fresh_id();
        self.next += 1;
        let exchange = Exchange(self.next);
        let text = wire::request(&id, "subscriptions/listen", Some(EVERYTHING));
        let Some(peer) = self.peers.get_mut(server) else { return Ok(()) };
        let Some(stateless) = &peer.stateless else { return Ok(()) };
        let body = stateless.woven(text.into());
        peer.subscription = Some(id.clone());
        let none = OwnHeaders::new();
        let own = if open.headers.is_empty() { &none } else { &open.headers };
        let sent = peer.send(&self.recorder, exchange, body, (Verb::Post, false), own).await;
        let mut awaited = [Awaited { id: Some(id), exchange, until: Until::Any, answer: None, sent, took: None }];
        let deadline = Instant::now() + self.deadlines.settle;
        self.receive(server, &mut awaited, deadline).await
    }
}

/// Whether what came back for `server/discover` is no word of the stateless era: a
/// client of both eras falls back on the handshake.
fn is_of_the_handshake_era(mark: Option<&Mark>) -> bool {
    const MODERN: [i64; 3] = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
    let Some(Answer::Reply(reply)) = mark.map(|mark| &mark.answer) else { return true };
    let reply = Message::new(reply.clone());
    let code = reply.error().and_then(|error| error.member("code")).and_then(Node::as_number);
    let is_modern = code.and_then(|code| code.parse().ok()).is_some_and(|code: i64| MODERN.contains(&code));
    reply.result().is_none() && !is_modern
}

/// Whether the server has heard that its client is ready.
fn ready(recorder: &Recorder, server: &ServerName) -> bool {
    recorder.with(|transcript| {
        let mut got = transcript.at_server().filter(|crossing| crossing.server == *server);
        got.any(|crossing| crossing.message.method() == Some("notifications/initialized"))
    })
}
