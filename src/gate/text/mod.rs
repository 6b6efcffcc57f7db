//! Text that a model would read: normalised, then scanned by rules.
//!
//! Nothing here knows a message or a policy. `normalize` takes disguises off,
//! `decode` undoes encodings, `rules` says what is looked for, `scan` puts
//! them together, and `cache` remembers what it found. `quoted` tells who said it;
//! `asking` knows when a form asks for a secret.

mod asking;
mod cache;
mod compiled;
mod decode;
mod normalize;
mod quoted;
mod rules;
mod scan;

pub use asking::{Place, asks_for_secret, bare};
pub use cache::ScanCache;
pub(super) use decode::percent_decoded;
pub use quoted::is_quoted;
pub use rules::{RULES, Rule};
pub use scan::{Hit, described, is_rule, rule_ids, scan_node, scan_text};
