//! Connects a client to its servers, directly or through a gate, on any transport.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bytes::Bytes;

use crate::{
    case::Mutation,
    endpoint::{
        Scripted, Stage, lines,
        web::{Face, Urls, WholeBody},
    },
    gate::{Opening, Reach},
    plan::Prepared,
    protocol::ServerName,
    relay::{Exchanges, SharedGate, pump},
    session::World,
    transcript::Recorder,
    transport::{self, Connection, Tasks},
};

/// The world of one trial.
#[derive(Debug)]
pub(super) struct Wiring {
    kind: transport::Kind,
    gate: Option<SharedGate>,
    recorder: Recorder,
    stages: BTreeMap<ServerName, Stage>,
    program: Option<PathBuf>,
    whole: BTreeMap<ServerName, WholeBody>,
    urls: BTreeMap<ServerName, String>,
    tasks: Tasks,
}

impl Wiring {
    /// Puts every server of the case on stage.
    pub(super) async fn new(
        prepared: &Prepared,
        kind: transport::Kind,
        gate: Option<SharedGate>,
        program: Option<PathBuf>,
        recorder: Recorder,
        _streams: bool,
    ) -> Result<Self, String> {
        let stages = prepared
            .servers
            .iter()
            .map(|(name, start)| (name.clone(), Stage::new(Scripted::new(Arc::clone(start)))))
            .collect();
        let mut wiring = Self {
            kind,
            gate,
            recorder,
            stages,
            program,
            whole: BTreeMap::new(),
            urls: BTreeMap::new(),
            tasks: Tasks::default(),
        };
        if kind == transport::Kind::Http {
            wiring.start_web().await;
        }
        Ok(wiring)
    }

    async fn start_web(&mut self) {
        let urls = Urls::default();
        for (server, stage) in &self.stages {
            let face = Face {
                stage: stage.clone(),
                server: server.clone(),
                urls: Arc::clone(&urls),
                session: format!("session-{server}"),
                recorder: self.recorder.clone(),
            };
            let whole = WholeBody::start(face).await;
            self.urls.insert(server.clone(), whole.url());
            self.whole.insert(server.clone(), whole);
        }
        let _ = urls.set(self.urls.clone());
    }

    /// The state of every server now.
    pub(super) fn states(&self) -> BTreeMap<ServerName, serde_json::Value> {
        self.stages.iter().map(|(name, stage)| (name.clone(), stage.server().state().clone())).collect()
    }

    /// Compares the harness's count of what arrived with wiremock's.
    pub(super) async fn check(&self) -> Result<(), String> {
        for (server, whole) in &self.whole {
            let ours = self
                .recorder
                .with(|transcript| transcript.at_server().filter(|crossing| crossing.server == *server).count());
            let theirs = whole.received().await;
            if ours != theirs {
                return Err(format!("{server} received {theirs} requests, but {ours} were recorded"));
            }
        }
        Ok(())
    }

    fn stage(&self, server: &ServerName) -> Result<Stage, String> {
        self.stages.get(server).cloned().ok_or_else(|| format!("there is no server '{server}'"))
    }

    fn serve(&mut self, server: &ServerName, stage: Stage, env: &BTreeMap<String, String>, connection: Connection) {
        let principal = stage.server().prototype().principal_of_env(env).to_owned();
        let unasked = stage.listen();
        let task = lines::serve(stage, server.clone(), principal, connection, unasked, self.recorder.clone());
        self.tasks.keep(tokio::spawn(task));
    }

    async fn connect_memory(&mut self, server: &ServerName) -> Result<Connection, String> {
        let stage = self.stage(server)?;
        let Some(gate) = self.gate.clone() else {
            let (client, end) = transport::pair();
            self.serve(server, stage, &BTreeMap::new(), end);
            return Ok(client);
        };
        let opening = Opening { server: server.clone(), reach: Reach::Memory, env: BTreeMap::new() };
        let (client, downstream) = transport::pair();
        // A gate that won't open the server closes the client's connection.
        let Ok(env) = gate.open(&opening) else { return Ok(client) };
        let (upstream, end) = transport::pair();
        self.serve(server, stage, &env, end);
        let exchanges = Exchanges::new(gate.clone(), server.clone());
        self.tasks.keep(tokio::spawn(pump(gate, server.clone(), exchanges, downstream, upstream)));
        Ok(client)
    }
}

impl World for Wiring {
    async fn connect(&mut self, server: &ServerName) -> Result<Connection, String> {
        match self.kind {
            transport::Kind::Memory => self.connect_memory(server).await,
            transport::Kind::Stdio | transport::Kind::Http => Err("not yet".to_owned()),
        }
    }

    fn http(&self) -> bool {
        self.kind == transport::Kind::Http
    }

    fn approve(&mut self, server: &ServerName) {
        if let Some(gate) = &self.gate {
            gate.approve(server);
        }
    }

    fn mutate(&mut self, server: &ServerName, mutation: &Mutation) -> Result<(), String> {
        let stage = self.stage(server)?;
        let changed = stage.server().mutate(&mutation.overlay, mutation.after_requests);
        changed.map_err(|error| format!("{server} can't be changed: {error}"))
    }

    fn emit(&mut self, server: &ServerName, text: &Bytes) {
        if let Some(stage) = self.stages.get(server) {
            stage.speak(text);
        }
    }
}
