//! A corpus made ready to play: policies compiled, servers made.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{Live, Outside};
use crate::{
    case::{Case, Corpus, CorpusError, Overlay},
    digest::Fingerprint,
    endpoint::Prototype,
    fixture::{Source, SourceError, Step},
    gate::{CheckId, Policy, Rules, SchemaCache, Told},
    protocol::ServerName,
};

/// A case with everything that its trials share.
#[derive(Debug)]
pub struct Prepared {
    /// The case.
    pub case: Arc<Case>,
    /// Its servers at the start, by name, with whether the client may open them.
    pub servers: BTreeMap<ServerName, Arc<Prototype>>,
    /// Its policy, compiled.
    pub rules: Rules,
    /// The world outside, as each of its gates is told of it afresh.
    pub surroundings: Told,
    /// The live server that takes the place of its fixture; then `servers` is empty.
    pub live: Option<Arc<Live>>,
    /// The gate that is played in the arm [`super::Arm::Outside`].
    pub outside: Option<Arc<Outside>>,
}

/// A corpus, ready to play.
#[derive(Debug)]
pub struct Suite {
    /// The corpus as loaded.
    pub corpus: Corpus,
    /// Every case, in the order of ids.
    pub cases: Vec<Arc<Prepared>>,
    /// Policies by name, with the file that each came from.
    pub policies: BTreeMap<String, (Source, Rules)>,
    /// The live server that the cases are played on.
    pub live: Option<Arc<Live>>,
    /// The gate that the cases are played through, where it is not gateproof's own.
    pub outside: Option<Arc<Outside>>,
}

/// Why a corpus can't be played.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A folder or case files.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
}

impl Suite {
    /// Loads `cases/` and `fixtures/` under `root` and makes them ready.
    ///
    /// # Errors
    /// With every file that is wrong, each with its place.
    pub fn load(root: &Path) -> Result<Self, PlanError> {
        let corpus = Corpus::load(root)?;
        let mut errors = Vec::new();
        let policies = load_policies(root, &mut errors);
        let mut cases = Vec::new();
        let sources: BTreeMap<&str, &Source> = corpus.files.iter().map(|(source, _)| (source.name(), source)).collect();
        let broken: Vec<String> = errors.iter().map(|error: &SourceError| error.file().to_owned()).collect();
        for case in &corpus.cases {
            if broken.contains(&format!("fixtures/policies/{}.toml", case.body.policy)) {
                continue;
            }
            match prepare(&corpus, &policies, case, sources.get(case.file.as_str()).copied()) {
                Ok(prepared) => cases.push(Arc::new(prepared)),
                // The variants of one file share its mistakes; one of each is enough.
                Err(error) if errors.iter().any(|known| is_same(known, &error)) => {}
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(CorpusError::Files(errors).into());
        }
        Ok(Self { corpus, cases, policies, live: None, outside: None })
    }

    /// Over every file of the corpus.
    pub fn digest(&self) -> Fingerprint {
        self.corpus.digest
    }
}

fn is_same(a: &SourceError, b: &SourceError) -> bool {
    a.file() == b.file() && a.line() == b.line()
}

/// Reads a policy and compiles it.
///
/// # Errors
/// With the place, where the file doesn't fit the model or can't be enforced.
pub fn load_policy(source: &Source, schemas: &Arc<SchemaCache>) -> Result<Rules, SourceError> {
    let policy: Policy = source.parse()?;
    Rules::new(policy, Arc::clone(schemas)).map_err(|error| {
        let path: Vec<_> = error.path.iter().map(|key| Step::Key(key)).collect();
        let found = source.error(&path, error.message.clone());
        match error.unknown.and_then(|(wrong, known)| crate::fixture::suggest(&wrong, known)) {
            Some(help) => found.with_help(help),
            None => found,
        }
    })
}

fn load_policies(root: &Path, errors: &mut Vec<SourceError>) -> BTreeMap<String, (Source, Rules)> {
    let schemas = Arc::new(SchemaCache::default());
    let mut policies = BTreeMap::new();
    let folder = root.join("fixtures/policies");
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let loaded = Source::read(&path, format!("fixtures/policies/{stem}.toml"))
            .and_then(|source| load_policy(&source, &schemas).map(|rules| (source, rules)));
        match loaded {
            Ok(loaded) => {
                policies.insert(stem, loaded);
            }
            Err(error) => errors.push(error),
        }
    }
    policies
}

fn prepare(
    corpus: &Corpus,
    policies: &BTreeMap<String, (Source, Rules)>,
    case: &Arc<Case>,
    source: Option<&Source>,
) -> Result<Prepared, SourceError> {
    let nowhere = Source::new(&case.file, "");
    let source = source.unwrap_or(&nowhere);
    let with_help = |error: SourceError, help: Option<String>| match help {
        Some(help) => error.with_help(help),
        None => error,
    };
    let Some((_, rules)) = policies.get(&case.body.policy) else {
        let error =
            source.error(&[Step::Key("policy")], format!("there is no fixtures/policies/{}.toml", case.body.policy));
        let known = policies.keys().map(String::as_str);
        return Err(with_help(error, crate::fixture::suggest(&case.body.policy, known)));
    };
    if let Some(by) = &case.body.by
        && CheckId::parse(by).is_none()
        && case.body.level == crate::case::Level::Must
    {
        let known = crate::gate::checks::ALL.iter().map(|check| check.docs().id.as_str());
        let error = source.error(&[Step::Key("by")], format!("there is no check '{by}'"));
        return Err(with_help(error, crate::fixture::suggest(by, known)));
    }
    let mut servers = BTreeMap::new();
    for (index, (name, server)) in case.servers().enumerate() {
        let Some(fixture) = corpus.servers.get(&server.fixture) else { continue };
        let prototype = Prototype::new(fixture, &server.overlay, &server.faults).map_err(|error| {
            let nth = failing(fixture, &server.overlay);
            let path = [Step::Key("servers"), Step::Index(index), Step::Key("overlay"), Step::Index(nth)];
            source.error(&path, format!("{error} ({})", case.id))
        })?;
        let prototype = prototype.greeting(&server.greeting, server.stderr.as_deref());
        let prototype = match &server.speaks {
            Some(revisions) => prototype.speaking(revisions),
            None => prototype,
        };
        servers.insert(name, Arc::new(prototype));
    }
    let surroundings = case.body.surroundings.as_ref().and_then(|name| corpus.surroundings.get(name));
    let surroundings = surroundings.map(|told| Told::new(told.names.clone(), told.links.clone())).unwrap_or_default();
    Ok(Prepared { case: Arc::clone(case), servers, rules: rules.clone(), surroundings, live: None, outside: None })
}

/// Which overlay is the one that doesn't apply.
fn failing(fixture: &crate::fixture::ServerFixture, overlays: &[Overlay]) -> usize {
    (0..overlays.len()).find(|&last| Prototype::new(fixture, &overlays[..=last], &[]).is_err()).unwrap_or(0)
}
