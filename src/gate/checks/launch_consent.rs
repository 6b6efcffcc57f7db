//! `launch-consent`: what is started is what was approved.

use super::CheckId;
use crate::gate::{Check, Context, Docs, Event, Opening, Proposals, Reach};

/// See the module.
#[derive(Debug)]
pub(super) struct LaunchConsent;

static DOCS: Docs = Docs {
    id: CheckId::new("launch-consent"),
    summary: "a server started by another command than the approved one, or with credentials it inherits",
    leg: "launch",
    what: "Before a server is started or reached, compares its command argument by argument (its URL where it has \
           one) with the policy's `launch.argv`, or with how it was started first in the session; another one is \
           refused until the host approves it. A launch that a lower configuration layer than `launch.layer` asks \
           for (the user's own unless given) is refused, so that a project's files can't take a name. Of the \
           environment, `launch.env` alone is handed down; without it, everything but variables that look like \
           credentials and those that make a process load code.",
    why: "A local server runs with the user's rights. A configuration that changes after it was approved, or that \
          anyone can add to a repository, is a way to run any command; and what a shell holds for one program is \
          none of another's business.",
    misses: "What the approved program does, or becomes when it is updated. A credential under a harmless name \
             where `launch.env` is not given. Files that the server reads by itself.",
    example: "`notes-server --root /srv/notes` approved, `sh -c …` started under the same name",
    source: "L01, L02, L03; MCP security best practices (local server compromise); mcp-context-protector#20",
    rules: &[
        ("swapped", "the command is not the approved one"),
        ("lower-layer", "a configuration layer that may not launch this server asks for it"),
        ("not-handed-down", "an environment variable that the policy doesn't name is taken away"),
        ("credential", "an environment variable that looks like a credential is taken away"),
        ("loads-code", "an environment variable that makes a process load code is taken away"),
    ],
};

/// Variables by which a process loads code, or is led to other code, as they
/// are documented by loaders and language runtimes.
const LOADERS: &[&str] = &[
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "GIT_SSH_COMMAND",
    "GCONV_PATH",
];

/// Words of a variable's name, between `_`, that say that it holds a credential.
const CREDENTIALS: &[&str] = &[
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "COOKIE",
    "PAT",
    "JWT",
    "BEARER",
];

/// The same for two words one after another.
const PAIRS: &[(&str, &str)] =
    &[("API", "KEY"), ("ACCESS", "KEY"), ("PRIVATE", "KEY"), ("SIGNING", "KEY"), ("DATABASE", "URL"), ("AUTH", "SOCK")];

impl Check for LaunchConsent {
    fn docs(&self) -> &'static Docs {
        &DOCS
    }

    fn inspect(&self, context: &Context<'_>, event: &Event<'_>, proposals: &mut Proposals) {
        let Event::Opening(opening) = event else { return };
        let policy = context.policy(event);
        let approved = match &policy.launch.argv {
            Some(argv) => opening.reach == Reach::Argv(argv.clone()),
            None => context.server(event).approved_reach.as_ref() == Some(&opening.reach),
        };
        if !approved {
            proposals.refuse("swapped", "the server would be started in another way than was approved");
        }
        if opening.layer < policy.launch.layer {
            proposals.refuse("lower-layer", "this configuration layer may not launch a server of this name");
        }
        // The token that the host delegates travels under a name of its own, and
        // is delegated-identity's to set.
        let delegated = policy.identity.as_ref().and_then(|identity| identity.env.as_deref());
        environment(opening, policy.launch.env.as_deref(), delegated, proposals);
    }
}

fn environment(opening: &Opening, allowed: Option<&[String]>, delegated: Option<&str>, proposals: &mut Proposals) {
    for name in opening.env.keys().filter(|name| Some(name.as_str()) != delegated) {
        let wrong = match allowed {
            Some(allowed) if allowed.contains(name) => continue,
            Some(_) => ("not-handed-down", "the policy doesn't hand this variable down"),
            None if is_loader(name) => ("loads-code", "the variable makes a process load code"),
            None if is_credential(name) => ("credential", "the variable looks like a credential"),
            None => continue,
        };
        proposals.env(name, None, wrong.0, wrong.1);
    }
}

fn is_loader(name: &str) -> bool {
    LOADERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_credential(name: &str) -> bool {
    let upper = name.to_uppercase();
    let words: Vec<_> = upper.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| CREDENTIALS.contains(word))
        || words.windows(2).any(|pair| PAIRS.contains(&(pair[0], pair[1])))
}

#[cfg(test)]
mod tests {
    use super::{is_credential, is_loader};
    use crate::gate::{Layer, Reach, testing::Driver};

    fn argv(words: &[&str]) -> Reach {
        Reach::Argv(words.iter().map(|&word| word.to_owned()).collect())
    }

    #[test]
    fn the_command_is_compared_word_by_word() {
        let mut gate = Driver::only("launch-consent", "[servers.board.launch]\nargv = [\"notes\", \"a b\"]\n");
        gate.opening(argv(&["notes", "a b"]), &[], Layer::User).passes();
        for other in [&["notes", "a", "b"][..], &["notes"], &["notes", "a b", ""], &["NOTES", "a b"]] {
            gate.opening(argv(other), &[], Layer::User).refuses("swapped");
        }
        gate.opening(Reach::Url("http://127.0.0.1/".into()), &[], Layer::User).refuses("swapped");
    }

    #[test]
    fn without_a_policy_the_first_launch_counts_until_the_host_approves_another() {
        let mut gate = Driver::only("launch-consent", "");
        gate.opening(argv(&["notes"]), &[], Layer::User).passes();
        gate.opening(argv(&["sh"]), &[], Layer::User).refuses("swapped");
        gate.opening(argv(&["sh"]), &[], Layer::User).refuses("swapped");
        gate.opening(argv(&["notes"]), &[], Layer::User).passes();
        gate.opening(argv(&["notes", "--v2"]), &[], Layer::User).refuses("swapped");
        gate.approve();
        gate.opening(argv(&["notes", "--v2"]), &[], Layer::User).passes();
        gate.opening(argv(&["notes"]), &[], Layer::User).refuses("swapped");
    }

    #[test]
    fn lower_layers_take_no_name() {
        let mut gate = Driver::only("launch-consent", "[servers.board.launch]\nlayer = \"system\"\n");
        gate.opening(argv(&["notes"]), &[], Layer::System).passes();
        gate.opening(argv(&["notes"]), &[], Layer::User).refuses("lower-layer");
        let mut gate = Driver::only("launch-consent", "");
        gate.opening(argv(&["notes"]), &[], Layer::Project).refuses("lower-layer");
        let mut gate = Driver::only("launch-consent", "[servers.board.launch]\nlayer = \"project\"\n");
        gate.opening(argv(&["notes"]), &[], Layer::Project).passes();
    }

    #[test]
    fn credentials_and_loaders_stay_behind() {
        let mut gate = Driver::only("launch-consent", "");
        let env = [("PATH", "/bin"), ("GH_TOKEN", "x"), ("LD_PRELOAD", "y.so"), ("KEYBOARD", "us")];
        let taken = gate.open(argv(&["notes"]), &env).env;
        assert_eq!(taken, [("GH_TOKEN".to_owned(), None), ("LD_PRELOAD".to_owned(), None)]);
        let mut gate = Driver::only("launch-consent", "[servers.board.launch]\nenv = [\"GH_TOKEN\"]\n");
        let taken: Vec<_> = gate.open(argv(&["notes"]), &env).env.into_iter().map(|(name, _)| name).collect();
        assert_eq!(taken, ["KEYBOARD", "LD_PRELOAD", "PATH"]);
    }

    #[test]
    fn names_are_read_by_their_words() {
        for name in ["AWS_SECRET_ACCESS_KEY", "npm_token", "API_KEY", "DB-PASSWORD", "SSH_AUTH_SOCK", "X_API_KEY_2"] {
            assert!(is_credential(name), "{name}");
        }
        for name in ["PATH", "TOKENIZERS_PARALLELISM", "KEYMAP", "PATTERN", "HOME", "MONKEY", "AUTHOR"] {
            assert!(!is_credential(name) && !is_loader(name), "{name}");
        }
        assert!(is_loader("Node_Options") && !is_loader("ENVIRONMENT"));
    }
}
