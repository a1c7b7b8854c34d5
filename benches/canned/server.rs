//! A server of canned answers: any EXECUTE gives one row with a value of 100 bytes.

use bytes::{Buf, BytesMut};
use messina::protocol::{DEFAULT_MAX_BODY, HEADER_LEN, Header, Opcode, SegmentDecoder, SegmentEncoder};

/// What [`Canned::execute`] answers with, and the client expects.
pub(crate) const VALUE: [u8; 100] = [b'v'; 100];

/// The one column of the result, a text.
const COLUMN: &[u8] = b"\0\x02ks\0\x01t\0\x01v\0\x0d";

/// Answers what is fed, and keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct Canned {
    input: BytesMut,
    answers: Vec<u8>,
    wire: Vec<u8>,
    segments: Option<(SegmentDecoder, SegmentEncoder)>,
}

impl Canned {
    /// Where received bytes are to be appended.
    pub(crate) fn input(&mut self) -> &mut BytesMut {
        self.input.reserve(16 * 1024);
        &mut self.input
    }

    /// Answers every whole request of the input.
    pub(crate) fn answers(&mut self) -> &[u8] {
        self.answers.clear();
        while let Some((header, columns)) = self.next() {
            let start = self.answers.len();
            let opcode = body(header, columns, &mut self.answers, start);
            let length = (self.answers.len() - start - HEADER_LEN) as u32;
            let answer = Header {
                version: header.version,
                response: true,
                flags: 0,
                stream: header.stream,
                opcode: opcode.as_u8(),
                length,
            };
            self.answers[start..start + HEADER_LEN].copy_from_slice(&answer.to_bytes());
            if self.segments.is_none() && header.version >= 5 && opcode == Opcode::Ready {
                let decoder = SegmentDecoder::new(false, DEFAULT_MAX_BODY);
                self.segments = Some((decoder, SegmentEncoder::new(false)));
                return &self.answers;
            }
        }
        match &mut self.segments {
            None => &self.answers,
            Some((_, encoder)) => {
                self.wire.clear();
                encoder.encode(&self.answers, &mut self.wire).expect("whole answers");
                &self.wire
            }
        }
    }

    /// The header of the next whole request, and whether its answer needs columns; without segments nothing is allocated.
    fn next(&mut self) -> Option<(Header, bool)> {
        if let Some((decoder, _)) = &mut self.segments {
            let request = decoder.decode(&mut self.input);
            return Some((request.expect("a well-formed client")?.header, false));
        }
        let header = Header::parse(self.input.first_chunk()?);
        let length = HEADER_LEN + header.length as usize;
        if self.input.len() < length {
            return None;
        }
        let columns = self.input[HEADER_LEN..length].get(FLAGS).is_some_and(|flags| flags & SKIP == 0);
        self.input.advance(length);
        Some((header, columns))
    }
}

/// Where the flags of an EXECUTE stand in v4: after the id and the consistency.
const FLAGS: usize = 2 + 16 + 2;

/// The flag that says that the columns are known.
const SKIP: u8 = 0x02;

/// Appends room for a header, and a body; gives the kind of answer.
fn body(request: Header, columns: bool, out: &mut Vec<u8>, start: usize) -> Opcode {
    out.resize(start + HEADER_LEN, 0);
    let v5 = request.version >= 5;
    match request.opcode() {
        Some(Opcode::Options) => {
            out.extend_from_slice(&[0, 0]);
            Opcode::Supported
        }
        Some(Opcode::Startup | Opcode::Register) => Opcode::Ready,
        Some(Opcode::Prepare) => {
            out.extend_from_slice(&4_u32.to_be_bytes());
            out.extend_from_slice(b"\0\x10sixteen bytes id");
            if v5 {
                out.extend_from_slice(b"\0\x10sixteen bytes md");
            }
            // One bind marker, which is the partition key.
            for number in [1_u32, 1, 1] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            out.extend_from_slice(b"\0\0\0\x02ks\0\x01t\0\x02pk\0\x09");
            for number in [1_u32, 1] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            out.extend_from_slice(COLUMN);
            Opcode::Result
        }
        _ => {
            // Rows, with one column that is told or not, one row, one value.
            for number in [2_u32, if columns { 1 } else { 4 }, 1] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            out.extend_from_slice(if columns { COLUMN } else { &[] });
            for number in [1, VALUE.len() as u32] {
                out.extend_from_slice(&number.to_be_bytes());
            }
            out.extend_from_slice(&VALUE);
            Opcode::Result
        }
    }
}
