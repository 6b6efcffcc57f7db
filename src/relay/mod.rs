//! Drives a gate between two connections.
//!
//! The relay carries out rulings and has no opinion: what the gate forwards goes
//! on byte for byte, what it refuses is answered, and every request that came in
//! on HTTP gets an answer whatever happens to the server's.

mod batch;
mod exchanges;
mod instead;
mod pump;
mod shared;

pub use exchanges::Exchanges;
pub(crate) use pump::next;
pub use pump::pump;
pub use shared::SharedGate;
