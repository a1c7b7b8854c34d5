//! Compression: of requests if that makes them smaller, of answers within a limit.

mod decoder;

use std::{
    fmt,
    io::Write,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use flate2::write::GzEncoder;
use http::{HeaderValue, Request, Response, header};
use http_body::{Body, Frame};
use messina_layers::BoxError;
use pin_project_lite::pin_project;

use self::decoder::Decoder;
use super::http::Payload;

/// How requests are compressed. Servers before 2026.1 refuse compressed requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    smallest: usize,
    level: u32,
}

impl Default for Compression {
    /// Bodies from 1024 bytes on, at level 6.
    fn default() -> Self {
        Self { smallest: 1024, level: 6 }
    }
}

impl Compression {
    /// The smallest body that is compressed, in bytes.
    #[must_use]
    pub const fn with_smallest(mut self, bytes: usize) -> Self {
        self.smallest = bytes;
        self
    }

    /// From 0 (none) to 9 (best).
    #[must_use]
    pub const fn with_level(mut self, level: u32) -> Self {
        self.level = if level > 9 { 9 } else { level };
        self
    }

    /// Compresses a request with gzip, if it is large enough, is not compressed yet and becomes smaller. To be called
    /// before signing.
    pub fn apply(&self, request: &mut Request<Payload>) {
        let bytes = request.body().bytes();
        if request.headers().contains_key(header::CONTENT_ENCODING) {
            return;
        }
        if let Some(small) = self.compressed(bytes) {
            request.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            if request.headers().contains_key(header::CONTENT_LENGTH) {
                request.headers_mut().insert(header::CONTENT_LENGTH, small.len().into());
            }
            *request.body_mut() = small.into();
        }
    }

    /// The bytes compressed, if that is to be done and makes them smaller.
    pub(super) fn compressed(&self, bytes: &[u8]) -> Option<Bytes> {
        if bytes.is_empty() || bytes.len() < self.smallest {
            return None;
        }
        let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), flate2::Compression::new(self.level));
        let small = encoder.write_all(bytes).and_then(|()| encoder.finish());
        small.ok().filter(|small| small.len() < bytes.len()).map(Bytes::from)
    }
}

/// In the extensions of a request: whether it is compressed, in place of what the client does otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compress(pub Option<Compression>);

/// What an answer may be compressed with, as `Accept-Encoding` names it.
pub(super) const ACCEPTED: &str = "gzip, deflate";

/// The longest answer after decompression.
pub(super) const DECODED: usize = 64 << 20;

pin_project! {
    /// The body of an answer, decompressed as it arrives.
    ///
    /// `gzip` and `deflate` (zlib) are decompressed, and the headers of the answer no longer speak of them; several
    /// encodings of one answer, and others, are left as they are. A checksum in `x-amz-crc32` is of the compressed bytes
    /// and is checked. A body that ends too early, is corrupt, or becomes too long is an error, never a short body.
    pub struct Decoded<B> {
        #[pin]
        inner: B,
        decoder: Decoder,
        checksum: Option<(u32, crc32fast::Hasher)>,
        left: usize,
        any: bool,
        ended: bool,
    }
}

impl<B> fmt::Debug for Decoded<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoded").field("left", &self.left).finish_non_exhaustive()
    }
}

/// An answer whose body cannot be read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// The connection broke.
    Broken(Arc<dyn std::error::Error + Send + Sync>),
    /// It is not what its encoding says, or ends too early.
    Corrupt,
    /// It is longer than allowed once it is decompressed.
    TooLong,
    /// Its checksum is another.
    Checksum,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken(_) => "the connection broke within an answer",
            Self::Corrupt => "a compressed answer is corrupt or ends too early",
            Self::TooLong => "a compressed answer becomes longer than allowed",
            Self::Checksum => "the checksum of an answer is wrong",
        })
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Broken(error) => Some(&**error),
            _ => None,
        }
    }
}

/// Puts the decompression around the body of an answer that is compressed; `limit` is the longest body after it.
pub fn decoded<B>(answer: Response<B>, limit: usize) -> Response<Decoded<B>> {
    let (mut parts, inner) = answer.into_parts();
    let decoder = Decoder::of(&parts.headers);
    let mut checksum = None;
    if !matches!(decoder, Decoder::Plain) {
        parts.headers.remove(header::CONTENT_ENCODING);
        parts.headers.remove(header::CONTENT_LENGTH);
        let told = parts.headers.remove("x-amz-crc32");
        let told = told.as_ref().and_then(|told| told.to_str().ok()).and_then(|told| told.parse().ok());
        checksum = told.map(|told| (told, crc32fast::Hasher::new()));
    }
    let body = Decoded { inner, decoder, checksum, left: limit, any: false, ended: false };
    Response::from_parts(parts, body)
}

impl<B> Body for Decoded<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = DecodeError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, DecodeError>>> {
        let mut this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let plain = matches!(this.decoder, Decoder::Plain);
        loop {
            let frame = match ready!(this.inner.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    *this.ended = true;
                    return Poll::Ready(Some(Err(DecodeError::Broken(error.into().into()))));
                }
                None => {
                    *this.ended = true;
                    let mut out = Vec::new();
                    let told = this.checksum.take().map(|(told, sum)| told == sum.finalize());
                    let result = match told {
                        Some(false) => Err(DecodeError::Checksum),
                        _ if *this.any => this.decoder.finish(&mut out, this.left),
                        // No body at all is no broken one.
                        _ => Ok(()),
                    };
                    return Poll::Ready(match result {
                        Err(error) => Some(Err(error)),
                        Ok(()) if out.is_empty() => None,
                        Ok(()) => Some(Ok(Frame::data(out.into()))),
                    });
                }
            };
            if plain {
                return Poll::Ready(Some(Ok(frame)));
            }
            let bytes = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            *this.any |= !bytes.is_empty();
            if let Some((_, sum)) = this.checksum {
                sum.update(&bytes);
            }
            let mut out = Vec::new();
            if let Err(error) = this.decoder.push(&bytes, &mut out, this.left) {
                *this.ended = true;
                return Poll::Ready(Some(Err(error)));
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended || (matches!(self.decoder, Decoder::Plain) && self.inner.is_end_stream())
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self.decoder {
            Decoder::Plain => self.inner.size_hint(),
            _ => http_body::SizeHint::default(),
        }
    }
}
