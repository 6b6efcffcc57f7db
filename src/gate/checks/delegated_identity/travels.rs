//! Where credentials travel beside the header that is made for them.

use std::borrow::Cow;

use url::Url;

use crate::{
    gate::{Context, Passing, Proposals},
    protocol::{Message, strict::Node},
};

/// Shorter texts are no tokens, and stand in any message.
const SHORTEST: usize = 8;

/// Headers that carry credentials by their name.
const HEADERS: [&str; 13] = [
    "cookie",
    "proxy-authorization",
    "api-key",
    "apikey",
    "x-api-key",
    "x-apikey",
    "x-auth",
    "x-token",
    "x-amz-security-token",
    "x-goog-api-key",
    "x-functions-key",
    "private-token",
    "x-password",
];

/// What the names of others end in.
const ENDINGS: [&str; 8] = [
    "-authorization",
    "-api-key",
    "-auth-token",
    "-access-token",
    "-id-token",
    "-session-token",
    "-secret",
    "-credential",
];

/// Members and query parameters that hold a credential by their name, without
/// what parts its words.
const NAMES: [&str; 17] = [
    "authorization",
    "auth",
    "token",
    "accesstoken",
    "authtoken",
    "bearer",
    "bearertoken",
    "idtoken",
    "refreshtoken",
    "sessiontoken",
    "apikey",
    "apitoken",
    "clientsecret",
    "secret",
    "password",
    "cookie",
    "credentials",
];

fn is_credential(name: &str) -> bool {
    // A key of `_meta` may have a prefix that says whose it is.
    let name = name.rsplit('/').next().unwrap_or_default();
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    NAMES.contains(&bare.as_str())
}

/// Takes away headers in which the client sent a credential.
pub(super) fn in_headers(headers: &[(String, String)], keep: &[String], proposals: &mut Proposals) {
    let is_one = |name: &str| HEADERS.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending));
    let mut taken: Vec<&str> = Vec::new();
    for (name, _) in headers.iter().filter(|(name, _)| is_one(name) && !keep.contains(name)) {
        if !taken.contains(&name.as_str()) {
            taken.push(name);
            let why = "a credential of the client's in another header was taken away";
            proposals.header(name, None, "token-stripped", why);
        }
    }
}

/// Takes credentials out of `_meta`.
pub(super) fn in_meta(message: &Message, proposals: &mut Proposals) {
    let params = message.params().map_or(&[][..], Node::members);
    for meta in params.iter().filter(|member| member.key == "_meta") {
        for member in meta.value.members().iter().filter(|member| is_credential(&member.key)) {
            let why = "a credential of the client's in `_meta` was taken away";
            proposals.splice(member.value.span.clone(), "null".to_owned(), "token-stripped", why);
        }
    }
}

/// The token that the client sent in its header must not stand in the body.
pub(super) fn in_body(headers: &[(String, String)], message: &Message, proposals: &mut Proposals) {
    let values = headers.iter().filter(|(name, _)| name == "authorization").map(|(_, value)| value.trim());
    let tokens = values.map(|value| value.split_once(' ').map_or(value, |(_, token)| token.trim()));
    if tokens.filter(|token| token.len() >= SHORTEST).any(|token| holds(message, token)) {
        proposals.refuse("token-in-body", "the message holds the credential that came with it");
    }
}

/// What the host holds for one server is no other one's to see.
pub(super) fn others_tokens(context: &Context<'_>, passing: &Passing<'_>, proposals: &mut Proposals) {
    let own = context.delegations.get(passing.server).map(|delegation| delegation.token.as_str());
    for (_, delegation) in context.delegations.iter().filter(|(server, _)| *server != passing.server) {
        let token = delegation.token.as_str();
        if token.len() < SHORTEST || own == Some(token) {
            continue;
        }
        if holds(passing.message, token) {
            proposals.refuse("foreign-token", "the message holds a token that is for another server");
        }
        for (name, _) in passing.headers.unwrap_or_default().iter().filter(|(_, value)| value.contains(token)) {
            proposals.header(name, None, "foreign-token", "a token that is for another server was taken away");
        }
    }
}

/// Whether a text stands in a message, escaped or not.
fn holds(message: &Message, text: &str) -> bool {
    if memchr::memmem::find(message.raw(), text.as_bytes()).is_some() {
        return true;
    }
    if memchr::memchr(b'\\', message.raw()).is_none() {
        return false;
    }
    let mut found = false;
    if let Some(root) = message.root() {
        root.each_string(&mut |_, string| found |= string.contains(text));
    }
    found
}

/// Whether an address holds a credential.
pub(super) fn in_address(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let named = |(name, value): (Cow<'_, str>, Cow<'_, str>)| is_credential(&name) && !value.is_empty();
    !url.username().is_empty() || url.password().is_some() || url.query_pairs().any(named)
}
