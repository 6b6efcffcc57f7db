//! Whether a tool's words say that something is lost, moved or sent.
//!
//! Verbs are data. They are looked for in their inflections, in names of any
//! spelling (`deleteUser`, `user-delete`, `DELETE_USER`) and at the places of a
//! description where it says what the tool does. A text that says nothing of it
//! is believed by nobody; that is what the policy's own lists are for.

use std::{collections::BTreeSet, sync::LazyLock};

use super::normalize::normalize;
use crate::protocol::strict::{Kind, Node};

/// A list of words.
type Words = LazyLock<BTreeSet<&'static str>>;

fn words(text: &'static str) -> BTreeSet<&'static str> {
    text.split_whitespace().collect()
}

/// Verbs after which something is gone, someone else has it, or a door is shut.
static VERBS: Words = LazyLock::new(|| {
    words(
        "abort annihilate ban broadcast buy cancel clear deactivate decommission delete deprovision destroy disable \
     discard disconnect drop email empty erase evict expel expire expunge flush forget forward invalidate kill \
     nuke obliterate overwrite pay prune publish purchase purge reboot refund remove reset revert revoke rollback \
     scrap sell send shred shutdown suspend terminate transfer trash truncate tweet undeploy uninstall unlink \
     unpublish unshare unsubscribe void wipe withdraw",
    )
});

/// Verbs that are a thing as often as a deed: in a name they count at its
/// beginning, after `and`, and at its end where no other verb begins it.
static ALSO_NOUNS: Words =
    LazyLock::new(|| words("email drop post transfer reset void trash purchase refund charge wire order"));

/// Nouns of these verbs, and short words for them.
static NOUNS: Words = LazyLock::new(|| {
    words(
        "deletion removal erasure destruction truncation termination revocation publication cancellation payment \
     withdrawal teardown rm rmdir del",
    )
});

/// Past forms that no rule makes.
static PAST: Words =
    LazyLock::new(|| words("sent paid sold bought overwrote overwritten withdrew withdrawn forgotten"));

/// Verbs that only look: a noun or a past form behind one is what is looked at.
static LOOKING: Words = LazyLock::new(|| {
    words(
        "get list find search read show count describe fetch view check query is has lookup browse inspect preview \
     summarize summarise watch wait can validate estimate",
    )
});

/// Verbs that make or change something, by name.
static MAKING: Words =
    LazyLock::new(|| words("create add make update edit upsert set save draft write new put import"));

/// How a word stands for one of the verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `delete`, `deletes`, `deleting`
    Deed { also_noun: bool, plain: bool },
    /// `deletion`
    Noun,
    /// `deleted`
    Past,
}

fn form(word: &str) -> Option<Form> {
    let verb = |text: &str| (VERBS.contains(text) || ALSO_NOUNS.contains(text)).then(|| ALSO_NOUNS.contains(text));
    let deed = |also_noun, plain| Form::Deed { also_noun, plain };
    if let Some(noun) = verb(word) {
        return Some(deed(noun, true));
    }
    if NOUNS.contains(word.strip_suffix('s').unwrap_or(word)) || NOUNS.contains(word) {
        return Some(Form::Noun);
    }
    if PAST.contains(word) {
        return Some(Form::Past);
    }
    // `deletes`, `publishes`
    if let Some(noun) = word.strip_suffix('s').and_then(verb).or_else(|| word.strip_suffix("es").and_then(verb)) {
        return Some(deed(noun, false));
    }
    // `sending`, `deleting`, `dropping`
    let stems = |stem: &str| {
        let doubled = stem.as_bytes().last_chunk::<2>().is_some_and(|[a, b]| a == b);
        verb(stem)
            .or_else(|| verb(&format!("{stem}e")))
            .or_else(|| doubled.then(|| verb(stem.get(..stem.len() - 1).unwrap_or_default())).flatten())
    };
    if let Some(noun) = word.strip_suffix("ing").and_then(stems) {
        return Some(deed(noun, false));
    }
    if word.strip_suffix("ed").and_then(stems).is_some()
        || word.strip_suffix("ied").is_some_and(|stem| verb(&format!("{stem}y")).is_some())
    {
        return Some(Form::Past);
    }
    None
}

/// Whether a tool's (or an operation's) name says so.
pub(in crate::gate) fn is_named_destructive(name: &str) -> bool {
    let words = words_of_name(name);
    let looks = words.first().is_some_and(|word| LOOKING.contains(word.as_str()));
    words.iter().enumerate().any(|(at, word)| {
        let joined = at == 0 || matches!(words[at - 1].as_str(), "and" | "or" | "then" | "force" | "bulk" | "batch");
        match form(word) {
            Some(Form::Deed { also_noun: true, plain }) => {
                joined || (plain && at + 1 == words.len() && !looks && !MAKING.contains(words[0].as_str()))
            }
            Some(Form::Deed { plain, .. }) => !looks || plain || joined,
            Some(Form::Noun | Form::Past) => !looks,
            // `deleteuser`: nothing stands between the words.
            None => at == 0 && !looks && VERBS.iter().any(|verb| verb.len() > 5 && goes_on(word, verb)),
        }
    })
}

/// Whether a word is a verb with another word behind it, and not one who does it.
fn goes_on(word: &str, verb: &str) -> bool {
    word.strip_prefix(verb).is_some_and(|rest| rest.len() > 2 && !matches!(rest, "ers" | "ors" | "able"))
}

/// Whether a member's name is an order to lose something (`purge`, `deleteAfter`):
/// words that are a thing as often as a deed (`order`, `email`) are none.
pub(in crate::gate) fn is_order_to_destroy(key: &str) -> bool {
    let first = words_of_name(key).into_iter().next().unwrap_or_default();
    matches!(form(&first), Some(Form::Deed { also_noun: false, plain: true }))
}

/// The words of a name in any spelling, in lower case and without disguise.
fn words_of_name(name: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(name.len() + 8);
    let chars: Vec<char> = name.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let (before, after) = (at.checked_sub(1).and_then(|at| chars.get(at)), chars.get(at + 1));
        let starts = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if starts {
            spaced.push(' ');
        }
        spaced.push(c);
    }
    let plain = normalize(&spaced, false).text;
    plain.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a definition's annotations call the tool destructive. Anything but a
/// plain `false` under that name counts: nobody writes it who means no.
pub(in crate::gate) fn has_destructive_hint(definition: &Node) -> bool {
    let all = |node: &'_ Node, key: &str| -> Vec<Node> {
        node.members().iter().filter(|member| member.key == key).map(|member| member.value.clone()).collect()
    };
    all(definition, "annotations")
        .iter()
        .flat_map(|annotations| all(annotations, "destructiveHint"))
        .any(|hint| !matches!(hint.kind, Kind::Bool(false) | Kind::Null))
}

/// Whether a definition's title or description says so.
pub(in crate::gate) fn is_worded_destructive(definition: &Node) -> bool {
    let said = definition.members().iter().filter(|member| matches!(member.key.as_str(), "title" | "description"));
    let titles = definition.members().iter().filter(|member| member.key == "annotations");
    let titles = titles.flat_map(|member| member.value.members()).filter(|member| member.key == "title");
    said.chain(titles).filter_map(|member| member.value.as_str()).any(says_destructive)
}

/// How far into a description its own deeds are looked for; what follows is
/// about arguments and examples.
const SENTENCES: usize = 12;

fn says_destructive(text: &str) -> bool {
    let plain = normalize(text, false).text;
    plain
        .split(['.', '!', '?', '\n', ';', ':', '('])
        .filter(|part| !part.trim().is_empty())
        .take(SENTENCES)
        .any(sentence_says)
}

/// Words that may stand before the verb of a sentence that says what a tool does.
static BEFORE: Words = LazyLock::new(|| {
    words(
        "this tool the it a to and or then also can will may used use lets allows you users user function that which \
     by for safely first",
    )
});

/// Words that turn a sentence round.
static NOT: Words = LazyLock::new(|| words("not never without no cannot nothing don't doesn't won't can't instead"));

/// Whether a sentence's own verb, or one that is joined to it, is one of them.
fn sentence_says(sentence: &str) -> bool {
    let words: Vec<&str> =
        sentence.split(|c: char| !(c.is_alphabetic() || c == '\'')).filter(|word| !word.is_empty()).collect();
    // Still at the place of the verb: nothing but helpers so far.
    let mut at_verb = true;
    let mut denied = false;
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| words[at]).unwrap_or_default();
        denied = NOT.contains(*word) || (denied && !matches!(*word, "and" | "but" | "then"));
        let joined = matches!(before, "and" | "or" | "then" | "also" | "will" | "permanently" | "irreversibly");
        let passive = matches!(before, "be" | "gets" | "get" | "permanently" | "irreversibly");
        match form(word) {
            Some(Form::Deed { .. }) if !denied && (at_verb || joined) => return true,
            Some(Form::Past) if !denied && passive => return true,
            _ => {}
        }
        at_verb &= BEFORE.contains(*word) || word.ends_with("ly");
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::strict;

    #[test]
    fn names_of_any_spelling() {
        for name in [
            "delete_ticket",
            "deleteTicket",
            "DeleteTicket",
            "DELETE-TICKET",
            "ticket.delete",
            "ticket/remove",
            "HTTPDelete",
            "purge",
            "wipeDisk",
            "dropTable",
            "transfer_funds",
            "send-mail",
            "publishPost",
            "revokeKey",
            "bulk_delete",
            "search_and_delete",
            "deleteticket",
            "ticket_deletion",
            "rm",
            "sending",
            "d\u{200b}elete_ticket",
            "ｄｅｌｅｔｅ",
            "d\u{435}lete_ticket",
            "mark_deleted",
            "list_and_transfer",
            "get_purge",
            "shelf.drop",
            "unpublish",
            "deleting2",
        ] {
            assert!(is_named_destructive(name), "{name}");
        }
        for name in [
            "find_ticket",
            "list_deleted",
            "get_transfers",
            "get_transfer",
            "count_sent_messages",
            "list_posts",
            "get_post",
            "upsert_note",
            "read_removals",
            "update",
            "search_email",
            "add_comment",
            "format_code",
            "sender_name",
            "preview_deletion",
            "describe_drops",
            "create_ticket",
            "create_order",
            "draft_email",
            "dropdown_options",
            "publisher",
            "clearance",
            "",
        ] {
            assert!(!is_named_destructive(name), "{name}");
        }
    }

    #[test]
    fn descriptions_that_say_what_they_do() {
        for text in [
            "Deletes one ticket for good.",
            "Permanently removes a room and its messages.",
            "Finds old tickets and deletes them.",
            "This tool will wipe the disk.",
            "Tidies the archive. Everything older than a year will be erased.",
            "Use this to send a note to a department.",
            "Archives a ticket, then purges it.",
            "A tool that revokes a key",
        ] {
            assert!(says_destructive(text), "{text}");
        }
        for text in [
            "Shows the subject and the status of one ticket.",
            "Lists messages, those that were deleted included.",
            "Does not delete anything.",
            "Searches mail that you sent.",
            "Returns how many items a purge would affect.",
            "Never sends anything without being asked.",
            "Adds or changes a note; the same note twice is one note.",
            // Vague words that hide a loss: a known miss.
            "Tidies the archive.",
            "Processes the backlog; older entries are gone afterwards.",
        ] {
            assert!(!says_destructive(text), "{text}");
        }
    }

    #[test]
    fn hints_bind_and_never_free() {
        let node = |text: &str| strict::parse(text.as_bytes()).unwrap().root;
        for (hinted, text) in [
            (true, r#"{"annotations":{"destructiveHint":true}}"#),
            (true, r#"{"annotations":{"destructiveHint":"true","readOnlyHint":true}}"#),
            (true, r#"{"annotations":{"destructiveHint":true,"destructiveHint":false}}"#),
            (false, r#"{"annotations":{"destructiveHint":false}}"#),
            (false, r#"{"annotations":{"readOnlyHint":true}}"#),
            (false, r#"{"destructiveHint":true}"#),
        ] {
            assert_eq!(has_destructive_hint(&node(text)), hinted, "{text}");
        }
        assert!(is_worded_destructive(&node(r#"{"annotations":{"title":"Delete a page","readOnlyHint":true}}"#)));
    }
}
