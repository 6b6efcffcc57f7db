use super::testing::Driver;
use std::time::Instant;
fn corpus() -> Vec<serde_json::Value> {
    serde_json::from_str(&std::fs::read_to_string(std::env::var("HONEST").unwrap()).unwrap()).unwrap()
}
#[test]
fn flow_overlap() {
    let all = corpus();
    let servers: std::collections::BTreeSet<String> =
        all.iter().map(|x| x["server"].as_str().unwrap().to_owned()).collect();
    let policy = "[servers.src.flow]\nsource=\"untrusted\"\n[servers.dst.flow]\nsink=\"act\"\n";
    let (mut n, mut hits) = (0, 0);
    for server in &servers {
        for one in all.iter().filter(|x| x["server"] != server.as_str()) {
            let _ = one;
        }
        let texts: Vec<&str> =
            all.iter().filter(|x| x["server"] == server.as_str()).map(|x| x["description"].as_str().unwrap()).collect();
        let mut gate = Driver::only("taint-flow", policy);
        for text in texts {
            let r = serde_json::json!({"content":[{"type":"text","text":text}]}).to_string();
            gate.on("src").result("read", "{}", &r);
        }
        // the driver keeps known texts: a fresh sink text is judged against everything above
        for one in all.iter().filter(|x| x["server"] != server.as_str()) {
            let text = one["description"].as_str().unwrap();
            let out = gate.on("dst").call("act", &serde_json::json!({"text":text}).to_string());
            n += 1;
            if !out.ruling.findings.is_empty() {
                hits += 1;
                let facts = gate.facts_for_test();
                let node = crate::protocol::strict::parse(serde_json::json!({"text":text}).to_string().as_bytes())
                    .unwrap()
                    .root;
                println!("HIT {} <- {} {:?}", server, one["name"], facts.flow().untrusted_in(&[&node]));
            }
        }
    }
    println!("FLOW {hits} of {n}");
}
#[test]
fn flow_cost() {
    let policy = "[servers.src.flow]\nsource=\"untrusted\"\n[servers.dst.flow]\nsink=\"act\"\n";
    let all = corpus();
    let mut gate = Driver::only("taint-flow", policy);
    let mut bytes = 0;
    let t = Instant::now();
    for x in &all {
        let r = serde_json::json!({"content":[{"type":"text","text":x["description"]}]}).to_string();
        bytes += r.len();
        gate.on("src").result("read", "{}", &r);
    }
    println!("index {} bytes in {:?}", bytes, t.elapsed());
    for args in [
        r#"{"to":"ann@corp.example","subject":"Toner","text":"The toner has come and lies at the front desk."}"#
            .to_owned(),
        format!(r#"{{"text":"{}"}}"#, "The toner has come and lies at the front desk. ".repeat(40)),
    ] {
        let t = Instant::now();
        for _ in 0..200 {
            gate.on("dst").call("act", &args);
        }
        println!("call of {} bytes: {:?}", args.len(), t.elapsed() / 200);
    }
    for size in [50_000usize, 500_000, 2_000_000] {
        for (kind, word) in [("prose", "the quick brown foxes of Aldport jumped "), ("ids", "ab12cd34ef ")] {
            let mut gate = Driver::only("taint-flow", policy);
            let text: String = (0..size / word.len())
                .map(|i| if kind == "ids" { format!("ab{i:06}cd ") } else { word.replace("quick", &format!("q{i}")) })
                .collect();
            let r = serde_json::json!({"content":[{"type":"text","text":text}]}).to_string();
            let t = Instant::now();
            gate.on("src").result("read", "{}", &r);
            println!(
                "{kind} {size}: {:?} full {:?}",
                t.elapsed(),
                gate.facts_for_test().flow().untrusted_in(&[]).is_some()
            );
        }
    }
}
