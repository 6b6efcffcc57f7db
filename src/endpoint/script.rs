//! What a server writes byte for byte instead of a message in its framing.

use bytes::Bytes;

use crate::case::{End, Piece};

/// What is said at once: a message in the framing of its transport, or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// It waits until so many messages more have come, counted from what was said
    /// before it.
    pub after: u32,
    /// The message, or the bytes.
    pub bytes: Bytes,
    /// The bytes as they are written, one write each; `None` for a message.
    pub writes: Option<Vec<Bytes>>,
    /// What ends once it is said.
    pub end: Option<End>,
}

impl From<Bytes> for Said {
    fn from(message: Bytes) -> Self {
        Self { after: 0, bytes: message, writes: None, end: None }
    }
}

/// Pieces in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(pub Vec<Said>);

impl Script {
    /// The pieces with their placeholders filled in: `{{id}}`, `{{reply}}` for
    /// everything in `says`, and `{{length}}` for the bytes of that.
    pub fn new(pieces: &[Piece], id: &str, says: &[Bytes]) -> Self {
        let reply: Bytes = match says {
            [one] => one.clone(),
            several => several.concat().into(),
        };
        let said = |piece: &Piece| {
            let bytes = piece.bytes("reply", &reply, id);
            let writes = Some(piece.writes(&bytes));
            Said { after: piece.after_messages.unwrap_or(0), bytes, writes, end: piece.end }
        };
        Self(pieces.iter().map(said).collect())
    }
}
