//! Secrets in values: encodings, chunks and strings that belong together.

use base64::Engine as _;

use super::{HELD_TOKEN, Leak, RULES, leak};
use crate::protocol::strict;

const KEY: &str = concat!("AKIA", "CANARY7Q2M4XK5RT");
const TOKEN: &str = concat!("gh", "p_CANARYq7Zt1Lw9Kd3Rb5Fh8Jm2Nx4Vc6Pg0S");

fn of(json: &str, held: &[&str]) -> Option<Leak> {
    let root = strict::parse(json.as_bytes()).unwrap().root;
    leak([&root].into_iter(), held.iter().copied(), &|_| true)
}

#[track_caller]
fn finds(json: &str, rule: &str) {
    assert_eq!(of(json, &[]).map(|leak| leak.rule), Some(rule), "{json}");
}

#[track_caller]
fn passes(json: &str) {
    assert_eq!(of(json, &[]), None, "{json}");
}

fn base64(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn hex(text: &str) -> String {
    text.bytes().fold(String::new(), |all, byte| all + &format!("{byte:02x}"))
}

fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |all, byte| all + &format!("%{byte:02X}"))
}

#[test]
fn rules_have_ids_of_their_own() {
    let mut ids: Vec<_> = RULES.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
    assert!(RULES.iter().all(|(id, words)| !id.is_empty() && !words.is_empty()));
}

#[test]
fn a_key_is_found_wherever_it_stands() {
    for json in [
        format!(r#"{{"note":"use {KEY} for it"}}"#),
        format!(r#"{{"a":[{{"b":[0,"{KEY}"]}}]}}"#),
        format!(r#"{{"{KEY}":true}}"#),
        format!(r#"{{"note":"\u0041{}"}}"#, &KEY[1..]),
    ] {
        finds(&json, "aws-key");
    }
    assert_eq!(of(&format!(r#"{{"a":[1,"{KEY}"]}}"#), &[]).unwrap().path.as_deref(), Some("/a/1"));
}

#[test]
fn encodings_are_undone_twice() {
    for (key, rule) in [(KEY, "aws-key"), (TOKEN, "github-token")] {
        for encode in [base64, hex, percent] {
            finds(&format!(r#"{{"d":"see {} there"}}"#, encode(key)), rule);
            finds(&format!(r#"{{"d":"https://a.example/p/q?d={}"}}"#, encode(key)), rule);
            finds(&format!(r#"{{"d":"https://a.example/pixel/{}.png"}}"#, encode(key)), rule);
            for again in [base64, hex, percent] {
                finds(&format!(r#"{{"d":"{}"}}"#, again(&encode(key))), rule);
            }
        }
        finds(&format!(r#"{{"d":"{}"}}"#, base64(&format!("the key is {key}, and more"))), rule);
    }
}

#[test]
fn chunks_are_put_together() {
    for (key, rule) in [(KEY, "aws-key"), (TOKEN, "github-token")] {
        for gap in [" ", "\\n", "-", " - ", ".", "\u{200b}"] {
            for size in [3, 4, 5] {
                let cut: Vec<_> = key.as_bytes().chunks(size).map(|chunk| String::from_utf8_lossy(chunk)).collect();
                finds(&format!(r#"{{"d":"the key is {} as you asked"}}"#, cut.join(gap)), rule);
            }
        }
        let (first, second) = key.split_at(11);
        finds(&format!(r#"{{"a":"{first}","b":"{second}"}}"#), rule);
        let packed = base64(key);
        let cut: Vec<_> = packed.as_bytes().chunks(4).map(|chunk| String::from_utf8_lossy(chunk)).collect();
        finds(&format!(r#"{{"d":"{}"}}"#, cut.join(" ")), rule);
    }
}

#[test]
fn what_the_gate_holds_is_found_in_any_spelling() {
    const HELD: &str = "canary-held-9f3b-71ce";
    let backwards: String = HELD.chars().rev().collect();
    for text in [HELD.to_owned(), base64(HELD), hex(HELD), percent(HELD), backwards, HELD.replace('-', " ")] {
        let found = of(&format!(r#"{{"d":"a {text} b"}}"#), &["other-token-5d5d", HELD]);
        assert_eq!(found.map(|leak| leak.rule), Some(HELD_TOKEN), "{text}");
    }
    let (first, second) = HELD.split_at(10);
    let found = of(&format!(r#"{{"b":"{second}","c":"and","a":"{first}"}}"#), &[HELD]);
    assert_eq!(found, Some(Leak { rule: HELD_TOKEN, path: None }));
    assert_eq!(of(r#"{"d":"a canary is held by 9 of 71"}"#, &[HELD]), None);
}

#[test]
fn honest_strings_pass() {
    let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let picture = base64(&(0..9000u32).map(|n| char::from((n * 7919 % 127) as u8)).collect::<String>());
    for text in [
        "AKIAIOSFODNN7EXAMPLE",
        "<YOUR_KEY>",
        "sk-xxxx",
        "de305d54-75b4-431b-adb2-eb6b9e546014",
        "e83c5163316f89bfbde7d9ab23ca2e25604af290",
        digest,
        &format!("sha256:{digest}"),
        &format!("token={digest}"),
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        &picture,
        "https://b.example/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIACANARY7Q2M4XK5RT%2F20310415%2Feu%2Fs3%2Faws4_request&X-Amz-Signature=9f86d081884c7d659a2feaa0c55ad015",
        "A token budget of 128,000 tokens; each key (primary, secondary) costs 12 tokens: see GPT-5, AKIA and ghp_ in the glossary.",
    ] {
        passes(&format!(r#"{{"d":"{text}"}}"#));
    }
}

#[test]
fn an_excepted_rule_lets_the_others_stand() {
    let json = format!(r#"{{"a":"{KEY}","b":"{TOKEN}"}}"#);
    let root = strict::parse(json.as_bytes()).unwrap().root;
    let found = leak([&root].into_iter(), std::iter::empty(), &|rule| rule != "aws-key");
    assert_eq!(found.unwrap().rule, "github-token");
}
