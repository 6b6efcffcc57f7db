//! gateproof qualifies MCP gates.

pub mod case;
pub mod cli;
pub mod digest;
pub mod endpoint;
pub mod fixture;
pub mod gate;
pub mod judge;
pub mod plan;
pub mod protocol;
pub mod relay;
pub mod report;
pub mod runner;
pub mod score;
pub mod session;
pub mod transcript;
pub mod transport;
