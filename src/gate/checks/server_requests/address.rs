//! An address that a user is asked to open: where it leads must be plain to see.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::No;
use crate::protocol::strict::Node;

/// The longest address that anybody reads to its end.
const LONGEST: usize = 2048;

/// Judges the address of an elicitation, and the words around it.
pub(super) fn judge(params: &Node, origins: Option<&[String]>) -> Result<(), No> {
    for member in params.members().iter().filter(|member| member.key == "url") {
        let Some(text) = member.value.as_str() else {
            return No::because("address", "the address is no text");
        };
        let url = plain(text)?;
        let origin = url.origin();
        match origins {
            Some(origins)
                if !origins.iter().any(|known| Url::parse(known).is_ok_and(|known| known.origin() == origin)) =>
            {
                return No::because("origin", "the address is of an origin that the policy doesn't name");
            }
            Some(_) => {}
            None => named(&url)?,
        }
        let message = params.member("message").and_then(Node::as_str).unwrap_or_default();
        if !shows_only(message, &url) {
            return No::because("other-address", "the message shows another address than the one to be opened");
        }
    }
    if params.member("url").is_none() {
        return No::because("address", "there is no address to open");
    }
    Ok(())
}

/// An https address that every reader reads alike.
fn plain(text: &str) -> Result<Url, No> {
    let readable = text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let parsed = Url::parse(text).ok().filter(|_| readable);
    let Some(url) = parsed.filter(|url| url.scheme() == "https" && text.to_ascii_lowercase().starts_with("https://"))
    else {
        return No::because("address", "the address is no plain https address");
    };
    if !url.username().is_empty() || url.password().is_some() || carries_credentials(&url) {
        return No::because("address", "the address carries credentials");
    }
    Ok(url)
}

/// A link that lets in whoever holds it is no link to hand out.
fn carries_credentials(url: &Url) -> bool {
    const KEYS: [&str; 10] = [
        "access_token",
        "token",
        "auth_token",
        "id_token",
        "refresh_token",
        "api_key",
        "apikey",
        "password",
        "secret",
        "session_id",
    ];
    url.query_pairs().any(|(key, _)| KEYS.iter().any(|known| known.eq_ignore_ascii_case(&key)))
}

/// A host that is a name, in letters that look like no others.
fn named(url: &Url) -> Result<(), No> {
    let Some(Host::Domain(name)) = url.host() else {
        return No::because("address", "the address is a number and no name");
    };
    let name = name.trim_end_matches('.');
    if name.split('.').any(|label| label.starts_with("xn--")) {
        return No::because("address", "the address has letters that may look like others");
    }
    let local = matches!(name.rsplit('.').next(), Some("localhost" | "local" | "internal"));
    if !name.contains('.') || local || is_number(name) {
        return No::because("address", "the address is no public name");
    }
    Ok(())
}

fn is_number(name: &str) -> bool {
    name.parse::<Ipv4Addr>().is_ok() || name.parse::<Ipv6Addr>().is_ok()
}

/// Whether every address that a message shows is on the host to be opened, or on
/// one that belongs with it.
fn shows_only(message: &str, url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let lower = message.to_lowercase();
    let shown =
        ["https://", "http://"].into_iter().flat_map(|scheme| lower.match_indices(scheme).map(|(at, _)| &lower[at..]));
    let end = |c: char| c.is_whitespace() || "<>\"'`)]}".contains(c);
    let mut hosts = shown.filter_map(|rest| {
        Url::parse(rest.split(end).next().unwrap_or_default().trim_end_matches(['.', ',', ';', ':'])).ok()
    });
    hosts.all(|other| other.host_str().is_some_and(|other| together(other, host)))
}

/// The same host, one below the other, or siblings of a name of three parts.
fn together(one: &str, other: &str) -> bool {
    let below =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let parent =
        |host: &str| host.split_once('.').map(|(_, parent)| parent.to_owned()).filter(|name| name.contains('.'));
    below(one, other) || below(other, one) || (parent(one).is_some() && parent(one) == parent(other))
}
