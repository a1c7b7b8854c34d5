//! A server side written by hand, over an in-memory pipe.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use messina::connection::{Connection, Limits, Opening};
use messina::protocol::envelope::{Header, decode};
use messina::protocol::request::{Query, QueryParams};
use messina::protocol::{DEFAULT_MAX_BODY, Envelope, Opcode, ProtocolVersion, SegmentDecoder, SegmentEncoder};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Room in the pipe, each way.
pub(crate) const PIPE: usize = 64 * 1024;

pub(crate) fn peer() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 9042))
}

/// A request that carries `text`.
pub(crate) fn query(text: &str) -> Query<'_> {
    Query::new(text, QueryParams::default())
}

/// The text of a request made by [`query`].
pub(crate) fn text(envelope: &Envelope) -> &[u8] {
    let length = u32::from_be_bytes(*envelope.body.first_chunk().unwrap()) as usize;
    &envelope.body[4..4 + length]
}

/// An accepted v4 connection and its server.
pub(crate) fn connect() -> (Connection, Server) {
    connect_with(Limits::default())
}

/// The same with limits.
pub(crate) fn connect_with(limits: Limits) -> (Connection, Server) {
    let (opening, server) = open(ProtocolVersion::V4, limits, PIPE);
    (opening.accept(), server)
}

/// A connection that is not accepted yet, and its server.
pub(crate) fn open(version: ProtocolVersion, limits: Limits, pipe: usize) -> (Opening<DuplexStream>, Server) {
    let (near, far) = tokio::io::duplex(pipe);
    (Opening::new(near, peer(), version, limits), Server::new(far))
}

/// The far end of a pipe.
pub(crate) struct Server {
    pub(crate) io: DuplexStream,
    input: BytesMut,
    segments: Option<(SegmentDecoder, SegmentEncoder)>,
}

impl Server {
    pub(crate) fn new(io: DuplexStream) -> Self {
        Self { io, input: BytesMut::new(), segments: None }
    }

    /// From here on both ways travel in segments.
    pub(crate) fn start_segments(&mut self, lz4: bool) {
        let decoder = SegmentDecoder::new(lz4, DEFAULT_MAX_BODY);
        self.segments = Some((decoder, SegmentEncoder::new(lz4)));
    }

    /// The next request; `None` when the client closed.
    pub(crate) async fn try_next(&mut self) -> Option<Envelope> {
        loop {
            let next = match &mut self.segments {
                None => decode(&mut self.input, DEFAULT_MAX_BODY),
                Some((decoder, _)) => decoder.decode(&mut self.input),
            };
            if let Some(envelope) = next.unwrap() {
                return Some(envelope);
            }
            if self.io.read_buf(&mut self.input).await.unwrap() == 0 {
                assert!(self.input.is_empty(), "the client stopped in a request");
                return None;
            }
        }
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Envelope {
        self.try_next().await.unwrap()
    }

    /// Sends raw bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.unwrap();
    }

    /// Sends envelopes, in segments if those were started.
    pub(crate) async fn send(&mut self, envelopes: &[u8]) {
        let mut wire = Vec::new();
        match &mut self.segments {
            None => wire.extend_from_slice(envelopes),
            Some((_, encoder)) => encoder.encode(envelopes, &mut wire).unwrap(),
        }
        self.write(&wire).await;
    }

    /// Answers a request with a body.
    pub(crate) async fn answer(&mut self, request: &Envelope, opcode: Opcode, body: &[u8]) {
        let answer = response(request.header.version, request.header.stream, opcode, body);
        self.send(&answer).await;
    }

    /// Answers a request made by [`query`] with its text.
    pub(crate) async fn echo(&mut self, request: &Envelope) {
        let body = Bytes::copy_from_slice(text(request));
        self.answer(request, Opcode::Result, &body).await;
    }

    /// Answers every request with its text until the client closes.
    pub(crate) async fn echo_all(mut self) {
        while let Some(request) = self.try_next().await {
            self.echo(&request).await;
        }
    }
}

/// A response as bytes.
pub(crate) fn response(version: u8, stream: i16, opcode: Opcode, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header =
        Header { version, response: true, flags: 0, stream, opcode: opcode.as_u8(), length: body.len() as u32 };
    header.write(&mut bytes);
    bytes.extend_from_slice(body);
    bytes
}
