//! Requests that are answered in several rounds (from 2026-07-28): what a result
//! asked for, until the client asks again with the answers.

use std::collections::BTreeMap;

use super::{
    StateUse, question,
    sessions::{Remembered, Who},
};
use crate::{
    digest::Fingerprint,
    protocol::{
        Message, meta,
        strict::{Kind, Node},
    },
};

/// A request goes on for so many rounds; asked once more, it is a new one.
const MOST: usize = 8;

/// The rounds that wait for the client.
#[derive(Debug, Default)]
pub struct Rounds {
    open: Remembered<Round>,
}

/// What one result asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// What was asked, by its key.
    pub(super) asked: BTreeMap<String, Question>,
    /// The user consented to the request.
    pub(super) consented: bool,
    /// The definition of the tool that it calls, as it was listed then.
    pub(super) definition: Option<Fingerprint>,
    /// How often it was answered with a round so far.
    pub(super) number: usize,
}

/// A request of the server's inside of a result.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) method: String,
    /// What makes it the same to a person, for a question to one.
    pub(super) asks: Option<Fingerprint>,
}

/// The requests of the server's in a result, by their keys.
pub(in crate::gate) fn questions(result: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let lists = result.members().iter().filter(|member| member.key == "inputRequests");
    lists.flat_map(|list| list.value.members()).map(|member| (member.key.as_str(), &member.value))
}

/// What the client answers to them.
pub(in crate::gate) fn responses(request: &Message) -> impl Iterator<Item = (&str, &Node)> {
    let params = request.root().map_or(&[][..], Node::members).iter().filter(|member| member.key == "params");
    let members = params.flat_map(|params| params.value.members());
    let lists = members.filter(|member| member.key == "inputResponses");
    lists.flat_map(|list| list.value.members()).map(|member| (member.key.as_str(), &member.value))
}

/// Whether a result says that it is not the last word.
fn is_round(result: &Node) -> bool {
    let of = |key: &str| result.members().iter().any(|member| member.key == key);
    result.member("resultType").and_then(Node::as_str) == Some("input_required")
        && (of("inputRequests") || of("requestState"))
}

impl Rounds {
    /// A result came for a request that had been answered with `number` rounds before.
    /// Says whether it is one more.
    pub(super) fn answered(&mut self, request: &Message, result: &Node, who: Who, before: &Round) -> bool {
        if !is_round(result) {
            return false;
        }
        let Some(of) = StateUse::of(request, who) else { return false };
        let asked = questions(result).map(|(key, asked)| {
            let method = asked.member("method").and_then(Node::as_str).unwrap_or_default().to_owned();
            let params = asked.member("params").filter(|_| method == "elicitation/create");
            (key.to_owned(), Question { asks: params.map(question), method })
        });
        let round = Round { asked: asked.collect(), number: before.number + 1, ..before.clone() };
        self.open.put(of.digest(), round);
        true
    }

    /// Nothing that was consented to is any more.
    pub(super) fn revoke(&mut self) {
        self.open.each(|round| round.consented = false);
    }

    /// The client asks again: the round that it goes on from. Each is good for once.
    pub(super) fn continued(&mut self, request: &Message, who: Who) -> Option<Round> {
        let brings = |key: &str| {
            let params = request.params().map_or(&[][..], Node::members);
            params.iter().any(|member| member.key == key && member.value.kind != Kind::Null)
        };
        let method = request.method()?;
        if !meta::IN_ROUNDS.contains(&method) || !(brings("inputResponses") || brings("requestState")) {
            return None;
        }
        let round = self.open.take(&StateUse::of(request, who)?.digest())?;
        (round.number < MOST).then_some(round)
    }
}
