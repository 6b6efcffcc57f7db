//! What the servers list, and the one list that the client sees.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    digest::Fingerprint,
    gate::ListingKind,
    protocol::{
        Id, METHOD_NOT_FOUND, Message, Splice, apply_splices,
        strict::{Kind, Node},
    },
};

/// How long a server may take for one page.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many pages a list may have, and how many bytes: more is taken for an
/// endless one.
const PAGES: usize = 1000;
const BYTES: usize = 16 << 20;

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// What its server calls it.
    own: String,
    /// What the client is shown it under.
    shown: String,
    /// What the client is shown.
    text: String,
}

/// A list that is being read.
#[derive(Debug)]
struct Fetch {
    leg: usize,
    id: Id,
    items: Vec<Item>,
    cursors: BTreeSet<String>,
    bytes: usize,
    due: Instant,
}

/// Everything of one kind.
#[derive(Debug)]
pub(super) struct Lists {
    kind: ListingKind,
    /// By server; `None` as long as nothing was read.
    items: Vec<Option<Vec<Item>>>,
    /// Which are to be read; one after the other, in their order, so that it is
    /// the same one each time that comes first.
    todo: BTreeSet<usize>,
    fetch: Option<Fetch>,
    /// The list that the client has got, or was told the change of.
    seen: Option<Fingerprint>,
    /// The client's requests for the list.
    pub(super) asked: Vec<Id>,
    /// The client's requests that the list says the way of.
    pub(super) parked: Vec<Message>,
}

/// What became of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// Another one follows, under this cursor as JSON.
    More(String),
    /// The list is read.
    Whole,
    /// It is none that can be read, and what was known before stays; says why.
    Unread(String),
}

impl Lists {
    pub(super) fn new(kind: ListingKind, legs: usize) -> Self {
        let items = vec![None; legs];
        Self { kind, items, todo: BTreeSet::new(), fetch: None, seen: None, asked: Vec::new(), parked: Vec::new() }
    }

    /// Whether something is still to be read.
    pub(super) fn is_busy(&self) -> bool {
        self.fetch.is_some() || !self.todo.is_empty()
    }

    /// The client may have seen this list.
    pub(super) fn is_known(&self) -> bool {
        self.items.iter().any(Option::is_some)
    }

    /// This server's list is to be read, again if need be.
    pub(super) fn read(&mut self, leg: usize) {
        self.todo.insert(leg);
    }

    /// Every list that was never read is to be.
    pub(super) fn read_unread(&mut self) {
        let unread = self.items.iter().enumerate().filter(|(_, items)| items.is_none());
        self.todo.extend(unread.map(|(leg, _)| leg));
    }

    /// The server whose list is to be read next, where none is being read.
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.fetch.is_some() { None } else { self.todo.pop_first() }
    }

    /// The list of a server is asked for, under this id.
    pub(super) fn begin(&mut self, leg: usize, id: Id) {
        let due = Instant::now() + PATIENCE;
        self.fetch = Some(Fetch { leg, id, items: Vec::new(), cursors: BTreeSet::new(), bytes: 0, due });
    }

    /// The next page is asked for under this id.
    pub(super) fn go_on(&mut self, id: Id) {
        if let Some(fetch) = &mut self.fetch {
            (fetch.id, fetch.due) = (id, Instant::now() + PATIENCE);
        }
    }

    /// When the page is due that is waited for.
    pub(super) fn due(&self) -> Option<Instant> {
        self.fetch.as_ref().map(|fetch| fetch.due)
    }

    /// Whether a reply of a server is the page that is waited for.
    pub(super) fn awaits(&self, leg: usize, id: &Id) -> bool {
        self.fetch.as_ref().is_some_and(|fetch| fetch.leg == leg && fetch.id == *id)
    }

    /// A server has nothing of this kind (any more).
    pub(super) fn none_of(&mut self, leg: usize) {
        self.todo.remove(&leg);
        self.fetch.take_if(|fetch| fetch.leg == leg);
        self.items[leg] = Some(Vec::new());
    }

    /// The list that is being read won't come; what was known before stays. Gives
    /// whose it was.
    pub(super) fn give_up(&mut self) -> Option<usize> {
        let leg = self.fetch.take()?.leg;
        self.items[leg].get_or_insert_default();
        Some(leg)
    }

    /// The page that was waited for.
    pub(super) fn page(&mut self, reply: &Message, renames: &BTreeMap<String, String>) -> Turned {
        let Some(mut fetch) = self.fetch.take() else { return Turned::Whole };
        let result = reply.result();
        let array = result.and_then(|result| result.member(self.kind.member()));
        let Some(array) = array.filter(|node| matches!(node.kind, Kind::Array(_))) else {
            self.items[fetch.leg].get_or_insert_default();
            let code = reply.error().and_then(|error| error.member("code")).and_then(Node::as_number);
            // A server that was not asked what it offers says so when it is asked for it.
            if code == Some(METHOD_NOT_FOUND.to_string().as_str()) {
                return Turned::Whole;
            }
            let said = reply.error().and_then(|error| error.member("message")).and_then(Node::as_str);
            return Turned::Unread(said.unwrap_or("the answer holds no list").to_owned());
        };
        for node in array.items() {
            // What has no name can't be asked for either.
            let Some((name, own)) = node.member(self.kind.key()).and_then(|name| Some((name, name.as_str()?))) else {
                continue;
            };
            let mut text = String::from_utf8_lossy(&reply.raw()[node.span.clone()]).into_owned();
            let shown = renames.get(own).filter(|_| self.kind == ListingKind::Tools);
            if let Some(shown) = shown {
                let span = name.span.start - node.span.start..name.span.end - node.span.start;
                let with = serde_json::Value::from(shown.as_str()).to_string();
                let renamed = apply_splices(text.as_bytes(), &[Splice { span, with }]);
                text = String::from_utf8_lossy(&renamed).into_owned();
            }
            fetch.bytes += text.len();
            fetch.items.push(Item { own: own.to_owned(), shown: shown.map_or(own, String::as_str).to_owned(), text });
        }
        let cursor = result.and_then(|result| result.member("nextCursor")).and_then(Node::as_str);
        let Some(cursor) = cursor else {
            self.items[fetch.leg] = Some(fetch.items);
            return Turned::Whole;
        };
        if fetch.cursors.len() >= PAGES || fetch.bytes > BYTES || !fetch.cursors.insert(cursor.to_owned()) {
            self.items[fetch.leg].get_or_insert_default();
            return Turned::Unread("it does not end".to_owned());
        }
        let cursor = serde_json::Value::from(cursor).to_string();
        self.fetch = Some(fetch);
        Turned::More(cursor)
    }

    /// Every definition that the client sees, with its server: of those that have
    /// one name, the first.
    fn shown(&self) -> impl Iterator<Item = (usize, &Item)> {
        let mut seen = BTreeSet::new();
        let all =
            self.items.iter().enumerate().flat_map(|(leg, items)| items.iter().flatten().map(move |item| (leg, item)));
        all.filter(move |(_, item)| seen.insert(item.shown.as_str()))
    }

    /// The names that a server lists and another one has, with that one.
    pub(super) fn taken(&self) -> Vec<(usize, &str, usize)> {
        let owners: BTreeMap<_, _> = self.shown().map(|(leg, item)| (item.shown.as_str(), leg)).collect();
        let all =
            self.items.iter().enumerate().flat_map(|(leg, items)| items.iter().flatten().map(move |item| (leg, item)));
        all.filter_map(|(leg, item)| {
            let owner = *owners.get(item.shown.as_str())?;
            (owner != leg).then_some((leg, item.shown.as_str(), owner))
        })
        .collect()
    }

    /// The server that a name belongs to, and what that calls it.
    pub(super) fn find(&self, shown: &str) -> Option<(usize, &str)> {
        self.shown().find(|(_, item)| item.shown == shown).map(|(leg, item)| (leg, item.own.as_str()))
    }

    /// The server whose templates make this URI: the one of the longest text that
    /// stands before the first `{`, where that is one server's alone.
    pub(super) fn by_template(&self, uri: &str) -> Option<usize> {
        let matching = self.shown().filter_map(|(leg, item)| {
            let fixed = item.own.split('{').next().unwrap_or_default();
            (!fixed.is_empty() && uri.starts_with(fixed)).then_some((fixed.len(), leg))
        });
        let matching: Vec<_> = matching.collect();
        let longest = matching.iter().map(|(length, _)| *length).max()?;
        let legs: BTreeSet<_> = matching.iter().filter(|(length, _)| *length == longest).map(|(_, leg)| *leg).collect();
        legs.first().filter(|_| legs.len() == 1).copied()
    }

    /// The list, as it is answered, with `more` members; and as it counts as seen
    /// from now on.
    pub(super) fn answer(&mut self, id: &Id, more: &str) -> String {
        let texts: Vec<_> = self.shown().map(|(_, item)| item.text.as_str()).collect();
        let list = texts.join(",");
        self.seen = Some(Fingerprint::of(list.as_bytes()));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"{}":[{list}]{more}}}}}"#, self.kind.member())
    }

    /// Whether what the client saw is not what it would see now. It is told once.
    pub(super) fn has_changed(&mut self) -> bool {
        let texts: Vec<_> = self.shown().map(|(_, item)| item.text.as_str()).collect();
        let now = Fingerprint::of(texts.join(",").as_bytes());
        self.seen.as_mut().is_some_and(|seen| std::mem::replace(seen, now) != now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lists: &mut Lists, leg: usize, items: &str, renames: &[(&str, &str)]) -> Turned {
        lists.read(leg);
        assert_eq!(lists.next(), Some(leg));
        lists.begin(leg, Id::from(1));
        assert!(lists.awaits(leg, &Id::from(1)) && !lists.awaits(leg + 1, &Id::from(1)));
        let renames = renames.iter().map(|(own, shown)| ((*own).to_owned(), (*shown).to_owned())).collect();
        lists.page(&Message::new(format!(r#"{{"id":1,"result":{items}}}"#)), &renames)
    }

    #[test]
    fn names_are_looked_up_and_never_split() {
        let mut lists = Lists::new(ListingKind::Tools, 2);
        read(&mut lists, 0, r#"{"tools":[{"name":"_thing","title":"A"},{"name":"evil"}]}"#, &[]);
        let listed = r#"{"tools":[ {"title":"B", "name" : "evil"},{"name":"evil__thing"},{"x":1}]}"#;
        assert_eq!(read(&mut lists, 1, listed, &[("evil__thing", "other")]), Turned::Whole);
        assert_eq!(lists.find("evil"), Some((0, "evil")));
        assert_eq!((lists.find("evil__thing"), lists.find("other")), (None, Some((1, "evil__thing"))));
        assert_eq!(lists.taken(), [(1, "evil", 0)]);
        let answer = lists.answer(&Id::String("a".to_owned()), "");
        assert!(
            answer.ends_with(
                r#""id":"a","result":{"tools":[{"name":"_thing","title":"A"},{"name":"evil"},{"name":"other"}]}}"#
            ),
            "{answer}"
        );
        assert!(!lists.has_changed());
        // Where the first one goes, the name is the other's.
        lists.none_of(0);
        assert!(lists.has_changed() && !lists.has_changed());
        assert_eq!(lists.find("evil"), Some((1, "evil")));
    }

    #[test]
    fn lists_end() {
        let mut lists = Lists::new(ListingKind::Resources, 1);
        let page = r#"{"resources":[{"uri":"a:1"}],"nextCursor":""}"#;
        assert_eq!(read(&mut lists, 0, page, &[]), Turned::More("\"\"".to_owned()));
        lists.go_on(Id::from(2));
        let again = Message::new(format!(r#"{{"id":2,"result":{page}}}"#));
        assert!(matches!(lists.page(&again, &BTreeMap::new()), Turned::Unread(why) if why.contains("does not end")));
        assert!(matches!(read(&mut lists, 0, "{}", &[]), Turned::Unread(_)));
        assert!(!lists.is_busy() && lists.is_known());
        lists.read(0);
        lists.next();
        lists.begin(0, Id::from(3));
        assert_eq!(lists.give_up(), Some(0));
    }

    #[test]
    fn a_template_speaks_for_what_begins_like_it() {
        let mut lists = Lists::new(ListingKind::Templates, 2);
        read(&mut lists, 0, r#"{"resourceTemplates":[{"uriTemplate":"desk://{id}"},{"uriTemplate":"{x}"}]}"#, &[]);
        read(&mut lists, 1, r#"{"resourceTemplates":[{"uriTemplate":"desk://old/{id}"}]}"#, &[]);
        let found = ["desk://1", "desk://old/1", "other://1"].map(|uri| lists.by_template(uri));
        assert_eq!(found, [Some(0), Some(1), None]);
    }
}
