//! How a resource stands that is about to be read by its address.

use super::{
    super::{PinKind, Standing},
    PinFacts,
};

impl PinFacts {
    /// How a resource stands that is about to be read. One that no list holds is
    /// unknown: templates and links make such.
    pub fn read(&self, uri: &str) -> Standing {
        if let Some(standing) = self.whole_server() {
            return standing;
        }
        if let Some(standing) = self.by_name(PinKind::Resource, uri) {
            return standing;
        }
        // Another spelling of a listed address is that resource.
        let normal = normal(uri);
        let same = self.names(PinKind::Resource).filter(|name| self::normal(name) == normal);
        let mut standing = worst(same.filter_map(|name| self.by_name(PinKind::Resource, name)));
        if standing == Standing::Unknown {
            // A template that stands well may make what another one would too.
            let mut made = self.names(PinKind::Template).filter(|template| matches(template, &normal));
            let all: Vec<_> = made.by_ref().filter_map(|name| self.by_name(PinKind::Template, name)).collect();
            if !all.contains(&Standing::Approved) {
                standing = worst(all.into_iter());
            }
        }
        standing
    }

    /// How a template stands that something is to be completed for.
    pub fn template(&self, template: &str) -> Standing {
        self.whole_server().or_else(|| self.by_name(PinKind::Template, template)).unwrap_or(Standing::Unknown)
    }
}

/// The first one that is in the way, else any.
fn worst(mut all: impl Iterator<Item = Standing>) -> Standing {
    let first = all.next().unwrap_or(Standing::Unknown);
    if matches!(first, Standing::Approved | Standing::Unknown) {
        all.find(|next| !matches!(next, Standing::Approved | Standing::Unknown)).unwrap_or(first)
    } else {
        first
    }
}

/// An address in the normal form of RFC 3986, 6.2.2: scheme and host in lower
/// case, nothing escaped that need not be, no fragment.
fn normal(uri: &str) -> String {
    let uri = uri.split('#').next().unwrap_or_default();
    let path = uri.find("://").map_or(0, |at| uri[at + 3..].find(['/', '?']).map_or(uri.len(), |end| at + 3 + end));
    let scheme = if path == 0 { uri.find(':').unwrap_or(0) } else { path };
    let mut out = uri[..scheme].to_ascii_lowercase();
    let mut rest = &uri[scheme..];
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let escaped = rest.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => out.push(char::from(byte)),
            Some(_) => out.push_str(&rest[at..at + 3].to_ascii_uppercase()),
            None => {
                out.push('%');
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
    out
}

/// Whether a template could make an address. Every expression of RFC 6570 is
/// taken for any text: too many matches only means that more is compared.
fn matches(template: &str, uri: &str) -> bool {
    let mut literals = Vec::new();
    let mut rest = template;
    let mut expressions = 0;
    while let Some((literal, after)) = rest.split_once('{') {
        literals.push(normal_part(literal, literals.is_empty()));
        rest = after.split_once('}').map_or("", |(_, after)| after);
        expressions += 1;
    }
    literals.push(normal_part(rest, literals.is_empty()));
    if expressions == 0 {
        return literals[0] == uri;
    }
    let (first, last) = (&literals[0], &literals[literals.len() - 1]);
    let Some(middle) = uri.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str())) else {
        return false;
    };
    let mut left = middle;
    for literal in &literals[1..literals.len() - 1] {
        let Some((_, after)) = left.split_once(literal.as_str()) else { return false };
        left = after;
    }
    true
}

/// A literal of a template in the form that addresses are compared in.
fn normal_part(literal: &str, is_first: bool) -> String {
    if is_first {
        return normal(literal);
    }
    // Only what stands before the path has a case that doesn't count.
    normal(&format!("/{literal}"))[1..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_are_one() {
        for same in ["PHRASE://en/farewell", "phrase://EN/farewel%6C", "phrase://en/%66arewell#top"] {
            assert_eq!(normal(same), "phrase://en/farewell", "{same}");
        }
        assert_eq!(normal("file:///A%2fb%"), "file:///A%2Fb%");
        assert_eq!(normal("Note:A"), "note:A");
        assert_ne!(normal("phrase://en/Farewell"), normal("phrase://en/farewell"));
        assert_eq!(normal("café://é/%c3"), "café://é/%C3");
    }

    #[test]
    fn templates_match_what_they_could_make() {
        for (template, uri, expected) in [
            ("phrase://{language}/{key}", "phrase://en/greeting", true),
            ("Phrase://{language}/{key}", "phrase://en/greeting", true),
            ("phrase://{language}/{key}", "other://en/greeting", false),
            ("phrase://{language}/{key}", "phrase://en", false),
            ("log://days{/year,month}{?level}", "log://days/2026/11?level=2", true),
            ("log://days{/year,month}.txt", "log://days/2026/11", false),
            ("log://all", "log://all", true),
            ("log://{a", "log://x", true),
            ("a:{x}b{y}b", "a:b", false),
        ] {
            assert_eq!(matches(template, &normal(uri)), expected, "{template} {uri}");
        }
    }
}
