//! The reader against `serde_json` as the independent one.

use proptest::prelude::*;

use super::*;

fn root(text: &str) -> Node {
    parse(text.as_bytes()).unwrap().root
}

#[test]
fn numbers_stay_as_spelled() {
    for text in ["5.0", "1915883588174806058", "1e400", "-0", "1E+2"] {
        assert_eq!(root(text).as_number(), Some(text));
    }
    for text in ["01", "1.", ".5", "+1", "-", "1e", "0x1"] {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn duplicate_keys_are_noted_after_unescaping() {
    let document = parse(br#"{"name":1,"n\u0061me":2}"#).unwrap();
    assert_eq!(document.notes, [Note::DuplicateKey { key: "name".into(), at: 10 }]);
    assert_eq!(document.root.member("name").unwrap().as_number(), Some("2"));
}

#[test]
fn many_duplicate_keys_are_noted_too() {
    let keys: Vec<String> = (0..20).map(|n| format!("\"k{}\":0", n % 19)).collect();
    let document = parse(format!("{{{}}}", keys.join(",")).as_bytes()).unwrap();
    assert_eq!(document.notes.len(), 1);
}

#[test]
fn depth_is_bounded_and_the_rest_is_read() {
    let deep = format!("{{\"a\":{}{},\"id\":7}}", "[".repeat(60_000), "]".repeat(60_000));
    let document = parse(deep.as_bytes()).unwrap();
    assert!(matches!(document.notes[..], [Note::TooDeep { .. }]));
    assert_eq!(document.root.member("id").unwrap().as_number(), Some("7"));
    assert!(document.root.to_value().is_none());
}

#[test]
fn lone_surrogates_survive() {
    let document = parse(br#""\ud83d oops""#).unwrap();
    assert_eq!(document.root.as_str(), Some("\u{fffd} oops"));
    assert_eq!(document.notes, [Note::LoneSurrogate { at: 0 }]);
    assert_eq!(root(r#""\ud83d\ude00""#).as_str(), Some("😀"));
    assert_eq!(root(r#""\ud83d\u0041""#).as_str(), Some("\u{fffd}A"));
}

#[test]
fn values_that_would_not_survive_are_not_handed_out() {
    assert!(root("0.1").to_value().is_some());
    assert!(root("5.0").to_value().is_some());
    assert!(root("18446744073709551615").to_value().is_some());
    assert!(root("18446744073709551616.5").to_value().is_none());
    assert!(root("0.1000000000000000055511151231257827").to_value().is_none());
    assert!(root("1e999").to_value().is_none());
    assert!(root(r#"{"a":1,"a":1}"#).to_value().is_none());
}

#[test]
fn pointers_reach_every_string() {
    let node = root(r#"{"a/b":["x",{"~":"y"}]}"#);
    let mut seen = Vec::new();
    node.each_string(&mut |path, text| seen.push((path.to_owned(), text.to_owned())));
    let expected = [("/a~1b", "a/b"), ("/a~1b/0", "x"), ("/a~1b/1/~0", "~"), ("/a~1b/1/~0", "y")];
    assert_eq!(seen, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    assert_eq!(node.pointer("/a~1b/1/~0").unwrap().as_str(), Some("y"));
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Into::into),
        ".*".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map(".*", inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// serde_json is the independent reader: what it writes, we read alike.
    #[test]
    fn reads_what_serde_json_writes(value in json()) {
        let compact = serde_json::to_string(&value).unwrap();
        let document = parse(compact.as_bytes()).unwrap();
        prop_assert_eq!(document.root.to_value().unwrap(), value.clone());
        prop_assert!(document.notes.is_empty());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(root(&pretty).to_value().unwrap(), value);
    }

    /// Any bytes: no panic, and both readers agree on what is JSON.
    #[test]
    fn agrees_with_serde_json_on_any_text(text in r#"[\[\]{}:,"\\ a-fu0-9.eE+\-tn\x00-\x20]{0,24}"#) {
        let ours = parse(text.as_bytes());
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text);
        // RawValue checks syntax only, so surrogates and big numbers pass there as here.
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", text);
    }

    #[test]
    fn survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
    }
}
