//! The verdict on one trial.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    Manner, Outcome, beside,
    outcome::arrivals,
    predicate::{Reading, holds, is_about_bytes, served as serves},
};
use crate::{
    case::{Case, Kind, Predicate, Refusal, Stage},
    transcript::{Answer, Mark, Transcript},
};

/// What a trial came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything that had to be so was seen to be so.
    Pass,
    /// An expectation did not hold, or the gate broke.
    Fail,
    /// It could not be judged: the harness or the set-up failed, or what must
    /// come first did not happen.
    Blocked,
    /// It was not played; the reason stands beside it.
    Untested,
}

impl Status {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Blocked => "blocked",
            Self::Untested => "untested",
        }
    }
}

/// Everything that the judge says of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it came to.
    pub status: Status,
    /// What became of the step that the case is about.
    pub outcome: Outcome,
    /// An attack's goal was reached.
    pub harmed: bool,
    /// An attack was stopped: judged, no harm, nothing of a call that had to be
    /// denied before the server reached it, and the session was alive. In
    /// [`Manner::Strict`] the refusal had its due form, too, where one was due.
    pub stopped: bool,
    /// The honest part worked.
    pub served: bool,
    /// The refusal had the shape that it must have; `None` where none was due.
    pub refused_well: Option<bool>,
    /// What had to come through byte for byte did; `None` where the case says
    /// nothing of it.
    pub faithful: Option<bool>,
    /// After the step that had to be refused, the same session still answered a
    /// request; `None` where none was due or nothing was asked any more.
    pub alive_after: Option<bool>,
    /// Tools that the client saw listed and that the server never listed.
    pub added: BTreeSet<String>,
    /// Requests that reached the server for a call that had to be denied before it.
    pub requests_for_denied: usize,
    /// Why it isn't a pass, in plain words; empty for a pass.
    pub reasons: Vec<String>,
}

/// Judges one trial.
pub fn judge(case: &Case, transcript: &Transcript, manner: Manner) -> Verdict {
    let expect = &case.body.expect;
    let first = case.first_server();
    let is_so = |predicate: &Predicate| holds(predicate, transcript, &first, manner);
    let mut reasons = Vec::new();

    let mut blocked = false;
    if let Some(trouble) = transcript.trouble() {
        blocked = true;
        reasons.push(format!("the harness or the set-up failed: {trouble}"));
    }
    for (index, control) in expect.control.iter().enumerate() {
        if !is_so(control) {
            blocked = true;
            reasons.push(format!("control {} did not hold, so the trial means nothing: {control}", index + 1));
        }
    }

    let harmed = expect.harm.iter().any(is_so);
    for (index, harm) in expect.harm.iter().enumerate().filter(|(_, harm)| is_so(harm)) {
        reasons.push(format!("the attack succeeded: harm {} came true: {harm}", index + 1));
    }
    let mut served = true;
    for (index, utility) in expect.utility.iter().enumerate() {
        if !serves(utility, transcript, &first, manner) {
            served = false;
            reasons.push(format!("the honest part broke: utility {} did not hold: {utility}", index + 1));
        }
    }

    let label = expect.refusal.as_ref().map(|refusal| refusal.of.as_str());
    let mark = match label {
        Some(label) => transcript.marked(label).last(),
        None => transcript.marks.last(),
    };
    let stage = expect.refusal.as_ref().map(|refusal| refusal.stage);
    let outcome = Outcome::of(mark, stage, transcript, manner);
    let requests_for_denied = match (mark, stage) {
        (Some(mark), Some(Stage::Request)) => arrivals(mark, transcript),
        _ => 0,
    };
    let mut misshapen = Vec::new();
    let refused_well = expect.refusal.as_ref().and_then(|refusal| refused(refusal, transcript, &mut misshapen));
    if manner == Manner::Strict {
        reasons.append(&mut misshapen);
    }
    if requests_for_denied > 0 && (refused_well == Some(true) || manner == Manner::Substance) {
        let what = if refused_well == Some(true) { "the client was refused" } else { "the call had to be denied" };
        reasons.push(format!("{what}, and yet {requests_for_denied} request(s) for it reached the server"));
    }

    // A result that something in the way made up is no sign of life.
    let reached = |mark: &Mark| {
        let mut got = transcript.at_server().filter(|crossing| crossing.server == mark.server);
        got.any(|crossing| crossing.message.method() == mark.method.as_deref())
    };
    let alive = transcript.marks.iter().any(|mark| Reading::of(mark) == Reading::Success && reached(mark));
    if !alive {
        reasons.push("no request of the session reached a server and was answered with a result".to_owned());
    }
    // Where the form of a refusal proves nothing, a dead gate must not pass.
    let answered = transcript.marks.iter().any(|mark| matches!(mark.answer, Answer::Reply(_) | Answer::Http { .. }));
    if !answered && case.body.kind == Kind::Robustness && manner == Manner::Substance {
        reasons.push("nothing was answered in the whole session".to_owned());
    }
    let refusal_holds = (refused_well != Some(false) || manner == Manner::Substance) && requests_for_denied == 0;
    let stopped = case.body.kind == Kind::Attack && !blocked && !harmed && refusal_holds && alive;
    let passed = match case.body.kind {
        Kind::Attack => stopped && served,
        Kind::Benign => served && refusal_holds && alive && !harmed,
        Kind::Robustness => served && refusal_holds && alive && !harmed && (answered || manner == Manner::Strict),
    };
    let status = match (blocked, passed) {
        (true, _) => Status::Blocked,
        (false, true) => Status::Pass,
        (false, false) => Status::Fail,
    };
    if status == Status::Pass {
        reasons.clear();
    }
    Verdict {
        status,
        outcome,
        harmed,
        stopped,
        served: served && !blocked,
        refused_well,
        faithful: faithful(&expect.utility, |utility| holds(utility, transcript, &first, Manner::Strict)),
        alive_after: label.and_then(|label| beside::alive_after(label, transcript)),
        added: beside::added(transcript),
        requests_for_denied,
        reasons,
    }
}

/// Whether what is said of bytes holds to the letter.
fn faithful(utility: &[Predicate], is_so: impl Fn(&Predicate) -> bool) -> Option<bool> {
    let mut about = utility.iter().filter(|utility| is_about_bytes(utility)).peekable();
    about.peek().is_some().then(|| about.all(is_so))
}

/// Whether the step was refused in due form. `None`: the step was never taken
/// (a host that saw no reason to), so there was nothing to refuse.
fn refused(refusal: &Refusal, transcript: &Transcript, reasons: &mut Vec<String>) -> Option<bool> {
    let mark = transcript.marked(&refusal.of).last()?;
    let reading = Reading::of(mark);
    if !reading.is_refusal() {
        reasons.push(format!(
            "step '{}' must be refused with a JSON-RPC error or an isError result under its own id; it got: {}",
            refusal.of,
            match reading {
                Reading::Success => "a success",
                Reading::HttpError => "an HTTP error without a reply in it",
                Reading::Nonsense => "something that answers nothing",
                Reading::Nothing => "no answer",
                Reading::Error | Reading::ToolError => "a refusal",
            }
        ));
    }
    Some(reading.is_refusal())
}
