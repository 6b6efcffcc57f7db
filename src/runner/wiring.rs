//! Connects a client to its servers, directly or through a gate, on any transport.

use std::{collections::BTreeMap, io, net::Ipv4Addr, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::net::TcpListener;

use crate::{
    case::{self, Launch, Mutation},
    endpoint::{
        Scripted, Stage, exact, lines,
        live::{self, LiveStage, Manner, Overlaid, Program, Stand},
        web::{self, Face, Urls, WholeBody},
    },
    gate::{Layer, Opening, Reach},
    plan::Prepared,
    protocol::ServerName,
    relay::{Exchanges, SharedGate, pump},
    session::World,
    transcript::{Event, Recorder},
    transport::{
        self, Careless, Connection, Tasks,
        bridge::{Hello, Rendezvous},
        http::{self, Listener},
        stdio::{Child, Process},
    },
};

/// Whoever plays a server.
#[derive(Clone, Debug)]
pub(super) enum Actor {
    /// A fixture.
    Scripted(Stage),
    /// A real server, and what starts it.
    Live(LiveStage, Program),
}

impl Actor {
    /// What it writes on its standard error.
    pub(super) fn complaints(&self) -> Option<Arc<str>> {
        match self {
            Self::Scripted(stage) => stage.server().prototype().stderr.clone(),
            Self::Live(..) => None,
        }
    }

    /// Serves a connection without HTTP until it ends. `env` is what the launch
    /// was handed.
    pub(super) fn serve(
        self,
        server: &ServerName,
        env: &BTreeMap<String, String>,
        connection: Connection,
        recorder: Recorder,
    ) -> impl Future<Output = ()> + Send + 'static {
        // Whatever is said unasked from now on is for this connection, too.
        let (server, principal, unasked) = match &self {
            Self::Scripted(stage) => {
                let principal = stage.server().prototype().principal_of_env(env).to_owned();
                (server.clone(), principal, stage.unasked.listen())
            }
            Self::Live(stage, _) => (server.clone(), String::new(), stage.unasked.listen()),
        };
        async move {
            match self {
                Self::Scripted(stage) => {
                    let greeting = stage.server().prototype().greeting.clone();
                    lines::serve(stage, server, principal, greeting, connection, unasked, recorder).await;
                }
                Self::Live(stage, program) => {
                    let stand = Stand { stage, server, manner: Manner::Lines, recorder };
                    live::serve(stand, program, connection, unasked).await;
                }
            }
        }
    }
}

/// The world of one trial.
#[derive(Debug)]
pub(super) struct Wiring {
    kind: transport::Kind,
    gate: Option<SharedGate>,
    recorder: Recorder,
    actors: BTreeMap<ServerName, Actor>,
    program: Option<PathBuf>,
    whole: BTreeMap<ServerName, WholeBody>,
    urls: BTreeMap<ServerName, String>,
    tasks: Tasks,
    /// Child processes; dropping one kills its whole group.
    processes: Vec<Process>,
}

impl Wiring {
    /// Puts every server of the case on stage; with `port`, on that one where they
    /// are served over HTTP.
    pub(super) async fn new(
        prepared: &Prepared,
        kind: transport::Kind,
        gate: Option<SharedGate>,
        program: Option<PathBuf>,
        recorder: Recorder,
        streams: bool,
        port: Option<u16>,
    ) -> Result<Self, String> {
        let actors = match &prepared.live {
            None => {
                let scripted = |start| Actor::Scripted(Stage::new(Scripted::new(Arc::clone(start))));
                prepared.servers.iter().map(|(name, start)| (name.clone(), scripted(start))).collect()
            }
            Some(ready) => {
                let honest = ready.manifest.honest.tool.as_str();
                let overlaid = |overlays: &Vec<_>| LiveStage::new(Overlaid::new(overlays.clone(), honest));
                let servers = prepared.case.servers();
                servers
                    .map(|(name, used)| (name, Actor::Live(overlaid(&used.overlay), ready.program.clone())))
                    .collect()
            }
        };
        let mut wiring = Self {
            kind,
            gate,
            recorder,
            actors,
            program,
            whole: BTreeMap::new(),
            urls: BTreeMap::new(),
            tasks: Tasks::default(),
            processes: Vec::new(),
        };
        if kind == transport::Kind::Http {
            wiring.start_web(streams, port).await?;
        }
        Ok(wiring)
    }

    async fn start_web(&mut self, streams: bool, port: Option<u16>) -> Result<(), String> {
        let urls = Urls::default();
        for (server, actor) in &self.actors {
            let stage = match actor {
                Actor::Scripted(stage) => stage,
                Actor::Live(stage, program) => {
                    let Listener { url, connection } = listener(port).await?;
                    let stand = Stand {
                        stage: stage.clone(),
                        server: server.clone(),
                        manner: Manner::Web(format!("session-{server}")),
                        recorder: self.recorder.clone(),
                    };
                    let unasked = stage.unasked.listen();
                    self.tasks.keep(tokio::spawn(live::serve(stand, program.clone(), connection, unasked)));
                    self.urls.insert(server.clone(), url);
                    continue;
                }
            };
            let face = Face {
                stage: stage.clone(),
                server: server.clone(),
                urls: Arc::clone(&urls),
                session: format!("session-{server}"),
                recorder: self.recorder.clone(),
            };
            let is_exact = stage.server().prototype().is_exact();
            let url = if is_exact {
                let listener = socket(port).await?;
                let address = listener.local_addr().map_err(|error| error.to_string())?;
                self.tasks.keep(tokio::spawn(exact::serve(face, listener, stage.unasked.listen())));
                format!("http://{address}/mcp")
            } else if streams || port.is_some() {
                let Listener { url, connection } = listener(port).await?;
                self.tasks.keep(tokio::spawn(web::stream(face, connection, stage.unasked.listen())));
                url
            } else {
                let whole = WholeBody::start(face).await;
                let url = whole.url();
                self.whole.insert(server.clone(), whole);
                url
            };
            self.urls.insert(server.clone(), url);
        }
        let _ = urls.set(self.urls.clone());
        Ok(())
    }

    /// The state of every server now.
    pub(super) fn states(&self) -> BTreeMap<ServerName, serde_json::Value> {
        let known = self.actors.iter().filter_map(|(name, actor)| match actor {
            Actor::Scripted(stage) => Some((name.clone(), stage.server().state().clone())),
            Actor::Live(..) => None,
        });
        known.collect()
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

    pub(super) fn actor(&self, server: &ServerName) -> Result<Actor, String> {
        self.actors.get(server).cloned().ok_or_else(|| format!("there is no server '{server}'"))
    }

    /// Where a server is reached over HTTP.
    pub(super) fn url(&self, server: &ServerName) -> Option<&str> {
        self.urls.get(server).map(String::as_str)
    }

    fn serve(&mut self, server: &ServerName, actor: Actor, env: &BTreeMap<String, String>, connection: Connection) {
        self.tasks.keep(tokio::spawn(actor.serve(server, env, connection, self.recorder.clone())));
    }

    fn launched(&self, server: &ServerName, argv: Vec<String>, env: BTreeMap<String, String>) {
        // In memory nothing is launched, unless the case says how it would be.
        if !(argv.is_empty() && env.is_empty()) {
            self.recorder.event(Event::Launched { server: server.clone(), argv, env });
        }
    }

    fn relay(&mut self, exchanges: Exchanges, downstream: Connection, upstream: Connection) {
        self.tasks.keep(tokio::spawn(pump(exchanges, downstream, upstream)));
    }

    fn connect_memory(&mut self, server: &ServerName, launch: Option<&Launch>) -> Result<Connection, String> {
        let actor = self.actor(server)?;
        let env = launch.map(|launch| launch.env.clone()).unwrap_or_default();
        let argv = launch.and_then(|launch| launch.argv.clone());
        let Some(gate) = self.gate.clone() else {
            let (client, end) = transport::pair();
            self.launched(server, argv.unwrap_or_default(), env.clone());
            self.serve(server, actor, &env, end);
            return Ok(client);
        };
        let reach = argv.clone().map_or(Reach::Memory, Reach::Argv);
        let opening = Opening { server: server.clone(), reach, env, layer: layer(launch) };
        let (client, downstream) = transport::pair();
        // A gate that won't open the server closes the client's connection.
        let Ok(env) = gate.open(&opening) else { return Ok(client) };
        let (upstream, end) = transport::pair();
        self.launched(server, argv.unwrap_or_default(), env.clone());
        self.serve(server, actor, &env, end);
        self.relay(Exchanges::new(gate, server.clone()), downstream, upstream);
        Ok(client)
    }

    /// Starts a child whose standard streams end here: what a client or a gate
    /// starts as its server, told `words` and `env`. Gives both ends, and what the
    /// child saw of that.
    async fn child(
        &mut self,
        rendezvous: &Rendezvous,
        words: &[String],
        env: &BTreeMap<String, String>,
        stderr: Option<&str>,
    ) -> Result<(Connection, Connection, Hello), String> {
        let program = self.program.as_deref().ok_or("stdio needs the program that children are started from")?;
        let Child { connection, process } = Child::spawn(&rendezvous.argv(program, words, stderr), env, None)
            .map_err(|error| format!("{} can't be started: {error}", program.display()))?;
        let (hello, end) = tokio::select! {
            biased;
            accepted = rendezvous.accept() => accepted.map_err(|error| error.to_string())?,
            close = process.exited() => {
                return Err(format!("the child ended before it connected: {close:?}: {}", process.stderr_tail()));
            }
        };
        self.processes.push(process);
        Ok((connection, end, hello))
    }

    async fn connect_stdio(&mut self, server: &ServerName, launch: Option<&Launch>) -> Result<Connection, String> {
        let actor = self.actor(server)?;
        let stderr = actor.complaints();
        let stderr = stderr.as_deref();
        // The argv that identifies a server must not vary from launch to launch,
        // as the port and the token of a rendezvous do.
        let own = || vec!["gateproof-endpoint".to_owned(), server.to_string()];
        let argv = launch.and_then(|launch| launch.argv.clone()).unwrap_or_else(own);
        let env = launch.map(|launch| launch.env.clone()).unwrap_or_default();
        let upstream = Rendezvous::bind().await.map_err(|error| error.to_string())?;
        let Some(gate) = self.gate.clone() else {
            let (client, end, seen) = self.child(&upstream, &argv, &env, stderr).await?;
            self.launched(server, seen.words(), known(&seen.env, &env));
            self.serve(server, actor, &seen.env, end);
            return Ok(client);
        };
        let downstream = Rendezvous::bind().await.map_err(|error| error.to_string())?;
        let (client, gate_end, _) = self.child(&downstream, &[], &BTreeMap::new(), None).await?;
        let reach = Reach::Argv(argv.clone());
        let opening = Opening { server: server.clone(), reach, env: env.clone(), layer: layer(launch) };
        // A gate that won't start the server closes the client's connection.
        let Ok(chosen) = gate.open(&opening) else { return Ok(client) };
        let (upstream, end, seen) = self.child(&upstream, &argv, &chosen, stderr).await?;
        let named = chosen.iter().chain(&env).map(|(name, value)| (name.clone(), value.clone())).collect();
        self.launched(server, seen.words(), known(&seen.env, &named));
        self.serve(server, actor, &seen.env, end);
        self.relay(Exchanges::new(gate, server.clone()), gate_end, upstream);
        Ok(client)
    }

    async fn connect_http(&mut self, server: &ServerName) -> Result<Connection, String> {
        let url = self.urls.get(server).cloned().ok_or_else(|| format!("there is no server '{server}'"))?;
        let Some(gate) = self.gate.clone() else {
            return Ok(http::connect(&url, Arc::new(Careless)));
        };
        let Listener { url: front, connection: downstream } =
            Listener::bind().await.map_err(|error| error.to_string())?;
        let reach = Reach::Url(url.clone());
        let opening = Opening { server: server.clone(), reach, env: BTreeMap::new(), layer: Layer::User };
        if gate.open(&opening).is_ok() {
            let exchanges = Exchanges::new(gate, server.clone());
            let upstream = http::connect(&url, Arc::new(exchanges.clone()));
            self.relay(exchanges, downstream, upstream);
        }
        Ok(http::connect(&front, Arc::new(Careless)))
    }
}

/// A listener on this port, or on a free one.
async fn listener(port: Option<u16>) -> Result<Listener, String> {
    patiently(port, Listener::bind_at).await
}

/// The same without anybody who listens yet.
async fn socket(port: Option<u16>) -> Result<TcpListener, String> {
    patiently(port, |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port))).await
}

/// Binds to this port, or to a free one. The trial before may still be on its way out
/// of the port.
async fn patiently<T, F>(port: Option<u16>, bind: impl Fn(u16) -> F) -> Result<T, String>
where
    F: Future<Output = io::Result<T>>,
{
    const LOOKS: u32 = 100;
    const PAUSE: Duration = Duration::from_millis(20);
    let Some(port) = port else { return bind(0).await.map_err(|error| error.to_string()) };
    let mut bound = bind(port).await;
    for _ in 1..LOOKS {
        if !bound.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        bound = bind(port).await;
    }
    bound.map_err(|error| format!("port {port}: {error}"))
}

/// Where the host read the launch.
fn layer(launch: Option<&Launch>) -> Layer {
    match launch.and_then(|launch| launch.layer) {
        Some(case::Layer::Project) => Layer::Project,
        Some(case::Layer::System) => Layer::System,
        Some(case::Layer::User) | None => Layer::User,
    }
}

/// Of the environment that a child saw, what somebody chose for it: the rest is
/// this machine's.
fn known(seen: &BTreeMap<String, String>, chosen: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let of = seen.iter().filter(|(name, _)| chosen.contains_key(*name));
    of.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl World for Wiring {
    async fn connect(&mut self, server: &ServerName, launch: Option<&Launch>) -> Result<Connection, String> {
        match self.kind {
            transport::Kind::Memory => self.connect_memory(server, launch),
            transport::Kind::Stdio => self.connect_stdio(server, launch).await,
            transport::Kind::Http => self.connect_http(server).await,
        }
    }

    fn http(&self) -> bool {
        self.kind == transport::Kind::Http
    }

    async fn approve(&mut self, server: &ServerName) -> Result<(), String> {
        if let Some(gate) = &self.gate {
            gate.approve(server);
        }
        Ok(())
    }

    fn restart(&mut self) {
        if let Some(gate) = &self.gate {
            gate.restart();
        }
    }

    fn consent(&mut self, server: &ServerName, tool: &str, arguments: &str) {
        if let Some(gate) = &self.gate {
            gate.consent(server, tool, arguments);
        }
    }

    fn mutate(&mut self, server: &ServerName, mutation: &Mutation) -> Result<(), String> {
        match self.actor(server)? {
            Actor::Live(stage, _) => {
                stage.overlaid().mutate(&mutation.overlay, mutation.after_requests);
                Ok(())
            }
            Actor::Scripted(stage) => {
                let changed = stage.server().mutate(&mutation.overlay, mutation.after_requests);
                changed.map_err(|error| format!("{server} can't be changed: {error}"))
            }
        }
    }

    fn emit(&mut self, server: &ServerName, text: &Bytes) {
        match self.actors.get(server) {
            Some(Actor::Scripted(stage)) => stage.unasked.speak(text),
            Some(Actor::Live(stage, _)) => stage.unasked.speak(text),
            None => {}
        }
    }
}
