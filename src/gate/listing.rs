//! The reply to a listing, as definitions.

use std::ops::Range;

use super::{Definition, envelope};
use crate::protocol::{
    Message,
    strict::{Kind, Node},
};

/// What a listing lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListingKind {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl ListingKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The listing that a method asks for.
    pub fn of(method: &str) -> Option<Self> {
        Some(match method {
            "tools/list" => Self::Tools,
            "resources/list" => Self::Resources,
            "resources/templates/list" => Self::Templates,
            "prompts/list" => Self::Prompts,
            _ => return None,
        })
    }

    /// The member of the result that holds the definitions.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member of a definition that names it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// One definition of a listing.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name, where it is a string.
    pub name: Option<String>,
    /// The definition.
    pub node: Node,
    /// All of it in the form that is pinned; only made where the policy pins.
    pub definition: Option<Definition>,
    /// Why two readers may take the definition for different things, if they may.
    pub doubt: Option<&'static str>,
}

/// The reply to a listing.
#[derive(Clone, Debug)]
pub struct Listing {
    /// What it lists.
    pub kind: ListingKind,
    /// The bytes of the array of definitions.
    pub span: Range<usize>,
    /// The definitions in order.
    pub items: Vec<Listed>,
    /// Whether another page follows.
    pub more: bool,
}

impl Listing {
    /// The definitions in the reply to a listing, where it holds an array of them.
    pub(super) fn read(kind: ListingKind, message: &Message, pinned: bool) -> Option<Self> {
        let result = message.result()?;
        let array = result.member(kind.member()).filter(|node| matches!(node.kind, Kind::Array(_)))?;
        let notes = message.document().map(|document| document.notes.as_slice()).unwrap_or_default();
        let items = array
            .items()
            .iter()
            .zip(envelope::doubts(kind, array.items(), notes))
            .map(|(node, doubt)| Listed {
                name: node.member(kind.key()).and_then(Node::as_str).map(str::to_owned),
                definition: pinned.then(|| Definition::of(message.raw(), node)),
                node: node.clone(),
                doubt,
            })
            .collect();
        let more = result.member("nextCursor").is_some_and(|cursor| cursor.as_str().is_some());
        Some(Self { kind, span: array.span.clone(), items, more })
    }
}
