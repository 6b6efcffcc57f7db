//! Pins and differences in words, for people and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::TextDiff;

use crate::{
    gate::{Owner, Pin, PinKey, Place, Stamp},
    pins::{Book, Difference, Field, Kept, Shown, escaped, pretty, visible},
    report::style::{Style, Tone},
};

/// How many lines of a definition stand around a change.
const AROUND: usize = 3;

/// A kind and a name on one line, with nothing hidden in it.
pub(super) fn key((kind, name): &PinKey) -> String {
    if name.is_empty() { kind.to_string() } else { format!("{kind} {}", visible(name)) }
}

/// What is approved of one server.
pub(super) fn shown(place: &Place, kept: &Kept, style: Style) -> String {
    let names: Vec<_> = kept.names.iter().map(|name| visible(name.as_str())).collect();
    let mut out = format!(
        "{}  {}\n",
        style.paint(Tone::Strong, &names.join(", ")),
        style.paint(Tone::Dim, &visible(&place.to_string()))
    );
    let mut table = style.table(&["kind", "name", "digest", "when", "by", "how"]);
    for ((kind, name), pin) in &kept.pins.all {
        let Stamp { at, by, how } = &pin.stamp;
        table.add_row([
            kind.to_string(),
            visible(name),
            pin.definition.fingerprint.short(),
            visible(at),
            visible(by),
            how.as_str().to_owned(),
        ]);
    }
    out.push_str(&style.fitted(table, 90));
    let settled: Vec<_> = kept.pins.settled.iter().map(ToString::to_string).collect();
    if !settled.is_empty() {
        let _ = write!(out, "\nnothing is added unasked to: {}", settled.join(", "));
    }
    out.push('\n');
    out
}

/// Every change, the oldest first.
pub(super) fn history(book: &Book, style: Style) -> String {
    let mut out = style.paint(Tone::Strong, "History");
    for entry in &book.history {
        let Stamp { at, by, how } = &entry.stamp;
        let by = if by.is_empty() { String::new() } else { format!(" by {}", visible(by)) };
        let _ = write!(out, "\n{} {}{by}, {}", visible(at), how.as_str(), visible(&entry.place.to_string()));
        if entry.traces.is_empty() {
            out.push_str("\n  begun anew: the store before could not be used");
        }
        for trace in &entry.traces {
            let short = |digest: Option<crate::digest::Fingerprint>| {
                digest.map_or_else(|| "nothing".to_owned(), |digest| digest.short())
            };
            let _ = write!(out, "\n  {}: {} → {}", key(&trace.key), short(trace.old), short(trace.new));
        }
    }
    out
}

/// The server goes by a name that is approved for another place.
pub(super) fn moved(book: &Book, owner: &Owner, style: Style) -> String {
    let before: Vec<_> = book.elsewhere(owner).map(|place| visible(&place.to_string())).collect();
    format!(
        "{} {} is reached in another way than the one that was approved.\n  approved: {}\n  now:      {}",
        style.paint(Tone::Bad, "moved"),
        visible(owner.name.as_str()),
        before.join("\n            "),
        visible(&owner.place.to_string()),
    )
}

/// Everything that differs, words first.
pub(super) fn diff(owner: &Owner, differences: &[Difference], shown: &Shown, style: Style) -> String {
    let mut out = String::new();
    for difference in differences {
        one(difference, style, &mut out);
    }
    for twice in &shown.twice {
        let _ = writeln!(
            out,
            "{} {}: two different definitions go by this name; neither can be approved",
            style.paint(Tone::Bad, "twice"),
            key(twice)
        );
    }
    if shown.unnamed > 0 {
        let _ = writeln!(out, "{} definitions without a name: {}", style.paint(Tone::Bad, "unnamed"), shown.unnamed);
    }
    let name = visible(owner.name.as_str());
    if out.is_empty() {
        format!("{name}: all {} definitions are as approved", shown.definitions.len())
    } else {
        let count = |change: Field| differences.iter().filter(|one| one.change() == change).count();
        let counts = [Field::Changed, Field::Added, Field::Removed].map(|it| format!("{} {}", count(it), it.as_str()));
        format!("{out}{name}: {}", counts.join(", "))
    }
}

fn one(difference: &Difference, style: Style, out: &mut String) {
    let change = difference.change();
    let tone = match change {
        Field::Changed => Tone::Bad,
        Field::Added | Field::Removed => Tone::Warn,
    };
    let _ = write!(out, "{} {}", style.paint(tone, change.as_str()), key(&difference.key));
    match change {
        Field::Added => out.push_str(": it was never approved"),
        Field::Removed => out.push_str(": it is approved, and not listed any more"),
        Field::Changed => {
            for (path, field) in difference.fields() {
                // A definition that is one text has no fields.
                if !path.is_empty() {
                    let _ = write!(out, "\n  {} {}", field.as_str(), visible(&path));
                }
            }
        }
    }
    out.push('\n');
    let text = |definition: &Option<crate::gate::Definition>| definition.as_ref().map(pretty).unwrap_or_default();
    if change == Field::Removed {
        return;
    }
    let (old, new) = (text(&difference.old), text(&difference.new));
    let lines = TextDiff::from_lines(&old, &new);
    for hunk in lines.unified_diff().context_radius(AROUND).missing_newline_hint(false).iter_hunks() {
        if change == Field::Changed {
            let _ = writeln!(out, "  {}", style.paint(Tone::Dim, hunk.header().to_string().trim_end()));
        }
        for line in hunk.iter_changes() {
            let (sign, tone) = match line.tag() {
                similar::ChangeTag::Delete => ("-", Tone::Bad),
                similar::ChangeTag::Insert => ("+", Tone::Good),
                similar::ChangeTag::Equal => (" ", Tone::Plain),
            };
            let text = format!("{sign}{}", line.value().trim_end_matches('\n'));
            let _ = writeln!(out, "  {}", style.paint(tone, &text));
        }
    }
}

fn place_json(place: &Place) -> Value {
    match place {
        Place::Argv(argv) => json!({ "argv": argv }),
        Place::Url(url) => json!({ "url": url }),
        Place::Memory(name) => json!({ "memory": name }),
    }
}

/// A document for machines, which people look at too.
pub(super) fn text(value: &Value) -> String {
    escaped(&format!("{value:#}"))
}

/// What is approved, as JSON.
pub(super) fn shown_json(servers: &[(&Place, &Kept)], book: Option<&Book>) -> String {
    let pin = |((kind, name), pin): (&PinKey, &Pin)| {
        let Stamp { at, by, how } = &pin.stamp;
        let sha256 = pin.definition.fingerprint.to_string();
        json!({ "kind": kind.as_str(), "name": name, "sha256": sha256, "at": at, "by": by, "how": how.as_str() })
    };
    let servers: Vec<Value> = servers
        .iter()
        .map(|(place, kept)| {
            json!({
                "reach": place_json(place),
                "names": kept.names.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "settled": kept.pins.settled.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
                "pins": kept.pins.all.iter().map(pin).collect::<Vec<_>>(),
            })
        })
        .collect();
    let mut all = json!({ "servers": servers });
    if let Some(book) = book {
        let history = book.history.iter().map(|entry| {
            let changes = entry.traces.iter().map(|trace| {
                let digest = |one: Option<crate::digest::Fingerprint>| one.map(|digest| digest.to_string());
                let (kind, name) = &trace.key;
                json!({ "kind": kind.as_str(), "name": name, "old": digest(trace.old), "new": digest(trace.new) })
            });
            let Stamp { at, by, how } = &entry.stamp;
            json!({
                "at": at,
                "by": by,
                "how": how.as_str(),
                "reach": place_json(&entry.place),
                "changes": changes.collect::<Vec<_>>(),
            })
        });
        all["history"] = history.collect();
    }
    text(&all)
}

/// Everything that differs, as JSON.
pub(super) fn diff_json(owner: &Owner, differences: &[Difference], shown: &Shown, same: bool) -> String {
    text(&json!({
        "server": owner.name.as_str(),
        "reach": place_json(&owner.place),
        "same": same,
        "differences": differences_json(differences),
        "twice": shown.twice.iter().map(|(kind, name)| json!({ "kind": kind.as_str(), "name": name }))
            .collect::<Vec<_>>(),
        "unnamed": shown.unnamed,
    }))
}

/// Differences as JSON.
pub(super) fn differences_json(differences: &[Difference]) -> Value {
    let one = |difference: &Difference| {
        let fields = difference.fields().into_iter();
        let digest = |one: &Option<crate::gate::Definition>| one.as_ref().map(|one| one.fingerprint.to_string());
        json!({
            "kind": difference.key.0.as_str(),
            "name": difference.key.1,
            "change": difference.change().as_str(),
            "fields": fields.map(|(path, field)| json!({ "path": path, "change": field.as_str() }))
                .collect::<Vec<_>>(),
            "old": digest(&difference.old),
            "new": digest(&difference.new),
        })
    };
    differences.iter().map(one).collect()
}
