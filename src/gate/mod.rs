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

mod active;
mod addresses;
mod bounds;
mod check;
pub mod checks;
mod documents;
mod envelope;
mod event;
mod facts;
mod fields;
mod guarded;
mod icons;
#[cfg(test)]
mod invariants;
mod json;
mod listing;
mod marked;
mod meter;
mod naive;
mod outward;
mod paths;
mod payload;
mod pins;
mod policy;
mod proposals;
mod rules;
mod ruling;
mod schema;
mod secrets;
mod surroundings;
#[cfg(test)]
mod testing;
pub mod text;
mod urls;

pub use check::{Check, Context, Docs};
pub use checks::CheckId;
pub use event::{Approval, Consent, Event, Head, Hop, Layer, Opening, Passing, Reach, Unanswered, Verb, Via};
pub use facts::{
    Asked, Asking, Calls, Carried, Consents, Count, Facts, Flow, Heard, Host, Hosts, InFlight, Known, KnownTool,
    NameClaim, NameClaims, Page, Pages, Pass, PinFacts, Progress, Reading, Readings, Rounds, ServerFacts, Session,
    Sessions, Stale, Standing, StateUse, Subscriptions, Versions, Who,
};

pub use guarded::Guarded;
pub use listing::{Listed, Listing, ListingKind};
pub use meter::{Meter, Spent, Stopwatch};
pub use naive::Naive;
pub use outward::{Outward, Where};
pub use pins::{
    Change, Definition, How, Loaded, Owner, Pin, PinKey, PinKind, PinStore, Pins, Place, SessionPins, Stamp,
    StoreError, Trace,
};
pub use policy::{
    ActiveContent, AfterBoth, ApprovalMode, ApprovalPolicy, BudgetPolicy, BuildPolicy, ContentPolicy, EgressPolicy,
    ElicitationPolicy, EnvelopePolicy, FieldKind, FieldPolicy, Fields, FlowPolicy, FlowSettings, FlowSink, FlowSource,
    Framing, FramingClaim, HiddenPolicy, HostDefinition, IdentityMode, IdentityPolicy, IncludeContext, LaunchPolicy,
    ListPolicy, ListenPolicy, NamesPolicy, Paging, PathPolicy, PinMode, Policy, PromptPins, Redirects, Replay,
    RequestsPolicy, ResultScope, ResultShape, RootsPolicy, SamplingPolicy, ScanPolicy, SecretsPolicy, ServerPolicy,
    SessionsPolicy, TextForm, ToolBudget, ToolPaths, ToolPolicy, UnaskedPolicy, WirePolicy,
};
pub use proposals::Proposals;
pub use rules::{CheckSet, Delegation, Delegations, PolicyError, Rules};
pub use ruling::{Act, Decision, Finding, Rewrite, Ruling};
pub use schema::{SchemaCache, SchemaProblem};
pub use surroundings::{Surroundings, Told, Unresolved};

/// Whatever stands between a client and its servers.
pub trait Gate: Send + std::fmt::Debug {
    /// Decides over one event.
    fn decide(&mut self, event: &Event<'_>) -> Ruling;
}
