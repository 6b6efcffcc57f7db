//! Loading.
/// Load.
pub fn load() {}
