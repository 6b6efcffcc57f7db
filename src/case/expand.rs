//! Expansion.
/// Variant.
#[derive(Debug)]
pub struct Variant;
/// Expand.
pub fn expand() {}
