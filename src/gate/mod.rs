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
mod bounds;
mod check;
pub mod checks;
mod documents;
mod envelope;
mod event;
mod facts;
mod guarded;
#[cfg(test)]
mod invariants;
mod json;
mod listing;
mod naive;
mod payload;
mod pins;
mod policy;
mod proposals;
mod rules;
mod ruling;
mod schema;
mod secrets;
#[cfg(test)]
mod testing;
pub mod text;

pub use check::{Check, Context, Docs};
pub use checks::CheckId;
pub use event::{Approval, Consent, Event, Head, Hop, Layer, Opening, Passing, Reach};
pub use facts::{
    Asked, Calls, Count, Facts, InFlight, Known, KnownTool, NameClaim, NameClaims, Page, Pages, Pass, PinFacts,
    Progress, Reading, Readings, ServerFacts, Stale, Standing, Versions,
};
pub use guarded::Guarded;
pub use listing::{Listed, Listing, ListingKind};
pub use naive::Naive;
pub use pins::{
    Change, Definition, How, Loaded, Owner, Pin, PinKey, PinKind, PinStore, Pins, Place, SessionPins, Stamp,
    StoreError, Trace,
};
pub use policy::{
    ActiveContent, BudgetPolicy, BuildPolicy, ContentPolicy, EnvelopePolicy, Framing, FramingClaim, HiddenPolicy,
    HostDefinition, IdentityMode, IdentityPolicy, LaunchPolicy, ListPolicy, ListenPolicy, NamesPolicy, Paging, PinMode,
    Policy, PromptPins, Redirects, Replay, ResultScope, ResultShape, ScanPolicy, SecretsPolicy, ServerPolicy, TextForm,
    ToolBudget, ToolPolicy, WirePolicy,
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
