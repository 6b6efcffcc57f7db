//! Pictures that stand in their own address.

use std::sync::LazyLock;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use regex::Regex;

use super::text::percent_decoded;

/// Media types of pictures that hold no program.
const STILL: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/jpg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "image/x-icon",
    "image/vnd.microsoft.icon",
];

/// Whether a text is a `data` URL of a picture. One in SVG must be readable and
/// hold no script.
pub(super) fn is_picture(text: &str) -> bool {
    let Some((head, body)) = text.split_once(',') else { return false };
    let Some(kind) = head.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).map(|_| &head[5..]) else {
        return false;
    };
    let mut parts = kind.split(';');
    let media = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    if STILL.contains(&media.as_str()) {
        return true;
    }
    let is_base64 = parts.next_back().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
    media == "image/svg+xml" && svg(body, is_base64).is_some_and(|svg| !is_active(&svg))
}

fn svg(body: &str, is_base64: bool) -> Option<String> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let plain = percent_decoded(body).unwrap_or_else(|| body.to_owned());
    if !is_base64 {
        return Some(plain);
    }
    let engine = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    engine.decode(plain.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

fn is_active(svg: &str) -> bool {
    static ACTIVE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?i)<\s*(?:\w+:)?(?:script|foreignObject|iframe|embed|object|handler)\b|<!ENTITY|javascript:|[\s"'/]on[a-z]+\s*=|&#"#).ok()
    });
    ACTIVE.as_ref().is_none_or(|active| active.is_match(svg))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_pass_and_programs_do_not() {
        for text in [
            "data:image/png;base64,iVBORw0KGgo=",
            "DATA:Image/PNG,x",
            "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%3E%3Cpath d='M0 0'/%3E%3C/svg%3E",
            "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=",
        ] {
            assert!(is_picture(text), "{text}");
        }
        for text in [
            "data:text/html,<b>x</b>",
            "data:application/xml;x=image/png,x",
            "data:,x",
            "data:image/png",
            "https://a.example/x.png,y",
            "data:image/svg+xml,<svg onload=alert(1)>",
            "data:image/svg+xml,%3Csvg/onload%3Dx%3E",
            "data:image/svg+xml;base64,PHN2Zz48c2NyaXB0Png8L3NjcmlwdD48L3N2Zz4=",
            "data:image/svg+xml;base64,?",
        ] {
            assert!(!is_picture(text), "{text}");
        }
    }
}
