//! Where a transport asks before it goes on.

use std::fmt;

use super::{Exchange, ReplyHead};

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// As a careless client would.
    On,
    /// Read no further; the exchange ends with a [`super::Form::Stopped`] frame.
    Stop,
}

/// A redirect that a server asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The URL that was asked.
    pub from: String,
    /// The absolute URL it points to.
    pub to: String,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
}

/// Asked by an HTTP client before it trusts a response.
pub trait Referee: Send + Sync + fmt::Debug {
    /// Before the body of a response is read.
    fn head(&self, exchange: Exchange, head: &ReplyHead) -> Go;

    /// Before a redirect is followed, once a hop.
    fn redirect(&self, exchange: Exchange, redirect: &Redirect) -> Go;
}

/// Objects to nothing.
#[derive(Clone, Copy, Debug)]
pub struct Careless;

impl Referee for Careless {
    fn head(&self, _: Exchange, _: &ReplyHead) -> Go {
        Go::On
    }

    fn redirect(&self, _: Exchange, _: &Redirect) -> Go {
        Go::On
    }
}
