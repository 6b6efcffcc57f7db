//! The client's roots: who may ask for them, and which are told.

use super::{Ask, No};
use crate::{
    gate::{Context, Event, Proposals, policy::folder},
    protocol::{Message, strict::Node},
};

/// Judges a request for the roots.
pub(super) fn judge(ask: &Ask<'_>) -> Result<(), No> {
    let policy = &ask.context.policy(ask.event).requests.roots;
    ask.needs(&["roots"])?;
    Ask::allowed(policy.allow)?;
    ask.counts(policy.max_requests, |asking| asking.rooted)
}

/// The client tells its roots in some of these results: those that the server may
/// know go on.
pub(super) fn told<'a>(
    context: &Context<'_>,
    event: &Event<'_>,
    message: &Message,
    results: impl IntoIterator<Item = &'a Node>,
    proposals: &mut Proposals,
) {
    let policy = &context.policy(event).requests.roots;
    let allowed: Option<Vec<_>> =
        policy.within.as_ref().map(|within| within.iter().filter_map(|root| folder(root)).collect());
    let fits = |root: &Node| {
        let path = root.member("uri").and_then(Node::as_str).and_then(folder);
        path.is_some_and(|path| {
            allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|root| path.starts_with(root)))
        })
    };
    let members = results.into_iter().flat_map(Node::members);
    for roots in members.filter(|member| member.key == "roots") {
        let roots = &roots.value;
        if roots.items().iter().all(fits) {
            continue;
        }
        let kept = roots.items().iter().filter(|root| fits(root));
        let kept: Vec<_> =
            kept.map(|root| String::from_utf8_lossy(&message.raw()[root.span.clone()]).into_owned()).collect();
        let why = "a root that the server may not know was left out";
        proposals.splice(roots.span.clone(), format!("[{}]", kept.join(",")), "root", why);
    }
}
