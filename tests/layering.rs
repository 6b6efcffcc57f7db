//! Which part of the house may know which: the table here is the design.
//!
//! A module that the table doesn't know fails, so that nothing joins unseen.
//! Code behind `#[cfg(test)]` is exempt.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Each module with all that it may import from the rest of the crate. Imports
/// point to earlier lines only, which a test below holds.
const TABLE: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("digest", &["protocol"]),
    ("fixture", &["protocol"]),
    ("transcript", &["protocol"]),
    ("transport", &["protocol"]),
    // Pure: it decides over values and knows no transport, no case, no judge.
    ("gate", &["protocol", "digest"]),
    // Gates that are wrong on purpose are as pure as any other.
    ("controls", &["protocol", "gate"]),
    // Keeps what a gate is handed: the only place where approvals meet a disk.
    ("pins", &["protocol", "digest", "gate"]),
    ("case", &["protocol", "digest", "fixture", "transport"]),
    ("endpoint", &["protocol", "digest", "fixture", "transcript", "transport", "case"]),
    ("relay", &["protocol", "transcript", "transport", "gate"]),
    // In front of real servers: nothing of cases, judges or scores.
    ("guard", &["protocol", "digest", "transport", "gate", "relay"]),
    ("session", &["protocol", "transcript", "transport", "case"]),
    ("plan", &["protocol", "digest", "fixture", "transport", "gate", "controls", "case", "endpoint"]),
    // Never the gate, never its trail: it sees a case and a transcript.
    ("judge", &["protocol", "transcript", "case"]),
    // No judge, no score, no report.
    (
        "runner",
        &[
            "protocol",
            "digest",
            "fixture",
            "transcript",
            "transport",
            "gate",
            "controls",
            "pins",
            "case",
            "endpoint",
            "relay",
            "session",
            "plan",
        ],
    ),
    (
        "score",
        &[
            "protocol",
            "digest",
            "fixture",
            "transcript",
            "transport",
            "gate",
            "controls",
            "case",
            "plan",
            "judge",
            "runner",
        ],
    ),
    ("report", &["protocol", "digest", "fixture", "transcript", "transport", "gate", "case", "plan", "judge", "score"]),
    (
        "cli",
        &[
            "protocol",
            "digest",
            "fixture",
            "transcript",
            "transport",
            "gate",
            "controls",
            "pins",
            "case",
            "endpoint",
            "relay",
            "guard",
            "session",
            "plan",
            "judge",
            "runner",
            "score",
            "report",
        ],
    ),
];

/// What only `cli` may do: print, read the environment, exit.
const RESERVED: &[&str] = &[
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "stdout()",
    "stderr()",
    "env::var",
    "env::args",
    "env::current_exe",
    "env::current_dir",
    "process::exit",
];

/// Where a reserved word has a reason: the file, the word, and why.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("transport/bridge.rs", "stdout()", "the bridge is a child process whose standard output is the wire")];

/// Source without comments, strings and test code, as far as this test needs it.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut skip_from: Option<usize> = None;
    let mut depth = 0;
    let mut waiting = false;
    for line in text.lines() {
        let bare = line.split("//").next().unwrap_or_default();
        if bare.trim() == "#[cfg(test)]" && skip_from.is_none() {
            waiting = true;
            continue;
        }
        let opened = bare.matches('{').count();
        let closed = bare.matches('}').count();
        if waiting {
            waiting = false;
            if opened > closed {
                skip_from = Some(depth);
            }
            depth = (depth + opened).saturating_sub(closed);
            continue;
        }
        depth = (depth + opened).saturating_sub(closed);
        match skip_from {
            Some(from) if depth <= from => skip_from = None,
            Some(_) => {}
            None => {
                out.push_str(bare);
                out.push('\n');
            }
        }
    }
    out
}

/// The modules that a source names behind `crate::`, groups included.
fn imports(code: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => {
                out.insert(word(rest));
            }
            Some(group) => {
                let mut depth = 0;
                let mut fresh = true;
                for (at, c) in group.char_indices() {
                    match c {
                        '}' if depth == 0 => break,
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 0 => fresh = true,
                        c if fresh && c.is_alphanumeric() => {
                            out.insert(word(&group[at..]));
                            fresh = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    out
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// Every file under `src` with its name there and its code.
fn files() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    sources(&root, &mut paths);
    paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>();
            (name.join("/"), code(&std::fs::read_to_string(&path).unwrap()))
        })
        .collect()
}

/// The module that a file belongs to; `None` for the crate's two roots.
fn module(file: &str) -> Option<&str> {
    let first = file.split('/').next().unwrap().trim_end_matches(".rs");
    (file != "lib.rs" && file != "main.rs").then_some(first)
}

#[test]
fn imports_point_downwards() {
    let mut wrong = Vec::new();
    for (file, code) in files() {
        let Some(module) = module(&file) else { continue };
        let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("src/{file}: module '{module}' is not in the table of tests/layering.rs"));
            continue;
        };
        for import in imports(&code).into_iter().filter(|import| import != module) {
            if !allowed.contains(&import.as_str()) {
                wrong.push(format!("src/{file}: '{module}' must not import '{import}'"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_table_has_no_cycle() {
    for (index, (module, allowed)) in TABLE.iter().enumerate() {
        for import in *allowed {
            assert!(TABLE[..index].iter().any(|(name, _)| name == import), "{module} imports {import}, which is later");
        }
    }
}

#[test]
fn the_table_knows_every_module_and_no_other() {
    let found: BTreeSet<String> = files().keys().filter_map(|file| module(file)).map(str::to_owned).collect();
    let known: BTreeSet<String> = TABLE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, known);
}

#[test]
fn only_cli_prints_reads_the_environment_or_exits() {
    let mut wrong = Vec::new();
    for (file, code) in files() {
        if module(&file) == Some("cli") {
            continue;
        }
        for word in RESERVED.iter().filter(|word| code.contains(**word)) {
            if !EXCEPTIONS.iter().any(|(place, what, _)| *place == file && what == word) {
                wrong.push(format!("src/{file}: only cli may use '{word}'"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn nothing_is_imported_whole() {
    for (file, code) in files() {
        assert!(!code.contains("use crate::*"), "src/{file}");
    }
}

#[test]
fn reads_groups_and_skips_tests() {
    let text = "use crate::{\n    case::{Case, Kind},\n    plan,\n};\nfn f() { crate::gate::x(); } // crate::judge\n\
                #[cfg(test)]\nmod tests {\n    use crate::score;\n}\nfn g() { crate::relay::y() }\n";
    let found: Vec<_> = imports(&code(text)).into_iter().collect();
    assert_eq!(found, ["case", "gate", "plan", "relay"]);
}
