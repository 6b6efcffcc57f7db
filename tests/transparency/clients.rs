//! The clients of three SDKs see the same with a guard and without.

use std::{path::PathBuf, process::Command};

use libtest_mimic::Failed;
use serde_json::Value;

use super::{
    Test,
    peers::{self, Listening, file, guard_command, server_command},
};

/// How a client opens: with a handshake, or by asking first what the server speaks.
const OPENINGS: [&str; 2] = ["legacy", "auto"];

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for sdk in ["rust", "python", "typescript"] {
        for opening in OPENINGS {
            for transport in ["stdio", "http"] {
                let name = format!("client::{sdk}::{opening}::{transport}");
                let missing = peers::server_missing().or_else(|| peers::missing(installed(sdk), sdk));
                tests.push((name, missing, Box::new(move || same(sdk, opening, transport))));
            }
        }
    }
    tests
}

/// What shows that an SDK is there.
fn installed(sdk: &str) -> &'static str {
    match sdk {
        "rust" => "rust/target/debug/gateproof-test-client",
        "python" => "python/.venv/bin/python",
        _ => "typescript/node_modules",
    }
}

fn client(sdk: &str) -> (PathBuf, Option<PathBuf>) {
    match sdk {
        "rust" => (file(installed(sdk)), None),
        "python" => (file(installed(sdk)), Some(file("python/client.py"))),
        _ => ("node".into(), Some(file("typescript/client.mjs"))),
    }
}

fn same(sdk: &str, opening: &str, transport: &str) -> Result<(), Failed> {
    let (direct, guarded) = if transport == "stdio" {
        let through = [&guard_command()[..], &["--".to_owned()], &server_command()[..]].concat();
        (seen(sdk, opening, transport, &server_command())?, seen(sdk, opening, transport, &through)?)
    } else {
        let server = Listening::server("http")?;
        let guard = Listening::guard(&server.url)?;
        let through = |url: &str| seen(sdk, opening, transport, &[url.to_owned()]);
        (through(&server.url)?, through(&guard.url)?)
    };
    for (key, known) in [("fails", Value::from(true)), ("progress", serde_json::json!([0.0, 50.0, 100.0]))] {
        if !alike(&direct[key], &known) {
            return Err(format!("without a guard, {key} is {}", direct[key]).into());
        }
    }
    if !direct["echo"].to_string().contains("☃") || !direct["tools"].to_string().contains("test_simple_text") {
        return Err(format!("without a guard the client saw too little: {direct:#}").into());
    }
    if direct != guarded {
        return Err(format!("without a guard: {direct:#}\nwith it: {guarded:#}").into());
    }
    Ok(())
}

/// The same JSON, whether a whole number is written with a fraction or not.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        _ => a == b,
    }
}

/// What a client says that it saw.
fn seen(sdk: &str, opening: &str, transport: &str, server: &[String]) -> Result<Value, Failed> {
    let (program, script) = client(sdk);
    let output = Command::new(program).args(script).args([opening, transport]).args(server).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the client failed at {server:?}: {said}").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
