//! Uses a server as a host does and prints what it saw, as one line of JSON:
//! `gateproof-test-client legacy|auto stdio COMMAND…` or
//! `gateproof-test-client legacy|auto http URL`.

use std::{
    error::Error,
    process::ExitCode,
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ClientHandler, RoleClient,
    model::{
        CallToolRequestParams, GetPromptRequestParams, ProgressNotificationParam, ProtocolVersion,
        ReadResourceRequestParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::process::Command;

/// The SDK has no deadline of its own.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client that keeps the progress it is told of.
#[derive(Clone, Default)]
struct Host(Arc<Mutex<Vec<f64>>>);

impl ClientHandler for Host {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().expect("nobody panics with it").push(progress.progress);
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match tokio::time::timeout(PATIENCE, run(&words)).await {
        Ok(Ok(seen)) => {
            println!("{seen}");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("not done after {PATIENCE:?}");
            ExitCode::FAILURE
        }
    }
}

async fn run(words: &[String]) -> Result<Value, Box<dyn Error>> {
    let usage = "usage: gateproof-test-client legacy|auto stdio COMMAND… | legacy|auto http URL";
    let [mode, how, first, rest @ ..] = words else { return Err(usage.into()) };
    let lifecycle = match mode.as_str() {
        "legacy" => ClientLifecycleMode::Initialize,
        "auto" => ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None },
        _ => return Err(usage.into()),
    };
    let host = Host::default();
    let client = match how.as_str() {
        "stdio" => {
            let mut command = Command::new(first);
            command.args(rest);
            host.clone().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        }
        "http" => {
            let transport = StreamableHttpClientTransport::from_uri(first.as_str());
            host.clone().serve_with_lifecycle(transport, lifecycle).await?
        }
        _ => return Err(usage.into()),
    };
    let seen = look(&client, &host).await;
    client.cancel().await?;
    seen
}

async fn look(client: &RunningService<RoleClient, Host>, host: &Host) -> Result<Value, Box<dyn Error>> {
    let call = |name: &'static str, arguments: Value| {
        let params = CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap_or_default());
        client.call_tool(params)
    };
    let info = serde_json::to_value(client.peer_info())?;
    let mut tools: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
    let mut resources: Vec<_> = client.list_all_resources().await?.into_iter().map(|one| one.uri).collect();
    let mut prompts: Vec<_> = client.list_all_prompts().await?.into_iter().map(|prompt| prompt.name).collect();
    tools.sort();
    resources.sort();
    prompts.sort();
    let prompt = GetPromptRequestParams::new("test_prompt_with_arguments")
        .with_arguments(json!({ "arg1": "one", "arg2": "two" }).as_object().cloned().unwrap_or_default());
    let progressed = call("test_tool_with_progress", json!({})).await?.content;
    Ok(json!({
        "server": info,
        "tools": tools,
        "resources": resources,
        "prompts": prompts,
        "echo": call("echo", json!({ "message": "naïve ☃ \"quoted\"" })).await?.content,
        "fails": call("test_error_handling", json!({})).await?.is_error,
        "progressed": progressed,
        "progress": host.0.lock().expect("nobody panics with it").clone(),
        "text": client.read_resource(ReadResourceRequestParams::new("test://static-text")).await?.contents,
        "binary": client.read_resource(ReadResourceRequestParams::new("test://static-binary")).await?.contents,
        "prompt": client.get_prompt(prompt).await?.messages,
    }))
}
