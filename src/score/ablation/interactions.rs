//! Where the simple model does not hold.

use serde::Serialize;

use super::{Game, Games, table, ways};
use crate::gate::{CheckId, CheckSet};

/// A case in which it is not so that any one of the checks that stop it alone is
/// enough, whatever else is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interaction {
    /// The case.
    pub case: String,
    /// The checks that stop it alone.
    pub alone: Vec<&'static str>,
    /// Which sets of checks contradict the model, and how: one line each.
    pub contradicted: Vec<String>,
}

/// Compares the model with what was played, over the sets that the tables ask
/// about: every check, each left out, each two left out, and every set of those
/// that play a part where they are few; and its share for each check with the
/// Shapley value.
pub(super) fn interactions(games: &Games<'_>) -> Vec<Interaction> {
    games.attacks().filter_map(interaction).collect()
}

fn interaction(game: &Game<'_>) -> Option<Interaction> {
    let alone = table::alone(game);
    let mut contradicted = Vec::new();
    let mut look = |set: CheckSet, name: &dyn Fn() -> String| {
        let Some(seen) = game.stopped(set) else { return };
        // An attack that comes to nothing with no check at all is not their work.
        let expected = !set.and(alone).is_empty() || game.stopped(CheckSet::none()) == Some(true);
        if seen != expected {
            let word = |stopped| if stopped { "stopped" } else { "not stopped" };
            contradicted.push(format!("{}: {}, expected {}", name(), word(seen), word(expected)));
        }
    };
    look(game.on, &|| "with every check".to_owned());
    for id in game.on.iter() {
        look(game.on.with(id, false), &|| format!("without {id}"));
    }
    for (a, b) in ways(game.on) {
        // What is so without one of them was said above.
        let pair = game.on.with(a, false).with(b, false);
        let one = [game.on.with(a, false), game.on.with(b, false)];
        if one.iter().all(|set| game.stopped(*set) != game.stopped(pair)) {
            look(pair, &|| format!("without {a} and {b}"));
        }
    }
    if let Some(players) = game.few() {
        for set in players.subsets().into_iter().filter(|set| set.len() > 1 && *set != players) {
            look(set, &|| format!("with {} alone", names(set).join(" and ")));
        }
        if contradicted.is_empty() && differ(game.shares().as_ref(), &table::by_rule(game)) {
            contradicted.push("the shares are not what the rule has".to_owned());
        }
    }
    let alone = names(alone);
    (!contradicted.is_empty()).then(|| Interaction { case: game.name(), alone, contradicted })
}

fn names(set: CheckSet) -> Vec<&'static str> {
    set.iter().map(CheckId::as_str).collect()
}

/// Whether worked-out shares differ from those by the rule; who isn't named has none.
fn differ(shared: Option<&Vec<(CheckId, f64)>>, by_rule: &[(CheckId, f64)]) -> bool {
    let Some(shared) = shared else { return false };
    let of = |list: &[(CheckId, f64)], id: CheckId| {
        list.iter().find(|(check, _)| *check == id).map_or(0.0, |(_, share)| *share)
    };
    shared.iter().any(|(id, share)| (share - of(by_rule, *id)).abs() > 1e-9)
}
