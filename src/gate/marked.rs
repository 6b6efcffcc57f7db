//! The arguments that a policy marks by a pointer.

use crate::protocol::{
    Message,
    strict::{Kind, Node},
};

/// Hands out every value that a pointer into a call's arguments means. Keys are
/// compared without their case, since some servers read them so, and a key that
/// stands twice means each of its values. Where an array stands on the way or at
/// the end, each of its items is meant.
pub(super) fn each_marked<'a>(message: &'a Message, pointer: &str, visit: &mut dyn FnMut(&'a Node)) {
    let Some(arguments) = message.params().and_then(|params| params.member("arguments")) else { return };
    let Some(rest) = pointer.strip_prefix('/') else { return };
    let tokens: Vec<String> = rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
    walk(arguments, &tokens, visit);
}

fn walk<'a>(node: &'a Node, tokens: &[String], visit: &mut dyn FnMut(&'a Node)) {
    match (&node.kind, tokens) {
        (Kind::Array(items), _) => items.iter().for_each(|item| walk(item, tokens, visit)),
        (Kind::Object(members), [first, rest @ ..]) => {
            for member in members.iter().filter(|member| member.key.eq_ignore_ascii_case(first)) {
                walk(&member.value, rest, visit);
            }
        }
        (_, []) => visit(node),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_mean_each_and_keys_have_no_case() {
        let text =
            r#"{"params":{"arguments":{"a":"1","A":"2","b":[["3"],"4"],"c":[{"d":"5"},{"D":"6","e":"7"}],"n":null}}}"#;
        let message = Message::new(text);
        let of = |pointer: &str| {
            let mut found = Vec::new();
            each_marked(&message, pointer, &mut |node| found.push(node.as_str().unwrap_or("null").to_owned()));
            found.join("")
        };
        for (pointer, found) in [("/a", "12"), ("/b", "34"), ("/c/d", "56"), ("/n", "null"), ("/x", ""), ("/a/b", "")] {
            assert_eq!(of(pointer), found, "{pointer}");
        }
    }
}
