//! gateproof qualifies MCP gates.

pub mod case;
pub mod digest;
pub mod endpoint;
pub mod fixture;
pub mod gate;
pub mod protocol;
pub mod transcript;
pub mod transport;
