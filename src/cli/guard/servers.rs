//! Which servers are guarded, and how each is reached.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use url::Url;

use super::{
    super::{exit, screen, screen::Screen, trouble},
    What,
    policy::mistake,
};
use crate::{
    fixture::{Source, SourceError, Step, suggest},
    gate::{Reach, Rules},
    protocol::ServerName,
};

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) name: ServerName,
    pub(super) reach: Reach,
    /// Variables that it gets beside this program's.
    pub(super) env: BTreeMap<String, String>,
    /// Other names for its tools.
    pub(super) rename: BTreeMap<String, String>,
}

/// Which servers are meant, or what is wrong.
pub(super) fn served(what: &What, rules: &Rules, screen: &Screen) -> Result<Vec<Served>, u8> {
    let reach = match (&what.config, &what.upstream, what.argv.is_empty()) {
        (Some(_), Some(_), _) | (Some(_), None, false) => {
            return Err(mistake("--config names the servers; leave the command and --upstream away"));
        }
        (None, Some(_), false) => {
            return Err(mistake("a server is started or reached; leave the command or --upstream away"));
        }
        (None, None, true) => {
            return Err(mistake(
                "which server? Say its command behind --, its URL with --upstream, or several with --config FILE",
            ));
        }
        (None, None, false) => Reach::Argv(what.argv.clone()),
        (None, Some(url), true) => Reach::Url(reachable("--upstream", url).map_err(|why| mistake(&why))?),
        (Some(path), None, true) => {
            if what.server.is_some() {
                return Err(mistake("--config names the servers; leave --server away"));
            }
            let servers = configured(path, screen)?;
            for server in &servers {
                named(&server.name, rules)?;
            }
            return Ok(servers);
        }
    };
    let name = only(what.server.as_deref(), rules)?;
    Ok(vec![Served { name, reach, env: BTreeMap::new(), rename: BTreeMap::new() }])
}

/// A URL that can be reached from here, or what is wrong with it.
pub(super) fn reachable(place: &str, url: &str) -> Result<String, String> {
    match Url::parse(url) {
        Ok(parsed) if parsed.scheme() == "http" && parsed.has_host() => Ok(url.to_owned()),
        Ok(parsed) if parsed.scheme() == "https" => {
            Err("nothing here speaks TLS; reach an https server through a proxy on this machine".to_owned())
        }
        _ => Err(format!("{place} {url:?} is no address; write it as http://host:port/mcp")),
    }
}

/// Which server is meant where there is one.
fn only(given: Option<&str>, rules: &Rules) -> Result<ServerName, u8> {
    let known = &rules.policy().servers;
    match (given, known.len()) {
        (Some(name), _) => {
            let name = ServerName::new(name);
            named(&name, rules).map(|()| name)
        }
        (None, 0) => Ok(ServerName::new("server")),
        (None, 1) => Ok(known.keys().next().cloned().unwrap_or_else(|| ServerName::new("server"))),
        (None, _) => {
            let names: Vec<_> = known.keys().map(ServerName::as_str).collect();
            Err(mistake(&format!("which server? Say --server with one of {}", names.join(", "))))
        }
    }
}

/// A name that the policy doesn't know would be held to its defaults, which is
/// hardly what somebody wants who wrote it down.
fn named(name: &ServerName, rules: &Rules) -> Result<(), u8> {
    let known = &rules.policy().servers;
    if known.is_empty() || known.contains_key(name) {
        return Ok(());
    }
    let hint = suggest(name.as_str(), known.keys().map(ServerName::as_str));
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Err(mistake(&format!("the policy names no server '{name}'{hint}")))
}

/// A file of servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    servers: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: ServerName,
    #[serde(default)]
    command: Vec<String>,
    url: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    rename: BTreeMap<String, String>,
}

/// A host's own file: its `mcpServers`.
#[derive(Debug, Deserialize)]
struct HostFile {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostEntry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    url: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    /// What follows from the rest.
    #[serde(rename = "type")]
    _kind: Option<String>,
}

impl Entry {
    fn served(self) -> Result<Served, String> {
        let reach = match (self.command.is_empty(), self.url) {
            (false, None) => Reach::Argv(self.command),
            (true, Some(url)) => Reach::Url(reachable("url", &url)?),
            (false, Some(_)) => return Err(format!("'{}' has a command and a url; leave one away", self.name)),
            (true, None) => return Err(format!("'{}' has no command and no url", self.name)),
        };
        Ok(Served { name: self.name, reach, env: self.env, rename: self.rename })
    }
}

fn configured(path: &Path, screen: &Screen) -> Result<Vec<Served>, u8> {
    let told = |error: SourceError| {
        screen::note(&trouble::graphical(&error, screen));
        exit::USAGE
    };
    let source = Source::read(path, path.display().to_string()).map_err(told)?;
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let servers = if is_json {
        from_host(source.text()).map_err(|why| mistake(&format!("{}: {why}", path.display())))?
    } else {
        from_own(&source).map_err(told)?
    };
    match servers.as_slice() {
        [] => Err(mistake(&format!("{} names no server", path.display()))),
        _ => Ok(servers),
    }
}

fn from_own(source: &Source) -> Result<Vec<Served>, SourceError> {
    let file: File = source.parse()?;
    if file.schema != 1 {
        return Err(source.error(&[Step::Key("schema")], "the schema of servers is 1"));
    }
    let mut servers: Vec<Served> = Vec::new();
    for (index, entry) in file.servers.into_iter().enumerate() {
        let at = [Step::Key("servers"), Step::Index(index)];
        let served = entry.served().map_err(|why| source.error(&at, why))?;
        if servers.iter().any(|other| other.name == served.name) {
            return Err(source.error(&at, format!("there is another server '{}' above", served.name)));
        }
        servers.push(served);
    }
    Ok(servers)
}

fn from_host(text: &str) -> Result<Vec<Served>, String> {
    let file: HostFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut servers = Vec::new();
    for (name, value) in file.servers {
        let entry: HostEntry = serde_json::from_value(value).map_err(|error| format!("'{name}': {error}"))?;
        if entry.disabled {
            continue;
        }
        let command = entry.command.into_iter().chain(entry.args).collect();
        let name = ServerName::new(name);
        servers.push(Entry { name, command, url: entry.url, env: entry.env, rename: BTreeMap::new() }.served()?);
    }
    Ok(servers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> Result<Vec<Served>, String> {
        from_own(&Source::new("servers.toml", format!("schema = 1\n{text}"))).map_err(|error| error.to_string())
    }

    #[test]
    fn both_kinds_of_files_say_the_same() {
        let toml =
            own("[[servers]]\nname = \"notes\"\ncommand = [\"notes\", \"--root\", \"/a b\"]\nenv = { A = \"1\" }\n\
             [[servers]]\nname = \"desk\"\nurl = \"http://127.0.0.1:9/mcp\"\n");
        let json = r#"{"mcpServers":{
            "notes":{"type":"stdio","command":"notes","args":["--root","/a b"],"env":{"A":"1"}},
            "off":{"command":"x","disabled":true},
            "desk":{"url":"http://127.0.0.1:9/mcp"}}}"#;
        assert_eq!(toml.unwrap(), from_host(json).unwrap());
    }

    #[test]
    fn slips_are_told() {
        for (text, why) in [
            ("[[servers]]\nname = \"a\"\n", "no command and no url"),
            ("[[servers]]\nname = \"a\"\ncommand = [\"x\"]\nurl = \"http://h/\"\n", "leave one away"),
            ("[[servers]]\nname = \"a\"\nurl = \"https://h/\"\n", "TLS"),
            (
                "[[servers]]\nname = \"a\"\ncommand = [\"x\"]\n[[servers]]\nname = \"a\"\ncommand = [\"y\"]\n",
                "another server",
            ),
        ] {
            let told = own(text).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        for (text, why) in [
            ("{}", "mcpServers"),
            (r#"{"mcpServers":{"a":{"command":"x","headers":{}}}}"#, "'a': unknown field `headers`"),
        ] {
            let told = from_host(text).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }
}
