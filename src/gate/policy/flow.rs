//! What a policy says of where values come from and where they may go.

use schemars::JsonSchema;
use serde::Deserialize;

/// What holds for the whole session.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowSettings {
    /// What happens once a session has read both what anyone may have written and
    /// what is private, though no value is seen to flow.
    pub after: AfterBoth,
    /// Values that are harmless wherever they come from: the own domain, the own
    /// project. Each is compared as a word in a text is.
    pub vouched: Vec<String>,
}

/// What happens to public posts once a session has read untrusted and private
/// things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterBoth {
    /// They pass unless a value is seen to flow.
    #[default]
    Pass,
    /// Each needs the user's consent: this stops a paraphrase, too.
    Ask,
}

/// What a server's (or a tool's) results are, and what its calls do. Without a
/// label nothing is followed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowPolicy {
    /// Who may have written what it returns, and who may read it.
    pub source: Option<FlowSource>,
    /// What a call does.
    pub sink: Option<FlowSink>,
    /// Pointers to the arguments that steer what a call does (`/to`); all of them
    /// unless given. What is `public` is looked at whole in any case.
    pub arguments: Vec<String>,
}

/// Who may have written what comes, and who may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowSource {
    /// The user's own side: values from here are nobody's bait.
    Trusted,
    /// Anyone may have written it.
    Untrusted,
    /// It must not leave.
    Private,
    /// Both, as in a mailbox.
    PrivateUntrusted,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowSink {
    /// Nothing that matters, whatever the server's label is.
    None,
    /// It does something in the user's name.
    Act,
    /// Others can read what it is given.
    Public,
    /// Both, as with mail.
    ActPublic,
    /// It keeps what it is given, to be read back later.
    Store,
}

impl FlowSource {
    /// Whether anyone may have written it.
    pub fn is_untrusted(self) -> bool {
        matches!(self, Self::Untrusted | Self::PrivateUntrusted)
    }

    /// Whether it must not leave.
    pub fn is_private(self) -> bool {
        matches!(self, Self::Private | Self::PrivateUntrusted)
    }
}

impl FlowSink {
    /// Whether it does something in the user's name.
    pub fn acts(self) -> bool {
        matches!(self, Self::Act | Self::ActPublic)
    }

    /// Whether others can read it.
    pub fn is_public(self) -> bool {
        matches!(self, Self::Public | Self::ActPublic)
    }
}

impl FlowPolicy {
    /// Whether anything is said.
    pub(in crate::gate) fn is_given(&self) -> bool {
        self.source.is_some() || self.sink.is_some()
    }

    /// The key of a setting that can't be enforced as written, and what is wrong
    /// with it.
    pub(in crate::gate) fn problem(&self) -> Option<(&'static str, String)> {
        let odd = self.arguments.iter().find(|pointer| !pointer.starts_with('/'));
        odd.map(|pointer| ("arguments", super::no_pointer(pointer)))
    }
}

impl super::ServerPolicy {
    /// What the results of a tool are; of what is no tool's, without one.
    pub(in crate::gate) fn source(&self, tool: Option<&str>) -> Option<FlowSource> {
        let own = tool.and_then(|tool| self.tools.get(tool)).and_then(|tool| tool.flow.source);
        own.or(self.flow.source)
    }

    /// What a call of a tool does, and which of its arguments steer that.
    pub(in crate::gate) fn sink(&self, tool: Option<&str>) -> Option<(FlowSink, &[String])> {
        let own = tool.and_then(|tool| self.tools.get(tool)).map(|tool| &tool.flow);
        let sink = own.and_then(|own| own.sink).or(self.flow.sink)?;
        let arguments = own.map_or(&self.flow.arguments, |own| &own.arguments);
        Some((sink, arguments))
    }

    /// Whether the server keeps things, to be read back later.
    pub(in crate::gate) fn keeps(&self) -> bool {
        let mut sinks = self.tools.values().map(|tool| tool.flow.sink).chain([self.flow.sink]);
        sinks.any(|sink| sink == Some(FlowSink::Store))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache};

    fn rules(settings: &str) -> Result<Rules, crate::gate::PolicyError> {
        let text = format!("schema = 1\ntitle = \"a test\"\n{settings}\n");
        Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default()))
    }

    #[test]
    fn slips_are_told() {
        let error = rules("[servers.mail.tools.send.flow]\nsink = \"act\"\narguments = [\"to\"]").unwrap_err();
        assert_eq!(error.path, ["servers", "mail", "tools", "send", "flow", "arguments"]);
        let error = rules("[servers.mail.flow]\nsink = \"act\"\narguments = [\"to\"]").unwrap_err();
        assert_eq!(error.path, ["servers", "mail", "flow", "arguments"]);
        let error = rules("[flow]\nvouched = [\"the\"]").unwrap_err();
        assert_eq!(error.path, ["flow", "vouched"]);
        assert!(rules("[flow]\nvouched = [\"corp.example\"]\nafter = \"ask\"").is_ok());
    }

    #[test]
    fn nothing_is_followed_without_a_label() {
        assert!(!rules("[flow]\nafter = \"ask\"").unwrap().follows());
        assert!(rules("[default.flow]\nsource = \"untrusted\"").unwrap().follows());
        assert!(rules("[servers.a.tools.b.flow]\nsink = \"act\"").unwrap().follows());
    }
}
