//! gateproof qualifies MCP gates: whatever stands between an AI host and an MCP
//! server and enforces policy there.
//!
//! It puts the gate between a scripted client and a scripted or live server,
//! plays attacks and their honest twins through the whole stack, watches *both*
//! sides, and says what was stopped, what was served and which check was worth
//! what.
//!
//! # The flow
//!
//! ```text
//! case file → corpus → plan (trials) → session script ┐
//!                                                     ├→ client → GATE → endpoint
//! fixture → endpoint ─────────────────────────────────┘      │        │
//!                                           transcript ◄─────┴────────┘
//! transcript → judge → score → report document → terminal, JSON, Markdown
//!      ↕
//! file of transcripts (`replay` begins here)
//! ```
//!
//! # Code map
//!
//! | module | what it holds |
//! |---|---|
//! | [`protocol`] | the MCP wire as values: a message is raw text beside a parsed view |
//! | [`digest`] | fingerprints of definitions: SHA-256 over the RFC 8785 form |
//! | [`fixture`] | server data as authored, and errors that point into authored files |
//! | [`transport`] | memory, child processes, streamable HTTP: each ends in a pair of channels |
//! | [`transcript`] | what crossed each leg, and the gate's own trail, kept apart |
//! | [`gate`] | the gate as values, the reference gate and its checks |
//! | [`controls`] | gates that are wrong on purpose, which the harness is qualified with |
//! | [`pins`] | approvals that outlive a gate: one readable file, replaced in one move |
//! | [`case`] | cases: model, loading, matrices, hiding transforms, corpus |
//! | [`endpoint`] | what plays the server: scripted, or live with overlays |
//! | [`relay`] | drives a gate between two connections |
//! | [`guard`] | puts the reference gate in front of a server that somebody uses, and logs it |
//! | [`session`] | plays the client side of a script |
//! | [`plan`] | cases × arms × transports × revisions, filtered and sharded |
//! | [`judge`] | the verdict on one trial, from both sides |
//! | [`runner`] | plays trials in isolation and hands on what was seen |
//! | [`score`] | rates with intervals, scorecards, ablation, the corpus's self-checks |
//! | [`report`] | one document and its renderings |
//! | [`cli`] | the command line |
//!
//! # What holds the house up
//!
//! * The gate is pure: events in, rulings out. It opens no socket, reads no
//!   clock that it was not given and knows no transport.
//! * A check keeps no state and looks at each event as it came; what it must
//!   remember are facts of the session, taken in whatever the checks make of
//!   them. So the order of checks changes no verdict.
//! * Where no check objects, the transport does what a careless client would.
//! * The judge sees a case and a transcript, and never the gate's own claims. A
//!   verdict starts as fail; neither silence nor a result that no server was
//!   asked for is a success; what could not be judged is blocked.
//! * The harness is held to gates that are wrong on purpose (`doctor`): what it
//!   can't find wrong with them, it can't say of others.
//! * Raw bytes are the truth: what a gate need not change is forwarded byte for
//!   byte.
//! * The runner knows no judge, no score and no report.
//! * Only [`cli`] prints, reads the environment or exits.
//!
//! `tests/layering.rs` holds the table of who may import whom, and fails closed.

pub mod case;
pub mod cli;
pub mod controls;
pub mod digest;
pub mod endpoint;
pub mod fixture;
pub mod gate;
pub mod guard;
pub mod judge;
pub mod pins;
pub mod plan;
pub mod protocol;
pub mod relay;
pub mod report;
pub mod runner;
pub mod score;
pub mod session;
pub mod transcript;
pub mod transport;
