//! The document as JSON: one line for each entry, so that two reports can be
//! compared line by line.

use serde_json::Value;

use super::Document;

/// Renders it, with a final newline.
pub fn render(document: &Document) -> String {
    let Ok(Value::Object(members)) = serde_json::to_value(document) else {
        // The document has string keys and finite numbers only.
        return String::new();
    };
    let members: Vec<_> = members.iter().map(|(key, value)| format!("  {}: {}", quoted(key), member(value))).collect();
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

fn member(value: &Value) -> String {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<_> = items.iter().map(|item| format!("    {item}")).collect();
            format!("[\n{}\n  ]", items.join(",\n"))
        }
        other => other.to_string(),
    }
}

fn quoted(key: &str) -> String {
    Value::from(key).to_string()
}
