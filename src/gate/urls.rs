//! Where a URL leads, read as a browser reads it, and refused where others read
//! it otherwise.

use std::net::IpAddr;

use url::{Host, Url};

use super::EgressPolicy;

/// Where a URL leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// To a name: in lower case, without a dot at its end.
    Name(String),
    /// To an address.
    Address(IpAddr),
    /// Nowhere that a gate has to ask about: to a host of the network's own, or
    /// to none, under a scheme that the policy allows.
    Allowed,
}

/// Why a URL may not be used, before anybody asks for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
    /// Its scheme isn't allowed.
    Scheme,
    /// It isn't one, or two readers read two hosts in it.
    Odd,
    /// A user or a password stands in it.
    Credentials,
    /// Its port isn't allowed.
    Port,
    /// Its host is a name of this machine or of the network around it.
    LocalName,
    /// An icon is neither a picture in a `data` URL nor an address.
    Icon,
}

/// Schemes under which something is fetched, opened or run, whoever names them.
/// Every other one is the server's own.
const FOREIGN: &[&str] = &[
    "http",
    "https",
    "ws",
    "wss",
    "ftp",
    "ftps",
    "sftp",
    "tftp",
    "scp",
    "ssh",
    "telnet",
    "gopher",
    "dict",
    "ldap",
    "ldaps",
    "smb",
    "cifs",
    "nfs",
    "afp",
    "webdav",
    "dav",
    "rsync",
    "git",
    "svn",
    "imap",
    "imaps",
    "pop3",
    "pop3s",
    "smtp",
    "smtps",
    "rtsp",
    "rtmp",
    "mms",
    "redis",
    "mongodb",
    "postgres",
    "postgresql",
    "mysql",
    "amqp",
    "mqtt",
    "file",
    "jar",
    "netdoc",
    "view-source",
    "feed",
    "phar",
    "php",
    "expect",
    "zip",
    "compress.zlib",
    "glob",
    "ogg",
];
/// Schemes whose address is itself a document or a program.
const ACTIVE: &[&str] = &["data", "javascript", "vbscript", "blob", "about", "filesystem", "livescript", "intent"];
/// Endings of names that are never public: RFC 6761, 6762 and 8375, ICANN's
/// `internal`, and those that networks use by custom.
const LOCAL: &[&str] =
    &["localhost", "localdomain", "local", "internal", "home.arpa", "lan", "home", "corp", "intranet", "private"];

/// The scheme of a text that begins with one, in lower case, and the rest.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_fine = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
    let begins = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins && scheme.bytes().all(is_fine)).then(|| (scheme.to_ascii_lowercase(), rest))
}

/// Whether a word is an address that somebody would fetch.
fn is_address(word: &str, policy: &EgressPolicy) -> bool {
    let Some((scheme, rest)) = scheme(word) else { return false };
    // Browsers need no slashes behind these, or take others.
    let is_lenient = matches!(scheme.as_str(), "http" | "https" | "ws" | "wss" | "ftp");
    let begins =
        rest.starts_with(['/', '\\']) || (is_lenient && rest.starts_with(|c: char| c.is_alphanumeric() || c == '['));
    begins && (FOREIGN.contains(&scheme.as_str()) || policy.allows_scheme(&scheme))
}

/// The URLs in a text that is one, or that begins with one: words in the middle
/// of a text are somebody's words, and nothing is fetched for them.
pub(super) fn in_text(text: &str, policy: &EgressPolicy) -> Vec<Result<Site, Slip>> {
    if !text.contains(':') {
        return Vec::new();
    }
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(is_blank).filter(|word| !word.is_empty()).collect();
    let Some(first) = words.first() else { return Vec::new() };
    let addresses: Vec<&str> = words.iter().copied().filter(|word| is_address(word, policy)).collect();
    // Many readers drop tabs and line ends in the middle of a URL.
    if words.len() > 1
        && !text.trim().contains(' ')
        && addresses.len() != words.len()
        && is_address(&words.concat(), policy)
    {
        return vec![Err(Slip::Odd)];
    }
    if !is_address(first, policy) {
        return Vec::new();
    }
    addresses.iter().map(|word| site(word, policy)).collect()
}

/// A value that must be a URL, or a host that a server makes one of. With `own`,
/// addresses of the server's own making pass.
pub(super) fn in_field(text: &str, own: bool, policy: &EgressPolicy) -> Result<Site, Slip> {
    let text = text.trim_matches(' ');
    match scheme(text) {
        Some((scheme, _)) if policy.allows_scheme(&scheme) || is_address(text, policy) => site(text, policy),
        Some((scheme, _)) if own && !is_foreign(&scheme) && !text.contains(|c: char| c.is_control()) => {
            Ok(Site::Allowed)
        }
        // `host:port` begins like a scheme.
        Some((_, rest)) if !rest.starts_with(|c: char| c.is_ascii_digit()) => Err(Slip::Scheme),
        _ => {
            let first = policy.schemes.first().map_or("https", String::as_str);
            site(&format!("{first}://{}", text.strip_prefix("//").unwrap_or(text)), policy)
        }
    }
}

/// The address of a resource that a server hands to its client.
pub(super) fn in_link(text: &str, policy: &EgressPolicy) -> Result<Site, Slip> {
    match scheme(text) {
        Some((scheme, _)) if policy.allows_scheme(&scheme) => site(text, policy),
        Some((scheme, _)) if is_foreign(&scheme) => Err(Slip::Scheme),
        Some(_) if !text.contains(|c: char| c.is_control()) => Ok(Site::Allowed),
        _ => Err(Slip::Odd),
    }
}

fn is_foreign(scheme: &str) -> bool {
    FOREIGN.contains(&scheme) || ACTIVE.contains(&scheme)
}

/// Where an absolute URL leads.
pub(super) fn site(text: &str, policy: &EgressPolicy) -> Result<Site, Slip> {
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(Slip::Odd);
    }
    let url = Url::parse(text).map_err(|_| Slip::Odd)?;
    if !policy.allows_scheme(url.scheme()) {
        return Err(Slip::Scheme);
    }
    let authority = text.split_once("//").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if !url.username().is_empty() || url.password().is_some() || authority.is_some_and(|text| text.contains('@')) {
        return Err(Slip::Credentials);
    }
    let Some(host) = url.host() else { return Ok(Site::Allowed) };
    // A scheme that browsers don't know has its host left as it is spelled.
    let host = match host {
        Host::Domain(name) => Host::parse(name).map_err(|_| Slip::Odd)?,
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => Host::Ipv6(address),
    };
    if url.port_or_known_default().is_some_and(|port| !policy.ports.contains(&port)) {
        return Err(Slip::Port);
    }
    let spelled = match &host {
        Host::Domain(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        other => other.to_string(),
    };
    if policy.is_internal(&spelled) {
        return Ok(Site::Allowed);
    }
    match host {
        Host::Ipv4(address) => Ok(Site::Address(address.into())),
        Host::Ipv6(address) => Ok(Site::Address(address.into())),
        Host::Domain(_) if spelled.is_empty() || spelled.ends_with('.') => Err(Slip::Odd),
        Host::Domain(_) if is_local(&spelled) => Err(Slip::LocalName),
        Host::Domain(_) => Ok(Site::Name(spelled)),
    }
}

/// A name without a dot is looked up in the network around, too.
fn is_local(name: &str) -> bool {
    let ends = |ending: &&str| name.strip_suffix(*ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || LOCAL.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default() -> EgressPolicy {
        EgressPolicy::default()
    }

    fn of(text: &str) -> Result<Site, Slip> {
        site(text, &default())
    }

    #[test]
    fn every_spelling_of_a_host_is_read() {
        for (text, address) in [
            ("https://2130706433/", "127.0.0.1"),
            ("https://0x7f.1/", "127.0.0.1"),
            ("https://017700000001/", "127.0.0.1"),
            ("https://127.1", "127.0.0.1"),
            ("https://0", "0.0.0.0"),
            ("https://0xa9fea9fe/latest", "169.254.169.254"),
            ("https://169.254.169.254./", "169.254.169.254"),
            ("https://%31%32%37.0.0.1/", "127.0.0.1"),
            ("https://１６９．２５４．１６９．２５４/", "169.254.169.254"),
            ("https://①②⑦.0.0.1/", "127.0.0.1"),
            ("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"),
            ("https:169.254.169.254/", "169.254.169.254"),
            ("HTTPS:/169.254.169.254", "169.254.169.254"),
        ] {
            assert_eq!(of(text), Ok(Site::Address(address.parse().unwrap())), "{text}");
        }
        for (text, name) in [
            ("https://Files.Example./x", "files.example"),
            ("https://bücher.example", "xn--bcher-kva.example"),
            ("https://files.example:443/", "files.example"),
            ("https://files.example/?at=me@home.example#a@b", "files.example"),
        ] {
            assert_eq!(of(text), Ok(Site::Name(name.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_read_in_two_ways_is_refused() {
        for (text, slip) in [
            ("http://files.example/", Slip::Scheme),
            ("file:///etc/passwd", Slip::Scheme),
            ("https://user:made-up@files.example/", Slip::Credentials),
            ("https://@files.example/", Slip::Credentials),
            ("https://files.example:8443/", Slip::Port),
            ("https://files.example\\@169.254.169.254/", Slip::Odd),
            ("https://files.example\t/", Slip::Odd),
            ("https://a b.example/", Slip::Odd),
            ("https://", Slip::Odd),
            ("https://256.256.256.256/", Slip::Odd),
            ("https://files.example../", Slip::Odd),
            ("https://localhost/", Slip::LocalName),
            ("https://LOCALHOST./", Slip::LocalName),
            ("https://ⓛocalhost/", Slip::LocalName),
            ("https://a.b.localhost/", Slip::LocalName),
            ("https://metadata.google.internal/", Slip::LocalName),
            ("https://printer.local/", Slip::LocalName),
            ("https://metadata/", Slip::LocalName),
        ] {
            assert_eq!(of(text), Err(slip), "{text}");
        }
        assert_eq!(of("https://mylocal.example/"), Ok(Site::Name("mylocal.example".to_owned())));
    }

    #[test]
    fn a_text_is_judged_where_it_begins_with_a_url() {
        for (text, count) in [
            ("https://a.example/", 1),
            ("  https://a.example/ ", 1),
            ("https://a.example/ http://localhost", 2),
            ("https://a.example/\nhttp://b.example/", 2),
            ("https:a.example", 1),
            ("HTTP:\\\\localhost", 1),
            ("ht\ntp://localhost/", 1),
            ("https://a.example\n@localhost/", 1),
            ("file:///etc/passwd", 1),
            ("gopher://localhost:70/", 1),
            ("see http://localhost:3000 for it", 0),
            ("http: the protocol of the web", 0),
            ("Note:\nhttp://localhost is yours", 0),
            ("helpdesk://ticket/4", 0),
            ("mailto:rosa@post.example", 0),
            ("12:30", 0),
            ("data:image/png;base64,AAAA", 0),
            ("", 0),
        ] {
            assert_eq!(in_text(text, &default()).len(), count, "{text:?}");
        }
    }

    #[test]
    fn a_field_that_must_be_a_url_is_one() {
        let field = |text: &str| in_field(text, false, &default());
        assert_eq!(field("files.example/x"), Ok(Site::Name("files.example".to_owned())));
        assert_eq!(field("//files.example"), Ok(Site::Name("files.example".to_owned())));
        assert_eq!(field("169.254.169.254/latest"), Ok(Site::Address("169.254.169.254".parse().unwrap())));
        assert_eq!(field("2130706433"), Ok(Site::Address("127.0.0.1".parse().unwrap())));
        assert_eq!(field("localhost:443"), Err(Slip::LocalName));
        assert_eq!(field("files.example:8080"), Err(Slip::Port));
        assert_eq!(field("helpdesk://x"), Err(Slip::Scheme));
        assert_eq!(in_field("helpdesk://x", true, &default()), Ok(Site::Allowed));
        assert_eq!(in_field("javascript:alert(1)", true, &default()), Err(Slip::Scheme));
        assert_eq!(field(""), Err(Slip::Odd));
    }

    #[test]
    fn links_of_the_servers_own_making_pass() {
        let link = |text: &str| in_link(text, &default());
        assert_eq!(link("helpdesk://ticket/4"), Ok(Site::Allowed));
        assert_eq!(link("urn:isbn:0"), Ok(Site::Allowed));
        assert_eq!(link("https://a.example/x"), Ok(Site::Name("a.example".to_owned())));
        for text in [
            "file:///etc/passwd",
            "FILE:/etc",
            "http://a.example",
            "javascript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
        ] {
            assert_eq!(link(text), Err(Slip::Scheme), "{text}");
        }
        for text in ["/etc/passwd", "//a.example", "", "java\nscript:x"] {
            assert_eq!(link(text), Err(Slip::Odd), "{text}");
        }
    }

    #[test]
    fn the_networks_own_hosts_need_no_proof() {
        let policy = EgressPolicy {
            internal: vec!["*.corp.example".to_owned(), "wiki.internal".to_owned(), "10.0.0.7".to_owned()],
            ..default()
        };
        for text in ["https://a.corp.example/", "https://wiki.internal/", "https://10.0.0.7/", "https://0xa000007/"] {
            assert_eq!(site(text, &policy), Ok(Site::Allowed), "{text}");
        }
        assert_eq!(site("https://other.internal/", &policy), Err(Slip::LocalName));
    }
}
