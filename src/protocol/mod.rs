//! The MCP wire as values: raw text beside what it says.
//!
//! Nothing here opens a socket or holds a policy. A [`Message`] keeps the bytes
//! that crossed the wire and a parsed view of them; whoever forwards a message
//! forwards the bytes.

mod jsonrpc;
pub mod meta;
mod mirror;
mod mirrors;
mod names;
mod revision;
mod splice;
pub mod strict;

pub use jsonrpc::{Envelope, Id, Message, Shape, batch, error_reply};
pub use mirror::{Mirror, encoded, is_token, stands_for};
pub use mirrors::Mirrors;
pub use names::{Direction, Leg, ServerName, ToolName};
pub use revision::{Era, Revision, UnknownRevision};
pub use splice::{Splice, apply as apply_splices};

/// JSON-RPC: the text is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: JSON, but not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters don't fit the method; MCP uses it for unknown tools too.
pub const INVALID_PARAMS: i64 = -32602;
/// MCP from 2026-07-28: a header says something else than the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// MCP from 2026-07-28: the client did not declare what the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// MCP from 2026-07-28: the request is spoken in a version that isn't supported.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The reference gate's own refusals: in JSON-RPC's implementation-defined range and
/// outside what MCP reserves of it (-32020 to -32099), so that they can't be taken for
/// the server's words (protocol rule 14).
pub const REFUSED: i64 = -32010;
