//! Steps and expectations in plain words: for `explain` and for reasons.

use std::fmt;

use super::{
    Case, End, Fault, Launch, LaunchedAs, Mutation, Overlay, Piece, Predicate, Refusal, ReplyWants, Seen, Stage,
    StateIs, Step, Until, Verb, labels,
};

/// The longest text that is quoted whole.
const LONGEST: usize = 160;

impl Case {
    /// What is changed or broken about each server before the session.
    pub fn server_words(&self) -> Vec<String> {
        let of = self.servers().flat_map(|(name, server)| {
            let overlays = server.overlay.iter().map(overlay);
            let faults = server.faults.iter().map(fault);
            let greets = pieces(&server.greeting).map(|how| format!("writes {how} before it was asked"));
            let chats = server.stderr.as_deref().map(|text| format!("writes {} on standard error", quote(text)));
            let launched = server.launch.iter().map(launch);
            let hidden = (!server.connect).then(|| "is not opened by the client".to_owned());
            let speaks = server.speaks.iter().map(|revisions| {
                let revisions: Vec<_> = revisions.iter().map(|revision| revision.as_str()).collect();
                format!("speaks {} alone", revisions.join(", "))
            });
            overlays
                .chain(speaks)
                .chain(faults)
                .chain(launched)
                .chain(greets)
                .chain(chats)
                .chain(hidden)
                .map(move |text| format!("{name}: {text}"))
                .collect::<Vec<_>>()
        });
        of.collect()
    }

    /// What was stored before the session.
    pub fn stored_words(&self) -> Vec<String> {
        let store = self.body.host.pin_store.iter();
        store.map(|text| format!("the gate's store of approvals holds {}", quote(text))).collect()
    }

    /// Every step, with its label where something may refer to it.
    pub fn step_words(&self) -> Vec<String> {
        let labels = labels(&self.body.steps);
        self.body.steps.iter().map(|step| labelled(step, &labels)).collect()
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&predicate(self))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.stage {
            Stage::Request => "before the server, which must receive no request for it",
            Stage::Reply => "on the way back; the server may have answered",
            Stage::Server => "by the server itself",
        };
        write!(f, "step '{}', with an error or an isError result under its own id, {place}", self.of)
    }
}

fn labelled(step: &Step, labels: &[(String, &Step)]) -> String {
    let inner = || step.inner().iter().map(|inner| labelled(inner, labels)).collect::<Vec<_>>().join("; ");
    match step {
        Step::Together(_) => format!("at once: {}", inner()),
        Step::Repeat(repeat) => format!("{} times over: {}", repeat.times, inner()),
        other => match labels.iter().find(|(_, named)| std::ptr::eq(*named, other)) {
            Some((label, _)) => format!("{} [{label}]", doing(other)),
            None => doing(other),
        },
    }
}

fn doing(step: &Step) -> String {
    let on = step.server().map(|server| format!(" on {server}")).unwrap_or_default();
    match step {
        Step::Open(open) => {
            let version = open.version.as_deref().map(|version| format!(", asking for version {version}"));
            let launched = open.launch.as_ref().map(|how| format!(", and the server {}", launch(how)));
            let how = open.opening.as_deref().map(|how| format!(" by {how}")).unwrap_or_default();
            let (version, launched) = (version.unwrap_or_default(), launched.unwrap_or_default());
            format!("the client opens the session{on}{how}{version}{launched}")
        }
        Step::List(list) => format!("the client lists {}{on}", list.what.as_deref().unwrap_or("tools")),
        Step::Call(call) => format!("the client calls {}{on}{}", call.tool, with(call.arguments.as_deref())),
        Step::Request(request) => {
            format!("the client requests {}{on}{}", request.method, with(request.params.as_deref()))
        }
        Step::Notify(notify) => format!("the client notifies {}{on}{}", notify.method, with(notify.params.as_deref())),
        Step::Send(raw) => {
            if raw.verb != Verb::Post {
                let what = if raw.verb == Verb::Get { "asks for the stream" } else { "ends the session" };
                return format!("the client {what}{on} (HTTP {})", format!("{:?}", raw.verb).to_uppercase());
            }
            let what = raw.text.as_deref().or(raw.base64.as_deref()).unwrap_or_default();
            let until = match raw.until {
                Until::Reply => "",
                Until::Any => ", and takes any answer",
                Until::Sent => ", and waits for nothing",
            };
            let bare = if raw.bare { "bare" } else { "raw" };
            let written = pieces(&raw.wire).map(|how| format!(", written as {how}")).unwrap_or_default();
            format!("the client sends{on} the {bare} text {}{written}{until}", quote(what))
        }
        Step::Obey(obey) => format!(
            "a host that believes what it reads calls {}{}, if {} reached it",
            obey.call.tool,
            with(obey.call.arguments.as_deref()),
            quote(&obey.seen)
        ),
        Step::Approve(_) => format!("the host approves what is listed{on}"),
        Step::Consent(consent) => {
            format!("the user consents to one call of {}{on}{}", consent.tool, with(consent.arguments.as_deref()))
        }
        Step::Mutate(mutation) => format!("the server changes{on}: {}", mutation_words(mutation)),
        Step::Emit(emit) => {
            let times = emit.times.map(|times| format!(" {times} times")).unwrap_or_default();
            let long = emit.pad_to.map(|bytes| format!(" in {bytes} bytes")).unwrap_or_default();
            format!("the server says unasked{on}{times}{long}: {}", quote(&emit.text))
        }
        Step::Reconnect(_) => format!("the client closes and connects anew{on}"),
        Step::Restart(_) => "the gate restarts, and keeps what it stored".to_owned(),
        Step::Together(_) | Step::Repeat(_) => String::new(),
    }
}

fn launch(launch: &Launch) -> String {
    let mut parts = Vec::new();
    parts.extend(launch.argv.as_ref().map(|argv| format!("is launched as {}", quote(&argv.join(" ")))));
    parts.extend(launch.layer.map(|layer| format!("comes from the {} layer", format!("{layer:?}").to_lowercase())));
    parts.extend((!launch.env.is_empty()).then(|| {
        let names: Vec<_> = launch.env.keys().map(String::as_str).collect();
        format!("would get the environment {}", names.join(", "))
    }));
    parts.join(", ")
}

fn mutation_words(mutation: &Mutation) -> String {
    let when = mutation.after_requests.map(|count| format!(", after {count} more requests")).unwrap_or_default();
    let said = if mutation.announce { ", and says so" } else { "" };
    format!("{}{when}{said}", overlay(&mutation.overlay))
}

fn overlay(overlay: &Overlay) -> String {
    let whose = match overlay.tool.as_deref() {
        Some("*") => "the definition of its first tool".to_owned(),
        Some(tool) => format!("the definition of {tool}"),
        None => "its catalogue".to_owned(),
    };
    let ways = [
        ("is merged with", &overlay.merge),
        ("is patched by", &overlay.patch),
        ("is replaced by", &overlay.replace),
        ("says in addition", &overlay.append),
    ];
    let how = ways.iter().find_map(|(verb, text)| Some(format!("{verb} {}", quote(text.as_deref()?))));
    format!("{whose} {}", how.unwrap_or_default())
}

fn fault(fault: &Fault) -> String {
    let which = fault.nth.map_or_else(|| "every".to_owned(), |nth| format!("request {nth} for"));
    let mut parts = Vec::new();
    let mut add = |part: Option<String>| parts.extend(part);
    add(fault.reply.as_deref().map(|text| format!("the server sends {}", quote(text))));
    add(fault.before.as_deref().map(|text| format!("it sends {} before the reply", quote(text))));
    add(fault.then.as_deref().map(|text| format!("it sends {} behind the reply", quote(text))));
    add(fault.silent.then(|| "it says nothing".to_owned()));
    add(fault.close.then(|| "it closes the connection".to_owned()));
    add(fault.pad_to.map(|bytes| format!("its result is padded to {bytes} bytes")));
    add((fault.hold > 0).then(|| format!("it waits for {} more messages first", fault.hold)));
    add(fault.on_get.as_deref().map(|text| format!("it sends {} on the stream of a GET", quote(text))));
    add(pieces(&fault.wire).map(|how| format!("what it says is written as {how}")));
    add((!fault.interim.is_empty()).then(|| format!("it first answers with HTTP status {:?}", fault.interim)));
    add(fault.asked_with.as_deref().map(|header| format!("but only if asked with {header}")));
    add(fault.status.map(|status| format!("it answers with HTTP status {status}")));
    add(fault.content_type.as_deref().map(|kind| format!("it answers as {kind}")));
    for (name, value) in &fault.headers {
        add(Some(format!("it sets the header {name} to {}", quote(value))));
    }
    add(fault.redirect.as_ref().map(|server| format!("it redirects to {server}")));
    format!("at {which} {}: {}", fault.method, parts.join(", "))
}

/// What is written, piece by piece.
fn pieces(wire: &[Piece]) -> Option<String> {
    let piece = |piece: &Piece| {
        let what = piece.text.as_deref().map(|text| quote(&text.escape_debug().to_string()));
        let what = what.or_else(|| piece.base64.as_deref().map(|text| format!("the bytes {text} (base64)")));
        let mut parts: Vec<String> = what.into_iter().collect();
        parts.extend(piece.after_messages.map(|count| format!("after {count} more messages")));
        parts.extend(piece.cut.map(|at| format!("cut off at {at} bytes")));
        parts.extend(piece.split.map(|at| format!("in two writes, split at byte {at}")));
        parts.extend(piece.drip.map(|size| format!("{size} bytes a write")));
        parts.extend(piece.end.map(|end| match end {
            End::Close => "and the connection closes".to_owned(),
            End::HalfClose => "and nothing more is said".to_owned(),
        }));
        parts.join(" ")
    };
    (!wire.is_empty()).then(|| wire.iter().map(piece).collect::<Vec<_>>().join(", then "))
}

fn predicate(predicate: &Predicate) -> String {
    match predicate {
        Predicate::ServerGot(seen) => format!("{} reached {}", message(seen), whom(seen, "a server")),
        Predicate::ServerGotInOrder(wanted) => {
            let steps: Vec<_> = wanted.iter().map(message).collect();
            format!("these reached a server one after another: {}", steps.join(", then "))
        }
        Predicate::ClientGot(seen) => {
            let from = seen.server.as_ref().map(|server| format!(" from {server}")).unwrap_or_default();
            format!("{} reached the client{from}", message(seen))
        }
        Predicate::State(state) => state_words(state),
        Predicate::Launched(wanted) => launched(wanted),
        Predicate::Reply(wants) => format!("the reply to '{}' {}", wants.of, reply(wants)),
        Predicate::Unchanged(step) => {
            format!("the reply to '{}' reached the client byte for byte as the server sent it", step.of)
        }
        Predicate::Not(inner) => format!("it is not so that {}", self::predicate(inner)),
        Predicate::Any(any) => any.iter().map(self::predicate).collect::<Vec<_>>().join(", or "),
    }
}

fn launched(wanted: &LaunchedAs) -> String {
    let whose = wanted.server.as_ref().map_or_else(|| "the server".to_owned(), ToString::to_string);
    let mut parts = Vec::new();
    parts.extend(wanted.argument.as_deref().map(|argument| format!("with the argument {}", quote(argument))));
    parts.extend(wanted.env.as_deref().map(|name| {
        let value = wanted.value.as_deref().map(|value| format!(" containing {}", quote(value)));
        format!("with {name}{} in its environment", value.unwrap_or_default())
    }));
    format!("{whose} was launched {}", parts.join(" and ")).trim_end().to_owned()
}

fn message(seen: &Seen) -> String {
    let mut parts = Vec::new();
    let mut add = |part: Option<String>| parts.extend(part);
    add(seen.method.as_deref().map(|method| format!("of {method}")));
    add(seen.tool.as_deref().map(|tool| format!("that calls {tool}")));
    add(seen.text.as_deref().map(|text| format!("with the text {}", quote(text))));
    add(seen.pointer.as_deref().map(|pointer| format!("with {pointer}{}", equals(seen.equals.as_deref()))));
    add(seen.header.as_deref().map(|header| {
        let value = seen.value.as_deref().map(|value| format!(" containing {}", quote(value)));
        format!("with the header {header}{}", value.unwrap_or_default())
    }));
    add(seen.status.map(|status| format!("with HTTP status {status}")));
    let count = match seen.exactly {
        None => "a message".to_owned(),
        Some(0) => "no message".to_owned(),
        Some(1) => "exactly one message".to_owned(),
        Some(many) => format!("exactly {many} messages"),
    };
    std::iter::once(count).chain(parts).collect::<Vec<_>>().join(" ")
}

fn whom(seen: &Seen, anyone: &str) -> String {
    seen.server.as_ref().map_or_else(|| anyone.to_owned(), ToString::to_string)
}

fn state_words(state: &StateIs) -> String {
    let whose = state.server.as_ref().map_or_else(|| "the server's".to_owned(), |server| format!("{server}'s"));
    if state.absent {
        format!("{whose} state has nothing at {}", state.pointer)
    } else {
        format!("{whose} state has {}{}", state.pointer, equals(state.equals.as_deref()))
    }
}

fn reply(wants: &ReplyWants) -> String {
    let mut parts = Vec::new();
    let mut add = |part: Option<String>| parts.extend(part);
    add(wants.ok.map(|ok| if ok { "is a success" } else { "is an error" }.to_owned()));
    add(wants.code.map(|code| format!("is a JSON-RPC error with code {code}")));
    add(wants.is_error.map(|flag| format!("has isError {flag}")));
    add(wants.status.map(|status| format!("has HTTP status {status}")));
    add(wants.text.as_deref().map(|text| format!("holds the text {}", quote(text))));
    add(wants.pointer.as_deref().map(|pointer| format!("has {pointer}{}", equals(wants.equals.as_deref()))));
    add(wants.lists.as_deref().map(|tool| format!("lists the tool {tool}")));
    let what = if parts.is_empty() { "came".to_owned() } else { parts.join(" and ") };
    wants.exactly.map_or(what.clone(), |count| format!("{what}, in exactly {count} of its repetitions"))
}

fn equals(text: Option<&str>) -> String {
    text.map(|text| format!(" equal to {}", quote(text))).unwrap_or_default()
}

fn with(arguments: Option<&str>) -> String {
    arguments.map(|text| format!(" with {}", quote(text))).unwrap_or_default()
}

/// On one line, control characters escaped, shortened.
fn quote(text: &str) -> String {
    let mut out: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(LONGEST)
        .flat_map(|c| {
            let is_hidden = c.is_control() || (!c.is_ascii() && !c.is_alphanumeric());
            if is_hidden { c.escape_default().collect::<Vec<_>>() } else { vec![c] }
        })
        .collect();
    if text.chars().count() > LONGEST {
        out.push('…');
    }
    format!("`{out}`")
}
