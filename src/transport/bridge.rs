//! Brings the standard streams of a real child process into this process.
//!
//! A gate under test starts its servers itself. What it is given to start is
//! this program again, with arguments that make it a relay: it connects back
//! and copies bytes. The endpoint stays here, where it can be scripted and
//! watched.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr},
    path::Path,
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::TcpListener,
    sync::oneshot,
    time::timeout,
};

use super::{Connection, stdio};

/// The hidden verb that turns the program into a relay.
pub const VERB: &str = "__bridge";

/// The longest first line, in bytes: more than a kernel takes as arguments.
const HELLO_CAP: u64 = 16 << 20;

/// How long a connection may take to say who it is.
const HELLO_DEADLINE: Duration = Duration::from_secs(5);

/// How a relay was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
}

impl Hello {
    /// The command of the server that the relay stands for.
    pub fn words(&self) -> Vec<String> {
        self.argv.iter().skip_while(|word| *word != "--").skip(1).cloned().collect()
    }
}

/// The first line of a relay.
#[derive(Serialize, Deserialize)]
struct Opening {
    token: String,
    hello: Hello,
}

/// Where relays come to.
#[derive(Debug)]
pub struct Rendezvous {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Rendezvous {
    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// Where there is no port or no randomness to be had.
    pub async fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let token = format!("{:032x}", u128::from_le_bytes(secret));
        Ok(Self { listener, address, token })
    }

    /// What starts a relay to here, where `program` is this program and `words`
    /// the command of the server that it stands for. `stderr` is what the relay writes
    /// on its standard error before it relays anything.
    pub fn argv(&self, program: &Path, words: &[String], stderr: Option<&str>) -> Vec<String> {
        let program = program.to_string_lossy().into_owned();
        let address = self.address.to_string();
        let own = [program, VERB.to_owned(), "--to".to_owned(), address, "--token".to_owned(), self.token.clone()];
        let said = stderr.into_iter().flat_map(|text| ["--stderr".to_owned(), text.to_owned()]);
        own.into_iter().chain(said).chain(std::iter::once("--".to_owned())).chain(words.iter().cloned()).collect()
    }

    /// Waits for the next relay; whoever does not know the token is sent away.
    ///
    /// # Errors
    /// Where the listener fails.
    pub async fn accept(&self) -> io::Result<(Hello, Connection)> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            let (reader, writer) = stream.into_split();
            let mut reader = BufReader::new(reader);
            if let Ok(Some(hello)) = timeout(HELLO_DEADLINE, self.greet(&mut reader)).await {
                return Ok((hello, stdio::over(reader, writer)));
            }
        }
    }

    async fn greet(&self, reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Hello> {
        let mut line = Vec::new();
        reader.take(HELLO_CAP).read_until(b'\n', &mut line).await.ok()?;
        let opening: Opening = serde_json::from_slice(&line).ok()?;
        (opening.token == self.token).then_some(opening.hello)
    }
}

/// Relays this process's standard streams to the rendezvous at `to` (an
/// address with its port) until either side ends.
///
/// The end of standard input closes only that direction, so that what the
/// endpoint still has to say arrives.
///
/// # Errors
/// Where the rendezvous can't be reached or the connection breaks.
pub async fn run_bridge(to: &str, token: &str, argv: Vec<String>, env: BTreeMap<String, String>) -> io::Result<()> {
    let opening = Opening { token: token.to_owned(), hello: Hello { argv, env } };
    relay(to, &opening, io::stdin(), io::stdout()).await
}

/// Both copies run on threads of their own, which no runtime waits for: one of
/// them may be stuck in a read of standard input for ever.
async fn relay<R, W>(to: &str, opening: &Opening, mut reader: R, mut writer: W) -> io::Result<()>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let socket = tokio::net::TcpStream::connect(to).await?.into_std()?;
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    let mut first = serde_json::to_vec(opening)?;
    first.push(b'\n');
    (&socket).write_all(&first)?;

    let upward = socket.try_clone()?;
    thread::Builder::new().name("bridge-up".to_owned()).spawn(move || {
        // Whether it ended or broke, the endpoint has heard all there is.
        let _ = copy(&mut reader, &mut &upward);
        let _ = upward.shutdown(Shutdown::Write);
    })?;
    let (done, finished) = oneshot::channel();
    thread::Builder::new().name("bridge-down".to_owned()).spawn(move || {
        let _ = done.send(copy(&mut &socket, &mut writer));
    })?;
    finished.await.unwrap_or_else(|_| Err(io::Error::other("the relay stopped")))
}

/// Copies and flushes piece by piece: standard output keeps lines back.
fn copy(reader: &mut impl Read, writer: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                writer.write_all(&buffer[..length])?;
                writer.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::{
        super::{Close, Exchange, Frame},
        *,
    };

    fn hello() -> Hello {
        Hello {
            argv: vec!["server".to_owned(), "--root".to_owned()],
            env: BTreeMap::from([("KEY".to_owned(), "val\nue".to_owned())]),
        }
    }

    #[tokio::test]
    async fn argv_says_where_to() {
        let rendezvous = Rendezvous::bind().await.unwrap();
        let argv = rendezvous.argv(Path::new("gateproof"), &["server".to_owned(), "--".to_owned()], None);
        assert_eq!(argv[..3], ["gateproof", "__bridge", "--to"]);
        assert!(argv[3].starts_with("127.0.0.1:"));
        assert_eq!(argv[6..], ["--", "server", "--"]);
        assert_eq!((argv[4].as_str(), argv[5].len()), ("--token", 32));
        let other = Rendezvous::bind().await.unwrap();
        assert_ne!(other.token, rendezvous.token);
    }

    #[tokio::test]
    async fn carries_both_ways_after_a_stranger_was_sent_away() {
        let rendezvous = Rendezvous::bind().await.unwrap();
        let to = rendezvous.address.to_string();

        let mut stranger = TcpStream::connect(&to).unwrap();
        let opening = Opening { token: "guess".to_owned(), hello: hello() };
        stranger.write_all(format!("{}\n", serde_json::to_string(&opening).unwrap()).as_bytes()).unwrap();

        let (stdin, mut host_out) = io::pipe().unwrap();
        let (mut host_in, stdout) = io::pipe().unwrap();
        let opening = Opening { token: rendezvous.token.clone(), hello: hello() };
        let relaying = tokio::spawn(async move { relay(&to, &opening, stdin, stdout).await });

        let (greeting, mut connection) = rendezvous.accept().await.unwrap();
        assert_eq!(greeting, hello());
        host_out.write_all(b"{\"id\":1}\n").unwrap();
        assert_eq!(connection.incoming.recv().await.unwrap().body, r#"{"id":1}"#);

        // The end of input is heard, and the answer still arrives.
        drop(host_out);
        assert_eq!(connection.incoming.recv().await, None);
        assert_eq!(connection.close_reason(), Close::Ended);
        connection.outgoing.send(Frame::line(Exchange::NONE, "bye")).await.unwrap();
        drop(connection);
        relaying.await.unwrap().unwrap();
        let mut heard = String::new();
        host_in.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "bye\n");
        assert_eq!(stranger.read(&mut [0; 1]).unwrap_or(0), 0, "the stranger was sent away");
    }

    #[tokio::test]
    async fn an_unreachable_rendezvous_is_an_error() {
        let to = Rendezvous::bind().await.unwrap().address.to_string();
        let opening = Opening { token: String::new(), hello: hello() };
        assert!(relay(&to, &opening, io::empty(), io::sink()).await.is_err());
    }
}
