//! A policy made ready to enforce.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Policy, SchemaCache, checks,
    checks::CheckId,
    secrets,
    text::{self, Findings, Hidden, Hit},
};
use crate::protocol::{ServerName, strict};

/// Which checks are on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSet(Vec<bool>);

impl CheckSet {
    /// All of them.
    pub fn all() -> Self {
        Self(vec![true; checks::ALL.len()])
    }

    /// None of them.
    pub fn none() -> Self {
        Self(vec![false; checks::ALL.len()])
    }

    /// Switches one.
    #[must_use]
    pub fn with(mut self, id: CheckId, on: bool) -> Self {
        for (index, check) in checks::ALL.iter().enumerate() {
            if check.docs().id == id {
                self.0[index] = on;
            }
        }
        self
    }

    /// Whether the check is on.
    pub fn contains(&self, id: CheckId) -> bool {
        checks::ALL.iter().position(|check| check.docs().id == id).is_some_and(|index| self.has(index))
    }

    /// Whether the check at `index` of the registry is on.
    pub(super) fn has(&self, index: usize) -> bool {
        self.0.get(index).copied().unwrap_or(false)
    }
}

/// A token that the host holds for the user, good for one server alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The bearer token. Never printed.
    pub token: String,
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
}

impl Rules {
    /// Makes a policy ready; `schemas` may be shared with other policies.
    ///
    /// # Errors
    /// Where the policy names an unknown check, or a JSON text or schema in it
    /// is broken.
    pub fn new(policy: Policy, schemas: Arc<SchemaCache>) -> Result<Self, PolicyError> {
        let error = |path: &[&str], message: String| PolicyError {
            path: path.iter().map(|&key| key.to_owned()).collect(),
            message,
            unknown: None,
        };
        if policy.schema != 1 {
            return Err(error(&["schema"], format!("schema {} is unknown, expected 1", policy.schema)));
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
            if let Some(unknown) = settings.scan.except.iter().find(|id| !text::is_rule(id)) {
                return Err(PolicyError {
                    unknown: Some((unknown.clone(), text::rule_ids().collect())),
                    ..error(&[&path[..], &["scan", "except"]].concat(), format!("the scan has no rule '{unknown}'"))
                });
            }
            if let Some(unknown) = settings.hidden.unknown() {
                return Err(PolicyError {
                    unknown: Some((unknown.to_owned(), text::Concealment::ALL.map(text::Concealment::as_str).to_vec())),
                    ..error(&[&path[..], &["hidden", "except"]].concat(), format!("nothing hides by '{unknown}'"))
                });
            }
            let no_rule = |path: &[&str], unknown: &str| PolicyError {
                unknown: Some((unknown.to_owned(), secrets::RULES.iter().map(|(id, _)| *id).collect())),
                ..error(&[path, &["secrets", "except"]].concat(), format!("secrets-out has no rule '{unknown}'"))
            };
            if let Some(unknown) = settings.secrets.unknown() {
                return Err(no_rule(&path, unknown));
            }
            let sections = [
                ("wire", settings.wire.problem()),
                ("lists", settings.lists.problem()),
                ("launch", settings.launch.problem()),
                ("listen", settings.listen.problem()),
                ("budget", settings.budget.problem()),
                ("build", settings.build.problem()),
            ];
            for (section, problem) in sections {
                if let Some((key, what)) = problem {
                    return Err(error(&[&path[..], &[section, key]].concat(), what));
                }
            }
            for (tool, settings) in &settings.tools {
                let path = [&path[..], &["tools", tool.as_str()]].concat();
                if let Some(unknown) = settings.secrets.unknown() {
                    return Err(no_rule(&path, unknown));
                }
                if let Some((keys, what)) = settings.problem() {
                    return Err(error(&[&path[..], &keys].concat(), what));
                }
                let at = |more: &[&'static str]| [&path[..], more].concat();
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
            }
        }
        let scans = Arc::new(Findings::by(text::scan_node));
        let concealed = Arc::new(Findings::by(text::concealed_in));
        Ok(Self { policy: Arc::new(policy), checks: on, schemas, scans, concealed })
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
    pub fn checks(&self) -> &CheckSet {
        &self.checks
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
}
