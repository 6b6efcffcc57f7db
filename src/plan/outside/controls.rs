//! What must have happened for a trial to mean anything, behind a gate that asks
//! its server on its own account.

use std::sync::Arc;

use crate::case::{Case, Predicate, Seen};

/// The case with each control that counts messages at a server turned into one
/// that wants at least as many: a gate may list tools for itself as well, and the
/// trial means as much.
pub(super) fn relaxed(case: &Arc<Case>) -> Arc<Case> {
    if !case.body.expect.control.iter().any(counts) {
        return Arc::clone(case);
    }
    let mut case = Case::clone(case);
    for control in &mut case.body.expect.control {
        at_least(control);
    }
    Arc::new(case)
}

fn counts(control: &Predicate) -> bool {
    match control {
        Predicate::ServerGot(seen) => seen.exactly.is_some_and(|count| count > 0),
        Predicate::Any(all) => all.iter().any(counts),
        _ => false,
    }
}

fn at_least(control: &mut Predicate) {
    match control {
        Predicate::Any(all) => all.iter_mut().for_each(at_least),
        Predicate::ServerGot(seen) => {
            if let Some(count) = seen.exactly.filter(|count| *count > 0) {
                let one = Seen { exactly: None, ..seen.clone() };
                *control = Predicate::ServerGotInOrder(vec![one; count]);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_lower_bounds() {
        let seen = |exactly| Seen { method: Some("tools/list".to_owned()), exactly, ..Seen::default() };
        let mut two = Predicate::Any(vec![Predicate::ServerGot(seen(Some(2)))]);
        assert!(counts(&two));
        at_least(&mut two);
        let Predicate::Any(inner) = &two else { unreachable!() };
        assert!(matches!(&inner[..], [Predicate::ServerGotInOrder(all)] if all.len() == 2 && all[0].exactly.is_none()));
        for same in [seen(None), seen(Some(0))] {
            let mut control = Predicate::ServerGot(same);
            assert!(!counts(&control), "that nothing came is no matter of counting");
            at_least(&mut control);
            assert!(matches!(control, Predicate::ServerGot(_)));
        }
    }
}
