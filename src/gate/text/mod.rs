//! Text that a model would read: normalised, then scanned by rules.

mod decode;

pub(super) use decode::percent_decoded;
