//! What became of one step, told from both sides.

use serde::Serialize;

use super::{
    Manner,
    predicate::{Reading, is_unchanged},
    substance::came_through,
};
use crate::{
    case::Stage,
    protocol::{Direction, Leg, Message},
    transcript::{Crossing, Mark, Transcript},
};

/// What became of the step that a case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The client was refused, by someone between it and the server's answer.
    Denied,
    /// The client got what the server said: byte for byte, or in substance where
    /// that is how it is judged.
    Forwarded,
    /// The client got an answer to a request that the server saw, but other bytes.
    Rewritten,
    /// The client was refused and the server got the request all the same.
    Leaked,
    /// The client got a success that the server knows nothing of.
    Fabricated,
    /// None of these can be said: no answer, or a step that was never taken.
    Inconclusive,
}

impl Outcome {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Forwarded => "forwarded",
            Self::Rewritten => "rewritten",
            Self::Leaked => "leaked",
            Self::Fabricated => "fabricated",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// Tells it for the step of `mark`, which was to be stopped at `stage`.
    ///
    /// What the server itself refused, and a gate only wrote anew, is no denial of
    /// the gate's.
    pub(super) fn of(mark: Option<&Mark>, stage: Option<Stage>, transcript: &Transcript, manner: Manner) -> Self {
        let Some(mark) = mark else { return Self::Inconclusive };
        let reading = Reading::of(mark);
        let arrived = arrivals(mark, transcript);
        let unchanged = match manner {
            Manner::Strict => is_unchanged(mark, transcript),
            Manner::Substance => came_through(mark, transcript),
        };
        match reading {
            _ if unchanged => Self::Forwarded,
            Reading::Error | Reading::ToolError | Reading::HttpError => {
                if arrived > 0 && stage == Some(Stage::Request) { Self::Leaked } else { Self::Denied }
            }
            Reading::Success if arrived == 0 => Self::Fabricated,
            Reading::Success => Self::Rewritten,
            Reading::Nonsense | Reading::Nothing => Self::Inconclusive,
        }
    }
}

/// How many requests reached the server for this step.
///
/// A gate may give a request another id and may rewrite what it forwards, so
/// arrivals are matched by content first: the same method and params. What is
/// left is matched by method and tool, less what the client's other steps explain.
pub(super) fn arrivals(mark: &Mark, transcript: &Transcript) -> usize {
    let sent = Message::new(mark.sent.clone());
    let crossed: Vec<&Crossing> = transcript
        .crossings(Leg::Upstream, Direction::Requestward)
        .filter(|crossing| crossing.server == mark.server)
        .collect();
    let received: Vec<&Message> = crossed.iter().flat_map(|crossing| crossing.message.each()).collect();
    let exact = |message: &Message| params_of(message) == params_of(&sent) && message.method() == sent.method();
    let alike = |message: &Message| {
        message.method() == sent.method() && message.called_tool() == sent.called_tool() && message.method().is_some()
    };
    let mut others: usize = 0;
    let mut same_content: usize = 0;
    let mut skipped_own = false;
    for other in transcript.marks.iter().filter(|other| other.server == mark.server) {
        let message = Message::new(other.sent.clone());
        if !skipped_own && other.label == mark.label && other.sent == mark.sent {
            skipped_own = true;
            continue;
        }
        others += usize::from(alike(&message));
        same_content += usize::from(exact(&message));
    }
    let by_content = received.iter().filter(|message| exact(message)).count();
    let by_name = received.iter().filter(|message| alike(message)).count();
    // A message that is no request (broken text, a batch) is matched by its bytes.
    let by_bytes = if sent.method().is_some() {
        0
    } else {
        crossed.iter().filter(|crossing| *crossing.message.raw() == mark.sent).count()
    };
    by_content.saturating_sub(same_content).max(by_name.saturating_sub(others)).max(by_bytes)
}

fn params_of(message: &Message) -> Option<&[u8]> {
    message.params().map(|params| &message.raw()[params.span.clone()])
}
