//! The surroundings of a gate on this machine.

use std::{
    net::{IpAddr, ToSocketAddrs as _},
    sync::mpsc,
    time::Duration,
};

use crate::gate::{Surroundings, Unresolved};

/// How long a name may take. The session stands still meanwhile.
const PATIENCE: Duration = Duration::from_secs(3);

/// Names as this machine resolves them, and its links. Asked only where the
/// policy has a section `egress` or `paths`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Surroundings for ThisMachine {
    fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let (send, receive) = mpsc::channel();
        let host = host.to_owned();
        // The system's resolver can't be told to give up.
        std::thread::spawn(move || {
            let found = (host.as_str(), 0).to_socket_addrs();
            let _ = send.send(found.map(|all| all.map(|one| one.ip()).collect::<Vec<_>>()));
        });
        let found = receive.recv_timeout(PATIENCE).map_err(|_| Unresolved)?.map_err(|_| Unresolved)?;
        if found.is_empty() { Err(Unresolved) } else { Ok(found) }
    }

    fn target(&self, path: &str) -> Option<String> {
        std::fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_names_are_this_machines() {
        let folder = tempfile::TempDir::new().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/elsewhere", &link).unwrap();
        assert_eq!(ThisMachine.target(link.to_str().unwrap()).as_deref(), Some("/elsewhere"));
        assert_eq!(ThisMachine.target(folder.path().to_str().unwrap()), None);
        assert!(ThisMachine.addresses("127.0.0.1").unwrap().iter().all(IpAddr::is_loopback));
        assert_eq!(ThisMachine.addresses("no such name"), Err(Unresolved));
    }
}
