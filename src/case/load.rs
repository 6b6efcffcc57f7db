//! Reads one case file and checks what the model alone can't.

use super::{CaseFile, Kind, Opening, Predicate, Step as Act};
use crate::{
    fixture::{Source, SourceError, Step},
    protocol::{ServerName, strict},
};

/// Reads a case as authored, before its variants are made. `stem` is its path
/// under the corpus without `.toml`, with `/` between its parts.
///
/// # Errors
/// With the place, where the file doesn't fit the model or contradicts itself.
pub fn load(source: &Source, stem: &str) -> Result<CaseFile, SourceError> {
    let case: CaseFile = source.parse()?;
    let at = |key| [Step::Key(key)];
    if case.schema != 1 {
        return Err(source.error(&at("schema"), format!("schema {} is unknown, expected 1", case.schema)));
    }
    let expected = stem.replace('/', ".");
    if case.id.as_str() != expected {
        return Err(source
            .error(&at("id"), format!("the id of this file must be '{expected}'"))
            .with_help("an id is the path under the corpus, with dots; ids are permanent, so move the file instead"));
    }
    if case.title.trim().is_empty() {
        return Err(source.error(&at("title"), "a title says what happens, in one line"));
    }
    if case.servers.is_empty() {
        return Err(source.error(&at("servers"), "a case needs at least one server"));
    }
    if case.transports.is_empty() || case.revisions.is_empty() {
        let key = if case.transports.is_empty() { "transports" } else { "revisions" };
        return Err(source.error(&at(key), "an empty list would never be played"));
    }
    for (index, server) in case.servers.iter().enumerate() {
        for (nth, overlay) in server.overlay.iter().enumerate() {
            let ways = [&overlay.merge, &overlay.patch, &overlay.replace, &overlay.append];
            if ways.iter().filter(|way| way.is_some()).count() != 1 {
                let path = [Step::Key("servers"), Step::Index(index), Step::Key("overlay"), Step::Index(nth)];
                return Err(source.error(&path, "an overlay has exactly one of merge, patch, replace and append"));
            }
        }
    }
    match case.kind {
        Kind::Attack if case.expect.harm.is_empty() => {
            return Err(source.error(&at("expect"), "an attack needs `harm`: what it means that it succeeded"));
        }
        Kind::Benign | Kind::Robustness if case.expect.utility.is_empty() => {
            return Err(source.error(&at("expect"), "this kind of case needs `utility`: what must still work"));
        }
        _ => {}
    }
    if case.kind == Kind::Attack && case.twin.is_none() {
        return Err(source.error(&at("kind"), "an attack needs a `twin`: the honest look-alike that must pass"));
    }
    labels(source, &case)?;
    launches(source, &case)?;
    bytes(source, &case)?;
    Ok(case)
}

/// A server behind a URL is not launched, so a case that is about a launch has
/// nothing to say on HTTP; and answers of the client are JSON.
fn launches(source: &Source, case: &CaseFile) -> Result<(), SourceError> {
    let http = case.transports.contains(&crate::transport::Kind::Http);
    let nowhere = |path: &[Step<'_>]| {
        source
            .error(path, "over HTTP no server is launched")
            .with_help("give the case `transports = [\"memory\", \"stdio\"]`")
    };
    for (index, server) in case.servers.iter().enumerate() {
        if http && server.launch.is_some() {
            return Err(nowhere(&[Step::Key("servers"), Step::Index(index), Step::Key("launch")]));
        }
    }
    for (index, step) in case.steps.iter().enumerate() {
        if let Act::Send(raw) = step
            && raw.verb != super::Verb::Post
            && case.transports != [crate::transport::Kind::Http]
        {
            let path = [Step::Key("steps"), Step::Index(index)];
            let error = source.error(&path, "only HTTP has methods beside POST");
            return Err(error.with_help("give the case `transports = [\"http\"]`"));
        }
        if let Act::Open(open) = step
            && let Some(opening) = open.opening.as_deref().filter(|text| !text.contains("{{"))
            && Opening::named(opening).is_none()
        {
            let path = [Step::Key("steps"), Step::Index(index), Step::Key("open"), Step::Key("opening")];
            let error = source.error(&path, format!("no opening is called '{opening}': {}", Opening::NAMES.join(", ")));
            return Err(match crate::fixture::suggest(opening, Opening::NAMES) {
                Some(help) => error.with_help(help),
                None => error,
            });
        }
        if let Act::Open(open) = step
            && http
            && open.launch.is_some()
        {
            return Err(nowhere(&[Step::Key("steps"), Step::Index(index)]));
        }
    }
    for (method, text) in case.host.answers.iter().filter(|(_, text)| !text.contains("{{")) {
        if let Err(error) = strict::parse(text.as_bytes()) {
            return Err(source.json_error(&[Step::Key("host"), Step::Key("answers"), Step::Key(method)], &error));
        }
    }
    Ok(())
}

/// In memory there are no bytes between messages, and what a server writes before
/// it was asked needs a stream.
fn bytes(source: &Source, case: &CaseFile) -> Result<(), SourceError> {
    use crate::transport::Kind;

    let plays_on = |kind| case.transports.contains(&kind);
    let without = |path: &[Step<'_>], what: &str, help: &'static str| Err(source.error(path, what).with_help(help));
    for (index, server) in case.servers.iter().enumerate() {
        let at = [Step::Key("servers"), Step::Index(index)];
        let written = server.greeting.iter().find_map(|piece| piece.problem(false));
        if let Some(problem) = written.or_else(|| server.faults.iter().find_map(super::Fault::problem)) {
            return Err(source.error(&at, problem));
        }
        if plays_on(Kind::Memory) && server.faults.iter().any(|fault| !fault.wire.is_empty()) {
            return without(&at, "in memory there are no bytes to write", NO_MEMORY);
        }
        let early = !server.greeting.is_empty() || server.stderr.is_some();
        if early && case.transports != [Kind::Stdio] {
            let what = "only on stdio a server says something before it was asked";
            return without(&at, what, "give the case `transports = [\"stdio\"]`");
        }
    }
    if plays_on(Kind::Http) && case.steps.iter().any(super::script::ends) {
        let what = "a client's HTTP request is no stream that could end before the session";
        return without(&[Step::Key("steps")], what, "give the case `transports = [\"stdio\"]`");
    }
    if plays_on(Kind::Memory) && case.steps.iter().any(super::script::is_exact) {
        return without(&[Step::Key("steps")], "in memory there are no bytes to write", NO_MEMORY);
    }
    Ok(())
}

/// What to do about bytes in memory.
const NO_MEMORY: &str = "give the case `transports = [\"stdio\"]`, `[\"http\"]` or both";

/// Every label that an expectation names must be a step's.
fn labels(source: &Source, case: &CaseFile) -> Result<(), SourceError> {
    let known = super::script::labels(&case.steps);
    let check = |label: &str, path: &[Step<'_>]| {
        if known.iter().any(|(name, _)| name == label) {
            return Ok(());
        }
        let names: Vec<_> = known.iter().map(|(name, _)| name.as_str()).collect();
        let error = source.error(path, format!("no step is called '{label}'; there are {}", names.join(", ")));
        Err(match crate::fixture::suggest(label, names) {
            Some(help) => error.with_help(help),
            None => error,
        })
    };
    for (list, predicates) in
        [("control", &case.expect.control), ("harm", &case.expect.harm), ("utility", &case.expect.utility)]
    {
        for (index, predicate) in predicates.iter().enumerate() {
            for label in labels_in(predicate) {
                check(label, &[Step::Key("expect"), Step::Key(list), Step::Index(index)])?;
            }
        }
    }
    if let Some(refusal) = &case.expect.refusal {
        check(&refusal.of, &[Step::Key("expect"), Step::Key("refusal"), Step::Key("of")])?;
    }
    for (index, step) in case.steps.iter().enumerate() {
        steps(source, case, step, &mut vec![Step::Key("steps"), Step::Index(index)])?;
    }
    Ok(())
}

/// A step and those in it: each must be playable.
fn steps(source: &Source, case: &CaseFile, step: &Act, path: &mut Vec<Step<'_>>) -> Result<(), SourceError> {
    let known = |name: &ServerName| case.servers.iter().any(|server| server.name_or_fixture() == *name);
    if let Some(server) = step.server().filter(|server| !known(server)) {
        return Err(source.error(path, format!("no server here is called '{server}'")));
    }
    if let Act::Call(call) = step
        && let Some(text) = call.arguments.as_deref().filter(|text| !text.contains("{{"))
        && let Err(error) = strict::parse(text.as_bytes())
    {
        path.extend([Step::Key("call"), Step::Key("arguments")]);
        return Err(source
            .json_error(path, &error)
            .with_help("arguments go on the wire as they stand; for broken JSON use a `send` step"));
    }
    if let Act::Send(raw) = step
        && let Some(problem) = raw.problem()
    {
        path.push(Step::Key("send"));
        return Err(source.error(path, problem));
    }
    if let Act::Repeat(repeat) = step
        && let Some(problem) = repeat.problem()
    {
        path.push(Step::Key("repeat"));
        return Err(source.error(path, problem));
    }
    for (index, inner) in step.inner().iter().enumerate() {
        let at: &[Step<'_>] = match step {
            Act::Repeat(repeat) if repeat.step.is_some() => &[Step::Key("repeat"), Step::Key("step")],
            Act::Repeat(_) => &[Step::Key("repeat"), Step::Key("steps"), Step::Index(index)],
            _ => &[Step::Key("together"), Step::Index(index)],
        };
        let before = path.len();
        path.extend_from_slice(at);
        steps(source, case, inner, path)?;
        path.truncate(before);
    }
    Ok(())
}

fn labels_in(predicate: &Predicate) -> Vec<&str> {
    match predicate {
        Predicate::Reply(reply) => vec![&reply.of],
        Predicate::Unchanged(step) => vec![&step.of],
        Predicate::Not(inner) => labels_in(inner),
        Predicate::Any(inner) => inner.iter().flat_map(labels_in).collect(),
        Predicate::ServerGot(_)
        | Predicate::ServerGotInOrder(_)
        | Predicate::ClientGot(_)
        | Predicate::State(_)
        | Predicate::Launched(_) => Vec::new(),
    }
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
servers = [{ fixture = "s" }]
steps = [{ open = {} }, { call = { tool = "x", arguments = '{"a": 1}' } }]
[expect]
utility = [{ reply = { of = "call-1", ok = true } }]
"#;

    #[track_caller]
    fn check(text: &str, line: usize, words: &str) {
        let error = load(&Source::new("a/b.toml", text), "a/b").unwrap_err();
        assert!(error.message().contains(words), "{error}");
        assert_eq!(error.line(), Some(line), "{error}");
    }

    #[test]
    fn mistakes_are_pointed_at() {
        assert!(load(&Source::new("a/b.toml", GOOD), "a/b").is_ok());
        check(&GOOD.replace("a.b", "a.c"), 3, "must be 'a.b'");
        check(&GOOD.replace("call-1", "cal-1"), 11, "no step is called 'cal-1'");
        check(&GOOD.replace(r#"{"a": 1}"#, r#"{"a": }"#), 9, "not JSON");
        check(&GOOD.replace("kind = \"benign\"", "kind = \"attack\"\ntwin = \"x\""), 11, "`harm`");
        check(&GOOD.replace("tool = \"x\"", "tol = \"x\""), 9, "unknown field `tol`");
        check(&GOOD.replace("{ open = {} }", "{ open = { server = \"z\" } }"), 9, "no server here");
        let repeated = |inner: &str| GOOD.replace("{ open = {} }", &format!("{{ open = {{}} }},\n{inner}"));
        check(&repeated("{ repeat = { times = 0, step = { list = {} } } }"), 10, "at least 1");
        let call = r#"{ repeat = { times = 2, step = { call = { tool = "x", arguments = '{"a": }' } } } }"#;
        check(&repeated(call), 10, "not JSON");
        check(&repeated("{ together = [{ list = { server = \"z\" } }] }"), 10, "no server here");
    }
}
