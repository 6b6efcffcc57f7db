//! `pins approve`: approving what a server lists now.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::json;

use super::{
    super::{args::Common, exit, screen, screen::Screen, trouble::count},
    StoreArgs, elsewhere, source, unusable, words,
};
use crate::{
    fixture::suggest,
    gate::{Change, How, Owner, PinKey, PinKind, Pins},
    pins::{Book, Difference, Field, FileStore, Shown, compare},
};

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    #[command(flatten)]
    place: StoreArgs,
    /// Only these, by name or as `tool:NAME`; everything unless given.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    source: source::SourceArgs,
    /// Replaces what differs from an approved definition, drops what is not
    /// listed any more, accepts that a server is reached in another way, and
    /// begins anew where the store can't be used.
    #[arg(long)]
    rebaseline: bool,
    /// Who approves; goes into the store.
    #[arg(long, value_name = "NAME", env = "USER", default_value = "", hide_env_values = true)]
    by: String,
}

/// What is to be done, and what stands against it.
struct Plan {
    change: Change,
    /// What would be replaced.
    replaced: Vec<Difference>,
    moved: bool,
}

pub(super) fn approve(args: &ApproveArgs, common: &Common, screen: &Screen) -> Result<u8, u8> {
    let store = args.place.store(&args.by);
    let unreadable = match store.read() {
        Err(error) if !args.rebaseline => return Err(unusable(&error)),
        read => read.err(),
    };
    let (owner, shown) = args.source.read(common, screen)?;
    known(&args.names, &shown, &store, &owner)?;
    if let Some(error) = unreadable {
        screen::note(&format!("{error}"));
        let aside = store.begin_anew(&owner).map_err(|error| unusable(&error))?;
        let kept = aside.map(|path| format!("; the old one is kept as {}", path.display())).unwrap_or_default();
        screen::note(&format!("begun anew{kept}. What it held of other servers has to be approved again too"));
    }
    let how = if args.rebaseline { How::Rebaselined } else { How::Approved };
    // Looked at and changed under one lock: what is replaced is what was shown.
    let (plan, done) = store
        .change(|book| {
            let plan = plan(args, &owner, &shown, book);
            let stands_against = !args.rebaseline && (plan.moved || !plan.replaced.is_empty());
            let changed = !stands_against && book.save(&owner, &plan.change, store.stamp(how));
            let words = plan.moved.then(|| words::moved(book, &owner, screen.out));
            (changed, ((plan, words), !stands_against))
        })
        .map_err(|error| unusable(&error))?;
    let (plan, moved) = plan;
    if !done {
        refused(args, &plan, moved, &owner, &shown, screen);
        return Ok(exit::FAILED);
    }
    said(args, &plan, &store, &owner, &shown);
    let faulty = shown.twice.iter().filter(|key| wanted(&args.names, key)).count() + shown.unnamed;
    Ok(if faulty > 0 { exit::FAILED } else { exit::FINE })
}

/// Every name that was given must be there to be approved, or to be dropped.
fn known(names: &[String], shown: &Shown, store: &FileStore, owner: &Owner) -> Result<(), u8> {
    let pinned: Pins = store.read().map(|book: Book| book.load(owner).pins).unwrap_or_default();
    let all: BTreeSet<&PinKey> =
        shown.definitions.keys().chain(&shown.twice).chain(pinned.all.keys()).collect::<BTreeSet<_>>();
    for name in names {
        if !all.iter().any(|key| wanted(std::slice::from_ref(name), key)) {
            let hint = suggest(name, all.iter().map(|(_, name)| name.as_str()));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            screen::note(&format!("error: {} lists no '{name}'{hint}", owner.name));
            return Err(exit::USAGE);
        }
    }
    Ok(())
}

/// Whether a definition is meant by one of the names.
fn wanted(names: &[String], (kind, name): &PinKey) -> bool {
    names.is_empty()
        || names.iter().any(|given| {
            let of_kind = given.split_once(':').filter(|(word, _)| PinKind::parse(word) == Some(*kind));
            given == name
                || of_kind.is_some_and(|(_, rest)| rest == name)
                || (name.is_empty() && given == kind.as_str())
        })
}

fn plan(args: &ApproveArgs, owner: &Owner, shown: &Shown, book: &Book) -> Plan {
    let pins = book.load(owner).pins;
    let all = compare(&pins, shown);
    let mut change = Change::new(if args.rebaseline { How::Rebaselined } else { How::Approved });
    let mut replaced = Vec::new();
    for difference in all.into_iter().filter(|one| wanted(&args.names, &one.key)) {
        match (difference.change(), &difference.new) {
            // What is not listed any more keeps its approval unless somebody
            // says otherwise: a tool in maintenance comes back the same.
            (Field::Removed, _) if args.rebaseline => {
                let (kind, name) = &difference.key;
                if *kind == PinKind::Prompt && pins.all.contains_key(&(PinKind::Messages, name.clone())) {
                    change.take.push((PinKind::Messages, name.clone()));
                }
                change.take.push(difference.key.clone());
            }
            (Field::Removed, _) | (_, None) => continue,
            (_, Some(new)) => change.put.push((difference.key.clone(), new.clone())),
        }
        if difference.change() == Field::Changed {
            replaced.push(difference);
        }
    }
    // Whoever approves some of a kind has seen the rest and left it.
    let settled = |kind: &&PinKind| {
        args.names.is_empty() || shown.definitions.keys().any(|key| key.0 == **kind && wanted(&args.names, key))
    };
    change.settle = shown.whole.iter().filter(settled).copied().collect();
    Plan { change, replaced, moved: elsewhere(book, owner) }
}

fn refused(args: &ApproveArgs, plan: &Plan, moved: Option<String>, owner: &Owner, shown: &Shown, screen: &Screen) {
    if args.place.json {
        let differences = words::differences_json(&plan.replaced);
        let document = json!({ "approved": false, "moved": plan.moved, "differences": differences });
        screen::say(&words::text(&document));
    } else {
        if let Some(moved) = moved {
            screen::say(&moved);
        }
        if !plan.replaced.is_empty() {
            let only = Shown { definitions: shown.definitions.clone(), ..Shown::default() };
            screen::say(&words::diff(owner, &plan.replaced, &only, screen.out));
        }
    }
    let what = match plan.replaced.len() {
        0 => "the server is reached in another way".to_owned(),
        changed => format!(
            "{} from what is approved",
            if changed == 1 { "1 definition differs".to_owned() } else { format!("{changed} definitions differ") }
        ),
    };
    screen::note(&format!("nothing was approved: {what}. Read it, and add --rebaseline if it is as it should be"));
}

fn said(args: &ApproveArgs, plan: &Plan, store: &FileStore, owner: &Owner, shown: &Shown) {
    let replaced = plan.replaced.len();
    let added = plan.change.put.len() - replaced;
    let removed = plan.change.take.len();
    if args.place.json {
        let list = |keys: Vec<&PinKey>| {
            keys.iter().map(|(kind, name)| json!({ "kind": kind.as_str(), "name": name })).collect::<Vec<_>>()
        };
        let new = plan.change.put.iter().map(|(key, _)| key);
        let is_replaced = |key: &&PinKey| plan.replaced.iter().any(|one| one.key == **key);
        let document = json!({
            "approved": true,
            "added": list(new.clone().filter(|key| !is_replaced(key)).collect()),
            "replaced": list(new.filter(is_replaced).collect()),
            "removed": list(plan.change.take.iter().collect()),
            "twice": list(shown.twice.iter().collect()),
            "unnamed": shown.unnamed,
        });
        screen::say(&words::text(&document));
        return;
    }
    for twice in shown.twice.iter().filter(|key| wanted(&args.names, key)) {
        screen::note(&format!("not approved: two different definitions go by {}", words::key(twice)));
    }
    if shown.unnamed > 0 {
        screen::note(&format!("not approved: {} without a name", count(shown.unnamed, "definition")));
    }
    let path = store.path().display();
    if added + replaced + removed == 0 {
        screen::say(&format!("{}: everything was approved already; {path} is as it was", owner.name));
    } else {
        screen::say(&format!(
            "{}: {added} approved, {replaced} replaced, {removed} dropped; kept in {path}",
            owner.name
        ));
    }
}
