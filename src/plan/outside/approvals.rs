//! When the host of a case approves: before its server changed, or after.

use std::collections::BTreeSet;

use crate::{
    case::{Case, Step},
    protocol::ServerName,
};

/// The approvals of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Approvals {
    /// Servers that are approved as they are at the start. Whoever sets a gate up
    /// does that before the session, and a gate that trusts what it sees first does
    /// it by itself: nobody has to tell it anything.
    pub(super) at_start: BTreeSet<ServerName>,
    /// Servers that are approved once they have changed.
    pub(super) later: BTreeSet<ServerName>,
    /// Servers that are used before anything of them is approved. Of a gate that was
    /// set up beforehand, nothing can be said of that time.
    pub(super) used_before: BTreeSet<ServerName>,
}

/// What has happened to servers so far.
#[derive(Default)]
struct Past {
    changed: BTreeSet<ServerName>,
    used: BTreeSet<ServerName>,
}

impl Approvals {
    pub(super) fn of(case: &Case) -> Self {
        let mut found = Self::default();
        found.walk(&case.body.steps, &case.first_server(), &mut Past::default());
        found
    }

    fn walk(&mut self, steps: &[Step], first: &ServerName, past: &mut Past) {
        for step in steps {
            let server = step.server().unwrap_or(first).clone();
            match step {
                Step::Mutate(_) => {
                    past.changed.insert(server);
                }
                Step::Approve(_) if past.changed.contains(&server) => {
                    self.later.insert(server);
                }
                Step::Approve(_) if past.used.contains(&server) && !self.at_start.contains(&server) => {
                    self.used_before.insert(server);
                }
                Step::Approve(_) => {
                    self.at_start.insert(server);
                }
                Step::Call(_) | Step::Obey(_) | Step::Request(_) | Step::Send(_) => {
                    past.used.insert(server);
                }
                _ => self.walk(step.inner(), first, past),
            }
        }
    }
}
