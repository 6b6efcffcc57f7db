//! Fills a fixture's JSON text from a request and the server's state.
//!
//! A string that is one placeholder becomes the value itself, spelled as it was
//! in the request; inside a longer string the value is put in as text. Text
//! without placeholders is used byte for byte.

use std::borrow::Cow;

use serde_json::Value;

use crate::protocol::{
    Message, Splice, apply_splices,
    strict::{self, Kind, Node},
};

/// What placeholders can name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) request: &'a Message,
    pub(super) state: &'a Value,
    pub(super) principal: &'a str,
    /// The server's `serverInfo`, as JSON text.
    pub(super) info: &'a str,
}

impl Scope<'_> {
    /// The raw JSON that a pointer names.
    fn raw(&self, pointer: &str) -> Option<String> {
        let (root, rest) = match pointer[1..].split_once('/') {
            Some((root, rest)) => (root, format!("/{rest}")),
            None => (&pointer[1..], String::new()),
        };
        let of_node = |node: Option<&Node>| {
            let span = node?.pointer(&rest)?.span.clone();
            Some(String::from_utf8_lossy(&self.request.raw()[span]).into_owned())
        };
        match root {
            "arguments" => of_node(self.request.params().and_then(|params| params.member("arguments"))),
            "params" => of_node(self.request.params()),
            "state" => self.state.pointer(&rest).map(Value::to_string),
            "info" => {
                let info: Value = serde_json::from_str(self.info).ok()?;
                info.pointer(&rest).map(Value::to_string)
            }
            "principal" => Some(Value::from(self.principal).to_string()),
            _ => None,
        }
    }
}

/// Fills every placeholder in `text`; one that names nothing becomes `null`.
pub(super) fn fill<'a>(text: &'a str, scope: &Scope<'_>) -> Cow<'a, str> {
    if !text.contains("{{") {
        return Cow::Borrowed(text);
    }
    let Ok(document) = strict::parse(text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut splices = Vec::new();
    collect(&document.root, scope, &mut splices);
    let filled = apply_splices(text.as_bytes(), &splices);
    Cow::Owned(String::from_utf8_lossy(&filled).into_owned())
}

fn collect(node: &Node, scope: &Scope<'_>, splices: &mut Vec<Splice>) {
    match &node.kind {
        Kind::String(text) if text.contains("{{") => {
            splices.push(Splice { span: node.span.clone(), with: fill_string(text, scope) });
        }
        Kind::Array(items) => items.iter().for_each(|item| collect(item, scope, splices)),
        Kind::Object(members) => members.iter().for_each(|member| collect(&member.value, scope, splices)),
        _ => {}
    }
}

/// The JSON that stands where the string stood.
fn fill_string(text: &str, scope: &Scope<'_>) -> String {
    if let Some(pointer) = whole(text) {
        return scope.raw(pointer).unwrap_or_else(|| "null".to_owned());
    }
    Value::from(fill_plain(text, scope)).to_string()
}

fn whole(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{{")?.strip_suffix("}}")?;
    (inner.starts_with('/') && !inner.contains("{{")).then_some(inner)
}

/// Fills placeholders in plain text: values as text, `json:` as JSON text.
pub(super) fn fill_plain(text: &str, scope: &Scope<'_>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        let (json, pointer) = name.strip_prefix("json:").map_or((false, name), |pointer| (true, pointer));
        if pointer.starts_with('/') {
            let raw = scope.raw(pointer).unwrap_or_else(|| "null".to_owned());
            match serde_json::from_str::<String>(&raw) {
                Ok(plain) if !json => out.push_str(&plain),
                _ => out.push_str(&raw),
            }
        } else {
            out.push_str("{{");
            out.push_str(name);
            out.push_str("}}");
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_spelling() {
        let request = Message::new(r#"{"params":{"arguments":{"n":1915883588174806058.0,"s":"a\"b"}}}"#);
        let state = serde_json::json!({"list": [1, {"x": "y"}]});
        let scope = Scope { request: &request, state: &state, principal: "rosa", info: r#"{"version":"2.4"}"# };
        let filled = |text: &str| fill(text, &scope).into_owned();
        assert_eq!(filled(r#"{"n":"{{/arguments/n}}"}"#), r#"{"n":1915883588174806058.0}"#);
        assert_eq!(filled(r#""for {{/principal}}: {{/arguments/s}}""#), r#""for rosa: a\"b""#);
        assert_eq!(filled(r#""{{json:/state/list}}!""#), r#""[1,{\"x\":\"y\"}]!""#);
        assert_eq!(filled(r#"["{{/state/nothing}}","{{/info/version}}"]"#), r#"[null,"2.4"]"#);
        assert_eq!(filled(r#"{ "kept" :  1.0 }"#), r#"{ "kept" :  1.0 }"#);
    }
}
