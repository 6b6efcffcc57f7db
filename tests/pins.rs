//! What people and CI see of `gateproof pins`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn gateproof(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
    command.current_dir(folder).env_remove("NO_COLOR").env("COLUMNS", "110").env("USER", "ada");
    command.env("SOURCE_DATE_EPOCH", "1800000000").arg("pins").args(words);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[track_caller]
fn check(folder: &Path, words: &[&str], code: i32, said: &[&str]) -> String {
    let (found, stdout, stderr) = gateproof(folder, words);
    assert_eq!(found, code, "{words:?}\n{stdout}\n{stderr}");
    for word in said {
        assert!(stdout.contains(word) || stderr.contains(word), "{word:?} is not in\n{stdout}\n{stderr}");
    }
    stdout
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The fixture of this repository, as the verbs take it.
const PHRASEBOOK: [&str; 4] = ["--corpus", ROOT, "--fixture", "phrasebook"];

/// A tool, the instructions and a prompt change; one tool is new, one prompt gone.
const CHANGED: &str = r#"overlay = [
  { tool = "list_phrases", merge = '{"description":"Lists the keys\u202e of all phrases.","annotations":{"readOnlyHint":true}}' },
  { patch = '[{"op":"remove","path":"/prompts/1"},{"op":"add","path":"/tools/-","value":{"name":"extra\u200b","inputSchema":{}}}]' },
  { append = " Ask twice." },
]
"#;

fn words<'a>(verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[verb], &PHRASEBOOK[..], more].concat()
}

#[test]
fn what_is_approved_is_shown_compared_and_replaced() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    write(at, "changed.toml", CHANGED);
    let changed = ["--overlay", "changed.toml"];
    check(at, &["show"], 4, &["nothing is approved"]);
    check(at, &words("diff", &[]), 1, &["added tool list_phrases: it was never approved", "8 added"]);
    check(at, &words("approve", &[]), 0, &["phrasebook: 8 approved, 0 replaced, 0 dropped"]);
    check(at, &words("diff", &[]), 0, &["all 8 definitions are as approved"]);
    check(at, &words("approve", &[]), 0, &["everything was approved already"]);

    let before = std::fs::read(at.join("gateproof-pins.json")).unwrap();
    let diff = check(at, &words("diff", &changed), 1, &[]);
    let refused = check(at, &words("approve", &changed), 1, &["nothing was approved: 2 definitions differ"]);
    assert!(refused.contains("changed tool list_phrases\n  added /annotations\n  changed /description"));
    assert_eq!(std::fs::read(at.join("gateproof-pins.json")).unwrap(), before);

    // What is new needs no re-baselining, and what is chosen by name is all that changes.
    check(at, &words("approve", &["--overlay", "changed.toml", "tool:extra\u{200b}"]), 0, &["1 approved, 0 replaced"]);
    check(at, &words("approve", &["--overlay", "changed.toml", "list_phrase"]), 2, &["did you mean 'list_phrases'"]);
    let rebaseline = ["--overlay", "changed.toml", "--rebaseline", "--by", "eve"];
    check(at, &words("approve", &rebaseline), 0, &["0 approved, 2 replaced, 2 dropped"]);
    check(at, &words("diff", &changed), 0, &["as approved"]);
    check(at, &words("diff", &[]), 1, &["removed tool extra\\u{200b}", "added prompt night_shift"]);
    let shown = check(at, &["show", "--history"], 0, &[]);
    check(at, &["show", "--server", "nobody"], 4, &["of a server called 'nobody'"]);

    let store = std::fs::read_to_string(at.join("gateproof-pins.json")).unwrap();
    for (name, found) in [("diff.txt", diff), ("show.txt", shown), ("store.json", store)] {
        let path = Path::new(ROOT).join("tests/golden/pins").join(name);
        if std::env::var_os("GATEPROOF_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        assert_eq!(found, std::fs::read_to_string(&path).unwrap_or_default(), "tests/golden/pins/{name}");
    }
}

#[test]
fn json_is_the_document_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    write(at, "changed.toml", CHANGED);
    let json = |words: &[&str], code: i32| -> Value { serde_json::from_str(&check(at, words, code, &[])).unwrap() };
    let approved = json(&words("approve", &["--json"]), 0);
    assert_eq!((&approved["approved"], approved["added"].as_array().unwrap().len()), (&true.into(), 8));
    let diff = json(&words("diff", &["--json", "--overlay", "changed.toml"]), 1);
    assert_eq!((&diff["same"], diff["differences"].as_array().unwrap().len()), (&false.into(), 4));
    assert_eq!(diff["differences"][2]["fields"][1]["path"], "/description");
    assert_eq!(diff["reach"]["argv"][1], "phrasebook");
    let refused = json(&words("approve", &["--json", "--overlay", "changed.toml"]), 1);
    assert_eq!((&refused["approved"], &refused["moved"]), (&false.into(), &false.into()));
    let shown = json(&["show", "--json", "--history"], 0);
    assert_eq!(shown["servers"][0]["pins"][1]["name"], "list_phrases");
    assert_eq!(shown["history"][0]["by"], "ada");
}

#[test]
fn a_store_that_cannot_be_used_is_never_an_empty_one() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    check(at, &words("approve", &[]), 0, &[]);
    let good = std::fs::read_to_string(at.join("gateproof-pins.json")).unwrap();
    for (text, what) in [
        (&good[..good.len() / 2], "gateproof-pins.json: it is not JSON (line"),
        ("", "it is empty"),
        (&good.replace("pins/1", "pins/0"), "its schema is 'gateproof.pins/0'"),
        (&good.replace("phrases", "phases"), "its digest does not match"),
    ] {
        write(at, "gateproof-pins.json", text);
        for words in [vec!["show"], words("diff", &[]), words("approve", &[])] {
            check(at, &words, 2, &[what, "restore it, or re-baseline with `gateproof pins approve --rebaseline`"]);
        }
        assert_eq!(std::fs::read_to_string(at.join("gateproof-pins.json")).unwrap(), text);
    }
    std::fs::remove_file(at.join("gateproof-pins.json")).unwrap();
    check(at, &words("diff", &[]), 2, &["it is gone"]);
    write(at, "gateproof-pins.json", "broken");
    let anew = words("approve", &["--rebaseline"]);
    check(at, &anew, 0, &["begun anew; the old one is kept as", "unusable-1", "8 approved"]);
    check(at, &["show", "--history"], 0, &["begun anew: the store before could not be used"]);
}

/// A server in a shell: it answers by the method, with the id that it got.
const DESK: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":"own","method":"roots/list"}'; say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}}' ;;
    *'"cursor"'*) say '{"tools":[{"name":"two","big":9007199254740993},{"nameless":1}]}' ;;
    *'"tools/list"'*) say '{"tools":[{"name":"one","inputSchema":{}}],"nextCursor":"next"}' ;;
  esac
done
"#;

#[test]
fn a_command_is_started_listed_and_known_word_by_word() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    write(at, "desk.sh", DESK);
    let live = ["--server", "desk", "--", "/bin/sh", "desk.sh"];
    let said = ["desk: 2 approved", "not approved: 1 definition without a name"];
    check(at, &[&["approve"], &live[..]].concat(), 1, &said);
    check(at, &[&["diff"], &live[..]].concat(), 1, &["definitions without a name: 1", "0 changed, 0 added"]);
    check(at, &["show", "--server", "desk"], 0, &["/bin/sh desk.sh", "two"]);

    // The same words joined are another command, and so another server.
    let other = ["--server", "desk", "--", "/bin/sh", "./desk.sh"];
    let moved = ["moved desk is reached in another way", "approved: /bin/sh desk.sh", "now:      /bin/sh ./desk.sh"];
    check(at, &[&["diff"], &other[..]].concat(), 1, &moved);
    check(at, &[&["approve"], &other[..]].concat(), 1, &["nothing was approved: the server is reached in another way"]);
    check(at, &[&["approve", "--rebaseline"], &other[..]].concat(), 1, &["2 approved"]);

    for (script, why) in [
        ("echo 'no \u{1b}[31mlicence' >&2; exit 3", "no \\u{1b}[31mlicence"),
        ("exec sleep 100", "no answer to initialize within 1s"),
    ] {
        write(at, "desk.sh", script);
        check(at, &[&["diff", "--timeout", "1"], &live[..]].concat(), 3, &["desk could not be listed", why]);
    }
    check(at, &["diff", "--server", "desk", "--", "/no/such"], 3, &["it can't be started"]);
}

#[test]
fn a_saved_catalogue_says_whose_it_is() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    write(at, "saved.json", r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"b","title":"B"}],"instructions":"Hi."}"#);
    let saved = ["--server", "desk", "--catalogue", "saved.json"];
    check(at, &[&["approve"], &saved[..]].concat(), 2, &["whose catalogue is it?"]);
    let at_url = [&saved[..], &["--url", "https://desk.example/mcp"]].concat();
    check(at, &[&["approve"], &at_url[..]].concat(), 1, &["two different definitions go by tool b", "2 approved"]);
    check(at, &[&["diff"], &at_url[..]].concat(), 1, &["twice tool b", "0 changed"]);
    write(at, "saved.json", r#"{"tools":[{"name":"a"}],"prompts":[]}"#);
    check(at, &[&["diff"], &at_url[..]].concat(), 1, &["removed instructions", "1 removed"]);
    write(at, "saved.json", "[]");
    check(at, &[&["diff"], &at_url[..]].concat(), 2, &["saved.json: a catalogue is an object"]);
}

#[test]
fn mistakes_are_told() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    check(at, &["diff"], 2, &["which server?"]);
    check(at, &["diff", "--server", "desk"], 2, &["which command starts it?"]);
    check(at, &["diff", "--corpus", ROOT, "--fixture", "phrasebok"], 2, &["did you mean 'phrasebook'"]);
    check(at, &words("diff", &["--", "desk"]), 2, &["a fixture is started by no command"]);
    check(at, &words("diff", &["--overlay", "none.toml"]), 2, &["none.toml"]);
    write(at, "wrong.toml", "overlay = [{ tol = \"x\" }]");
    check(at, &words("diff", &["--overlay", "wrong.toml"]), 2, &["wrong.toml:1", "unknown field"]);
    check(at, &["diff", "--fixture", "a", "--catalogue", "b"], 2, &["cannot be used with"]);
    std::fs::create_dir(at.join("gateproof-pins.json")).unwrap();
    check(at, &["show"], 2, &["it is a folder; name a file in it"]);
}
