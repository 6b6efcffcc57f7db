use crate::gate::{Decision, Reach, Rewrite, testing::Driver};

const POLICY: &str = r#"
[servers.board.identity]
mode = "delegated"
env = "BOARD_TOKEN"
"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const CHECK: &str = "delegated-identity";

fn argv() -> Reach {
    Reach::Argv(vec!["board".into()])
}

fn headers(gate: &mut Driver, text: &str, sent: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    match gate.ask_with(text, sent).ruling.decision {
        Decision::Forward => Vec::new(),
        Decision::Rewrite(Rewrite { headers, .. }) => headers,
        Decision::Refuse { .. } | Decision::Each => panic!("refused"),
    }
}

#[test]
fn a_launched_server_gets_the_delegated_token_and_keeps_the_rest() {
    let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
    let rewrite = gate.open(argv(), &[("BOARD_TOKEN", "service"), ("PATH", "/bin")]);
    assert_eq!(rewrite.env, [("BOARD_TOKEN".to_owned(), Some("made-up-token".to_owned()))]);
    gate.ask(CALL).passes();
}

#[test]
fn without_a_delegation_nothing_runs_under_the_servers_account() {
    let mut gate = Driver::only(CHECK, POLICY);
    let rewrite = gate.open(argv(), &[("BOARD_TOKEN", "service")]);
    assert_eq!(rewrite.env, [("BOARD_TOKEN".to_owned(), None)]);
    gate.ask(LIST).passes();
    gate.ask(CALL).refuses("no-delegation").answers("1").never_says("service");
    gate.req("resources/read", r#"{"uri":"x:y"}"#).refuses("no-delegation");
    gate.req("prompts/get", r#"{"name":"x"}"#).refuses("no-delegation");
}

#[test]
fn a_token_that_cannot_be_handed_over_is_no_delegation() {
    let mut gate = Driver::with_token(CHECK, "[servers.board.identity]\nmode = \"delegated\"\n", "made-up-token");
    gate.open(argv(), &[]);
    gate.ask(CALL).refuses("no-delegation");
}

#[test]
fn the_clients_token_is_never_passed_on() {
    let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
    gate.open(Reach::Url("https://board.example/mcp".into()), &[]);
    let set = [("authorization".to_owned(), Some("Bearer made-up-token".to_owned()))];
    assert_eq!(headers(&mut gate, CALL, &[("authorization", "Bearer client")]), set);
    assert_eq!(headers(&mut gate, LIST, &[]), set);
    let twice = [("authorization", "Bearer made-up-token"), ("authorization", "Bearer client")];
    assert_eq!(headers(&mut gate, LIST, &twice), set);
    assert_eq!(headers(&mut gate, LIST, &[("authorization", "Bearer made-up-token")]), []);
    let mut gate = Driver::only(CHECK, POLICY);
    let stripped = headers(&mut gate, LIST, &[("authorization", "Bearer client")]);
    assert_eq!(stripped, [("authorization".to_owned(), None)]);
}

#[test]
fn nothing_prints_a_token() {
    let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
    let ruling = gate.ask_with(LIST, &[("authorization", "Bearer client")]).ruling;
    assert!(!format!("{:?}", ruling.findings).contains("made-up"));
    assert!(!format!("{gate:?}").contains("made-up"));
}

#[test]
fn other_servers_are_left_alone() {
    let mut gate = Driver::only(CHECK, "");
    assert_eq!(headers(&mut gate, CALL, &[("authorization", "Bearer client")]), []);
}

const HERE: &str = "https://board.example/mcp";

fn web(policy: &str, token: &str) -> Driver {
    let mut gate = Driver::with_token(CHECK, policy, token);
    gate.open(Reach::Url(HERE.into()), &[]);
    gate
}

fn identity(more: &str) -> String {
    format!("[servers.board.identity]\nmode = \"delegated\"\n{more}\n")
}

#[test]
fn credentials_in_other_places_go_no_further() {
    let mut gate = web(&identity("keep = [\"x-api-key\"]"), "made-up-token");
    let auth = ("authorization", "Bearer made-up-token");
    for name in ["cookie", "proxy-authorization", "x-auth-token", "x-vendor-api-key", "x-amz-security-token"] {
        let sent = [auth, (name, "CANARY"), (name, "twice")];
        assert_eq!(headers(&mut gate, LIST, &sent), [(name.to_owned(), None)]);
    }
    for name in ["x-api-key", "x-desk-trace", "mcp-session-id", "mcp-protocol-version", "accept", "x-token-budget"] {
        assert_eq!(headers(&mut gate, LIST, &[auth, (name, "kept")]), []);
    }
    let meta = |meta: &str| format!(r#"{{"name":"a","_meta":{{{meta}}}}}"#);
    for name in ["authorization", "access_token", "example.org/apiKey", "Bearer-Token"] {
        let body = gate.req("tools/call", &meta(&format!(r#""{name}":"CANARY","progressToken":"t""#))).body();
        assert!(body.contains(&format!(r#""{name}":null,"progressToken":"t""#)), "{body}");
    }
    gate.req("tools/call", &meta(r#""progressToken":"t","example.org/trace":"token""#)).passes();
}

#[test]
fn the_clients_token_is_not_told_in_the_body() {
    let mut gate = web(&identity(""), "made-up-token");
    let call = |text: &str| CALL.replace("\"a\"", &format!(r#""a","arguments":{{"x":"{text}"}}"#));
    let sent = [("authorization", "Bearer client-token-1")];
    gate.ask_with(&call("it is client-token-1"), &sent).refuses("token-in-body").never_says("client-token");
    gate.ask_with(&call("clien\\u0074-token-1").replace("\"id\":1", "\"id\":2"), &sent).refuses("token-in-body");
    assert_eq!(headers(&mut gate, &call("client").replace("\"id\":1", "\"id\":3"), &sent).len(), 1);
}

#[test]
fn a_token_is_for_its_audience_alone() {
    for (audience, reach, fits) in [
        (HERE, HERE, true),
        ("https://BOARD.example:443", HERE, true),
        ("https://board.example:8443", HERE, false),
        ("http://board.example", HERE, false),
        ("https://example", HERE, false),
        ("http://127.0.0.1/mcp", "http://127.0.0.1:4711/mcp", true),
        ("http://127.0.0.1/mcp", "http://127.0.0.2:4711/mcp", false),
        ("http://localhost/", "http://localhost:4711/mcp", false),
    ] {
        let mut gate = Driver::with_token(CHECK, &identity(&format!("audience = \"{audience}\"")), "made-up-token");
        gate.open(Reach::Url(reach.into()), &[]);
        let sent = [("authorization", "Bearer made-up-token")];
        if fits {
            assert_eq!(headers(&mut gate, CALL, &sent), [], "{audience}");
        } else {
            assert_eq!(headers(&mut gate, LIST, &sent), [("authorization".to_owned(), None)], "{audience}");
            gate.ask_with(CALL, &sent).refuses("foreign-audience").never_says("made-up");
        }
    }
    let mut gate = web(&identity(&format!("audience = \"{HERE}\"")), "made-up-token");
    gate.hop(HERE, "https://board.example/v2", None).passes();
    gate.hop(HERE, "https://elsewhere.example/mcp", None).refuses("foreign-audience");
    gate.hop(HERE, "not an address", None).refuses("foreign-audience");
}

#[test]
fn an_address_holds_no_credential() {
    let opened = |address: &str| {
        let mut gate = Driver::with_token(CHECK, &identity(""), "made-up-token");
        gate.opening(Reach::Url(address.into()), &[], crate::gate::Layer::User)
    };
    opened("https://board.example/mcp?tenant=4&token=").passes();
    for odd in
        ["https://u:p@board.example/mcp", "https://board.example/?apiKey=x", "https://board.example/?Access-Token=x"]
    {
        opened(odd).refuses("token-in-address");
    }
}

#[test]
fn the_token_of_one_server_is_no_others() {
    let call = |text: &str| CALL.replace("\"a\"", &format!(r#""a","arguments":{{"x":"{text}"}}"#));
    let mut gate = Driver::with_token(CHECK, POLICY, "made-up-token");
    gate.on("other").ask(&call("made-up-token")).refuses("foreign-token").never_says("made-up");
    gate.ask(&call("made\\u002dup-token")).refuses("foreign-token");
    gate.ask(&call("made-up")).passes();
    let stripped = headers(&mut gate, LIST, &[("x-any", "it is made-up-token"), ("y", "fine")]);
    assert_eq!(stripped, [("x-any".to_owned(), None)]);
    gate.on("board")
        .ask_with(&call("made-up-token"), &[("authorization", "Bearer made-up-token")])
        .refuses("token-in-body");
}

#[test]
fn scopes_are_held_to_the_policy() {
    let policy = identity("scopes = [\"tickets:read\", \"tickets:write\"]");
    let policy = format!("{policy}[servers.board.tools.delete]\nneeds = [\"tickets:write\"]\n");
    let call = |scopes: &[&str], tool: &str| {
        let mut gate = Driver::with_scopes(CHECK, &policy, "made-up-token", scopes);
        gate.open(Reach::Memory, &[]);
        gate.call(tool, "{}")
    };
    call(&["tickets:read"], "read").passes();
    call(&["tickets:read"], "delete").refuses("missing-scope");
    call(&["tickets:write"], "delete").passes();
    call(&["tickets:write", "admin:*"], "read").refuses("excess-scope");
    let mut gate = web(&policy, "made-up-token");
    let challenge = |scope: &str| format!(r#"Bearer error="insufficient_scope", scope="{scope}""#);
    gate.head(403, &[("www-authenticate", &challenge("tickets:read tickets:write"))], Some(7)).passes();
    gate.head(403, &[("www-authenticate", &challenge("tickets:read admin:*"))], Some(7)).refuses("scope-step-up");
    gate.head(401, &[("www-authenticate", "Bearer scope=admin")], Some(7)).refuses("scope-step-up");
    gate.head(401, &[("www-authenticate", "Bearer")], Some(7)).passes();
    gate.head(200, &[("www-authenticate", "Bearer scope=admin")], Some(7)).passes();
}
