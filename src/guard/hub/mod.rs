//! Several servers as one, for a client that speaks in lines.
//!
//! Each server keeps a connection of its own with the gate on it, which sees what
//! that server is asked and says, and nothing else. What the client sees is made
//! here of what the gate let through: one opening, one list of each kind. A name
//! leads to a server because that server listed it; nothing is read out of the
//! name itself. Where two list the same name, it is the first one's, in the order
//! in which the servers were named.
//!
//! A request goes on as the client wrote it, its id included. What a server asks
//! the client for gets an id that no other server's request has.

mod asking;
mod leg;
mod lists;
mod opening;
mod reading;
mod replies;
mod requests;
mod running;
#[cfg(test)]
mod tests;

pub use leg::{Keeper, Kept, Leg};

use super::Watch;
use crate::transport::Connection;

/// Several servers, each behind its gate.
#[derive(Debug)]
pub struct Hub {
    legs: Vec<Leg>,
    watch: Watch,
    note: fn(&str),
}

impl Hub {
    /// `legs`, in the order in which equal names are theirs. `watch` is told
    /// whoever waits; `note` gets what the operator should know.
    pub fn new(legs: Vec<Leg>, watch: Watch, note: fn(&str)) -> Self {
        Self { legs, watch, note }
    }

    /// Answers a client until it ends, or until no server is left.
    pub async fn serve(self, client: Connection) {
        running::run(self, client).await;
    }
}
