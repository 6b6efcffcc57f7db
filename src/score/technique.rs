//! The technique catalogue: what an attack does on the wire, by its id.

/// A way to attack through a server, or to be attacked by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Technique {
    /// Its permanent id. D discovery, H hiding, S drift and session, C call,
    /// R result, V server to client, T transport, A identity, L launch, X across
    /// servers.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The checks that are there for it. None: it is noise to be borne, not an
    /// attack to be stopped.
    pub checks: &'static [&'static str],
}

const fn row(id: &'static str, name: &'static str, checks: &'static [&'static str]) -> Technique {
    Technique { id, name, checks }
}

/// Every technique.
pub const TECHNIQUES: &[Technique] = &[
    row("D01", "tool poisoning", &["description-scan"]),
    row("D02", "implicit poisoning", &["shadowing"]),
    row("D03", "false prerequisite", &["description-scan"]),
    row("D04", "argument hijack", &["description-scan", "shadowing"]),
    row("D05", "full schema", &["description-scan"]),
    row("D06", "payload in names", &["description-scan", "hidden-text"]),
    row("D07", "unseen fields", &["description-scan"]),
    row("D08", "line jumping", &["description-scan"]),
    row("D09", "conversation theft", &["description-scan"]),
    row("D10", "internals as parameters", &["description-scan"]),
    row("D11", "shadowing", &["shadowing"]),
    row("D12", "name collision", &["name-collision"]),
    row("D13", "confusable name", &["name-collision"]),
    row("D14", "preference manipulation", &["shadowing"]),
    row("D15", "annotation lie", &["approval"]),
    row("D16", "pagination hiding", &["list-integrity"]),
    row("D17", "cursor loop", &["list-integrity"]),
    row("D18", "list variance", &["definition-pins"]),
    row("D19", "tool flood", &["list-integrity"]),
    row("D20", "schema bomb", &["argument-schema"]),
    row("D21", "remote `$ref`", &["argument-schema"]),
    row("D22", "header parameter injection", &["strict-envelope"]),
    row("D23", "icon or URI SSRF", &["egress"]),
    row("D24", "prompt poisoning", &["description-scan", "definition-pins"]),
    row("D25", "resource metadata", &["description-scan"]),
    row("H01", "zero-width between letters", &["hidden-text", "description-scan"]),
    row("H02", "soft hyphen, variation selectors", &["hidden-text", "description-scan"]),
    row("H03", "tag characters", &["hidden-text", "description-scan"]),
    row("H04", "bidi override", &["hidden-text", "description-scan"]),
    row("H05", "homoglyphs", &["description-scan"]),
    row("H06", "full width", &["description-scan"]),
    row("H07", "ANSI escapes and OSC-8", &["hidden-text", "description-scan"]),
    row("H08", "entities and comments", &["description-scan"]),
    row("H09", "base64, hex, rot13", &["description-scan"]),
    row("H10", "leet", &["description-scan"]),
    row("H11", "translation", &["description-scan"]),
    row("H12", "split over fields, pages, tools", &["description-scan"]),
    row("H13", "padding with white space", &["description-scan"]),
    row("H14", "JSON escapes", &["description-scan"]),
    row("S01", "rug pull", &["definition-pins"]),
    row("S02", "mid-session", &["definition-pins"]),
    row("S03", "sleeper", &["definition-pins"]),
    row("S04", "drift under a confusable", &["name-collision"]),
    row("S05", "schema only", &["definition-pins"]),
    row("S06", "prompts and resources", &["definition-pins"]),
    row("S07", "pin write race", &["definition-pins"]),
    row("S08", "remove and fall back", &["definition-pins"]),
    row("S09", "cache abuse", &["strict-envelope"]),
    row("S10", "shared cache", &["session-binding"]),
    row("S11", "reorder noise", &[]),
    row("C01", "traversal", &["path-scope"]),
    row("C02", "symlink", &["path-scope"]),
    row("C03", "shell metacharacters", &["argument-policy"]),
    row("C04", "flag injection", &["argument-policy"]),
    row("C05", "query injection", &["argument-policy"]),
    row("C06", "SSRF", &["egress"]),
    row("C07", "out-of-scope parameter", &["argument-schema", "argument-scope"]),
    row("C08", "type confusion", &["argument-schema"]),
    row("C09", "secret in argument", &["secrets-out"]),
    row("C10", "hidden recipient", &["argument-policy", "taint-flow"]),
    row("C11", "URL/DNS exfiltration", &["secrets-out", "taint-flow"]),
    row("C12", "unlisted tool", &["tool-allowlist"]),
    row("C13", "destructive", &["approval"]),
    row("C14", "replay", &["reply-correlation", "call-budget"]),
    row("C15", "loop", &["call-budget"]),
    row("R01", "instruction in a result", &["taint-flow"]),
    row("R02", "poisoned error", &["taint-flow", "secrets-out"]),
    row("R03", "impersonation", &["approval"]),
    row("R04", "tool transfer", &["taint-flow"]),
    row("R05", "structured ≠ text", &["result-shape"]),
    row("R06", "resource link", &["egress"]),
    row("R07", "markdown beacon", &["egress", "secrets-out"]),
    row("R08", "active content", &["result-shape"]),
    row("R09", "special tokens", &["taint-flow"]),
    row("R10", "oversize, bomb", &["size-limits"]),
    row("R12", "forced re-execution", &["call-budget"]),
    row("R13", "scope", &["result-scope"]),
    row("R14", "unverified claim", &["trust-framing"]),
    row("R15", "mixed revisions", &["continuation"]),
    row("V01", "sampling injection", &["server-requests"]),
    row("V02", "sampling theft", &["server-requests"]),
    row("V03", "undeclared capability", &["server-requests"]),
    row("V04", "`includeContext: allServers`", &["server-requests"]),
    row("V05", "elicitation asks for a password or seed", &["server-requests"]),
    row("V06", "URL elicitation", &["server-requests"]),
    row("V07", "consent fatigue", &["server-requests"]),
    row("V08", "roots fishing", &["server-requests"]),
    row("V09", "`requestState` altered or used by another", &["session-binding"]),
    row("V10", "log and progress flood", &["server-requests"]),
    row("T01", "key-case smuggling", &["strict-envelope"]),
    row("T02", "folded or NUL keys", &["strict-envelope"]),
    row("T03", "exact duplicate keys", &["strict-envelope"]),
    row("T04", "header ≠ body", &["strict-envelope"]),
    row("T05", "batch abuse", &["strict-envelope"]),
    row("T06", "id confusion", &["reply-correlation"]),
    row("T07", "framing", &["size-limits"]),
    row("T08", "noise on stdout", &[]),
    row("T09", "DNS rebinding", &["origin"]),
    row("T10", "simple cross-site POST", &["origin"]),
    row("T11", "session hijack", &["session-binding"]),
    row("T12", "cross-client leak", &["session-binding"]),
    row("T13", "version downgrade", &["protocol-version"]),
    row("T14", "redirect", &["redirects"]),
    row("T15", "wrong content type", &["content-type"]),
    row("A01", "token passthrough", &["delegated-identity"]),
    row("A03", "confused deputy", &["delegated-identity"]),
    row("A05", "scope creep", &["delegated-identity"]),
    row("L01", "launch command swapped after approval", &["launch-consent"]),
    row("L02", "reserved name claimed by a lower configuration layer", &["launch-consent"]),
    row("L03", "inherited environment and credentials", &["launch-consent"]),
    row("X01", "toxic flow", &["taint-flow"]),
    row("X02", "ticket → database → reply", &["taint-flow"]),
    row("X03", "collect and disclose", &["taint-flow"]),
    row("X04", "sleeper and takeover", &["taint-flow"]),
    row("X05", "memory implant", &["taint-flow"]),
    row("X06", "encoded taint between hops", &["taint-flow"]),
];

/// What no gate on the wire can reach, and why: nothing is claimed about it.
pub const OUT_OF_REACH: &[(&str, &str)] = &[
    ("orders in pixels or sound", "an image is opaque bytes to a gate; reading it needs a model"),
    (
        "orders in plain results that only words carry",
        "text in a result is data; the act that follows is what is stopped",
    ),
    ("what an approved tool really does", "a server's own effects are behind the gate"),
    ("what a host does with what it was shown", "rendering, memory and prompts are the host's"),
    ("paraphrases that no rule knows", "a scan without a model has rules; a change of what was approved is still seen"),
    ("time and power side channels", "nothing of them is on the wire"),
    (
        "A06, exposure on every interface",
        "which address a gate listens on is its operator's; the harness listens on loopback",
    ),
];

/// Whether there is a technique with this id.
pub fn is_known(id: &str) -> bool {
    TECHNIQUES.iter().any(|known| known.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::CheckId;

    #[test]
    fn ids_are_in_order_and_named() {
        for pair in TECHNIQUES.windows(2) {
            let [a, b] = pair else { continue };
            assert!(a.id[..1] != b.id[..1] || a.id < b.id, "{a:?} {b:?}");
        }
        for technique in TECHNIQUES {
            assert!(technique.id.len() == 3 && technique.name.len() > 3, "{technique:?}");
        }
    }

    #[test]
    fn the_checks_that_are_named_exist() {
        for technique in TECHNIQUES {
            for check in technique.checks {
                assert!(CheckId::parse(check).is_some(), "{}: {check}", technique.id);
            }
        }
    }
}
