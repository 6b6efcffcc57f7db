//! Plays the client side of a script, and records what the client saw.
//!
//! The client is careless on purpose: it believes any version, follows any
//! cursor, and hands everything it receives to a host that does what it reads.

mod open;
mod peer;
mod play;
mod rename;
mod rounds;
mod send;
mod wire;

pub use play::{Deadlines, Session, World};
pub use rename::{Rename, explain};
