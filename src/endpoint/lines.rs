//! A scripted server on a connection without HTTP: memory and stdio.

use bytes::Bytes;
use tokio::sync::mpsc;

use super::Stage;
use crate::{
    protocol::{Direction, Leg, Message, ServerName},
    transcript::{Crossing, Dress, Event, Recorder},
    transport::{Connection, Exchange, Frame},
};

/// Serves `connection` until it ends. `principal` is who the launch was for.
pub async fn serve(
    stage: Stage,
    server: ServerName,
    principal: String,
    connection: Connection,
    mut unasked: mpsc::UnboundedReceiver<Bytes>,
    recorder: Recorder,
) {
    let Connection { outgoing, mut incoming, tasks, .. } = connection;
    let record = |direction, message: Message| {
        recorder.event(Event::Crossed(Crossing {
            leg: Leg::Upstream,
            direction,
            server: server.clone(),
            message,
            dress: Dress::default(),
        }));
    };
    loop {
        let says = tokio::select! {
            biased;
            frame = incoming.recv() => {
                let Some(frame) = frame else { break };
                let message = Message::new(frame.body);
                record(Direction::Requestward, message.clone());
                let served = stage.server().arrive(&principal, &message);
                if served.close {
                    break;
                }
                served.says
            }
            said = unasked.recv() => match said {
                Some(said) => vec![said],
                None => continue,
            },
        };
        for said in says {
            record(Direction::Replyward, Message::new(said.clone()));
            if outgoing.send(Frame::line(Exchange::NONE, said)).await.is_err() {
                break;
            }
        }
    }
    let reason = "the server's end is over".to_owned();
    recorder.event(Event::Closed { leg: Leg::Upstream, server, reason });
    drop(tasks);
}
