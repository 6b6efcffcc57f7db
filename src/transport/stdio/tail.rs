//! The end of what a process complained of.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is kept, in bytes.
pub(super) const KEPT: usize = 64 << 10;

/// The end of a byte stream.
#[derive(Debug, Default)]
pub(super) struct Tail(Mutex<VecDeque<u8>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }

    /// At most the last `most` bytes.
    pub(super) fn text(&self, most: usize) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.range(kept.len().saturating_sub(most)..).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Reads `stream` to its end, so that its writer is never held up.
pub(super) async fn drain(mut stream: impl AsyncRead + Unpin, tail: Arc<Tail>) {
    let mut buffer = vec![0; 8 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        tail.push(&buffer[..length]);
    }
}
