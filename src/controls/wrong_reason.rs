//! A gate that does the right thing and says the wrong one.

use crate::gate::{CheckId, Event, Gate, Guarded, Ruling, checks};

/// Decides as the reference gate does, and gives one check the credit for all;
/// for what that one does, another.
#[derive(Debug)]
pub(super) struct WrongReason(Guarded);

impl WrongReason {
    pub(super) fn new(reference: Guarded) -> Self {
        Self(reference)
    }
}

impl Gate for WrongReason {
    fn decide(&mut self, event: &Event<'_>) -> Ruling {
        let mut ruling = self.0.decide(event);
        for finding in ruling.findings.iter_mut().chain(&mut ruling.shadow) {
            finding.check = another(finding.check);
        }
        ruling
    }
}

/// The last check of the registry, or the first for it.
fn another(check: CheckId) -> CheckId {
    let ids = || checks::ALL.iter().map(|check| check.docs().id);
    ids().next_back().filter(|last| *last != check).or_else(|| ids().next()).unwrap_or(check)
}
