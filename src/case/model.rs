//! What a case file says.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    fault::Fault,
    piece::Piece,
    predicate::Predicate,
    script::{Host, Launch, Step},
};
use crate::{
    protocol::{Revision, ServerName},
    transport,
};

/// A case's permanent, dotted id, with `#axis=value` behind it for a variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CaseId(pub String);

impl CaseId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The authored id, without the variant's part.
    pub fn base(&self) -> &str {
        self.0.split('#').next().unwrap_or_default()
    }

    /// The first part of the id: the folder that the case lies in.
    pub fn category(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a case is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Must be stopped.
    Attack,
    /// Must be served.
    Benign,
    /// Must be survived: malformed or unusual traffic with one right answer.
    Robustness,
}

/// How much a failure weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A gate that fails this isn't admitted.
    Must,
    /// Reported as a failure, doesn't hold admission.
    Should,
    /// Reported.
    Info,
}

/// A case file, as authored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseFile {
    /// The version of this format: 1.
    pub schema: u32,
    /// Permanent, dotted, never reused; its parts are the path under `cases/`.
    pub id: CaseId,
    /// One line that a reader understands without the rest.
    pub title: String,
    /// What it is for.
    pub kind: Kind,
    /// How much a failure weighs.
    #[serde(default = "must")]
    pub level: Level,
    /// A row of the technique catalogue (`D01`, `C12`, …).
    pub technique: String,
    /// Where the rule comes from: spec clause, OWASP, CVE, issue.
    #[serde(default)]
    pub refs: Vec<String>,
    /// For an attack: the id of its honest twin.
    #[serde(default)]
    pub twin: Option<CaseId>,
    /// The statistical unit; the id without its variant part unless given.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Which check should stop it; compared with the trail only.
    #[serde(default)]
    pub by: Option<String>,
    /// Whether it may ride on any server's own definitions (`run --live`): it
    /// names nothing of its fixture but by `{{honest-tool}}`,
    /// `{{honest-arguments}}` and `{{honest-text}}`.
    #[serde(default)]
    pub live: bool,
    /// Which transports it means something on; all unless given.
    #[serde(default = "all_transports")]
    pub transports: Vec<transport::Kind>,
    /// Which revisions it means something in; all unless given. Where once is
    /// enough it is played in its home: the default revision, or else the first.
    #[serde(default = "all_revisions")]
    pub revisions: Vec<Revision>,
    /// The policy under `fixtures/policies/`, without `.toml`.
    pub policy: String,
    /// What the gate is told of names and links outside: a file under
    /// `fixtures/surroundings/`, without `.toml`. Without one, no name resolves
    /// and no path is a link.
    #[serde(default)]
    pub surroundings: Option<String>,
    /// Named axes; each combination is a variant `id#axis=value`, and
    /// `{{axis}}` in any string of the case stands for the value.
    #[serde(default)]
    pub matrix: BTreeMap<String, BTreeMap<String, String>>,
    /// Hiding transforms: each makes a further variant in which every
    /// `{{hide:…}}` text is hidden that way.
    #[serde(default)]
    pub transforms: Vec<String>,
    /// The host: who the user is, what the client sends about itself.
    #[serde(default)]
    pub host: Host,
    /// The servers of the session.
    pub servers: Vec<ServerUse>,
    /// What happens.
    pub steps: Vec<Step>,
    /// What must, and must not, come of it.
    pub expect: Expect,
}

fn must() -> Level {
    Level::Must
}

fn all_transports() -> Vec<transport::Kind> {
    transport::Kind::ALL.to_vec()
}

fn all_revisions() -> Vec<Revision> {
    Revision::ALL.to_vec()
}

/// One server of a case.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerUse {
    /// Its name in this case; the fixture's name unless given.
    #[serde(default)]
    pub name: Option<ServerName>,
    /// The fixture under `fixtures/servers/`, without `.toml`.
    pub fixture: String,
    /// Whether the client may open it. A decoy that is only reached by
    /// redirects is not.
    #[serde(default = "yes")]
    pub connect: bool,
    /// How the host launches it.
    #[serde(default)]
    pub launch: Option<Launch>,
    /// Changes made before the session starts: the attack as a patch.
    #[serde(default)]
    pub overlay: Vec<Overlay>,
    /// Misbehaviour on the wire.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// What it writes before anything was asked (stdio only).
    #[serde(default)]
    pub greeting: Vec<Piece>,
    /// What it writes on its standard error before anything was asked (stdio only);
    /// for `{{repeat:…}}` see [`super::blown_up`].
    #[serde(default)]
    pub stderr: Option<String>,
    /// The revisions that it speaks; all unless given.
    #[serde(default)]
    pub speaks: Option<Vec<Revision>>,
}

fn yes() -> bool {
    true
}

/// A change to a server's definitions, which can ride on a scripted fixture or
/// on a live server's own.
///
/// With `tool`, the change is made to that tool's definition (`"*"`: the first
/// one listed, whatever its name); without, to the whole catalogue
/// `{tools, resources, templates, prompts, instructions, info, listing}`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The tool to change.
    #[serde(default)]
    pub tool: Option<String>,
    /// An RFC 7396 merge patch, as JSON text.
    #[serde(default)]
    pub merge: Option<String>,
    /// An RFC 6902 patch, as JSON text.
    #[serde(default)]
    pub patch: Option<String>,
    /// The definition is replaced by this JSON text.
    #[serde(default)]
    pub replace: Option<String>,
    /// Text appended to the tool's description.
    #[serde(default)]
    pub append: Option<String>,
}

/// What must, and must not, come of a case.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// What must have happened for the trial to mean anything. Unmet: blocked.
    #[serde(default)]
    pub control: Vec<Predicate>,
    /// Any of these means that the attack succeeded.
    #[serde(default)]
    pub harm: Vec<Predicate>,
    /// All of these must hold: the user's honest work still works.
    #[serde(default)]
    pub utility: Vec<Predicate>,
    /// The step that must be denied, and how.
    #[serde(default)]
    pub refusal: Option<Refusal>,
}

/// The shape that a denial must take: a JSON-RPC error or an `isError` result
/// with the request's own id; never silence, a hang or a dead session.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The label of the step.
    pub of: String,
    /// Where it must be stopped.
    #[serde(default)]
    pub stage: Stage,
}

/// Where a call must be stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Before the server: it must receive zero requests for the call.
    #[default]
    Request,
    /// On the way back: the server may have answered, the client gets a denial.
    Reply,
    /// By the server itself, because the gate gave it what it needs to decide.
    Server,
}

/// One variant of a case, with everything filled in: what a trial plays.
#[derive(Clone, Debug)]
pub struct Case {
    /// The id with the variant's part.
    pub id: CaseId,
    /// The file that it was read from, relative to the corpus.
    pub file: String,
    /// The authored content with `{{axis}}` and `{{hide:…}}` filled in.
    pub body: CaseFile,
}

impl Case {
    /// The statistical unit.
    pub fn cluster(&self) -> &str {
        self.body.cluster.as_deref().unwrap_or_else(|| self.id.base())
    }

    /// The cheapest transport that it means something on: where a case is played
    /// when once is enough.
    pub fn home(&self) -> transport::Kind {
        let means = |kind: &transport::Kind| self.body.transports.contains(kind);
        transport::Kind::ALL.into_iter().find(means).unwrap_or(transport::Kind::Memory)
    }

    /// The revision that it is played in when once is enough.
    pub fn home_revision(&self) -> Revision {
        let means = &self.body.revisions;
        let first = means.first().copied().unwrap_or(Revision::DEFAULT);
        if means.contains(&Revision::DEFAULT) { Revision::DEFAULT } else { first }
    }

    /// Its id, with the revision behind it where that is not its home.
    pub fn name_in(&self, revision: Revision) -> String {
        if revision == self.home_revision() { self.id.to_string() } else { format!("{} ({revision})", self.id) }
    }

    /// The servers with their names.
    pub fn servers(&self) -> impl Iterator<Item = (ServerName, &ServerUse)> {
        self.body.servers.iter().map(|server| (server.name_or_fixture(), server))
    }

    /// The server that steps without a `server` mean: the first.
    pub fn first_server(&self) -> ServerName {
        self.body.servers.first().map_or_else(|| ServerName::new(""), ServerUse::name_or_fixture)
    }
}

impl ServerUse {
    /// Its name in the case.
    pub fn name_or_fixture(&self) -> ServerName {
        self.name.clone().unwrap_or_else(|| ServerName::new(self.fixture.as_str()))
    }
}
