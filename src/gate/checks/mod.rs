//! The checks: one file each, and the one slice that lists them.
//!
//! `list`, `explain`, the ablation arms, the reports' glossary and the docs
//! come from [`ALL`]. To add a check, write its file and add it here.

use std::fmt;

use super::Check;

mod approval;
mod argument_policy;
mod argument_schema;
mod argument_scope;
mod call_budget;
mod content_type;
mod continuation;
mod definition_pins;
mod delegated_identity;
mod description_scan;
mod egress;
mod hidden_text;
mod host_schema;
mod launch_consent;
mod list_integrity;
mod name_collision;
mod origin;
mod path_scope;
mod protocol_version;
mod redirects;
mod reply_correlation;
mod result_scope;
mod result_shape;
mod secrets_out;
mod server_requests;
mod session_binding;
mod shadowing;
mod size_limits;
mod stale_listing;
mod strict_envelope;
mod taint_flow;
mod tool_allowlist;
mod trust_framing;

/// Every check, in the order in which findings are reported.
pub const ALL: &[&dyn Check] = &[
    &strict_envelope::StrictEnvelope,
    &size_limits::SizeLimits,
    &reply_correlation::ReplyCorrelation,
    &protocol_version::ProtocolVersion,
    &content_type::ContentType,
    &redirects::Redirects,
    &session_binding::SessionBinding,
    &origin::Origin,
    &tool_allowlist::ToolAllowlist,
    &host_schema::HostSchema,
    &list_integrity::ListIntegrity,
    &hidden_text::HiddenText,
    &description_scan::DescriptionScan,
    &definition_pins::DefinitionPins,
    &name_collision::NameCollision,
    &shadowing::Shadowing,
    &argument_schema::ArgumentSchema,
    &argument_scope::ArgumentScope,
    &argument_policy::ArgumentPolicy,
    &path_scope::PathScope,
    &egress::Egress,
    &secrets_out::SecretsOut,
    &delegated_identity::DelegatedIdentity,
    &approval::Approval,
    &call_budget::CallBudget,
    &result_shape::ResultShape,
    &result_scope::ResultScope,
    &continuation::Continuation,
    &trust_framing::TrustFraming,
    &stale_listing::StaleListing,
    &taint_flow::TaintFlow,
    &server_requests::ServerRequests,
    &launch_consent::LaunchConsent,
];

/// A check's permanent id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckId(&'static str);

impl CheckId {
    /// An id for a check's `Docs`.
    pub(super) const fn new(id: &'static str) -> Self {
        Self(id)
    }

    /// The id of the registered check with this name.
    pub fn parse(name: &str) -> Option<Self> {
        ALL.iter().map(|check| check.docs().id).find(|id| id.0 == name)
    }

    /// The text.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The check with this id.
pub fn find(id: CheckId) -> Option<&'static dyn Check> {
    ALL.iter().copied().find(|check| check.docs().id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_is_documented_and_ids_are_unique() {
        let mut seen = BTreeSet::new();
        for check in ALL {
            let docs = check.docs();
            assert!(seen.insert(docs.id), "{} stands twice", docs.id);
            assert!(docs.id.as_str().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", docs.id);
            for (heading, text) in [
                ("summary", docs.summary),
                ("leg", docs.leg),
                ("what", docs.what),
                ("why", docs.why),
                ("misses", docs.misses),
                ("example", docs.example),
                ("source", docs.source),
            ] {
                assert!(text.len() > 3, "{}: {heading} is empty", docs.id);
            }
            assert!(!docs.rules.is_empty(), "{} has no rules", docs.id);
        }
    }
}
