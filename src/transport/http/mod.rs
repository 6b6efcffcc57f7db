//! Streamable HTTP: a client, a listener, and the event streams between them.
//!
//! Both are transports like any other, whose frames carry HTTP dress: see
//! [`connect`] for what a client's frames mean, [`Listener`] for a server's.

mod client;
mod desk;
pub mod exact;
mod headers;
mod listener;
mod pool;
mod reply;
pub mod sse;
#[cfg(test)]
mod tests;

pub use client::{UNREACHABLE, connect};
pub use listener::Listener;
pub use reply::{accepted, end, event, open_stream, whole};

/// The largest body in bytes, and the largest event; only to keep the harness
/// alive.
pub const BODY_CAP: usize = 64 << 20;
