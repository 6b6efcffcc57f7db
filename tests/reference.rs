//! The published reports are what this gateproof makes of this corpus, byte for byte.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

use std::path::{Path, PathBuf};

use gateproof::cli::reference;
use regex::Regex;

#[test]
fn the_published_reports_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A package without its corpus has nothing to compare.
    if !root.join("cases").is_dir() {
        return;
    }
    let made = reference::regenerate(root, PathBuf::from(env!("CARGO_BIN_EXE_gateproof"))).unwrap();
    for (name, made) in made {
        let path = root.join(reference::FOLDER).join(name);
        let published = uncounted(&std::fs::read_to_string(&path).unwrap_or_default());
        let made = uncounted(&made);
        let differs = published.lines().zip(made.lines()).position(|(a, b)| a != b);
        let line = differs.unwrap_or_else(|| published.lines().count().min(made.lines().count()));
        assert!(
            published == made,
            "{}/{name} is out of date, from line {}:\n  published: {}\n  now:       {}\n\
             Look at what changed, then run:  cargo run --release -- run --reference",
            reference::FOLDER,
            line + 1,
            published.lines().nth(line).unwrap_or("(nothing)"),
            made.lines().nth(line).unwrap_or("(nothing)"),
        );
    }
}

/// Without how many trials it took to answer the ablation's questions. That hangs on
/// which checks spoke up in trials whose messages may come in one order or another;
/// the answers do not.
fn uncounted(text: &str) -> String {
    let counts = Regex::new(r#"("trials":|"unlisted_trials": |From )\d+(,"answers"|,\n| further trials)"#).unwrap();
    counts.replace_all(text, "${1}some${2}").into_owned()
}
