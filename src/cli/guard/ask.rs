//! Asks at a terminal.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, IsTerminal as _, Write as _},
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use super::approve::arguments;
use crate::{
    guard::{Asker, Question},
    pins::visible,
};

/// How many lines that nobody waits for are kept until they are thrown away.
const TYPED: usize = 64;

/// Whoever sits at this terminal. An answer that doesn't come in time is no.
///
/// # Errors
/// With plain words, where there is no terminal.
pub(super) fn at(terminal: &Path, patience: Duration) -> Result<Asker, String> {
    let name = terminal.display();
    let none = |error: std::io::Error| {
        format!(
            "nobody can be asked at {name} ({error}); say --approvals FILE, or --ask=TERMINAL with what `tty` prints there"
        )
    };
    let open = || OpenOptions::new().read(true).write(true).open(terminal);
    let (reader, writer) = (open().map_err(none)?, open().map_err(none)?);
    if !writer.is_terminal() {
        return Err(none(std::io::Error::other("it is no terminal")));
    }
    let (typed, lines) = sync_channel(TYPED);
    let started = std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        for line in BufReader::new(reader).lines() {
            let Ok(line) = line else { return };
            // What is typed while nobody asks is no answer to anything.
            if let Err(std::sync::mpsc::TrySendError::Disconnected(_)) = typed.try_send(line) {
                return;
            }
        }
    });
    started.map_err(none)?;
    let (asker, mut questions) = Asker::new();
    let started = std::thread::Builder::new().name("questions".to_owned()).spawn(move || {
        while let Some(question) = questions.blocking_recv() {
            ask(question, &writer, &lines, patience);
        }
    });
    started.map_err(none)?;
    Ok(asker)
}

/// Asks one question, and gives the answer to whoever waits.
fn ask(question: Question, mut terminal: &File, typed: &Receiver<String>, patience: Duration) {
    let Question { server, tool, arguments: text, answer } = question;
    // It was called off while others were asked.
    if answer.is_closed() {
        return;
    }
    // Typed before the question was read.
    while typed.try_recv().is_ok() {}
    let said = format!(
        "\ngateproof: may {} run {} with\n{}\nOnce? y for yes, anything else for no ({} s): ",
        visible(server.as_str()),
        visible(&tool),
        arguments(&text),
        patience.as_secs()
    );
    if terminal.write_all(said.as_bytes()).is_err() {
        return;
    }
    let until = Instant::now() + patience;
    let line = typed.recv_timeout(until.saturating_duration_since(Instant::now()));
    let yes = line.as_ref().is_ok_and(|line| matches!(line.trim(), "y" | "Y" | "yes"));
    let told = match line {
        Ok(_) if yes => "yes, once",
        Ok(_) => "no",
        Err(RecvTimeoutError::Timeout) => "no answer in time: no",
        Err(RecvTimeoutError::Disconnected) => "nobody there: no",
    };
    let _ = terminal.write_all(format!("gateproof: {told}\n").as_bytes());
    // Whoever asked may be gone by now.
    let _ = answer.send(yes);
}
