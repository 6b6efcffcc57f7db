//! A server that does next to nothing, so that what is measured is the way.

use std::io::{BufRead as _, Write as _};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use super::words::reply;

/// Serves one client on standard input and output.
pub(crate) fn stdio() {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Some(reply) = line.ok().as_deref().and_then(reply) else { continue };
        if writeln!(output, "{reply}").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
}

/// Serves every client on a free port, which it prints.
pub(crate) fn http() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("{}", listener.local_addr().expect("an address"));
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            tokio::spawn(serve(stream));
        }
    });
}

async fn serve(stream: TcpStream) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    loop {
        let (mut length, mut first) = (0, String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            let text = line.trim_end();
            if first.is_empty() {
                text.clone_into(&mut first);
            } else if text.is_empty() {
                break;
            } else if let Some((name, value)) = text.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).await.is_err() {
            return;
        }
        let answer = match reply(&String::from_utf8_lossy(&body)) {
            _ if !first.starts_with("POST") => {
                "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Some(reply) => format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: shelf\r\ncontent-length: {}\r\n\r\n{reply}",
                reply.len()
            ),
            None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        };
        if writer.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
