//! A live server made ready: what starts it here, and whether it is installed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{PlanError, Prepared, Suite};
use crate::{
    endpoint::live::Program,
    fixture::{Ecosystem, LiveManifest, Package},
};

/// What manifests call the folder that live servers are installed in.
const PLACEHOLDER: &str = "{live}";

/// A live server on this machine.
#[derive(Clone, Debug)]
pub struct Live {
    /// The manifest's name.
    pub name: String,
    /// The manifest.
    pub manifest: LiveManifest,
    /// What starts it.
    pub program: Program,
    /// Why it can't be played here; `None` where the pinned version is installed.
    pub missing: Option<String>,
}

impl Live {
    /// Makes a manifest ready. `folder` is the absolute path of the folder that
    /// live servers are installed in; `variable` gives environment variables.
    pub fn new(
        name: impl Into<String>,
        manifest: LiveManifest,
        folder: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let name = name.into();
        let env: BTreeMap<_, _> = manifest.env.iter().filter_map(|key| Some((key.clone(), variable(key)?))).collect();
        let program = Program {
            argv: in_folder(&manifest.command, &folder.to_string_lossy()),
            env,
            start: Duration::from_secs(manifest.start_seconds.into()),
        };
        let missing = missing(&name, &manifest, &program.argv, folder);
        Self { name, manifest, program, missing }
    }
}

/// A command's words with the live folder put in.
pub fn in_folder(words: &[String], folder: &str) -> Vec<String> {
    words.iter().map(|word| word.replace(PLACEHOLDER, folder)).collect()
}

fn missing(name: &str, manifest: &LiveManifest, argv: &[String], folder: &Path) -> Option<String> {
    let Package { name: package, version, .. } = &manifest.package;
    let server = package.rsplit('/').next().unwrap_or(package);
    let first = argv.first().map(PathBuf::from).unwrap_or_default();
    let found = installed(name, &manifest.package, folder).filter(|_| first.is_file());
    match found {
        Some(found) if found == *version => None,
        Some(found) => {
            Some(format!("{server} {found} is installed, {version} is pinned: run `gateproof live install {name}`"))
        }
        None => Some(format!("{server} is not installed: run `gateproof live install {name}`")),
    }
}

/// The version that is installed, by the registry's own record of it.
pub(super) fn installed(name: &str, package: &Package, folder: &Path) -> Option<String> {
    match package.ecosystem {
        Ecosystem::Npm => {
            let text = std::fs::read(folder.join("node_modules").join(&package.name).join("package.json")).ok()?;
            let record: serde_json::Value = serde_json::from_slice(&text).ok()?;
            record.get("version")?.as_str().map(str::to_owned)
        }
        Ecosystem::Pypi => {
            let prefix = format!("{}-", package.name.replace(['-', '.'], "_"));
            let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
            entries(folder.join(name).join("lib"))
                .flat_map(|python| entries(python.path().join("site-packages")))
                .filter_map(|entry| entry.file_name().into_string().ok())
                .find_map(|file| Some(file.strip_prefix(&prefix)?.strip_suffix(".dist-info")?.to_owned()))
        }
    }
}

impl Suite {
    /// The cases that ride on any server, on this one.
    ///
    /// # Errors
    /// With every file of which a variant no longer fits the model.
    pub fn on_live(mut self, live: Live) -> Result<Self, PlanError> {
        let live = Arc::new(live);
        let cases = self.corpus.on_live(&live.manifest.honest)?;
        let known = std::mem::take(&mut self.cases);
        self.cases = cases
            .into_iter()
            .filter_map(|case| {
                // The same ids as scripted: only what placeholders stand for differs.
                let scripted = known.iter().find(|prepared| prepared.case.id == case.id)?;
                let (rules, surroundings) = (scripted.rules.clone(), scripted.surroundings.afresh());
                let (servers, live) = (BTreeMap::new(), Some(Arc::clone(&live)));
                Some(Arc::new(Prepared { case, servers, rules, surroundings, live, outside: None }))
            })
            .collect();
        self.live = Some(live);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Source, load_live};

    fn manifest(ecosystem: &str, pinned: &str) -> LiveManifest {
        let text = format!(
            "schema = 1\ntitle = 't'\ninstall = [['i', '{pinned}']]\ncommand = ['{{live}}/bin', 'stdio']\nenv = ['PATH', 'X']\n\
             start_seconds = 5\npackage = {{ ecosystem = '{ecosystem}', name = '@a/b-c', version = '1.2.3' }}\n\
             honest = {{ tool = 't', arguments = '{{}}', text = 'x' }}\n"
        );
        load_live(&Source::new("live.toml", text)).unwrap()
    }

    #[test]
    fn the_pinned_version_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = |key: &str| (key == "PATH").then(|| "/bin".to_owned());
        let live = || Live::new("b", manifest("npm", "@a/b-c@1.2.3"), folder.path(), path);
        assert_eq!(live().missing.as_deref(), Some("b-c is not installed: run `gateproof live install b`"));
        assert_eq!(live().program.env, BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]));
        std::fs::write(folder.path().join("bin"), "").unwrap();
        let package = folder.path().join("node_modules/@a/b-c");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("package.json"), r#"{"version":"1.2.2"}"#).unwrap();
        let missing = live().missing.unwrap();
        assert!(missing.contains("1.2.2 is installed, 1.2.3 is pinned"), "{missing}");
        std::fs::write(package.join("package.json"), r#"{"version":"1.2.3"}"#).unwrap();
        assert_eq!(live().missing, None);
    }

    #[test]
    fn a_virtual_environment_says_which_version_it_has() {
        let folder = tempfile::tempdir().unwrap();
        let package = Package { ecosystem: Ecosystem::Pypi, name: "b-c".into(), version: "1.2.3".into() };
        let packages = folder.path().join("clock/lib/python3.9/site-packages");
        std::fs::create_dir_all(packages.join("b_c_d-9.dist-info")).unwrap();
        assert_eq!(installed("clock", &package, folder.path()), None);
        std::fs::create_dir_all(packages.join("b_c-1.2.3.dist-info")).unwrap();
        assert_eq!(installed("clock", &package, folder.path()).as_deref(), Some("1.2.3"));
    }
}
