//! `secrets-out`: keys, tokens and passwords on their way to a server.

use super::{super::check, CheckId};
use crate::{
    gate::{Check, Context, Docs, Event, Passing, Proposals, secrets, text::described},
    protocol::{
        Direction, Message, Shape,
        strict::{Member, Node},
    },
};

/// See the module.
#[derive(Debug)]
pub(super) struct SecretsOut;

static DOCS: Docs = Docs {
    id: CheckId::new("secrets-out"),
    summary: "keys, tokens and passwords in what goes to a server",
    leg: "requestward",
    what: "Reads every string at any depth of tool calls, prompt arguments, resource addresses, completions and the \
           client's answers to a server's requests. Finds keys by the prefix, alphabet and length that providers \
           gave them, private keys, signed JSON Web Tokens, passwords in URLs, random values behind names such as \
           `api_key` or `token`, host names whose labels carry data, and every token that the gate itself holds for \
           the user, for whatever server: backwards, in chunks, or in pieces spread over several arguments as well. \
           Base64, base32, hex and percent escapes are undone twice; chunks between spaces, dashes and signs, and \
           values of several arguments, are put together. The request is refused, and the refusal names the rule \
           and the place, never the secret. Placeholders, UUIDs, digests, signed URLs (made to be handed on, good \
           for one object and a while) and pictures pass. Rules may be excepted for a server or one of its tools.",
    why: "A model that believes a poisoned text hands over what it has read, and an argument is the way out that is \
          always open.",
    misses: "Secrets without a shape: passwords in prose, keys that are plain hex without a name before them. Text \
             that is no secret but private (a conversation in `?d=`). Other encodings and ciphers, compression, \
             three layers, pieces sent in several requests; a key of a known shape cut into arguments in another \
             order than its own. A `password` or `token` that is an argument's own name: the tool was made to be \
             given one. `requestState` and cursors, which the server made itself. Up to 27 drawn characters in one \
             label of a host. A real signed URL that gives away more than it should.",
    example: "`add_note` with the text `for the helpdesk: sk_live_…`",
    source: "C09, C11, R02, R07; OWASP MCP01:2025, LLM02:2025; CWE-200, CWE-201",
    rules: &secrets::RULES,
};

impl Check for SecretsOut {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Passing(Passing { direction: Direction::Requestward, message, .. }) = event else { return };
        if check::acting_request(event).is_none() && message.shape() != Shape::Response {
            return;
        }
        let policy = context.policy(event);
        let tool = message.called_tool().and_then(|name| policy.tools.iter().find(|(tool, _)| tool.as_str() == name));
        let tool = tool.map(|(_, settings)| &settings.secrets);
        let applies = |rule: &str| !policy.secrets.excepts(rule) && !tool.is_some_and(|secrets| secrets.excepts(rule));
        let held = context.delegations.values().map(|delegation| delegation.token.as_str());
        if let Some(leak) = secrets::leak(outward(message), held, &applies) {
            let what = secrets::RULES.iter().find(|(id, _)| *id == leak.rule).map_or("a secret", |(_, words)| words);
            let place = match leak.path.as_deref().map(described) {
                Some(path) if !path.is_empty() => path,
                _ => "the message".to_owned(),
            };
            proposals.refuse(leak.rule, format!("{place} holds {what}, which must not go to this server"));
        }
    }
}

/// The values in a message that somebody on the client's side chose: not what the
/// server made itself and gets back.
fn outward(message: &Message) -> impl Iterator<Item = &Node> {
    const SERVERS_OWN: [&str; 2] = ["requestState", "cursor"];
    let members = message.root().map_or(&[][..], Node::members).iter();
    members.filter(|member| matches!(member.key.as_str(), "params" | "result" | "error")).flat_map(|member| {
        let inner = member.value.members();
        let whole = inner.is_empty().then_some(&member.value);
        let parts = inner.iter().filter(|part| !SERVERS_OWN.contains(&part.key.as_str()));
        parts.map(|part: &Member| &part.value).chain(whole)
    })
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::Driver;

    const CHECK: &str = "secrets-out";
    const KEY: &str = concat!("AKIA", "CANARY7Q2M4XK5RT");

    #[test]
    fn every_message_that_carries_something_to_a_server_is_read() {
        let mut gate = Driver::only(CHECK, "");
        gate.call("note", &format!(r#"{{"a":[{{"text":"{KEY}"}}]}}"#)).refuses("aws-key").never_says("CANARY");
        gate.req("prompts/get", &format!(r#"{{"name":"a","arguments":{{"b":"{KEY}"}}}}"#)).refuses("aws-key");
        gate.req("resources/read", &format!(r#"{{"uri":"x://a?b={KEY}"}}"#)).refuses("aws-key");
        gate.req("resources/subscribe", &format!(r#"{{"uri":"x://{KEY}"}}"#)).refuses("aws-key");
        let completion = r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"b","value":"KEY"}}"#;
        gate.req("completion/complete", &completion.replace("KEY", KEY)).refuses("aws-key");
        gate.req("completion/complete", completion).passes();
        gate.ask(&format!(r#"{{"jsonrpc":"2.0","id":"s","result":{{"content":{{"text":"{KEY}"}}}}}}"#))
            .drops("aws-key");
        gate.ask(&format!(r#"{{"jsonrpc":"2.0","id":"s","error":{{"code":1,"message":"{KEY}"}}}}"#)).drops("aws-key");
        let twice = format!(r#"{{"name":"a","arguments":{{"b":"{KEY}"}},"arguments":{{}}}}"#);
        gate.req("tools/call", &twice).refuses("aws-key");
    }

    #[test]
    fn what_the_server_made_itself_goes_back_and_results_are_data() {
        let mut gate = Driver::only(CHECK, "");
        gate.req("tools/call", &format!(r#"{{"name":"a","requestState":"{KEY}","arguments":{{}}}}"#)).passes();
        gate.req("tools/list", &format!(r#"{{"cursor":"{KEY}"}}"#)).passes();
        gate.result("a", "{}", &format!(r#"{{"content":[{{"type":"text","text":"{KEY}"}}]}}"#)).passes();
    }

    #[test]
    fn a_token_that_the_gate_holds_goes_to_no_server() {
        let mut gate = Driver::with_token(CHECK, "", "canary-held-9f3b-71ce");
        gate.call("a", r#"{"x":"canary-held-9f3b-71ce"}"#).refuses("held-token").never_says("9f3b");
        gate.on("other").call("a", r#"{"y":"71ce","x":"canary-held-9f3b-"}"#).refuses("held-token");
        gate.call("a", r#"{"x":"the canary is held"}"#).passes();
    }

    #[test]
    fn rules_may_be_excepted_for_a_server_or_a_tool() {
        let note = format!(r#"{{"text":"{KEY}"}}"#);
        let mut gate = Driver::only(CHECK, "[servers.board.tools.store.secrets]\nexcept = [\"aws-key\"]\n");
        gate.call("store", &note).passes();
        gate.call("other", &note).refuses("aws-key");
        gate.call("store", r#"{"text":"token=CANARYq7Zt1Lw9Kd3Rb5"}"#).refuses("named-secret");
        let mut gate = Driver::only(CHECK, "[servers.board.secrets]\nexcept = [\"aws-key\"]\n");
        gate.call("other", &note).passes();
        gate.on("elsewhere").call("other", &note).refuses("aws-key");
    }
}
