use crate::{
    gate::testing::Driver,
    protocol::{HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR},
};

fn driver() -> Driver {
    Driver::only("strict-envelope", "")
}

fn ask(rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,{rest}}}"#)
}

fn call(params: &str) -> String {
    ask(&format!(r#""method":"tools/call","params":{{{params}}}"#))
}

#[test]
fn keys_twice_or_in_disguise_are_refused() {
    for (rule, text) in [
        ("duplicate-key", call(r#""name":"a","name":"b""#)),
        ("duplicate-key", call(r#""name":"a","na\u006de":"a""#)),
        ("duplicate-key", call(r#""name":"a","arguments":{},"arguments":{"x":1}"#)),
        ("duplicate-key", call(r#""name":"a","_meta":{},"_meta":{}"#)),
        ("duplicate-key", call(r#""name":"a","_meta":{"progressToken":1,"progressToken":2}"#)),
        ("duplicate-key", call(r#""name":"a","x":1,"x":2"#)),
        ("duplicate-key", ask(r#""method":"ping","method":"tools/call""#)),
        ("duplicate-key", ask(r#""method":"ping","params":{},"params":{}"#)),
        ("look-alike-key", call(r#""name":"a","Name":"b""#)),
        ("look-alike-key", call(r#""NAME":"b""#)),
        ("look-alike-key", call(r#""name":"a","ｎame":"b""#)),
        ("look-alike-key", call(r#""name":"a","argument\u017f":{}"#)),
        ("look-alike-key", call(r#""name":"a","name\u0000":"b""#)),
        ("look-alike-key", call(r#""name":"a","na\u200bme":"b""#)),
        ("look-alike-key", call(r#""name":"a","na\ud800me":"b""#)),
        ("look-alike-key", call(r#""name":"a","_META":{}"#)),
        ("look-alike-key", call(r#""name":"a","_meta":{"ProgressToken":1}"#)),
        ("look-alike-key", ask(r#""method":"ping","Params":{}"#)),
        ("look-alike-key", ask(r#""method":"ping","\u0131d":8"#)),
        ("look-alike-key", ask(r#""method":"resources/read","params":{"uri":"a:a","URI":"b:b"}"#)),
        ("look-alike-key", ask(r#""method":"tools/list","params":{"Cursor":"x"}"#)),
        ("look-alike-key", ask(r#""method":"initialize","params":{"protocolVersion":"x","clientInfo":{"Name":"x"}}"#)),
        ("look-alike-key", ask(r#""method":"Tools/Call","params":{"name":"a"}"#)),
        ("look-alike-key", ask(r#""method":"tools/call\u0000","params":{"name":"a"}"#)),
    ] {
        driver().ask(&text).refuses(rule).answers("7").code(INVALID_REQUEST);
    }
}

#[test]
fn what_belongs_to_others_passes() {
    for text in [
        call(r#""name":"a","arguments":{"id":1,"ID":2,"name":"x","Name":"y","NAME\u0000":1}"#),
        call(r#""name":"a","_meta":{"vendor.example/Name":1,"vendor.example/name":2,"NAME":3,"progressToken":"t"}"#),
        call(r#""name":"a","x-unknown":{"Name":1},"input_schema":2"#),
        ask(r#""method":"vendor/method","params":{"Name":1,"name":2,"CURSOR":3}"#),
        ask(r#""method":"ping","params":null"#),
        ask(r#""method":"ping","params":[]"#),
        ask(r#""method":"ping","x-trace":"7""#),
        r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"vendor/notice"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}"#.to_owned(),
        String::new(),
    ] {
        driver().ask(&text).passes();
    }
}

#[test]
fn ids_are_strings_or_whole_numbers() {
    for id in ["null", "true", "[1]", r#"{"a":1}"#, "1.5", "1.0", "1e3", "-0"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        driver().ask(&text).refuses("bad-id").code(INVALID_REQUEST);
        // What can stand as an id at all is answered: the server waits under it.
        let told = driver().tell(&text);
        if id.parse::<f64>().is_ok() {
            told.refuses("bad-id").answers(id);
        } else {
            told.drops("bad-id");
        }
    }
    driver().ask(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#).drops("missing-id");
    driver().ask(&ask(r#""method":"notifications/cancelled""#)).refuses("missing-id").answers("7");
}

#[test]
fn what_is_no_message_is_answered_and_goes_no_further() {
    for text in ["not JSON", r#"{"id":7,"method":"ping",}"#, "\u{feff}{}", r#"{"id":7"#] {
        driver().ask(text).refuses("no-message").answers("null").code(PARSE_ERROR);
    }
    for text in ["{}", "42", r#""ping""#, "null", r#"{"jsonrpc":"2.0","id":null}"#] {
        driver().ask(text).refuses("no-message").answers("null").code(INVALID_REQUEST);
    }
    for method in ["7", "null", r#"["tools/call"]"#, r#"{"a":1}"#] {
        driver().ask(&ask(&format!(r#""method":{method}"#))).refuses("no-message").answers("7").code(INVALID_REQUEST);
    }
    driver().ask(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#).refuses("version").answers("7");
    for params in [r#"["a",{}]"#, r#""a""#, "1", "true"] {
        let text = ask(&format!(r#""method":"tools/call","params":{params}"#));
        driver().ask(&text).refuses("bad-params").answers("7").code(INVALID_PARAMS);
    }
}

fn opened(version: &str) -> Driver {
    let mut gate = driver();
    gate.exchange("initialize", "{}", &format!(r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#)).passes();
    gate
}

#[test]
fn batches_pass_in_no_session_that_has_none() {
    let one = ask(r#""method":"ping""#);
    for gate in [driver as fn() -> Driver, || opened("2025-06-18"), || opened("2025-11-25")] {
        for batch in [
            format!("[{one}]"),
            format!(" \n[ {one} , {one} ]"),
            "[]".to_owned(),
            "[[]]".to_owned(),
            format!("[[{one}]]"),
            "[1]".to_owned(),
            r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#.to_owned(),
        ] {
            gate().ask(&batch).refuses("batch").answers("null").code(INVALID_REQUEST);
        }
        let mut gate = gate();
        gate.tell("[]").drops("batch");
        gate.ask(&one).passes();
        gate.tell(r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#).refuses("batch").answers("7");
    }
}

#[test]
fn batches_are_taken_apart_in_the_revision_that_has_them() {
    let one = ask(r#""method":"ping""#);
    let mut gate = opened("2025-03-26");
    for batch in [format!("[{one}]"), format!(" \n[ {one} , {one} ]"), "[1]".to_owned(), format!("[[{one}]]")] {
        gate.ask(&batch).is_taken_apart();
        gate.tell(&batch).is_taken_apart();
    }
    gate.ask(" [ ] ").refuses("odd-batch").answers("null").code(INVALID_REQUEST);
    gate.tell("[]").drops("odd-batch");
    let many = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    gate.ask(&many(256)).is_taken_apart();
    gate.ask(&many(257)).refuses("odd-batch").answers("null");
    // The session is another one's by now.
    gate.open(crate::gate::Reach::Memory, &[]);
    gate.ask(&format!("[{one}]")).refuses("batch");
}

#[test]
fn what_comes_in_a_batch_is_judged_as_if_it_came_alone() {
    let mut gate = opened("2025-03-26");
    gate.batched(true);
    gate.ask(&ask(r#""method":"ping""#)).passes();
    gate.ask("1").refuses("no-message").answers("null").code(INVALID_REQUEST);
    gate.ask(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).refuses("bad-id");
    gate.ask(&call(r#""name":"a","name":"b""#)).refuses("duplicate-key").answers("7");
    let opening = r#"{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}"#;
    gate.ask(opening).refuses("odd-batch").answers("8").code(INVALID_REQUEST);
    gate.ask(&format!("[{}]", ask(r#""method":"ping""#))).refuses("odd-batch").answers("null");
    gate.batched(false).ask(opening).passes();
}

#[test]
fn headers_say_once_what_the_body_says() {
    let read = ask(r#""method":"resources/read","params":{"uri":"note://ö"}"#);
    let call = call(r#""name":"read","arguments":{"name":"other"}"#);
    for (text, headers) in [
        (&call, &[("mcp-method", "tools/call"), ("mcp-name", "read")][..]),
        (&call, &[("mcp-method", "tools/call")]),
        (&call, &[("mcp-param-region", "north")]),
        (&read, &[("mcp-name", "note://ö")]),
        (&read, &[("mcp-name", "=?base64?bm90ZTovL8O2?=")]),
        (&ask(r#""method":"ping""#), &[("mcp-method", "ping")]),
    ] {
        driver().ask_with(text, headers).passes();
    }
    for (text, headers) in [
        (&call, &[("mcp-method", "tools/list")][..]),
        (&call, &[("mcp-method", "Tools/Call")]),
        (&call, &[("mcp-name", "other")]),
        (&call, &[("mcp-name", "READ")]),
        (&call, &[("mcp-name", "read"), ("mcp-name", "read")]),
        (&call, &[("mcp-method", "tools/call"), ("mcp-method", "ping")]),
        (&call, &[("mcp-name", "")]),
        (&call, &[("mcp_name", "other")]),
        (&call, &[("mcp-name", "read"), ("mcp_name", "other")]),
        (&ask(r#""method":"ping""#), &[("mcp-name", "read")]),
        (&ask(r#""method":"tools/call","params":{"name":7}"#), &[("mcp-name", "7")]),
    ] {
        driver().ask_with(text, headers).refuses("header-mismatch").answers("7").code(HEADER_MISMATCH);
    }
}

#[test]
fn replies_are_held_to_the_same() {
    for (rule, method, result) in [
        ("duplicate-key", "tools/list", r#"{"tools":[],"tools":[{"name":"a"}]}"#),
        ("look-alike-key", "tools/list", r#"{"Tools":[{"name":"a"}]}"#),
        ("look-alike-key", "tools/list", r#"{"tools":[],"NextCursor":"x"}"#),
        ("look-alike-key", "tools/call", r#"{"content":[],"IsError":true}"#),
        ("look-alike-key", "tools/call", r#"{"content":[{"type":"text","text":"a","Text":"b"}]}"#),
        ("look-alike-key", "tools/call", r#"{"content":[{"type":"image","mimeType":"a/b","MimeType":"c/d"}]}"#),
        ("duplicate-key", "tools/call", r#"{"content":[{"type":"text","text":"a","text":"b"}]}"#),
        ("look-alike-key", "initialize", r#"{"protocolVersion":"x","Instructions":"y"}"#),
        ("look-alike-key", "prompts/get", r#"{"messages":[{"role":"user","Role":"assistant"}]}"#),
        ("look-alike-key", "resources/read", r#"{"contents":[{"uri":"a:a","TEXT":"x"}]}"#),
    ] {
        driver().exchange(method, "{}", result).refuses(rule);
    }
    for (method, result) in [
        ("tools/call", r#"{"content":[],"structuredContent":{"id":1,"ID":2,"Text":3},"x-took":{"Content":1}}"#),
        ("tools/call", r#"{"content":[{"type":"image","data":"","mimetype":"image/png","Size":1}],"isError":null}"#),
        ("tools/list", r#"{"tools":[],"nextCursor":null,"total":3,"_meta":{"Tools":1,"tools":2}}"#),
        ("initialize", r#"{"protocolVersion":"x","serverInfo":{"name":"a","vendor":"b"},"extra":{"Name":1}}"#),
        ("vendor/method", r#"{"Tools":1,"tools":2}"#),
        ("ping", r#"{"id":1,"ID":2}"#),
    ] {
        driver().exchange(method, "{}", result).passes();
    }
    driver()
        .tell(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"Progress":2}}"#)
        .drops("look-alike-key");
    driver().tell(r#"{"jsonrpc":"2.0","id":99,"ID":7,"result":{}}"#).drops("look-alike-key");
}

#[test]
fn definitions_that_can_be_read_in_two_ways_are_withheld() {
    for bad in [
        r#""Name":"other""#,
        r#""name":"bad""#,
        r#""Description":"CANARY""#,
        r#""description":"a","description":"CANARY""#,
        r#""annotations":{"readOnlyHint":true,"ReadOnlyHint":false}"#,
        r#""annotations":{"readOnlyHint":true,"readOnlyHint":false}"#,
        r#""inputSchema":{"type":"object","type":"array"}"#,
        r#""InputSchema":{}"#,
        r#""inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nX-Admin: 1"}}}"#,
    ] {
        let mut gate = driver();
        let listed = gate.list(&format!(r#"[{{"name":"bad",{bad}}},{{"name":"good"}}]"#));
        assert_eq!(listed.names(), ["good"], "{bad}");
        assert!(listed.withheld("doubtful-definition"));
        assert!(!format!("{:?}", listed.ruling.findings).contains("CANARY"));
        gate.call("bad", "{}").refuses("doubtful-call").never_says("CANARY");
        gate.call("good", "{}").passes();
    }
    let honest = r#"[{"name":"a","inputSchema":{"properties":{"id":{},"ID":{},"Name":{}}},"x-vendor":1,"X-Vendor":2,
        "_meta":{"Name":1,"name":2},"mimetype":"a/b","annotations":{"vendorHint":true}}]"#;
    driver().list(&honest.replace('\n', " ")).passes();
}

#[test]
fn cache_hints_are_brought_to_the_policy() {
    let listed = |hints: &str| driver().exchange("tools/list", "{}", &format!(r#"{{"tools":[],{hints}}}"#)).body();
    for (asked, shown) in [
        (r#""ttlMs":86400001"#, r#""ttlMs":86400000"#),
        (r#""ttlMs":99999999999999999999999"#, r#""ttlMs":86400000"#),
        (r#""ttlMs":-1"#, r#""ttlMs":0"#),
        (r#""ttlMs":1.5"#, r#""ttlMs":0"#),
        (r#""ttlMs":1e99"#, r#""ttlMs":0"#),
        (r#""ttlMs":"60000""#, r#""ttlMs":0"#),
        (r#""ttlMs":true"#, r#""ttlMs":0"#),
        (r#""cacheScope":"everyone""#, r#""cacheScope":"private""#),
        (r#""cacheScope":["public"]"#, r#""cacheScope":"private""#),
    ] {
        assert!(listed(asked).contains(shown), "{asked}");
    }
    for fine in [
        r#""ttlMs":86400000,"cacheScope":"public""#,
        r#""ttlMs":0,"cacheScope":"private""#,
        r#""ttlMs":60000.0"#,
        r#""ttlMs":null,"cacheScope":null"#,
    ] {
        driver().exchange("tools/list", "{}", &format!(r#"{{"tools":[],{fine}}}"#)).passes();
    }
    driver().exchange("tools/call", "{}", r#"{"content":[],"ttlMs":-1}"#).passes();
    let mut gate = Driver::only("strict-envelope", "[servers.board.envelope]\nmax_ttl_ms = 1000\n");
    let read = gate.exchange("resources/read", "{}", r#"{"contents":[],"ttlMs":1001}"#);
    assert!(read.body().contains(r#""ttlMs":1000}"#));
}
