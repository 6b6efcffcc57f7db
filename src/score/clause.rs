//! The requirements of the specification that a middlebox meets, by their numbers.
//!
//! A case that is there for one names it in its `refs` as `clause 49`.

/// How binding a requirement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Force {
    /// Whoever breaks it doesn't speak the protocol.
    Must,
    /// It may be broken for a reason.
    Should,
    /// The specification says how it is, and leaves it at that.
    Says,
}

/// The eras in which a requirement holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Eras {
    /// Every revision.
    All,
    /// The revisions that open with `initialize`; the line says which where it is not all.
    Handshake,
    /// 2026-07-28.
    Stateless,
}

impl Eras {
    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Handshake => "handshake",
            Self::Stateless => "stateless",
        }
    }
}

impl Force {
    /// The word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Says => "says",
        }
    }
}

/// One requirement, or a few that make one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Its number, or the first of its numbers.
    pub first: u16,
    /// The last of them.
    pub last: u16,
    /// How binding it is.
    pub force: Force,
    /// Where it holds.
    pub eras: Eras,
    /// What it asks for, in our own words.
    pub says: &'static str,
    /// The page of the specification.
    pub page: &'static str,
    /// Why no case can be there for it, where none can.
    pub beyond: Option<&'static str>,
}

impl Clause {
    /// Its number or numbers.
    pub fn number(&self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}-{}", self.first, self.last) }
    }

    /// The clause that a reference names: `clause 49`, in this very spelling.
    pub fn named(reference: &str) -> Option<&'static Self> {
        let text = reference.strip_prefix("clause ")?;
        let number: u16 = text.parse().ok().filter(|number: &u16| number.to_string() == text)?;
        CLAUSES.iter().find(|clause| (clause.first..=clause.last).contains(&number))
    }
}

/// Whether a reference means to name a clause.
pub fn means_a_clause(reference: &str) -> bool {
    reference.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("clause"))
}

use Eras::{All, Handshake, Stateless};
use Force::{Must, Says, Should};

type Row = (u16, Force, Eras, &'static str, &'static str);

const fn row((number, force, eras, page, says): Row) -> Clause {
    Clause { first: number, last: number, force, eras, says, page, beyond: None }
}

const fn upto(last: u16, row: Row) -> Clause {
    Clause { last, ..self::row(row) }
}

const fn beyond(why: &'static str, row: Row) -> Clause {
    Clause { beyond: Some(why), ..self::row(row) }
}

const BASIC: &str = "basic";
const LIFECYCLE: &str = "basic/lifecycle";
const TRANSPORTS: &str = "basic/transports";
const SECURITY: &str = "basic/security_best_practices";
const AUTHORIZATION: &str = "basic/authorization";

/// Every clause, by number.
#[rustfmt::skip]
pub const CLAUSES: &[Clause] = &[
    row((1, Must, All, BASIC, "every message is JSON-RPC 2.0 in UTF-8")),
    row((2, Must, All, BASIC, "a request's id is a string or a whole number, never null")),
    row((3, Must, All, BASIC, "an id is not used again while its request is in flight")),
    row((4, Must, All, BASIC, "a reply bears the id of its request, value and type")),
    row((5, Must, All, BASIC, "a reply has a result or an error, never both or neither")),
    row((7, Must, All, BASIC, "a notification has no id")),
    row((8, Must, All, BASIC, "nobody answers a notification")),
    row((9, Must, All, BASIC, "batches are taken in 2025-03-26, and in no other revision")),
    row((10, Must, All, BASIC, "an unknown method is answered with -32601")),
    row((11, Says, All, BASIC, "bad JSON is -32700, a bad shape -32600, bad params -32602, a failure within -32603")),
    row((14, Should, All, BASIC, "a gate's own errors can't be taken for the peer's")),
    row((15, Must, Handshake, LIFECYCLE, "a session begins with initialize")),
    row((16, Must, Handshake, LIFECYCLE, "the client says notifications/initialized once it was answered")),
    row((17, Should, Handshake, LIFECYCLE, "before the answer to initialize a client asks for nothing but ping")),
    row((18, Should, Handshake, LIFECYCLE, "before initialized a server asks for nothing but ping, and may log")),
    row((19, Must, Handshake, LIFECYCLE, "a server answers with the version asked for, or with one that it supports")),
    row((21, Must, Handshake, LIFECYCLE, "both sides use what was negotiated and nothing else")),
    row((22, Must, Handshake, "basic/utilities/cancellation", "initialize is never cancelled")),
    row((23, Should, All, LIFECYCLE, "whoever gives up on a request says so with a cancellation")),
    beyond("it is done to a process, and nothing of it is on the wire; the guard is held to it by tests of its own",
        (24, Should, All, LIFECYCLE, "a server on stdio is ended by closing its input, waiting, TERM and KILL")),
    row((25, Must, Stateless, BASIC, "each request says its version and the client's capabilities in `_meta`; else -32602")),
    row((26, Must, Stateless, BASIC, "-32022 lists the versions that are supported")),
    row((28, Must, Stateless, BASIC, "nothing is inferred from the connection that a request comes on")),
    row((29, Must, Stateless, BASIC, "what needs a capability that was not declared is answered with -32021")),
    row((33, Must, Stateless, BASIC, "a result without `resultType` is complete, one with an unknown one is invalid")),
    row((34, Says, All, BASIC, "servers of both eras tell them apart by `_meta`")),
    row((37, Must, All, TRANSPORTS, "stdio: one message a line, ended by a line feed, with none within")),
    row((38, Must, All, TRANSPORTS, "stdio: a server writes nothing but messages to its output")),
    row((39, Must, All, TRANSPORTS, "stdio: a client writes nothing but messages to a server's input")),
    row((40, Should, All, TRANSPORTS, "stdio: what a server writes to its error output is no error")),
    row((42, Should, All, TRANSPORTS, "stdio: a server ends when its input does, and answers first what it took")),
    beyond("one URL is what a trial is given; a second one would be a second server",
        (45, Must, All, TRANSPORTS, "HTTP: a server has one endpoint")),
    row((46, Must, All, TRANSPORTS, "HTTP: each message of a client is a POST of its own")),
    row((47, Must, All, TRANSPORTS, "HTTP: `Accept` lists JSON and event streams")),
    row((48, Must, All, TRANSPORTS, "HTTP: a client takes a reply as JSON and as an event stream")),
    row((49, Must, All, TRANSPORTS, "HTTP: an accepted notification or reply is answered with 202 and no body")),
    row((50, Must, All, TRANSPORTS, "HTTP: `Origin` is checked; a foreign one is answered with 403")),
    beyond("which address a gate listens on is its operator's; the harness listens on loopback",
        (51, Should, All, TRANSPORTS, "HTTP: a local server listens on the loopback interface alone")),
    row((53, Must, All, TRANSPORTS, "HTTP: the version's header comes with each request after the opening (from 2025-06-18), or with each POST (2026-07-28)")),
    row((54, Must, All, TRANSPORTS, "HTTP: a version that is invalid or not supported is answered with 400")),
    row((55, Should, Handshake, TRANSPORTS, "HTTP: without the version's header, 2025-03-26 is assumed")),
    row((57, Must, Handshake, TRANSPORTS, "HTTP: a session's id comes with each of its requests")),
    row((58, Should, Handshake, TRANSPORTS, "HTTP: a request without the session's id is answered with 400")),
    row((59, Must, Handshake, TRANSPORTS, "HTTP: a request in a session that has ended is answered with 404")),
    row((60, Must, Handshake, TRANSPORTS, "HTTP: a client that is answered with 404 opens a new session")),
    row((61, Should, Handshake, TRANSPORTS, "HTTP: a client ends its session with DELETE, and bears a 405")),
    row((62, Must, Handshake, TRANSPORTS, "HTTP: a GET is answered with an event stream or with 405")),
    row((63, Must, Handshake, TRANSPORTS, "HTTP: no reply comes on the stream of a GET, unless it resumes")),
    row((64, Must, Handshake, TRANSPORTS, "HTTP: each message of a server comes on one stream")),
    beyond("the ids are the server's to give; that a gate hands them on as they came is held by a test of the transport",
        (65, Must, Handshake, TRANSPORTS, "HTTP: the ids of events are unique in a session")),
    row((66, Must, Handshake, TRANSPORTS, "HTTP: what is sent again after `Last-Event-ID` is of that stream alone")),
    row((67, Should, Handshake, TRANSPORTS, "HTTP: a connection that breaks cancels nothing")),
    beyond("that a stream was closed is in no message; that a gate hands it on is held by a test of the transport",
        (68, Must, Stateless, TRANSPORTS, "HTTP: a client that closes a response's stream cancels its request")),
    row((69, Should, Handshake, TRANSPORTS, "HTTP: a stream may begin with an event without data; `retry` is obeyed (from 2025-11-25)")),
    row((73, Should, All, TRANSPORTS, "HTTP: comment lines of an event stream say nothing")),
    upto(81, (76, Must, Stateless, TRANSPORTS, "HTTP: `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` say what the body says; else 400 and -32020")),
    row((82, Must, Stateless, TRANSPORTS, "HTTP: an intermediary hands on `Mcp-Param-*` headers that it doesn't know")),
    row((83, Must, Stateless, TRANSPORTS, "HTTP: an intermediary that finds a header wrong answers with an HTTP error")),
    upto(87, (84, Must, Stateless, TRANSPORTS, "HTTP: how values of headers are written and compared")),
    upto(95, (88, Must, Stateless, "basic/patterns/mrtr", "rounds: only at three methods; a state is opaque, echoed as it came under a new id, for its own request and principal alone")),
    row((101, Must, All, "basic/utilities/cancellation", "one cancels only requests of one's own that are in flight")),
    row((102, Must, All, "basic/utilities/cancellation", "a cancellation that crosses the reply is borne on both sides")),
    row((104, Must, All, "basic/utilities/progress", "progress names a token that is unique and whose request is in flight")),
    row((105, Must, All, "basic/utilities/progress", "progress rises, and ends with its request")),
    row((107, Must, All, "server/utilities/pagination", "a cursor is opaque, and goes back as it came; in 2026-07-28 the empty one is a cursor")),
    row((112, Must, Stateless, "server/utilities/caching", "what is private is kept for one principal alone")),
    row((113, Must, Stateless, "server/utilities/caching", "no cache is shared among principals unless a server says that it may be")),
    row((115, Must, All, BASIC, "names in `_meta` have prefixes, of which the protocol's own are reserved")),
    row((117, Must, All, LIFECYCLE, "whoever offers something has declared it first")),
    row((119, Must, All, "server/tools", "a list varies by who asks, never by the connection")),
    row((120, Must, All, "server/tools", "a structured result fits the tool's outputSchema, errors excepted (from 2025-06-18)")),
    row((121, Must, All, "server/tools", "annotations are not trusted, unless the server is")),
    row((122, Should, All, "server/tools", "a tool's name is 1 to 128 letters, digits, underscores, dots and hyphens")),
    row((123, Says, All, "server/tools", "an unknown tool is a protocol error; bad arguments are an isError result from 2025-11-25")),
    row((124, Must, All, "server/tools", "an inputSchema is an object")),
    row((125, Must, All, BASIC, "a `$ref` is never fetched from the network")),
    row((127, Must, All, "client/elicitation", "a form asks for no secret; a URL is shown whole and never opened unasked")),
    row((129, Must, All, "client/roots", "a root is a file:// URI")),
    row((130, Must, All, BASIC, "an icon is fetched by https or is data (from 2025-11-25)")),
    row((133, Must, All, AUTHORIZATION, "a token is taken only by the audience that it was made for")),
    row((134, Must, All, SECURITY, "a client's token is never handed through to a server")),
    row((135, Must, All, AUTHORIZATION, "a token never stands in a URI")),
    row((136, Must, All, SECURITY, "a proxy asks for consent for each client before it lends its own rights")),
    row((137, Must, All, SECURITY, "no request goes where a name or a redirect leads inside: https, public addresses, names pinned")),
    row((138, Must, All, SECURITY, "a session's id proves nobody's identity")),
    row((139, Must, All, SECURITY, "a local server is launched only as the user was shown, whole, and approved")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_no_two_clauses_share_one() {
        for pair in CLAUSES.windows(2) {
            assert!(pair[0].first <= pair[0].last && pair[0].last < pair[1].first, "{pair:?}");
        }
    }

    #[test]
    fn a_reference_is_exact() {
        assert_eq!(Clause::named("clause 49").map(|clause| clause.first), Some(49));
        assert_eq!(Clause::named("clause 90").map(|clause| clause.first), Some(88));
        for other in ["clause 6", "clause 049", "clause +49", "clause  49", "Clause 49", "clause 49a", "49", "clause"] {
            assert_eq!(Clause::named(other), None, "{other}");
        }
        assert!(means_a_clause("Clause 49") && means_a_clause(" clause49") && !means_a_clause("MCP clauses"));
    }
}
