//! One configuration of what stands in the middle.

use std::{fmt, str::FromStr};

use crate::{
    controls::{Control, Mutation},
    gate::{CheckId, CheckSet, checks},
};

/// What stands between the client and the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arm {
    /// Nothing: the client talks to the server. What the naive arm must equal.
    Direct,
    /// A gate that forwards everything byte for byte.
    Naive,
    /// The reference gate with the checks that its policy leaves on.
    Guarded,
    /// The same, of which these checks don't act: they only say what they would
    /// have done.
    Without(CheckSet),
    /// The same, of which these checks alone act.
    Only(CheckSet),
    /// A gate that is wrong on purpose: what the harness is qualified with.
    Control(Control),
    /// The reference gate with one check gone wrong, for the same.
    Mutant(Mutation, CheckId),
    /// A gate that is not gateproof's own: see [`super::Outside`].
    Outside,
}

impl Arm {
    /// The reference gate in which no check acts: each says what it would have done.
    pub const SHADOW: Self = Self::Only(CheckSet::none());

    /// The checks that act in this arm, of those that the policy leaves on.
    /// `None` where there is no reference gate.
    pub fn checks(self, policy: CheckSet) -> Option<CheckSet> {
        match self {
            Self::Direct | Self::Naive | Self::Outside => None,
            Self::Control(control) => control.wraps_reference().then_some(policy),
            Self::Mutant(mutation, check) => Some(mutation.leaves(policy, check)),
            Self::Guarded => Some(policy),
            Self::Without(checks) => Some(policy.less(checks)),
            Self::Only(checks) => Some(policy.and(checks)),
        }
    }

    /// Whether every attack must succeed in this arm: nothing stands in its way.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Direct | Self::Naive)
    }

    /// Whether this is a part of the ablation.
    pub fn is_ablation(self) -> bool {
        matches!(self, Self::Without(_) | Self::Only(_))
    }

    /// Whether nothing is expected of a single trial in this arm: only of many
    /// can something be said, by the ablation or by the doctor.
    pub fn expects_nothing(self) -> bool {
        self.is_ablation() || matches!(self, Self::Control(_) | Self::Mutant(..))
    }

    /// Every control gate, then every mutant of every check.
    pub fn controls() -> impl Iterator<Item = Self> {
        let of = |check: CheckId| Mutation::ALL.map(|mutation| Self::Mutant(mutation, check));
        let mutants = checks::ALL.iter().flat_map(move |check| of(check.docs().id));
        Control::ALL.into_iter().map(Self::Control).chain(mutants)
    }

    /// Both ablation arms of every check.
    pub fn ablation() -> impl Iterator<Item = Self> {
        let each = || checks::ALL.iter().map(|check| CheckSet::one(check.docs().id));
        each().map(Self::Without).chain(each().map(Self::Only))
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |checks: &CheckSet| {
            let names: Vec<_> = checks.iter().map(CheckId::as_str).collect();
            if names.is_empty() { NONE.to_owned() } else { names.join("+") }
        };
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Naive => f.write_str("naive"),
            Self::Guarded => f.write_str("guarded"),
            Self::Without(checks) => write!(f, "without:{}", names(checks)),
            Self::Only(checks) => write!(f, "only:{}", names(checks)),
            Self::Control(control) => write!(f, "control:{control}"),
            Self::Mutant(mutation, check) => write!(f, "mutant:{mutation}:{check}"),
            Self::Outside => f.write_str("outside"),
        }
    }
}

/// The word for no check at all.
const NONE: &str = "none";

/// What an arm's name begins with.
const KINDS: [&str; 8] = ["direct", "naive", "guarded", "outside", "without", "only", "control", "mutant"];

/// A text that names no arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown arm '{arm}', expected direct, naive, guarded, outside, without:<check> or only:<check> (or several, as <check>+<check>), control:<gate> or mutant:<mutation>:<check>{hint}"
)]
pub struct UnknownArm {
    arm: String,
    hint: String,
}

impl FromStr for Arm {
    type Err = UnknownArm;

    fn from_str(text: &str) -> Result<Self, UnknownArm> {
        let unknown = |known: &[&str], word: &str| UnknownArm {
            arm: text.to_owned(),
            hint: crate::fixture::suggest(word, known.iter().copied())
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default(),
        };
        let check = |name: &str| {
            let known: Vec<_> = checks::ALL.iter().map(|check| check.docs().id.as_str()).collect();
            CheckId::parse(name).ok_or_else(|| unknown(&known, name))
        };
        let checks = |names: &str| match names {
            NONE => Ok(CheckSet::none()),
            names => names.split('+').map(check).collect(),
        };
        let control = |name: &str| {
            let found = Control::ALL.into_iter().find(|control| control.as_str() == name);
            found.ok_or_else(|| unknown(&Control::ALL.map(Control::as_str), name))
        };
        let mutation = |name: &str| {
            let found = Mutation::ALL.into_iter().find(|mutation| mutation.as_str() == name);
            found.ok_or_else(|| unknown(&Mutation::ALL.map(Mutation::as_str), name))
        };
        match text.split(':').collect::<Vec<_>>().as_slice() {
            ["direct"] => Ok(Self::Direct),
            ["naive"] => Ok(Self::Naive),
            ["guarded"] => Ok(Self::Guarded),
            ["outside"] => Ok(Self::Outside),
            ["without", names] => checks(names).map(Self::Without),
            ["only", names] => checks(names).map(Self::Only),
            ["control", name] => control(name).map(Self::Control),
            ["mutant", name, of] => Ok(Self::Mutant(mutation(name)?, check(of)?)),
            words => Err(unknown(&KINDS, words.first().unwrap_or(&text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let pair = ["egress", "origin"].into_iter().filter_map(CheckId::parse).collect();
        let more =
            [Arm::Direct, Arm::Naive, Arm::Guarded, Arm::Outside, Arm::SHADOW, Arm::Without(pair), Arm::Only(pair)];
        for arm in more.into_iter().chain(Arm::ablation()).chain(Arm::controls()) {
            assert_eq!(arm.to_string().parse(), Ok(arm));
        }
        assert_eq!(Arm::Only(pair).to_string(), "only:origin+egress");
        assert_eq!("mutant:hollow:egress".parse::<Arm>().unwrap().to_string(), "mutant:hollow:egress");
    }

    #[test]
    fn unknown_names_are_told_what_was_meant() {
        for (text, meant) in [
            ("without:tool-alowlist", "tool-allowlist"),
            ("naiv", "naive"),
            ("control:leeky", "leaky"),
            ("mutant:holow:egress", "hollow"),
            ("mutant:hollow:egres", "egress"),
            ("mutants:hollow:egress", "mutant"),
        ] {
            let error = text.parse::<Arm>().unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean '{meant}'")), "{error}");
        }
        for wrong in ["control", "control:leaky:egress", "mutant:hollow", "naive:", "guarded:egress", ""] {
            assert!(wrong.parse::<Arm>().is_err(), "{wrong}");
        }
    }
}
