//! Feeds events into a guarded gate and asks what came of them.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Act, Approval, CheckSet, Consent, Decision, Delegation, Delegations, Event, Gate as _, Guarded, Head, Hop, Layer,
    Opening, Passing, Reach, Rewrite, Rules, Ruling, SchemaCache, Told, Unanswered, Verb, Via, checks::CheckId,
};
use crate::protocol::{Direction, Id, Message, ServerName};

/// A gate in front of one server, `board`.
#[derive(Debug)]
pub(super) struct Driver {
    gate: Guarded,
    server: ServerName,
    next: u64,
    /// The HTTP request that everything comes in on from now on.
    via: Option<(Verb, Vec<(String, String)>)>,
    /// Whether everything comes in batches from now on.
    batched: bool,
}

/// What came of one event.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ruling: Ruling,
    sent: String,
}

pub(super) fn rules(settings: &str) -> Rules {
    let text = format!("schema = 1\ntitle = \"a test\"\n{settings}");
    Rules::new(toml::from_str(&text).unwrap(), Arc::new(SchemaCache::default())).unwrap()
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Driver {
    /// A gate with every check on, under a policy (TOML without its head).
    pub(super) fn new(settings: &str) -> Self {
        Self::of(Guarded::new(rules(settings), Delegations::new()))
    }

    /// A gate with one check on.
    pub(super) fn only(check: &str, settings: &str) -> Self {
        let only = CheckSet::none().with(CheckId::parse(check).unwrap(), true);
        Self::of(Guarded::new(rules(settings).with_checks(only), Delegations::new()))
    }

    /// A gate with one check on that holds a token for `board`.
    pub(super) fn with_token(check: &str, settings: &str, token: &str) -> Self {
        let only = CheckSet::none().with(CheckId::parse(check).unwrap(), true);
        let delegations =
            Delegations::from([("board".into(), Delegation { token: token.to_owned(), scopes: Vec::new() })]);
        Self::of(Guarded::new(rules(settings).with_checks(only), delegations))
    }

    /// The same, with a token that is good for these scopes.
    pub(super) fn with_scopes(check: &str, settings: &str, token: &str, scopes: &[&str]) -> Self {
        let only = CheckSet::none().with(CheckId::parse(check).unwrap(), true);
        let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
        let delegations = Delegations::from([("board".into(), Delegation { token: token.to_owned(), scopes })]);
        Self::of(Guarded::new(rules(settings).with_checks(only), delegations))
    }

    /// A gate with every check on but one, which holds a token for `board`.
    pub(super) fn without(check: &str, settings: &str) -> Self {
        let rest = CheckSet::all().with(CheckId::parse(check).unwrap(), false);
        let delegations =
            Delegations::from([("board".into(), Delegation { token: "made-up-token".to_owned(), scopes: Vec::new() })]);
        Self::of(Guarded::new(rules(settings).with_checks(rest), delegations))
    }

    /// A gate with one check on that is told of names and links outside.
    pub(super) fn within(check: &str, settings: &str, names: &[(&str, &[&[&str]])], links: &[(&str, &str)]) -> Self {
        let only = CheckSet::none().with(CheckId::parse(check).unwrap(), true);
        let answer = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        let names = names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(answer).collect()));
        let links = links.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned()));
        let told = Arc::new(Told::new(names.collect(), links.collect()));
        Self::of(Guarded::new(rules(settings).with_checks(only), Delegations::new()).with_surroundings(told))
    }

    pub(super) fn of(gate: Guarded) -> Self {
        Self { gate, server: "board".into(), next: 100, via: None, batched: false }
    }

    /// From now on everything comes in on, or answers, an HTTP request with these
    /// headers.
    pub(super) fn via(&mut self, verb: Verb, headers: &[(&str, &str)]) -> &mut Self {
        self.via = Some((verb, owned(headers)));
        self
    }

    /// From now on everything comes in batches that were taken apart, or alone again.
    pub(super) fn batched(&mut self, batched: bool) -> &mut Self {
        self.batched = batched;
        self
    }

    fn pass(&mut self, direction: Direction, text: &str, headers: Option<&[(String, String)]>) -> Outcome {
        let message = Message::new(text.to_owned());
        let via = self.via.as_ref().map(|(verb, headers)| Via { verb: *verb, headers });
        let (headers, via) = match direction {
            Direction::Requestward => {
                let headers = headers.or(via.map(|via| via.headers));
                (headers, via.or(headers.map(|headers| Via { verb: Verb::Post, headers })))
            }
            Direction::Replyward => (headers, via),
        };
        let event = Event::Passing(Passing {
            server: &self.server,
            direction,
            message: &message,
            headers,
            via,
            batched: self.batched,
        });
        Outcome { ruling: self.gate.decide(&event), sent: text.to_owned() }
    }

    /// The client sends a message.
    pub(super) fn ask(&mut self, text: &str) -> Outcome {
        self.pass(Direction::Requestward, text, None)
    }

    /// The client sends a message over HTTP.
    pub(super) fn ask_with(&mut self, text: &str, headers: &[(&str, &str)]) -> Outcome {
        self.pass(Direction::Requestward, text, Some(&owned(headers)))
    }

    /// The server sends a message.
    pub(super) fn tell(&mut self, text: &str) -> Outcome {
        self.pass(Direction::Replyward, text, None)
    }

    /// The server sends a message over HTTP.
    pub(super) fn tell_with(&mut self, text: &str, headers: &[(&str, &str)]) -> Outcome {
        self.pass(Direction::Replyward, text, Some(&owned(headers)))
    }

    /// The head of a response comes, to the request with this id.
    pub(super) fn head(&mut self, status: u16, headers: &[(&str, &str)], id: Option<i64>) -> Outcome {
        let (id, headers) = (id.map(Id::from), owned(headers));
        let via = self.via.as_ref().map(|(verb, headers)| Via { verb: *verb, headers });
        let event = Event::Head(Head { server: &self.server, answers: id.as_ref(), status, headers: &headers, via });
        Outcome { ruling: self.gate.decide(&event), sent: format!("{status} {headers:?}") }
    }

    /// The server redirects the request with this id.
    pub(super) fn hop(&mut self, from: &str, to: &str, id: Option<i64>) -> Outcome {
        let id = id.map(Id::from);
        let event = Event::Hop(Hop { server: &self.server, answers: id.as_ref(), from, to, status: 307 });
        Outcome { ruling: self.gate.decide(&event), sent: to.to_owned() }
    }

    /// No answer comes to the request with this id any more.
    pub(super) fn unanswered(&mut self, id: i64) {
        self.gate.decide(&Event::Unanswered(Unanswered { server: &self.server, id: &Id::from(id) }));
    }

    fn request(&mut self, method: &str, params: &str) -> (u64, Outcome) {
        self.next += 1;
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.next);
        (self.next, self.ask(&text))
    }

    /// The id of the last request under a fresh id.
    pub(super) fn last(&self) -> u64 {
        self.next
    }

    /// The client sends a request under a fresh id.
    pub(super) fn req(&mut self, method: &str, params: &str) -> Outcome {
        self.request(method, params).1
    }

    /// A request and the server's result for it; where the request is refused,
    /// that is what came of it.
    pub(super) fn exchange(&mut self, method: &str, params: &str, result: &str) -> Outcome {
        let (id, asked) = self.request(method, params);
        if matches!(asked.ruling.decision, Decision::Refuse { .. }) {
            return asked;
        }
        self.tell(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    /// The tools are listed.
    pub(super) fn list(&mut self, tools: &str) -> Outcome {
        self.exchange("tools/list", "{}", &format!(r#"{{"tools":{tools}}}"#))
    }

    /// The client calls a tool.
    pub(super) fn call(&mut self, tool: &str, arguments: &str) -> Outcome {
        self.req("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
    }

    /// A call and its result.
    pub(super) fn result(&mut self, tool: &str, arguments: &str, result: &str) -> Outcome {
        self.exchange("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#), result)
    }

    /// A server is to be started in this way.
    pub(super) fn opening(&mut self, reach: Reach, env: &[(&str, &str)], layer: Layer) -> Outcome {
        let env: BTreeMap<_, _> = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let opening = Opening { server: self.server.clone(), reach, env, layer };
        Outcome { ruling: self.gate.decide(&Event::Opening(&opening)), sent: format!("{:?}", opening.reach) }
    }

    /// The session opens.
    pub(super) fn open(&mut self, reach: Reach, env: &[(&str, &str)]) -> Rewrite {
        match self.opening(reach, env, Layer::User).ruling.decision {
            Decision::Forward => Rewrite::default(),
            Decision::Rewrite(rewrite) => rewrite,
            Decision::Refuse { .. } | Decision::Each => panic!("the opening was refused"),
        }
    }
    /// The user consents to one call.
    pub(super) fn consent(&mut self, tool: &str, arguments: &str) {
        self.gate.decide(&Event::Consent(Consent { server: &self.server, tool, arguments }));
    }

    /// From now on it is about another server.
    pub(super) fn on(&mut self, server: &str) -> &mut Self {
        self.server = server.into();
        self
    }

    /// The host approves what was listed.
    pub(super) fn approve(&mut self) {
        self.gate.decide(&Event::Approval(Approval { server: &self.server }));
    }
}

impl Outcome {
    #[track_caller]
    pub(super) fn passes(&self) {
        assert_eq!(self.ruling.decision, Decision::Forward, "{:?}\n{}", self.ruling.findings, self.sent);
    }

    #[track_caller]
    fn rule(&self, rule: &str) {
        assert!(self.ruling.findings.iter().any(|finding| finding.rule == rule), "{:?}\n{}", self.ruling, self.sent);
    }

    /// Refused, with an answer; hands the answer out.
    #[track_caller]
    pub(super) fn refuses(&self, rule: &str) -> Answer {
        self.rule(rule);
        match &self.ruling.decision {
            Decision::Refuse { reply: Some(reply), .. } => Answer(Message::new(reply.clone())),
            other => panic!("{other:?}\n{}", self.sent),
        }
    }

    /// Refused, and nobody is told.
    #[track_caller]
    pub(super) fn drops(&self, rule: &str) {
        self.rule(rule);
        assert_eq!(self.ruling.decision, Decision::Refuse { reply: None, status: None }, "{}", self.sent);
    }

    /// What is forwarded, changed or not.
    #[track_caller]
    pub(super) fn body(&self) -> String {
        match &self.ruling.decision {
            Decision::Forward | Decision::Rewrite(Rewrite { body: None, .. }) => self.sent.clone(),
            Decision::Rewrite(Rewrite { body: Some(body), .. }) => String::from_utf8(body.to_vec()).unwrap(),
            Decision::Refuse { .. } | Decision::Each => panic!("{:?}\n{}", self.ruling, self.sent),
        }
    }

    /// Passes with this header set so.
    #[track_caller]
    pub(super) fn sets(&self, name: &str, value: &str) {
        let Decision::Rewrite(rewrite) = &self.ruling.decision else { panic!("{:?}\n{}", self.ruling, self.sent) };
        assert!(rewrite.headers.contains(&(name.to_owned(), Some(value.to_owned()))), "{rewrite:?}");
    }

    /// To be taken apart.
    #[track_caller]
    pub(super) fn is_taken_apart(&self) {
        assert_eq!(self.ruling.decision, Decision::Each, "{:?}\n{}", self.ruling.findings, self.sent);
    }

    /// The names that a listing shows after the gate.
    #[track_caller]
    pub(super) fn names(&self) -> Vec<String> {
        let message = Message::new(self.body());
        let tools = message.result().and_then(|result| result.member("tools")).unwrap();
        tools.items().iter().map(|tool| tool.member("name").unwrap().as_str().unwrap().to_owned()).collect()
    }

    /// Whether a check took something out of the listing, by this rule.
    pub(super) fn withheld(&self, rule: &str) -> bool {
        self.ruling.findings.iter().any(|finding| finding.act == Act::Withheld && finding.rule == rule)
    }
}

/// The error that a client gets.
#[derive(Debug)]
pub(super) struct Answer(Message);

impl Answer {
    #[track_caller]
    pub(super) fn answers(&self, id: &str) -> &Self {
        assert_eq!(self.0.id().unwrap().to_json(), id);
        self
    }

    #[track_caller]
    pub(super) fn code(&self, code: i64) -> &Self {
        assert_eq!(self.0.error().unwrap().member("code").unwrap().as_number(), Some(code.to_string().as_str()));
        self
    }

    #[track_caller]
    pub(super) fn says(&self, text: &str) -> &Self {
        assert!(self.0.text().contains(text), "{}", self.0.text());
        self
    }

    #[track_caller]
    pub(super) fn never_says(&self, text: &str) -> &Self {
        assert!(!self.0.text().contains(text), "{}", self.0.text());
        self
    }
}
