//! Which values came from where, over all servers of a session.

use super::{
    super::{
        FlowSink, FlowSource, ListingKind, Policy, ServerPolicy, check,
        text::{self, Marks, Memory},
    },
    InFlight,
};
use crate::protocol::{
    Message, Shape,
    strict::{self, Kind, Node},
};

/// Encodings inside of each other that are undone in what comes.
const LAYERS_IN: usize = 2;
/// And in what goes.
const LAYERS_OUT: usize = 3;
/// JSON in strings is read this deep.
const NESTED: usize = 3;
/// Up to this length, what several strings make together is looked at, too.
const TOGETHER: usize = 64 * 1024;

/// What is known of values in a session. A value belongs to where it was seen
/// first: what the client itself sent before it came, or a trusted server said,
/// is nobody's bait and nobody's secret.
#[derive(Debug, Default)]
pub struct Flow {
    known: Memory,
    untrusted: Memory,
    private: Memory,
    /// Marks of chat templates that came in what anyone may have written.
    specials: u32,
    known_specials: u32,
    vouched: bool,
    read_untrusted: bool,
    read_private: bool,
}

/// Something that a call would carry on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// This value, without spelling (empty: a run of words).
    Value(String),
    /// Nobody can say: more came than is remembered, or the call nests too deep.
    Unknown,
}

impl Flow {
    /// Whether the session has read what anyone may have written, and what is private.
    pub fn read_both(&self) -> bool {
        self.read_untrusted && self.read_private
    }

    /// Takes in a request of the client.
    pub(super) fn asked(&mut self, policy: &Policy, server: &ServerPolicy, message: &Message) {
        self.vouch(policy);
        if !super::server::acts(message) {
            return;
        }
        // Every `params`, where one stands twice: readers may choose differently.
        let parts = parts(message, &["params"]);
        let mut marks = Marks::default();
        for part in &parts {
            mark(part, LAYERS_OUT, &mut marks);
        }
        let keeps = server.sink(message.called_tool()).is_some_and(|(sink, _)| sink == FlowSink::Store);
        let untrusted = keeps && Self::find(&self.untrusted, &parts).is_some();
        let private = keeps && Self::find(&self.private, &parts).is_some();
        // What is kept together with a value that came from outside is as it is.
        if untrusted {
            self.untrusted.take(&marks, &[&self.known]);
        }
        if private {
            self.private.take(&marks, &[&self.known]);
        }
        if !untrusted && !private {
            self.known.take(&marks, &[&self.untrusted, &self.private]);
        }
        let specials = parts.iter().fold(0, |all, part| all | specials_in(part));
        self.known_specials |= specials & !self.specials;
    }

    /// Takes in what a server says.
    pub(super) fn said(
        &mut self,
        policy: &Policy,
        server: &ServerPolicy,
        message: &Message,
        answered: Option<&InFlight>,
    ) {
        self.vouch(policy);
        let tool = answered.and_then(|answered| answered.tool.as_deref());
        // Definitions and openings are a server's own words, whoever writes its data.
        let is_own = answered.is_some_and(|answered| !check::ACTING.contains(&answered.method.as_str()))
            || answered.is_some_and(|answered| ListingKind::of(&answered.method).is_some());
        if is_own {
            return;
        }
        let label = server.source(tool);
        let keeps = server.keeps();
        if label.is_none() && !keeps {
            return;
        }
        let parts = parts(message, &["result", "error", "params"]);
        let untrusted =
            label.is_some_and(FlowSource::is_untrusted) || (keeps && Self::find(&self.untrusted, &parts).is_some());
        let private =
            label.is_some_and(FlowSource::is_private) || (keeps && Self::find(&self.private, &parts).is_some());
        let trusted = label == Some(FlowSource::Trusted) && !untrusted && !private;
        if !untrusted && !private && !trusted {
            return;
        }
        for part in parts {
            let mut marks = Marks::default();
            mark(part, LAYERS_IN, &mut marks);
            if untrusted {
                self.untrusted.take(&marks, &[&self.known]);
                self.specials |= specials_in(part) & !self.known_specials;
            }
            if private {
                self.private.take(&marks, &[&self.known]);
            }
            if trusted {
                self.known.take(&marks, &[&self.untrusted, &self.private]);
            }
        }
        let is_answer = message.shape() == Shape::Response && answered.is_some();
        self.read_untrusted |= untrusted && is_answer;
        self.read_private |= private && is_answer;
    }

    /// A value that anyone may have written, in some of a request's arguments.
    pub(in crate::gate) fn untrusted_in(&self, nodes: &[&Node]) -> Option<Carried> {
        Self::find(&self.untrusted, nodes)
    }

    /// A value that must not leave, in some of a request's arguments.
    pub(in crate::gate) fn private_in(&self, nodes: &[&Node]) -> Option<Carried> {
        Self::find(&self.private, nodes)
    }

    /// Whether some of a request's arguments hold marks of chat templates that
    /// came from outside.
    pub(in crate::gate) fn has_specials(&self, nodes: &[&Node]) -> bool {
        self.specials != 0 && nodes.iter().any(|node| specials_in(node) & self.specials != 0)
    }

    fn find(memory: &Memory, nodes: &[&Node]) -> Option<Carried> {
        if memory.is_empty() {
            return None;
        }
        if memory.is_full() {
            return Some(Carried::Unknown);
        }
        let mut leaves = Leaves::default();
        for node in nodes {
            leaves.add(node, 0);
        }
        if leaves.too_deep {
            return Some(Carried::Unknown);
        }
        let together: usize = leaves.texts.iter().map(String::len).sum();
        let joined = (leaves.texts.len() > 1 && together <= TOGETHER).then(|| leaves.texts.concat());
        let each = leaves.texts.iter().map(|text| (text, text::is_name_like(text)));
        for (text, whole) in each.chain(joined.iter().map(|text| (text, false))) {
            for plain in text::readings(text, LAYERS_OUT) {
                let turned = text::rot13(&plain);
                let backwards: String = plain.chars().rev().collect();
                let found = [plain, turned, backwards].iter().find_map(|text| memory.find(text, whole));
                if let Some(value) = found {
                    return Some(Carried::Value(value));
                }
            }
        }
        None
    }

    /// What the policy vouches for is known from the start.
    fn vouch(&mut self, policy: &Policy) {
        if self.vouched {
            return;
        }
        self.vouched = true;
        for value in &policy.flow.vouched {
            let mut marks = Marks::default();
            marks.add(&value.to_lowercase(), value, true);
            self.known.take(&marks, &[]);
        }
    }
}

/// The members of a message that hold what it says.
fn parts<'a>(message: &'a Message, keys: &[&str]) -> Vec<&'a Node> {
    let members = message.root().map(Node::members).unwrap_or_default();
    members.iter().filter(|member| keys.contains(&member.key.as_str())).map(|member| &member.value).collect()
}

/// Adds the marks of everything in a value.
fn mark(node: &Node, layers: usize, marks: &mut Marks) {
    let mut leaves = Leaves::default();
    leaves.add(node, 0);
    for text in &leaves.texts {
        for plain in text::readings(text, layers) {
            marks.add(&plain, text, true);
        }
    }
}

/// Every string and number of a value, those in JSON within strings, too.
#[derive(Default)]
struct Leaves {
    texts: Vec<String>,
    too_deep: bool,
}

impl Leaves {
    fn add(&mut self, node: &Node, nested: usize) {
        match &node.kind {
            Kind::String(text) => self.text(text, nested),
            Kind::Number(text) => self.texts.push(digits(text)),
            Kind::Array(items) => items.iter().for_each(|item| self.add(item, nested)),
            Kind::Object(members) => {
                for member in members {
                    if member.key.len() >= 6 {
                        self.texts.push(member.key.clone());
                    }
                    self.add(&member.value, nested);
                }
            }
            Kind::TooDeep => self.too_deep = true,
            Kind::Null | Kind::Bool(_) => {}
        }
    }

    fn text(&mut self, text: &str, nested: usize) {
        if nested < NESTED
            && text.trim_start().starts_with(['{', '[', '"'])
            && let Ok(inner) = strict::parse(text.as_bytes())
        {
            return self.add(&inner.root, nested + 1);
        }
        self.texts.push(text.to_owned());
    }
}

/// A number as its digits, however it is spelled: `4.2e3` is `4200`.
fn digits(text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let Some(shift) = exponent.parse::<usize>().ok().filter(|shift| (fraction.len()..=40).contains(shift)) else {
        return text.to_owned();
    };
    format!("{whole}{fraction}{}", "0".repeat(shift - fraction.len()))
}

/// Marks by which chat templates tell who speaks. To a model that is trained on
/// one, such a mark in the wrong place is a change of speaker.
const SPECIALS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|im_sep|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|end|>",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|return|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "<|eom_id|>",
    "<|python_tag|>",
    "<|tool_call|>",
    "<|header_start|>",
    "<bos>",
    "<eos>",
];

/// Which of them stand in a value, a bit each.
fn specials_in(node: &Node) -> u32 {
    let mut leaves = Leaves::default();
    leaves.add(node, 0);
    let mut found = 0;
    for text in &leaves.texts {
        // Full-width signs and entities spell them as well.
        if text.is_ascii() && !text.contains(['<', '[', '&', '%', '\\']) && text.len() < 12 {
            continue;
        }
        for plain in text::readings(text, 1) {
            if plain.contains(['<', '[']) {
                let is_in = |(at, special): (usize, &&str)| plain.contains(*special).then_some(1u32 << at);
                found |= SPECIALS.iter().enumerate().filter_map(|(at, special)| is_in((at, special))).sum::<u32>();
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_their_digits() {
        for (text, expected) in [
            ("4929118200457731", "4929118200457731"),
            ("4929118200457731.0", "4929118200457731"),
            ("4.929118200457731e15", "4929118200457731"),
            ("49e3", "49000"),
            ("1.5", "1.5"),
            ("1e-3", "1e-3"),
            ("1e999999", "1e999999"),
        ] {
            assert_eq!(digits(text), expected);
        }
    }

    #[test]
    fn a_bit_for_each_mark() {
        assert!(SPECIALS.len() <= 32);
        let node = |text: &str| strict::parse(serde_json::Value::from(text).to_string().as_bytes()).unwrap().root;
        assert_eq!(specials_in(&node("a <|IM_START|> b")), 1);
        assert_eq!(specials_in(&node("a ＜｜im_start｜＞ b")), 1);
        assert_eq!(specials_in(&node("a &lt;|im_start|&gt; b")), 1);
        assert_eq!(specials_in(&node("a <b> [c]")), 0);
    }
}
