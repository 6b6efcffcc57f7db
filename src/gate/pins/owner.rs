//! Whose pins they are.

use std::fmt;

use super::super::{Opening, Reach};
use crate::protocol::ServerName;

/// Where a server is: its identity. A command is its arguments one by one, since
/// two commands can read alike once they are joined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A command, argument by argument.
    Argv(Vec<String>),
    /// An HTTP endpoint.
    Url(String),
    /// An endpoint in the same process, by its name there.
    Memory(String),
}

/// Whose pins they are: a server by its place. Its configured name is a label
/// that says which servers replace one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Where it is.
    pub place: Place,
    /// What it is called here.
    pub name: ServerName,
}

impl Owner {
    /// The server that is being opened.
    pub fn of(opening: &Opening) -> Self {
        let place = match &opening.reach {
            Reach::Argv(argv) => Place::Argv(argv.clone()),
            Reach::Url(url) => Place::Url(url.clone()),
            Reach::Memory => Place::Memory(opening.server.to_string()),
        };
        Self { place, name: opening.server.clone() }
    }

    /// A server that speaks without having been opened.
    pub(in crate::gate) fn unopened(name: &ServerName) -> Self {
        Self { place: Place::Memory(name.to_string()), name: name.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argv(argv) => {
                for (index, word) in argv.iter().enumerate() {
                    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,".contains(c);
                    let space = if index == 0 { "" } else { " " };
                    if !word.is_empty() && word.chars().all(plain) {
                        write!(f, "{space}{word}")?;
                    } else {
                        write!(f, "{space}{word:?}")?;
                    }
                }
                Ok(())
            }
            Self::Url(url) => f.write_str(url),
            Self::Memory(name) => write!(f, "memory:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_told_apart_however_they_read() {
        let argv = |words: &[&str]| Place::Argv(words.iter().map(|word| (*word).to_owned()).collect());
        let (one, two) = (argv(&["desk", "--root", "/a b"]), argv(&["desk", "--root", "/a", "b"]));
        assert_ne!(one, two);
        assert_eq!(one.to_string(), r#"desk --root "/a b""#);
        assert_eq!(two.to_string(), "desk --root /a b");
        assert_eq!(argv(&["desk", ""]).to_string(), r#"desk """#);
    }
}
