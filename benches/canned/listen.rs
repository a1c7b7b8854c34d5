//! The canned server on a port of its own, with a thread for each connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::server::Canned;

/// Starts the server and gives its address.
pub(crate) fn listen() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Serves one connection until it is closed.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut canned = Canned::default();
    let mut buffer = vec![0; 64 * 1024];
    stream.set_nodelay(true)?;
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        canned.input().extend_from_slice(&buffer[..n]);
        stream.write_all(canned.answers())?;
    }
}
