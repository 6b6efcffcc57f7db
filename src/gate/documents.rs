//! The pictures and pages in a result, and whether one of them does something.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::{
    ActiveContent, Context, Event,
    active::{self, Form, Found},
    check,
};
use crate::protocol::strict::Node;

/// A client is as lenient as it likes; so are we.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// How many characters of base64 show how a document begins.
const BEGINNING: usize = 4096;

/// The rule that an active document in this event breaks, and why.
pub(super) fn active(context: &Context<'_>, event: &Event<'_>) -> Option<(&'static str, String)> {
    let setting = context.policy(event).content.active;
    let message = check::response(event).filter(|_| setting != ActiveContent::Pass)?;
    let result = message.result()?;
    let found = match context.answered?.method.as_str() {
        "tools/call" => result.member("content")?.items().iter().find_map(|block| in_block(block, setting)),
        "prompts/get" => {
            let mut messages = result.member("messages")?.items().iter();
            messages.find_map(|message| {
                let content = message.member("content")?;
                // One block, or several.
                let blocks = if content.items().is_empty() { std::slice::from_ref(content) } else { content.items() };
                blocks.iter().find_map(|block| in_block(block, setting))
            })
        }
        "resources/read" => result.member("contents")?.items().iter().find_map(|one| in_resource(one, setting)),
        _ => None,
    }?;
    Some(match found {
        Found::Active(what) => ("active", format!("the result holds a document with {what} in it")),
        Found::Unreadable => {
            ("active-unreadable", "a document in the result can't be read as what it says it is".into())
        }
    })
}

/// Media types that leave it to the client to find out what a document is.
const VAGUE: [&str; 3] = ["application/octet-stream", "application/xml", "text/xml"];

/// Whether two readers may take the document for different ones.
fn is_ambiguous(node: &Node) -> bool {
    ["mimeType", "data", "text", "blob", "uri"]
        .iter()
        .any(|key| node.members().iter().filter(|member| member.key == *key).count() > 1)
}

fn in_block(block: &Node, setting: ActiveContent) -> Option<Found> {
    match block.member("type")?.as_str()? {
        "image" if is_ambiguous(block) => Some(Found::Unreadable),
        "image" => {
            let data = block.member("data")?.as_str()?;
            let named = block.member("mimeType").and_then(Node::as_str).and_then(Form::of_type);
            // No other picture begins with a tag.
            let is_tags = |bytes: &Vec<u8>| bytes.trim_ascii_start().first() == Some(&b'<');
            let begins = || decode(data.get(..BEGINNING).unwrap_or(data)).filter(is_tags);
            let form = named.or_else(|| begins().map(|bytes| Form::of_beginning(&bytes).unwrap_or(Form::Svg)))?;
            match decode(data) {
                Some(bytes) => active::find(form, &bytes),
                None => Some(Found::Unreadable),
            }
        }
        "resource" => in_resource(block.member("resource")?, setting),
        _ => None,
    }
}

/// The contents of a resource: its `text`, its `blob`, or (against the rules) both.
fn in_resource(resource: &Node, setting: ActiveContent) -> Option<Found> {
    let text = |key: &str| resource.member(key).and_then(Node::as_str);
    if is_ambiguous(resource) {
        return Some(Found::Unreadable);
    }
    let media_type = text("mimeType");
    let is_vague = media_type.is_none_or(|name| VAGUE.iter().any(|vague| vague.eq_ignore_ascii_case(name.trim())));
    let address = || text("uri").and_then(Form::of_address).filter(|_| is_vague);
    let named = media_type.and_then(Form::of_type).or_else(address);
    let is_judged = |form: Form| form == Form::Svg || setting == ActiveContent::Refuse;
    let judge = |bytes: &[u8]| {
        // Without a name, the beginning is one.
        let form = named.or_else(|| Form::of_beginning(bytes).filter(|_| is_vague))?;
        is_judged(form).then(|| active::find(form, bytes)).flatten()
    };
    let in_text = text("text").and_then(|text| judge(text.as_bytes()));
    in_text.or_else(|| match (text("blob")?, named) {
        (blob, Some(form)) if is_judged(form) => match decode(blob) {
            Some(bytes) => judge(&bytes),
            None => Some(Found::Unreadable),
        },
        (blob, None) if is_vague => {
            Form::of_beginning(&decode(blob.get(..BEGINNING).unwrap_or(blob))?)?;
            judge(&decode(blob)?)
        }
        _ => None,
    })
}

/// What base64 stands for, in either alphabet, with white space or without.
fn decode(text: &str) -> Option<Vec<u8>> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    if text.as_bytes().iter().all(is_plain) {
        return BASE64.decode(text).ok();
    }
    let plain: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    BASE64.decode(plain.replace('-', "+").replace('_', "/")).ok()
}

#[cfg(test)]
mod tests {
    use crate::gate::testing::{Driver, Outcome};

    fn gate() -> Driver {
        Driver::only("result-shape", "")
    }

    const ACTIVE: &str = "<svg onload='CANARY()'/>";
    const INERT: &str = "<svg><path d='M0 0'/></svg>";

    fn image(svg: &str, media_type: &str) -> String {
        use base64::Engine as _;
        let data = base64::engine::general_purpose::STANDARD.encode(svg);
        format!(r#"{{"type":"image","data":"{data}","mimeType":"{media_type}"}}"#)
    }

    fn resource(members: &str) -> String {
        format!(r#"{{"type":"resource","resource":{{"uri":"x:y",{members}}}}}"#)
    }

    fn result(block: &str) -> Outcome {
        gate().result("other", "{}", &format!(r#"{{"content":[{{"type":"text","text":"x"}},{block}]}}"#))
    }

    #[test]
    fn pictures_do_nothing() {
        for media_type in ["image/svg+xml", "IMAGE/SVG+XML; charset=utf-8", "image/png", "text/html"] {
            result(&image(ACTIVE, media_type)).refuses("active").never_says("CANARY");
            result(&image(INERT, media_type)).passes();
        }
        let text = |svg: &str| format!(r#""mimeType":"image/svg+xml","text":"{svg}""#);
        result(&resource(&text(ACTIVE))).refuses("active");
        result(&resource(&text(INERT))).passes();
        result(&resource(&text("no picture"))).refuses("active-unreadable");
        result(&resource(r#""mimeType":"image/svg+xml","blob":"PHN2ZyBvbmxv YWQ9J3gnLz4""#)).refuses("active");
        result(&resource(r#""mimeType":"image/svg+xml","blob":"!""#)).refuses("active-unreadable");
        result(&resource(&format!(r#""text":"{ACTIVE}""#))).refuses("active");
        result(&resource(&format!(r#""mimeType":"image/png","mimeType":"x","text":"{ACTIVE}""#)))
            .refuses("active-unreadable");
        let failure = format!(r#"{{"content":[{}],"isError":true}}"#, image(ACTIVE, "image/svg+xml"));
        gate().result("other", "{}", &failure).refuses("active");
    }

    #[test]
    fn what_no_client_shows_as_a_picture_passes() {
        result(&format!(r#"{{"type":"text","text":"{ACTIVE} ![](https://x.example/?d=1)"}}"#)).passes();
        result(&resource(&format!(r#""mimeType":"text/plain","text":"{ACTIVE}""#))).passes();
        result(r#"{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}"#).passes();
        let page = resource(r#""mimeType":"text/html","text":"<script>x</script>""#);
        result(&page).passes();
        for (active, passes) in [("refuse", false), ("pass", true), ("pictures", true)] {
            let policy = format!("[servers.board.content]\nactive = \"{active}\"\n");
            let mut gate = Driver::only("result-shape", &policy);
            let said = gate.result("other", "{}", &format!(r#"{{"content":[{page}]}}"#));
            if passes { said.passes() } else { drop(said.refuses("active")) }
        }
    }

    #[test]
    fn pictures_that_are_read_or_prompted_do_nothing_either() {
        let one = format!(r#"{{"uri":"x:y.svg","text":"{ACTIVE}"}}"#);
        let read = format!(r#"{{"contents":[{{"uri":"x:y","mimeType":"text/plain","text":"x"}},{one}]}}"#);
        gate().exchange("resources/read", "{}", &read).refuses("active");
        gate().exchange("resources/read", "{}", &read.replace(ACTIVE, INERT)).passes();
        let prompt = |content: &str| format!(r#"{{"messages":[{{"role":"user","content":{content}}}]}}"#);
        let picture = image(ACTIVE, "image/svg+xml");
        gate().exchange("prompts/get", "{}", &prompt(&picture)).refuses("active");
        gate().exchange("prompts/get", "{}", &prompt(&format!("[{picture}]"))).refuses("active");
        gate().exchange("prompts/get", "{}", &prompt(r#"{"type":"text","text":"x"}"#)).passes();
    }
}
