//! Two ends in one process.

use tokio::sync::mpsc;

use super::{Connection, Tasks, connection::QUEUE};

/// The two ends of a leg: what one sends, the other receives.
pub fn pair() -> (Connection, Connection) {
    let (near_out, far_in) = mpsc::channel(QUEUE);
    let (far_out, near_in) = mpsc::channel(QUEUE);
    let close = std::sync::Arc::default();
    let near = Connection {
        outgoing: near_out,
        incoming: near_in,
        close: std::sync::Arc::clone(&close),
        tasks: Tasks::default(),
    };
    let far = Connection { outgoing: far_out, incoming: far_in, close, tasks: Tasks::default() };
    (near, far)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::{Exchange, Frame};

    #[tokio::test]
    async fn hands_over_and_ends() {
        let (near, mut far) = pair();
        let frame = Frame::line(Exchange(1), "{}");
        near.outgoing.send(frame.clone()).await.unwrap();
        assert_eq!(far.incoming.recv().await, Some(frame));
        drop(near);
        assert_eq!(far.incoming.recv().await, None);
    }
}
