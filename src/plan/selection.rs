//! Chooses trials.

use std::sync::Arc;

use super::{Arm, Filter, Partition, Prepared, Suite};
use crate::{case::Case, protocol::Revision, transport};

/// One execution.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The case with what its trials share.
    pub prepared: Arc<Prepared>,
    /// What stands in the middle.
    pub arm: Arm,
    /// What it travels on.
    pub transport: transport::Kind,
    /// What it is spoken in.
    pub revision: Revision,
}

/// Which trials are meant.
#[derive(Clone, Debug)]
pub struct Selection {
    /// In this order.
    pub arms: Vec<Arm>,
    /// Those that a case means something on.
    pub transports: Vec<transport::Kind>,
    /// Cases.
    pub filter: Filter,
    /// A shard of them.
    pub partition: Option<Partition>,
    /// Those of these that a case means something in; its home revision alone where
    /// none is given.
    pub revisions: Vec<Revision>,
}

impl Selection {
    /// Every case in the arms and on the transports given.
    pub fn new(arms: impl Into<Vec<Arm>>, transports: impl Into<Vec<transport::Kind>>) -> Self {
        Self {
            arms: arms.into(),
            transports: transports.into(),
            filter: Filter::All,
            partition: None,
            revisions: Vec::new(),
        }
    }

    /// The trials: the cheapest transport first, so that failures show early.
    pub fn trials(&self, suite: &Suite) -> Vec<Trial> {
        self.on(suite, |case, transport| case.body.transports.contains(&transport))
    }

    /// The trials with each case on its home transport alone, whatever
    /// transports were chosen.
    pub fn trials_at_home(&self, suite: &Suite) -> Vec<Trial> {
        let everywhere = Self { transports: transport::Kind::ALL.to_vec(), ..self.clone() };
        everywhere.on(suite, |case, transport| case.home() == transport)
    }

    fn on(&self, suite: &Suite, means: impl Fn(&Case, transport::Kind) -> bool) -> Vec<Trial> {
        let mut out = Vec::new();
        for &transport in &self.transports {
            for prepared in &suite.cases {
                let case = &prepared.case;
                let chosen = self.filter.matches(case) && self.partition.is_none_or(|shard| shard.has(case));
                if !chosen {
                    continue;
                }
                // A gate of somebody else's is reached in one way only. What a case
                // can't be played on is said aloud there, and not left out.
                let front = prepared.outside.as_ref().map(|outside| outside.front());
                let plays = |arm| match arm {
                    Arm::Outside => front == Some(transport),
                    _ => means(case, transport),
                };
                let home = [case.home_revision()];
                let asked = if self.revisions.is_empty() { &home[..] } else { &self.revisions };
                for &revision in asked.iter().filter(|revision| case.body.revisions.contains(revision)) {
                    for arm in self.arms.iter().copied().filter(|&arm| plays(arm)) {
                        out.push(Trial { prepared: Arc::clone(prepared), arm, transport, revision });
                    }
                }
            }
        }
        out
    }
}
