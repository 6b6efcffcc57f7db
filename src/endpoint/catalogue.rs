//! A server's definitions, and overlays on them.

use std::sync::Arc;

use serde_json::Value;

use super::EndpointError;
use crate::{case::Overlay, fixture::ServerFixture};

/// One definition: its name, and its text as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// `name`, `uri` or `uriTemplate`.
    pub name: String,
    /// The raw JSON text.
    pub text: Arc<str>,
}

/// JSON text on one line, as stdio needs it: a raw line end in JSON only ever
/// stands between tokens.
pub(super) fn one_line(text: &str) -> Arc<str> {
    text.trim().replace(['\r', '\n'], "").into()
}

/// Everything that a server lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Tools, in order.
    pub tools: Vec<Definition>,
    /// Resources, in order.
    pub resources: Vec<Definition>,
    /// Resource templates, in order.
    pub templates: Vec<Definition>,
    /// Prompts, in order.
    pub prompts: Vec<Definition>,
    /// `instructions` of the opening.
    pub instructions: Option<String>,
    /// `serverInfo` of the opening, as JSON text.
    pub info: Arc<str>,
    /// Members that the result of every listing has besides, as the JSON text of
    /// an object.
    pub listing: Option<Arc<str>>,
}

impl Definition {
    fn new(text: &str, key: &str) -> Result<Self, EndpointError> {
        let value: Value = serde_json::from_str(text).map_err(|error| EndpointError::NotJson(error.to_string()))?;
        let name = value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { name, text: one_line(text) })
    }
}

impl Catalogue {
    /// What a fixture lists.
    pub(super) fn of(fixture: &ServerFixture) -> Result<Self, EndpointError> {
        let tools = |tools: &[crate::fixture::ToolFixture]| -> Result<Vec<_>, EndpointError> {
            tools.iter().map(|tool| Definition::new(tool.definition.trim(), "name")).collect()
        };
        let series = fixture
            .series
            .iter()
            .flat_map(|series| (1..=series.count).map(|n| series.definition.trim().replace("{{n}}", &n.to_string())));
        let mut listed = tools(&fixture.tools)?;
        for text in series {
            listed.push(Definition::new(&text, "name")?);
        }
        Ok(Self {
            tools: listed,
            resources: fixture
                .resources
                .iter()
                .map(|resource| Definition::new(resource.definition.trim(), "uri"))
                .collect::<Result<_, _>>()?,
            templates: fixture
                .templates
                .iter()
                .map(|text| Definition::new(text.trim(), "uriTemplate"))
                .collect::<Result<_, _>>()?,
            prompts: tools(&fixture.prompts)?,
            instructions: fixture.instructions.clone(),
            info: one_line(&fixture.info),
            listing: fixture.listing.as_deref().map(one_line),
        })
    }

    /// Changes the catalogue. A definition that an overlay doesn't touch keeps
    /// its spelling.
    ///
    /// # Errors
    /// Where the overlay names a tool that isn't there, or its JSON doesn't apply.
    pub fn overlay(&mut self, overlay: &Overlay) -> Result<(), EndpointError> {
        let Some(tool) = &overlay.tool else { return self.overlay_whole(overlay) };
        let found = match tool.as_str() {
            "*" => self.tools.first_mut(),
            name => self.tools.iter_mut().find(|definition| definition.name == name),
        };
        let found = found.ok_or_else(|| EndpointError::NoSuchTool(tool.clone()))?;
        if let Some(text) = &overlay.replace {
            *found = Definition::new(text.trim(), "name")?;
            return Ok(());
        }
        let mut value: Value =
            serde_json::from_str(&found.text).map_err(|error| EndpointError::NotJson(error.to_string()))?;
        if let Some(more) = &overlay.append {
            let before = value.get("description").and_then(Value::as_str).unwrap_or_default();
            value["description"] = format!("{before}{more}").into();
        }
        change(&mut value, overlay)?;
        *found = Definition::new(&value.to_string(), "name")?;
        Ok(())
    }

    fn overlay_whole(&mut self, overlay: &Overlay) -> Result<(), EndpointError> {
        let list = |definitions: &[Definition]| -> Result<Value, EndpointError> {
            let values = definitions.iter().map(|definition| {
                let value = serde_json::from_str::<Value>(&definition.text);
                value.map_err(|error| EndpointError::NotJson(error.to_string()))
            });
            Ok(Value::Array(values.collect::<Result<_, _>>()?))
        };
        if let Some(more) = &overlay.append {
            self.instructions = Some(format!("{}{more}", self.instructions.as_deref().unwrap_or_default()));
            return Ok(());
        }
        let mut value = serde_json::json!({
            "tools": list(&self.tools)?,
            "resources": list(&self.resources)?,
            "templates": list(&self.templates)?,
            "prompts": list(&self.prompts)?,
            "instructions": self.instructions,
            "info": json_or_null(Some(&self.info)),
            "listing": json_or_null(self.listing.as_deref()),
        });
        if let Some(text) = &overlay.replace {
            value = serde_json::from_str(text).map_err(|error| EndpointError::NotJson(error.to_string()))?;
        }
        change(&mut value, overlay)?;
        let read = |key: &str, name: &str, before: &[Definition]| -> Result<Vec<Definition>, EndpointError> {
            let items = value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
            items
                .iter()
                .map(|item| {
                    let kept = before.iter().find(|old| {
                        serde_json::from_str::<Value>(&old.text).is_ok_and(|old| is_spelled_alike(&old, item))
                    });
                    kept.cloned().map_or_else(|| Definition::new(&item.to_string(), name), Ok)
                })
                .collect()
        };
        let kept = |key: &str, before: Option<&Arc<str>>| {
            let value = value.get(key).filter(|value| !value.is_null())?;
            let same = before.filter(|text| is_spelled_alike(&json_or_null(Some(text)), value));
            Some(same.map_or_else(|| value.to_string().into(), Arc::clone))
        };
        *self = Self {
            info: kept("info", Some(&self.info)).unwrap_or_default(),
            listing: kept("listing", self.listing.as_ref()),
            tools: read("tools", "name", &self.tools)?,
            resources: read("resources", "uri", &self.resources)?,
            templates: read("templates", "uriTemplate", &self.templates)?,
            prompts: read("prompts", "name", &self.prompts)?,
            instructions: value.get("instructions").and_then(Value::as_str).map(str::to_owned),
        };
        Ok(())
    }
}

/// Equal with the same order of keys: what an overlay didn't touch.
fn is_spelled_alike(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.to_string(), b.to_string());
    a == b
}

/// A live server has neither a `serverInfo` of the fixture's nor more members.
fn json_or_null(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn change(value: &mut Value, overlay: &Overlay) -> Result<(), EndpointError> {
    let json = |text: &str| serde_json::from_str(text).map_err(|error| EndpointError::NotJson(error.to_string()));
    if let Some(text) = &overlay.merge {
        json_patch::merge(value, &json(text)?);
    }
    if let Some(text) = &overlay.patch {
        let patch: json_patch::Patch =
            serde_json::from_str(text).map_err(|error| EndpointError::NotJson(error.to_string()))?;
        json_patch::patch(value, &patch).map_err(|error| EndpointError::DoesNotApply(error.to_string()))?;
    }
    Ok(())
}
