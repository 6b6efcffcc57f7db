//! What a gate is told to enforce: one file a section.

mod approval;
mod budget;
mod build;
mod content;
mod egress;
mod envelope;
mod fields;
mod flow;
mod framing;
mod hidden;
mod identity;
mod launch;
mod listen;
mod lists;
mod names;
mod paging;
mod paths;
mod pins;
mod requests;
mod secrets;
mod sessions;
mod wire;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use approval::{ApprovalMode, ApprovalPolicy};
pub use budget::{BudgetPolicy, Replay, ToolBudget};
pub use build::BuildPolicy;
pub use egress::EgressPolicy;
pub use envelope::EnvelopePolicy;
pub use fields::{FieldKind, FieldPolicy, Fields};
pub use flow::{AfterBoth, FlowPolicy, FlowSettings, FlowSink, FlowSource};
pub use framing::{Framing, FramingClaim};
pub use hidden::HiddenPolicy;
pub use launch::LaunchPolicy;
pub use listen::ListenPolicy;
pub use lists::ListPolicy;
pub use names::NamesPolicy;
pub use paging::Paging;
pub use paths::{PathPolicy, ToolPaths};

pub use content::{ActiveContent, ContentPolicy};
pub use pins::{PinMode, PromptPins};
pub use secrets::SecretsPolicy;

pub use identity::{IdentityMode, IdentityPolicy};
pub(super) use requests::folder;
pub use requests::{ElicitationPolicy, IncludeContext, RequestsPolicy, RootsPolicy, SamplingPolicy, UnaskedPolicy};
pub use sessions::SessionsPolicy;
pub use wire::{Redirects, WirePolicy};

use crate::protocol::{ServerName, ToolName};

/// A policy file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The version of this format: 1.
    pub schema: u32,
    /// What it is for, in one line.
    pub title: String,
    /// Switches single checks off (`false`); what isn't named is on.
    #[serde(default)]
    pub checks: BTreeMap<String, bool>,
    /// How the host tells the tools of several servers apart.
    #[serde(default)]
    pub names: NamesPolicy,
    /// What holds for values that go from one server to another.
    #[serde(default)]
    pub flow: FlowSettings,
    /// Settings by server; a server that isn't named here may be talked to
    /// under `default`.
    #[serde(default)]
    pub servers: BTreeMap<ServerName, ServerPolicy>,
    /// Settings of every server that isn't named.
    #[serde(default)]
    pub default: ServerPolicy,
}

impl Policy {
    /// The settings that hold for a server.
    pub fn server(&self, name: &ServerName) -> &ServerPolicy {
        self.servers.get(name).unwrap_or(&self.default)
    }
}

/// What holds for one server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServerPolicy {
    /// The tools that may be listed and called; every tool unless given.
    pub allow: Option<Vec<ToolName>>,
    /// When a definition counts as approved; not judged unless given.
    pub pins: Option<PinMode>,
    /// Which results of `prompts/get` are pinned too.
    pub pin_prompt_messages: PromptPins,
    /// What text in definitions is looked at.
    pub scan: ScanPolicy,
    /// What may come over the wire.
    pub wire: WirePolicy,
    /// How it may be launched.
    pub launch: LaunchPolicy,
    /// Who may speak to the gate where it listens.
    pub listen: ListenPolicy,
    /// What the protocol's own members may say.
    pub envelope: EnvelopePolicy,
    /// Which characters may hide text.
    pub hidden: HiddenPolicy,
    /// How long listings may be.
    pub lists: ListPolicy,
    /// What the server may ask its client for, and how much it may say unasked.
    pub requests: RequestsPolicy,
    /// By what the owners of sessions are known.
    pub sessions: SessionsPolicy,
    /// Under whose identity calls run; the server's own unless given.
    pub identity: Option<IdentityPolicy>,
    /// Which calls the user is asked about; none unless given, which is right only
    /// where somebody else asks.
    pub approval: Option<ApprovalPolicy>,
    /// Where its values come from, and where they go.
    pub flow: FlowPolicy,
    /// How often it may be asked to act in a session.
    pub budget: BudgetPolicy,
    /// Which folders may be reached; not judged unless given.
    pub paths: Option<PathPolicy>,
    /// Which addresses on the network it may be told of, and may tell of; not
    /// judged unless given.
    pub egress: Option<EgressPolicy>,
    /// Where it says which version of it lists and answers.
    pub build: BuildPolicy,
    /// Which documents may come in results.
    pub content: ContentPolicy,
    /// Which secrets may go to it.
    pub secrets: SecretsPolicy,
    /// Settings by tool.
    pub tools: BTreeMap<ToolName, ToolPolicy>,
}

/// What text in definitions is looked at.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScanPolicy {
    /// Rules of the scan that don't apply to this server, by id.
    pub except: Vec<String>,
}

/// What holds for one tool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolPolicy {
    /// The host's own words and schema, shown instead of the server's.
    pub show: Option<HostDefinition>,
    /// Arguments that the host sets (JSON text by name): the model may not give
    /// them, the server gets exactly these.
    pub pinned: BTreeMap<String, String>,
    /// What a success must look like.
    pub shape: Option<ResultShape>,
    /// What a success may hold.
    pub scope: Option<ResultScope>,
    /// The scopes that the delegated token needs for a call of it.
    pub needs: Vec<String>,
    /// Where its values come from, and where they go: in place of the server's.
    pub flow: FlowPolicy,
    /// How often it may be called in a session.
    pub budget: ToolBudget,
    /// How its messages show whom they are from.
    pub framing: Option<Framing>,
    /// Pointers to arguments that are URLs, or hosts that it makes URLs of; where
    /// the server's `egress` is judged.
    pub urls: Vec<String>,
    /// What its arguments are for.
    pub fields: Fields,
    /// Which of its arguments are paths.
    pub paths: Option<ToolPaths>,
    /// Which secrets it may be given, beside those that its server may.
    pub secrets: SecretsPolicy,
    /// How it pages, for a tool that hands out documents.
    pub pages: Option<Paging>,
}

impl ToolPolicy {
    /// The keys that lead to a setting that can't be enforced as written, and
    /// what is wrong with it.
    pub(in crate::gate) fn problem(&self, server: &ServerPolicy) -> Option<(Vec<&'static str>, String)> {
        let paths = self.paths.as_ref().and_then(|paths| paths.problem(server.paths.is_some()));
        let paths = paths.map(|(key, what)| (vec!["paths", key], what));
        let urls = self.urls.iter().find(|text| !text.starts_with('/'));
        let urls = urls.map(|odd| (vec!["urls"], no_pointer(odd)));
        let budget = self.budget.problem().map(|(key, what)| (vec!["budget", key], what));
        let pages = self.pages.as_ref().and_then(Paging::problem).map(|(key, what)| (vec!["pages", key], what));
        let framing = self.framing.as_ref().and_then(Framing::problem).map(|(key, what)| (vec!["framing", key], what));
        let flow = self.flow.problem().map(|(key, what)| (vec!["flow", key], what));
        budget.or(pages).or(framing).or(paths).or(flow).or(urls)
    }
}

/// What to say of a pointer that is none.
pub(in crate::gate) fn no_pointer(text: &str) -> String {
    format!("'{text}' is no JSON pointer; write it as '/key' or '/outer/inner'")
}

/// A tool in the host's own words.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostDefinition {
    /// The description that the model sees.
    pub description: String,
    /// The input schema that the model sees and arguments are held to, as JSON text.
    pub input_schema: String,
}

/// What a success must look like.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultShape {
    /// What the text is.
    pub text: TextForm,
    /// A schema for the JSON text, as JSON text.
    #[serde(default)]
    pub schema: Option<String>,
}

/// What the text of a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextForm {
    /// Exactly one text block, which holds one JSON value.
    OneJson,
}

/// What a success may hold. Pointers go into the JSON text of the result (or
/// its `structuredContent` where there is no JSON text).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResultScope {
    /// Values that must be exactly these (JSON text by pointer).
    pub require: BTreeMap<String, String>,
    /// The array of what was asked for.
    pub items: Option<String>,
    /// What each item must be (JSON text by pointer into the item).
    pub each: BTreeMap<String, String>,
    /// The argument that says how many items may come.
    pub limit: Option<String>,
    /// How many may come where the argument isn't given.
    pub limit_default: Option<usize>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::gate::{Rules, SchemaCache};

    #[test]
    fn a_policy_points_at_its_slip() {
        const PAGES: &str = "document = [\"url\"]\noffset = \"o\"\ndigest = \"d\"\nmore = \"/m\"\npage_digest = \"/d\"\nnext_offset = \"/n\"";
        for (path, settings) in [
            ("budget/calls", "[default.budget]\ncalls = 0".to_owned()),
            ("build/listing", "[default.build]\nlisting = \"build\"".to_owned()),
            ("tools/x/budget/key", "[default.tools.x.budget]\nreplay = \"refuse\"\nkey = \"k\"".to_owned()),
            ("tools/x/pages/more", format!("[default.tools.x.pages]\n{}", PAGES.replace("/m", "m"))),
            ("tools/x/pages/document", format!("[default.tools.x.pages]\n{}", PAGES.replace("\"url\"", ""))),
            (
                "tools/x/framing/allowed",
                "[default.tools.x.framing]\nitems = \"\"\ntrust = \"/t\"\nallowed = []".to_owned(),
            ),
        ] {
            let text = format!("schema = 1\ntitle = \"a test\"\n{settings}\n");
            let error = Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap_err();
            assert_eq!(error.path[1..].join("/"), path, "{error}");
        }
    }
}
