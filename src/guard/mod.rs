//! The reference gate in front of a server that somebody really uses.
//!
//! A [`Watched`] gate is the reference gate with two promises around it: every
//! ruling is in the audit log before it is carried out, and whatever goes wrong
//! inside (a panic, a log that can't be written) closes the session instead of
//! opening it. [`serve`] puts one between a client that speaks in lines and its
//! servers, [`Web`] one before each session of clients that speak HTTP. Servers
//! are reached as they are: [`call`] speaks HTTP for a client in lines, [`lobby`]
//! lines for clients over HTTP, and a [`Hub`] makes several servers one.

pub mod audit;
mod call;
mod child;
mod consent;
mod gated;
mod hub;
mod line;
mod lobby;
mod stateless;
mod told;
mod unsent;
mod watch;
mod watched;
mod web;
mod world;

pub use call::call;
pub use child::Child;
pub use consent::{Approvals, ApprovalsError, Asker, Asks, Call, Question};
pub use gated::Gated;
pub use hub::{Hub, Keeper, Kept, Leg};
pub use line::{Manner, Outcome, Server, serve};
pub use lobby::{lobby, session_id};
pub use told::{Told, told};
pub use watch::{Broken, Watch};
pub use watched::{Consents, Watched};
pub use web::{Host, Opened, Unopened, Upstream, Web};
pub use world::ThisMachine;
