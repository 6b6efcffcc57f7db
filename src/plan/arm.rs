//! One configuration of what stands in the middle.

use std::{fmt, str::FromStr};

use crate::gate::{CheckId, CheckSet, checks};

/// What stands between the client and the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arm {
    /// Nothing: the client talks to the server. What the naive arm must equal.
    Direct,
    /// A gate that forwards everything byte for byte.
    Naive,
    /// The reference gate with the checks that its policy leaves on.
    Guarded,
    /// The same with one check off.
    Without(CheckId),
    /// The same with one check alone on.
    Only(CheckId),
}

impl Arm {
    /// The checks that are on in this arm, of those that the policy leaves on.
    /// `None` where there is no reference gate.
    pub fn checks(self, policy: &CheckSet) -> Option<CheckSet> {
        match self {
            Self::Direct | Self::Naive => None,
            Self::Guarded => Some(policy.clone()),
            Self::Without(id) => Some(policy.clone().with(id, false)),
            Self::Only(id) => {
                Some(if policy.contains(id) { CheckSet::none().with(id, true) } else { CheckSet::none() })
            }
        }
    }

    /// Whether every attack must succeed in this arm: nothing stands in its way.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Direct | Self::Naive)
    }

    /// Both ablation arms of every check.
    pub fn ablation() -> impl Iterator<Item = Self> {
        let ids = || checks::ALL.iter().map(|check| check.docs().id);
        ids().map(Self::Without).chain(ids().map(Self::Only))
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Naive => f.write_str("naive"),
            Self::Guarded => f.write_str("guarded"),
            Self::Without(id) => write!(f, "without:{id}"),
            Self::Only(id) => write!(f, "only:{id}"),
        }
    }
}

/// A text that names no arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown arm '{arm}', expected direct, naive, guarded, without:<check> or only:<check>{hint}")]
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
        match text.split_once(':') {
            Some(("without", name)) => check(name).map(Self::Without),
            Some(("only", name)) => check(name).map(Self::Only),
            _ => match text {
                "direct" => Ok(Self::Direct),
                "naive" => Ok(Self::Naive),
                "guarded" => Ok(Self::Guarded),
                _ => Err(unknown(&["direct", "naive", "guarded"], text)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for arm in [Arm::Direct, Arm::Naive, Arm::Guarded].into_iter().chain(Arm::ablation()) {
            assert_eq!(arm.to_string().parse(), Ok(arm));
        }
        let error = "without:tool-alowlist".parse::<Arm>().unwrap_err().to_string();
        assert!(error.contains("did you mean 'tool-allowlist'"), "{error}");
    }
}
