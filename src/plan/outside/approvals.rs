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
}

impl Approvals {
    pub(super) fn of(case: &Case) -> Self {
        let (mut found, mut changed) = (Self::default(), BTreeSet::new());
        found.walk(&case.body.steps, &case.first_server(), &mut changed);
        found
    }

    fn walk(&mut self, steps: &[Step], first: &ServerName, changed: &mut BTreeSet<ServerName>) {
        for step in steps {
            let server = step.server().unwrap_or(first).clone();
            match step {
                Step::Mutate(_) => {
                    changed.insert(server);
                }
                Step::Approve(_) if changed.contains(&server) => {
                    self.later.insert(server);
                }
                Step::Approve(_) => {
                    self.at_start.insert(server);
                }
                _ => self.walk(step.inner(), first, changed),
            }
        }
    }
}
