//! What a client of the stateless era says in headers beside the body.

use std::collections::BTreeMap;

use super::{Message, Mirror, encoded, strict::Node};

/// The arguments that tools want in headers (`x-mcp-header`), by tool.
#[derive(Clone, Debug, Default)]
pub struct Mirrors(BTreeMap<String, Vec<Mirror>>);

impl Mirrors {
    /// Takes in a page of tools.
    pub fn learn(&mut self, listing: &Message) {
        let tools = listing.result().and_then(|result| result.member("tools")).map(Node::items).unwrap_or_default();
        for tool in tools {
            if let (Some(name), Some(schema)) = (tool.member("name").and_then(Node::as_str), tool.member("inputSchema"))
            {
                self.0.insert(name.to_owned(), Mirror::in_schema(schema));
            }
        }
    }

    /// The headers of a message: names in lower case, and values.
    pub fn of(&self, message: &Message) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let Some(method) = message.method() else { return headers };
        headers.push(("mcp-method".to_owned(), encoded(method)));
        headers.extend(message.target().map(|target| ("mcp-name".to_owned(), encoded(target))));
        let tool = message.called_tool().and_then(|tool| self.0.get(tool));
        let arguments = message.params().and_then(|params| params.member("arguments"));
        let values = tool.into_iter().flatten().map(|mirror| (&mirror.header, mirror.value(arguments)));
        headers.extend(values.filter_map(|(header, value)| Some((header.clone(), encoded(&value?)))));
        headers
    }
}
