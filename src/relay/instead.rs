//! What a client gets on HTTP in the place of the server's response.

use std::sync::Arc;

use bytes::Bytes;

use super::exchanges::Waiting;
use crate::transport::{Carrier, Exchange, Form, Frame, Headers, http};

/// What answers an exchange in the server's place.
pub(super) fn answered(exchange: Exchange, waiting: Waiting) -> Frame {
    match waiting.unanswered() {
        Some(body) => json(exchange, 200, body),
        None => http::accepted(exchange),
    }
}

/// What a client gets for a success that holds nothing: what asks for an answer is
/// answered under its id, and anything else is accepted, whichever success it was.
pub(super) fn nothing(frame: &Frame, waiting: Waiting) -> Frame {
    if waiting.ids.is_empty() && waiting.held.is_empty() {
        let head = frame.reply_head().map(|head| head.headers.clone()).unwrap_or_default();
        return http::whole(frame.exchange, 202, head, Bytes::new());
    }
    answered(frame.exchange, waiting)
}

/// What a client gets where the server can't be reached, or broke off: whoever waits
/// learns it under the request's id, unless the stream may go on elsewhere.
pub(super) fn broken_off(frame: Frame, waiting: Waiting) -> Vec<Frame> {
    let exchange = frame.exchange;
    match (waiting.begun, waiting.unanswered()) {
        (true, Some(body)) => vec![http::event(exchange, Headers::new(), body), http::end(exchange)],
        (false, Some(body)) => vec![json(exchange, 502, body)],
        (_, None) => {
            let headers = frame.reply_head().map(|head| head.headers.clone()).unwrap_or_default();
            vec![http::whole(exchange, 502, headers, frame.body)]
        }
    }
}

pub(super) fn event_like(frame: &Frame) -> Frame {
    let carrier = match &frame.carrier {
        Carrier::Reply { head, .. } => Carrier::Reply { head: Arc::clone(head), form: Form::Event, mark: None },
        other => other.clone(),
    };
    Frame { carrier, ..frame.clone() }
}

pub(super) fn json(exchange: Exchange, status: u16, body: Bytes) -> Frame {
    http::whole(exchange, status, vec![("content-type".to_owned(), "application/json".to_owned())], body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Id, Message};

    const ON: Exchange = Exchange(7);

    fn waiting(ids: &[i64]) -> Waiting {
        Waiting { ids: ids.iter().copied().map(Id::from).collect(), ..Waiting::default() }
    }

    /// Status, form, and the id of the error in it.
    fn said(frame: &Frame) -> (u16, Form, Option<String>) {
        let Carrier::Reply { head, form, .. } = &frame.carrier else { panic!("{frame:?}") };
        let message = Message::new(frame.body.clone());
        (head.status, *form, message.error().and(message.id()).map(Id::to_json))
    }

    #[test]
    fn an_empty_success_answers_who_asks_and_accepts_what_does_not() {
        for status in [200, 202, 204] {
            let headers = vec![("x-note".to_owned(), "kept".to_owned())];
            let empty = http::whole(ON, status, headers.clone(), Bytes::new());
            assert_eq!(said(&nothing(&empty, waiting(&[3]))), (200, Form::Whole, Some("3".to_owned())));
            let accepted = nothing(&empty, waiting(&[]));
            assert_eq!(said(&accepted), (202, Form::Whole, None));
            assert_eq!(accepted.reply_head().unwrap().headers, headers);
        }
    }

    #[test]
    fn a_server_that_breaks_off_leaves_nobody_waiting() {
        let broken = || http::whole(ON, http::UNREACHABLE, Headers::new(), "gone");
        let told = broken_off(broken(), waiting(&[3]));
        assert_eq!(told.iter().map(said).collect::<Vec<_>>(), [(502, Form::Whole, Some("3".to_owned()))]);
        // Where a stream has begun, it brings the answer and ends.
        let told = broken_off(broken(), Waiting { begun: true, ..waiting(&[3]) });
        let last = (200, Form::End, None);
        assert_eq!(told.iter().map(said).collect::<Vec<_>>(), [(200, Form::Event, Some("3".to_owned())), last]);
        // Who asked for nothing, or goes on elsewhere, sees the break itself.
        for nobody in [waiting(&[]), Waiting { begun: true, resumes: true, ..waiting(&[3]) }] {
            let told = broken_off(broken(), nobody);
            assert_eq!(told.iter().map(said).collect::<Vec<_>>(), [(502, Form::Whole, None)]);
        }
    }
}
