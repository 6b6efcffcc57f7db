//! Gates that are not gateproof's own, through the program as people use it. The
//! relay alone (`{upstream}`) is the most transparent gate there is: what holds
//! without a gate must hold through it. Real gates that aren't installed are
//! reported as untested, out loud: `gateproof gates install` installs them.

#![expect(clippy::print_stderr, reason = "what is untested is said out loud")]

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use gateproof::plan::{Outside, Suite};
use libtest_mimic::{Arguments, Failed, Trial as Test};
use serde_json::Value;

/// Attacks of several kinds with honest cases, that any gate can be asked.
const SOME: &str = "id(helpdesk.poison.override#*) or id(helpdesk.honest.do-not*) or id(helpdesk.drift.description) \
                    or id(helpdesk.drift.reconnect-*) or id(helpdesk.drift.reordered-*) or id(overlay.drift.restart) \
                    or id(helpdesk.allowed.*)";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suite = match Suite::load(root) {
        Ok(suite) => suite,
        Err(error) => {
            eprintln!("the corpus can't be loaded: {error}; `gateproof lint` shows where");
            return ExitCode::FAILURE;
        }
    };
    let mut tests = vec![
        Test::test("the relay alone is transparent", transparent),
        Test::test("a filter that is told what is allowed is asked for that", told),
        Test::test("names are undone, or explained", renamed),
        Test::test("a gate on HTTP is waited for", over_http),
        Test::test("a gate that runs already is given its server", standing),
        Test::test("gates that can't be used block, and the run goes on", unusable),
        Test::test("a gate that breaks in the middle fails", breaks),
        Test::test("a denied request that is sent on late is found out", late),
        Test::test("a gate ends with whoever looks at it", interrupted),
        Test::test("what is not installed is untested", untested),
        Test::test("mistakes on the command line exit 2", mistakes),
    ];
    for (name, profile) in &suite.corpus.gates {
        let gate = Outside::new(name.as_str(), profile.clone(), &root.join(".gates"), |_| None);
        let title = match &gate.missing {
            None => format!("gate::{name}"),
            Some(missing) => {
                if !arguments.list {
                    eprintln!("untested: {missing}");
                }
                format!("gate::{name} (untested: {missing})")
            }
        };
        let ignored = gate.missing.is_some();
        let name = name.clone();
        tests.push(Test::test(title, move || installed(&name)).with_ignored_flag(ignored));
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}

struct Ran {
    code: Option<i32>,
    document: Value,
    stderr: String,
}

impl Ran {
    /// The trials of the gate in question.
    fn outside(&self) -> impl Iterator<Item = &Value> {
        self.document["trials"].as_array().into_iter().flatten().filter(|trial| trial["arm"] == "outside")
    }

    fn all(&self, is_so: impl Fn(&Value) -> bool) -> Result<(), Failed> {
        let Some(odd) = self.outside().find(|trial| !is_so(trial)) else {
            if self.outside().next().is_none() {
                return Err(format!("nothing was played: {:?}: {}", self.code, self.stderr).into());
            }
            return Ok(());
        };
        Err(format!("{odd:#}\n{:?}: {}", self.code, self.stderr).into())
    }

    fn exits(&self, code: i32, said: &[&str]) -> Result<(), Failed> {
        let missing = said.iter().find(|word| !self.stderr.contains(**word));
        if self.code == Some(code) && missing.is_none() {
            return Ok(());
        }
        Err(format!("{:?}, wanted {code} and {missing:?}: {}", self.code, self.stderr).into())
    }
}

fn run(words: &[&str]) -> Result<Ran, Failed> {
    run_in(Path::new(env!("CARGO_MANIFEST_DIR")), words)
}

fn run_in(corpus: &Path, words: &[&str]) -> Result<Ran, Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_gateproof"))
        .args(["--corpus", &corpus.to_string_lossy(), "--color", "never", "run", "--json", "--no-reports"])
        .args(words)
        .output()?;
    Ok(Ran {
        code: output.status.code(),
        document: serde_json::from_slice(&output.stdout).unwrap_or_default(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn reasons(trial: &Value) -> String {
    trial["reasons"].to_string()
}

/// What an open gate is to do with a case.
fn open(trial: &Value) -> bool {
    match (trial["kind"].as_str(), trial["status"].as_str()) {
        (Some("attack"), Some("fail")) => reasons(trial).contains("the attack succeeded"),
        (Some("attack"), _) => false,
        (_, status) => status == Some("pass"),
    }
}

fn transparent() -> Result<(), Failed> {
    let ran = run(&["--gate-command", "{upstream}", "-E", SOME])?;
    ran.exits(1, &["command answers 2025-06-18\n"])?;
    let not_told = |trial: &Value| {
        trial["status"] == "untested" && reasons(trial).contains("the gate was not told which tools may be listed")
    };
    ran.all(|trial| if not_told(trial) { trial["kind"] == "attack" } else { open(trial) })?;
    let count = ran.outside().filter(|trial| not_told(trial)).count();
    if count == 0 {
        return Err("what the gate wasn't told is no failure of it".into());
    }
    ran.all(|trial| trial["transport"] == "stdio")
}

fn told() -> Result<(), Failed> {
    // A gate for one server's tools, in a shell: it refuses what is not in its file.
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir()?;
    for name in ["cases", "fixtures"] {
        std::os::unix::fs::symlink(corpus.join(name), folder.path().join(name))?;
    }
    let script = folder.path().join("filter.sh");
    std::fs::write(&script, FILTER)?;
    let command = format!("sh {} '{{allowed_tools}}' {{upstream}}", script.display());
    let ran = run_in(
        folder.path(),
        &["--gate-command", &command, "-E", "id(helpdesk.allowed.hidden-call) or id(helpdesk.allowed.allowed-call)"],
    )?;
    ran.exits(0, &[])?;
    ran.all(|trial| trial["status"] == "pass" && trial["stopped_by"] == serde_json::json!([]))
}

/// Lets calls of allowed tools through. Its argument is a JSON array.
const FILTER: &str = r#"
allowed=$1; shift
pipe=$PWD/to-server; mkfifo "$pipe"
"$@" < "$pipe" &
exec 3> "$pipe"
while IFS= read -r line; do
  case $line in
    *'"tools/call"'*)
      tool=${line#*'"name":"'}; tool=${tool%%'"'*}
      id=${line#*'"id":'}; id=${id%%,*}
      case $allowed in
        *"\"$tool\""*) printf '%s\n' "$line" >&3 ;;
        *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"not allowed"}}\n' "$id" ;;
      esac ;;
    *) printf '%s\n' "$line" >&3 ;;
  esac
done
exec 3>&-
wait
"#;

fn renamed() -> Result<(), Failed> {
    // Both ways in a line each: the name in a call loses its prefix, those in lists get it.
    let gate = r#"sh -c 'sed -u "s/\"name\":\"x__/\"name\":\"/" | {upstream} | sed -u "/\"tools\":\[/s/\"name\":\( *\)\"\([a-z_]*\)\",/\"name\":\1\"x__\2\",/g"'"#;
    let cases = ["-E", "id(helpdesk.honest.do-not*) or id(helpdesk.allowed.allowed-call)"];
    let ran = run(&[&["--gate-command", gate, "--tool-name", "x__{tool}"][..], &cases[..]].concat())?;
    ran.exits(0, &[])?;
    ran.all(|trial| trial["status"] == "pass")?;
    let ran = run(&[&["--gate-command", gate][..], &cases[..]].concat())?;
    ran.exits(3, &["--tool-name 'x__{tool}'"])?;
    ran.all(|trial| trial["status"] == "blocked")
}

/// A gate on HTTP needs a program that speaks it; the harness's own relay on
/// standard streams doesn't, so what is looked at here is the waiting.
fn over_http() -> Result<(), Failed> {
    let ran = run(&[
        "--gate-command",
        "sh -c 'echo late >&2; sleep 60' {port} {upstream}",
        "--gate-seconds",
        "1",
        "-E",
        SOME,
    ])?;
    ran.exits(3, &["was not ready on port", "it wrote: late"])?;
    let blocked = |trial: &Value| trial["status"] == "blocked" && reasons(trial).contains("was not ready");
    ran.all(|trial| trial["transport"] == "http" && (blocked(trial) || reasons(trial).contains("not told")))
}

fn standing() -> Result<(), Failed> {
    // A gate that forwards every byte: nothing at all in the middle.
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let port = port.to_string();
    let cases = "id(helpdesk.poison.override#*) or id(helpdesk.honest.do-not*) or id(overlay.drift.restart) or id(board.names.right-server)";
    let ran = run(&["--gate-url", &url, "--upstream-listen", &port, "-E", cases])?;
    ran.exits(1, &["answers 2025-06-18"])?;
    let said = |trial: &Value, words: &str| trial["status"] == "untested" && reasons(trial).contains(words);
    ran.all(|trial| match trial["case"].as_str().unwrap_or_default() {
        "overlay.drift.restart" => said(trial, "isn't the harness's to restart"),
        "board.names.right-server" => said(trial, "before one server alone"),
        _ => open(trial),
    })
}

fn unusable() -> Result<(), Failed> {
    let blocked = |trial: &Value| trial["status"] == "blocked";
    for (command, said) in [
        ("/no/such/gate {upstream}", "can't be started"),
        ("sh -c 'echo no licence >&2; exit 3' {upstream}", "no licence"),
        ("sh -c 'while :; do echo garbage; read line || exit; done' {upstream}", "is no JSON: garbage"),
        // What is heard of it is bounded: by size, and by time where something always comes.
        ("sh -c 'yes garbage' {upstream}", "the gate opens no session"),
    ] {
        let ran = run(&["--gate-command", command, "--gate-seconds", "1", "-E", SOME])?;
        ran.exits(3, &["nothing can be played through command", said])?;
        let not_told = |trial: &Value| trial["status"] == "untested" && reasons(trial).contains("not told");
        ran.all(|trial| not_told(trial) || blocked(trial) && reasons(trial).contains(said))?;
        // The run went on: the direct arm has its verdicts.
        let direct = ran.document["arms"][0]["attacks"]["total"].as_u64();
        if direct.is_none_or(|total| total == 0) {
            return Err(format!("{command}: the direct arm wasn't played").into());
        }
    }
    Ok(())
}

/// A request that is sent on later than its denial is no less a leak.
fn late() -> Result<(), Failed> {
    // Denies each deletion at once, and sends it on a moment later.
    let script = r#"
import json, subprocess, sys, threading
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
lock = threading.Lock()
def say(line):
    with lock:
        sys.stdout.buffer.write(line); sys.stdout.buffer.flush()
def send(line):
    server.stdin.write(line); server.stdin.flush()
def back():
    for line in server.stdout:
        if json.loads(line).get("id") not in denied: say(line)
denied = set()
threading.Thread(target=back, daemon=True).start()
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "tools/call" and message["params"]["name"] == "delete_ticket":
        denied.add(message["id"])
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32000, "message": "no"}}
        say(json.dumps(error).encode() + b"\n")
        threading.Timer(0.2, send, [line]).start()
    else:
        send(line)
"#;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("late.py");
    std::fs::write(&file, script)?;
    let command = format!("python3 {} {{upstream}}", file.display());
    let ran = run(&["--gate-command", &command, "-E", "id(helpdesk.poison.hidden-yet-callable)"])?;
    ran.all(|trial| trial["status"] == "fail" && reasons(trial).contains("reached the server"))
}

fn breaks() -> Result<(), Failed> {
    // Fine until a ticket is to be deleted; then it is gone.
    let command = "sh -c 'sed -u \"/delete_ticket/q\" | {upstream}'";
    let cases = "id(helpdesk.honest.do-not*) or id(helpdesk.drift.description)";
    let ran = run(&["--gate-command", command, "-E", cases])?;
    // The end of a connection is an answer: the gate's, and no trouble of the harness's.
    ran.all(|trial| trial["status"] == "pass" || trial["status"] == "fail")
}

fn untested() -> Result<(), Failed> {
    let corpus = tempfile::tempdir()?;
    for folder in ["cases", "fixtures"] {
        std::os::unix::fs::symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), corpus.path().join(folder))?;
    }
    let ran = run_in(corpus.path(), &["--gate", "vex-mcp", "-E", SOME])?;
    ran.exits(3, &[])?;
    let reason = "vex-mcp is not installed: run `gateproof gates install vex-mcp`";
    ran.all(|trial| trial["status"] == "untested" && trial["reasons"] == serde_json::json!([reason]))
}

/// However the program is asked to end, no gate outlives it.
fn interrupted() -> Result<(), Failed> {
    for signal in ["-INT", "-TERM"] {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("pid");
        let gate = format!("sh -c 'echo $$ > {}; sleep 1000; :' {{upstream}}", file.display());
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/corpus");
        let mut command = Command::new(env!("CARGO_BIN_EXE_gateproof"));
        command.arg("--corpus").arg(corpus).args(["run", "--no-reports", "--gate-command", &gate]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let read = || std::fs::read_to_string(&file).unwrap_or_default();
        while !read().ends_with('\n') {
            std::thread::sleep(Duration::from_millis(20));
        }
        Command::new("kill").args([signal, &child.id().to_string()]).status()?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(3) || !said.contains("interrupted") {
            return Err(format!("{signal}: {:?}: {said}", output.status).into());
        }
        // One that only waits to be collected by whoever inherited it is over.
        let state = Command::new("ps").args(["-o", "stat=", "-p", read().trim()]).output()?.stdout;
        if !state.is_empty() && !state.starts_with(b"Z") {
            return Err(format!("{signal}: the gate outlives the program").into());
        }
    }
    Ok(())
}

fn mistakes() -> Result<(), Failed> {
    for (words, said) in [
        (&["--gate", "vex-mpc"][..], "did you mean 'vex-mcp'"),
        (&["--gate-command", "g {upstraem}"], "did you mean 'upstream'"),
        (&["--gate-command", "g"], "nothing tells the gate its server"),
        (&["--gate-command", "g 'x"], "a quote is not closed"),
        (&["--gate-command", "{upstream}", "--tool-name", "x"], "--tool-name: a tool name holds '{tool}' once"),
        (&["--gate-command", "{upstream}", "--transport", "memory"], "the gate is reached over stdio"),
        (&["--gate-url", "http://127.0.0.1:9/mcp"], "--upstream-listen"),
        (&["--gate", "vex-mcp", "--gate-command", "{upstream}"], "cannot be used with"),
        (&["--arm", "outside"], "the arm 'outside' needs a gate"),
    ] {
        run(words)?.exits(2, &[said])?;
    }
    Ok(())
}

/// A real gate: whatever it stops, it must be usable, and nothing may be blocked.
fn installed(name: &str) -> Result<(), Failed> {
    let cases =
        "id(helpdesk.poison.override#wording=ignore) or id(helpdesk.honest.do-not*) or id(helpdesk.drift.description)";
    let ran = run(&["--gate", name, "-E", cases])?;
    let judged = |trial: &Value| trial["status"] == "pass" || trial["status"] == "fail";
    let open_to_it = |trial: &Value| trial["status"] == "untested" && reasons(trial).contains("the gate offers no");
    ran.all(|trial| judged(trial) || open_to_it(trial))?;
    // An honest case is one that the client gets its answer in.
    let served = ran.outside().filter(|trial| trial["kind"] == "benign" && trial["outcome"] != "denied").count();
    if served == 0 { Err(format!("no honest case was served: {}", ran.stderr).into()) } else { Ok(()) }
}
