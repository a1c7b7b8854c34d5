//! Taking the compression off, piece by piece.

use std::io::Write;

use flate2::{Decompress, FlushDecompress, Status, write::GzDecoder};
use http::{HeaderMap, HeaderValue, header};

use super::DecodeError;

pub(super) enum Decoder {
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
    Deflate { inflate: Box<Decompress>, ended: bool },
}

/// How much is decompressed at a time: no more than a thousand times as much can come out before it is counted.
const PIECE: usize = 1024;

impl Decoder {
    /// What the headers of an answer say.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let (Some(Ok(value)), None) = (values.next().map(HeaderValue::to_str), values.next()) else {
            return Self::Plain;
        };
        let token = value.split(';').next().unwrap_or_default().trim();
        match token {
            _ if value.contains(',') => Self::Plain,
            _ if token.eq_ignore_ascii_case("gzip") => Self::Gzip(Box::new(GzDecoder::new(Vec::new()))),
            _ if token.eq_ignore_ascii_case("deflate") => {
                Self::Deflate { inflate: Box::new(Decompress::new(true)), ended: false }
            }
            _ => Self::Plain,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, left: &mut usize) -> Result<(), DecodeError> {
        for piece in bytes.chunks(PIECE) {
            let before = out.len();
            match self {
                Self::Plain => out.extend_from_slice(piece),
                Self::Gzip(decoder) => {
                    decoder.write_all(piece).map_err(|_| DecodeError::Corrupt)?;
                    out.append(decoder.get_mut());
                }
                Self::Deflate { inflate, ended } => inflate_piece(inflate, ended, piece, out)?,
            }
            *left = left.checked_sub(out.len() - before).ok_or(DecodeError::TooLong)?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>, left: &mut usize) -> Result<(), DecodeError> {
        match self {
            Self::Plain => Ok(()),
            Self::Gzip(decoder) => {
                decoder.try_finish().map_err(|_| DecodeError::Corrupt)?;
                let before = out.len();
                out.append(decoder.get_mut());
                *left = left.checked_sub(out.len() - before).ok_or(DecodeError::TooLong)?;
                Ok(())
            }
            Self::Deflate { ended: true, .. } => Ok(()),
            Self::Deflate { .. } => Err(DecodeError::Corrupt),
        }
    }
}

fn inflate_piece(
    inflate: &mut Decompress,
    ended: &mut bool,
    piece: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let mut rest = piece;
    let mut buffer = [0; 8192];
    loop {
        if *ended {
            return if rest.is_empty() { Ok(()) } else { Err(DecodeError::Corrupt) };
        }
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(rest, &mut buffer, FlushDecompress::None).map_err(|_| DecodeError::Corrupt)?;
        let (read, written) = ((inflate.total_in() - read) as usize, (inflate.total_out() - written) as usize);
        rest = &rest[read..];
        out.extend_from_slice(&buffer[..written]);
        *ended = status == Status::StreamEnd;
        if !*ended && read == 0 && written == 0 {
            return if rest.is_empty() { Ok(()) } else { Err(DecodeError::Corrupt) };
        }
    }
}
