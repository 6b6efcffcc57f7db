//! What a policy says of the envelope: how long a client may keep a result, how many
//! messages come at once.

use schemars::JsonSchema;
use serde::Deserialize;

/// What holds for the protocol's own members of a message.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EnvelopePolicy {
    /// For how many milliseconds a server may have its client keep a listing or
    /// a resource (`ttlMs`); a day unless given. What asks for more is shown this.
    pub max_ttl_ms: u64,
    /// How many messages a batch may hold, in the one revision that has batches; 256
    /// unless given.
    pub max_batch: usize,
}

impl Default for EnvelopePolicy {
    fn default() -> Self {
        Self { max_ttl_ms: 24 * 60 * 60 * 1000, max_batch: 256 }
    }
}
