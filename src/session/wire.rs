//! The texts that a client sends.

use serde_json::Value;

use crate::{
    case::{Call, Open},
    protocol::{Id, Revision},
};

/// A request with raw params.
pub(super) fn request(id: &Id, method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{}{params}}}"#, Value::from(method))
}

/// A notification with raw params.
pub(super) fn notification(method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","method":{}{params}}}"#, Value::from(method))
}

/// The params of `initialize`.
pub(super) fn opening(open: &Open, revision: Revision) -> String {
    let version = Value::from(open.version.as_deref().unwrap_or(revision.as_str()));
    let capabilities = open.capabilities.as_deref().unwrap_or("{}");
    format!(
        r#"{{"protocolVersion":{version},"capabilities":{capabilities},"clientInfo":{{"name":"gateproof","version":"{}"}}}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

/// The params of `tools/call`.
pub(super) fn call(call: &Call) -> String {
    let name = Value::from(call.tool.as_str());
    let arguments = call.arguments.as_deref().map(|text| format!(",\"arguments\":{text}")).unwrap_or_default();
    let meta = call.meta.as_deref().map(|text| format!(",\"_meta\":{text}")).unwrap_or_default();
    format!(r#"{{"name":{name}{arguments}{meta}}}"#)
}

/// The method that lists something.
pub(super) fn listing(what: Option<&str>) -> Result<&'static str, String> {
    match what.unwrap_or("tools") {
        "tools" => Ok("tools/list"),
        "resources" => Ok("resources/list"),
        "templates" => Ok("resources/templates/list"),
        "prompts" => Ok("prompts/list"),
        other => Err(format!("nothing to list is called '{other}': tools, resources, templates or prompts")),
    }
}
