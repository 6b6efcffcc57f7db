//! Everything that crossed each leg, in order, in raw bytes.
//!
//! The harness records at its own two ends: as the client sent and received it,
//! and as the server received and sent it. What the gate says of itself is kept
//! apart, in the [`Trail`], and only attributes.

mod event;
mod recorder;
pub mod saved;
mod trail;

pub use event::{Answer, Crossing, Dress, Event, Mark, Transcript, holds_text};
pub use recorder::Recorder;
pub use trail::{Act, Trail, TrailEntry};
