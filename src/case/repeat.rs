//! Steps that are played many times over.

use std::slice;

use schemars::JsonSchema;
use serde::Deserialize;

use super::script::{Call, Consent, Emit, Mutation, Notify, Obey, Raw, Request, Step};

/// How many steps one repetition may come to.
const MOST: usize = 20_000;

/// Plays a step, or several, many times over. `{{n}}` in their strings stands
/// for the count, from 1. Every repetition of a step has its one label.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How many times.
    pub times: usize,
    /// The step.
    #[serde(default)]
    pub step: Option<Box<Step>>,
    /// The steps, instead of one.
    #[serde(default)]
    pub steps: Vec<Step>,
}

impl Repeat {
    /// The steps of one round.
    pub fn round(&self) -> &[Step] {
        self.step.as_deref().map_or(&self.steps, slice::from_ref)
    }

    /// Why it can't be played.
    pub(super) fn problem(&self) -> Option<String> {
        let round = self.round();
        if self.step.is_some() != self.steps.is_empty() {
            return Some("a repetition has either a `step` or `steps`".to_owned());
        }
        if self.times == 0 || self.times.saturating_mul(round.len()) > MOST {
            return Some(format!("a repetition comes to at least 1 and at most {MOST} steps"));
        }
        let nested = |step: &Step| match step {
            Step::Repeat(_) => true,
            Step::Together(inner) => inner.iter().any(|step| matches!(step, Step::Repeat(_))),
            _ => false,
        };
        round.iter().any(nested).then(|| "a repetition can't stand in another one".to_owned())
    }
}

impl Step {
    /// The step as its `n`th repetition has it.
    #[must_use]
    pub fn nth(&self, n: usize) -> Self {
        let mut step = self.clone();
        let mut fill = |text: &mut String| {
            if text.contains("{{n}}") {
                *text = text.replace("{{n}}", &n.to_string());
            }
        };
        let mut call = |call: &mut Call| {
            fill(&mut call.tool);
            call.arguments.iter_mut().chain(&mut call.meta).for_each(&mut fill);
        };
        match &mut step {
            Self::Call(step) => call(step),
            Self::Obey(Obey { seen, call: step }) => {
                call(step);
                fill(seen);
            }
            Self::Request(Request { method, params, .. }) | Self::Notify(Notify { method, params, .. }) => {
                fill(method);
                params.iter_mut().for_each(fill);
            }
            Self::Send(Raw { text, wire, .. }) => {
                text.iter_mut().chain(wire.iter_mut().filter_map(|piece| piece.text.as_mut())).for_each(fill);
            }
            Self::Emit(Emit { text, .. }) => fill(text),
            Self::Consent(Consent { tool, arguments, .. }) => {
                fill(tool);
                arguments.iter_mut().for_each(fill);
            }
            Self::Mutate(Mutation { overlay, .. }) => {
                let texts = [&mut overlay.merge, &mut overlay.patch, &mut overlay.replace, &mut overlay.append];
                texts.into_iter().flatten().for_each(fill);
            }
            // Steps in a group are filled one by one.
            Self::Open(_)
            | Self::List(_)
            | Self::Approve(_)
            | Self::Reconnect(_)
            | Self::Restart(_)
            | Self::Together(_)
            | Self::Repeat(_) => {}
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(text: &str) -> Repeat {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_count_is_filled_in() {
        let repeat = repeat(
            r#"times = 3
step = { call = { tool = "x", arguments = '{"page":{{n}}}', meta = '{"progressToken":"p-{{n}}"}' } }"#,
        );
        assert_eq!(repeat.problem(), None);
        let Step::Call(call) = repeat.round()[0].nth(3) else { panic!() };
        assert_eq!(call.arguments.as_deref(), Some(r#"{"page":3}"#));
        assert_eq!(call.meta.as_deref(), Some(r#"{"progressToken":"p-3"}"#));
    }

    #[test]
    fn what_can_not_be_played_is_told() {
        for (words, text) in [
            ("either", "times = 2"),
            ("either", "times = 2\nstep = { open = {} }\nsteps = [{ open = {} }]"),
            ("at least 1", "times = 0\nstep = { open = {} }"),
            ("at most", "times = 20001\nstep = { open = {} }"),
            ("at most", "times = 10001\nsteps = [{ open = {} }, { open = {} }]"),
            ("another one", "times = 2\nstep = { repeat = { times = 2, step = { open = {} } } }"),
            ("another one", "times = 2\nstep = { together = [{ repeat = { times = 2, step = { open = {} } } }] }"),
        ] {
            assert!(repeat(text).problem().unwrap().contains(words), "{text}");
        }
    }
}
