//! Which server is meant, and what it lists now.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use serde::Deserialize;

use super::{
    super::{args::Common, exit, screen, screen::Screen, trouble},
    client::{Client, read_all},
};
use crate::{
    case::Overlay,
    endpoint::{Prototype, Scripted},
    fixture::{Source, SourceError, load_server, suggest},
    gate::{Definition, Owner, PinKind, Place},
    pins::{Shown, visible},
    protocol::{
        ServerName,
        strict::{self, Kind, Node},
    },
};

/// A server: a command that is started, a fixture, or a saved catalogue.
#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// What the server is called; a fixture's name unless given.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// A server fixture under `fixtures/servers`, without `.toml`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["catalogue"])]
    fixture: Option<String>,
    /// Changes to the fixture: a TOML file with `overlay = [{ … }]`.
    #[arg(long, value_name = "FILE", requires = "fixture")]
    overlay: Option<PathBuf>,
    /// A saved catalogue instead of a started server: JSON with `tools`,
    /// `prompts`, `resources`, `resourceTemplates` and `instructions`. The
    /// command behind `--`, or `--url`, says whose it is.
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// Where the server of a saved catalogue is reached.
    #[arg(long, value_name = "URL", requires = "catalogue", conflicts_with = "argv")]
    url: Option<String>,
    /// What the client says that it can do, as JSON: some servers list by it.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    capabilities: String,
    /// How many seconds the server may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// The command that starts the server; it is its identity, word by word.
    #[arg(last = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OverlayFile {
    overlay: Vec<Overlay>,
}

impl SourceArgs {
    /// Whose definitions they are, and the definitions; or says what is wrong.
    pub(super) fn read(&self, common: &Common, screen: &Screen) -> Result<(Owner, Shown), u8> {
        if strict::parse(self.capabilities.as_bytes()).is_err() {
            return Err(mistake("--capabilities is not JSON"));
        }
        if let Some(fixture) = &self.fixture {
            if !self.argv.is_empty() {
                return Err(mistake("a fixture is started by no command; leave one of the two away"));
            }
            return self.of_fixture(fixture, common, screen);
        }
        let Some(name) = &self.server else {
            return Err(mistake("which server? Say --server NAME and its command behind --, or --fixture NAME"));
        };
        let name = ServerName::new(name.as_str());
        let place = match (&self.url, self.argv.is_empty()) {
            (Some(url), _) => Place::Url(url.clone()),
            (None, false) => Place::Argv(self.argv.clone()),
            (None, true) if self.catalogue.is_some() => {
                return Err(mistake("whose catalogue is it? Say its command behind --, or its --url"));
            }
            (None, true) => return Err(mistake("which command starts it? Say it behind --")),
        };
        let shown = match &self.catalogue {
            Some(path) => {
                let bytes = std::fs::read(path).map_err(|error| mistake(&format!("{}: {error}", path.display())))?;
                catalogue(&bytes).map_err(|error| mistake(&format!("{}: {error}", path.display())))?
            }
            None => self.of_client(|timeout| Client::start(&self.argv, timeout), &name)?,
        };
        Ok((Owner { place, name }, shown))
    }

    fn of_fixture(&self, fixture: &str, common: &Common, screen: &Screen) -> Result<(Owner, Shown), u8> {
        let told = |error: SourceError| {
            screen::note(&trouble::graphical(&error, screen));
            exit::USAGE
        };
        let folder = common.corpus.join("fixtures/servers");
        let path = folder.join(format!("{fixture}.toml"));
        if !path.is_file() {
            let known: Vec<String> = std::fs::read_dir(&folder)
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
                .collect();
            let hint = suggest(fixture, known.iter().map(String::as_str)).map(|hint| format!("; {hint}"));
            return Err(mistake(&format!("there is no fixture '{fixture}'{}", hint.unwrap_or_default())));
        }
        let source = Source::read(&path, format!("fixtures/servers/{fixture}.toml")).map_err(told)?;
        let server = load_server(&source).map_err(told)?;
        let overlays = match &self.overlay {
            Some(path) => {
                let source = Source::read(path, path.display().to_string()).map_err(told)?;
                source.parse::<OverlayFile>().map_err(told)?.overlay
            }
            None => Vec::new(),
        };
        let prototype = Prototype::new(&server, &overlays, &[])
            .map_err(|error| mistake(&format!("the overlay does not fit: {error}")))?;
        let name = ServerName::new(self.server.as_deref().unwrap_or(fixture));
        let scripted = Scripted::new(Arc::new(prototype));
        let shown = self.of_client(|_| Ok(Client::scripted(scripted)), &name)?;
        // As the harness's own endpoints are reached in cases.
        let place = Place::Argv(vec!["gateproof-endpoint".to_owned(), name.to_string()]);
        Ok((Owner { place, name }, shown))
    }

    fn of_client(
        &self,
        start: impl FnOnce(Duration) -> Result<Client, String>,
        name: &ServerName,
    ) -> Result<Shown, u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| mistake(&format!("no runtime: {error}")))?;
        let read = runtime.block_on(async {
            let mut client = start(Duration::from_secs(self.timeout))?;
            let shown = read_all(&mut client, &self.capabilities).await;
            client.end().await;
            shown
        });
        read.map_err(|error| {
            screen::note(&format!("error: {name} could not be listed: {}", visible(&error)));
            exit::INCONCLUSIVE
        })
    }
}

fn mistake(what: &str) -> u8 {
    screen::note(&format!("error: {what}"));
    exit::USAGE
}

/// Reads a saved catalogue. What it doesn't hold, the server doesn't have.
fn catalogue(bytes: &[u8]) -> Result<Shown, String> {
    let document = strict::parse(bytes).map_err(|error| format!("not JSON: {error}"))?;
    if !matches!(document.root.kind, Kind::Object(_)) {
        return Err("a catalogue is an object".to_owned());
    }
    let lists = [
        ("tools", PinKind::Tool, "name"),
        ("prompts", PinKind::Prompt, "name"),
        ("resources", PinKind::Resource, "uri"),
        ("templates", PinKind::Template, "uriTemplate"),
        ("resourceTemplates", PinKind::Template, "uriTemplate"),
    ];
    let mut shown = Shown::default();
    shown.whole.insert(PinKind::Instructions);
    shown.whole.extend(lists.map(|(_, kind, _)| kind));
    for member in document.root.members() {
        if member.key == "instructions" {
            if member.value.kind != Kind::Null {
                shown.add((PinKind::Instructions, String::new()), Definition::of(bytes, &member.value));
            }
            continue;
        }
        let Some((_, kind, key)) = lists.iter().find(|(list, ..)| *list == member.key) else {
            return Err(format!("'{}' is no list of a catalogue", member.key.escape_debug()));
        };
        let Kind::Array(items) = &member.value.kind else {
            return Err(format!("'{}' is no array", member.key));
        };
        for item in items {
            match item.member(key).and_then(Node::as_str) {
                Some(name) => shown.add((*kind, name.to_owned()), Definition::of(bytes, item)),
                None => shown.unnamed += 1,
            }
        }
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_is_read_as_a_listing_is() {
        let text = r#"{"tools":[{"name":"a"},{"title":"no name"}],"resourceTemplates":[{"uriTemplate":"a:{b}"}],"instructions":"Hi."}"#;
        let shown = catalogue(text.as_bytes()).unwrap();
        assert_eq!((shown.definitions.len(), shown.unnamed), (3, 1));
        for (text, what) in [
            ("[]", "a catalogue is an object"),
            ("{\"tools\":null}", "'tools' is no array"),
            ("{\"tool\":[]}", "'tool' is no list of a catalogue"),
            ("{", "not JSON"),
        ] {
            assert!(catalogue(text.as_bytes()).unwrap_err().contains(what), "{text}");
        }
    }
}
