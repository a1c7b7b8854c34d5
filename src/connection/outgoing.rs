//! Bytes on their way out, in order, with large bodies kept as chunks of their own.

/// Envelopes up to this length are copied into the common buffer.
pub(super) const CHUNK: usize = 16 * 1024;

/// A buffer that grew past this is not kept for the next batch.
const KEEP: usize = 256 * 1024;

/// A run of envelopes: small ones back to back in `bytes`, large ones beside it.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// A chunk stands after that many bytes of `bytes`.
    chunks: Vec<(usize, Vec<u8>)>,
    /// Requests in this batch.
    requests: usize,
}

/// How far a [`Batch`] has been consumed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    bytes: usize,
    chunk: usize,
    in_chunk: usize,
}

/// The next bytes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Whole envelopes back to back (from the cursor on).
    Run(&'a [u8]),
    /// One envelope (from the cursor on).
    Chunk(&'a [u8]),
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.requests == 0
    }

    #[inline]
    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    /// The common buffer, to append one envelope to.
    #[inline]
    pub(super) fn start(&mut self) -> &mut Vec<u8> {
        self.requests += 1;
        &mut self.bytes
    }

    /// Appends an envelope that was built elsewhere.
    pub(super) fn push(&mut self, envelope: Vec<u8>) {
        self.requests += 1;
        if envelope.len() <= CHUNK {
            self.bytes.extend_from_slice(&envelope);
        } else {
            self.chunks.push((self.bytes.len(), envelope));
        }
    }

    /// Empties the batch and keeps its buffers, unless a burst made them large.
    pub(super) fn clear(&mut self) {
        self.requests = 0;
        self.chunks.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        }
    }

    /// What comes at the cursor; `None` at the end.
    pub(super) fn piece(&self, cursor: &Cursor) -> Option<Piece<'_>> {
        match self.chunks.get(cursor.chunk) {
            Some((at, _)) if cursor.bytes < *at => Some(Piece::Run(&self.bytes[cursor.bytes..*at])),
            Some((_, chunk)) => Some(Piece::Chunk(&chunk[cursor.in_chunk..])),
            None if cursor.bytes < self.bytes.len() => Some(Piece::Run(&self.bytes[cursor.bytes..])),
            None => None,
        }
    }

    /// Moves the cursor by `n` bytes of the piece it stands at.
    pub(super) fn advance(&self, cursor: &mut Cursor, n: usize) {
        match self.chunks.get(cursor.chunk) {
            Some((at, chunk)) if cursor.bytes >= *at => {
                cursor.in_chunk += n;
                if cursor.in_chunk == chunk.len() {
                    cursor.chunk += 1;
                    cursor.in_chunk = 0;
                }
            }
            _ => cursor.bytes += n,
        }
    }
}

impl<'a> Piece<'a> {
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Run(bytes) | Self::Chunk(bytes) => bytes,
        }
    }
}
