//! The published reports are what this gateproof makes of this corpus, byte for byte.

use std::path::{Path, PathBuf};

use gateproof::cli::reference;

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
        let published = std::fs::read_to_string(&path).unwrap_or_default();
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
