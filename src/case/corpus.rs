//! A folder of cases with the server fixtures they use.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Case, CaseFile, expand, load, overlay};
use crate::{
    digest::Fingerprint,
    fixture::{self, GateProfile, Honest, LiveManifest, ServerFixture, Source, SourceError, Step, SurroundingsFixture},
};

/// Everything that is wrong with a corpus; nothing is run while there is any.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A folder can't be read.
    #[error("{path}: {error}")]
    Folder {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// Files with something wrong in them.
    #[error("{} file(s) with errors", .0.len())]
    Files(Vec<SourceError>),
}

/// The cases of a folder, expanded, with the fixtures they use.
#[derive(Debug)]
pub struct Corpus {
    /// Every variant, by id.
    pub cases: Vec<Arc<Case>>,
    /// The case files as authored, with their sources.
    pub files: Vec<(Source, CaseFile)>,
    /// Server fixtures by name.
    pub servers: BTreeMap<String, Arc<ServerFixture>>,
    /// What gates are told of the world outside, by name.
    pub surroundings: BTreeMap<String, SurroundingsFixture>,
    /// Manifests of live servers by name.
    pub live: BTreeMap<String, LiveManifest>,
    /// Profiles of gates by name.
    pub gates: BTreeMap<String, GateProfile>,
    /// Over every file of the corpus: names and bytes. Profiles of gates are no
    /// part of it: what is played is the same whichever gate it is played through.
    pub digest: Fingerprint,
}

impl Corpus {
    /// Loads `cases/` and `fixtures/` under `root`.
    ///
    /// # Errors
    /// With every file that is wrong, each with its place.
    pub fn load(root: &Path) -> Result<Self, CorpusError> {
        if !root.join("cases").is_dir() && !root.join("fixtures").is_dir() {
            let error = std::io::Error::new(std::io::ErrorKind::NotFound, "neither cases/ nor fixtures/ is there");
            return Err(CorpusError::Folder { path: root.display().to_string(), error });
        }
        let mut errors = Vec::new();
        let mut hashed = Vec::new();
        let servers = load_all(root, "fixtures/servers", fixture::load_server, &mut errors, &mut hashed)?;
        let servers: BTreeMap<_, _> = servers.into_iter().map(|(name, server)| (name, Arc::new(server))).collect();
        let surroundings =
            load_all(root, "fixtures/surroundings", fixture::load_surroundings, &mut errors, &mut hashed)?;
        let live = load_all(root, "fixtures/live", fixture::load_live, &mut errors, &mut hashed)?;
        let gates = load_all(root, "fixtures/gates", fixture::load_gate, &mut errors, &mut Vec::new())?;
        for policy in toml_files(&root.join("fixtures/policies"))? {
            let name = relative(root, &policy);
            hashed.push((name.clone(), Source::read(&policy, name).map_err(|error| CorpusError::Files(vec![error]))?));
        }

        let mut files = Vec::new();
        let mut cases: BTreeMap<String, Arc<Case>> = BTreeMap::new();
        let folder = root.join("cases");
        for path in toml_files(&folder)? {
            let source = match Source::read(&path, relative(root, &path)) {
                Ok(source) => source,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            hashed.push((source.name().to_owned(), source.clone()));
            let stem = relative(&folder, &path.with_extension(""));
            match read(&source, &stem, &servers, &surroundings, &errors) {
                Ok(None) => {}
                Ok(Some((file, variants))) => {
                    for case in variants {
                        cases.insert(case.id.as_str().to_owned(), Arc::new(case));
                    }
                    files.push((source, file));
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            check_twins(&files, &mut errors);
        }
        if !errors.is_empty() {
            return Err(CorpusError::Files(errors));
        }
        let digest = digest(&mut hashed);
        Ok(Self { cases: cases.into_values().collect(), files, servers, surroundings, live, gates, digest })
    }

    /// The cases that ride on any server, as they are played on the one with
    /// this honest call.
    ///
    /// # Errors
    /// With every file of which a variant no longer fits the model.
    pub fn on_live(&self, honest: &Honest) -> Result<Vec<Arc<Case>>, CorpusError> {
        let mut cases = BTreeMap::new();
        let mut errors = Vec::new();
        for (source, file) in self.files.iter().filter(|(_, file)| file.live) {
            match expand(source, file, Some(honest)) {
                Ok(variants) => {
                    cases.extend(variants.into_iter().map(|case| (case.id.as_str().to_owned(), Arc::new(case))));
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(cases.into_values().collect()) } else { Err(CorpusError::Files(errors)) }
    }
}

/// Every file of a folder of fixtures, by name.
fn load_all<T>(
    root: &Path,
    folder: &str,
    load: impl Fn(&Source) -> Result<T, SourceError>,
    errors: &mut Vec<SourceError>,
    hashed: &mut Vec<(String, Source)>,
) -> Result<BTreeMap<String, T>, CorpusError> {
    let mut loaded = BTreeMap::new();
    for path in toml_files(&root.join(folder))? {
        let read = Source::read(&path, relative(root, &path)).and_then(|source| {
            let fixture = load(&source)?;
            hashed.push((source.name().to_owned(), source));
            Ok(fixture)
        });
        match read {
            Ok(fixture) => {
                loaded.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), fixture);
            }
            Err(error) => errors.push(error),
        }
    }
    Ok(loaded)
}

/// Whether a file is among those that are wrong: what follows from that is no
/// error of its own.
fn is_broken(file: &str, errors: &[SourceError]) -> bool {
    errors.iter().any(|error| error.file() == file)
}

/// Reads a case; `None` where a fixture that it uses is wrong itself.
fn read(
    source: &Source,
    stem: &str,
    servers: &BTreeMap<String, Arc<ServerFixture>>,
    surroundings: &BTreeMap<String, SurroundingsFixture>,
    errors: &[SourceError],
) -> Result<Option<(CaseFile, Vec<Case>)>, SourceError> {
    let file = load(source, stem)?;
    for (index, server) in file.servers.iter().enumerate() {
        if !servers.contains_key(&server.fixture) {
            let wanted = format!("fixtures/servers/{}.toml", server.fixture);
            if is_broken(&wanted, errors) {
                return Ok(None);
            }
            let path = [Step::Key("servers"), Step::Index(index), Step::Key("fixture")];
            let error = source.error(&path, format!("there is no {wanted}"));
            return Err(match fixture::suggest(&server.fixture, servers.keys().map(String::as_str)) {
                Some(help) => error.with_help(help),
                None => error,
            });
        }
    }
    if let Some(name) = file.surroundings.as_ref().filter(|name| !surroundings.contains_key(*name)) {
        let wanted = format!("fixtures/surroundings/{name}.toml");
        if is_broken(&wanted, errors) {
            return Ok(None);
        }
        let error = source.error(&[Step::Key("surroundings")], format!("there is no {wanted}"));
        return Err(match fixture::suggest(name, surroundings.keys().map(String::as_str)) {
            Some(help) => error.with_help(help),
            None => error,
        });
    }
    let first = file.servers.first().and_then(|server| servers.get(&server.fixture));
    let variants = expand(source, &file, first.and_then(|fixture| fixture.honest.as_ref()))?;
    overlay::check(source, &file, &variants)?;
    Ok(Some((file, variants)))
}

fn check_twins(files: &[(Source, CaseFile)], errors: &mut Vec<SourceError>) {
    for (source, file) in files {
        let Some(twin) = &file.twin else { continue };
        let found = files.iter().find(|(_, other)| other.id == *twin);
        let problem = match found {
            None => format!("there is no case '{twin}'"),
            Some((_, other)) if other.kind == super::Kind::Attack => {
                format!("'{twin}' is an attack; a twin is honest")
            }
            Some(_) => continue,
        };
        let error = source.error(&[Step::Key("twin")], problem);
        let ids = files.iter().map(|(_, other)| other.id.as_str());
        errors.push(match fixture::suggest(twin.as_str(), ids) {
            Some(help) if found.is_none() => error.with_help(help),
            _ => error,
        });
    }
}

fn digest(hashed: &mut [(String, Source)]) -> Fingerprint {
    use std::fmt::Write as _;
    hashed.sort_by(|a, b| a.0.cmp(&b.0));
    let mut text = String::new();
    for (name, source) in hashed.iter() {
        // One line a file, so that no name can run into another's content.
        let _ = writeln!(text, "{} {name}", Fingerprint::of(source.text().as_bytes()));
    }
    Fingerprint::of(text.as_bytes())
}

/// The `.toml` files under a folder, sorted; none where there is no such folder.
fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let unreadable = |error| CorpusError::Folder { path: folder.display().to_string(), error };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            out.extend(toml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
