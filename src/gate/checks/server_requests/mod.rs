//! `server-requests`: what a server may ask its client for, and how much it may say.
//!
//! `sampling`, `elicitation`, `address` and `roots` each judge one kind of
//! request; here is what holds for all of them.

mod address;
mod elicitation;
mod roots;
mod sampling;
#[cfg(test)]
mod tests;

use super::CheckId;
use crate::{
    gate::{Asking, Check, Context, Docs, Event, Passing, Proposals, facts::responses},
    protocol::{
        Direction, Era, METHOD_NOT_FOUND, Message, Shape, meta,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct ServerRequests;

static DOCS: Docs = Docs {
    id: CheckId::new("server-requests"),
    summary: "requests of a server that its client did not offer, or that ask for secrets, money or attention",
    leg: "both",
    what: "Lets a server ask only `ping`, `sampling/createMessage`, `elicitation/create`, `roots/list` and, where the \
           client has tasks, `tasks/…`; only what the client declared when it opened the session, sub-capabilities \
           included; and only once the client said that it is ready. Sampling is held to caps (tokens of one \
           request, requests and bytes of a session, how many wait at once), takes nobody's context and gives the \
           model no orders that are not the server's to give. A form has flat fields, none of which asks for a \
           secret; an address is https, a plain name, without credentials, and of an allowed origin. What the user \
           declined is not asked again until the client acts. Roots are told within the policy's folders. \
           Notifications beyond a cap are dropped until the client says something of its own. Requests inside of a \
           result (`inputRequests`) and of a URL error (-32042) are held to the same. A refusal is answered to the \
           server; an answer of the client's to nothing is dropped. In the stateless era only what the request itself declares counts, a server asks inside \
           of results alone, and caps count by principal. All this holds without any setting.",
    why: "A server that may ask can spend the user's money, put words into the model's mouth, and stand before the \
          user with the host's own dialogs.",
    misses: "An order or a question for a secret in words that no rule knows, or in other languages than those of the \
             scan. A prompt that quotes an attack word for word is refused, unless the quotation stands in the \
             arguments of a request in flight: a server that reviews code which it fetched itself needs \
             `scan.except` or `requests.sampling.scan = false`. Pictures and sound are not read. How fast things \
             come: there is no clock, so caps count by session or between two messages of the client's. What a \
             user types into an honest form is for `secrets-out`.",
    example: r#"{"id":"s-1","method":"elicitation/create","params":{"message":"…","requestedSchema":{"type":"object","properties":{"seed_phrase":{"type":"string"}}}}}"#,
    source: "V01 to V08, V10; MCP client/sampling, client/elicitation, client/roots; protocol rules 117, 127, 129",
    rules: &[
        ("unknown-method", "a method that no server may ask with"),
        ("not-declared", "something that the client did not declare"),
        ("not-allowed", "something that the policy doesn't allow this server"),
        ("not-ready", "a request before the client said that it is ready"),
        ("id-in-use", "a request under an id that waits for an answer; the first one keeps it"),
        ("too-many", "more requests in the session than the policy allows"),
        ("no-session", "a request of the server's own where there is no session"),
        ("no-rounds", "a request inside of a result that can't be answered in rounds"),
        ("in-flight", "more requests waiting at once than the policy allows"),
        ("max-tokens", "a sampling request without a cap on its tokens, or with too high a one"),
        ("too-long", "sampling requests that are together longer than the policy allows"),
        ("context", "a prompt that would take in context of this or of other servers"),
        ("system-prompt", "a system prompt where the policy allows none"),
        ("poisoned-prompt", "a prompt with an order that is not the server's to give"),
        ("secret-asked", "a form that asks for a secret"),
        ("not-flat", "a form that is no flat object of plain fields"),
        ("address", "an address that is not https, no plain name, or carries credentials"),
        ("origin", "an address of an origin that the policy doesn't name"),
        ("other-address", "a message that shows another address than the one to be opened"),
        ("declined", "a question that the user declined, asked again; or too many declined in a row"),
        ("root", "a root outside of the policy's folders, or no folder at all, is not told"),
        ("flood", "a notification beyond the cap is dropped"),
        ("no-question", "an answer of the client's to nothing is dropped"),
    ],
};

/// Why something may not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct No {
    rule: &'static str,
    why: &'static str,
}

impl No {
    fn because<T>(rule: &'static str, why: &'static str) -> Result<T, Self> {
        Err(Self { rule, why })
    }
}

/// One request of a server's, wherever it stands.
#[derive(Clone, Copy, Debug)]
struct Ask<'a> {
    context: &'a Context<'a>,
    event: &'a Event<'a>,
    method: &'a str,
    params: Option<&'a Node>,
    /// What the client declared.
    capabilities: Option<&'a Node>,
    /// Whether taking in context has to be declared.
    has_contexts: bool,
    /// What went before in the session; nothing for a request inside of a result of
    /// the handshake era, which the client's own request bounds.
    asking: Option<&'a Asking>,
}

/// What a server may ask for inside of a result.
const INSIDE: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// How many pings may wait for an answer at once.
const PINGS: usize = 16;

impl Check for ServerRequests {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(Passing { direction, message, .. }) = event else { return };
        match (direction, message.shape()) {
            (Direction::Requestward, Shape::Response) => answered(context, event, message, proposals),
            (Direction::Requestward, Shape::Request) => {
                let answers = responses(message).map(|(_, answer)| answer);
                roots::told(context, event, message, answers, proposals);
            }
            (Direction::Replyward, Shape::Request) => asked(context, event, message, proposals),
            (Direction::Replyward, Shape::Notification) => {
                let limits = &context.policy(event).requests.unasked;
                let said = context.server(event).asking.get(&context.who.seat());
                if said.is_some_and(|asking| asking.said > limits.max_messages || asking.said_bytes > limits.max_bytes)
                {
                    proposals.discard("flood", "the server says more than its client asked to hear");
                }
            }
            (Direction::Replyward, Shape::Response) => inside(context, event, message, proposals),
            _ => {}
        }
    }
}

/// The server asks.
fn asked(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    if context.asked_again {
        return proposals.discard("id-in-use", "another request of the server's with this id waits for its answer");
    }
    let facts = context.server(event);
    let session = context.who.session.and_then(|id| facts.sessions.get(&id));
    let (initialize, ready) = match session {
        Some(session) => (Some(&session.initialize), session.initialized),
        None => (facts.initialize.as_ref(), facts.initialized),
    };
    let on_a_stateless_one = event.via().is_some_and(|via| {
        let mut versions = via.headers.iter().filter(|(name, _)| name == "mcp-protocol-version");
        versions.any(|(_, version)| Era::of(version) == Era::Stateless)
    });
    if on_a_stateless_one || (initialize.is_none() && facts.stateless) {
        let why = "without a session a server asks inside of its results, and nobody may answer it otherwise";
        return proposals.swallow("no-session", why);
    }
    let method = message.method().unwrap_or_default();
    let ask = Ask {
        context,
        event,
        method,
        has_contexts: facts.negotiated.as_deref() >= Some("2025-11-25"),
        params: message.params(),
        capabilities: initialize.and_then(|opening| opening.params()?.member("capabilities")),
        asking: facts.asking.get(&context.who.seat()),
    };
    let verdict = ask.judge().and_then(|()| {
        if !ready && method != "ping" {
            return No::because("not-ready", "the client has not said that it is ready");
        }
        Ok(())
    });
    match verdict {
        Ok(()) => {}
        Err(No { rule: rule @ "unknown-method", why }) => proposals.refuse_as(METHOD_NOT_FOUND, rule, why),
        Err(No { rule, why }) => proposals.refuse(rule, why),
    }
}

/// Requests that a server puts into its reply.
fn inside(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    let result = message.result().and_then(|result| result.member("inputRequests"));
    let error = message.error().and_then(|error| error.pointer("/data/elicitations"));
    if result.is_none() && error.is_none() {
        return;
    }
    if result.is_some() && !context.answered.is_some_and(|asked| meta::IN_ROUNDS.contains(&asked.method.as_str())) {
        return proposals.refuse("no-rounds", "the server asks in reply to what is answered in one round");
    }
    // What was declared before is no declaration in the stateless era.
    let stateless = context.answered.filter(|asked| asked.request.is_stateless());
    let facts = context.server(event);
    let opening = facts.initialize.as_ref();
    let capabilities = match stateless {
        Some(asked) => asked.request.in_meta(meta::CAPABILITIES).last(),
        None => opening.and_then(|opening| opening.params()?.member("capabilities")),
    };
    let asking = stateless.and_then(|asked| facts.asking.get(&asked.who.seat()));
    let has_contexts = stateless.is_some() || facts.negotiated.as_deref() >= Some("2025-11-25");
    let judge = |method, params| {
        if stateless.is_some() && !INSIDE.contains(&method) {
            return No::because("unknown-method", "a server asks for no such thing inside of a result");
        }
        Ask { context, event, method, params, capabilities, has_contexts, asking }.judge()
    };
    let in_result = result.map_or(&[][..], Node::members).iter().map(|member| {
        let method = member.value.member("method").and_then(Node::as_str).unwrap_or_default();
        judge(method, member.value.member("params"))
    });
    let in_error = error.map_or(&[][..], Node::items).iter().map(|params| judge("elicitation/create", Some(params)));
    if let Some(No { rule, why }) = in_result.chain(in_error).find_map(Result::err) {
        proposals.refuse(rule, why);
    }
}

/// The client answers.
fn answered(context: &Context<'_>, event: &Event<'_>, message: &Message, proposals: &mut Proposals) {
    match context.asked {
        None => proposals.discard("no-question", "the server asked nothing under this id, or was answered before"),
        Some(asked) if asked.method == "roots/list" => {
            roots::told(context, event, message, message.result(), proposals);
        }
        Some(_) => {}
    }
}

impl Ask<'_> {
    fn judge(&self) -> Result<(), No> {
        match self.method {
            "ping" => self.waits(PINGS),
            "sampling/createMessage" => sampling::judge(self),
            "elicitation/create" => elicitation::judge(self),
            "roots/list" => roots::judge(self),
            "tasks/get" | "tasks/result" => self.needs(&["tasks"]),
            "tasks/list" => self.needs(&["tasks", "list"]),
            "tasks/cancel" => self.needs(&["tasks", "cancel"]),
            _ => No::because("unknown-method", "a server has no such request"),
        }
    }

    /// Whether the client declared a capability.
    fn has(&self, path: &[&str]) -> bool {
        let found = path.iter().try_fold(self.capabilities, |at, key| at.map(|node| node.member(key)));
        found.flatten().is_some_and(|node| matches!(node.kind, Kind::Object(_) | Kind::Bool(true)))
    }

    fn needs(&self, path: &[&str]) -> Result<(), No> {
        if self.has(path) {
            Ok(())
        } else {
            No::because("not-declared", "the client did not declare that it offers this")
        }
    }

    /// A request that begins a task needs more than one that doesn't.
    fn needs_task(&self, path: &[&str]) -> Result<(), No> {
        if self.params.is_some_and(|params| params.member("task").is_some()) { self.needs(path) } else { Ok(()) }
    }

    fn allowed(allow: bool) -> Result<(), No> {
        if allow { Ok(()) } else { No::because("not-allowed", "this server may not ask for this") }
    }

    /// At most so many requests of this kind wait for an answer, this one included.
    fn waits(&self, most: usize) -> Result<(), No> {
        let session = self.context.who.session;
        let asked = &self.context.server(self.event).asked;
        let waiting = asked.iter().filter(|((of, _), asked)| *of == session && asked.method == self.method).count();
        if self.asking.is_some() && waiting > most {
            return No::because("in-flight", "too many requests of this kind wait for an answer");
        }
        Ok(())
    }

    /// At most so many in the session, this one included.
    fn counts(&self, most: usize, count: fn(&Asking) -> usize) -> Result<(), No> {
        if self.asking.is_some_and(|asking| count(asking) > most) {
            return No::because("too-many", "the server asked for this too often");
        }
        Ok(())
    }
}
