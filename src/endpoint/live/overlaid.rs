//! Overlays on the replies of a real server, without IO.

use bytes::Bytes;
use serde_json::Value;

use super::super::{Catalogue, EndpointError, catalogue::Definition};
use crate::{
    case::Overlay,
    protocol::{Message, Splice, apply_splices, meta, strict::Node},
};

/// Which part of a reply overlays change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// The tools of a listing's first page.
    Tools,
    /// The `instructions` of an opening.
    Instructions,
}

/// The overlays of a trial, in order.
#[derive(Clone, Debug, Default)]
pub struct Overlaid {
    overlays: Vec<Overlay>,
    requests: u32,
    /// Changes to come, by the count of requests after which they take effect.
    due: Vec<(u32, Overlay)>,
    /// The tool of the honest call, which must not be the one that is changed.
    honest: String,
}

impl Overlaid {
    /// Changes that hold from the start.
    pub fn new(overlays: Vec<Overlay>, honest: impl Into<String>) -> Self {
        Self { overlays, honest: honest.into(), ..Self::default() }
    }

    /// One more change, at once or after `after` further requests.
    pub fn mutate(&mut self, overlay: &Overlay, after: Option<u32>) {
        match after {
            None | Some(0) => self.overlays.push(overlay.clone()),
            Some(after) => self.due.push((self.requests + after, overlay.clone())),
        }
    }

    /// Takes note of a request, and says what its reply is changed in.
    pub fn asked(&mut self, request: &Message) -> Option<Changes> {
        self.requests += 1;
        let requests = self.requests;
        self.overlays.extend(self.due.extract_if(.., |(at, _)| *at < requests).map(|(_, overlay)| overlay));
        match request.method()? {
            "tools/list" if request.params().and_then(|params| params.member("cursor")).is_none() => {
                Some(Changes::Tools)
            }
            method if meta::is_opening(method) => Some(Changes::Instructions),
            _ => None,
        }
    }

    /// The reply with the overlays on it. What they don't touch keeps its bytes.
    ///
    /// # Errors
    /// Where an overlay doesn't apply to what the server lists.
    pub fn change(&self, what: Changes, reply: &Message) -> Result<Bytes, EndpointError> {
        let splices = match (what, reply.result()) {
            (_, None) => Vec::new(),
            (Changes::Tools, Some(result)) => self.tools(result, reply.raw())?,
            (Changes::Instructions, Some(result)) => self.instructions(result)?,
        };
        if splices.is_empty() { Ok(reply.raw().clone()) } else { Ok(apply_splices(reply.raw(), &splices)) }
    }

    fn tools(&self, result: &Node, raw: &[u8]) -> Result<Vec<Splice>, EndpointError> {
        let Some(list) = result.member("tools") else { return Ok(Vec::new()) };
        let read = |item: &Node| Definition {
            name: item.member("name").and_then(Node::as_str).unwrap_or_default().to_owned(),
            text: String::from_utf8_lossy(&raw[item.span.clone()]).into(),
        };
        let before: Vec<Definition> = list.items().iter().map(read).collect();
        let mut catalogue = Catalogue { tools: before.clone(), ..Catalogue::default() };
        for overlay in self.overlays.iter().filter(|overlay| overlay.tool.is_some() || overlay.patch.is_some()) {
            let is_first = overlay.tool.as_deref() == Some("*");
            if is_first && catalogue.tools.first().is_some_and(|tool| tool.name == self.honest) {
                return Err(EndpointError::HonestTool(self.honest.clone()));
            }
            catalogue.overlay(overlay)?;
        }
        let after = catalogue.tools;
        if after.len() < before.len() {
            let texts: Vec<&str> = after.iter().map(|tool| &*tool.text).collect();
            return Ok(vec![Splice { span: list.span.clone(), with: format!("[{}]", texts.join(",")) }]);
        }
        let changed = list.items().iter().zip(before.iter().zip(&after)).filter(|(_, (old, new))| old != new);
        let mut splices: Vec<_> =
            changed.map(|(item, (_, new))| Splice { span: item.span.clone(), with: new.text.to_string() }).collect();
        for (index, added) in after.iter().enumerate().skip(before.len()) {
            let end = list.span.end - 1;
            let comma = if index == 0 { "" } else { "," };
            splices.push(Splice { span: end..end, with: format!("{comma}{}", added.text) });
        }
        Ok(splices)
    }

    fn instructions(&self, result: &Node) -> Result<Vec<Splice>, EndpointError> {
        let node = result.member("instructions");
        let before = node.and_then(Node::as_str).map(str::to_owned);
        let mut catalogue = Catalogue { instructions: before.clone(), ..Catalogue::default() };
        for overlay in self.overlays.iter().filter(|overlay| overlay.tool.is_none() && overlay.patch.is_none()) {
            catalogue.overlay(overlay)?;
        }
        if catalogue.instructions == before {
            return Ok(Vec::new());
        }
        let text = Value::from(catalogue.instructions.unwrap_or_default()).to_string();
        Ok(vec![if let Some(node) = node {
            Splice { span: node.span.clone(), with: text }
        } else {
            let end = result.span.end - 1;
            let comma = if result.members().is_empty() { "" } else { "," };
            Splice { span: end..end, with: format!("{comma}\"instructions\":{text}") }
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"{"result": {"tools": [{"name":"a", "x":5.0}, {"name" : "b", "description":"\u0062", "n":1e2}], "nextCursor":"2"}, "jsonrpc":"2.0","id":7}"#;

    fn overlay(tool: Option<&str>) -> Overlay {
        Overlay { tool: tool.map(str::to_owned), merge: None, patch: None, replace: None, append: None }
    }

    fn patch(text: &str) -> Overlay {
        Overlay { patch: Some(text.to_owned()), ..overlay(None) }
    }

    fn append(tool: Option<&str>, text: &str) -> Overlay {
        Overlay { append: Some(text.to_owned()), ..overlay(tool) }
    }

    #[track_caller]
    fn check(what: Changes, overlays: Vec<Overlay>, reply: &str, expected: &str) {
        let changed = Overlaid::new(overlays, "b").change(what, &Message::new(reply.to_owned())).unwrap();
        assert_eq!(String::from_utf8_lossy(&changed), expected);
    }

    #[test]
    fn untouched_definitions_keep_their_bytes() {
        check(Changes::Tools, Vec::new(), LISTING, LISTING);
        check(Changes::Tools, vec![append(None, "only instructions")], LISTING, LISTING);
        let first = r#"{"name":"a","x":5.0,"description":"!"}"#;
        let expected = LISTING.replace(r#"{"name":"a", "x":5.0}"#, first);
        check(Changes::Tools, vec![append(Some("*"), "!")], LISTING, &expected);
        let added = LISTING.replace("}], \"next", "},{\"name\":\"c\"}], \"next");
        check(Changes::Tools, vec![patch(r#"[{"op":"add","path":"/tools/-","value":{"name":"c"}}]"#)], LISTING, &added);
        let one = r#"{"result": {"tools": [{"name" : "b", "description":"\u0062", "n":1e2}], "nextCursor":"2"}, "jsonrpc":"2.0","id":7}"#;
        check(Changes::Tools, vec![patch(r#"[{"op":"remove","path":"/tools/0"}]"#)], LISTING, one);
        let moved = r#"[{"op":"move","from":"/tools/0","path":"/tools/-"}]"#;
        let expected = r#"{"result": {"tools": [{"name" : "b", "description":"\u0062", "n":1e2}, {"name":"a", "x":5.0}], "nextCursor":"2"}, "jsonrpc":"2.0","id":7}"#;
        check(Changes::Tools, vec![patch(moved)], LISTING, expected);
    }

    #[test]
    fn instructions_are_added_or_made_longer() {
        let opening = r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo": {},"instructions":"A"}}"#;
        check(Changes::Instructions, vec![append(None, "B")], opening, &opening.replace("\"A\"", "\"AB\""));
        check(Changes::Instructions, vec![append(Some("*"), "B")], opening, opening);
        let bare = r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo": {}}}"#;
        check(
            Changes::Instructions,
            vec![append(None, "B")],
            bare,
            r#"{"jsonrpc":"2.0","id":1,"result":{"serverInfo": {},"instructions":"B"}}"#,
        );
    }

    #[test]
    fn the_honest_tool_is_never_the_one_that_is_changed() {
        let overlaid = Overlaid::new(vec![append(Some("*"), "!")], "a");
        let error = overlaid.change(Changes::Tools, &Message::new(LISTING)).unwrap_err();
        assert_eq!(error, EndpointError::HonestTool("a".to_owned()));
    }

    #[test]
    fn later_pages_and_other_requests_are_left_alone() {
        let mut overlaid = Overlaid::default();
        let mut asked = |text: &'static str| overlaid.asked(&Message::new(text));
        assert_eq!(asked(r#"{"id":1,"method":"tools/list"}"#), Some(Changes::Tools));
        assert_eq!(asked(r#"{"id":1,"method":"tools/list","params":{"cursor":"2"}}"#), None);
        assert_eq!(asked(r#"{"id":1,"method":"ping"}"#), None);
        assert_eq!(asked(r#"{"id":1,"method":"initialize"}"#), Some(Changes::Instructions));
    }

    #[test]
    fn a_sleeper_waits_for_its_requests() {
        let mut overlaid = Overlaid::new(Vec::new(), "b");
        overlaid.mutate(&append(Some("*"), "!"), Some(1));
        let ping = Message::new(r#"{"id":1,"method":"ping"}"#);
        let listing = Message::new(LISTING);
        overlaid.asked(&ping);
        assert_eq!(overlaid.change(Changes::Tools, &listing).unwrap(), LISTING);
        overlaid.asked(&ping);
        assert_ne!(overlaid.change(Changes::Tools, &listing).unwrap(), LISTING);
    }
}
