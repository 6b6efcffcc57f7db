//! Text that a model would read: normalised, then scanned by rules.
//!
//! Nothing here knows a message or a policy. [`normalize`] takes disguises off,
//! [`decode`] undoes encodings, [`rules`] says what is looked for, [`scan`] puts
//! them together.

mod decode;
mod normalize;
mod rules;
mod scan;

pub(super) use decode::percent_decoded;
pub use rules::{RULES, Rule};
pub use scan::{Hit, ScanCache, described, is_rule, rule_ids, scan_node, scan_text};
