//! A gate that stops nothing and writes everything anew.

use super::silent::swallow;
use crate::gate::{Decision, Event, Gate, Passing, Rewrite, Ruling};

/// Reads every message into values and prints those, the keys within its members
/// sorted: what becomes of bytes in a gate that forwards what it understood.
#[derive(Debug)]
pub(super) struct Retyping;

impl Gate for Retyping {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        let Event::Passing(Passing { message, .. }) = event else { return Ruling::forward() };
        let Ok(serde_json::Value::Object(mut members)) = serde_json::from_slice(message.raw()) else {
            // What it doesn't understand it has nothing to print of.
            return swallow();
        };
        members.values_mut().for_each(serde_json::Value::sort_all_objects);
        let body = serde_json::Value::Object(members).to_string();
        let rewrite = Rewrite { body: Some(body.into()), ..Rewrite::default() };
        Ruling { decision: Decision::Rewrite(rewrite), ..Ruling::forward() }
    }
}
