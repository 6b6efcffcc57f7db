//! What people and hosts see of `gateproof guard`, through the real program.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly")]

#[path = "common/lines.rs"]
mod lines;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use lines::Session;

const POLICY: &str = r#"schema = 1
title = "The desk may be read"

[servers.desk]
allow = ["read", "slow"]
"#;

/// A server in a few lines. It writes down what reaches it, in `$1`.
const SERVER: &str = r#"
say() { printf '%s\n' "$1"; }
echo "the desk is open" >&2
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$1"
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"desk","version":"1"}}}' ;;
    *'"method":"tools/list"'*)
      say '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"slow","inputSchema":{"type":"object"}},{"name":"burn","inputSchema":{"type":"object"}}]}}' ;;
    *'"name":"slow"'*)
      sleep 0.4; say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"late"}]}}' ;;
    *'"method":"tools/call"'*)
      say '{"jsonrpc": "2.0",  "id":'"$id"', "result":{"content":[{"type":"text","text":"as \u0069t is 1.0"}]}}' ;;
    *'"method":"die"'*) exit 5 ;;
  esac
done
exit 0
"#;

const OPENING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"q":"marzipan-{id}"}}}}}}"#
    )
}

/// A folder with a policy and a server, and the guard that stands before it.
struct Desk {
    folder: TempDir,
    words: Vec<String>,
}

impl Desk {
    fn new(words: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        std::fs::write(folder.path().join("server.sh"), SERVER).unwrap();
        Self { folder, words: words.iter().map(|&word| word.to_owned()).collect() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, server: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        command.current_dir(self.folder.path()).args(["guard", "--policy", "policy.toml"]).args(&self.words);
        command.arg("--").args(server).env("PLAIN_WORD", "plain").env("DESK_TOKEN", "made-up-token");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self) -> Session {
        Session::start(&mut self.command(&["sh", "server.sh", "seen"]))
    }

    /// What reached the server.
    fn seen(&self) -> String {
        std::fs::read_to_string(self.path("seen")).unwrap_or_default()
    }

    fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn verify(&self, words: &[&str]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        command.current_dir(self.folder.path()).args(["guard", "audit", "verify", "log"]).args(words);
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(said).unwrap())
    }
}

/// Opens a session and lists.
fn open(session: &mut Session) -> String {
    let opened = session.ask(OPENING);
    session.say(READY);
    assert!(opened.contains("2025-06-18"), "{opened}");
    session.ask(LIST)
}

fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().split_inclusive('\n').map(str::to_owned).collect()
}

#[test]
fn honest_messages_pass_byte_for_byte_and_the_wire_is_all_that_is_said() {
    let desk = Desk::new(&[]);
    let mut session = desk.start();
    open(&mut session);
    let heard = session.ask(&call(3, "read"));
    assert_eq!(
        heard,
        r#"{"jsonrpc": "2.0",  "id":3, "result":{"content":[{"type":"text","text":"as \u0069t is 1.0"}]}}"#
    );
    let (said, code, complained) = session.close();
    assert_eq!((said.as_str(), code), ("", 0));
    assert_eq!(complained, "the desk is open\n");
    assert_eq!(desk.seen(), format!("{OPENING}\n{READY}\n{LIST}\n{}\n", call(3, "read")));
}

#[test]
fn a_tool_that_is_not_allowed_is_neither_listed_nor_reached() {
    let desk = Desk::new(&[]);
    let mut session = desk.start();
    let listed = open(&mut session);
    assert!(listed.contains("\"read\"") && !listed.contains("burn"), "{listed}");
    let refused: Value = serde_json::from_str(&session.ask(&call(7, "burn"))).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["data"]["check"]), (&7.into(), &"tool-allowlist".into()));
    assert!(session.ask(&call(8, "read")).contains("\"id\":8"));
    assert_eq!(session.close().1, 0);
    assert!(!desk.seen().contains("burn"), "{}", desk.seen());
}

#[test]
fn observing_lets_pass_and_says_what_would_have_been_done() {
    let desk = Desk::new(&["--observe", "--audit", "log"]);
    let mut session = desk.start();
    assert!(open(&mut session).contains("burn"));
    assert!(session.ask(&call(7, "burn")).contains("result"));
    assert_eq!(session.close().1, 0);
    assert!(desk.seen().contains("burn"));
    let log = desk.log();
    let of = |id: u32, towards: &str| log.iter().find(|line| line["id"] == id && line["direction"] == towards).unwrap();
    let line = of(7, "to-server");
    assert_eq!(
        (&line["decision"], &line["would"], &line["tool"]),
        (&"forward".into(), &"refuse".into(), &"burn".into())
    );
    assert_eq!(line["findings"][0]["act"], "would-refuse");
    assert_eq!(
        (&of(2, "to-client")["would"], &of(2, "to-client")["method"]),
        (&"rewrite".into(), &"tools/list".into())
    );
    assert_eq!(log[0]["mode"], "observe");
    assert_eq!(desk.verify(&[]).0, 0);
}

#[test]
fn the_last_reply_is_delivered_after_standard_input_closed() {
    let desk = Desk::new(&[]);
    let mut session = desk.start();
    open(&mut session);
    session.say(&call(3, "slow"));
    session.say(&call(4, "read"));
    let (said, code, _) = session.close();
    assert_eq!(code, 0);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("late") && said.contains("\"id\":4"), "{said}");
}

#[test]
fn who_waits_when_the_server_dies_is_told_and_the_code_is_the_servers() {
    let desk = Desk::new(&[]);
    let mut session = desk.start();
    open(&mut session);
    session.say(&call(3, "slow"));
    session.say(r#"{"jsonrpc":"2.0","id":4,"method":"die"}"#);
    let (said, code, _) = session.rest();
    assert_eq!(code, 5);
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert!(said.contains("late"), "{said}");
    assert_eq!(last["id"], 4);
    assert!(last["error"]["message"].as_str().unwrap().contains("ended before it answered"));
}

#[test]
fn a_signal_ends_it_in_order_and_a_server_that_will_not_go_is_killed() {
    let desk = Desk::new(&["--grace", "1", "--audit", "log"]);
    let script = "trap '' TERM; echo $$ > pid; while :; do read -r line || sleep 1; done";
    let mut child = desk.command(&["sh", "-c", script]).spawn().unwrap();
    let _held = child.stdin.take();
    let until = Instant::now() + Duration::from_secs(20);
    while std::fs::read_to_string(desk.path("pid")).unwrap_or_default().is_empty() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = std::fs::read_to_string(desk.path("pid")).unwrap();
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap().success());
    assert_eq!(desk.log().last().unwrap()["event"], "end");
}

#[test]
fn a_flood_in_both_directions_gets_through() {
    // What still stands in the pipe when the client has closed takes this server a while.
    let desk = Desk::new(&["--grace", "30"]);
    // Says much more than any pipe or queue holds for one request, before it
    // reads the next.
    let script = r#"sleep 1; n=0; while IFS= read -r line; do n=$((n+1)); i=0; while [ $i -lt 15 ]; do i=$((i+1));
        printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%02000d"}}\n' $i; done; done; echo $n > count"#;
    let mut child = desk.command(&["sh", "-c", script]).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let from = BufReader::new(child.stdout.take().unwrap());
    let writer = std::thread::spawn(move || {
        for id in 0..1500 {
            writeln!(to, r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#).unwrap();
        }
    });
    let mut count = 0;
    for line in from.lines() {
        line.unwrap();
        count += 1;
    }
    writer.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_to_string(desk.path("count")).unwrap().trim(), "1500");
    assert!(count > 0);
}

#[test]
fn a_slow_server_reads_everything_before_its_time_to_end_begins() {
    let desk = Desk::new(&["--grace", "1"]);
    // By then it would have been told to end, and killed. What it is told is more than
    // its pipe holds, and with the guard's queue before that not more than fits.
    let script = r"sleep 2.5; n=0; while IFS= read -r line; do n=$((n+1)); done; echo $n > count";
    let mut session = Session::start(&mut desk.command(&["sh", "-c", script]));
    for id in 0..850 {
        session.say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ));
    }
    assert_eq!(session.close().1, 0);
    assert_eq!(std::fs::read_to_string(desk.path("count")).unwrap().trim(), "850");
}

/// The most memory that a process ever had, in bytes.
#[cfg(target_os = "linux")]
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_does_not_read_holds_up_its_server_and_fills_no_memory() {
    let desk = Desk::new(&[]);
    // 600 MB, in lines of 1.5 MB.
    let script = r#"line=$(printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%01500000d"}}' 0)
        n=0; while [ $n -lt 400 ]; do n=$((n+1)); printf '%s\n' "$line"; done; touch done; cat > /dev/null"#;
    let mut session = Session::start(&mut desk.command(&["sh", "-c", script]));
    // It would be done by then if somebody kept it all.
    let until = Instant::now() + Duration::from_secs(5);
    while !desk.path("done").exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let peak = peak(session.child.id());
    assert!(!desk.path("done").exists() && peak < 256 << 20, "{peak}");
    session.child.kill().unwrap();
    session.child.wait().unwrap();
}

#[test]
fn the_environment_is_the_hosts_without_what_looks_like_a_credential() {
    let desk = Desk::new(&[]);
    let output = desk.command(&["sh", "-c", "env > found"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let found = std::fs::read_to_string(desk.path("found")).unwrap();
    assert!(found.contains("PLAIN_WORD=plain") && !found.contains("made-up-token"), "{found}");
}

#[test]
fn mistakes_are_told_before_anything_is_started() {
    let desk = Desk::new(&[]);
    let told = |desk: &Desk, server: &[&str]| {
        let output = desk.command(server).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap(), output.stdout)
    };
    let (code, said, out) = told(&desk, &["/no/such/program"]);
    assert_eq!((code, out), (1, Vec::new()));
    assert!(said.contains("can't be started") && said.contains("/no/such/program"), "{said}");

    std::fs::write(desk.path("policy.toml"), POLICY.replace("allow", "alow")).unwrap();
    let (code, said, _) = told(&desk, &["sh", "-c", "touch started"]);
    assert_eq!(code, 2);
    assert!(said.contains("policy.toml:5") && said.contains("alow"), "{said}");

    std::fs::write(desk.path("policy.toml"), format!("{POLICY}launch.argv = [\"desk-server\"]\n")).unwrap();
    let (code, said, _) = told(&desk, &["sh", "-c", "touch started"]);
    assert_eq!(code, 1);
    assert!(said.contains("desk is not started") && said.contains("launch-consent"), "{said}");
    assert!(!desk.path("started").exists());

    let desk = Desk::new(&["--server", "desc"]);
    let (code, said, _) = told(&desk, &["true"]);
    assert_eq!(code, 2);
    assert!(said.contains("no server 'desc'") && said.contains("desk"), "{said}");
}

#[test]
fn the_log_holds_no_payload_and_every_change_to_it_is_found() {
    let desk = Desk::new(&["--audit", "log"]);
    for _ in 0..2 {
        let mut session = desk.start();
        open(&mut session);
        session.ask(&call(3, "read"));
        session.ask(&call(4, "burn"));
        session.ask(r#"{"jsonrpc":"2.0","id":"my marzipan","method":"tools/call","params":{"name":"a marzipan","arguments":{}}}"#);
        assert_eq!(session.close().1, 0);
    }
    let text = std::fs::read_to_string(desk.path("log")).unwrap();
    for word in ["marzipan", "as it is", "u0069", "made-up-token"] {
        assert!(!text.contains(word), "{word}");
    }
    let log = desk.log();
    assert_eq!(log.iter().filter(|line| line["event"] == "start").count(), 2);
    let refused = log.iter().find(|line| line["tool"] == "burn").unwrap();
    assert_eq!((&refused["decision"], &refused["findings"][0]["rule"]), (&"refuse".into(), &"not-callable".into()));
    let (code, said) = desk.verify(&[]);
    assert!(code == 0 && said.contains("intact"), "{said}");
    let kept = log.last().unwrap()["hash"].as_str().unwrap().to_owned();

    let whole = lines_of(&desk.path("log"));
    let tampered = |change: &dyn Fn(&mut Vec<String>), said: &str| {
        let mut lines = whole.clone();
        change(&mut lines);
        std::fs::write(desk.path("log"), lines.concat()).unwrap();
        let (code, found) = desk.verify(&[]);
        assert!(code == 1 && found.contains(said), "{said}: {code} {found}");
    };
    tampered(&|lines| lines[3] = lines[3].replace("forward", "refused"), "line 4: altered");
    tampered(&|lines| drop(lines.remove(4)), "line 5: removed");
    tampered(&|lines| lines.insert(5, lines[2].clone()), "line 6: added");
    tampered(
        &|lines| {
            let last = lines.last_mut().unwrap();
            last.truncate(last.len() / 2);
        },
        "cut off",
    );
    // Nobody goes on with a log that is cut off.
    let output = desk.command(&["true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    // Whole lines that are gone from the end show to whoever kept the last hash.
    std::fs::write(desk.path("log"), whole[..whole.len() - 1].concat()).unwrap();
    let (code, said) = desk.verify(&[]);
    assert!(code == 0 && said.contains("1 session without an end"), "{said}");
    assert_eq!(desk.verify(&["--seen", &kept]).0, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_closes_the_session() {
    let desk = Desk::new(&["--audit", "/dev/full"]);
    let output = desk.command(&["sh", "-c", "touch started"]).output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(String::from_utf8(output.stderr).unwrap().contains("audit log can't be written"));
    assert!(!desk.path("started").exists());
}

/// What a guard says to an opening and a listing that come from `input`, where it
/// speaks to `output`.
fn spoken(desk: &Desk, input: Stdio, output: Stdio, mut read: impl FnMut() -> String) -> String {
    let mut command = desk.command(&["sh", "server.sh", "seen"]);
    let mut child = command.stdin(input).stdout(output).spawn().unwrap();
    // What this process still holds of the other end would keep it open.
    drop(command);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    read()
}

#[test]
fn standard_streams_may_be_sockets_or_files() {
    use std::{
        io::Read as _,
        os::{fd::OwnedFd, unix::net::UnixStream},
    };

    let asked = format!("{OPENING}\n{READY}\n{LIST}\n{}\n", call(3, "read"));
    let is_whole = |said: &str| said.lines().count() == 3 && said.contains("as \\u0069t is 1.0");
    // As hosts on Node.js start their servers: a pair of sockets for each stream.
    let desk = Desk::new(&[]);
    let ((mut to, input), (mut from, output)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let kept = output.try_clone().unwrap();
    to.write_all(asked.as_bytes()).unwrap();
    drop(to);
    let said = spoken(&desk, OwnedFd::from(input).into(), OwnedFd::from(output).into(), || {
        let mut said = [0; 1 << 14];
        let length = from.read(&mut said).unwrap();
        String::from_utf8(said[..length].to_vec()).unwrap()
    });
    assert!(is_whole(&said), "{said}");
    // Whoever has the socket as well finds it as it was: one that is waited for.
    let patience = Duration::from_millis(50);
    kept.set_read_timeout(Some(patience)).unwrap();
    let begun = Instant::now();
    assert!((&kept).read(&mut [0]).is_err() && begun.elapsed() >= patience / 2);
    // From a file, into a file.
    let desk = Desk::new(&[]);
    std::fs::write(desk.path("asked"), &asked).unwrap();
    let (input, output) = (std::fs::File::open(desk.path("asked")), std::fs::File::create(desk.path("said")));
    let said = spoken(&desk, input.unwrap().into(), output.unwrap().into(), || {
        std::fs::read_to_string(desk.path("said")).unwrap()
    });
    assert!(is_whole(&said), "{said}");
}
