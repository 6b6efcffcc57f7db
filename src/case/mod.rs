//! Cases: what people author, and how it is read.
//!
//! A case is one situation: an attack, its honest twin, or a robustness probe.
//! The judge's predicates speak of what crossed the wire and of the servers'
//! state, never of the gate.

mod corpus;
mod expand;
mod fault;
mod hide;
mod load;
mod model;
mod overlay;
mod piece;
mod predicate;
mod repeat;
mod script;
mod words;

pub use corpus::{Corpus, CorpusError};
pub use expand::expand;
pub use fault::{Fault, is_framing};
pub use hide::names as transforms;
pub use load::load;
pub use model::{Case, CaseFile, CaseId, Expect, Kind, Level, Overlay, Refusal, ServerUse, Stage};
pub use piece::{End, Piece, blown_up};
pub use predicate::{LaunchedAs, Predicate, ReplyWants, Seen, StateIs, StepRef};

pub use repeat::Repeat;
pub use script::{
    Call, Consent, Emit, HeaderValue, Host, Launch, Layer, List, Mutation, Notify, Obey, On, Open, Opening, OwnHeaders,
    Raw, Request, Restart, Step, Until, Verb, labels, listens, speaks_unasked,
};
