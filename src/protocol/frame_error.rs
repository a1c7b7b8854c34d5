//! What can be wrong with a stream of envelopes or segments; each ends the connection.

use thiserror::Error;

/// A stream that cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// An envelope announces a body above the limit.
    #[error("an envelope announces a body of {length} bytes, more than the limit of {limit}")]
    TooLong {
        /// The announced length.
        length: u32,
        /// The limit.
        limit: u32,
    },
    /// What came is not an answer in any version of the protocol.
    #[error("the peer does not speak CQL: an answer cannot begin with the byte {first_byte:#04x}{}", instead(*first_byte))]
    NotAResponse {
        /// The byte where the version should stand.
        first_byte: u8,
    },
    /// A compressed envelope on a connection that did not agree on a compression.
    #[error("an envelope is compressed, but no compression was agreed on")]
    UnexpectedCompression,
    /// Compressed bytes that do not unpack.
    #[error("{what} cannot be unpacked: {reason}")]
    Unpack {
        /// What was compressed.
        what: &'static str,
        /// What is wrong with it.
        reason: UnpackError,
    },
    /// A segment's header does not fit its checksum: the framing is lost.
    #[error("checksum mismatch in a segment's header: {stored:#08x} stored, {computed:#08x} computed")]
    HeaderChecksum {
        /// The checksum that came with the header.
        stored: u32,
        /// The checksum of the header that came.
        computed: u32,
    },
    /// A segment's payload does not fit its checksum: requests are lost.
    #[error("checksum mismatch in a segment's payload: {stored:#010x} stored, {computed:#010x} computed")]
    PayloadChecksum {
        /// The checksum that came with the payload.
        stored: u32,
        /// The checksum of the payload that came.
        computed: u32,
    },
    /// A segment's header has bits set that have no meaning.
    #[error("a segment's header has reserved bits set ({0:#04x})")]
    ReservedBits(u8),
    /// A self-contained segment, or a buffer of whole envelopes, ends inside an envelope.
    #[error("a self-contained segment ends inside an envelope")]
    CutEnvelope,
    /// A segment that is not self-contained carries nothing.
    #[error("a segment that continues an envelope is empty")]
    EmptyContinuation,
    /// A self-contained segment stands where an envelope should go on.
    #[error("a self-contained segment interrupts an envelope of {length} bytes after {received}")]
    InterruptedEnvelope {
        /// The length of the envelope, header included; 0 while its header is not complete.
        length: usize,
        /// How much of it had come.
        received: usize,
    },
    /// The last segment of an envelope carries more than the rest of it.
    #[error("a segment carries {extra} bytes beyond the envelope it continues")]
    Overrun {
        /// How much too much it is.
        extra: usize,
    },
}

/// What speaks there instead, where its first byte tells.
fn instead(first_byte: u8) -> &'static str {
    match first_byte {
        // The content types of an alert and of a handshake.
        0x15 | 0x16 => "; this looks like TLS: does the server want TLS on this port?",
        b'H' => "; this looks like HTTP: is this the port for CQL?",
        _ => "",
    }
}

/// Why compressed bytes do not unpack.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// Fewer bytes than the length field takes.
    #[error("{0} bytes are too few for a length")]
    NoLength(usize),
    /// The announced length is above the limit.
    #[error("it announces {length} bytes, more than the limit of {limit}")]
    TooLong {
        /// The announced length.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// The announced length cannot come out of so few bytes.
    #[error("it announces {length} bytes, which {packed} compressed bytes cannot hold")]
    Impossible {
        /// The announced length.
        length: u64,
        /// How many compressed bytes there are.
        packed: usize,
    },
    /// What came out has another length than announced.
    #[error("it gave {actual} bytes where {announced} were announced")]
    OtherLength {
        /// The announced length.
        announced: usize,
        /// What came out.
        actual: usize,
    },
    /// The compressed bytes make no sense.
    #[error("{0}")]
    Corrupt(String),
}
