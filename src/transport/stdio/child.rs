//! A child process whose standard streams are a connection.

use std::{
    collections::BTreeMap,
    io,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    process::Command,
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use super::{
    super::{Close, Connection, ledger::Outlet},
    lines,
    tail::{self, Tail},
};

/// How much of it a close reason quotes, in bytes.
const QUOTED: usize = 2 << 10;

/// How long the streams may outlive the process, or the process its standard
/// output. Only somebody who left the process group can make use of it.
const LINGER: Duration = Duration::from_secs(1);

/// A child process and the connection to it.
///
/// The fields may be moved out: the process lives as long as `process` does,
/// the connection until its end.
#[derive(Debug)]
pub struct Child {
    /// Its standard input and output, one message a line. Once `incoming` has
    /// ended, `close` says how the process ended.
    pub connection: Connection,
    /// The process itself.
    pub process: Process,
}

impl Child {
    /// Starts `argv` in a process group of its own with exactly `env`, in which
    /// a program name without a slash is looked up (`PATH`).
    ///
    /// # Errors
    /// Where `argv` is empty or can't be started.
    pub fn spawn(argv: &[String], env: &BTreeMap<String, String>, cwd: Option<&Path>) -> io::Result<Self> {
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program to start"))?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(env).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a started process has no pipes");
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).ok_or_else(missing)?;
        let (stdin, stdout, stderr) = (
            child.stdin.take().ok_or_else(missing)?,
            child.stdout.take().ok_or_else(missing)?,
            child.stderr.take().ok_or_else(missing)?,
        );

        let group = Arc::new(Group { pid, reaped: AtomicBool::new(false) });
        let tail = Arc::<Tail>::default();
        let (exit, exited) = watch::channel(None);
        let drained = tokio::spawn(tail::drain(stderr, Arc::clone(&tail)));
        tokio::spawn(supervise(child, Arc::clone(&group), Arc::clone(&tail), drained, exit));
        let process = Process { group, tail, exited };
        Ok(Self { connection: connect(stdin, stdout, process.exited.clone()), process })
    }

    /// The end of what it wrote to standard error, at most 64 KiB.
    pub fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    /// Ends it in the order that MCP asks for: closes standard input, waits
    /// `grace`, asks (TERM), waits, and kills. Says how it ended.
    pub async fn shutdown(self, grace: Duration) -> Close {
        let Self { connection, process } = self;
        let Connection { outgoing, mut incoming, tasks, .. } = connection;
        drop(outgoing);
        // A process that is blocked on a full pipe could not end in order.
        let emptying = tokio::spawn(async move { while incoming.recv().await.is_some() {} });
        let close = process.shutdown(grace).await;
        emptying.abort();
        drop(tasks);
        close
    }
}

/// A running child process. Dropping it kills its whole group.
#[derive(Debug)]
pub struct Process {
    group: Arc<Group>,
    tail: Arc<Tail>,
    exited: watch::Receiver<Option<Close>>,
}

impl Process {
    /// The end of what it wrote to standard error, at most 64 KiB.
    pub fn stderr_tail(&self) -> String {
        self.tail.text(tail::KEPT)
    }

    /// Its process id, which is also the id of its group.
    pub fn id(&self) -> u32 {
        self.group.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits until it has ended, and says how.
    pub async fn exited(&self) -> Close {
        wait(self.exited.clone()).await
    }

    /// Waits `grace`, asks it to end (TERM), waits, and kills. Whoever calls
    /// this has closed its standard input.
    pub async fn shutdown(self, grace: Duration) -> Close {
        if let Ok(close) = timeout(grace, self.exited()).await {
            return close;
        }
        self.group.signal(Signal::TERM);
        if let Ok(close) = timeout(grace, self.exited()).await {
            return close;
        }
        self.group.signal(Signal::KILL);
        self.exited().await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.signal(Signal::KILL);
    }
}

/// A process group, for as long as its leader has not been waited for.
#[derive(Debug)]
struct Group {
    pid: Pid,
    reaped: AtomicBool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        // After the leader is gone its number may be somebody else's.
        if !self.reaped.load(Ordering::Acquire) {
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

/// The standard streams as a connection that ends with how the process ended.
fn connect<W, R>(stdin: W, stdout: R, exited: watch::Receiver<Option<Close>>) -> Connection
where
    W: AsyncWrite + Send + Unpin + 'static,
    R: AsyncRead + Send + Unpin + 'static,
{
    let (mut connection, from_owner, to_owner) = Connection::new();
    let close = Arc::clone(&connection.close);
    lines::spawn_writer(stdin, from_owner);
    connection.tasks.keep(tokio::spawn(async move {
        let outlet = Outlet::new(to_owner);
        let overtime = async {
            wait(exited.clone()).await;
            tokio::time::sleep(LINGER).await;
        };
        let end = tokio::select! {
            biased;
            end = lines::read(stdout, &outlet) => end,
            () = overtime => Close::Ended,
        };
        let end = match end {
            Close::Ended => timeout(LINGER * 2, wait(exited)).await.unwrap_or(Close::Ended),
            broken @ Close::Broken(_) => broken,
        };
        let _ = close.set(end);
    }));
    connection
}

/// Waits for the process, then ends the rest of its group: what they hold open
/// would keep the streams from ending.
async fn supervise(
    mut child: tokio::process::Child,
    group: Arc<Group>,
    tail: Arc<Tail>,
    drained: JoinHandle<()>,
    exit: watch::Sender<Option<Close>>,
) {
    let status = child.wait().await;
    group.signal(Signal::KILL);
    group.reaped.store(true, Ordering::Release);
    let _ = timeout(LINGER, drained).await;
    exit.send_replace(Some(reason(status, &tail.text(QUOTED))));
}

async fn wait(mut exited: watch::Receiver<Option<Close>>) -> Close {
    match exited.wait_for(Option::is_some).await {
        Ok(close) => close.clone().unwrap_or(Close::Ended),
        Err(_) => Close::Broken("nobody waits for the process any more".to_owned()),
    }
}

fn reason(status: io::Result<ExitStatus>, stderr: &str) -> Close {
    let how = match status {
        Ok(status) if status.success() => return Close::Ended,
        Ok(status) => match status.signal() {
            Some(signal) => format!("ended by signal {signal}"),
            None => format!("exited with status {}", status.code().unwrap_or_default()),
        },
        Err(error) => format!("could not be waited for: {error}"),
    };
    let stderr = stderr.trim();
    Close::Broken(if stderr.is_empty() { how } else { format!("{how}; stderr: {stderr}") })
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{Exchange, Frame},
        *,
    };

    fn spawn(argv: &[&str], env: &[(&str, &str)]) -> Child {
        let argv: Vec<String> = argv.iter().map(|part| (*part).to_owned()).collect();
        let env = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Child::spawn(&argv, &env, None).unwrap()
    }

    async fn next(child: &mut Child) -> Option<String> {
        let frame = child.connection.incoming.recv().await?;
        Some(String::from_utf8(frame.body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn cat_echoes_and_ends_in_order() {
        let mut child = spawn(&["cat"], &[]);
        child.connection.outgoing.send(Frame::line(Exchange(9), r#"{"é":5.0}"#)).await.unwrap();
        assert_eq!(next(&mut child).await.as_deref(), Some(r#"{"é":5.0}"#));
        assert_eq!(child.shutdown(Duration::from_secs(60)).await, Close::Ended);
    }

    #[tokio::test]
    async fn the_environment_is_exactly_what_was_given() {
        let mut child = spawn(&["/usr/bin/env"], &[("ONLY", "this one")]);
        assert_eq!(next(&mut child).await.as_deref(), Some("ONLY=this one"));
        assert_eq!(next(&mut child).await, None);
        assert_eq!(child.connection.close_reason(), Close::Ended);
    }

    #[tokio::test]
    async fn says_how_it_ended_and_what_it_complained_of() {
        let mut child = spawn(&["sh", "-c", "echo no licence >&2; exit 3"], &[]);
        assert_eq!(next(&mut child).await, None);
        let why = "exited with status 3; stderr: no licence";
        assert_eq!(child.connection.close_reason(), Close::Broken(why.to_owned()));
        assert_eq!(child.stderr_tail(), "no licence\n");
    }

    #[tokio::test]
    async fn only_the_end_of_standard_error_is_kept() {
        let mut child = spawn(&["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x >&2; echo end >&2"], &[]);
        assert_eq!(next(&mut child).await, None);
        let kept = child.stderr_tail();
        assert_eq!(kept.len(), tail::KEPT);
        assert!(kept.ends_with("xend\n"));
    }

    #[tokio::test]
    async fn a_stubborn_one_is_killed() {
        let mut child = spawn(&["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"], &[]);
        assert_eq!(next(&mut child).await.as_deref(), Some("ready"));
        let close = child.shutdown(Duration::from_millis(1)).await;
        assert_eq!(close, Close::Broken("ended by signal 9".to_owned()));
    }

    #[tokio::test]
    async fn what_cannot_be_started_is_an_error() {
        assert!(Child::spawn(&[], &BTreeMap::new(), None).is_err());
        assert!(Child::spawn(&["/does/not/exist".to_owned()], &BTreeMap::new(), None).is_err());
    }

    /// Whether a process still runs; one that only waits to be collected by
    /// whoever inherited it does not.
    #[cfg(target_os = "linux")]
    fn runs(pid: &str) -> bool {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        !stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X'])
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_whole_group_ends_with_it() {
        let mut child = spawn(&["sh", "-c", "sleep 1000 & echo $!; wait"], &[]);
        let (leader, sleeper) = (child.process.id().to_string(), next(&mut child).await.unwrap());
        assert!(runs(&leader) && runs(&sleeper));
        let mut exited = child.process.exited.clone();
        drop(child);
        exited.wait_for(Option::is_some).await.unwrap();
        while runs(&sleeper) {
            tokio::task::yield_now().await;
        }
        assert!(!Path::new(&format!("/proc/{leader}")).exists(), "the leader was collected");
    }
}
