//! The members that the protocol names, over all its revisions.

use super::owned::Owned;

const fn owned(keys: &'static [&'static str], within: &'static [(&'static str, &'static Owned)]) -> Owned {
    Owned { keys, mild: &[], shared: false, within }
}

/// A JSON-RPC message.
pub(super) static MESSAGE: Owned = owned(&["jsonrpc", "id", "method", "params", "result", "error"], &[]);

/// A JSON-RPC error.
pub(super) static ERROR: Owned = owned(&["code", "message", "data"], &[]);

/// Members that any params and any result may have.
pub(super) static ANY: Owned = Owned { keys: &["_meta"], mild: &[], shared: true, within: WITH_META };

/// Vendors put what they like beside the protocol's own keys.
static META: Owned = Owned {
    keys: &[
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/serverInfo",
        "io.modelcontextprotocol/logLevel",
        "io.modelcontextprotocol/related-task",
        "io.modelcontextprotocol/subscriptionId",
    ],
    mild: &[],
    shared: true,
    within: &[],
};

const WITH_META: &[(&str, &Owned)] = &[("_meta", &META)];

static IMPLEMENTATION: Owned = owned(&["name", "title", "version", "websiteUrl", "description", "icons"], &[]);

static CAPABILITIES: Owned = owned(
    &[
        "roots",
        "sampling",
        "elicitation",
        "tasks",
        "experimental",
        "extensions",
        "tools",
        "resources",
        "prompts",
        "logging",
        "completions",
    ],
    &[],
);

static INITIALIZE: Owned = owned(
    &["protocolVersion", "capabilities", "clientInfo", "_meta"],
    &[("clientInfo", &IMPLEMENTATION), ("capabilities", &CAPABILITIES), ("_meta", &META)],
);
static LIST: Owned = owned(&["cursor", "_meta"], WITH_META);
static CALL: Owned = owned(&["name", "arguments", "task", "requestState", "inputResponses", "_meta"], WITH_META);
static READ: Owned = owned(&["uri", "requestState", "inputResponses", "_meta"], WITH_META);
static COMPLETE: Owned =
    owned(&["ref", "argument", "context", "_meta"], &[("ref", &REFERENCE), ("argument", &COMPLETED), ("_meta", &META)]);
static REFERENCE: Owned = owned(&["type", "name", "uri", "title"], &[]);
static COMPLETED: Owned = owned(&["name", "value"], &[]);
static LEVEL: Owned = owned(&["level", "logger", "data", "_meta"], WITH_META);
static CANCELLED: Owned = owned(&["requestId", "reason", "_meta"], WITH_META);
static PROGRESS: Owned = owned(&["progressToken", "progress", "total", "message", "_meta"], WITH_META);
static TASK: Owned = owned(&["taskId", "_meta"], WITH_META);
static SAMPLING: Owned = owned(
    &[
        "messages",
        "modelPreferences",
        "systemPrompt",
        "includeContext",
        "temperature",
        "maxTokens",
        "stopSequences",
        "metadata",
        "tools",
        "toolChoice",
        "task",
        "_meta",
    ],
    &[("messages", &PROMPT_MESSAGE), ("_meta", &META)],
);
static ELICITATION: Owned =
    owned(&["mode", "message", "requestedSchema", "url", "elicitationId", "task", "_meta"], WITH_META);

/// Methods with the members of their params.
pub(super) static METHODS: [(&str, &Owned); 34] = [
    ("initialize", &INITIALIZE),
    ("ping", &ANY),
    ("server/discover", &ANY),
    ("tools/list", &LIST),
    ("tools/call", &CALL),
    ("resources/list", &LIST),
    ("resources/templates/list", &LIST),
    ("resources/read", &READ),
    ("resources/subscribe", &READ),
    ("resources/unsubscribe", &READ),
    ("prompts/list", &LIST),
    ("prompts/get", &CALL),
    ("completion/complete", &COMPLETE),
    ("logging/setLevel", &LEVEL),
    ("subscriptions/listen", &ANY),
    ("tasks/list", &LIST),
    ("tasks/get", &TASK),
    ("tasks/result", &TASK),
    ("tasks/cancel", &TASK),
    ("sampling/createMessage", &SAMPLING),
    ("elicitation/create", &ELICITATION),
    ("roots/list", &ANY),
    ("notifications/initialized", &ANY),
    ("notifications/cancelled", &CANCELLED),
    ("notifications/progress", &PROGRESS),
    ("notifications/message", &LEVEL),
    ("notifications/tools/list_changed", &ANY),
    ("notifications/prompts/list_changed", &ANY),
    ("notifications/resources/list_changed", &ANY),
    ("notifications/resources/updated", &READ),
    ("notifications/roots/list_changed", &ANY),
    ("notifications/elicitation/complete", &ANY),
    ("notifications/tasks/status", &ANY),
    ("notifications/subscriptions/acknowledged", &ANY),
];

/// The members of a method's params.
pub(super) fn params(method: &str) -> Option<&'static Owned> {
    METHODS.iter().find(|(known, _)| *known == method).map(|(_, params)| *params)
}

/// A definition in a listing, of whatever kind.
pub(super) static DEFINITION: Owned = Owned {
    keys: &[
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "execution",
        "arguments",
        "uri",
        "uriTemplate",
        "_meta",
    ],
    mild: &["mimeType", "size", "icons"],
    shared: false,
    within: &[("annotations", &ANNOTATIONS), ("arguments", &PROMPT_ARGUMENT), ("_meta", &META)],
};
static ANNOTATIONS: Owned = Owned {
    keys: &["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "audience", "priority"],
    mild: &[],
    shared: false,
    within: &[],
};
static PROMPT_ARGUMENT: Owned = owned(&["name", "title", "description", "required"], &[]);

/// Members of every result of the revision with `server/discover`.
macro_rules! with_common {
    ($($key:literal),*) => { &[$($key,)* "resultType", "ttlMs", "cacheScope", "_meta"] };
}

static OPENED: Owned = owned(
    with_common!("protocolVersion", "supportedVersions", "capabilities", "serverInfo", "instructions"),
    &[("serverInfo", &IMPLEMENTATION), ("capabilities", &CAPABILITIES), ("_meta", &META)],
);
static TOOLS: Owned = owned(with_common!("tools", "nextCursor"), WITH_META);
static RESOURCES: Owned = owned(with_common!("resources", "nextCursor"), WITH_META);
static TEMPLATES: Owned = owned(with_common!("resourceTemplates", "nextCursor"), WITH_META);
static PROMPTS: Owned = owned(with_common!("prompts", "nextCursor"), WITH_META);
static CALLED: Owned = owned(
    with_common!("content", "structuredContent", "isError", "task", "inputRequests", "requestState"),
    &[("content", &BLOCK), ("_meta", &META)],
);
static CONTENTS: Owned =
    owned(with_common!("contents", "inputRequests", "requestState"), &[("contents", &BLOCK), ("_meta", &META)]);
static PROMPT: Owned = owned(
    with_common!("description", "messages", "inputRequests", "requestState"),
    &[("messages", &PROMPT_MESSAGE), ("_meta", &META)],
);
static PROMPT_MESSAGE: Owned = owned(&["role", "content"], &[("content", &BLOCK)]);
static BLOCK: Owned = Owned {
    keys: &["type", "text", "data", "blob", "resource", "uri", "name", "annotations", "_meta"],
    mild: &["mimeType", "title", "description", "size", "icons"],
    shared: false,
    within: &[("resource", &RESOURCE), ("_meta", &META)],
};
static RESOURCE: Owned =
    Owned { keys: &["uri", "text", "blob", "_meta"], mild: &["mimeType"], shared: false, within: WITH_META };

/// The members of the result that answers a method.
pub(super) fn result(method: &str) -> Option<&'static Owned> {
    Some(match method {
        "initialize" | "server/discover" => &OPENED,
        "tools/list" => &TOOLS,
        "resources/list" => &RESOURCES,
        "resources/templates/list" => &TEMPLATES,
        "prompts/list" => &PROMPTS,
        "tools/call" | "tasks/result" => &CALLED,
        "resources/read" => &CONTENTS,
        "prompts/get" => &PROMPT,
        _ => return None,
    })
}
