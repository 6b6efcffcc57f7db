//! Crashes, crowds, and everything that is no store.

use std::{cell::Cell, os::unix::fs::symlink, process::Command, thread};

use tempfile::TempDir;

use super::*;
use crate::{
    gate::{Definition, PinKind, Pins, Place},
    protocol::strict,
};

const STEPS: [Step; 7] =
    [Step::Lock, Step::Read, Step::Create, Step::Write, Step::SyncFile, Step::Rename, Step::SyncFolder];

thread_local! {
    /// After which step the disk fails.
    static FAILS_AFTER: Cell<Option<Step>> = const { Cell::new(None) };
}

fn failing(step: Step) -> io::Result<()> {
    if FAILS_AFTER.get() == Some(step) { Err(io::Error::other("pulled the plug")) } else { Ok(()) }
}

fn owner() -> Owner {
    Owner { place: Place::Argv(vec!["desk".to_owned()]), name: "desk".into() }
}

fn store(folder: &TempDir) -> FileStore {
    let now = || SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    FileStore { at: failing, ..FileStore::new(folder.path().join("pins.json"), "ada", now) }
}

fn approval(names: &[&str]) -> Change {
    let mut change = Change::new(How::Approved);
    for name in names {
        let text = format!(r#"{{"name":"{name}"}}"#);
        let definition = Definition::of(text.as_bytes(), &strict::parse(text.as_bytes()).unwrap().root);
        change.put.push(((PinKind::Tool, (*name).to_owned()), definition));
    }
    change
}

fn names(pins: &Pins) -> Vec<&str> {
    pins.all.keys().map(|(_, name)| name.as_str()).collect()
}

fn kept(store: &FileStore) -> Vec<String> {
    names(&store.load(&owner()).unwrap().pins).into_iter().map(str::to_owned).collect()
}

#[test]
fn what_is_saved_is_there_for_the_next_one() {
    let folder = TempDir::new().unwrap();
    assert_eq!(store(&folder).load(&owner()).unwrap(), Loaded::default());
    let loaded = store(&folder).save(&owner(), &approval(&["a"])).unwrap();
    assert_eq!(store(&folder).load(&owner()).unwrap(), loaded);
    let book = store(&folder).read().unwrap();
    let Stamp { at, by, how } = &book.history[0].stamp;
    assert_eq!((at.as_str(), by.as_str(), *how), ("2027-01-15T08:00:00Z", "ada", How::Approved));
    let before = fs::read(store(&folder).path()).unwrap();
    store(&folder).save(&owner(), &approval(&["a"])).unwrap();
    assert_eq!(fs::read(store(&folder).path()).unwrap(), before, "nothing changed, nothing is written");
}

#[test]
fn a_failure_after_any_step_leaves_the_old_store_or_the_new_one() {
    for step in STEPS {
        let folder = TempDir::new().unwrap();
        let store = store(&folder);
        store.save(&owner(), &approval(&["old"])).unwrap();
        FAILS_AFTER.set(Some(step));
        let error = store.save(&owner(), &approval(&["new"])).unwrap_err();
        FAILS_AFTER.set(None);
        assert!(error.to_string().contains("pins.json: it can't be written; the system says: pulled the plug"));
        assert!(!error.what.contains("pins.json"), "the client is told of no file");
        let expected: &[&str] = if step == Step::SyncFolder { &["new", "old"] } else { &["old"] };
        assert_eq!(kept(&store), expected, "{step:?}");
        store.save(&owner(), &approval(&["more"])).unwrap();
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

#[test]
fn a_failure_at_the_very_first_save_leaves_none() {
    for step in STEPS {
        let folder = TempDir::new().unwrap();
        FAILS_AFTER.set(Some(step));
        assert!(store(&folder).save(&owner(), &approval(&["a"])).is_err());
        FAILS_AFTER.set(None);
        let expected: &[&str] = if step == Step::SyncFolder { &["a"] } else { &[] };
        assert_eq!(kept(&store(&folder)), expected, "{step:?}");
    }
}

#[test]
fn those_who_save_at_once_lose_nothing() {
    let folder = TempDir::new().unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let store = store(&folder);
            scope.spawn(move || {
                for n in 0..6 {
                    store.save(&owner(), &approval(&[&format!("w{writer}-{n}")])).unwrap();
                }
            });
        }
    });
    assert_eq!(kept(&store(&folder)).len(), 24);
    assert_eq!(store(&folder).read().unwrap().history.len(), 24);
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    store.save(&owner(), &approval(&["a"])).unwrap();
    let good = fs::read_to_string(store.path()).unwrap();
    let cut = &good[..good.len() / 2];
    for (text, what, next) in [
        ("", "it is empty", "re-baseline with `gateproof pins approve --rebaseline`"),
        (cut, "it is not JSON (line", "restore it"),
        ("{}", "it names no schema", "restore it"),
        (&good.replace("pins/1", "pins/0"), "its schema is 'gateproof.pins/0'", "re-baseline"),
        (&good.replace("pins/1", "pins/2"), "its schema is 'gateproof.pins/2'", "use the version of gateproof"),
        (&good.replace("ada", "eve"), "its digest does not match", "restore it"),
    ] {
        fs::write(store.path(), text).unwrap();
        for error in [store.load(&owner()).unwrap_err(), store.save(&owner(), &approval(&["b"])).unwrap_err()] {
            assert!(error.what.contains(what) && error.next.contains(next), "{error}");
            assert!(error.to_string().contains("pins.json"));
        }
        assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
    }
    fs::write(store.path(), b"{\"schema\":\"\xff\"}").unwrap();
    assert_eq!(store.load(&owner()).unwrap_err().what, "it is not UTF-8");
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    fs::create_dir(store.path()).unwrap();
    assert_eq!(store.load(&owner()).unwrap_err().what, "it is a folder");
    fs::remove_dir(store.path()).unwrap();
    symlink("elsewhere.json", store.path()).unwrap();
    assert_eq!(store.load(&owner()).unwrap_err().what, "it is a symbolic link");
    assert!(store.begin_anew(&owner()).is_err());
    fs::remove_file(store.path()).unwrap();
    assert!(Command::new("mkfifo").arg(store.path()).status().unwrap().success());
    assert_eq!(store.load(&owner()).unwrap_err().what, "it is no regular file");
    let nowhere = FileStore::new(folder.path().join("no/such/pins.json"), "", SystemTime::now);
    assert_eq!(nowhere.load(&owner()).unwrap(), Loaded::default());
    assert_eq!(nowhere.save(&owner(), &approval(&["a"])).unwrap_err().what, "it can't be locked");
}

#[test]
fn a_store_that_was_there_and_is_gone_is_no_empty_store() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    store.save(&owner(), &approval(&["a"])).unwrap();
    fs::remove_file(store.path()).unwrap();
    let error = store.load(&owner()).unwrap_err();
    assert_eq!(error.what, "it is gone");
    assert!(error.next.contains("pins.json.lock"));
    fs::remove_file(store.beside(".lock")).unwrap();
    assert!(store.load(&owner()).is_ok());
}

#[test]
fn beginning_anew_keeps_the_old_one_aside_and_says_so() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    assert_eq!(store.begin_anew(&owner()).unwrap(), None);
    for n in 1..3 {
        fs::write(store.path(), "broken").unwrap();
        let aside = store.begin_anew(&owner()).unwrap().unwrap();
        assert_eq!(aside, folder.path().join(format!("pins.json.unusable-{n}")));
        assert_eq!(fs::read_to_string(aside).unwrap(), "broken");
    }
    let book = store.read().unwrap();
    assert_eq!((book.servers.len(), book.history.len()), (0, 1));
    assert_eq!(book.history[0].stamp.how, How::Rebaselined);
}

#[test]
fn a_lock_that_is_held_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder);
    let held = store.lock().unwrap();
    let waiting = {
        let store = store.clone();
        thread::spawn(move || store.save(&owner(), &approval(&["a"])).map(|_| ()))
    };
    thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished() && !store.path().exists());
    drop(held);
    waiting.join().unwrap().unwrap();
    assert_eq!(kept(&store), ["a"]);
}
