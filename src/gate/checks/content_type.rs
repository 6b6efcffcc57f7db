//! `content-type`: replies over HTTP come in the media types that the host reads.

use super::CheckId;
use crate::{
    gate::{Check, Context, Docs, Event, Head, Passing, Proposals},
    protocol::{Direction, Shape},
};

/// See the module.
#[derive(Debug)]
pub(super) struct ContentType;

static DOCS: Docs = Docs {
    id: CheckId::new("content-type"),
    summary: "HTTP replies of a media type that the policy doesn't allow",
    leg: "replyward",
    what: "Reads a successful response (2xx) only if its one `Content-Type` is a media type of the policy's \
           `wire.media_types`: JSON and event streams unless it says otherwise, compared without parameters and in \
           any case of letters. A response that answers a request must have one; one without a body (202, 204) needs \
           none. The request is answered with the refusal before a byte of the body is read. A request's \
           `Accept-Encoding` reaches the server as `identity`: a compressed body would pass unread.",
    why: "Two readers of one response go by its media type: what one takes for a page, the next takes for a reply. A \
          host that takes whole JSON replies alone must not be handed a stream, in which a server may say more than \
          it was asked.",
    misses: "What the body really is. Error pages (not 2xx), which are the client's to act on. A reply without a \
             media type in the response to something that was no request.",
    example: "200 with `content-type: application/jsonp` and a JSON-RPC reply as its body",
    source: "T15; MCP basic/transports; RFC 9110 section 8.3; CWE-436",
    rules: &[
        ("media-type", "a response of a media type that is not allowed"),
        ("several", "a response with more than one media type"),
        ("no-media-type", "a response with a body and without a media type"),
        ("coding", "a compressed response, or a request that would let the server compress it"),
    ],
};

impl Check for ContentType {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        match event {
            Event::Head(Head { status: status @ 200..=299, headers, answers, .. }) => {
                if headers.iter().any(|(name, value)| name == "content-encoding" && !is_identity(value)) {
                    proposals.refuse("coding", "the server compressed its response, which it was not asked to");
                }
                // The answer to a request has a body, and must say what it is.
                let has_body = answers.is_some() && !matches!(status, 202 | 204 | 205);
                let mut types = media_types(headers);
                let (first, second) = (types.next(), types.next());
                match first {
                    _ if second.is_some() => {
                        proposals.refuse("several", "the server answered with more than one media type");
                    }
                    Some(media_type) if !context.policy(event).wire.allows_media_type(media_type) => {
                        proposals.refuse("media-type", "the server answered with a media type that is not allowed");
                    }
                    None if has_body => {
                        proposals.refuse("no-media-type", "the server answered without a media type");
                    }
                    _ => {}
                }
            }
            // A server may code a body only in a way that it was told of.
            Event::Passing(Passing { direction: Direction::Requestward, headers: Some(headers), .. })
                if headers.iter().any(|(name, value)| name == "accept-encoding" && !is_identity(value)) =>
            {
                let why = "the gate reads bodies as they are, and asks the server for them so";
                proposals.header("accept-encoding", Some("identity".to_owned()), "coding", why);
            }
            // What came where no reply was due. A reply was judged at its head,
            // which alone says whether it is an error page.
            Event::Passing(Passing { direction: Direction::Replyward, message, headers: Some(headers), .. })
                if message.shape() != Shape::Response && media_types(headers).next().is_none() =>
            {
                proposals.discard("no-media-type", "the server sent a message without a media type");
            }
            _ => {}
        }
    }
}

fn is_identity(codings: &str) -> bool {
    codings.trim().eq_ignore_ascii_case("identity")
}

fn media_types(headers: &[(String, String)]) -> impl Iterator<Item = &str> {
    headers.iter().filter(|(name, _)| name == "content-type").map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::{Driver, Outcome};

    const JSON_ALONE: &str = "[servers.board.wire]\nmedia_types = [\"application/json\"]\n";

    fn head(policy: &str, status: u16, types: &[&str]) -> Outcome {
        let headers: Vec<_> = types.iter().map(|value| ("content-type", *value)).collect();
        Driver::only("content-type", policy).head(status, &headers, Some(7))
    }

    #[test]
    fn json_and_event_streams_pass_in_any_spelling() {
        for media_type in [
            "application/json",
            "application/json; charset=utf-8",
            "Application/JSON;charset=UTF-8",
            " application/json ;x",
            "text/event-stream",
            "TEXT/EVENT-STREAM; charset=utf-8",
        ] {
            head("", 200, &[media_type]).passes();
        }
    }

    #[test]
    fn compressed_responses_are_neither_asked_for_nor_read() {
        let head = |coding: &str| {
            let headers = [("content-type", "application/json"), ("content-encoding", coding)];
            Driver::only("content-type", "").head(200, &headers, Some(7))
        };
        head("identity").passes();
        for coding in ["gzip", "br", "identity, gzip", "x-unknown"] {
            head(coding).refuses("coding").answers("7");
        }
        let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        let asks = |coding: &str| Driver::only("content-type", "").ask_with(ping, &[("accept-encoding", coding)]);
        asks("identity").passes();
        for coding in ["gzip, deflate", "*", ""] {
            asks(coding).sets("accept-encoding", "identity");
        }
    }

    #[test]
    fn look_alikes_are_refused_under_the_requests_id() {
        for media_type in [
            "application/jsonp",
            "application/json-seq",
            "application/json, text/html",
            "application/json/x",
            "text/event-stream-x",
            "text/html; charset=utf-8",
            "text/plain; x=application/json",
            "application/octet-stream",
            "json",
            "",
        ] {
            head("", 200, &[media_type]).refuses("media-type").answers("7");
        }
        let mut gate = Driver::only("content-type", "");
        let said = gate.head(201, &[("content-type", "text/canary-77")], Some(7));
        said.refuses("media-type").never_says("canary");
    }

    #[test]
    fn the_strictest_policy_takes_json_alone() {
        head(JSON_ALONE, 200, &["application/json"]).passes();
        head(JSON_ALONE, 200, &["text/event-stream"]).refuses("media-type");
    }

    #[test]
    fn one_media_type_is_said_once() {
        head("", 200, &["application/json", "text/event-stream"]).refuses("several");
        head("", 200, &["application/json", "application/json"]).refuses("several");
    }

    #[test]
    fn a_body_needs_a_media_type_and_nothing_else_does() {
        head("", 200, &[]).refuses("no-media-type").answers("7");
        head("", 202, &[]).passes();
        head("", 204, &[]).passes();
        let mut gate = Driver::only("content-type", "");
        // A DELETE, or a notification that is accepted with 200.
        gate.head(200, &[], None).passes();
        let unasked = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        gate.tell_with(unasked, &[]).drops("no-media-type");
        gate.tell_with(unasked, &[("content-type", "text/event-stream")]).passes();
        gate.tell(unasked).passes();
    }

    #[test]
    fn error_pages_are_for_the_client() {
        for status in [400, 401, 404, 405, 503] {
            head("", status, &["text/html"]).passes();
            head("", status, &[]).passes();
        }
        let mut gate = Driver::only("content-type", "");
        gate.tell_with(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"no session"}}"#, &[]).passes();
    }
}
