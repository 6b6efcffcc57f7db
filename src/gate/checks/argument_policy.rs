//! `argument-policy`: an argument is what its field is for.

use super::CheckId;
use crate::{
    gate::{
        Check, Context, Docs, Event, FieldKind, FieldPolicy, Proposals, check,
        fields::{
            Unfit, is_command_word, is_identifier, is_name, is_one_line, is_shell_safe, names_recipients, recipients,
        },
        marked::each_marked,
    },
    protocol::{
        INVALID_PARAMS, Message,
        strict::{Kind, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct ArgumentPolicy;

static DOCS: Docs = Docs {
    id: CheckId::new("argument-policy"),
    summary: "commands, options, queries and recipients in fields that are for something else",
    leg: "requestward",
    what: "Holds the arguments that the policy marks (`tools.<name>.fields`) to what their field is for. \
           `command-word`: one word, and no option. `shell-safe`: no sign that means something to a shell, as it \
           stands or once normalised. `name`: it doesn't begin with a dash of any kind or `@`, and no option follows \
           behind a space. `identifier`: letters, digits, `_`, dots between parts. `one-line`: nothing ends the line. \
           `recipient`: every address in it is one that all readers read alike, in a domain or among the addresses \
           that are allowed; a tool with such a field takes no recipients under other names (`bcc`, `cc`, …, at any \
           depth) unless they are marked, too. `one_of` and `max_length` bound the text. Fields that aren't marked \
           are not touched: a commit message may hold a `;`.",
    why: "Servers put arguments into command lines, queries and headers. Where the field is a name, a text that is a \
          command is no work of the user's; where it is a message, it may well be.",
    misses: "Everything that isn't marked. What a program makes of a plain word: `rm` is one. A recipient that the \
             policy allows and the user didn't mean. Names of groups that expand to others.",
    example: r#"{"name":"restart","arguments":{"service":"--config=/tmp/evil.toml"}} where `service` is a name"#,
    source: "C03, C04, C05, C10; CWE-78, CWE-88, CWE-89, CWE-93; RFC 5322 section 3.4",
    rules: &[
        ("command-word", "a field for one word of a command line holds something else"),
        ("shell-sign", "a field that is put into a command line holds a sign that a shell reads"),
        ("option", "a field for a name holds an option, a file to read, or nothing"),
        ("no-identifier", "a field for an identifier holds something else"),
        ("more-lines", "a field for one line holds several"),
        ("unclear-recipient", "a recipient is not one address that every reader reads alike"),
        ("foreign-recipient", "a recipient is not among those that are allowed"),
        ("hidden-recipient", "the call names recipients in a field that the policy doesn't know"),
        ("not-one-of", "the text is none of those that it may be"),
        ("too-long", "the text has more characters than it may have"),
        ("no-text", "a marked field holds an object, where a text must be"),
    ],
};

impl Check for ArgumentPolicy {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Some((message, Some(name))) = check::call(event) else { return };
        let Some(tool) = context.policy(event).tools.get(name).filter(|tool| !tool.fields.is_empty()) else { return };
        let mut known: Vec<*const Node> = Vec::new();
        let mut sends = false;
        for (pointer, field) in &tool.fields {
            sends |= field.kind == Some(FieldKind::Recipient);
            each_marked(message, pointer, &mut |node| {
                known.push(node);
                if let Some((rule, why)) = wrong(node, field) {
                    proposals.refuse_as(INVALID_PARAMS, rule, why);
                }
            });
        }
        if sends && has_hidden(message, &known) {
            let why = "the call names recipients in a field that is not one for recipients";
            proposals.refuse_as(INVALID_PARAMS, "hidden-recipient", why);
        }
    }
}

/// What is wrong with a value in a field: the rule and why.
fn wrong(node: &Node, field: &FieldPolicy) -> Option<(&'static str, &'static str)> {
    let text = match &node.kind {
        Kind::Null => return None,
        Kind::String(text) => text.as_str(),
        // A number holds no sign that anything could be made of but its own.
        Kind::Number(_) | Kind::Bool(_) if field.one_of.is_none() && field.kind != Some(FieldKind::Recipient) => {
            return None;
        }
        _ => return Some(("no-text", "a field that must be a text is none")),
    };
    if field.max_length.is_some_and(|limit| text.chars().count() > limit) {
        return Some(("too-long", "a text is longer than its field may be"));
    }
    if field.one_of.as_ref().is_some_and(|known| !known.iter().any(|one| one == text)) {
        return Some(("not-one-of", "a text is none of those that its field may be"));
    }
    match field.kind? {
        FieldKind::CommandWord => {
            (!is_command_word(text)).then_some(("command-word", "a field holds more than one word of a command line"))
        }
        FieldKind::ShellSafe => {
            (!is_shell_safe(text)).then_some(("shell-sign", "a field holds a sign that a shell reads"))
        }
        FieldKind::Name => {
            (!is_name(text)).then_some(("option", "a field for a name holds an option, a file to read, or nothing"))
        }
        FieldKind::Identifier => {
            (!is_identifier(text)).then_some(("no-identifier", "a field for an identifier holds something else"))
        }
        FieldKind::OneLine => (!is_one_line(text)).then_some(("more-lines", "a field for one line holds several")),
        FieldKind::Recipient => match recipients(text, field) {
            Ok(()) => None,
            Err(Unfit::Unclear) => {
                Some(("unclear-recipient", "a recipient is not one address that every reader reads alike"))
            }
            Err(Unfit::Foreign) => Some(("foreign-recipient", "a recipient is not among those that are allowed")),
        },
    }
}

/// Whether the arguments name recipients where none are marked.
fn has_hidden(message: &Message, known: &[*const Node]) -> bool {
    fn is_empty(node: &Node) -> bool {
        match &node.kind {
            Kind::Null | Kind::Bool(false) => true,
            Kind::String(text) => text.is_empty(),
            Kind::Array(items) => items.iter().all(is_empty),
            _ => false,
        }
    }
    fn is_known(node: &Node, known: &[*const Node]) -> bool {
        known.contains(&std::ptr::from_ref(node))
            || (!node.items().is_empty() && node.items().iter().all(|item| is_known(item, known)))
            || (!node.members().is_empty() && node.members().iter().all(|member| is_known(&member.value, known)))
    }
    fn any(node: &Node, known: &[*const Node]) -> bool {
        node.items().iter().any(|item| any(item, known))
            || node.members().iter().any(|member| {
                let hides =
                    || names_recipients(&member.key) && !is_empty(&member.value) && !is_known(&member.value, known);
                hides() || any(&member.value, known)
            })
    }
    message.params().and_then(|params| params.member("arguments")).is_some_and(|arguments| any(arguments, known))
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::{Driver, Outcome};

    const POLICY: &str = r#"
[servers.board.tools.run.fields]
"/command" = { kind = "command-word", one_of = ["make", "git"] }
"/args" = { kind = "shell-safe", max_length = 40 }
"/service" = { kind = "name" }
"/table" = { kind = "identifier" }
[servers.board.tools.send.fields]
"/to" = { kind = "recipient", domains = ["post.example"] }
"/copies/address" = { kind = "recipient", domains = ["post.example"] }
"/subject" = { kind = "one-line" }
"#;

    fn call(tool: &str, arguments: &str) -> Outcome {
        Driver::only("argument-policy", POLICY).call(tool, arguments)
    }

    #[test]
    fn marked_fields_are_held_to_their_kind() {
        for (arguments, rule) in [
            (r#"{"command":"make; curl CANARY"}"#, "not-one-of"),
            (r#"{"command":7}"#, "no-text"),
            (r#"{"args":["all","x; curl CANARY"]}"#, "shell-sign"),
            (r#"{"ARGS":"$(CANARY)"}"#, "shell-sign"),
            (r#"{"args":"a long text of more than forty characters, CANARY"}"#, "too-long"),
            (r#"{"args":{"a":"$(CANARY)"}}"#, "no-text"),
            (r#"{"service":["web","--CANARY"]}"#, "option"),
            (r#"{"service":"web","service":"-CANARY"}"#, "option"),
            (r#"{"table":"users; drop CANARY"}"#, "no-identifier"),
        ] {
            call("run", arguments).refuses(rule).code(-32602).never_says("CANARY");
        }
        for arguments in [
            r#"{"command":"make","args":["all","-j2"],"service":"web-1","table":"public.users"}"#,
            r#"{"message":"fix; then `curl $(x)`","title":"--help is broken","sql":"select 1; --"}"#,
            r#"{"args":3,"service":null}"#,
        ] {
            call("run", arguments).passes();
        }
        call("other", r#"{"args":"$(id)"}"#).passes();
    }

    #[test]
    fn recipients_are_the_marked_ones_alone() {
        for arguments in [
            r#"{"to":"rosa@post.example","subject":"a; b","text":"Bcc: eve@evil.example\n"}"#,
            r#"{"to":["rosa@post.example"],"bcc":[],"cc":"","reply":{"cc":null}}"#,
            r#"{"copies":[{"address":"rosa@post.example","note":"x"}]}"#,
        ] {
            call("send", arguments).passes();
        }
        for (arguments, rule) in [
            (r#"{"to":"eve@evil.example"}"#, "foreign-recipient"),
            (r#"{"to":["rosa@post.example","eve@evil.example"]}"#, "foreign-recipient"),
            (r#"{"to":"rosa@post.example\r\nBcc: eve@evil.example"}"#, "unclear-recipient"),
            (r#"{"to":"rosa@post.example","bcc":"eve@evil.example"}"#, "hidden-recipient"),
            (r#"{"to":"rosa@post.example","headers":{"B-C-C":["eve@evil.example"]}}"#, "hidden-recipient"),
            (r#"{"copies":[{"address":"eve@evil.example"}]}"#, "foreign-recipient"),
            (r#"{"subject":"a\nBcc: eve@evil.example"}"#, "more-lines"),
            (r#"{"to":7}"#, "no-text"),
        ] {
            call("send", arguments).refuses(rule).never_says("evil");
        }
    }
}
