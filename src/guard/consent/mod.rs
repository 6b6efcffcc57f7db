//! Where the policy asks the user: in a file that somebody else writes into, or
//! somewhere where a person can be asked at once.
//!
//! The gate refuses what nobody consented to; it waits for nothing. A consent is
//! for one call: this tool of this server with exactly these arguments.

mod asking;
mod file;

pub(super) use asking::asking;
pub use asking::{Asker, Asks, Question};
pub use file::{Approvals, ApprovalsError, Call};

use crate::{
    gate::{Act, Decision, Event, Passing, Ruling},
    protocol::{Direction, Message, ServerName},
};

/// A call as it is consented to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) server: &'a ServerName,
    pub(super) tool: &'a str,
    pub(super) arguments: &'a str,
}

impl<'a> Wanted<'a> {
    /// The call in a message, where it is one that somebody could consent to.
    pub(super) fn of(server: &'a ServerName, message: &'a Message) -> Option<Self> {
        let tool = message.called_tool()?;
        let arguments = message.params().and_then(|params| params.member("arguments"));
        let text = arguments.map_or(Some("{}"), |node| std::str::from_utf8(&message.raw()[node.span.clone()]).ok())?;
        Some(Self { server, tool, arguments: text })
    }

    /// The call that a ruling refuses for want of a consent, and for nothing else.
    pub(super) fn refused(event: &'a Event<'_>, ruling: &Ruling) -> Option<Self> {
        let Event::Passing(Passing { server, direction: Direction::Requestward, message, .. }) = event else {
            return None;
        };
        let Decision::Refuse { reply: Some(_), .. } = ruling.decision else { return None };
        let mut refused = ruling.findings.iter().filter(|finding| finding.act == Act::Refused).peekable();
        refused.peek()?;
        let only = refused.all(|finding| finding.check.as_str() == "approval" && finding.rule == "no-consent");
        only.then(|| Self::of(server, message)).flatten()
    }
}
