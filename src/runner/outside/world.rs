//! A client before a gate of somebody else's, and the servers behind it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;

use super::{
    super::{
        trial::Settings,
        wiring::{Actor, Wiring},
    },
    folder::Folder,
    process::{self, Setting, Web},
    upstream::Upstream,
};
use crate::{
    case::{self, Launch, Mutation},
    endpoint::{
        Scripted, Stage,
        live::{LiveStage, Overlaid},
    },
    fixture::{Part, Placeholder, Template},
    plan::{Arm, Outside, Prepared, Trial, outside::Told},
    protocol::ServerName,
    session::{Deadlines, Rename, Session, World},
    transcript::{Event, Recorder},
    transport::{
        Careless, Connection, Kind, http,
        stdio::{Child, Process},
    },
};

/// How long a gate has to end by itself before it is asked, and then killed.
const GRACE: Duration = Duration::from_millis(300);

/// What nothing on the wire announces takes longer through somebody else's process.
const SETTLE: Duration = Duration::from_millis(500);

/// Plays a trial.
pub(in crate::runner) async fn attempt(trial: &Trial, settings: &Settings, recorder: Recorder) -> Result<(), String> {
    let outside = trial.prepared.outside.clone().ok_or("there is no gate for the arm 'outside'")?;
    let world = OutsideWorld::new(&trial.prepared, &outside, settings, recorder.clone()).await?;
    let deadlines = Deadlines {
        step: outside.step().max(live_start(&trial.prepared)),
        settle: settings.deadlines.settle.max(SETTLE),
        start: outside.start(),
        linger: SETTLE,
    };
    let session = Session::new(&trial.prepared.case, trial.revision, recorder.clone(), deadlines, world);
    let mut world = session.play().await?;
    let wrote = world.end();
    if !wrote.is_empty() {
        recorder.event(Event::Acted(format!("the gate is over{wrote}")));
    }
    recorder.with(|transcript| transcript.states = world.back.states());
    world.check().await
}

/// How long a trial may take with a gate that uses up every deadline: that is
/// for the judge to see.
pub(in crate::runner) fn patience(trial: &Trial, settings: &Settings) -> Duration {
    let outside = trial.prepared.outside.as_ref().filter(|_| trial.arm == Arm::Outside);
    let Some(outside) = outside else { return settings.trial };
    let case = &trial.prepared.case;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let steps = count(case::labels(&case.body.steps).len());
    let starts = count(case.body.steps.len() + case.body.servers.len());
    settings.trial + outside.step() * steps + outside.start() * starts
}

fn live_start(prepared: &Prepared) -> Duration {
    prepared.live.as_ref().map_or(Duration::ZERO, |live| live.program.start)
}

/// One server's gate.
#[derive(Debug)]
struct Stand {
    /// A gate on standard streams, as it was last started.
    lines: Option<Process>,
    /// A gate on HTTP, for as long as it runs.
    web: Option<Web>,
    /// Where it listens, where it does; the same after a restart.
    port: u16,
    /// What it starts, where it starts its server.
    upstream: Option<Upstream>,
    folder: Folder,
}

/// The world of one trial.
#[derive(Debug)]
pub(super) struct OutsideWorld {
    prepared: Arc<Prepared>,
    outside: Arc<Outside>,
    recorder: Recorder,
    program: PathBuf,
    stands: BTreeMap<ServerName, Stand>,
    /// Processes that are to end before anything else is started.
    retired: Vec<Process>,
    /// What gates that are over wrote.
    wrote: BTreeSet<String>,
    /// Servers that are no longer as they were at the start.
    changed: BTreeSet<ServerName>,
    /// The servers behind the gate.
    back: Wiring,
}

impl OutsideWorld {
    async fn new(
        prepared: &Arc<Prepared>,
        outside: &Arc<Outside>,
        settings: &Settings,
        recorder: Recorder,
    ) -> Result<Self, String> {
        let program = settings.program.clone().ok_or("a gate needs the program that its relay is started from")?;
        let streams = prepared.case.body.steps.iter().any(|step| case::speaks_unasked(step) || case::listens(step));
        let port = outside.standing.as_ref().map(|standing| standing.upstream_port);
        let back = Wiring::new(prepared, outside.back(), None, None, recorder.clone(), streams, port)
            .await
            .map_err(|error| format!("the servers can't be started: {error}"))?;
        Ok(Self {
            prepared: Arc::clone(prepared),
            outside: Arc::clone(outside),
            recorder,
            program,
            stands: BTreeMap::new(),
            retired: Vec::new(),
            wrote: BTreeSet::new(),
            changed: BTreeSet::new(),
            back,
        })
    }

    /// A gate's folders, its server's relay and its files, prepared as the operator
    /// would.
    async fn stand(&mut self, server: &ServerName) -> Result<(), String> {
        if self.stands.contains_key(server) {
            return Ok(());
        }
        let folder = Folder::new(self.outside.policy(&self.prepared.case.body.policy))
            .map_err(|error| format!("no folder for the gate: {error}"))?;
        let upstream = if self.outside.back() == Kind::Http {
            None
        } else {
            let actor = self.back.actor(server)?;
            Some(Upstream::open(&self.program, server, actor, self.recorder.clone()).await?)
        };
        let port = if self.http() {
            process::free_port().await.map_err(|error| format!("no port for the gate: {error}"))?
        } else {
            0
        };
        let stand = Stand { lines: None, web: None, port, upstream, folder };
        for (name, text) in &self.outside.profile.files {
            let text = self.told(server, &stand, |told| told.text(text));
            stand.folder.write(name, &text).map_err(|error| format!("the gate's file '{name}': {error}"))?;
        }
        if let (Some(upstream), false) = (&stand.upstream, self.outside.profile.prepare.is_empty()) {
            upstream.replace(self.honest(server)?);
            let prepared = self.execute(server, &stand, &self.outside.profile.prepare).await;
            upstream.resume();
            prepared.map_err(|error| format!("the gate can't be prepared: {error}"))?;
        }
        self.stands.insert(server.clone(), stand);
        Ok(())
    }

    /// Fills a command or a file in.
    fn told<T>(&self, server: &ServerName, stand: &Stand, fill: impl FnOnce(&Told<'_>) -> T) -> T {
        let allowed = self.prepared.allowed_tools(server);
        fill(&Told {
            upstream: stand.upstream.as_ref().map_or(&[], |upstream| &upstream.argv),
            upstream_url: self.back.url(server).unwrap_or_default(),
            port: stand.port,
            server: server.as_str(),
            home: &stand.folder.home(),
            allowed_tools: &allowed,
            policy: &stand.folder.policy(),
            gates: self.outside.gates(),
        })
    }

    async fn execute(&self, server: &ServerName, stand: &Stand, commands: &[Vec<String>]) -> Result<(), String> {
        let (env, work) = (self.outside.env(&stand.folder.home()), stand.folder.work());
        for command in commands {
            let argv = self.told(server, stand, |told| told.words(command));
            process::run(&argv, Setting { env: &env, work: &work }, self.outside.start()).await?;
        }
        Ok(())
    }

    /// The server as it was when the operator set the gate up.
    fn honest(&self, server: &ServerName) -> Result<Actor, String> {
        match self.back.actor(server)? {
            Actor::Scripted(_) => {
                let start = self.outside.honest(&self.prepared, server).ok_or("there is no honest server")?;
                Ok(Actor::Scripted(Stage::new(Scripted::new(start))))
            }
            Actor::Live(stage, program) => {
                let is_attack = self.prepared.case.body.kind == case::Kind::Attack;
                let honest = if is_attack { Overlaid::default() } else { stage.overlaid().clone() };
                Ok(Actor::Live(LiveStage::new(honest), program))
            }
        }
    }

    /// The server as it is now, on a stage of its own.
    fn now(&self, server: &ServerName) -> Result<Actor, String> {
        Ok(match self.back.actor(server)? {
            Actor::Scripted(stage) => Actor::Scripted(Stage::new(stage.server().clone())),
            Actor::Live(stage, program) => Actor::Live(LiveStage::new(stage.overlaid().clone()), program),
        })
    }

    fn connect_lines(&mut self, server: &ServerName) -> Result<Connection, String> {
        let stand = self.stands.get(server).ok_or("the gate has no place")?;
        let argv = self.told(server, stand, |told| told.words(&self.outside.profile.command));
        let (env, work) = (self.outside.env(&stand.folder.home()), stand.folder.work());
        let Child { connection, process } = process::spawn(&argv, Setting { env: &env, work: &work })?;
        if let Some(stand) = self.stands.get_mut(server) {
            stand.lines = Some(process);
        }
        Ok(connection)
    }

    async fn connect_web(&mut self, server: &ServerName) -> Result<Connection, String> {
        let stand = self.stands.get(server).ok_or("the gate has no place")?;
        if stand.web.is_none() {
            let argv = self.told(server, stand, |told| told.words(&self.outside.profile.command));
            let (env, work) = (self.outside.env(&stand.folder.home()), stand.folder.work());
            let place = (stand.port, self.outside.profile.path.as_str());
            let web =
                process::listening(&argv, Setting { env: &env, work: &work }, place, self.outside.start()).await?;
            if let Some(stand) = self.stands.get_mut(server) {
                stand.web = Some(web);
            }
        }
        let url = self.stands.get(server).and_then(|stand| stand.web.as_ref()).map(|web| web.url.clone());
        Ok(http::connect(&url.unwrap_or_default(), Arc::new(Careless)))
    }

    /// Processes that are over are, before the next one starts in their place.
    async fn bury(&mut self) {
        for process in std::mem::take(&mut self.retired) {
            self.wrote.insert(process.stderr_tail());
            process.shutdown(GRACE).await;
        }
    }

    /// Ends every gate; what they wrote, for people.
    fn end(&mut self) -> String {
        for stand in self.stands.values_mut() {
            let web = stand.web.take().map(|web| web.process);
            for process in stand.lines.take().into_iter().chain(web) {
                self.wrote.insert(process.stderr_tail());
            }
        }
        self.retired.clear();
        process::quoted(&std::mem::take(&mut self.wrote).into_iter().collect::<String>())
    }

    /// Compares the counts of what arrived at servers on HTTP. A gate that has just
    /// ended may still have had a request under way.
    async fn check(&self) -> Result<(), String> {
        const LOOKS: usize = 5;
        let mut found = self.back.check().await;
        for _ in 1..LOOKS {
            if found.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            found = self.back.check().await;
        }
        found
    }

    /// What the gate puts around the names of this server's tools.
    fn rename(&self, server: &ServerName) -> Option<Rename> {
        let template = Template::of_name(&self.outside.profile.tool_name).ok()?;
        let tool = template.parts().iter().position(|part| *part == Part::Fill(Placeholder::Tool))?;
        let text = |parts: &[Part]| -> String {
            let part = |part: &Part| match part {
                Part::Text(text) => text.clone(),
                Part::Fill(_) => server.to_string(),
            };
            parts.iter().map(part).collect()
        };
        let (before, after) = template.parts().split_at(tool);
        let (before, after) = (text(before), text(&after[1..]));
        (!(before.is_empty() && after.is_empty())).then(|| Rename::new(before, after))
    }
}

impl World for OutsideWorld {
    async fn connect(&mut self, server: &ServerName, _: Option<&Launch>) -> Result<Connection, String> {
        let connection = if let Some(standing) = &self.outside.standing {
            http::connect(&standing.url, Arc::new(Careless))
        } else {
            self.stand(server).await?;
            let former = self.stands.get_mut(server).and_then(|stand| stand.lines.take());
            self.retired.extend(former);
            self.bury().await;
            if self.http() { self.connect_web(server).await? } else { self.connect_lines(server)? }
        };
        Ok(match self.rename(server) {
            Some(rename) => rename.over(connection),
            None => connection,
        })
    }

    fn http(&self) -> bool {
        self.outside.front() == Kind::Http
    }

    async fn approve(&mut self, server: &ServerName) -> Result<(), String> {
        if !self.changed.contains(server) {
            // That was approved when the gate was set up.
            return Ok(());
        }
        let now = self.now(server)?;
        let stand = self.stands.get(server).ok_or("nothing can be approved before the gate was started")?;
        let Some(upstream) = &stand.upstream else { return Ok(()) };
        upstream.replace(now);
        let approved = self.execute(server, stand, &self.outside.profile.approve).await;
        upstream.resume();
        if let Err(error) = approved {
            // A gate that won't approve has decided something.
            self.recorder.event(Event::Acted(format!("the gate doesn't approve: {error}")));
        }
        Ok(())
    }

    fn restart(&mut self) {
        for stand in self.stands.values_mut() {
            self.retired.extend(stand.lines.take());
            self.retired.extend(stand.web.take().map(|web| web.process));
        }
    }

    fn consent(&mut self, _: &ServerName, _: &str, _: &str) {
        // There is no way to tell the gate: such cases are not played.
    }

    fn mutate(&mut self, server: &ServerName, mutation: &Mutation) -> Result<(), String> {
        self.changed.insert(server.clone());
        self.back.mutate(server, mutation)
    }

    fn emit(&mut self, server: &ServerName, text: &Bytes) {
        self.back.emit(server, text);
    }
}
