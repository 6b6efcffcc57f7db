//! A session with a guard that speaks in lines.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

pub(crate) struct Session {
    pub(crate) child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().unwrap());
        Self { child, to, from }
    }

    pub(crate) fn say(&mut self, line: &str) {
        let to = self.to.as_mut().unwrap();
        writeln!(to, "{line}").unwrap();
        to.flush().unwrap();
    }

    pub(crate) fn hear(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }

    /// Closes; what was still said, the exit code, and standard error.
    pub(crate) fn close(mut self) -> (String, i32, String) {
        drop(self.to.take());
        self.rest()
    }

    /// The same, where the other side closes.
    pub(crate) fn rest(mut self) -> (String, i32, String) {
        let (mut said, mut complained) = (String::new(), String::new());
        self.from.read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
        (said, self.child.wait().unwrap().code().unwrap(), complained)
    }
}
