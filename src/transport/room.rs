//! Room for what has been read and is not forgotten yet, in bytes.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is counted at once. Whatever is smaller counts for nothing: the number of
/// frames that wait is bounded too.
const UNIT: usize = 1 << 10;

/// Room that messages take up until the last who holds their bytes lets go, on
/// whatever queue they are by then. A reader that finds no room stops reading,
/// and whoever writes to it is held up.
#[derive(Clone, Debug)]
pub struct Room {
    units: Arc<Semaphore>,
    all: u32,
}

impl Room {
    /// Room for this many bytes. A message that is longer than all of it takes
    /// all of it.
    pub fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1);
        Self { units: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// The same bytes, once there is room for them.
    pub(super) async fn hold(&self, bytes: Bytes) -> Bytes {
        let units = u32::try_from(bytes.len() / UNIT).unwrap_or(u32::MAX).min(self.all);
        if units == 0 {
            return bytes;
        }
        match Arc::clone(&self.units).acquire_many_owned(units).await {
            Ok(room) => Bytes::from_owner(Held { bytes, _room: room }),
            // Nobody closes it.
            Err(_) => bytes,
        }
    }
}

struct Held {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn bytes_take_up_room_until_they_are_let_go() {
        let room = Room::new(4 * UNIT);
        let of = |units: usize| Bytes::from(vec![b'x'; units * UNIT]);
        let held = room.hold(of(3)).await;
        let part = held.slice(..1);
        drop(held);
        assert!(room.hold(of(2)).now_or_never().is_none());
        assert!(room.hold(Bytes::from_static(b"small")).now_or_never().is_some());
        drop(part);
        let longer_than_all = room.hold(of(9)).await;
        assert_eq!(longer_than_all.len(), 9 * UNIT);
        assert!(room.hold(of(1)).now_or_never().is_none());
    }
}
