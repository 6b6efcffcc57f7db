//! The JSON that a result holds, wherever a client may read it.

use super::json::{is_plain, same_but_rounded};
use crate::protocol::strict::{self, Document, Kind, Node};

/// `structuredContent`, where it is given; some frameworks write null for absent.
pub(super) fn structured(result: &Node) -> Option<&Node> {
    result.member("structuredContent").filter(|node| node.kind != Kind::Null)
}

/// The JSON object or array in a text block.
pub(super) fn json_text(block: &Node) -> Option<Document> {
    let text = block.member("text").filter(|_| block.member("type").and_then(Node::as_str) == Some("text"))?;
    let json = strict::parse(text.as_str()?.as_bytes()).ok()?;
    matches!(json.root.kind, Kind::Object(_) | Kind::Array(_)).then_some(json)
}

/// Whether the text is what the structured content says. A tool that returns no
/// object has it wrapped as `{"result": …}` by some frameworks, which spread a
/// list over one block an item.
pub(super) fn halves_agree(structured: &Node, text: &Node) -> bool {
    if same_but_rounded(structured, text) {
        return true;
    }
    let [only] = structured.members() else { return false };
    let one_item = || matches!(only.value.items(), [item] if same_but_rounded(item, text));
    only.key == "result" && (same_but_rounded(&only.value, text) || one_item())
}

/// Hands every JSON value that a success holds to `judge`: its texts, and its
/// structured content unless that says the same. `Err(nothing)` where there is
/// none, or where some of the result is out of reach: prose beside JSON,
/// duplicate keys, skipped depths.
pub(super) fn each_json<E>(
    document: &Document,
    result: &Node,
    nothing: E,
    mut judge: impl FnMut(&Node) -> Result<(), E>,
) -> Result<(), E> {
    if !is_plain(document, result) {
        return Err(nothing);
    }
    let blocks = result.member("content").map_or(&[][..], Node::items);
    let texts: Vec<_> = blocks.iter().map(json_text).collect();
    let structured = structured(result);
    let has_json = texts.iter().any(Option::is_some);
    if (has_json && !texts.iter().all(Option::is_some)) || (!has_json && structured.is_none()) {
        return Err(nothing);
    }
    for text in texts.iter().flatten() {
        if !is_plain(text, &text.root) {
            return Err(nothing);
        }
        judge(&text.root)?;
    }
    match structured {
        // What says the same as a text that was judged is judged.
        Some(node) if !matches!(&texts[..], [Some(text)] if halves_agree(node, &text.root)) => judge(node),
        _ => Ok(()),
    }
}
