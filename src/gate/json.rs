//! Small questions about JSON that several checks ask.

use serde_json::{Number, Value};

use crate::protocol::strict::{Document, Kind, Node, Note};

/// JSON text on one line: stdio frames messages by lines, and a line break
/// between two tokens of an author's JSON says nothing. (Inside a string a raw
/// line break is not JSON.)
pub(super) fn one_line(text: &str) -> String {
    text.trim().replace(['\n', '\r'], " ")
}

/// The value with every number as the nearest double where no exact one
/// exists, for judging alone: what is forwarded stays as spelled.
///
/// `None` for duplicate keys and skipped depths.
pub(super) fn nearest(node: &Node) -> Option<Value> {
    with_numbers(node, &nearest_number)
}

/// The same with [`A_FRACTION`] wherever a fraction is so long that its nearest
/// double is a whole number; `None` where there is no such number.
pub(super) fn with_fractions(node: &Node) -> Option<Value> {
    let any = std::cell::Cell::new(false);
    let value = with_numbers(node, &|text| {
        let number = nearest_number(text)?;
        let lost = number.as_f64().is_some_and(|value| value.fract() == 0.0) && has_fraction(text);
        any.set(any.get() || lost);
        if lost { Number::from_f64(A_FRACTION) } else { Some(number) }
    });
    value.filter(|_| any.get())
}

/// Stands for a fraction that no double can tell from a whole number.
const A_FRACTION: f64 = 0.5;

fn with_numbers(node: &Node, number: &dyn Fn(&str) -> Option<Number>) -> Option<Value> {
    let nearest = |node: &Node| with_numbers(node, number);
    Some(match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::Number(text) => Value::Number(number(text)?),
        Kind::String(text) => Value::String(text.clone()),
        Kind::Array(items) => Value::Array(items.iter().map(nearest).collect::<Option<_>>()?),
        Kind::Object(members) => {
            let mut map = serde_json::Map::with_capacity(members.len());
            for member in members {
                if map.insert(member.key.clone(), nearest(&member.value)?).is_some() {
                    return None;
                }
            }
            Value::Object(map)
        }
        Kind::TooDeep => return None,
    })
}

fn nearest_number(text: &str) -> Option<Number> {
    if let Ok(value) = text.parse::<i64>() {
        return Some(value.into());
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(value.into());
    }
    let value: f64 = text.parse().ok()?;
    // Beyond the largest double there is no nearest one but the largest.
    Number::from_f64(value.clamp(f64::MIN, f64::MAX))
}

/// Whether a number as spelled is not whole: `1.5` and `15e-1`, not `5.0`.
fn has_fraction(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = all.trim_end_matches('0');
    // Past the range of an exponent nothing but its sign matters.
    let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 });
    let (length, after) = (i64::try_from(significant.len()), i64::try_from(fraction.len()));
    let (Ok(length), Ok(after), Ok(total)) = (length, after, i64::try_from(all.len())) else { return true };
    length > 0 && length > (total - after).saturating_add(exponent)
}

/// Whether the JSON in `node` is read alike by every reader: no duplicate key
/// and no skipped depth within it.
pub(super) fn is_plain(document: &Document, node: &Node) -> bool {
    !document.notes.iter().any(|note| match note {
        Note::DuplicateKey { at, .. } | Note::TooDeep { at } => node.span.contains(at),
        Note::LoneSurrogate { .. } => false,
    })
}

/// The whole number that is spelled, up to a million million: `5`, `5.0` and `5e0` are five.
pub(super) fn whole(text: &str) -> Option<usize> {
    let number: f64 = text.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number up to 2^53 is cut nowhere"
    )]
    (number.fract() == 0.0 && (0.0..=1e12).contains(&number)).then_some(number as usize)
}

/// Whether two values are the same, numbers by their value.
pub(super) fn same(a: &Node, b: &Node) -> bool {
    agree(a, b, &|a, b| numbers_equal(a, b))
}

/// Whether two values say the same, where one may spell a number with fewer
/// digits than the other.
pub(super) fn same_but_rounded(a: &Node, b: &Node) -> bool {
    agree(a, b, &|a, b| numbers_equal(a, b) || rounds_to(a, b) || rounds_to(b, a))
}

fn agree(a: &Node, b: &Node, numbers: &dyn Fn(&str, &str) -> bool) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Null, Kind::Null) => true,
        (Kind::Bool(a), Kind::Bool(b)) => a == b,
        (Kind::Number(a), Kind::Number(b)) => numbers(a, b),
        (Kind::String(a), Kind::String(b)) => a == b,
        (Kind::Array(a), Kind::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b, numbers)),
        (Kind::Object(left), Kind::Object(right)) => {
            let by_key: std::collections::HashMap<&str, &Node> =
                right.iter().map(|member| (member.key.as_str(), &member.value)).collect();
            left.len() == right.len()
                && by_key.len() == right.len()
                && left
                    .iter()
                    .all(|member| by_key.get(member.key.as_str()).is_some_and(|b| agree(&member.value, b, numbers)))
        }
        _ => false,
    }
}

fn numbers_equal(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    match (a.parse::<i128>(), b.parse::<i128>()) {
        (Ok(a), Ok(b)) => a == b,
        // An integer beyond 2^53 and a fraction never meet here by rounding:
        // both sides have to be the same double, spelled in any way.
        _ => matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a.total_cmp(&b).is_eq()),
    }
}

/// Whether `short` is `long` rounded (or cut) to the decimals that `short` spells.
fn rounds_to(long: &str, short: &str) -> bool {
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    if [long, short].iter().any(|text| text.contains(['e', 'E'])) || decimals(short) >= decimals(long) {
        return false;
    }
    let (Ok(a), Ok(b)) = (long.parse::<f64>(), short.parse::<f64>()) else { return false };
    let Ok(places) = i32::try_from(decimals(short)) else { return false };
    // Half a unit of the last decimal, and a breath for the doubles themselves.
    places <= 15 && (a - b).abs() <= 0.5 * 10f64.powi(-places) * (1.0 + 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_told_by_their_spelling() {
        for text in ["1.5", "15e-1", "-0.1", "9007199254740993.5", "1e-999999999999999999999", "100.01e1"] {
            assert!(has_fraction(text), "{text}");
        }
        for text in ["5.0", "1e3", "1.5e1", "0.0", "-0", "10e-1", "1e999999999999999999999", "0e-5"] {
            assert!(!has_fraction(text), "{text}");
        }
    }
    use crate::protocol::strict::parse;

    fn node(text: &str) -> Node {
        parse(text.as_bytes()).unwrap().root
    }

    #[test]
    fn values_are_the_same_by_value_and_never_across_types() {
        for (a, b) in [("5", "5.0"), ("1e2", "100"), (r#"{"a":1,"b":[true]}"#, r#"{"b":[true],"a":1}"#)] {
            assert!(same(&node(a), &node(b)), "{a} {b}");
        }
        for (a, b) in [
            ("1", "true"),
            ("1", "\"1\""),
            ("9007199254740993", "9007199254740992"),
            ("[1]", "[1,1]"),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"b":1}"#, r#"{"a":1,"a":1}"#),
        ] {
            assert!(!same(&node(a), &node(b)), "{a} {b}");
        }
    }

    #[test]
    fn rounding_goes_by_the_decimals_that_are_spelled() {
        for (a, b) in [("22.48", "22.5"), ("3.14159", "3.14"), ("0.1000000000000000055", "0.1"), ("2.6", "3")] {
            assert!(same_but_rounded(&node(a), &node(b)) && same_but_rounded(&node(b), &node(a)), "{a} {b}");
        }
        for (a, b) in [("22.48", "22.6"), ("100", "900"), ("3.14", "31.4"), ("1e3", "1001")] {
            assert!(!same_but_rounded(&node(a), &node(b)), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_number_always_exists() {
        for text in ["1e999", "-1e999", "123456789012345678901234567890", "0.1000000000000000055"] {
            assert!(nearest(&node(text)).is_some(), "{text}");
        }
        assert!(nearest(&node(r#"{"a":1,"a":2}"#)).is_none());
    }
}
