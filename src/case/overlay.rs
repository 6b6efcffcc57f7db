//! What a case may say that rides on any server's own definitions.

use super::{Case, CaseFile, Overlay, Predicate, Step as Act};
use crate::fixture::{Source, SourceError, Step};

/// Holds a case with `live = true` to what every server has: tools, of which
/// the first one is whatever it is, and `instructions`.
///
/// # Errors
/// With the place of what only its fixture has.
pub(super) fn check(source: &Source, file: &CaseFile, variants: &[Case]) -> Result<(), SourceError> {
    if !file.live {
        return Ok(());
    }
    if file.servers.len() > 1 {
        let path = [Step::Key("servers"), Step::Index(1)];
        return Err(source.error(&path, "a live case has one server: the live one takes its place"));
    }
    if file.host.user.is_some() {
        return Err(source.error(&[Step::Key("host")], "a live server knows none of a fixture's principals"));
    }
    if file.servers.iter().any(|server| !server.faults.is_empty()) {
        let path = [Step::Key("servers"), Step::Index(0), Step::Key("faults")];
        return Err(source.error(&path, "a live server has no faults; only what it lists can be changed"));
    }
    let expect = &file.expect;
    for (list, predicates) in [("control", &expect.control), ("harm", &expect.harm), ("utility", &expect.utility)] {
        if let Some(index) = predicates.iter().position(reads_state) {
            let path = [Step::Key("expect"), Step::Key(list), Step::Index(index)];
            return Err(source.error(&path, "nobody can look into a live server's state"));
        }
    }
    variants.iter().try_for_each(|case| overlays(source, case))
}

fn reads_state(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::State(_) | Predicate::Launched(_) => true,
        Predicate::Not(inner) => reads_state(inner),
        Predicate::Any(inner) => inner.iter().any(reads_state),
        _ => false,
    }
}

fn overlays(source: &Source, case: &Case) -> Result<(), SourceError> {
    let wrong = |path: &[Step<'_>], what: String| source.error(path, format!("{what} ({})", case.id));
    for (index, overlay) in case.body.servers.iter().flat_map(|server| &server.overlay).enumerate() {
        let path = [Step::Key("servers"), Step::Index(0), Step::Key("overlay"), Step::Index(index)];
        rides(overlay).map_err(|what| wrong(&path, what))?;
    }
    for (index, step) in case.body.steps.iter().enumerate() {
        let mutations = std::iter::once(step).chain(step.inner()).filter_map(|step| match step {
            Act::Mutate(mutation) => Some(mutation),
            _ => None,
        });
        for mutation in mutations {
            let path = [Step::Key("steps"), Step::Index(index), Step::Key("mutate"), Step::Key("overlay")];
            rides(&mutation.overlay).map_err(|what| wrong(&path, what))?;
        }
    }
    Ok(())
}

/// Whether an overlay can be made on any server's definitions.
fn rides(overlay: &Overlay) -> Result<(), String> {
    match overlay.tool.as_deref() {
        Some("*") => return Ok(()),
        Some(tool) => return Err(format!("other servers have no tool '{tool}'; say \"*\" for their first one")),
        None => {}
    }
    let json =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).map_err(|error| format!("not JSON: {error}"));
    if overlay.replace.is_some() {
        return Err("the whole of a live server's definitions can't be replaced".to_owned());
    }
    if let Some(text) = &overlay.merge
        && !json(text)?.as_object().is_some_and(|map| map.keys().all(|key| key == "instructions"))
    {
        return Err("on a live server, only `instructions` can be merged; patch `/tools` instead".to_owned());
    }
    if let Some(text) = &overlay.patch {
        let patch = json(text)?;
        let paths = |key| patch.as_array().into_iter().flatten().filter_map(move |step| step.get(key)?.as_str());
        let is_tool = |path: &str| path == "/tools" || path.starts_with("/tools/");
        if let Some(path) = paths("path").chain(paths("from")).find(|path| !is_tool(path)) {
            return Err(format!("on a live server, only `/tools` can be patched, not '{path}'"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
schema = 1
id = "a.b"
title = "t"
kind = "benign"
technique = "C12"
policy = "p"
live = true
steps = [
  { open = {} },
  { mutate = { overlay = { patch = '[{"op":"move","from":"/tools/0","path":"/tools/-"}]' } } },
]
servers = [
  { fixture = "s", overlay = [{ tool = "*", append = "x" }] },
]
[expect]
utility = [{ reply = { of = "open-1", ok = true } }]
"#;

    #[track_caller]
    fn check_text(text: &str) -> Result<(), SourceError> {
        let source = Source::new("a/b.toml", text);
        let file = super::super::load(&source, "a/b").unwrap();
        let variants = super::super::expand(&source, &file, None).unwrap();
        check(&source, &file, &variants)
    }

    #[track_caller]
    fn wrong(from: &str, to: &str, line: usize, words: &str) {
        let error = check_text(&GOOD.replace(from, to)).unwrap_err();
        assert!(error.message().contains(words), "{error}");
        assert_eq!(error.line(), Some(line), "{error}");
        let scripted = GOOD.replace("live = true", "").replace(from, to);
        assert!(check_text(&scripted).is_ok(), "a scripted case may say so");
    }

    #[test]
    fn what_only_a_fixture_has_is_pointed_at() {
        check_text(GOOD).unwrap();
        wrong("\"*\"", "\"x\"", 14, "no tool 'x'");
        wrong("/tools/-", "/prompts/0", 11, "not '/prompts/0'");
        wrong("tool = \"*\", append = \"x\"", "replace = '{}'", 14, "can't be replaced");
        wrong("tool = \"*\", append = \"x\"", "merge = '{\"tools\":[]}'", 14, "only `instructions`");
        wrong("append = \"x\" }]", "append = \"x\" }], faults = [{ method = \"ping\" }]", 14, "no faults");
        wrong(
            "{ reply = { of = \"open-1\", ok = true } }",
            "{ state = { pointer = \"\" } }",
            17,
            "live server's state",
        );
    }
}
