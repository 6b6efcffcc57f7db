//! The gate that enforces nothing.

use super::{Event, Gate, Ruling};

/// Forwards everything byte for byte: the arm that attacks must succeed under.
#[derive(Clone, Copy, Debug, Default)]
pub struct Naive;

impl Gate for Naive {
    fn decide(&mut self, _: &Event<'_>) -> Ruling {
        Ruling::forward()
    }
}
