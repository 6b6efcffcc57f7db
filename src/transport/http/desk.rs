//! Requests that wait for their owner's answer, and streams that are open.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Frame as Piece, SizeHint};
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc, oneshot},
};

use super::{
    super::{Carrier, Exchange, Form, Frame, Mark, ReplyHead, Verb},
    headers, sse,
};

/// How many messages sent unasked wait for a stream to carry them.
const UNSENT: usize = 256;

/// How many bytes of them.
const UNSENT_BYTES: usize = 4 << 20;

/// How many bytes of a stream may wait for its client. One event alone may be larger.
pub(super) const UNREAD: usize = 16 << 20;

/// The pieces of a stream. Never waited for, so that one client which does not read
/// can't hold up the others: it is broken off where too much waits for it.
#[derive(Debug)]
struct Pieces {
    sender: mpsc::UnboundedSender<io::Result<Bytes>>,
    unread: Arc<AtomicUsize>,
    hang_up: Arc<Notify>,
}

impl Pieces {
    /// Sends an event; false where the client is gone, or is from now on.
    fn send(&self, event: Bytes) -> bool {
        let waits = self.unread.fetch_add(event.len(), Ordering::AcqRel);
        if waits > 0 && waits + event.len() > UNREAD {
            // Once: it is out of step from here on.
            if waits <= UNREAD {
                self.break_off();
            }
            return false;
        }
        self.sender.send(Ok(event)).is_ok()
    }

    /// Ends the stream so that its client knows that it isn't whole.
    fn break_off(&self) {
        if self.unread.load(Ordering::Acquire) > UNREAD {
            self.hang_up.notify_one();
        }
        let _ = self.sender.send(Err(io::Error::other("the stream broke off")));
    }
}

/// Where answers are handed in.
#[derive(Debug, Default)]
pub(super) struct Desk(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    closed: bool,
    slots: BTreeMap<Exchange, Slot>,
    unsent: VecDeque<Bytes>,
    unsent_bytes: usize,
}

#[derive(Debug)]
struct Slot {
    verb: Verb,
    stage: Stage,
    /// Closes the client's connection.
    hang_up: Arc<Notify>,
}

#[derive(Debug)]
enum Stage {
    Waiting(oneshot::Sender<Response<Body>>),
    Streaming(Pieces),
}

/// A client's claim on an answer; dropped with the client.
#[derive(Debug)]
pub(super) struct Ticket {
    desk: Arc<Desk>,
    to_owner: mpsc::Sender<Frame>,
    pub(super) exchange: Exchange,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.desk.state().slots.remove(&self.exchange).is_none() {
            return;
        }
        let gone = Frame { exchange: self.exchange, carrier: Carrier::Gone, body: Bytes::new() };
        if let Err(mpsc::error::TrySendError::Full(gone)) = self.to_owner.try_send(gone)
            && let Ok(runtime) = Handle::try_current()
        {
            let to_owner = self.to_owner.clone();
            runtime.spawn(async move { to_owner.send(gone).await });
        }
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request in; nothing once the desk is closed.
    pub(super) fn open(
        self: &Arc<Self>,
        verb: Verb,
        hang_up: &Arc<Notify>,
        to_owner: &mpsc::Sender<Frame>,
    ) -> Option<(Ticket, oneshot::Receiver<Response<Body>>)> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.last += 1;
        let exchange = Exchange(state.last);
        let (respond, answer) = oneshot::channel();
        state.slots.insert(exchange, Slot { verb, stage: Stage::Waiting(respond), hang_up: Arc::clone(hang_up) });
        Some((Ticket { desk: Arc::clone(self), to_owner: to_owner.clone(), exchange }, answer))
    }

    /// Whoever still waits gets no answer; streams end in order.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.slots.clear();
    }

    /// Hands in a frame of the owner. One that answers nobody is dropped.
    pub(super) fn answer(&self, frame: Frame) {
        let mut state = self.state();
        if frame.exchange == Exchange::NONE {
            if matches!(frame.carrier, Carrier::Line | Carrier::Reply { form: Form::Event, .. })
                && !frame.body.is_empty()
            {
                state.unasked(frame.body);
            }
            return;
        }
        let Some(slot) = state.slots.remove(&frame.exchange) else { return };
        let mark = frame.mark().cloned();
        if let Some(slot) = state.advance(slot, frame.carrier, frame.body, mark.as_ref()) {
            state.slots.insert(frame.exchange, slot);
        }
    }
}

impl State {
    /// What becomes of an exchange; nothing when this answer is its last.
    fn advance(
        &mut self,
        Slot { verb, stage, hang_up }: Slot,
        carrier: Carrier,
        body: Bytes,
        mark: Option<&Mark>,
    ) -> Option<Slot> {
        let pieces = match (stage, carrier) {
            (Stage::Waiting(respond), Carrier::Line) => {
                let _ = respond.send(json(body));
                return None;
            }
            (Stage::Waiting(respond), Carrier::Reply { head, form: Form::Whole, .. }) => {
                let _ = respond.send(response(&head, Body::Whole(Full::new(body))));
                return None;
            }
            (Stage::Waiting(respond), Carrier::Reply { head, form: form @ (Form::Event | Form::End), .. }) => {
                let pieces = start(&head, respond, Arc::clone(&hang_up))?;
                if form == Form::End {
                    return None;
                }
                if verb == Verb::Get {
                    self.unsent_bytes = 0;
                    for message in self.unsent.drain(..) {
                        pieces.send(sse::encode(&message));
                    }
                }
                pieces
            }
            (Stage::Streaming(pieces), Carrier::Line | Carrier::Reply { form: Form::Event, .. }) => pieces,
            (Stage::Streaming(pieces), Carrier::Reply { form: Form::Whole | Form::Stopped, .. }) => {
                pieces.break_off();
                return None;
            }
            // Ends a stream in order; stops an exchange without an answer.
            (Stage::Streaming(_), Carrier::Reply { form: Form::End, .. })
            | (Stage::Waiting(_), Carrier::Reply { form: Form::Stopped, .. }) => return None,
            // An owner asks nothing on an exchange that its client opened.
            (stage, Carrier::Request { .. } | Carrier::Exact(_) | Carrier::Gone) => {
                return Some(Slot { verb, stage, hang_up });
            }
        };
        if !body.is_empty() || mark.is_some() {
            pieces.send(sse::marked(mark, &body));
        }
        // One that is broken off goes with its client.
        Some(Slot { verb, stage: Stage::Streaming(pieces), hang_up })
    }

    /// A message that answers no request goes on one stream only, as the
    /// protocol asks: the GET stream that was opened last. Until there is one,
    /// it waits, because a client opens its stream after the handshake.
    fn unasked(&mut self, message: Bytes) {
        let event = sse::encode(&message);
        let carried = self.slots.values().rev().any(|slot| match &slot.stage {
            Stage::Streaming(pieces) if slot.verb == Verb::Get => pieces.send(event.clone()),
            _ => false,
        });
        if !carried {
            self.unsent_bytes += message.len();
            self.unsent.push_back(message);
            while self.unsent.len() > UNSENT || (self.unsent_bytes > UNSENT_BYTES && self.unsent.len() > 1) {
                self.unsent_bytes -= self.unsent.pop_front().map_or(0, |oldest| oldest.len());
            }
        }
    }
}

/// Begins a stream; nothing when the client is gone.
fn start(head: &ReplyHead, respond: oneshot::Sender<Response<Body>>, hang_up: Arc<Notify>) -> Option<Pieces> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let pieces = Pieces { sender, unread: Arc::default(), hang_up };
    let unread = Arc::clone(&pieces.unread);
    let mut response = response(head, Body::Events { pieces: receiver, unread, ticket: None });
    headers::default(response.headers_mut(), header::CONTENT_TYPE, sse::MEDIA_TYPE);
    respond.send(response).ok().map(|()| pieces)
}

fn response(head: &ReplyHead, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    match (StatusCode::from_u16(head.status), headers::map(&head.headers)) {
        (Ok(status), Ok(headers)) => {
            *response.status_mut() = status;
            *response.headers_mut() = headers;
        }
        // No such response exists on the wire.
        (Err(_), _) | (_, Err(_)) => return refusal(StatusCode::INTERNAL_SERVER_ERROR),
    }
    response
}

fn json(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Full::new(body)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer of the listener itself: a status and no body.
pub(super) fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Full::default()));
    *response.status_mut() = status;
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allow = [(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"))];
        *response.headers_mut() = HeaderMap::from_iter(allow);
    }
    response
}

/// The body of a response: known, or a stream.
#[derive(Debug)]
pub(super) enum Body {
    Whole(Full<Bytes>),
    Events {
        pieces: mpsc::UnboundedReceiver<io::Result<Bytes>>,
        /// How many bytes of them wait.
        unread: Arc<AtomicUsize>,
        /// Held so that the desk learns when the client goes away.
        ticket: Option<Ticket>,
    },
}

impl Body {
    /// The same body, which holds `held` for as long as it is read.
    pub(super) fn holding(mut self, held: Ticket) -> Self {
        if let Self::Events { ticket, .. } = &mut self {
            *ticket = Some(held);
        }
        self
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Piece<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Self::Events { pieces, unread, .. } => pieces.poll_recv(context).map(|piece| {
                if let Some(Ok(event)) = &piece {
                    unread.fetch_sub(event.len(), Ordering::AcqRel);
                }
                piece.map(|piece| piece.map(Piece::data))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(body) if body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Events { .. } => SizeHint::default(),
        }
    }
}
