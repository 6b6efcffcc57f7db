//! Keeps a queue within bytes, where the channel only counts messages.

use std::collections::VecDeque;

use tokio::sync::{Mutex, mpsc};

use super::Frame;

/// How many bytes may wait in one queue before its sender is held. One message alone
/// may be larger.
pub(crate) const MOST: usize = 16 << 20;

/// What waits in a queue that has one sender.
///
/// The channel says how many messages have not been taken; the ledger remembers how
/// long those are.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    lengths: VecDeque<usize>,
    bytes: usize,
}

impl Ledger {
    /// Waits until `length` more bytes fit, or nothing waits at all.
    ///
    /// # Errors
    /// Where nobody takes messages any more.
    pub(crate) async fn room(
        &mut self,
        queue: &mpsc::Sender<Frame>,
        length: usize,
    ) -> Result<(), mpsc::error::SendError<()>> {
        loop {
            self.settle(queue);
            if self.lengths.is_empty() || self.bytes + length <= MOST {
                return Ok(());
            }
            let mut over = (self.bytes + length).saturating_sub(MOST);
            let old = self.lengths.iter().take_while(|length| {
                let is_due = over > 0;
                over = over.saturating_sub(**length);
                is_due
            });
            let free = queue.max_capacity() - self.lengths.len() + old.count();
            queue.reserve_many(free).await?;
        }
    }

    /// A message of this length was sent.
    pub(crate) fn sent(&mut self, length: usize) {
        self.lengths.push_back(length);
        self.bytes += length;
    }

    /// Forgets what was taken.
    fn settle(&mut self, queue: &mpsc::Sender<Frame>) {
        let waiting = queue.max_capacity() - queue.capacity();
        while self.lengths.len() > waiting {
            self.bytes -= self.lengths.pop_front().unwrap_or_default();
        }
    }
}

/// The sending end of a queue, for several senders, with its ledger.
#[derive(Debug)]
pub(super) struct Outlet {
    queue: mpsc::Sender<Frame>,
    ledger: Mutex<Ledger>,
}

impl Outlet {
    pub(super) fn new(queue: mpsc::Sender<Frame>) -> Self {
        Self { queue, ledger: Mutex::default() }
    }

    /// Sends once there is room.
    ///
    /// # Errors
    /// Where nobody takes messages any more.
    pub(super) async fn send(&self, frame: Frame) -> Result<(), mpsc::error::SendError<()>> {
        // Whoever comes next waits behind this one: the order of messages is kept.
        let mut ledger = self.ledger.lock().await;
        let length = frame.body.len();
        ledger.room(&self.queue, length).await?;
        let place = self.queue.reserve().await?;
        place.send(frame);
        ledger.sent(length);
        Ok(())
    }

    /// The queue itself, for messages without bytes.
    pub(super) fn queue(&self) -> &mpsc::Sender<Frame> {
        &self.queue
    }

    /// Waits until nobody takes messages any more.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::transport::Exchange;

    fn frame(length: usize) -> Frame {
        Frame::line(Exchange::NONE, vec![b'x'; length])
    }

    /// Sends as many of these as there is room for; how many.
    fn filled(outlet: &Outlet, length: usize) -> usize {
        (0..1000).take_while(|_| outlet.send(frame(length)).now_or_never().is_some()).count()
    }

    #[test]
    fn a_queue_holds_so_many_bytes() {
        let (queue, mut taken) = mpsc::channel(256);
        let outlet = Outlet::new(queue);
        assert_eq!(filled(&outlet, MOST / 4), 4);
        for _ in 0..2 {
            taken.try_recv().unwrap();
        }
        assert_eq!(filled(&outlet, MOST / 4), 2);
        assert_eq!(filled(&outlet, 1), 0, "it is full to the byte");
        while taken.try_recv().is_ok() {}
        // One that is larger than all passes alone, and nothing behind it.
        assert_eq!(filled(&outlet, MOST + 1), 1);
        assert_eq!(filled(&outlet, 1), 0);
        taken.try_recv().unwrap();
        assert_eq!(filled(&outlet, 0), 256, "the count is bounded as ever");
    }

    #[test]
    fn nobody_waits_for_a_queue_that_is_gone() {
        let (queue, taken) = mpsc::channel(4);
        let outlet = Outlet::new(queue);
        assert_eq!(filled(&outlet, MOST), 1);
        drop(taken);
        assert!(outlet.send(frame(1)).now_or_never().unwrap().is_err());
    }
}
