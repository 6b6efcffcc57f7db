//! Headers that belong to the message, told from those that belong to a hop.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::super::{Headers, header as first};

/// What each hop says for itself; never carried from one to the next.
const FRAMING: [&str; 10] = [
    "connection",
    "content-length",
    "date",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header (in lower case) belongs to the hop.
fn is_framing(name: &str) -> bool {
    FRAMING.contains(&name)
}

/// The headers that say something about the message. A value that is not UTF-8
/// is shown as well as it can be.
pub(super) fn carried(map: &HeaderMap) -> Headers {
    map.iter()
        .filter(|(name, _)| !is_framing(name.as_str()))
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}

/// The same headers for a hop of ours.
///
/// # Errors
/// Names the first header that no HTTP message can hold.
pub(super) fn map(headers: &Headers) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("header {name:?}: {error}"))?;
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|error| format!("the value of header {name}: {error}"))?;
        if !is_framing(key.as_str()) {
            map.append(key, value);
        }
    }
    Ok(map)
}

/// Sets a header that the message did not set itself.
pub(super) fn default(map: &mut HeaderMap, name: HeaderName, value: &'static str) {
    map.entry(name).or_insert(HeaderValue::from_static(value));
}

/// Whether these headers announce a stream of events.
pub(super) fn announce_events(headers: &Headers) -> bool {
    let media_type = first(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(super::sse::MEDIA_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn framing_stays_behind_and_the_rest_survives() {
        let all = headers(&[
            ("connection", "close"),
            ("mcp-name", "a"),
            ("mcp-name", "漢"),
            ("content-length", "3"),
            ("origin", "null"),
        ]);
        let kept = carried(&map(&all).unwrap());
        assert_eq!(kept, headers(&[("mcp-name", "a"), ("mcp-name", "漢"), ("origin", "null")]));
    }

    #[test]
    fn what_no_message_can_hold_is_named() {
        assert!(map(&headers(&[("a b", "")])).unwrap_err().contains("a b"));
        assert!(map(&headers(&[("x-split", "a\r\nb: c")])).unwrap_err().contains("x-split"));
    }

    #[test]
    fn event_streams_by_media_type() {
        assert!(announce_events(&headers(&[("content-type", "Text/Event-Stream; charset=utf-8")])));
        assert!(!announce_events(&headers(&[("content-type", "application/json")])));
        assert!(!announce_events(&headers(&[])));
    }
}
