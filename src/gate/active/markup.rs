//! What single tags do.

use super::{Form, Found, css};

/// A tag as a reader sees it, in lower case and without prefixes.
#[derive(Debug)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
}

/// Elements that run or take in something.
const ACTIVE: [&str; 12] = [
    "iframe",
    "frame",
    "frameset",
    "object",
    "embed",
    "applet",
    "portal",
    "foreignobject",
    "handler",
    "listener",
    "base",
    "fencedframe",
];

/// Attributes whose value is followed.
const FOLLOWED: [&str; 17] = [
    "base",
    "href",
    "src",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "to",
    "from",
    "by",
    "values",
    "ping",
    "code",
    "codebase",
    "manifest",
    "cite",
];

/// Elements of a picture that load what they point to.
const LOADING: [&str; 6] = ["image", "img", "use", "feimage", "video", "audio"];

/// The name without its prefix, in lower case.
pub(super) fn local(name: &str) -> String {
    name.rsplit(':').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether an attribute decides what a document does, so that its value must be
/// known whole.
pub(super) fn is_followed(name: &str) -> bool {
    name == "style" || name == "attributename" || name.starts_with("on") || FOLLOWED.contains(&name)
}

impl Tag {
    fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What it does, if anything.
    pub(super) fn judge(&self, form: Form) -> Option<Found> {
        self.does(form).map(Found::Active)
    }

    fn does(&self, form: Form) -> Option<&'static str> {
        let says = |name: &str, wanted: &[&str]| {
            let value = self.value(name).unwrap_or_default();
            wanted.iter().any(|wanted| value.trim().eq_ignore_ascii_case(wanted))
        };
        match self.name.as_str() {
            // Data that a page carries along is no script.
            "script" if !says("type", &["application/ld+json", "application/json"]) || self.value("src").is_some() => {
                return Some("a script");
            }
            name if ACTIVE.contains(&name) => return Some("an embedded document"),
            "meta" if says("http-equiv", &["refresh"]) => return Some("a redirect"),
            "link" => {
                let mut rel = self.value("rel").unwrap_or_default().split_ascii_whitespace();
                if rel.any(|rel| ["import", "modulepreload"].iter().any(|one| rel.eq_ignore_ascii_case(one))) {
                    return Some("a script");
                }
            }
            "animate" | "set" | "animatetransform" | "animatemotion" => {
                let target = local(self.value("attributename").unwrap_or_default().trim());
                if target.starts_with("on") || target == "href" || target == "src" {
                    return Some("an animated script");
                }
            }
            _ => {}
        }
        self.attributes.iter().find_map(|(name, value)| self.attribute(form, name, value))
    }

    fn attribute(&self, form: Form, name: &str, value: &str) -> Option<&'static str> {
        if name.len() > 3 && name.starts_with("on") && name.as_bytes()[2].is_ascii_alphabetic() {
            return Some("an event handler");
        }
        if name == "srcdoc" {
            return Some("an embedded document");
        }
        if form == Form::Svg && (name == "style" || value.contains('(')) && css::loads(value) {
            return Some("a reference to elsewhere");
        }
        if !FOLLOWED.contains(&name) {
            return None;
        }
        // What a browser takes out of an address before it reads it.
        let address: String =
            value.chars().filter(|c| !c.is_ascii_control() && *c != ' ').collect::<String>().to_ascii_lowercase();
        let is_picture = LOADING.contains(&self.name.as_str()) && self.name != "use";
        // An animation steps through several.
        let several = if name == "values" { address.split(';').collect() } else { vec![address.as_str()] };
        if several.into_iter().any(|part| runs(part, is_picture)) {
            return Some("a script in an address");
        }
        let loads = form == Form::Svg && LOADING.contains(&self.name.as_str()) && (name == "href" || name == "src");
        (loads && !(address.is_empty() || address.starts_with('#') || address.starts_with("data:image/")))
            .then_some("a reference to elsewhere")
    }
}

/// Whether to follow an address is to run it.
fn runs(address: &str, is_picture: bool) -> bool {
    let data = |kind: &str| address.strip_prefix("data:").is_some_and(|rest| rest.starts_with(kind));
    ["javascript:", "vbscript:", "livescript:"].iter().any(|scheme| address.starts_with(scheme))
        || ["text/html", "application/xhtml", "text/xml", "application/xml", "text/javascript"].iter().any(|k| data(k))
        // A picture in a picture runs nothing; a part of one that is taken in does.
        || (data("image/svg") && !is_picture)
}
