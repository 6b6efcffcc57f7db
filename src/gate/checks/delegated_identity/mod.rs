//! `delegated-identity`: calls run as the user, with the token made for this server.
//!
//! `travels` knows where else credentials travel, and `challenge` what a server
//! asks for when it turns a token down.

mod challenge;
#[cfg(test)]
mod tests;
mod travels;

use url::{Host, Url};

use super::{super::check, CheckId};
use crate::{
    gate::{
        Check, Context, Delegation, Docs, Event, Head, Hop, IdentityMode, IdentityPolicy, Opening, Passing, Proposals,
        Reach,
    },
    protocol::Direction,
};

/// See the module.
#[derive(Debug)]
pub(super) struct DelegatedIdentity;

static DOCS: Docs = Docs {
    id: CheckId::new("delegated-identity"),
    summary: "calls under the server's own account, and tokens meant for somebody else",
    leg: "launch, requestward, replyward",
    what: "Where the policy asks for the delegated identity, hands a launched server the token that the host holds \
           for it in the named environment variable, and sets it as the only `Authorization` of every HTTP message. \
           What the client sent there goes no further, nor do credentials in other headers (`identity.keep` names \
           those that may) or in `_meta`, nor its own token in the body. A server that is reached at another origin \
           than the token's `identity.audience`, or a token with scopes that the policy does not list, gets none. \
           Where the host holds no token for this server, or there is no way to hand it over, every call of a tool, \
           read of a resource and prompt is refused; so is a call whose tool `needs` scopes that the token lacks. A \
           server that turns a token down and asks for scopes outside `identity.scopes` is not heard, one that sends \
           the request off the audience not followed, and one whose address holds a credential not reached. The \
           token that the host holds for one server never goes to another, with or without an identity policy.",
    why: "A server with a powerful account of its own does for anybody what only some may do; and a token that is \
          passed on to a server that it was not made for can be used there against its owner.",
    misses: "What the server does with the token: it may still use its own account. Scopes are what the host says \
             that they are; the token is not read. Credentials under names that no rule knows, or in arguments, which \
             are for `secrets-out`. Tokens of other servers are found as they stand, not encoded. The audience of a \
             launched program. Where else a token leads once the server has it.",
    example: "a call through a server that was started with a service account, without the user's token",
    source: "A01, A03, A05; MCPJungle#252, HolmesGPT#2414; protocol rules 133 to 136; RFC 8707, RFC 6750",
    rules: &[
        ("no-delegation", "the call would run under the server's own account"),
        ("token-set", "the delegated token was handed over, and replaced what was there"),
        ("token-stripped", "a credential that is not the delegated one was taken away"),
        ("token-in-body", "the client's own token stands in the message itself"),
        ("token-in-address", "the server's address holds a credential"),
        ("foreign-token", "a token that the host holds for another server"),
        ("foreign-audience", "the server is reached, or would be, where the token is not for"),
        ("excess-scope", "the token may do more than the policy allows"),
        ("missing-scope", "the token may not do what the tool needs"),
        ("scope-step-up", "the server asks for more than the policy allows"),
    ],
};

impl Check for DelegatedIdentity {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        if let Event::Passing(passing @ Passing { direction: Direction::Requestward, .. }) = event {
            travels::others_tokens(context, passing, proposals);
        }
        let Some(identity) = &context.policy(event).identity else { return };
        match identity.mode {
            IdentityMode::Delegated => {}
        }
        match event {
            Event::Opening(opening) => opened(context, opening, identity, proposals),
            Event::Passing(passing @ Passing { direction: Direction::Requestward, .. }) => {
                requested(context, event, passing, identity, proposals);
            }
            Event::Head(Head { status: 401 | 403, headers, .. }) => {
                challenge::judge(headers, identity.scopes.as_deref(), proposals);
            }
            Event::Hop(Hop { to, .. }) if identity.audience.as_ref().is_some_and(|audience| !is_for(audience, to)) => {
                proposals.refuse("foreign-audience", "the token is not for the server that the request was sent to");
            }
            _ => {}
        }
    }
}

/// The token for this server, where there is one that it may have.
fn token<'a>(context: &Context<'a>, event: &Event<'_>, identity: &IdentityPolicy) -> Result<&'a Delegation, No> {
    if let (Some(audience), Some(Reach::Url(reach))) = (&identity.audience, reach(context, event))
        && !is_for(audience, reach)
    {
        return Err(("foreign-audience", "the delegated token is not for the server that is reached here"));
    }
    let Some(delegation) = context.delegations.get(event.server()) else {
        let why = "the host holds no delegated token for this server, so the call would run under the server's own \
                   account";
        return Err(("no-delegation", why));
    };
    let within = |scope: &String| identity.scopes.as_ref().is_none_or(|allowed| allowed.contains(scope));
    if !delegation.scopes.iter().all(within) {
        return Err(("excess-scope", "the delegated token may do more than it may be used for here"));
    }
    Ok(delegation)
}

/// Why there is no token: a rule, and words.
type No = (&'static str, &'static str);

/// How the server is reached, at the moment of the opening, too.
fn reach<'a>(context: &Context<'a>, event: &Event<'a>) -> Option<&'a Reach> {
    match event {
        Event::Opening(opening) => Some(&opening.reach),
        _ => context.server(event).reach.as_ref(),
    }
}

fn opened(context: &Context<'_>, opening: &Opening, identity: &IdentityPolicy, proposals: &mut Proposals) {
    if let Reach::Url(address) = &opening.reach
        && travels::in_address(address)
    {
        proposals.refuse("token-in-address", "the server's address holds a credential, which others may read");
    }
    let Some(variable) = &identity.env else { return };
    let token = token(context, &Event::Opening(opening), identity).ok().map(|delegation| delegation.token.as_str());
    let there = opening.env.get(variable).map(String::as_str);
    if there != token {
        let (rule, why) = said(token.is_some());
        proposals.env(variable, token.map(str::to_owned), rule, why);
    }
}

fn requested(
    context: &Context<'_>,
    event: &Event<'_>,
    passing: &Passing<'_>,
    identity: &IdentityPolicy,
    proposals: &mut Proposals,
) {
    let token = token(context, event, identity);
    // A server that was launched gets its token by the variable alone.
    let launched = matches!(context.server(event).reach, Some(Reach::Argv(_)));
    let unhanded = launched && identity.env.is_none();
    if check::acting_request(event).is_some() {
        match token {
            Err((rule, why)) => proposals.refuse(rule, why),
            Ok(_) if unhanded => {
                proposals.refuse("no-delegation", "there is no way to hand the delegated token to this server");
            }
            Ok(delegation) => needs(context, event, delegation, proposals),
        }
    }
    travels::in_meta(passing.message, proposals);
    let Some(headers) = passing.headers else { return };
    let sent: Vec<_> = headers.iter().filter(|(name, _)| name == "authorization").map(|(_, value)| value).collect();
    let wanted = token.ok().map(|delegation| format!("Bearer {}", delegation.token));
    if sent != wanted.iter().collect::<Vec<_>>() {
        let (rule, why) = said(wanted.is_some());
        proposals.header("authorization", wanted, rule, why);
    }
    travels::in_headers(headers, &identity.keep, proposals);
    travels::in_body(headers, passing.message, proposals);
}

/// The scopes that the policy says a tool needs.
fn needs(context: &Context<'_>, event: &Event<'_>, delegation: &Delegation, proposals: &mut Proposals) {
    let Some((_, Some(name))) = check::call(event) else { return };
    let Some(tool) = context.policy(event).tools.get(name) else { return };
    if !tool.needs.iter().all(|scope| delegation.scopes.contains(scope)) {
        proposals.refuse("missing-scope", "the delegated token may not do what this tool needs");
    }
}

fn said(has_token: bool) -> (&'static str, &'static str) {
    if has_token {
        ("token-set", "the delegated token was handed over")
    } else {
        ("token-stripped", "a credential that was not delegated to this server was taken away")
    }
}

/// Whether a server at `reach` is the one that `audience` names.
fn is_for(audience: &str, reach: &str) -> bool {
    let (Ok(audience), Ok(reach)) = (Url::parse(audience), Url::parse(reach)) else { return false };
    let loopback = match audience.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        _ => false,
    };
    // RFC 8252, section 7.3: the port of a loopback address is nobody's name.
    let same_port = loopback || audience.port_or_known_default() == reach.port_or_known_default();
    audience.scheme() == reach.scheme() && audience.host() == reach.host() && same_port
}
