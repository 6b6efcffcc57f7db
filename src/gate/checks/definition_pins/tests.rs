//! What the check stops and spares.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::gate::{
    Change, CheckId, CheckSet, Delegations, Guarded, Loaded, Owner, PinStore, Reach, SessionPins, StoreError,
    testing::{self, Driver},
};

const CHECK: &str = "definition-pins";
const FIRST: &str = "[servers.board]\npins = \"first-use\"\n";
const APPROVED: &str = "[servers.board]\npins = \"approved\"\n";
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

fn tool(name: &str, extra: &str) -> String {
    format!(r#"{{"name":"{name}","description":"D.","inputSchema":{{"type":"object"}}{extra}}}"#)
}

#[test]
fn order_and_spelling_are_no_drift() {
    let mut gate = Driver::only(CHECK, FIRST);
    gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
    let same = r#"{ "inputSchema":{"type":"object"},"description":"\u0044.","name":"a" }"#;
    gate.list(&format!("[{},{same}]", tool("b", ""))).passes();
    gate.call("a", "{}").passes();
    gate.call("never_listed", "{}").refuses("not-approved");
}

#[test]
fn before_any_listing_there_is_nothing_to_hold_a_call_to() {
    Driver::only(CHECK, FIRST).call("a", "{}").passes();
    Driver::only(CHECK, APPROVED).call("a", "{}").refuses("not-approved");
}

#[test]
fn any_field_that_changes_is_withheld_and_not_callable() {
    for extra in [
        r#","_meta":{"x":1}"#,
        r#","title":"T""#,
        r#","outputSchema":{}"#,
        r#","annotations":{"destructiveHint":false}"#,
        r#","name":"a","anything":null"#,
    ] {
        let mut gate = Driver::only(CHECK, FIRST);
        gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
        let listed = gate.list(&format!("[{},{},{}]", tool("a", extra), tool("b", ""), tool("c", "")));
        assert_eq!(listed.names(), ["b"], "{extra}");
        assert!(listed.withheld("drifted") && listed.withheld("not-approved"));
        gate.call("a", "{}").refuses("drifted");
        gate.call("c", "{}").refuses("not-approved");
        gate.call("b", "{}").passes();
        gate.approve();
        gate.list(&format!("[{},{},{}]", tool("a", extra), tool("b", ""), tool("c", ""))).passes();
        gate.call("a", "{}").passes();
    }
}

#[test]
fn two_definitions_under_one_name_are_neither_shown_nor_approved() {
    let mut gate = Driver::only(CHECK, FIRST);
    let both = format!("[{},{},{}]", tool("a", ""), tool("b", ""), tool("a", r#","title":"T""#));
    let listed = gate.list(&both);
    assert_eq!(listed.names(), ["b"]);
    assert!(listed.withheld("listed-twice"));
    gate.call("a", "{}").refuses("listed-twice");
    gate.approve();
    assert_eq!(gate.list(&both).names(), ["b"]);
    gate.list(&format!("[{},{}]", tool("b", ""), tool("b", ""))).passes();
    gate.call("b", "{}").passes();
}

#[test]
fn a_second_definition_on_a_later_page_ends_the_first_one_too() {
    let mut gate = Driver::only(CHECK, FIRST);
    gate.exchange("tools/list", "{}", &format!(r#"{{"tools":[{}],"nextCursor":"2"}}"#, tool("a", ""))).passes();
    let page = format!(r#"{{"tools":[{}]}}"#, tool("a", r#","title":"T""#));
    assert!(gate.exchange("tools/list", r#"{"cursor":"2"}"#, &page).withheld("listed-twice"));
    gate.call("a", "{}").refuses("listed-twice");
    gate.list(&format!("[{}]", tool("a", ""))).passes();
    gate.call("a", "{}").passes();
}

#[test]
fn after_list_changed_the_list_is_read_first() {
    let mut gate = Driver::only(CHECK, FIRST);
    gate.list(&format!("[{}]", tool("a", ""))).passes();
    gate.tell(CHANGED).passes();
    gate.call("a", "{}").refuses("stale-list");
    gate.approve();
    gate.call("a", "{}").refuses("stale-list");
    gate.list(&format!("[{}]", tool("a", ""))).passes();
    gate.call("a", "{}").passes();
}

#[test]
fn pages_make_one_first_listing() {
    let mut gate = Driver::only(CHECK, FIRST);
    gate.exchange("tools/list", "{}", &format!(r#"{{"tools":[{}],"nextCursor":"2"}}"#, tool("a", ""))).passes();
    gate.exchange("tools/list", r#"{"cursor":"2"}"#, &format!(r#"{{"tools":[{}]}}"#, tool("b", ""))).passes();
    gate.call("b", "{}").passes();
    let later = gate.exchange("tools/list", r#"{"cursor":"2"}"#, &format!(r#"{{"tools":[{}]}}"#, tool("c", "")));
    assert!(later.withheld("not-approved"));
    gate.call("b", "{}").passes();
}

#[test]
fn a_first_listing_that_is_begun_anew_is_over() {
    let mut gate = Driver::only(CHECK, FIRST);
    let page = |name: &str| format!(r#"{{"tools":[{}],"nextCursor":"more"}}"#, tool(name, ""));
    gate.exchange("tools/list", "{}", &page("a")).passes();
    assert!(gate.exchange("tools/list", r#"{"cursor":null}"#, &page("b")).withheld("not-approved"));
    assert!(gate.exchange("tools/list", r#"{"cursor":"more"}"#, &page("c")).withheld("not-approved"));
    gate.call("a", "{}").passes();
}

#[test]
fn only_what_was_read_again_is_called_after_a_change() {
    let mut gate = Driver::only(CHECK, FIRST);
    let first = format!(r#"{{"tools":[{}],"nextCursor":"2"}}"#, tool("a", ""));
    let second = format!(r#"{{"tools":[{}]}}"#, tool("b", ""));
    gate.exchange("tools/list", "{}", &first).passes();
    gate.exchange("tools/list", r#"{"cursor":"2"}"#, &second).passes();
    gate.tell(CHANGED).passes();
    gate.exchange("tools/list", r#"{"cursor":"2"}"#, &second).passes();
    gate.call("a", "{}").refuses("stale-list");
    gate.exchange("tools/list", "{}", &first).passes();
    gate.call("a", "{}").passes();
    gate.call("b", "{}").refuses("stale-list");
    // A change in the middle of a listing counts for its first pages too.
    gate.tell(CHANGED).passes();
    gate.exchange("tools/list", r#"{"cursor":"2"}"#, &second).passes();
    gate.call("a", "{}").refuses("stale-list");
    gate.exchange("tools/list", "{}", &first).passes();
    gate.exchange("tools/list", r#"{"cursor":"2"}"#, &second).passes();
    gate.call("b", "{}").passes();
}

#[test]
fn what_is_not_listed_any_more_is_not_called() {
    let mut gate = Driver::only(CHECK, FIRST);
    gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
    gate.list(&format!("[{}]", tool("a", ""))).passes();
    gate.call("b", "{}").refuses("not-listed");
    gate.approve();
    gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
    gate.call("b", "{}").passes();
}

#[test]
fn a_call_that_names_nothing_is_refused() {
    let mut gate = Driver::only(CHECK, FIRST);
    for params in ["{}", r#"{"name":["a"]}"#, "[]"] {
        gate.req("tools/call", params).refuses("unnamed");
        gate.req("prompts/get", params).refuses("unnamed");
    }
}

#[test]
fn nothing_is_approved_before_the_host_says_so() {
    let mut gate = Driver::only(CHECK, APPROVED);
    let tools = format!("[{}]", tool("a", ""));
    assert!(gate.list(&tools).withheld("not-approved"));
    gate.call("a", "{}").refuses("not-approved");
    gate.call("never_listed", "{}").refuses("not-approved");
    gate.approve();
    gate.list(&tools).passes();
    gate.call("a", "{}").passes();
}

#[test]
fn prompts_and_resources_drift_too() {
    for (list, member, key, get, value) in [
        ("prompts/list", "prompts", "name", "prompts/get", "greet"),
        ("resources/list", "resources", "uri", "resources/read", "note:1"),
    ] {
        let mut gate = Driver::only(CHECK, FIRST);
        let result = |text: &str| format!(r#"{{"{member}":[{{"{key}":"{value}","description":"{text}"}}]}}"#);
        gate.exchange(list, "{}", &result("One.")).passes();
        gate.req(get, &format!(r#"{{"{key}":"{value}"}}"#)).passes();
        assert!(gate.exchange(list, "{}", &result("Two.")).withheld("drifted"));
        gate.req(get, &format!(r#"{{"{key}":"{value}"}}"#)).refuses("drifted");
    }
}

#[test]
fn an_address_in_another_spelling_is_the_same_resource() {
    let mut gate = Driver::only(CHECK, FIRST);
    let list = |text: &str| format!(r#"{{"resources":[{{"uri":"note://desk/one","description":"{text}"}}]}}"#);
    gate.exchange("resources/list", "{}", &list("One.")).passes();
    gate.exchange("resources/list", "{}", &list("Two."));
    for uri in ["note://desk/one", "NOTE://desk/one", "note://Desk/%6fne", "note://desk/one#top"] {
        gate.req("resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).refuses("drifted");
        gate.req("resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#)).refuses("drifted");
    }
    gate.req("resources/read", r#"{"uri":"note://desk/two"}"#).passes();
}

#[test]
fn what_a_changed_template_makes_is_not_read() {
    let mut gate = Driver::only(CHECK, FIRST);
    let list = |text: &str, more: &str| {
        format!(r#"{{"resourceTemplates":[{{"uriTemplate":"log://{{day}}/{{line}}","name":"{text}"}}{more}]}}"#)
    };
    let read = r#"{"uri":"log://today/7"}"#;
    let complete = r#"{"ref":{"type":"ref/resource","uri":"log://{day}/{line}"},"argument":{}}"#;
    gate.exchange("resources/templates/list", "{}", &list("one", "")).passes();
    gate.req("resources/read", read).passes();
    gate.req("completion/complete", complete).passes();
    assert!(gate.exchange("resources/templates/list", "{}", &list("two", "")).withheld("drifted"));
    gate.req("resources/read", read).refuses("drifted");
    gate.req("completion/complete", complete).refuses("drifted");
    gate.req("resources/read", r#"{"uri":"other://today/7"}"#).passes();
    let added = r#",{"uriTemplate":"logs:{name}"}"#;
    assert!(gate.exchange("resources/templates/list", "{}", &list("one", added)).withheld("not-approved"));
    gate.req("resources/read", read).passes();
    gate.req("resources/read", r#"{"uri":"logs:x"}"#).refuses("not-approved");
}

#[test]
fn completions_of_a_changed_prompt_are_refused() {
    let mut gate = Driver::only(CHECK, FIRST);
    let complete = r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{}}"#;
    gate.exchange("prompts/list", "{}", r#"{"prompts":[{"name":"greet"}]}"#).passes();
    gate.req("completion/complete", complete).passes();
    gate.exchange("prompts/list", "{}", r#"{"prompts":[{"name":"greet","title":"T"}]}"#);
    gate.req("completion/complete", complete).refuses("drifted");
}

const ONE: &str = r#"{"messages":[{"role":"user","content":{"type":"text","text":"One."}}]}"#;
const TWO: &str = r#"{"messages":[{"role":"user","content":{"type":"text","text":"Two."}}]}"#;

#[test]
fn messages_are_those_that_came_first_until_the_host_approves_others() {
    for mode in [FIRST, APPROVED] {
        let mut gate = Driver::only(CHECK, mode);
        gate.exchange("prompts/list", "{}", r#"{"prompts":[{"name":"greet"}]}"#);
        gate.approve();
        for params in [r#"{"name":"greet"}"#, r#"{"name":"greet","arguments":{}}"#] {
            gate.exchange("prompts/get", params, ONE).passes();
            gate.exchange("prompts/get", params, TWO).refuses("messages-drifted");
        }
        gate.approve();
        gate.exchange("prompts/get", r#"{"name":"greet"}"#, TWO).passes();
        gate.exchange("prompts/get", r#"{"name":"greet"}"#, ONE).refuses("messages-drifted");
    }
}

#[test]
fn the_policy_says_which_messages_are_pinned() {
    let (one, other) = (r#"{"name":"greet","arguments":{"to":"a"}}"#, r#"{"name":"greet","arguments":{"to":"b"}}"#);
    let mut gate = Driver::only(CHECK, FIRST);
    gate.exchange("prompts/get", one, ONE).passes();
    gate.exchange("prompts/get", one, TWO).passes();
    let mut gate = Driver::only(CHECK, &format!("{FIRST}pin_prompt_messages = \"none\"\n"));
    gate.exchange("prompts/get", r#"{"name":"greet"}"#, ONE).passes();
    gate.exchange("prompts/get", r#"{"name":"greet"}"#, TWO).passes();
    let mut gate = Driver::only(CHECK, &format!("{FIRST}pin_prompt_messages = \"by-arguments\"\n"));
    gate.exchange("prompts/get", one, ONE).passes();
    gate.exchange("prompts/get", other, TWO).passes();
    gate.exchange("prompts/get", one, TWO).refuses("messages-drifted");
}

#[test]
fn instructions_are_pinned_over_a_reconnect() {
    let mut gate = Driver::only(CHECK, FIRST);
    let hello = |text: &str| format!(r#"{{"capabilities":{{}},"instructions":{text}}}"#);
    gate.exchange("initialize", "{}", &hello(r#""Use it well.""#)).passes();
    gate.open(Reach::Memory, &[]);
    gate.exchange("initialize", "{}", &hello(r#""Use it well.""#)).passes();
    gate.exchange("initialize", "{}", r#"{"capabilities":{}}"#).passes();
    for other in [r#""CANARY""#, r#"["CANARY"]"#, r#""Use it well.","instructions":"CANARY""#, r#"{"x":"CANARY"}"#] {
        let body = gate.exchange("initialize", "{}", &hello(other)).body();
        assert!(body.contains(r#""instructions":"""#) && !body.contains("CANARY"), "{body}");
    }
}

#[test]
fn instructions_that_come_later_were_never_approved() {
    let mut gate = Driver::only(CHECK, FIRST);
    gate.exchange("initialize", "{}", r#"{"capabilities":{}}"#).passes();
    let body = gate.exchange("initialize", "{}", r#"{"instructions":"CANARY"}"#).body();
    assert!(!body.contains("CANARY"));
    gate.approve();
    gate.exchange("initialize", "{}", r#"{"instructions":"CANARY"}"#).passes();
}

/// A gate in front of `board` with this store.
fn stored(settings: &str, store: &Arc<dyn PinStore>) -> Driver {
    let only = CheckSet::none().with(CheckId::parse(CHECK).unwrap(), true);
    let gate = Guarded::new(testing::rules(settings).with_checks(only), Delegations::new());
    let mut gate = Driver::of(gate.with_store(Arc::clone(store)));
    gate.open(Reach::Argv(vec!["board-server".to_owned()]), &[]);
    gate
}

#[test]
fn the_first_use_after_a_restart_is_no_first_use() {
    let store: Arc<dyn PinStore> = Arc::new(SessionPins::default());
    let mut gate = stored(FIRST, &store);
    gate.exchange("initialize", "{}", r#"{"instructions":"Hi."}"#).passes();
    gate.list(&format!("[{},{}]", tool("a", ""), tool("b", ""))).passes();
    gate.exchange("prompts/list", "{}", r#"{"prompts":[]}"#).passes();
    let mut gate = stored(FIRST, &store);
    assert!(!gate.exchange("initialize", "{}", r#"{"instructions":"CANARY"}"#).body().contains("CANARY"));
    gate.call("a", "{}").refuses("stale-list");
    let listed = gate.list(&format!("[{},{},{}]", tool("a", r#","x":1"#), tool("b", ""), tool("c", "")));
    assert_eq!(listed.names(), ["b"]);
    gate.call("a", "{}").refuses("drifted");
    gate.call("b", "{}").passes();
    let prompts = gate.exchange("prompts/list", "{}", r#"{"prompts":[{"name":"late"}]}"#);
    assert!(prompts.withheld("not-approved"));
    gate.approve();
    stored(FIRST, &store).exchange("initialize", "{}", r#"{"instructions":"CANARY"}"#).passes();
}

#[test]
fn an_approval_of_one_list_keeps_those_of_others() {
    let store: Arc<dyn PinStore> = Arc::new(SessionPins::default());
    let mut gate = stored(APPROVED, &store);
    gate.list(&format!("[{}]", tool("a", "")));
    gate.exchange("prompts/list", "{}", r#"{"prompts":[{"name":"greet"}]}"#);
    gate.approve();
    let mut gate = stored(APPROVED, &store);
    gate.list(&format!("[{}]", tool("b", "")));
    gate.approve();
    gate.list(&format!("[{},{}]", tool("b", ""), tool("a", ""))).passes();
    gate.exchange("prompts/list", "{}", r#"{"prompts":[{"name":"greet"}]}"#).passes();
}

#[test]
fn another_command_under_the_same_name_has_no_approvals_and_no_first_use() {
    let store: Arc<dyn PinStore> = Arc::new(SessionPins::default());
    stored(FIRST, &store).list(&format!("[{}]", tool("a", ""))).passes();
    let mut gate = stored(FIRST, &store);
    gate.open(Reach::Argv(vec!["board".to_owned(), "server".to_owned()]), &[]);
    assert!(!gate.exchange("initialize", "{}", r#"{"instructions":"CANARY"}"#).body().contains("CANARY"));
    gate.call("a", "{}").refuses("reach-changed");
    assert!(gate.list(&format!("[{}]", tool("a", ""))).withheld("reach-changed"));
    gate.call("a", "{}").refuses("reach-changed");
    gate.exchange("prompts/get", r#"{"name":"greet"}"#, ONE).refuses("reach-changed");
    gate.approve();
    gate.list(&format!("[{}]", tool("a", ""))).passes();
    gate.call("a", "{}").passes();
    // The first one keeps what it had.
    stored(FIRST, &store).list(&format!("[{}]", tool("a", ""))).passes();
}

/// A store that fails from some call on.
#[derive(Debug, Default)]
struct Failing {
    inner: SessionPins,
    left: AtomicUsize,
}

impl Failing {
    fn may(&self) -> Result<(), StoreError> {
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            let what = "no space is left".to_owned();
            return Err(StoreError { what, place: "/secret/place".to_owned(), next: "make room".to_owned() });
        }
        self.left.store(left - 1, Ordering::SeqCst);
        Ok(())
    }
}

impl PinStore for Failing {
    fn load(&self, owner: &Owner) -> Result<Loaded, StoreError> {
        self.may().and_then(|()| self.inner.load(owner))
    }

    fn save(&self, owner: &Owner, change: &Change) -> Result<Loaded, StoreError> {
        self.may().and_then(|()| self.inner.save(owner, change))
    }
}

#[test]
fn without_its_store_a_server_is_neither_shown_nor_called() {
    for mode in [FIRST, APPROVED] {
        let store: Arc<dyn PinStore> = Arc::new(Failing::default());
        let mut gate = stored(mode, &store);
        let body = gate.exchange("initialize", "{}", r#"{"instructions":"CANARY"}"#).body();
        assert!(!body.contains("CANARY"));
        for (method, params) in [
            ("tools/list", "{}"),
            ("prompts/list", "{}"),
            ("resources/list", "{}"),
            ("resources/templates/list", "{}"),
            ("tools/call", r#"{"name":"a"}"#),
            ("prompts/get", r#"{"name":"a"}"#),
            ("resources/read", r#"{"uri":"a:b"}"#),
        ] {
            let answer = gate.req(method, params).refuses("store-unusable");
            answer.says("no space is left").never_says("/secret/place");
        }
        gate.req("ping", "{}").passes();
        gate.approve();
        gate.call("a", "{}").refuses("store-unusable");
    }
}

#[test]
fn a_pin_counts_only_once_it_is_kept() {
    let store: Arc<dyn PinStore> = Arc::new(Failing { left: 1.into(), ..Failing::default() });
    let mut gate = stored(FIRST, &store);
    gate.list(&format!("[{}]", tool("a", ""))).refuses("store-unusable");
    gate.call("a", "{}").refuses("store-unusable");
    let store: Arc<dyn PinStore> = Arc::new(Failing { left: 2.into(), ..Failing::default() });
    let mut gate = stored(FIRST, &store);
    gate.list(&format!("[{}]", tool("a", ""))).passes();
    gate.exchange("prompts/get", r#"{"name":"greet"}"#, ONE).refuses("store-unusable");
    gate.call("a", "{}").refuses("store-unusable");
}
