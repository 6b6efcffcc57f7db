//! A client on standard streams.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{process, words};

/// How many calls may be under way at once.
const WINDOW: usize = 64;

pub(crate) struct Client {
    process: Child,
    to_server: ChildStdin,
    from_server: BufReader<ChildStdout>,
    last: usize,
    _folder: Option<TempDir>,
}

impl Client {
    pub(crate) fn direct() -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["serve", "stdio"]);
        Self::over(command, None)
    }

    pub(crate) fn guarded(audited: bool) -> Self {
        let (mut command, folder) = process::guard(audited);
        command.arg("--").arg(std::env::current_exe().expect("this program")).args(["serve", "stdio"]);
        Self::over(command, Some(folder))
    }

    fn over(mut command: Command, folder: Option<TempDir>) -> Self {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the process starts");
        let to_server = process.stdin.take().expect("its input");
        let from_server = BufReader::new(process.stdout.take().expect("its output"));
        let mut client = Self { process, to_server, from_server, last: 1, _folder: folder };
        client.say(words::OPEN);
        client.hear();
        client.say(words::READY);
        client.say(words::LIST);
        let listed = client.hear();
        assert!(listed.contains("find"), "the server lists its tool: {listed}");
        client
    }

    /// One call; how long its reply took.
    pub(crate) fn call(&mut self) -> Duration {
        self.last += 1;
        let message = words::call(self.last);
        let begun = Instant::now();
        self.say(&message);
        let reply = self.hear();
        let taken = begun.elapsed();
        assert!(words::answers(&reply, self.last), "{reply}");
        taken
    }

    /// So many calls, with several under way.
    pub(crate) fn stream(&mut self, mut calls: usize) {
        while calls > 0 {
            let window = calls.min(WINDOW);
            let all: Vec<String> = (1..=window).map(|n| words::call(self.last + n)).collect();
            self.say(&all.join("\n"));
            for _ in 0..window {
                self.last += 1;
                let reply = self.hear();
                assert!(words::answers(&reply, self.last), "{reply}");
            }
            calls -= window;
        }
    }

    pub(crate) fn resident(&self) -> usize {
        process::resident(&self.process)
    }

    fn say(&mut self, message: &str) {
        self.to_server.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.from_server.read_line(&mut line).expect("the server answers");
        line
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        process::end(&mut self.process);
    }
}
