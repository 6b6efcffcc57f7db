//! One case under every set of checks, from as few trials as tell.

use std::collections::{BTreeMap, BTreeSet};

use super::{PLAYERS, shares};
use crate::{
    case::{Case, Kind},
    gate::{CheckId, CheckSet},
    judge::Status,
    plan::{Arm, Trial},
    protocol::Revision,
    score::Record,
};

/// What was played of one case on its home transport.
#[derive(Debug)]
pub struct Game<'a> {
    /// The case.
    pub case: &'a Case,
    /// What it was spoken in.
    pub revision: Revision,
    /// The checks that its policy leaves on.
    pub on: CheckSet,
    played: Vec<&'a Record>,
}

impl<'a> Game<'a> {
    /// The trial that says what happens where exactly `enforced` act: its own, or
    /// one that differs from it only in checks that had nothing to say.
    pub fn with(&self, enforced: CheckSet) -> Option<&'a Record> {
        let enforced = enforced.and(self.on);
        let tells = |record: &&&Record| {
            record.enforced.is_some_and(|acted| acted.and(record.spoke) == enforced.and(record.spoke))
        };
        self.played.iter().find(tells).copied()
    }

    /// Whether an attack was stopped there; `None` where it could not be judged.
    pub fn stopped(&self, enforced: CheckSet) -> Option<bool> {
        let verdict = self.with(enforced)?.verdict.as_ref()?;
        (verdict.status != Status::Blocked).then_some(verdict.stopped)
    }

    /// Whether an honest case was served there; `None` where it could not be judged.
    pub fn served(&self, enforced: CheckSet) -> Option<bool> {
        let verdict = self.with(enforced)?.verdict.as_ref()?;
        (verdict.status != Status::Blocked).then_some(verdict.status == Status::Pass)
    }

    /// Every check that said something in any of its trials. No other can make a
    /// difference to it.
    pub fn players(&self) -> CheckSet {
        self.played.iter().fold(CheckSet::none(), |all, record| all.or(record.spoke)).and(self.on)
    }

    /// Its players, where they are few enough for every set of them to be tried.
    pub(super) fn few(&self) -> Option<CheckSet> {
        Some(self.players()).filter(|players| players.len() <= PLAYERS)
    }

    /// What each player's part in stopping it is; `None` where there are too many to
    /// try every set of them, or one could not be judged.
    pub(super) fn shares(&self) -> Option<Vec<(CheckId, f64)>> {
        shares(self.few()?, |set| self.stopped(set).map(|stopped| if stopped { 1.0 } else { 0.0 }))
    }

    /// Its name, with the revision where that is not the case's home.
    pub fn name(&self) -> String {
        self.case.name_in(self.revision)
    }

    /// The sets of checks that the tables ask about.
    fn questions(&self) -> impl Iterator<Item = CheckSet> {
        let singles = self.on.iter().flat_map(|id| [CheckSet::one(id), self.on.with(id, false)]);
        let pairs = ways(self.on).map(|(a, b)| self.on.with(a, false).with(b, false));
        let tried = self.few().filter(|_| self.case.body.kind == Kind::Attack);
        let subsets = tried.map(CheckSet::subsets).unwrap_or_default();
        [self.on, CheckSet::none()].into_iter().chain(singles).chain(pairs).chain(subsets)
    }
}

/// Each two of some checks, in the order of the registry.
pub(super) fn ways(checks: CheckSet) -> impl Iterator<Item = (CheckId, CheckId)> {
    checks.iter().flat_map(move |a| checks.iter().skip_while(move |id| *id != a).skip(1).map(move |b| (a, b)))
}

/// Every case of a run whose ablation was begun, in the order of ids.
#[derive(Debug)]
pub struct Games<'a>(pub Vec<Game<'a>>);

impl<'a> Games<'a> {
    /// Gathers them.
    pub fn new(records: &'a [Record]) -> Self {
        let mut games: BTreeMap<(&str, Revision), Game<'a>> = BTreeMap::new();
        for record in records.iter().filter(|record| record.transport == record.case.home()) {
            if record.enforced.is_none() {
                continue;
            }
            let key = (record.case.id.as_str(), record.revision);
            let new = || Game { case: &record.case, revision: record.revision, on: record.on, played: Vec::new() };
            games.entry(key).or_insert_with(new).played.push(record);
        }
        Self(games.into_values().collect())
    }

    /// The attacks.
    pub fn attacks(&self) -> impl Iterator<Item = &Game<'a>> {
        self.0.iter().filter(|game| game.case.body.kind == Kind::Attack)
    }

    /// The honest cases.
    pub fn honest(&self) -> impl Iterator<Item = &Game<'a>> {
        self.0.iter().filter(|game| game.case.body.kind == Kind::Benign)
    }
}

/// The trials that still have to be played before the tables can be made of
/// `records`. Play them, add what came of them, and ask again until there are none.
///
/// `cases` are the trials of the guarded arm on each case's home transport.
pub fn missing(cases: &[Trial], records: &[Record]) -> Vec<Trial> {
    let games = Games::new(records);
    let by_case: BTreeMap<_, _> = games.0.iter().map(|game| ((game.case.id.as_str(), game.revision), game)).collect();
    let mut trials = Vec::new();
    for trial in cases {
        let on = trial.prepared.rules.checks();
        let with = |enforced: CheckSet| Trial { arm: Arm::Only(enforced), ..trial.clone() };
        let Some(game) = by_case.get(&(trial.prepared.case.id.as_str(), trial.revision)) else {
            trials.extend([with(on), with(CheckSet::none())]);
            continue;
        };
        // Sets that agree on all that is known to speak up will most likely do
        // the same; if not, the next round shows it.
        let known = game.players();
        let mut asked = BTreeSet::new();
        for enforced in game.questions() {
            if game.with(enforced).is_none() && asked.insert(enforced.and(known)) {
                trials.push(with(enforced));
            }
        }
    }
    trials
}
