//! Requests that are over.

use std::collections::{HashSet, VecDeque};

use crate::protocol::Id;

/// Late replies are told from invented ones for this many requests back.
const REMEMBERED: usize = 4096;

/// The ids of the requests that were answered or cancelled last.
#[derive(Debug, Default)]
pub struct Settled {
    ids: HashSet<Id>,
    /// The oldest first.
    order: VecDeque<Id>,
}

impl Settled {
    /// Whether a request under this id is over.
    pub fn contains(&self, id: &Id) -> bool {
        self.ids.contains(id)
    }

    /// A request is over. Whoever uses an id again counts from the first use on.
    pub(super) fn insert(&mut self, id: Id) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.order.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_however_they_are_spelled() {
        let (mut settled, count) = (Settled::default(), 3 * i64::try_from(REMEMBERED).unwrap());
        for id in 0..count {
            settled.insert(Id::from(id));
            settled.insert(Id::from(id));
        }
        let first = count - i64::try_from(REMEMBERED).unwrap();
        assert!((first..count).all(|id| settled.contains(&Id::from(id))));
        assert!(!(0..first).any(|id| settled.contains(&Id::from(id))));
        assert_eq!(settled.ids.len(), settled.order.len());
    }
}
