//! A policy made ready to enforce.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    ApprovalPolicy, EgressPolicy, PathPolicy, Policy, SchemaCache, ServerPolicy, ToolPolicy, checks,
    checks::CheckId,
    policy::SecretsPolicy,
    secrets,
    text::{self, Findings, Hidden, Hit, Steer},
};
use crate::protocol::{ServerName, strict};

/// A set of checks: those that are on, that act, that spoke up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckSet(u64);

/// One bit a check.
const _: () = assert!(checks::ALL.len() <= 64, "a set of checks has 64 bits");

impl CheckSet {
    /// All of them.
    pub fn all() -> Self {
        (0..checks::ALL.len()).fold(Self::none(), |set, index| Self(set.0 | 1 << index))
    }

    /// None of them.
    pub const fn none() -> Self {
        Self(0)
    }

    /// Of one alone.
    pub fn one(id: CheckId) -> Self {
        Self::none().with(id, true)
    }

    /// Switches one.
    #[must_use]
    pub fn with(self, id: CheckId, on: bool) -> Self {
        let bit = place(id).map_or(0, |index| 1 << index);
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Whether the check is in it.
    pub fn contains(self, id: CheckId) -> bool {
        place(id).is_some_and(|index| self.has(index))
    }

    /// Whether the check at `index` of the registry is in it.
    pub(super) fn has(self, index: usize) -> bool {
        index < 64 && self.0 >> index & 1 == 1
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are not in `other`.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// How many.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Every set that can be made of its checks: 2 to the power of how many there
    /// are, so only of few.
    pub fn subsets(self) -> Vec<Self> {
        let mut all = vec![Self::none()];
        for id in self.iter() {
            all.extend(all.clone().into_iter().map(|set| set.with(id, true)));
        }
        all
    }

    /// Its checks, in the order of the registry.
    pub fn iter(self) -> impl Iterator<Item = CheckId> {
        checks::ALL.iter().enumerate().filter(move |(index, _)| self.has(*index)).map(|(_, check)| check.docs().id)
    }
}

impl FromIterator<CheckId> for CheckSet {
    fn from_iter<T: IntoIterator<Item = CheckId>>(ids: T) -> Self {
        ids.into_iter().fold(Self::none(), |set, id| set.with(id, true))
    }
}

/// Where the check stands in the registry.
fn place(id: CheckId) -> Option<usize> {
    checks::ALL.iter().position(|check| check.docs().id == id)
}

/// A token that the host holds for the user, good for one server alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The bearer token. Never printed.
    pub token: String,
    /// What it may be used for, as far as the host knows.
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for Delegation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delegation(…)")
    }
}

/// The tokens that the host handed the gate, by server.
pub type Delegations = BTreeMap<ServerName, Delegation>;

/// Something in a policy that can't be enforced as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PolicyError {
    /// The keys that lead to it.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// A name in it that there is not, and those that there are.
    pub unknown: Option<(String, Vec<&'static str>)>,
}

/// A policy, checked and compiled; shared by every session under it.
#[derive(Clone, Debug)]
pub struct Rules {
    policy: Arc<Policy>,
    checks: CheckSet,
    schemas: Arc<SchemaCache>,
    scans: Arc<Findings<Hit>>,
    concealed: Arc<Findings<Hidden>>,
    steering: Arc<Findings<Steer>>,
    follows: bool,
}

impl Rules {
    /// Makes a policy ready; `schemas` may be shared with other policies.
    ///
    /// # Errors
    /// Where the policy names an unknown check, or a JSON text or schema in it
    /// is broken.
    pub fn new(policy: Policy, schemas: Arc<SchemaCache>) -> Result<Self, PolicyError> {
        if policy.schema != 1 {
            return Err(error(&["schema"], format!("schema {} is unknown, expected 1", policy.schema)));
        }
        if let Some(odd) = policy.flow.vouched.iter().find(|value| !text::is_value(value)) {
            let what = format!("'{odd}' is a word like any other; nothing is followed by it");
            return Err(error(&["flow", "vouched"], what));
        }
        let mut on = CheckSet::all();
        for (name, switch) in &policy.checks {
            let Some(id) = CheckId::parse(name) else {
                return Err(PolicyError {
                    unknown: Some((name.clone(), checks::ALL.iter().map(|check| check.docs().id.as_str()).collect())),
                    ..error(&["checks", name], format!("there is no check '{name}'"))
                });
            };
            on = on.with(id, *switch);
        }
        let named = policy.servers.iter().map(|(server, settings)| (vec!["servers", server.as_str()], settings));
        for (path, settings) in named.chain([(vec!["default"], &policy.default)]) {
            server(&path, settings, &schemas)?;
        }
        let follows = policy
            .servers
            .values()
            .chain([&policy.default])
            .any(|server| server.flow.is_given() || server.tools.values().any(|tool| tool.flow.is_given()));
        let scans = Arc::new(Findings::by(text::scan_node));
        let concealed = Arc::new(Findings::by(text::concealed_in));
        let steering = Arc::new(Findings::by(text::steers_in));
        Ok(Self { policy: Arc::new(policy), checks: on, schemas, scans, concealed, steering, follows })
    }

    /// The same policy with other checks on.
    #[must_use]
    pub fn with_checks(&self, checks: CheckSet) -> Self {
        Self { checks, ..self.clone() }
    }

    /// The policy as authored.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Which checks are on.
    pub fn checks(&self) -> CheckSet {
        self.checks
    }

    /// Whether any label says where values come from or go to.
    pub(super) fn follows(&self) -> bool {
        self.follows
    }

    /// Compiled schemas.
    pub fn schemas(&self) -> &SchemaCache {
        &self.schemas
    }

    /// What the scan found in definitions so far.
    pub fn scans(&self) -> &Findings<Hit> {
        &self.scans
    }

    /// What was found hidden in definitions so far.
    pub fn concealed(&self) -> &Findings<Hidden> {
        &self.concealed
    }

    /// What definitions said of other tools so far.
    pub fn steering(&self) -> &Findings<Steer> {
        &self.steering
    }
}

fn error(path: &[&str], message: String) -> PolicyError {
    PolicyError { path: path.iter().map(|&key| key.to_owned()).collect(), message, unknown: None }
}

/// The settings of one server, which stand under `path`.
fn server(path: &[&str], settings: &ServerPolicy, schemas: &SchemaCache) -> Result<(), PolicyError> {
    if let Some(unknown) = settings.scan.except.iter().find(|id| !text::is_rule(id)) {
        return Err(PolicyError {
            unknown: Some((unknown.clone(), text::rule_ids().collect())),
            ..error(&[path, &["scan", "except"]].concat(), format!("the scan has no rule '{unknown}'"))
        });
    }
    if let Some(unknown) = settings.hidden.unknown() {
        return Err(PolicyError {
            unknown: Some((unknown.to_owned(), text::Concealment::ALL.map(text::Concealment::as_str).to_vec())),
            ..error(&[path, &["hidden", "except"]].concat(), format!("nothing hides by '{unknown}'"))
        });
    }
    unknown_secrets(path, &settings.secrets)?;
    let sections = [
        ("wire", settings.wire.problem()),
        ("lists", settings.lists.problem()),
        ("launch", settings.launch.problem()),
        ("listen", settings.listen.problem()),
        ("budget", settings.budget.problem()),
        ("build", settings.build.problem()),
        ("egress", settings.egress.as_ref().and_then(EgressPolicy::problem)),
        ("paths", settings.paths.as_ref().and_then(PathPolicy::problem)),
        ("flow", settings.flow.problem()),
        ("sessions", settings.sessions.problem()),
        ("identity", settings.identity.as_ref().and_then(super::IdentityPolicy::problem)),
        ("approval", settings.approval.as_ref().and_then(ApprovalPolicy::problem)),
    ];
    for (section, problem) in sections {
        if let Some((key, what)) = problem {
            return Err(error(&[path, &[section, key]].concat(), what));
        }
    }
    if let Some((keys, what)) = settings.requests.problem() {
        return Err(error(&[path, &["requests"], &keys].concat(), what));
    }
    for (name, of_tool) in &settings.tools {
        tool(&[path, &["tools", name.as_str()]].concat(), of_tool, settings, schemas)?;
    }
    Ok(())
}

/// A rule of `secrets-out` that there is not.
fn unknown_secrets(path: &[&str], settings: &SecretsPolicy) -> Result<(), PolicyError> {
    let Some(unknown) = settings.unknown() else { return Ok(()) };
    Err(PolicyError {
        unknown: Some((unknown.to_owned(), secrets::RULES.iter().map(|(id, _)| *id).collect())),
        ..error(&[path, &["secrets", "except"]].concat(), format!("secrets-out has no rule '{unknown}'"))
    })
}

/// The settings of one tool, which stand under `path`.
fn tool(path: &[&str], settings: &ToolPolicy, server: &ServerPolicy, schemas: &SchemaCache) -> Result<(), PolicyError> {
    unknown_secrets(path, &settings.secrets)?;
    if let Some((keys, what)) = settings.problem(server) {
        return Err(error(&[path, &keys].concat(), what));
    }
    for (pointer, field) in &settings.fields {
        let path = [path, &["fields", pointer.as_str()]].concat();
        if !pointer.starts_with('/') {
            return Err(error(&path, super::policy::no_pointer(pointer)));
        }
        if let Some((key, what)) = field.problem() {
            return Err(error(&[&path[..], &[key]].concat(), what));
        }
    }
    let at = |more: &[&'static str]| [path, more].concat();
    let under = |more: &[&'static str], key| [&at(more)[..], &[key]].concat();
    if let Some(show) = &settings.show {
        schemas
            .get(&show.input_schema)
            .map_err(|problem| error(&at(&["show", "input_schema"]), problem.to_string()))?;
    }
    if let Some(schema) = settings.shape.as_ref().and_then(|shape| shape.schema.as_ref()) {
        schemas.get(schema).map_err(|problem| error(&at(&["shape", "schema"]), problem.to_string()))?;
    }
    let pinned = settings.pinned.iter().map(|(key, text)| (under(&["pinned"], key.as_str()), text));
    let scope = settings.scope.iter();
    let require = scope.clone().flat_map(|scope| &scope.require);
    let require = require.map(|(key, text)| (under(&["scope", "require"], key.as_str()), text));
    let each = scope.flat_map(|scope| &scope.each);
    let each = each.map(|(key, text)| (under(&["scope", "each"], key.as_str()), text));
    for (path, json) in pinned.chain(require).chain(each) {
        strict::parse(json.as_bytes()).map_err(|problem| error(&path, format!("not JSON: {problem}")))?;
    }
    Ok(())
}
