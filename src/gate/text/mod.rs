//! Text that a model would read: normalised, then scanned by rules.
//!
//! Nothing here knows a message or a policy. `normalize` takes disguises off,
//! `decode` undoes encodings, `rules` says what is looked for, `scan` puts
//! them together, `conceal` tells characters that hide text from those that write
//! it, and `cache` remembers what was found. `quoted` tells who said it;
//! `asking` knows when a form asks for a secret, `steer` what a text says of other tools.

mod asking;
mod cache;
mod compiled;
mod conceal;
mod decode;
mod deeds;
mod normalize;
mod quoted;
mod readings;
mod rules;
mod scan;
mod steer;
mod tokens;
mod values;

pub use asking::{Place, asks_for_secret, bare};
pub use cache::Findings;
pub use conceal::{Concealment, Hidden, concealed_in, concealed_in_text};
pub(super) use decode::{percent_decoded, rot13};
pub(super) use deeds::{has_destructive_hint, is_named_destructive, is_order_to_destroy, is_worded_destructive};
pub(super) use normalize::folded_key;
pub(super) use normalize::is_invisible;
pub use quoted::is_quoted;
pub(super) use readings::readings;
pub use rules::{RULES, Rule};
pub use scan::{Hit, described, is_rule, rule_ids, scan_node, scan_text};
pub use steer::Steer;
pub(super) use steer::{means, steers_in, steers_in_text};
pub(super) use values::{Marks, Memory, holds, is_name_like, is_value};
