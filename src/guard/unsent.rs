//! What waits for somebody to listen, within bounds.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::protocol::{Message, REFUSED, Shape, error_reply};

/// How many bytes may wait.
const BYTES: usize = 1 << 20;

/// How many messages may wait.
const MESSAGES: usize = 256;

/// Messages of a server that nobody listens to yet. The oldest make room.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    kept: VecDeque<Message>,
    bytes: usize,
}

impl Unsent {
    /// Keeps a message; gives what the server is answered where that left a
    /// request of its own without anybody to answer it.
    pub(super) fn keep(&mut self, message: Message) -> Option<Bytes> {
        self.bytes += message.raw().len();
        self.kept.push_back(message);
        let mut answer = None;
        while self.bytes > BYTES || self.kept.len() > MESSAGES {
            let gone = self.kept.pop_front()?;
            self.bytes -= gone.raw().len();
            if gone.shape() == Shape::Request {
                answer = Some(error_reply(gone.id(), REFUSED, "no client listens", None));
            }
        }
        answer
    }

    /// Everything that waits.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        self.bytes = 0;
        self.kept.drain(..).map(|message| message.raw().clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room_and_a_request_among_them_is_answered() {
        let mut unsent = Unsent::default();
        assert_eq!(unsent.keep(Message::new(r#"{"id":1,"method":"roots/list"}"#)), None);
        let note = Message::new(format!(r#"{{"method":"notifications/message","data":"{}"}}"#, "x".repeat(1000)));
        let told: Vec<_> = (0..2000).filter_map(|_| unsent.keep(note.clone())).collect();
        assert_eq!(told.len(), 1);
        assert_eq!(Message::new(told[0].clone()).id(), Some(&1.into()));
        assert_eq!((unsent.take().len(), unsent.bytes), (MESSAGES, 0));
        for _ in 0..3 {
            unsent.keep(Message::new(vec![b' '; BYTES / 2]));
        }
        assert_eq!(unsent.take().len(), 2);
    }
}
