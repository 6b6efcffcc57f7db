//! What broke gates in practice: public reports, restated, by number.
//!
//! A case that is there for one names a source of it in its `refs`, as
//! `owner/repo#n`.

/// One report, or several of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldReport {
    /// Its number.
    pub number: u16,
    /// Where it was reported, each as `owner/repo#n`.
    pub sources: &'static [&'static str],
    /// What a gate owes.
    pub owes: Owes,
    /// What happened, in our own words.
    pub says: &'static str,
    /// Why no case can be there for it, where none can.
    pub beyond: Option<&'static str>,
}

/// What a gate owes to the traffic of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owes {
    /// Something must arrive unchanged.
    pub pass: bool,
    /// Something must not reach the other side.
    pub deny: bool,
    /// Something is delivered, with a field that belongs to the gate.
    pub hop: bool,
}

impl Owes {
    /// The words in tables.
    pub fn words(self) -> String {
        let words = [(self.pass, "PASS"), (self.deny, "DENY"), (self.hop, "HOP")];
        words.iter().filter(|(owed, _)| *owed).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
    }
}

impl FieldReport {
    /// The report that a reference names. Owners are for readers: the repository and
    /// the number tell reports apart.
    pub fn named(reference: &str) -> Option<(&'static Self, &'static str)> {
        let is_it = |source: &str| match key(reference) {
            Some(wanted) => key(source) == Some(wanted),
            None => source == reference,
        };
        FIELD_REPORTS.iter().find_map(|report| {
            let source = report.sources.iter().find(|source| is_it(source))?;
            Some((report, *source))
        })
    }
}

/// `repo#n` of a reference.
fn key(reference: &str) -> Option<&str> {
    let (before, number) = reference.rsplit_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let from = before.rfind(['/', ' ']).map_or(0, |at| at + 1);
    (is_number && from < before.len()).then(|| &reference[from..])
}

const PASS: Owes = Owes { pass: true, deny: false, hop: false };
const DENY: Owes = Owes { pass: false, deny: true, hop: false };
const HOP: Owes = Owes { pass: false, deny: false, hop: true };
const BOTH: Owes = Owes { pass: true, deny: true, hop: false };

const fn row(number: u16, owes: Owes, sources: &'static [&'static str], says: &'static str) -> FieldReport {
    FieldReport { number, sources, owes, says, beyond: None }
}

/// Every report, by number.
#[rustfmt::skip]
pub const FIELD_REPORTS: &[FieldReport] = &[
    row(1, BOTH, &["modelcontextprotocol/go-sdk#805", "docker/mcp-gateway#414"], "policy reads one key, the server another: a second spelling, or a key twice"),
    row(2, DENY, &["stacklok/toolhive#5745"], "an array of one message skips policy"),
    row(3, BOTH, &["anthropics/claude-ai-mcp#539", "modelcontextprotocol/python-sdk#3060"], "two requests in flight under one id get each other's answers"),
    row(4, DENY, &["modelcontextprotocol/rust-sdk#938"], "a log line is answered with an error, which is logged, without end"),
    row(5, PASS, &["modelcontextprotocol/rust-sdk#825"], "a byte order mark or one bad line closes the session"),
    row(6, DENY, &["memtrace-public#18", "kali-mcp-server#84"], "deep arguments kill the session"),
    row(7, PASS, &["microsoft/playwright-mcp#1410"], "an escaped lone surrogate in a result"),
    row(8, PASS, &["anthropics/claude-code#78762", "modelcontextprotocol/go-sdk#1236"], "integers beyond a double are rounded"),
    row(9, PASS, &["mrexodia/ida-pro-mcp#510"], "unsigned integers of 64 bits are refused"),
    row(10, PASS, &["modelcontextprotocol/typescript-sdk#2041"], "a character that is split over two reads is lost"),
    row(11, PASS, &["mark3labs/mcp-go#588"], "a line of more than 64 KiB ends the session"),
    row(12, PASS, &["stackql/stackql#668"], "lines that end in CRLF are not understood"),
    row(13, BOTH, &["microsoft/azure-devops-mcp#147"], "a banner and blank lines on standard output"),
    row(14, PASS, &["envoyproxy/ai-gateway#2219", "microsoft/vscode#309104"], "an event without data before the reply is taken for it"),
    row(15, PASS, &["envoyproxy/ai-gateway#1398"], "line ends of event streams: CRLF, CR, split over chunks"),
    row(16, PASS, &["stacklok/toolhive#5655"], "events without the name `message` are lost"),
    row(17, PASS, &["agentgateway/agentgateway#2373"], "a reply comes on the POST and on the GET"),
    row(18, PASS, &["agentgateway/agentgateway#1582", "envoyproxy/ai-gateway#1925"], "an honest 405 to a GET starts a loop, or becomes a 404"),
    row(19, PASS, &["modelcontextprotocol/rust-sdk#849", "modelcontextprotocol/rust-sdk#1063"], "a notification answered with anything but 202 breaks the session"),
    row(20, HOP, &["wso2/api-platform#2885"], "a body is rewritten and its length is not"),
    row(21, PASS, &["wso2/api-platform#2968"], "events are held back until the stream ends"),
    row(22, PASS, &["modelcontextprotocol/rust-sdk#1017", "modelcontextprotocol/python-sdk#961"], "an id comes back with another type"),
    row(23, PASS, &["stacklok/toolhive#4425"], "a session that is over is answered with 400 instead of 404"),
    row(24, PASS, &["agentgateway/agentgateway#3622"], "one of several servers forgets its session, and the client is told something else"),
    row(25, HOP, &["agentgateway/agentgateway#2980"], "the version's header of one leg goes out on the other"),
    row(26, BOTH, &["modelcontextprotocol/php-sdk#306", "modelcontextprotocol/inspector#679"], "versions that don't exist are taken, or their absence is not"),
    row(27, HOP, &["XcodeMCPKit#210", "fastmcp#4124"], "a cancellation waits behind the call that it cancels, or goes to another server"),
    row(28, PASS, &["mcp-proxy#189"], "`_meta` is dropped"),
    row(29, PASS, &["fastmcp#4161", "stacklok/toolhive#5748", "apify/apify-mcp-server#1233"], "list_changed is lost, or said where nothing that is shown changes"),
    row(30, PASS, &["envoyproxy/ai-gateway#2531", "fastmcp#3948"], "capabilities are invented, or extensions dropped"),
    row(31, DENY, &["mcp-gateway-registry#1357"], "a user presents another user's session id"),
    row(32, BOTH, &["mcp-proxy#233"], "a cursor is dropped: the first page over and over, the others never"),
    row(33, PASS, &["mcp-auth-proxy#178", "mcpd#279"], "a schema's `definitions`, `$defs` or `additionalProperties` are changed or dropped"),
    row(34, DENY, &["agentmetry#142", "forge#231"], "a fingerprint leaves out members of a definition"),
    row(35, PASS, &["modelcontextprotocol/rust-sdk#665", "openai/codex#37351"], "tools or keys in another order count as drift"),
    row(36, PASS, &["IBM/mcp-context-forge#1258", "Azure/data-api-builder#3599"], "an outputSchema is dropped, or absent members are sent as null"),
    row(37, DENY, &["mcp-gateway#22"], "a schema's `$ref` is fetched from outside"),
    row(38, DENY, &["gh-aw-mcpg#3332"], "a tool that is not shown can be called"),
    row(39, DENY, &["Codewhale#2744", "BerriAI/litellm#15725"], "the server is told from a prefix of the tool's name, and wrongly"),
    row(40, DENY, &["mcp-context-protector#20"], "two command lines are one once they are joined"),
    row(41, PASS, &["IBM/mcp-context-forge#3811", "octocode#272", "mondaycom/mcp#252"], "honest text with signs of a shell in it costs the tool"),
    row(42, PASS, &["cisco mcp-scanner#237"], "one loose pattern over a paragraph: every find false"),
    row(43, DENY, &["lasso mcp-gateway#24"], "an order in an enum, a default, a title, a nested property"),
    row(44, DENY, &["mutx-dev#3847"], "an order under an annotation that nobody knows"),
    row(45, BOTH, &["catidegla/mcpaudit"], "who is ordered about: use of this tool is documentation, use of others is an attack"),
    row(46, PASS, &["snyk/agent-scan#2"], "honest words about a prompt parameter"),
    row(47, BOTH, &["audit of 140,284 descriptions"], "the textbook's payload was nowhere, concealment was; a false alarm weighs as much as a miss"),
    row(48, BOTH, &["modelcontextprotocol/python-sdk#1112", "anthropics/claude-code#59227"], "JSON text in a string is decoded; an object arrives as text"),
    row(49, DENY, &["ha-mcp#218", "trusty-tools#7927"], "a word is taken for a boolean"),
    row(50, BOTH, &["apify/apify-mcp-server#1360"], "absent or empty arguments are refused, an array or a text becomes an empty object"),
    row(51, BOTH, &["SparkyFitness#1540"], "null for a string, and for a string that may be null"),
    row(52, BOTH, &["IBM/mcp-context-forge#4135", "modelcontextprotocol/typescript-sdk#654"], "an outputSchema is held against an error, and hides it"),
    row(53, PASS, &["gridctl#848", "fastmcp#4216"], "structuredContent, isError or an error's content that is no text is lost"),
    row(54, PASS, &["openclaw#68037"], "every block of a result becomes text"),
    row(55, DENY, &["MCPJungle#252"], "the client's own token goes on to a server"),
    row(56, DENY, &["HolmesGPT#2414", "microsoft/vscode#320347"], "a redirect elsewhere takes keys and session ids along"),
    FieldReport {
        beyond: Some("the `endpoint` event is of the transport of 2024-11-05, which is refused whole (protocol-version)"),
        ..row(57, DENY, &["vercel/ai#16050"], "a second `endpoint` event leads to another origin")
    },
    row(58, BOTH, &["routecraft#554"], "a foreign Origin gets no CORS headers, and its request runs"),
    row(59, DENY, &["ihor-sokoliuk/mcp-searxng#82"], "inner addresses in odd spellings, and redirects that lead to them"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_rise_and_every_source_names_its_own_report() {
        let mut keys = BTreeSet::new();
        for (index, report) in FIELD_REPORTS.iter().enumerate() {
            assert_eq!(usize::from(report.number), index + 1);
            assert!(!report.owes.words().is_empty() && !report.sources.is_empty(), "{report:?}");
            for source in report.sources {
                assert!(keys.insert(key(source).unwrap_or(source)), "{source} stands twice");
                let found = FieldReport::named(source).map(|(found, source)| (found.number, source));
                assert_eq!(found, Some((report.number, *source)));
            }
        }
    }

    #[test]
    fn owners_are_for_readers() {
        let number = |reference| FieldReport::named(reference).map(|(report, _)| report.number);
        assert_eq!(number("rust-sdk#938"), Some(4));
        assert_eq!(number("anyone/rust-sdk#938"), Some(4));
        assert_eq!(number("docker/mcp-gateway#414"), Some(1));
        assert_eq!(number("lasso mcp-gateway#24"), Some(43));
        for other in ["rust-sdk", "rust-sdk#", "rust-sdk#9380", "my-rust-sdk#938", "#938", "rust-sdk#93a"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
