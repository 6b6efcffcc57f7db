//! Every address on the network that an event names, where it would be fetched.

use std::ops::Range;

use super::{
    EgressPolicy, Event, Hop, InFlight, KnownTool, Listing, Passing, ServerPolicy, check, icons,
    marked::each_marked,
    urls::{self, Site, Slip},
};
use crate::protocol::{
    Direction, Message, Shape, meta,
    strict::{self, Kind, Node},
};

/// Where an address stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// In a request: in an argument, or as the resource that is read.
    Request,
    /// Where a redirect leads.
    Hop,
    /// In a result, as the address of a resource or its icon.
    Link,
    /// As the icon of the listing's item at this index.
    Icon(usize),
    /// As an icon of the server itself, in this array of icons.
    ServerIcon(Range<usize>),
}

/// An address on the network that an event names.
#[derive(Clone, Debug)]
pub struct Outward {
    /// Where it stands.
    pub place: Where,
    /// Where it leads.
    pub(super) site: Result<Site, Slip>,
}

/// What is known of the event that the addresses stand in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) policy: &'a ServerPolicy,
    pub(super) answered: Option<&'a InFlight>,
    pub(super) listing: Option<&'a Listing>,
    pub(super) tool: Option<&'a KnownTool>,
}

/// The addresses in an event, in order; none where the policy doesn't ask.
pub(super) fn of(event: &Event<'_>, known: Known<'_>) -> Vec<Outward> {
    let Some(policy) = &known.policy.egress else { return Vec::new() };
    let mut found = Found { policy, all: Vec::new() };
    match event {
        Event::Hop(Hop { from, to, .. }) if !is_same_origin(from, to) => {
            found.add(Where::Hop, urls::site(to, policy));
        }
        Event::Passing(Passing { direction: Direction::Requestward, .. }) => {
            if let Some(message) = check::acting_request(event) {
                found.in_request(message, known);
            }
        }
        Event::Passing(Passing { direction: Direction::Replyward, message, .. }) => found.in_reply(message, known),
        _ => {}
    }
    found.all
}

/// Whether a redirect leads nowhere new: to the origin that the host itself chose.
fn is_same_origin(from: &str, to: &str) -> bool {
    let origin = |text| url::Url::parse(text).ok().map(|url| url.origin()).filter(url::Origin::is_tuple);
    origin(from).is_some_and(|from| origin(to) == Some(from))
}

struct Found<'a> {
    policy: &'a EgressPolicy,
    all: Vec<Outward>,
}

impl Found<'_> {
    fn add(&mut self, place: Where, site: Result<Site, Slip>) {
        self.all.push(Outward { place, site });
    }

    fn in_request(&mut self, message: &Message, known: Known<'_>) {
        let Some(params) = message.params() else { return };
        each_value(params, &mut |text| {
            self.all.extend(
                urls::in_text(text, self.policy).into_iter().map(|site| Outward { place: Where::Request, site }),
            );
        });
        let Some(name) = message.called_tool() else { return };
        let marked = known.policy.tools.get(name).map_or(&[][..], |tool| &tool.urls);
        let declared = known.tool.and_then(|tool| tool.input_schema.as_deref()).map(declared).unwrap_or_default();
        let fields =
            marked.iter().map(|pointer| (pointer, false)).chain(declared.iter().map(|pointer| (pointer, true)));
        for (pointer, own) in fields {
            each_marked(message, pointer, &mut |node| match &node.kind {
                Kind::Null => {}
                // `2130706433` is a host, too.
                Kind::String(text) | Kind::Number(text) => {
                    self.add(Where::Request, urls::in_field(text, own, self.policy));
                }
                _ => self.add(Where::Request, Err(Slip::Odd)),
            });
        }
    }

    fn in_reply(&mut self, message: &Message, known: Known<'_>) {
        let Some(result) = message.result().filter(|_| message.shape() == Shape::Response) else { return };
        if let Some(listing) = known.listing {
            for (index, item) in listing.items.iter().enumerate() {
                self.icons(&item.node, &Where::Icon(index));
            }
            return;
        }
        match known.answered.map(|asked| asked.method.as_str()) {
            Some(method) if meta::is_opening(method) => {
                for info in named(result, "serverInfo") {
                    for icons in named(info, "icons") {
                        self.icon_list(icons, &Where::ServerIcon(icons.span.clone()));
                    }
                }
            }
            Some("tools/call" | "tasks/result") => {
                named(result, "content").flat_map(Node::items).for_each(|block| self.block(block));
            }
            Some("prompts/get") => {
                for content in named(result, "messages").flat_map(Node::items).flat_map(|one| named(one, "content")) {
                    self.block(content);
                    content.items().iter().for_each(|block| self.block(block));
                }
            }
            Some("resources/read") => {
                for uri in named(result, "contents").flat_map(Node::items).flat_map(|one| named(one, "uri")) {
                    self.link(uri);
                }
            }
            _ => {}
        }
    }

    /// A block of content: a link to a resource, or a resource.
    fn block(&mut self, block: &Node) {
        let is = |kind: &str| named(block, "type").any(|node| node.as_str() == Some(kind));
        if is("resource_link") {
            named(block, "uri").for_each(|uri| self.link(uri));
            self.icons(block, &Where::Link);
        }
        if is("resource") {
            named(block, "resource").flat_map(|inner| named(inner, "uri")).for_each(|uri| self.link(uri));
        }
    }

    fn link(&mut self, uri: &Node) {
        let site = uri.as_str().map_or(Err(Slip::Odd), |text| urls::in_link(text, self.policy));
        self.add(Where::Link, site);
    }

    fn icons(&mut self, node: &Node, place: &Where) {
        named(node, "icons").for_each(|icons| self.icon_list(icons, place));
    }

    fn icon_list(&mut self, icons: &Node, place: &Where) {
        for source in icons.items().iter().flat_map(|icon| named(icon, "src")) {
            let site = match source.as_str() {
                Some(text) if icons::is_picture(text) => continue,
                Some(text) if text.trim_start().get(..5).is_some_and(|head| head.eq_ignore_ascii_case("data:")) => {
                    Err(Slip::Icon)
                }
                Some(text) => urls::site(text, self.policy),
                None => Err(Slip::Odd),
            };
            self.add(place.clone(), site);
        }
    }
}

/// Every member of this name: where it stands twice, two readers may choose two.
fn named<'a>(node: &'a Node, key: &'static str) -> impl Iterator<Item = &'a Node> {
    node.members().iter().filter(move |member| member.key == key).map(|member| &member.value)
}

fn each_value<'a>(node: &'a Node, visit: &mut dyn FnMut(&'a str)) {
    match &node.kind {
        Kind::String(text) => visit(text),
        Kind::Array(items) => items.iter().for_each(|item| each_value(item, visit)),
        Kind::Object(members) => members.iter().for_each(|member| each_value(&member.value, visit)),
        _ => {}
    }
}

/// Pointers to the arguments that a schema declares to be absolute URLs.
fn declared(schema: &str) -> Vec<String> {
    // Most schemas declare none, and needn't be read.
    if !["\"uri\"", "\"url\"", "\"iri\""].iter().any(|word| schema.contains(word)) || !schema.contains("\"format\"") {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Ok(document) = strict::parse(schema.as_bytes()) {
        declared_in(&document.root, "", &mut found);
    }
    found
}

fn declared_in(schema: &Node, at: &str, found: &mut Vec<String>) {
    if named(schema, "format").any(|format| matches!(format.as_str(), Some("uri" | "url" | "iri"))) {
        found.push(at.to_owned());
    }
    for property in named(schema, "properties").flat_map(Node::members) {
        let token = property.key.replace('~', "~0").replace('/', "~1");
        declared_in(&property.value, &format!("{at}/{token}"), found);
    }
    // Items are meant by the pointer to their array.
    named(schema, "items").for_each(|items| declared_in(items, at, found));
    for word in ["anyOf", "oneOf", "allOf"] {
        named(schema, word).flat_map(Node::items).for_each(|inner| declared_in(inner, at, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_urls_are_found_at_any_depth() {
        let schema = r#"{"properties":{"url":{"type":"string","format":"uri"},"pages":{"type":"array","items":{"format":"url"}},
            "deep":{"properties":{"a/b":{"anyOf":[{"format":"iri"},{"type":"null"}]}}},"format":{"type":"string"},
            "rel":{"format":"uri-reference"}}}"#;
        assert_eq!(declared(schema), ["/url", "/pages", "/deep/a~1b"]);
        assert!(declared(r#"{"properties":{"format":{"enum":["url"]}}}"#).is_empty());
    }
}
