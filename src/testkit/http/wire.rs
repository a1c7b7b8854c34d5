//! Requests as they came over the wire, and what is answered.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Its method.
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// All headers in order, with their names as sent.
    pub headers: Vec<(String, String)>,
    /// The body as sent, still compressed if it was.
    pub body: Bytes,
    /// How many bytes there were before the body.
    pub head_bytes: usize,
}

impl HttpRequest {
    /// The first value of a header; names are compared without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A decoded parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let pair = query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
        pair.map(|(_, value)| decoded(value))
    }

    /// The operation, without the version before it.
    pub fn operation(&self) -> &str {
        self.header("x-amz-target").and_then(|target| target.rsplit('.').next()).unwrap_or_default()
    }

    /// Reads one; `None` if the client closes instead.
    pub(super) async fn read<IO: AsyncRead + Unpin>(io: &mut IO, buffer: &mut BytesMut) -> io::Result<Option<Self>> {
        let bad = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        let end = loop {
            if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            if buffer.len() > 1 << 20 {
                return Err(bad("the head of a request is longer than a MiB"));
            }
            if io.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        };
        let head = buffer.split_to(end + 4);
        let text = std::str::from_utf8(&head[..end]).map_err(|_| bad("the head of a request is no text"))?;
        let mut lines = text.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        let mut request = Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: Bytes::new(),
            head_bytes: head.len(),
        };
        let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(|_| bad("no length"))?;
        if length > 64 << 20 {
            return Err(bad("a request is longer than 64 MiB"));
        }
        while buffer.len() < length {
            if io.read_buf(buffer).await? == 0 {
                return Ok(None);
            }
        }
        request.body = buffer.copy_to_bytes(length);
        Ok(Some(request))
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(byte) = rest.bytes().next() {
        match rest.strip_prefix('%').and_then(|rest| rest.get(..2)).map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(decoded)) => {
                bytes.push(decoded);
                rest = &rest[3..];
            }
            _ => {
                bytes.push(byte);
                // No more than a part of a character is lost, in a test's own query.
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Headers besides the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl HttpReply {
    /// A status and a body of JSON.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/x-amz-json-1.0".to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// The same with one header more.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A refusal in the server's form.
    pub(super) fn refusal(status: u16, kind: &str, message: &str) -> Self {
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{kind}","message":"{message}"}}"#);
        Self::new(status, body)
    }

    pub(super) fn head(&self, length: &str) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} answer\r\n{length}\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head(&format!("Content-Length: {}", self.body.len()));
        bytes.extend_from_slice(&self.body);
        bytes
    }
}
