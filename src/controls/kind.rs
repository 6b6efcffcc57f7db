//! Which control gates there are.

use std::fmt;

use super::{
    answering::{CannedYes, DenyAll},
    leaky::Leaky,
    mutant::{Blind, Hollow, Zealous},
    retyping::Retyping,
    silent::{Dead, Hanging, Mute},
    wrong_reason::WrongReason,
};
use crate::gate::{CheckId, CheckSet, Gate, Guarded, Naive};

/// A gate that is wrong as a whole (or, the first, that does nothing).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Control {
    /// Forwards everything byte for byte.
    PassThrough,
    /// Forwards everything, parsed and printed anew.
    Retyping,
    /// Refuses every request, forwards nothing.
    DenyAll,
    /// Closes the connection.
    Dead,
    /// Answers every request with a success that it made up, forwards nothing.
    CannedYes,
    /// Takes everything, answers nothing and keeps the connection.
    Hanging,
    /// Refuses as the reference gate does, and forwards what it refused.
    Leaky,
    /// Refuses as the reference gate does, and tells nobody.
    Mute,
    /// Decides as the reference gate does, and names another check for it.
    WrongReason,
}

impl Control {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::PassThrough,
        Self::Retyping,
        Self::DenyAll,
        Self::Dead,
        Self::CannedYes,
        Self::Hanging,
        Self::Leaky,
        Self::Mute,
        Self::WrongReason,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PassThrough => "pass-through",
            Self::Retyping => "retyping",
            Self::DenyAll => "deny-all",
            Self::Dead => "dead",
            Self::CannedYes => "canned-yes",
            Self::Hanging => "hanging",
            Self::Leaky => "leaky",
            Self::Mute => "mute",
            Self::WrongReason => "wrong-reason",
        }
    }

    /// What it does, in a few words.
    pub fn what(self) -> &'static str {
        match self {
            Self::PassThrough => "forwards every byte",
            Self::Retyping => "forwards everything, parsed and printed anew",
            Self::DenyAll => "refuses every request",
            Self::Dead => "closes the connection",
            Self::CannedYes => "answers every request with a success that it made up",
            Self::Hanging => "takes everything and answers nothing",
            Self::Leaky => "refuses as the reference gate does, and forwards what it refused",
            Self::Mute => "refuses as the reference gate does, and tells nobody",
            Self::WrongReason => "decides as the reference gate does, and names another check for it",
        }
    }

    /// Whether the reference gate is in it.
    pub fn wraps_reference(self) -> bool {
        matches!(self, Self::Leaky | Self::Mute | Self::WrongReason)
    }

    /// The gate; `reference` is the one that it wraps, where it does.
    pub fn gate(self, reference: Guarded) -> Box<dyn Gate> {
        match self {
            Self::PassThrough => Box::new(Naive),
            Self::Retyping => Box::new(Retyping),
            Self::DenyAll => Box::new(DenyAll),
            Self::Dead => Box::new(Dead),
            Self::CannedYes => Box::new(CannedYes),
            Self::Hanging => Box::new(Hanging),
            Self::Leaky => Box::new(Leaky::new(reference)),
            Self::Mute => Box::new(Mute::new(reference)),
            Self::WrongReason => Box::new(WrongReason::new(reference)),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How one check of the reference gate goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutation {
    /// It sees nothing.
    Blind,
    /// It says in the trail that it acted, and doesn't.
    Hollow,
    /// It refuses whatever it looks at.
    Zealous,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Blind, Self::Hollow, Self::Zealous];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blind => "blind",
            Self::Hollow => "hollow",
            Self::Zealous => "zealous",
        }
    }

    /// What it makes of the check, in a few words.
    pub fn what(self) -> &'static str {
        match self {
            Self::Blind => "sees nothing",
            Self::Hollow => "only says that it acted",
            Self::Zealous => "refuses whatever it looks at",
        }
    }

    /// The checks that still act, of those that the policy leaves on.
    #[must_use]
    pub fn leaves(self, policy: CheckSet, check: CheckId) -> CheckSet {
        match self {
            Self::Blind | Self::Hollow => policy.less(CheckSet::one(check)),
            Self::Zealous => policy,
        }
    }

    /// The gate: `reference` with `check` gone wrong. Where the policy switches a
    /// check off, there is nothing to go wrong.
    pub fn gate(self, check: CheckId, reference: Guarded, policy: CheckSet) -> Box<dyn Gate> {
        let reference = reference.enforcing(self.leaves(policy, check));
        match self {
            Self::Blind => Box::new(Blind(reference)),
            Self::Hollow => Box::new(Hollow(reference)),
            Self::Zealous if policy.contains(check) => Box::new(Zealous::new(reference, check)),
            Self::Zealous => Box::new(reference),
        }
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
