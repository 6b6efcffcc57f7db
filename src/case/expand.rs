//! Makes the variants of a case: its matrix, and its hiding transforms.

use std::collections::BTreeMap;

use super::{Case, CaseFile, CaseId, hide};
use crate::fixture::{Honest, Source, SourceError, Step};

/// Placeholders that belong to faults, raw sends and repetitions, filled in at play.
const AT_PLAY: [&str; 6] = ["id", "result", "reply", "sent", "byte-count", "n"];

/// Placeholders that a server fills in: its `[honest]` table.
const HONEST: [&str; 3] = ["honest-tool", "honest-arguments", "honest-text"];

/// One choice of every axis, and of a transform.
type Choice<'a> = (Vec<(&'a str, &'a str, &'a str)>, Option<&'a str>);

/// Makes every variant of a case. A case without axes and transforms has one:
/// itself. `honest` is the honest call of the server that it is played on.
///
/// # Errors
/// With the place, where an axis or a transform is not what it should be, or
/// a variant no longer fits the model.
pub fn expand(source: &Source, file: &CaseFile, honest: Option<&Honest>) -> Result<Vec<Case>, SourceError> {
    for (axis, values) in &file.matrix {
        let path = [Step::Key("matrix"), Step::Key(axis)];
        if AT_PLAY.contains(&axis.as_str()) || HONEST.contains(&axis.as_str()) || axis == "hide" {
            return Err(source.error(&path, format!("'{axis}' is a placeholder of its own; name the axis otherwise")));
        }
        if values.is_empty() {
            return Err(source.error(&path, "an axis needs at least one value"));
        }
    }
    for (index, name) in file.transforms.iter().enumerate() {
        if hide::find(name).is_none() {
            let known: Vec<_> = hide::ALL.iter().map(|(name, _)| *name).collect();
            let error = source.error(
                &[Step::Key("transforms"), Step::Index(index)],
                format!("there is no transform '{name}'; there are {}", known.join(", ")),
            );
            return Err(match crate::fixture::suggest(name, known) {
                Some(help) => error.with_help(help),
                None => error,
            });
        }
    }
    let tree: toml::Table = source.parse()?;
    choices(file).into_iter().map(|choice| variant(source, file, &tree, &choice, honest)).collect()
}

fn choices(file: &CaseFile) -> Vec<Choice<'_>> {
    let mut combinations: Vec<Vec<(&str, &str, &str)>> = vec![Vec::new()];
    for (axis, values) in &file.matrix {
        combinations = combinations
            .into_iter()
            .flat_map(|chosen| {
                values.iter().map(move |(name, value)| {
                    let mut chosen = chosen.clone();
                    chosen.push((axis, name, value));
                    chosen
                })
            })
            .collect();
    }
    let transforms: Vec<_> =
        std::iter::once(None).chain(file.transforms.iter().map(|name| Some(name.as_str()))).collect();
    combinations
        .into_iter()
        .flat_map(|chosen| transforms.iter().map(move |transform| (chosen.clone(), *transform)))
        .collect()
}

fn variant(
    source: &Source,
    file: &CaseFile,
    tree: &toml::Table,
    (chosen, transform): &Choice<'_>,
    honest: Option<&Honest>,
) -> Result<Case, SourceError> {
    let mut parts: Vec<String> = chosen.iter().map(|(axis, name, _)| format!("{axis}={name}")).collect();
    parts.extend(transform.map(|name| format!("hide={name}")));
    let id = if parts.is_empty() { file.id.clone() } else { CaseId(format!("{}#{}", file.id, parts.join(","))) };
    let axes = chosen.iter().map(|(axis, _, value)| (*axis, *value)).collect();
    let filling = Filling { axes, transform: *transform, honest };
    let mut filled = toml::Table::new();
    for (key, value) in tree {
        let value = match key.as_str() {
            "matrix" => value.clone(),
            _ => fill(value, &filling)
                .map_err(|problem| source.error(&[Step::Key(key)], format!("{problem} (in the variant {id})")))?,
        };
        filled.insert(key.clone(), value);
    }
    let body: CaseFile = toml::Value::Table(filled)
        .try_into()
        .map_err(|error: toml::de::Error| source.error(&[], format!("the variant {id}: {}", error.message())))?;
    let mut pieces = body
        .servers
        .iter()
        .flat_map(|server| server.greeting.iter().chain(server.faults.iter().flat_map(|fault| &fault.wire)));
    if let Some(problem) = pieces.find_map(|piece| piece.problem(false)) {
        return Err(source.error(&[Step::Key("servers")], format!("the variant {id}: {problem}")));
    }
    Ok(Case { id, file: source.name().to_owned(), body })
}

/// What placeholders stand for in one variant.
struct Filling<'a> {
    axes: BTreeMap<&'a str, &'a str>,
    transform: Option<&'a str>,
    honest: Option<&'a Honest>,
}

impl Filling<'_> {
    /// The text to put in; `None` for what is no placeholder, or one that is
    /// filled in at play. A text put into JSON must be escaped there.
    fn text_of(&self, name: &str, in_json: bool) -> Result<Option<String>, String> {
        let escaped = |text: &str| {
            let quoted = serde_json::Value::from(text).to_string();
            if in_json { quoted[1..quoted.len() - 1].to_owned() } else { text.to_owned() }
        };
        if let Some(plain) = name.strip_prefix("hide:") {
            return Ok(Some(match self.transform.and_then(hide::find) {
                Some(_) if in_json && self.transform == Some("json-escapes") => hide::json_escapes(plain),
                Some(transform) => escaped(&transform(plain)),
                None => escaped(plain),
            }));
        }
        if let Some(value) = self.axes.get(name) {
            return Ok(Some((*value).to_owned()));
        }
        if HONEST.contains(&name) {
            let honest = self.honest.ok_or_else(|| {
                format!("'{{{{{name}}}}}' needs an [honest] table, which the first server's fixture doesn't have")
            })?;
            return Ok(Some(match name {
                "honest-tool" => escaped(&honest.tool),
                "honest-text" => escaped(&honest.text),
                _ => honest.arguments.clone(),
            }));
        }
        if is_word(name) && !AT_PLAY.contains(&name) {
            return Err(format!("'{{{{{name}}}}}' is no axis of the matrix"));
        }
        Ok(None)
    }
}

fn fill(value: &toml::Value, filling: &Filling<'_>) -> Result<toml::Value, String> {
    Ok(match value {
        toml::Value::String(text) => toml::Value::String(fill_text(text, filling)?),
        toml::Value::Array(items) => {
            toml::Value::Array(items.iter().map(|item| fill(item, filling)).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => toml::Value::Table(
            table
                .iter()
                .map(|(key, item)| Ok((fill_text(key, filling)?, fill(item, filling)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other.clone(),
    })
}

fn fill_text(text: &str, filling: &Filling<'_>) -> Result<String, String> {
    if !text.contains("{{") {
        return Ok(text.to_owned());
    }
    // Whether the string is JSON shows with every placeholder out of the way.
    let in_json = without_placeholders(text).trim_start().starts_with(['{', '[', '"']);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        let Some(end) = rest[start..].find("}}") else {
            out.push_str(&rest[start..]);
            return Ok(out);
        };
        let name = &rest[start + 2..start + end];
        match filling.text_of(name, in_json)? {
            Some(text) => out.push_str(&text),
            None => out.push_str(&rest[start..start + end + 2]),
        }
        rest = &rest[start + end + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

/// What comes after the placeholders that a text begins with.
fn without_placeholders(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((name, after)) = rest.strip_prefix("{{").and_then(|inner| inner.split_once("}}")) {
        if !(name.starts_with("hide:") || is_word(name)) {
            break;
        }
        rest = after;
    }
    rest
}

/// Whether a placeholder reads as a name, and not as JSON that happens to nest
/// (`{"a":{"b":{}}}`) or a fixture's pointer (`/arguments/id`).
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = r#"
schema = 1
id = "a.b"
title = "t {{limit}}"
kind = "benign"
technique = "C12"
policy = "p"
transforms = ["base64"]
servers = [{ fixture = "s", overlay = [{ tool = "x", merge = '{"description":"{{hide:say \"a\"}}"}' }] }]
steps = [{ call = { tool = "x", arguments = '{"limit":{{limit}},"o":{"p":{}}}' } }]
[matrix.limit]
one = "1"
text = '"1"'
[expect]
utility = [{ reply = { of = "call-1", ok = true } }]
"#;

    #[test]
    fn axes_and_transforms_multiply() {
        let source = Source::new("a/b.toml", CASE.replace("\\\"a\\\"", "a"));
        let file = super::super::load(&source, "a/b").unwrap();
        let cases = expand(&source, &file, None).unwrap();
        let ids: Vec<_> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["a.b#limit=one", "a.b#limit=one,hide=base64", "a.b#limit=text", "a.b#limit=text,hide=base64"]);
        assert_eq!(cases[2].body.title, "t \"1\"");
        let super::super::Step::Call(call) = &cases[2].body.steps[0] else { panic!() };
        assert_eq!(call.arguments.as_deref(), Some(r#"{"limit":"1","o":{"p":{}}}"#));
        for case in &cases {
            let merge = case.body.servers[0].overlay[0].merge.as_deref().unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(merge).is_ok(), "{merge}");
        }
    }

    #[test]
    fn a_placeholder_without_its_axis_is_an_error() {
        let source = Source::new("a/b.toml", CASE.replace("\"limit\":{{limit}}", "\"limit\":{{limt}}"));
        let file = super::super::load(&source, "a/b").unwrap();
        let error = expand(&source, &file, None).unwrap_err();
        assert!(error.message().contains("{{limt}}"), "{error}");
    }

    #[test]
    fn the_honest_call_is_the_servers() {
        let text = CASE.replace("\\\"a\\\"", "a").replace(
            "tool = \"x\", arguments",
            "tool = \"{{honest-tool}}\", meta = '{\"t\":\"{{honest-text}}\"}', arguments",
        );
        let source = Source::new("a/b.toml", text);
        let file = super::super::load(&source, "a/b").unwrap();
        let honest = Honest { tool: "sum".into(), arguments: "{}".into(), text: "4\"2".into() };
        let super::super::Step::Call(call) = &expand(&source, &file, Some(&honest)).unwrap()[0].body.steps[0] else {
            panic!()
        };
        assert_eq!((call.tool.as_str(), call.meta.as_deref()), ("sum", Some(r#"{"t":"4\"2"}"#)));
        let error = expand(&source, &file, None).unwrap_err();
        assert!(error.message().contains("[honest]") && error.line().is_some(), "{error}");
    }
}
