//! Which calls were made, and what is known of how they ended.

use std::collections::{BTreeMap, HashMap};

use super::super::{Replay, ServerPolicy, ToolBudget};
use crate::{
    digest::{self, Brief, Fingerprint},
    protocol::{Id, Message, strict::Node},
};

/// How many different calls are remembered. Past that, new ones are counted by
/// tool alone, and acts that may not be replayed can't be told any more. A hash table
/// of 65,536 places is full with so many, and one more would double it.
const REMEMBERED: usize = 57_344;

/// The calls of one server's session. What a check refuses is taken back, since
/// the server never gets it.
#[derive(Debug, Default)]
pub struct Calls {
    /// Requests that make the server do or disclose something.
    total: usize,
    /// Calls by tool, for tools that the policy names.
    by_tool: BTreeMap<String, usize>,
    /// Calls by tool and arguments.
    by_call: HashMap<Brief, u32>,
    /// The call that was made last, and how often in a row.
    row: Option<(Fingerprint, usize)>,
    /// Calls that wait for their answers, in all and by tool.
    waiting: HashMap<Id, Made>,
    waiting_by_tool: BTreeMap<String, usize>,
    /// Acts that must not be played twice.
    acts: HashMap<Fingerprint, Known>,
}

/// What is known of an act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// How many calls of it are not known to have failed.
    pub made: usize,
    /// One of them succeeded.
    pub done: bool,
    /// It carries an idempotency key.
    pub keyed: bool,
}

/// One call, as it is told from others.
#[derive(Clone, Debug)]
struct Made {
    tool: Option<String>,
    call: Fingerprint,
    act: Option<Fingerprint>,
    /// It is the next round of a call that was counted before.
    goes_on: bool,
}

/// How often what a request asks for was asked for, itself included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Requests that make the server do or disclose something, whatever they are.
    pub total: usize,
    /// With the same arguments.
    pub identical: usize,
    /// With the same arguments, one after another.
    pub in_a_row: usize,
    /// Of the tool; counted for tools that the policy names.
    pub tool: usize,
    /// Waiting for their answers, on this server.
    pub waiting: usize,
    /// Waiting for their answers, of the tool.
    pub tool_waiting: usize,
    /// For a tool that must not be replayed; `None` where it can't be told.
    pub act: Option<Known>,
}

impl Calls {
    /// A request is about to be made. `taken`: it will be waited for. `goes_on`: it is
    /// the next round of one that was counted before.
    pub(super) fn requested(&mut self, message: &Message, policy: &ServerPolicy, taken: bool, goes_on: bool) -> Count {
        if goes_on && taken {
            let made = Made { goes_on, ..Made::of(message, policy) };
            self.wait(message, &made);
            return if message.method() == Some("tools/call") {
                self.count(&made)
            } else {
                Count { total: self.total, ..Count::default() }
            };
        }
        self.total += 1;
        if message.method() != Some("tools/call") {
            return Count { total: self.total, ..Count::default() };
        }
        let made = Made::of(message, policy);
        if let Some(tool) = &made.tool {
            *self.by_tool.entry(tool.clone()).or_default() += 1;
        }
        let brief = made.call.brief();
        if self.by_call.len() < REMEMBERED || self.by_call.contains_key(&brief) {
            let count = self.by_call.entry(brief).or_default();
            *count = count.saturating_add(1);
        }
        self.row = match self.row {
            Some((call, count)) if call == made.call => Some((call, count + 1)),
            _ => Some((made.call, 1)),
        };
        if let Some(act) = made.act
            && (self.acts.len() < REMEMBERED || self.acts.contains_key(&act))
        {
            let known = self.acts.entry(act).or_default();
            known.made += 1;
            known.keyed = key(message, budget(message, policy)).is_some();
        }
        if taken {
            self.wait(message, &made);
        }
        self.count(&made)
    }

    fn wait(&mut self, message: &Message, made: &Made) {
        let Some(id) = message.id() else { return };
        if let Some(tool) = &made.tool {
            *self.waiting_by_tool.entry(tool.clone()).or_default() += 1;
        }
        self.waiting.insert(id.clone(), made.clone());
    }

    /// It was refused: the server never gets it.
    pub(super) fn refused(&mut self, message: &Message, policy: &ServerPolicy, taken: bool) {
        let waiting = message.id().filter(|_| taken);
        if let Some(id) = waiting.filter(|id| self.waiting.get(id).is_some_and(|made| made.goes_on)) {
            self.over(id);
            return;
        }
        self.total = self.total.saturating_sub(1);
        if message.method() != Some("tools/call") {
            return;
        }
        let made = Made::of(message, policy);
        if let Some(count) = made.tool.as_ref().and_then(|tool| self.by_tool.get_mut(tool)) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.by_call.get_mut(&made.call.brief()) {
            *count = count.saturating_sub(1);
        }
        if let Some((_, count)) = self.row.as_mut().filter(|(call, _)| *call == made.call) {
            *count = count.saturating_sub(1);
        }
        self.failed(made.act);
        if let Some(id) = message.id().filter(|_| taken) {
            self.over(id);
        }
    }

    /// Its answer came. `failed`: it says that nothing was done.
    pub(super) fn answered(&mut self, id: &Id, failed: bool) {
        let Some(made) = self.over(id) else { return };
        if failed {
            self.failed(made.act);
        } else if let Some(act) = made.act.and_then(|act| self.acts.get_mut(&act)) {
            act.done = true;
        }
    }

    /// Nobody waits for it any more; unless it was answered, how it ended is
    /// not known.
    pub(super) fn forget(&mut self, id: &Id) {
        self.over(id);
    }

    fn over(&mut self, id: &Id) -> Option<Made> {
        let made = self.waiting.remove(id)?;
        if let Some(count) = made.tool.as_ref().and_then(|tool| self.waiting_by_tool.get_mut(tool)) {
            *count = count.saturating_sub(1);
        }
        Some(made)
    }

    /// A new connection: no answer to what was asked before will come.
    pub(super) fn reconnected(&mut self) {
        self.waiting.clear();
        self.waiting_by_tool.clear();
    }

    fn failed(&mut self, act: Option<Fingerprint>) {
        if let Some(act) = act.and_then(|act| self.acts.get_mut(&act)) {
            act.made = act.made.saturating_sub(1);
        }
    }

    fn count(&self, made: &Made) -> Count {
        let of_tool = |counts: &BTreeMap<String, usize>| {
            made.tool.as_ref().and_then(|tool| counts.get(tool)).copied().unwrap_or_default()
        };
        Count {
            total: self.total,
            identical: self.by_call.get(&made.call.brief()).map_or(0, |count| *count as usize),
            in_a_row: self.row.filter(|(call, _)| *call == made.call).map(|(_, count)| count).unwrap_or_default(),
            tool: of_tool(&self.by_tool),
            waiting: self.waiting.len(),
            tool_waiting: of_tool(&self.waiting_by_tool),
            act: made.act.and_then(|act| self.acts.get(&act)).copied(),
        }
    }
}

impl Made {
    fn of(message: &Message, policy: &ServerPolicy) -> Self {
        let raw = message.raw();
        let print = |node: Option<&Node>| node.map(|node| digest::fingerprint(raw, node));
        let arguments = arguments(message);
        // The name as it stands: one that is no string is a name as well.
        let name = print(message.params().and_then(|params| params.member("name")));
        let call = Fingerprint::of_all(&[name, print(arguments)]);
        let settings = budget(message, policy);
        let act = settings.filter(|settings| settings.replay == Replay::Refuse).map(|settings| {
            if settings.same.is_empty() {
                return call;
            }
            let part = |pointer: &String| print(arguments.and_then(|arguments| arguments.pointer(pointer)));
            let named = [name, print(key(message, Some(settings)))];
            Fingerprint::of_all(&named.into_iter().chain(settings.same.iter().map(part)).collect::<Vec<_>>())
        });
        let tool = message.called_tool().filter(|tool| policy.tools.contains_key(*tool)).map(str::to_owned);
        Self { tool, call, act, goes_on: false }
    }
}

/// The arguments, where there are any: absent, null and `{}` ask for the same.
fn arguments(message: &Message) -> Option<&Node> {
    let arguments = message.params()?.member("arguments")?;
    (!arguments.members().is_empty() || !arguments.items().is_empty()).then_some(arguments)
}

fn budget<'a>(message: &Message, policy: &'a ServerPolicy) -> Option<&'a ToolBudget> {
    policy.tools.get(message.called_tool()?).map(|tool| &tool.budget)
}

/// The call's idempotency key: a string that says something.
fn key<'a>(message: &'a Message, settings: Option<&ToolBudget>) -> Option<&'a Node> {
    let pointer = settings?.key.as_ref()?;
    let key = arguments(message)?.pointer(pointer)?;
    key.as_str().is_some_and(|key| !key.trim().is_empty()).then_some(key)
}
