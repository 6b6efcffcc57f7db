//! Starts a gate's processes and knows when they are ready.

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use crate::transport::{
    Close, Connection, Frame, Tasks,
    stdio::{Child, Process},
};

/// The pause between two looks at a port.
const PAUSE: Duration = Duration::from_millis(20);

/// How long one look may take.
const LOOK: Duration = Duration::from_secs(1);

/// How much of what a gate wrote is quoted, in characters.
const QUOTED: usize = 1500;

/// Where and with what a process is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    /// The whole environment.
    pub(super) env: &'a BTreeMap<String, String>,
    /// The working directory.
    pub(super) work: &'a Path,
}

/// A gate that listens on HTTP.
#[derive(Debug)]
pub(super) struct Web {
    /// The process.
    pub(super) process: Process,
    /// Where it is reached.
    pub(super) url: String,
    /// Held open: many programs end with their standard input.
    _stdin: mpsc::Sender<Frame>,
    /// Reads its standard output, which would block it once it is full.
    _emptied: Tasks,
}

/// Starts a process.
pub(super) fn spawn(argv: &[String], setting: Setting<'_>) -> Result<Child, String> {
    Child::spawn(argv, setting.env, Some(setting.work)).map_err(|error| {
        let program = argv.first().map(String::as_str).unwrap_or_default();
        format!("`{program}` can't be started: {error}")
    })
}

/// Runs a command to its end.
pub(super) async fn run(argv: &[String], setting: Setting<'_>, patience: Duration) -> Result<(), String> {
    let Child { connection, process } = spawn(argv, setting)?;
    let Connection { outgoing, mut incoming, tasks: _reading, .. } = connection;
    drop(outgoing);
    let mut said = String::new();
    let ended = timeout(patience, async {
        while let Some(frame) = incoming.recv().await {
            said.push_str(&String::from_utf8_lossy(&frame.body));
            said.push('\n');
        }
        process.exited().await
    });
    let how = match ended.await {
        Ok(Close::Ended) => return Ok(()),
        Ok(Close::Broken(how)) => how,
        Err(_) => format!("was not over after {patience:?}"),
    };
    let stderr = process.stderr_tail();
    let more = if how.contains("stderr:") { said } else { said + &stderr };
    Err(format!("`{}` {how}{}", argv.join(" "), quoted(&more)))
}

/// What a gate wrote, for a reason; nothing where it wrote nothing.
pub(super) fn quoted(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(QUOTED);
    let end: String = text.chars().skip(skipped).collect();
    if end.is_empty() { String::new() } else { format!("; it wrote: {end}") }
}

/// Where gates listen: below the ports that systems hand out by themselves. One of
/// those, looked up and let go, may be another trial's server by the time that the
/// gate wants it; the client would then talk to that.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// A port that nobody listens on now, and that no other gate of this process gets
/// for a long time.
pub(super) async fn free_port() -> io::Result<u16> {
    static NEXT: OnceLock<AtomicUsize> = OnceLock::new();
    // Other processes do the same: each begins somewhere else.
    let next = NEXT.get_or_init(|| AtomicUsize::new(usize::try_from(std::process::id()).unwrap_or(0) * 61));
    let mut last = io::Error::other("no port is free");
    for _ in PORTS {
        let nth = next.fetch_add(1, Ordering::Relaxed) % PORTS.len();
        let port = PORTS.start.saturating_add(u16::try_from(nth).unwrap_or(0));
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(_) => return Ok(port),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Starts a gate that listens on `port` and waits until it answers at `path`.
pub(super) async fn listening(
    argv: &[String],
    setting: Setting<'_>,
    (port, path): (u16, &str),
    patience: Duration,
) -> Result<Web, String> {
    let Child { connection, process } = spawn(argv, setting)?;
    let Connection { outgoing, mut incoming, tasks, .. } = connection;
    let mut emptied = tasks;
    let (heard, mut last) = tokio::sync::watch::channel(String::new());
    emptied.keep(tokio::spawn(async move {
        while let Some(frame) = incoming.recv().await {
            heard.send_replace(String::from_utf8_lossy(&frame.body).into_owned());
        }
    }));
    let deadline = Instant::now() + patience;
    let trouble = loop {
        // What answers where a gate has ended is somebody else.
        if answers(port, path).await && timeout(Duration::ZERO, process.exited()).await.is_err() {
            return Ok(Web {
                process,
                url: format!("http://127.0.0.1:{port}{path}"),
                _stdin: outgoing,
                _emptied: emptied,
            });
        }
        tokio::select! {
            biased;
            close = process.exited() => {
                break match close {
                    Close::Ended => "ended before it was ready".to_owned(),
                    Close::Broken(how) => format!("ended before it was ready: {how}"),
                };
            }
            () = sleep(PAUSE) => {}
        }
        if Instant::now() > deadline {
            break format!("was not ready on port {port} after {patience:?}");
        }
    };
    let stderr = process.stderr_tail();
    let stdout = last.borrow_and_update().clone();
    let wrote = if trouble.contains("stderr:") { stdout } else { format!("{stderr}\n{stdout}") };
    Err(format!("the gate {trouble}{}", quoted(&wrote)))
}

/// Whether an HTTP server answers there, whatever it answers: nothing is asked of it.
async fn answers(port: u16, path: &str) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let look = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("OPTIONS {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut first = [0; 5];
        stream.read_exact(&mut first).await?;
        io::Result::Ok(first == *b"HTTP/")
    };
    matches!(timeout(LOOK, look).await, Ok(Ok(true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::http::Listener;

    async fn start(script: &str, port: u16, patience: Duration) -> Result<String, String> {
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let argv = ["sh", "-c", script].map(str::to_owned);
        let work = tempfile::tempdir().unwrap();
        let setting = Setting { env: &env, work: work.path() };
        listening(&argv, setting, (port, "/mcp"), patience).await.map(|web| web.url)
    }

    #[tokio::test]
    async fn ports_are_not_given_twice() {
        let mut ports = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let port = free_port().await.unwrap();
            assert!(PORTS.contains(&port) && ports.insert(port), "{port}");
        }
    }

    #[tokio::test]
    async fn a_gate_is_ready_when_its_port_answers() {
        let Listener { url, connection: _kept } = Listener::bind().await.unwrap();
        let port = url.trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap();
        // Whatever answers there, the process only has to live.
        assert_eq!(start("sleep 1000", port, Duration::from_secs(60)).await, Ok(url));
    }

    #[tokio::test]
    async fn one_that_ends_or_is_never_ready_says_what_it_wrote() {
        let port = free_port().await.unwrap();
        let error = start("echo no licence >&2; exit 3", port, Duration::from_secs(60)).await.unwrap_err();
        assert!(error.contains("ended before it was ready: exited with status 3; stderr: no licence"), "{error}");
        let error = start("echo waiting >&2; sleep 1000", port, Duration::from_millis(200)).await.unwrap_err();
        assert!(error.contains("was not ready") && error.contains("it wrote: waiting"), "{error}");
    }

    #[tokio::test]
    async fn a_command_is_run_to_its_end() {
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let work = tempfile::tempdir().unwrap();
        let setting = Setting { env: &env, work: work.path() };
        let run = |script: &str| {
            let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
            let (env, work) = (setting.env, setting.work);
            async move { run(&argv, Setting { env, work }, Duration::from_secs(60)).await }
        };
        assert_eq!(run("echo yes > approved").await, Ok(()));
        assert_eq!(std::fs::read_to_string(work.path().join("approved")).unwrap(), "yes\n");
        let error = run("echo drifted; exit 4").await.unwrap_err();
        assert!(error.contains("exited with status 4; it wrote: drifted"), "{error}");
    }
}
