//! Text that a model would read: normalised, then scanned by rules.
