//! Gates that are not gateproof's own, made ready to play.
//!
//! [`Outside`] is a profile with everything filled in that doesn't differ from
//! trial to trial; [`Features`] is what was seen to survive it; [`untestable`]
//! says why a case can't be played through it.

mod approvals;
mod controls;
mod features;
mod fill;
mod knowledge;
mod ready;
mod untestable;

pub use features::{Feature, Features};
pub use fill::Told;
pub use ready::{Outside, Standing};
pub use untestable::untestable;
