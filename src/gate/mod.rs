//! The gate as values: events in, rulings out.
//!
//! A gate is pure. It opens no socket, reads no clock that it was not given and
//! knows no transport; a relay shows it each event and carries out its ruling.
//! It imports `protocol` and `digest` alone.
//!
//! * [`Naive`] forwards everything byte for byte.
//! * [`Guarded`] runs the [`checks`] that are on. Each check looks at the event
//!   as it came and proposes; what the gate does is composed from all proposals,
//!   so the order of the checks can't change a verdict.

mod bounds;
mod check;
pub mod checks;
mod envelope;
mod event;
mod facts;
mod guarded;
#[cfg(test)]
mod invariants;
mod json;
mod listing;
#[cfg(test)]
mod measure;
mod naive;
mod payload;
mod policy;
mod proposals;
mod rules;
mod ruling;
mod schema;
#[cfg(test)]
mod testing;
pub mod text;

pub use check::{Check, Context, Docs};
pub use checks::CheckId;
pub use event::{Approval, Consent, Event, Head, Hop, Layer, Opening, Passing, Reach};
pub use facts::{
    Asked, Calls, Carried, Consents, Count, Facts, Flow, InFlight, Known, KnownTool, NameClaim, NameClaims, Page,
    Pages, Progress, Reading, Readings, ServerFacts,
};

pub use guarded::Guarded;
pub use listing::{Listed, Listing, ListingKind};
pub use naive::Naive;
pub use policy::{
    AfterBoth, ApprovalMode, ApprovalPolicy, BudgetPolicy, EnvelopePolicy, FlowPolicy, FlowSettings, FlowSink,
    FlowSource, Framing, FramingClaim, HostDefinition, IdentityMode, IdentityPolicy, LaunchPolicy, ListPolicy,
    ListenPolicy, NamesPolicy, Paging, PinMode, Policy, Redirects, Replay, ResultScope, ResultShape, ScanPolicy,
    ServerPolicy, TextForm, ToolBudget, ToolPolicy, WirePolicy,
};
pub use proposals::Proposals;
pub use rules::{CheckSet, Delegation, Delegations, PolicyError, Rules};
pub use ruling::{Act, Decision, Finding, Rewrite, Ruling};
pub use schema::{SchemaCache, SchemaProblem};

/// Whatever stands between a client and its servers.
pub trait Gate: Send + std::fmt::Debug {
    /// Decides over one event.
    fn decide(&mut self, event: &Event<'_>) -> Ruling;
}
