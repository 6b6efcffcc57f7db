//! The rows: one a check.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Game, Games, Interaction, Pair, holm, interactions, mcnemar, pairs};
use crate::{
    gate::{CheckId, CheckSet, checks},
    score::{Rate, Record},
};

/// One check's part. Each case counts on its home transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The check.
    pub check: &'static str,
    /// Attacks that the gate stops without it.
    pub without: Rate,
    /// How many attacks fewer that is than with every check on. 0: the check
    /// changes nothing on this corpus, or others cover for it.
    pub change: usize,
    /// Attacks that are stopped only without it.
    pub in_the_way: usize,
    /// Attacks that it stops alone.
    pub only: Rate,
    /// Its Shapley share: each attack that is stopped counts 1, divided among the
    /// checks that can stop it. The shares of all checks add up to the attacks
    /// stopped, less those that no check is needed for.
    pub shapley: f64,
    /// Attacks that nothing else stops: it stops them alone, and without it
    /// they succeed.
    pub exclusive: Vec<String>,
    /// Honest cases that it refuses alone, and that are served where no check acts.
    pub alarms: Vec<String>,
    /// Honest cases that are served without it and not with every check on.
    pub exclusive_alarms: Vec<String>,
    /// Clusters that are stopped with every check on and not without it, and the
    /// other way round.
    pub clusters: Discordant,
    /// How likely so uneven a split is by chance: exact McNemar over clusters,
    /// with Holm's adjustment for as many tests as there are checks.
    pub p: f64,
}

/// What came out one way and what came out the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Discordant {
    /// Stopped with every check on alone.
    pub lost: u64,
    /// Stopped without the check alone.
    pub gained: u64,
}

/// Everything that the ablation says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// One a check, in the order of the registry.
    pub checks: Vec<Row>,
    /// Each two checks that cover for one another, or need one another.
    pub pairs: Vec<Pair>,
    /// Cases in which it is not so that any one check of a few is enough.
    pub interactions: Vec<Interaction>,
    /// Attacks whose shares were found by trying every set of checks.
    pub shared: usize,
    /// Attacks among too many checks for that, whose shares follow the rule that
    /// each of those that stop it alone gets as much as the others.
    pub shared_by_rule: usize,
    /// Trials that were played for this.
    pub trials: usize,
    /// What they answer: each case with every check on, with none, without each,
    /// with each alone, and without each two.
    pub answers: usize,
}

/// The ablation of the cases that were played with every check on and with none;
/// `None` if there are none.
pub fn ablation(records: &[Record]) -> Option<Ablation> {
    let games = Games::new(records);
    // Without the trial in which no check acts, nothing was asked of a case.
    let games = Games(games.0.into_iter().filter(|game| game.with(CheckSet::none()).is_some()).collect());
    if games.0.is_empty() {
        return None;
    }
    let credit = credit(&games);
    let mut rows: Vec<Row> = checks::ALL.iter().map(|check| row(&games, check.docs().id, &credit)).collect();
    let adjusted = holm(&rows.iter().map(|row| row.p).collect::<Vec<_>>());
    for (row, p) in rows.iter_mut().zip(adjusted) {
        row.p = round(p);
        row.shapley = round(row.shapley);
    }
    let on = |game: &Game<'_>| game.on.len();
    Some(Ablation {
        checks: rows,
        pairs: pairs(&games),
        interactions: interactions(&games),
        shared: credit.tried,
        shared_by_rule: credit.by_rule,
        trials: records.iter().filter(|record| record.arm.is_ablation()).count(),
        answers: games.0.iter().map(|game| 2 + 2 * on(game) + on(game) * on(game).saturating_sub(1) / 2).sum(),
    })
}

/// Six places: far more than is meant, too few to differ by platform.
fn round(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn row(games: &Games<'_>, check: CheckId, credit: &Credit) -> Row {
    let one = CheckSet::one(check);
    let mut row = Row {
        check: check.as_str(),
        without: Rate::default(),
        change: 0,
        in_the_way: 0,
        only: Rate::default(),
        shapley: credit.shares.get(&check).copied().unwrap_or_default(),
        exclusive: Vec::new(),
        alarms: Vec::new(),
        exclusive_alarms: Vec::new(),
        clusters: Discordant::default(),
        p: 1.0,
    };
    let mut clusters: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for game in games.attacks() {
        let (with, without, only) = (game.stopped(game.on), game.stopped(game.on.less(one)), game.stopped(one));
        if let Some(stopped) = without {
            row.without.count(stopped);
        }
        if let Some(stopped) = only {
            row.only.count(stopped);
        }
        // What could not be judged without the check is not lost to it.
        let (Some(with), Some(without)) = (with, without) else { continue };
        row.change += usize::from(with && !without);
        row.in_the_way += usize::from(without && !with);
        if with && !without && only == Some(true) {
            row.exclusive.push(game.name());
        }
        let cluster = clusters.entry(game.case.cluster()).or_insert((true, true));
        *cluster = (cluster.0 && with, cluster.1 && without);
    }
    for (with, without) in clusters.into_values() {
        row.clusters.lost += u64::from(with && !without);
        row.clusters.gained += u64::from(without && !with);
    }
    row.p = mcnemar(row.clusters.lost, row.clusters.gained);
    for game in games.honest() {
        if game.served(CheckSet::none()) == Some(true) && game.served(one) == Some(false) {
            row.alarms.push(game.name());
        }
        if game.served(game.on) == Some(false) && game.served(game.on.less(one)) == Some(true) {
            row.exclusive_alarms.push(game.name());
        }
    }
    row
}

/// Who stopped the attacks, each attack shared out.
#[derive(Default)]
struct Credit {
    shares: BTreeMap<CheckId, f64>,
    tried: usize,
    by_rule: usize,
}

fn credit(games: &Games<'_>) -> Credit {
    let mut credit = Credit::default();
    for game in games.attacks() {
        let tried = game.shares();
        *(if tried.is_some() { &mut credit.tried } else { &mut credit.by_rule }) += 1;
        let shared = tried.unwrap_or_else(|| by_rule(game));
        for (check, share) in shared {
            *credit.shares.entry(check).or_insert(0.0) += share;
        }
    }
    credit
}

/// Where any one check of a few is enough, each gets the same.
pub(super) fn by_rule(game: &Game<'_>) -> Vec<(CheckId, f64)> {
    let enough: CheckSet = alone(game);
    #[expect(clippy::cast_precision_loss, reason = "there are few checks")]
    let share = 1.0 / enough.len().max(1) as f64;
    let is_stopped = game.stopped(game.on) == Some(true) && game.stopped(CheckSet::none()) == Some(false);
    enough.iter().filter(|_| is_stopped).map(|check| (check, share)).collect()
}

/// The checks of which each stops the attack alone.
pub(super) fn alone(game: &Game<'_>) -> CheckSet {
    game.on.iter().filter(|id| game.stopped(CheckSet::one(*id)) == Some(true)).collect()
}
