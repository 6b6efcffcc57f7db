//! Answers what a result asks for, and asks again.

use bytes::Bytes;

use super::{Session, World};
use crate::{
    case::{OwnHeaders, Until},
    protocol::{
        Id, Message, ServerName, Splice, apply_splices, meta,
        strict::{Kind, Node},
    },
    transcript::{Answer, Mark},
    transport::Verb,
};

/// How often a client asks again for one step: it believes what it is told, and the
/// harness must still end.
const ROUNDS: usize = 8;

impl<W: World> Session<'_, W> {
    /// Goes on with requests of the stateless era that were answered with a round: the
    /// host's answers go back with the same request under a new id. What the host has
    /// no answer to ends there.
    pub(super) async fn rounds(&mut self, server: &ServerName, marks: Vec<Mark>) -> Result<(), String> {
        for first in marks {
            let mut latest = first.clone();
            for _ in 0..ROUNDS {
                let Some(body) = self.retry(server, &first, &latest) else { break };
                let id = self.fresh_id();
                let body = renumbered(&body, &id);
                let none = OwnHeaders::new();
                let how = ((Verb::Post, false), &none, &[][..]);
                let sent = self.send(server, first.label.clone(), Some(id), Until::Reply, body, how).await?;
                let Some(mark) = self.settle(server, vec![sent]).await?.into_iter().next() else { break };
                latest = mark;
            }
        }
        Ok(())
    }

    /// The request of `first` with what the answer of `latest` asks for.
    fn retry(&self, server: &ServerName, first: &Mark, latest: &Mark) -> Option<Bytes> {
        let peer = self.peers.get(server).filter(|peer| peer.stateless.is_some())?;
        let method = first.method.as_deref()?;
        let Answer::Reply(reply) = &latest.answer else { return None };
        let reply = Message::new(reply.clone());
        let result = reply.result()?;
        let asks = result.member("resultType").and_then(Node::as_str) == Some("input_required");
        if !asks || !meta::IN_ROUNDS.contains(&method) {
            return None;
        }
        let wanted = result.member("inputRequests").map(Node::members).filter(|wanted| !wanted.is_empty())?;
        let answers = wanted.iter().map(|wanted| {
            let method = wanted.value.member("method").and_then(Node::as_str)?;
            let answer = peer.answers.get(method)?;
            Some(format!("{}:{answer}", serde_json::Value::from(wanted.key.as_str())))
        });
        let answers = answers.collect::<Option<Vec<_>>>()?.join(",");
        // The state goes back exactly as it was spelled.
        let state = result.member("requestState").map(|state| reply.raw().slice(state.span.clone()));
        let state = state.map(|raw| format!(r#""requestState":{},"#, String::from_utf8_lossy(&raw)));
        let sent = Message::new(first.sent.clone());
        let params = sent.params().filter(|params| matches!(&params.kind, Kind::Object(all) if !all.is_empty()))?;
        let at = params.span.start + 1;
        let with = format!(r#""inputResponses":{{{answers}}},{}"#, state.unwrap_or_default());
        Some(apply_splices(sent.raw(), &[Splice { span: at..at, with }]))
    }
}

/// The same request under another id.
fn renumbered(body: &Bytes, id: &Id) -> Bytes {
    let message = Message::new(body.clone());
    let ids = message.root().map(Node::members).unwrap_or_default().iter().filter(|member| member.key == "id");
    let splices: Vec<_> = ids.map(|old| Splice { span: old.value.span.clone(), with: id.to_json() }).collect();
    apply_splices(body, &splices)
}
