//! What a check is.

use super::{
    Asked, Count, Delegations, Event, Facts, Heard, InFlight, Listing, Outward, Page, Passing, Progress, Proposals,
    Rules, SchemaCache, ServerFacts, ServerPolicy, Surroundings, Who, checks::CheckId,
};
use crate::protocol::{
    Direction, Message, Shape,
    strict::{Document, Node},
};

/// A check's documentation: what `explain`, the reports and the docs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Docs {
    /// Its permanent id.
    pub id: CheckId,
    /// What it stops, in one line.
    pub summary: &'static str,
    /// Which messages it looks at: `requestward`, `replyward`, `discovery`, `launch`.
    pub leg: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Why that matters.
    pub why: &'static str,
    /// What it misses.
    pub misses: &'static str,
    /// An example of what it stops.
    pub example: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// Its rules: id and one line each.
    pub rules: &'static [(&'static str, &'static str)],
}

/// One check. It sees each event as it came, proposes, and keeps no state: what
/// it must remember are facts of the session.
pub trait Check: Sync + std::fmt::Debug {
    /// Its documentation.
    fn docs(&self) -> &'static Docs;

    /// Looks at an event and proposes what to do.
    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals);
}

/// What a check may know.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; no two make a state together")]
pub struct Context<'a> {
    /// The policy, compiled.
    pub rules: &'a Rules,
    /// What happened so far in the session, this event included.
    pub facts: &'a Facts,
    /// What the host handed the gate.
    pub delegations: &'a Delegations,
    /// The world outside, as far as the gate may ask about it.
    pub surroundings: &'a dyn Surroundings,
    /// The request that a reply answers, for a replyward response.
    pub answered: Option<&'a InFlight>,
    /// The definitions in it, for the reply to a listing.
    pub listing: Option<&'a Listing>,
    /// Where the page stands in its listing, for the reply to one.
    pub page: Option<Page>,
    /// The event is a request under an id that is in flight already.
    pub id_in_use: bool,
    /// How often what a request asks for was asked for, for one that makes the
    /// server do or disclose something.
    pub count: Option<Count>,
    /// What a progress notification of the server is to the requests in flight.
    pub progress: Option<Progress>,
    /// What a notification of the server is to the streams that clients asked for.
    pub heard: Option<Heard>,
    /// The server's own request that an answer of the client's answers.
    pub asked: Option<&'a Asked>,
    /// The event is a request of the server's under an id that it uses already.
    pub asked_again: bool,
    /// Who sent the request that the event is, or belongs to.
    pub who: Who,
    /// A reply to this request came to somebody else.
    pub crossed: Option<&'a InFlight>,
    /// A reply that came on the stream of a GET, to a request in flight: its own
    /// response is still to bring it.
    pub misplaced: bool,
    /// The server opened a session under the id of somebody else's.
    pub reissued: bool,
    /// The event is a call that the user consented to, with these very arguments.
    /// A consent is good for one call.
    pub consented: bool,
    /// The addresses on the network that the event names, where the policy asks.
    pub outward: &'a [Outward],
}

impl<'a> Context<'a> {
    /// The policy for the event's server.
    pub fn policy(&self, event: &Event<'_>) -> &'a ServerPolicy {
        self.rules.policy().server(event.server())
    }

    /// What is known of the event's server.
    pub fn server(&self, event: &Event<'_>) -> &'a ServerFacts {
        self.facts.server(event.server())
    }

    /// Compiled schemas, shared by every session.
    pub fn schemas(&self) -> &'a SchemaCache {
        self.rules.schemas()
    }
}

/// A `tools/call` on its way to the server, as `(message, tool name)`.
///
/// The name is `None` where it is no string.
pub(super) fn call<'a>(event: &Event<'a>) -> Option<(&'a Message, Option<&'a str>)> {
    match event {
        Event::Passing(Passing { direction: Direction::Requestward, message, .. })
            if message.method() == Some("tools/call") =>
        {
            Some((message, message.called_tool()))
        }
        _ => None,
    }
}

/// A response on its way to the client.
pub(super) fn response<'a>(event: &Event<'a>) -> Option<&'a Message> {
    match event {
        Event::Passing(Passing { direction: Direction::Replyward, message, .. })
            if message.shape() == Shape::Response =>
        {
            Some(message)
        }
        _ => None,
    }
}

/// Whether a message's `jsonrpc` is exactly "2.0", once.
pub(super) fn is_jsonrpc_2(message: &Message) -> bool {
    let mut versions = message.root().map_or(&[][..], Node::members).iter().filter(|member| member.key == "jsonrpc");
    versions.next().is_some_and(|member| member.value.as_str() == Some("2.0")) && versions.next().is_none()
}

/// The protocol version that a reply to `initialize` opens the session in, where
/// it says so exactly once and in a string.
pub(super) fn opened_version(message: &Message) -> Option<&str> {
    fn only<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
        let mut members = node.members().iter().filter(|member| member.key == key);
        members.next().filter(|_| members.next().is_none()).map(|member| &member.value)
    }
    only(only(message.root()?, "result")?, "protocolVersion")?.as_str()
}

/// Methods that make the server do or disclose something.
pub(super) const ACTING: [&str; 6] = [
    "tools/call",
    "resources/read",
    "resources/subscribe",
    "subscriptions/listen",
    "prompts/get",
    "completion/complete",
];

/// The addresses of the resources that a request is about.
pub(super) fn addresses(message: &Message) -> Vec<&Node> {
    let params = message.params().map_or(&[][..], Node::members);
    let named = |key: &'static str| params.iter().filter(move |member| member.key.eq_ignore_ascii_case(key));
    match message.method() {
        Some("resources/read" | "resources/subscribe") => named("uri").map(|member| &member.value).collect(),
        Some("subscriptions/listen") => {
            let lists = named("notifications").flat_map(|filter| filter.value.members());
            let lists = lists.filter(|list| list.key.eq_ignore_ascii_case("resourceSubscriptions"));
            lists.flat_map(|list| list.value.items()).collect()
        }
        _ => Vec::new(),
    }
}

/// Requests that make the server do or disclose something, on their way to it.
pub(super) fn acting_request<'a>(event: &Event<'a>) -> Option<&'a Message> {
    match event {
        Event::Passing(Passing { direction: Direction::Requestward, message, .. }) => {
            message.method().is_some_and(|method| ACTING.contains(&method)).then_some(*message)
        }
        _ => None,
    }
}

/// Answers the one request in flight in the place of a message of the server that
/// can only have been meant for it; where there are several, nobody is answered
/// by guessing.
pub(super) fn refuse_for_the_one_waiting(
    context: &Context<'_>,
    event: &Event<'_>,
    proposals: &mut Proposals,
    rule: &'static str,
    why: &str,
) {
    match context.server(event).only_in_flight() {
        Some(id) => proposals.refuse_instead_of(id.clone(), rule, why),
        None => proposals.discard(rule, why),
    }
}

/// Stops a reply that answers no request in flight: one to a request that was
/// answered or cancelled before is dropped, any other can only have been meant
/// for the one that waits.
pub(super) fn refuse_orphan(
    context: &Context<'_>,
    event: &Event<'_>,
    message: &Message,
    proposals: &mut Proposals,
    rule: &'static str,
    why: &str,
) {
    if message.id().is_some_and(|id| context.server(event).settled.contains(id)) {
        proposals.discard(rule, why);
    } else {
        refuse_for_the_one_waiting(context, event, proposals, rule, why);
    }
}

/// The result of a tool call, on its way to the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallResult<'a> {
    /// The document that it stands in.
    pub(super) document: &'a Document,
    /// The value under `result`.
    pub(super) result: &'a Node,
    /// The call.
    pub(super) call: &'a InFlight,
    /// What the server says that it is.
    pub(super) says: Says,
}

/// What a result of a tool call says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// A success.
    Success,
    /// `isError` is true: an honest failure has its own words.
    Failure,
    /// Two readers may take it for different things.
    Neither,
}

/// A reply that asks the client for more before there is a result (2026-07-28),
/// and that holds nothing which could be taken for one.
fn is_round(result: &Node) -> bool {
    const OWN: [&str; 5] = ["resultType", "inputRequests", "requestState", "_meta", "ttlMs"];
    let kind = result.members().iter().filter(|member| member.key == "resultType");
    let mut kinds = kind.map(|member| member.value.as_str());
    kinds.next() == Some(Some("input_required"))
        && kinds.next().is_none()
        && result.members().iter().all(|member| OWN.contains(&member.key.as_str()))
}

/// The result of a tool call in this event, if it is one; never an error reply,
/// nor a round before the result, which asks and says nothing yet.
pub(super) fn call_result<'a>(context: &Context<'a>, event: &Event<'a>) -> Option<CallResult<'a>> {
    let message = response(event)?;
    let call = context.answered.filter(|request| request.method == "tools/call")?;
    let document = message.document().ok()?;
    let result = message.result().filter(|result| !is_round(result))?;
    Some(CallResult { document, result, call, says: says(&document.root, result) })
}

/// What the result of a tool call says that it is.
pub(super) fn says(root: &Node, result: &Node) -> Says {
    let count = |node: &Node, key: &str| node.members().iter().filter(|member| member.key == key).count();
    match result.member("isError").map(Node::as_bool) {
        _ if count(root, "result") > 1 || count(result, "isError") > 1 => Says::Neither,
        None | Some(Some(false)) => Says::Success,
        Some(Some(true)) => Says::Failure,
        Some(None) => Says::Neither,
    }
}

/// Whether the answer to a tool call says, to every reader, that nothing was done.
pub(super) fn failed(message: &Message) -> bool {
    let Some(root) = message.root() else { return false };
    match message.result() {
        Some(result) => message.error().is_none() && says(root, result) == Says::Failure,
        None => message.error().is_some(),
    }
}
