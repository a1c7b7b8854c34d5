//! A client of a few lines that sends bytes as they stand, to know what the server really says.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use messina_layers::rustls::pki_types::ServerName;
use messina_layers::rustls::{ClientConfig, ClientConnection, StreamOwned};

pub(crate) const ERROR: u8 = 0x00;
pub(crate) const STARTUP: u8 = 0x01;
pub(crate) const READY: u8 = 0x02;
pub(crate) const AUTHENTICATE: u8 = 0x03;
pub(crate) const OPTIONS: u8 = 0x05;
pub(crate) const SUPPORTED: u8 = 0x06;
pub(crate) const QUERY: u8 = 0x07;
pub(crate) const RESULT: u8 = 0x08;
pub(crate) const REGISTER: u8 = 0x0B;
pub(crate) const EVENT: u8 = 0x0C;
pub(crate) const AUTH_RESPONSE: u8 = 0x0F;
pub(crate) const AUTH_SUCCESS: u8 = 0x10;

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) version: u8,
    pub(crate) stream: i16,
    pub(crate) opcode: u8,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The code of an ERROR.
    pub(crate) fn code(&self) -> u32 {
        assert_eq!(self.opcode, ERROR, "{}", self.text());
        u32::from_be_bytes(self.body[..4].try_into().unwrap())
    }

    /// The body as text, good enough to look for words.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection over any stream.
#[derive(Debug)]
pub(crate) struct Raw<IO> {
    io: IO,
    version: u8,
    /// From v5's STARTUP on.
    segments: bool,
    unread: Vec<u8>,
}

impl Raw<TcpStream> {
    /// Connects, with a limit on every wait.
    pub(crate) fn connect(address: SocketAddr, version: u8) -> io::Result<Self> {
        let limit = Duration::from_secs(5);
        let io = TcpStream::connect_timeout(&address, limit)?;
        io.set_read_timeout(Some(limit))?;
        io.set_nodelay(true)?;
        Ok(Self::over(io, version))
    }

    /// Another limit for every wait.
    pub(crate) fn patience(&self, limit: Duration) -> io::Result<()> {
        self.io.set_read_timeout(Some(limit))
    }
}

impl Raw<StreamOwned<ClientConnection, TcpStream>> {
    /// Connects and speaks TLS, verifying `name`.
    pub(crate) fn connect_tls(address: SocketAddr, name: &str, config: Arc<ClientConfig>) -> io::Result<Self> {
        let limit = Duration::from_secs(5);
        let mut io = TcpStream::connect_timeout(&address, limit)?;
        io.set_read_timeout(Some(limit))?;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut tls = ClientConnection::new(config, name).unwrap();
        tls.complete_io(&mut io)?;
        Ok(Self::over(StreamOwned::new(tls, io), 4))
    }
}

impl<IO: Read + Write> Raw<IO> {
    pub(crate) fn over(io: IO, version: u8) -> Self {
        Self { io, version, segments: false, unread: Vec::new() }
    }

    /// Goes on in another version.
    pub(crate) fn speak(&mut self, version: u8) {
        self.version = version;
    }

    /// Sends one request and reads one answer.
    pub(crate) fn call(&mut self, stream: i16, opcode: u8, body: &[u8]) -> io::Result<Answer> {
        self.send(stream, opcode, body)?;
        self.receive()
    }

    pub(crate) fn send(&mut self, stream: i16, opcode: u8, body: &[u8]) -> io::Result<()> {
        let mut envelope = vec![self.version, 0];
        envelope.extend(stream.to_be_bytes());
        envelope.push(opcode);
        envelope.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        envelope.extend(body);
        if self.segments {
            envelope = segment(&envelope);
        }
        self.io.write_all(&envelope)
    }

    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        let header = self.take(9)?;
        let length = u32::from_be_bytes(header[5..9].try_into().unwrap());
        let body = self.take(usize::try_from(length).unwrap())?;
        let stream = i16::from_be_bytes([header[2], header[3]]);
        Ok(Answer { version: header[0] & 0x7F, stream, opcode: header[4], body })
    }

    /// STARTUP; from v5 on everything after it travels in segments.
    pub(crate) fn startup(&mut self, options: &[(&str, &str)]) -> io::Result<Answer> {
        let mut body = u16::try_from(options.len() + 1).unwrap().to_be_bytes().to_vec();
        for (key, value) in [("CQL_VERSION", "3.0.0")].iter().chain(options) {
            body.extend(short(key));
            body.extend(short(value));
        }
        let answer = self.call(1, STARTUP, &body)?;
        self.segments = self.version >= 5;
        Ok(answer)
    }

    /// A query without values, at consistency ONE.
    pub(crate) fn query(&mut self, text: &str) -> io::Result<Answer> {
        self.send_query(text)?;
        self.receive()
    }

    /// The same, for when something else may come before the answer.
    pub(crate) fn send_query(&mut self, text: &str) -> io::Result<()> {
        let mut body = u32::try_from(text.len()).unwrap().to_be_bytes().to_vec();
        body.extend(text.as_bytes());
        body.extend([0, 1]);
        body.extend(vec![0; if self.version >= 5 { 4 } else { 1 }]);
        self.send(2, QUERY, &body)
    }

    /// REGISTER for these events.
    pub(crate) fn register(&mut self, events: &[&str]) -> io::Result<Answer> {
        let mut body = u16::try_from(events.len()).unwrap().to_be_bytes().to_vec();
        body.extend(events.iter().flat_map(|event| short(event)));
        self.call(3, REGISTER, &body)
    }

    /// A plain-text login.
    pub(crate) fn login(&mut self, user: &str, password: &str) -> io::Result<Answer> {
        let token = format!("\0{user}\0{password}");
        let mut body = u32::try_from(token.len()).unwrap().to_be_bytes().to_vec();
        body.extend(token.as_bytes());
        self.call(4, AUTH_RESPONSE, &body)
    }

    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.segments && self.unread.len() < count {
            let header = self.read(6)?;
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) & 0x1_FFFF;
            let payload = self.read(usize::try_from(length).unwrap())?;
            self.read(4)?;
            self.unread.extend(payload);
        }
        if self.segments {
            return Ok(self.unread.drain(..count).collect());
        }
        self.read(count)
    }

    fn read(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.io.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn short(text: &str) -> Vec<u8> {
    let mut bytes = u16::try_from(text.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// One self-contained uncompressed v5 segment.
fn segment(envelope: &[u8]) -> Vec<u8> {
    let header = (u32::try_from(envelope.len()).unwrap() | 1 << 17).to_le_bytes();
    let mut check = 0x87_5060_u32;
    for byte in &header[..3] {
        check ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            check = (check << 1) ^ if check & 0x80_0000 == 0 { 0 } else { 0x197_4F0B };
        }
    }
    let mut bytes = header[..3].to_vec();
    bytes.extend(&check.to_le_bytes()[..3]);
    bytes.extend(envelope);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xFA, 0x2D, 0x55, 0xCA]);
    crc.update(envelope);
    bytes.extend(crc.finalize().to_le_bytes());
    bytes
}
