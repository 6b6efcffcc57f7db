//! What several tests of the command line begin with.

use std::path::Path;

use tempfile::TempDir;

/// A corpus of three cases, one of which (`notes.asked-to-delete`) the reference
/// gate gets wrong under its policy, in a folder of its own.
pub(crate) fn corpus() -> TempDir {
    let folder = TempDir::new().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpus"), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
