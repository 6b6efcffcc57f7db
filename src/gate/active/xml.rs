//! A picture as XML, which is what it is.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesDecl, BytesRef, BytesStart, Event},
};

use super::{
    Form, Found, css, html,
    markup::{Tag, is_followed, local},
};

const ENTITY: Found = Found::Active("an entity of its own");

pub(super) fn find(text: &str) -> Option<Found> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<String> = Vec::new();
    let mut roots = 0;
    let mut style = String::new();
    loop {
        let Ok(event) = reader.read_event() else { return Some(Found::Unreadable) };
        let in_style = open.last().is_some_and(|name| name == "style");
        let found = match event {
            Event::Start(tag) => {
                open.push(local(tag.name().into_inner()));
                element(&tag)
            }
            Event::Empty(tag) => {
                roots += usize::from(open.is_empty());
                element(&tag)
            }
            Event::End(_) => {
                open.pop();
                roots += usize::from(open.is_empty());
                let loads = in_style && css::loads(&std::mem::take(&mut style));
                loads.then_some(Found::Active("a reference to elsewhere"))
            }
            Event::Text(inner) => {
                style.push_str(if in_style { &inner } else { "" });
                None
            }
            Event::CData(inner) => {
                style.push_str(if in_style { &inner } else { "" });
                html::find(Form::Svg, &inner)
            }
            Event::GeneralRef(entity) if in_style => match character(&entity) {
                Some(c) => {
                    style.push(c);
                    None
                }
                None => Some(ENTITY),
            },
            Event::PI(instruction) => {
                instruction.contains("stylesheet").then_some(Found::Active("a style sheet from elsewhere"))
            }
            Event::Decl(declaration) => encoding(&declaration),
            Event::DocType(doctype) => declares(&doctype),
            // What an entity stands for was looked at where it is declared, and what
            // a comment holds is read as HTML.
            Event::GeneralRef(_) | Event::Comment(_) => None,
            Event::Eof => return (!open.is_empty() || roots != 1).then_some(Found::Unreadable),
        };
        if found.is_some() {
            return found;
        }
    }
}

fn element(tag: &BytesStart<'_>) -> Option<Found> {
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let Ok(attribute) = attribute else { return Some(Found::Unreadable) };
        if attribute.value.contains('<') {
            return Some(Found::Unreadable);
        }
        let name = local(attribute.key.into_inner());
        match attribute.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => attributes.push((name, value.into_owned())),
            // A value with an entity of the document's own in it.
            Err(_) if is_followed(&name) => return Some(ENTITY),
            Err(_) => {}
        }
    }
    Tag { name: local(tag.name().into_inner()), attributes }.judge(Form::Svg)
}

fn character(entity: &BytesRef<'_>) -> Option<char> {
    match &**entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => entity.resolve_char_ref().ok().flatten(),
    }
}

/// Encodings in which a tag may be written in other bytes than ASCII's.
fn encoding(declaration: &BytesDecl<'_>) -> Option<Found> {
    let encoding = match declaration.encoding()? {
        Ok(encoding) => encoding.to_ascii_lowercase(),
        Err(_) => return Some(Found::Unreadable),
    };
    let is_plain = ["utf-8", "utf8", "us-ascii", "ascii"].contains(&encoding.as_str())
        || ["iso-8859-", "windows-125"].iter().any(|family| encoding.starts_with(family));
    (!is_plain).then_some(Found::Unreadable)
}

/// What a document declares for itself: an entity that is a plain word is the
/// habit of some drawing programs, everything else is a hiding place.
fn declares(doctype: &str) -> Option<Found> {
    let subset = doctype.split_once('[')?.1.to_ascii_uppercase();
    if ["<!ATTLIST", "SYSTEM", "PUBLIC", "%"].iter().any(|word| subset.contains(word)) {
        return Some(ENTITY);
    }
    let plain = subset.split("<!ENTITY").skip(1).all(|declaration| {
        let value = declaration.find(['"', '\'']).and_then(|at| {
            let quote = &declaration[at..=at];
            declaration[at + 1..].split_once(quote).map(|(value, _)| value)
        });
        value.is_some_and(|value| !value.contains(['<', '&']))
    });
    (!plain).then_some(ENTITY)
}

/// The document as a page that takes it in reads it: what CDATA holds is text.
pub(super) fn without_cdata(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<![CDATA[") {
        out.push_str(before);
        rest = after.split_once("]]>").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}
