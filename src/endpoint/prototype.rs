//! A server as a case has it at the start: made once, cloned for each trial.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{Catalogue, Script, catalogue::one_line};
use crate::{
    case::{Fault, Overlay, Piece},
    fixture::{ReplyRule, ServerFixture},
    protocol::{Era, Revision, meta},
};

/// Why a scripted server can't be made or changed as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// A JSON text is broken.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// An overlay names a tool that isn't there.
    #[error("there is no tool '{0}' to change")]
    NoSuchTool(String),
    /// The first tool is the one that must keep working.
    #[error("the first tool listed is the honest call's own, '{0}'; its manifest must name another")]
    HonestTool(String),
    /// A patch doesn't fit what it is applied to.
    #[error("the patch doesn't apply: {0}")]
    DoesNotApply(String),
}

/// A reply rule with its JSON read.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) principal: Option<Vec<String>>,
    pub(super) arguments: Option<Value>,
    pub(super) exists: Vec<String>,
    pub(super) answered: Option<bool>,
    pub(super) result: Option<Arc<str>>,
    pub(super) error: Option<Arc<str>>,
    pub(super) effects: Option<Arc<str>>,
    /// What the client must have declared, in the stateless era.
    pub(super) requires: Option<Value>,
}

impl Rule {
    fn new(rule: &ReplyRule) -> Result<Self, EndpointError> {
        let trimmed = |text: &Option<String>| text.as_deref().map(one_line);
        let arguments = rule.when.arguments.as_deref().map(serde_json::from_str).transpose();
        let requires = rule.requires.as_deref().map(serde_json::from_str).transpose();
        Ok(Self {
            principal: rule.when.principal.clone(),
            arguments: arguments.map_err(|error| EndpointError::NotJson(error.to_string()))?,
            exists: rule.when.exists.clone().unwrap_or_default(),
            answered: rule.when.answered,
            result: trimmed(&rule.result),
            error: trimmed(&rule.error),
            effects: trimmed(&rule.effects),
            requires: requires.map_err(|error| EndpointError::NotJson(error.to_string()))?,
        })
    }
}

/// A server at the start of a trial.
#[derive(Clone, Debug)]
pub struct Prototype {
    pub(super) capabilities: Arc<str>,
    pub(super) catalogue: Catalogue,
    pub(super) state: Value,
    pub(super) own_account: String,
    pub(super) env: Option<String>,
    pub(super) by_session: bool,
    /// Principals by token.
    pub(super) tokens: BTreeMap<String, String>,
    /// What their tokens are for, by name.
    pub(super) scopes: BTreeMap<String, Vec<String>>,
    pub(super) page_size: Option<usize>,
    pub(super) tools: BTreeMap<String, Vec<Rule>>,
    pub(super) prompts: BTreeMap<String, Vec<Rule>>,
    pub(super) resources: BTreeMap<String, Arc<str>>,
    pub(super) faults: Vec<Fault>,
    /// What it writes before anything was asked.
    pub greeting: Script,
    /// The same on its standard error.
    pub stderr: Option<Arc<str>>,
    /// The revisions that it speaks, oldest first.
    pub(super) speaks: Vec<Revision>,
}

impl Prototype {
    /// A fixture with a case's overlays and faults.
    ///
    /// # Errors
    /// Where a JSON text is broken or an overlay doesn't apply.
    pub fn new(fixture: &ServerFixture, overlays: &[Overlay], faults: &[Fault]) -> Result<Self, EndpointError> {
        let mut catalogue = Catalogue::of(fixture)?;
        let names: Vec<_> = catalogue.tools.iter().map(|tool| tool.name.clone()).collect();
        let prompt_names: Vec<_> = catalogue.prompts.iter().map(|prompt| prompt.name.clone()).collect();
        let uris: Vec<_> = catalogue.resources.iter().map(|resource| resource.name.clone()).collect();
        for overlay in overlays {
            catalogue.overlay(overlay)?;
        }
        let rules = |rules: &[ReplyRule]| rules.iter().map(Rule::new).collect::<Result<Vec<_>, _>>();
        let by_name = |names: Vec<String>, tools: &[crate::fixture::ToolFixture]| {
            names
                .into_iter()
                .zip(tools)
                .map(|(name, tool)| Ok((name, rules(&tool.replies)?)))
                .collect::<Result<BTreeMap<_, _>, EndpointError>>()
        };
        let state = match &fixture.state {
            Some(text) => serde_json::from_str(text).map_err(|error| EndpointError::NotJson(error.to_string()))?,
            None => Value::Null,
        };
        Ok(Self {
            capabilities: one_line(&fixture.capabilities),
            catalogue,
            state,
            own_account: fixture.identity.own_account.clone().unwrap_or_else(|| "anonymous".to_owned()),
            env: fixture.identity.env.clone(),
            by_session: fixture.identity.by_session,
            tokens: fixture
                .principals
                .iter()
                .map(|(name, principal)| (principal.token.clone(), name.clone()))
                .collect(),
            scopes: fixture
                .principals
                .iter()
                .map(|(name, principal)| (name.clone(), principal.scopes.clone()))
                .collect(),
            page_size: fixture.page_size,
            tools: by_name(names, &fixture.tools)?,
            prompts: by_name(prompt_names, &fixture.prompts)?,
            resources: uris
                .into_iter()
                .zip(&fixture.resources)
                .map(|(uri, resource)| (uri, one_line(&resource.result)))
                .collect(),
            faults: faults.to_vec(),
            speaks: Revision::ALL.to_vec(),
            greeting: Script::default(),
            stderr: None,
        })
    }

    /// The same server, which speaks these revisions alone.
    #[must_use]
    pub fn speaking(mut self, revisions: &[Revision]) -> Self {
        self.speaks = Revision::ALL.into_iter().filter(|revision| revisions.contains(revision)).collect();
        self
    }

    /// The same, which says something before anything was asked.
    #[must_use]
    pub fn greeting(mut self, pieces: &[Piece], stderr: Option<&str>) -> Self {
        self.greeting = Script::new(pieces, "null", &[]);
        self.stderr = stderr.map(Into::into);
        self
    }

    /// What it does wrong at the nth message with this method, and these headers.
    pub(super) fn fault(&self, method: &str, nth: u32, headers: &[(String, String)]) -> Option<&Fault> {
        let meant = |fault: &Fault| fault.method == method || (fault.method == "open" && meta::is_opening(method));
        let is_asked_with = |wanted: &str| {
            let (name, part) = wanted.split_once(": ").unwrap_or((wanted, ""));
            headers.iter().any(|(key, value)| key.eq_ignore_ascii_case(name) && value.contains(part))
        };
        self.faults.iter().find(|fault| {
            meant(fault)
                && fault.nth.is_none_or(|wanted| wanted == nth)
                && fault.asked_with.as_deref().is_none_or(is_asked_with)
        })
    }

    /// Whether only a server that writes every byte itself can play it on HTTP.
    pub fn is_exact(&self) -> bool {
        self.faults.iter().any(Fault::is_exact)
    }

    /// Whether it speaks any revision of an era.
    pub(super) fn speaks_in(&self, era: Era) -> bool {
        self.speaks.iter().any(|revision| revision.era() == era)
    }

    /// Whether its listings come in pages.
    pub fn has_pages(&self) -> bool {
        self.page_size.is_some_and(|size| size < self.catalogue.tools.len())
    }

    /// The names of the tools that it lists at the start, and of those that it
    /// lists after each of these changes.
    pub fn tool_names(&self, changes: &[&Overlay]) -> Vec<String> {
        let mut catalogue = self.catalogue.clone();
        let mut names: Vec<String> = catalogue.tools.iter().map(|tool| tool.name.clone()).collect();
        for change in changes {
            // One that doesn't apply shows when the case is played.
            let _ = catalogue.overlay(change);
            names.extend(catalogue.tools.iter().map(|tool| tool.name.clone()));
        }
        let mut known = std::collections::BTreeSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    /// Who calls, by the token of a launch or a request.
    pub fn principal(&self, token: Option<&str>) -> &str {
        token.and_then(|token| self.tokens.get(token)).unwrap_or(&self.own_account)
    }

    /// Who calls, by the environment of a launch.
    pub fn principal_of_env(&self, env: &BTreeMap<String, String>) -> &str {
        self.principal(self.env.as_ref().and_then(|name| env.get(name)).map(String::as_str))
    }

    /// Who calls, by the headers of a request.
    pub fn principal_of_headers(&self, headers: &[(String, String)]) -> &str {
        let bearer = headers
            .iter()
            .find(|(name, _)| name == "authorization")
            .and_then(|(_, value)| value.strip_prefix("Bearer "));
        self.principal(bearer)
    }

    /// The token that the server knows a principal by, and what it is for.
    pub fn token_of(&self, principal: &str) -> Option<(&str, &[String])> {
        let (token, name) = self.tokens.iter().find(|(_, name)| *name == principal)?;
        Some((token, self.scopes.get(name).map_or(&[], Vec::as_slice)))
    }
}
