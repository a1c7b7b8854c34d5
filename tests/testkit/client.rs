//! A client of a few lines that trusts nothing of the crate under test.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const OPTIONS: u8 = 0x05;
pub(crate) const STARTUP: u8 = 0x01;
pub(crate) const QUERY: u8 = 0x07;
pub(crate) const PREPARE: u8 = 0x09;
pub(crate) const EXECUTE: u8 = 0x0A;
pub(crate) const REGISTER: u8 = 0x0B;
pub(crate) const BATCH: u8 = 0x0D;
pub(crate) const AUTH_RESPONSE: u8 = 0x0F;

/// Long enough for anything on loopback, short enough for a test.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// Long enough to believe that nothing comes.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

/// An answer, cut but not read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) version: u8,
    pub(crate) flags: u8,
    pub(crate) stream: i16,
    pub(crate) opcode: u8,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    pub(crate) version: u8,
    pub(crate) flags: u8,
}

impl Client {
    pub(crate) async fn dial(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }

    /// Dials and starts up.
    pub(crate) async fn ready(addr: SocketAddr) -> Self {
        let mut client = Self::dial(addr).await.unwrap();
        assert_eq!(client.startup(&[]).await.opcode, 0x02);
        client
    }
}

/// What a client may speak over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl<S: Stream> Client<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, version: 4, flags: 0 }
    }

    pub(crate) async fn send(&mut self, stream: i16, opcode: u8, body: &[u8]) {
        let mut bytes = vec![self.version, self.flags];
        bytes.extend(stream.to_be_bytes());
        bytes.push(opcode);
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        self.stream.write_all(&bytes).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// The next answer, or how the connection ended.
    pub(crate) async fn receive(&mut self) -> io::Result<Frame> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header).await?;
        let length = u32::from_be_bytes(header[5..].try_into().unwrap());
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body).await?;
        Ok(Frame {
            version: header[0],
            flags: header[1],
            stream: i16::from_be_bytes([header[2], header[3]]),
            opcode: header[4],
            body,
        })
    }

    pub(crate) async fn ask(&mut self, opcode: u8, body: &[u8]) -> Frame {
        self.send(7, opcode, body).await;
        tokio::time::timeout(SOON, self.receive()).await.unwrap().unwrap()
    }

    /// Asserts that nothing comes, not even an end.
    pub(crate) async fn hears_nothing(&mut self) {
        let heard = tokio::time::timeout(QUIET, self.receive()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    /// How the connection ends; there must be no answer before.
    pub(crate) async fn end(&mut self) -> io::ErrorKind {
        tokio::time::timeout(SOON, self.receive()).await.unwrap().unwrap_err().kind()
    }

    pub(crate) async fn startup(&mut self, options: &[(&str, &str)]) -> Frame {
        let mut all = vec![("CQL_VERSION", "3.0.0")];
        all.extend(options);
        let mut body = (all.len() as u16).to_be_bytes().to_vec();
        for (key, value) in all {
            body.extend(string(key));
            body.extend(string(value));
        }
        self.ask(STARTUP, &body).await
    }

    pub(crate) async fn query(&mut self, text: &str) -> Frame {
        self.ask(QUERY, &query(text)).await
    }
}

pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u16).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

pub(crate) fn long_string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

/// The body of a QUERY in v3 and v4: consistency ONE, no flags.
pub(crate) fn query(text: &str) -> Vec<u8> {
    let mut body = long_string(text);
    body.extend([0, 1, 0]);
    body
}

/// Code and text of an ERROR.
pub(crate) fn error(frame: &Frame) -> (i32, String) {
    assert_eq!(frame.opcode, 0x00, "{frame:?}");
    let mut body = Body(&frame.body);
    (body.int(), body.string())
}

/// A body being read; panics where it ends too early.
pub(crate) struct Body<'a>(pub(crate) &'a [u8]);

impl<'a> Body<'a> {
    pub(crate) fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    pub(crate) fn short(&mut self) -> usize {
        usize::from(u16::from_be_bytes(self.take(2).try_into().unwrap()))
    }

    pub(crate) fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    pub(crate) fn string(&mut self) -> String {
        let length = self.short();
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.int();
        usize::try_from(length).ok().map(|length| self.take(length))
    }

    /// One column's type, without what follows a collection's id.
    pub(crate) fn typ(&mut self) -> usize {
        let id = self.short();
        match id {
            0x20 | 0x22 => drop(self.typ()),
            0x21 => {
                self.typ();
                self.typ();
            }
            _ => {}
        }
        id
    }
}

/// A RESULT of kind rows.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) flags: i32,
    pub(crate) paging_state: Option<Vec<u8>>,
    pub(crate) columns: Vec<(String, usize)>,
    pub(crate) rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl Table {
    pub(crate) fn read(frame: &Frame) -> Self {
        assert_eq!(frame.opcode, 0x08, "{frame:?}");
        let mut body = Body(&frame.body);
        assert_eq!(body.int(), 2, "no rows");
        let flags = body.int();
        let count = body.int();
        let paging_state = (flags & 2 != 0).then(|| body.bytes().unwrap().to_vec());
        let mut columns = Vec::new();
        if flags & 4 == 0 {
            assert_eq!(flags & 1, 1, "one table for all columns");
            let _table = (body.string(), body.string());
            columns.extend((0..count).map(|_| (body.string(), body.typ())));
        }
        let rows = (0..body.int()).map(|_| (0..count).map(|_| body.bytes().map(<[u8]>::to_vec)).collect()).collect();
        assert!(body.0.is_empty(), "{} bytes too many", body.0.len());
        Self { flags, paging_state, columns, rows }
    }

    /// The cell of a named column.
    pub(crate) fn cell(&self, row: usize, column: &str) -> Option<&[u8]> {
        let place = self.columns.iter().position(|(name, _)| name == column).unwrap();
        self.rows[row][place].as_deref()
    }

    pub(crate) fn text(&self, row: usize, column: &str) -> &str {
        std::str::from_utf8(self.cell(row, column).unwrap()).unwrap()
    }
}
