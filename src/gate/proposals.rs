//! What checks propose, before the gate composes it.

use std::ops::Range;

use super::{Act, CheckId, Finding};
use crate::protocol::{Id, Splice};

/// Collects what one check proposes about one event.
#[derive(Debug)]
pub struct Proposals {
    check: CheckId,
    /// What each check said, in order.
    pub(super) findings: Vec<Finding>,
    /// The first refusal, with its error code and words.
    pub(super) refusals: Vec<Refusing>,
    /// Items of the listing to leave out, by index.
    pub(super) withheld: Vec<usize>,
    /// Items of the listing to show otherwise, by index.
    pub(super) replaced: Vec<(usize, String)>,
    /// Replacements elsewhere in the message.
    pub(super) splices: Vec<Splice>,
    /// Headers to set or to take away.
    pub(super) headers: Vec<(String, Option<String>)>,
    /// Environment variables to set or to take away.
    pub(super) env: Vec<(String, Option<String>)>,
}

/// One check's refusal.
#[derive(Clone, Debug)]
pub(super) struct Refusing {
    pub(super) check: CheckId,
    pub(super) rule: &'static str,
    pub(super) why: String,
    pub(super) code: i64,
    pub(super) status: Option<u16>,
    pub(super) answers: Answers,
    /// What would make the message pass.
    pub(super) needs: Option<&'static str>,
    /// The versions that are spoken here, where it is about one that is not.
    pub(super) supported: Vec<String>,
}

/// Which request a refusal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// The one that the message belongs to.
    Own,
    /// Another one: the message came under a wrong id.
    Other(Id),
    /// None: nobody waits for it, or the one who waits will get the right one.
    Nobody,
    /// None, not even a server that asked: in the era that it speaks, nobody may
    /// answer it.
    Never,
}

impl Proposals {
    /// Nothing proposed yet, by `check`.
    pub(super) fn new(check: CheckId) -> Self {
        Self {
            check,
            findings: Vec::new(),
            refusals: Vec::new(),
            withheld: Vec::new(),
            replaced: Vec::new(),
            splices: Vec::new(),
            headers: Vec::new(),
            env: Vec::new(),
        }
    }

    /// Whether it comes to nothing.
    pub(super) fn is_empty(&self) -> bool {
        let Self { check: _, findings, refusals, withheld, replaced, splices, headers, env } = self;
        findings.is_empty()
            && refusals.is_empty()
            && withheld.is_empty()
            && replaced.is_empty()
            && splices.is_empty()
            && headers.is_empty()
            && env.is_empty()
    }

    /// Appends what another check proposed.
    pub(super) fn append(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.refusals.extend(other.refusals);
        self.withheld.extend(other.withheld);
        self.replaced.extend(other.replaced);
        self.splices.extend(other.splices);
        self.headers.extend(other.headers);
        self.env.extend(other.env);
    }

    fn finding(&mut self, rule: &'static str, why: impl Into<String>, act: Act) {
        self.findings.push(Finding { check: self.check, rule, why: why.into(), act });
    }

    fn refusing(&mut self, rule: &'static str, why: String, code: i64, answers: Answers) {
        self.finding(rule, why.clone(), Act::Refused);
        if self.refusals.is_empty() {
            self.refusals.push(Refusing {
                check: self.check,
                rule,
                why,
                code,
                status: None,
                answers,
                needs: None,
                supported: Vec::new(),
            });
        }
    }

    /// The message must not pass. `why` is sent to the client: plain words,
    /// never the payload.
    pub fn refuse(&mut self, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), crate::protocol::REFUSED, Answers::Own);
    }

    /// The message must not pass, with a JSON-RPC code that the specification names.
    pub fn refuse_as(&mut self, code: i64, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), code, Answers::Own);
    }

    /// The message must not pass until the user consents to this very call; a host
    /// that can ask is told so in the error's `data.needs`.
    pub fn refuse_without_consent(&mut self, rule: &'static str, why: impl Into<String>) {
        let why = format!("{}; the user has to consent to this call with these arguments", why.into());
        self.refusing(rule, why, crate::protocol::REFUSED, Answers::Own);
        if let Some(refusal) = self.refusals.last_mut() {
            refusal.needs = Some("consent");
        }
    }

    /// The message must not pass; on HTTP the client is told so with this status.
    pub fn refuse_with_status(&mut self, status: u16, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), crate::protocol::REFUSED, Answers::Own);
        if let Some(refusal) = self.refusals.last_mut() {
            refusal.status.get_or_insert(status);
        }
    }

    /// The message must not pass, with a JSON-RPC code that the specification names and,
    /// on HTTP, the status that goes with it.
    pub fn refuse_as_with_status(&mut self, code: i64, status: u16, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), code, Answers::Own);
        if let Some(refusal) = self.refusals.last_mut() {
            refusal.status.get_or_insert(status);
        }
    }

    /// The message must not pass in this version; the client is told which ones may.
    pub fn refuse_version(&mut self, supported: Vec<String>, rule: &'static str, why: impl Into<String>) {
        self.refuse_as_with_status(crate::protocol::UNSUPPORTED_VERSION, 400, rule, why);
        if let Some(refusal) = self.refusals.last_mut().filter(|refusal| refusal.rule == rule) {
            refusal.supported = supported;
        }
    }

    /// A request of the server's must not pass, and nobody may answer it.
    pub fn swallow(&mut self, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), crate::protocol::REFUSED, Answers::Never);
    }

    /// A reply must not pass, and the request that it should have answered is `id`.
    pub fn refuse_instead_of(&mut self, id: Id, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), crate::protocol::REFUSED, Answers::Other(id));
    }

    /// The message must not pass, and nobody waits for it.
    pub fn discard(&mut self, rule: &'static str, why: impl Into<String>) {
        self.refusing(rule, why.into(), crate::protocol::REFUSED, Answers::Nobody);
    }

    /// The listing's item at `index` must not be shown.
    pub fn withhold(&mut self, index: usize, rule: &'static str, why: impl Into<String>) {
        self.finding(rule, why, Act::Withheld);
        self.withheld.push(index);
    }

    /// The listing's item at `index` is shown as `text`.
    pub fn show(&mut self, index: usize, text: String, rule: &'static str, why: impl Into<String>) {
        self.finding(rule, why, Act::Rewrote);
        self.replaced.push((index, text));
    }

    /// The bytes of the message at `span` become `with`.
    pub fn splice(&mut self, span: Range<usize>, with: String, rule: &'static str, why: impl Into<String>) {
        self.finding(rule, why, Act::Rewrote);
        self.splices.push(Splice { span, with });
    }

    /// Sets an HTTP header, or takes it away.
    pub fn header(&mut self, name: &str, value: Option<String>, rule: &'static str, why: impl Into<String>) {
        self.finding(rule, why, Act::Rewrote);
        self.headers.push((name.to_owned(), value));
    }

    /// Sets an environment variable of the launch, or takes it away.
    pub fn env(&mut self, name: &str, value: Option<String>, rule: &'static str, why: impl Into<String>) {
        self.finding(rule, why, Act::Rewrote);
        self.env.push((name.to_owned(), value));
    }

    /// Says something in the trail and changes nothing.
    pub fn note(&mut self, rule: &'static str, why: impl Into<String>) {
        self.finding(rule, why, Act::Noted);
    }
}
