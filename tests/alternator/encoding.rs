//! Compression of requests and answers.

use std::io::Write;

use bytes::Bytes;
use flate2::{
    Compression as Level,
    write::{GzDecoder, GzEncoder, ZlibEncoder},
};
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use messina::alternator::{
    encoding::{Compression, DecodeError, decoded},
    http::Payload,
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Level::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

async fn read(encoding: Option<&str>, body: Vec<u8>, limit: usize) -> Result<(Response<()>, Bytes), DecodeError> {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    if let Some(encoding) = encoding {
        answer.headers_mut().insert(header::CONTENT_ENCODING, encoding.parse().unwrap());
        answer.headers_mut().insert(header::CONTENT_LENGTH, 1.into());
    }
    let (parts, body) = decoded(answer, limit).into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok((Response::from_parts(parts, ()), bytes))
}

/// alternator 7.4: one encoding is taken off, without regard to case and parameters, and the headers with it.
/// alternator 8: gzip, deflate, `GZIP`, `gzip;q=1` (J 115, 130-132; S 27454).
#[tokio::test]
async fn one_encoding() {
    let text = b"the same, the same, the same, the same".repeat(100);
    for (encoding, body) in
        [("gzip", gzip(&text)), ("GZIP", gzip(&text)), ("gzip;q=1", gzip(&text)), ("deflate", zlib(&text))]
    {
        let (head, bytes) = read(Some(encoding), body, 1 << 20).await.unwrap();
        assert_eq!(bytes, text, "{encoding}");
        assert!(!head.headers().contains_key(header::CONTENT_ENCODING), "{encoding}");
        assert!(!head.headers().contains_key(header::CONTENT_LENGTH), "{encoding}");
    }
}

/// alternator 7.4: several encodings of one answer, unknown ones and `identity` are left as they are.
#[tokio::test]
async fn left_alone() {
    for encoding in [None, Some("identity"), Some("gzip, deflate"), Some("br")] {
        let (head, bytes) = read(encoding, b"as it is".to_vec(), 1).await.unwrap();
        assert_eq!(bytes, "as it is", "{encoding:?}");
        let kept = head.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
        assert_eq!(kept, encoding);
    }
}

/// alternator 7.4: what is truncated or corrupt is an error, never a short answer.
/// alternator 8: truncated, wrong CRC (J 115, 130-132).
#[tokio::test]
async fn corrupt() {
    let text = b"something to be cut off".repeat(50);
    for (encoding, whole) in [("gzip", gzip(&text)), ("deflate", zlib(&text))] {
        for cut in [1, 5, whole.len() / 2, whole.len() - 1] {
            let result = read(Some(encoding), whole[..cut].to_vec(), 1 << 20).await;
            assert!(matches!(result, Err(DecodeError::Corrupt)), "{encoding} cut at {cut}");
        }
        let mut wrong = whole.clone();
        let end = wrong.len() - 6;
        wrong[end] ^= 0xff;
        let result = read(Some(encoding), wrong, 1 << 20).await;
        assert!(matches!(result, Err(DecodeError::Corrupt)), "{encoding}");
        let result = read(Some(encoding), b"no encoding at all".to_vec(), 1 << 20).await;
        assert!(matches!(result, Err(DecodeError::Corrupt)), "{encoding}");
        assert_eq!(read(Some(encoding), Vec::new(), 0).await.unwrap().1, "", "no body");
    }
}

/// alternator A14: an answer that becomes too long once it is decompressed is an error, after no more than the limit.
#[tokio::test]
async fn decompressed_size() {
    let zeros = vec![0; 4 << 20];
    for (encoding, bomb) in [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros))] {
        assert!(bomb.len() < 1 << 14);
        assert!(matches!(read(Some(encoding), bomb.clone(), 1 << 20).await, Err(DecodeError::TooLong)));
        assert_eq!(read(Some(encoding), bomb, 4 << 20).await.unwrap().1.len(), 4 << 20);
    }
}

/// alternator 7.4: a checksum is of the compressed bytes: checked before decompression.
/// alternator 8: answers with and without `x-amz-crc32` (S 5039, 29669).
#[tokio::test]
async fn checksum() {
    let small = gzip(b"checked");
    let right = crc(&small);
    for (told, fits) in [(right, true), (right ^ 1, false)] {
        let mut answer = Response::new(Full::new(Bytes::from(small.clone())));
        answer.headers_mut().insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
        answer.headers_mut().insert("x-amz-crc32", told.into());
        let answer = decoded(answer, 1000);
        assert!(!answer.headers().contains_key("x-amz-crc32"));
        let result = answer.into_body().collect().await;
        assert_eq!(result.is_ok(), fits);
        assert!(fits || matches!(result, Err(DecodeError::Checksum)));
    }
}

/// The checksum as defined, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let byte = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
    };
    !bytes.iter().fold(!0, byte)
}

/// alternator 7.3: a request is compressed from the threshold on, once, and only if it becomes smaller; with the new length.
/// alternator 8: the length is that of the compressed bytes (G feature-spec gaps).
#[test]
fn requests() {
    let compression = Compression::default().with_smallest(100);
    let apply = |body: Vec<u8>, encoded: bool| {
        let mut request = Request::new(Payload::from(body));
        let length = request.body().bytes().len();
        request.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        if encoded {
            request.headers_mut().insert(header::CONTENT_ENCODING, "br".parse().unwrap());
        }
        compression.apply(&mut request);
        let encoding = request.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap().to_owned());
        let length: usize = request.headers()[header::CONTENT_LENGTH].to_str().unwrap().parse().unwrap();
        assert_eq!(length, request.body().bytes().len());
        (encoding, request.body().bytes().clone())
    };
    let text = b"again and ".repeat(10);
    let (encoding, small) = apply(text.clone(), false);
    assert_eq!(encoding.as_deref(), Some("gzip"));
    let mut plain = GzDecoder::new(Vec::new());
    plain.write_all(&small).unwrap();
    assert_eq!(plain.finish().unwrap(), text);
    assert_eq!(apply(text[..99].to_vec(), false).0, None, "below the threshold");
    assert_eq!(apply(text, true).0.as_deref(), Some("br"), "compressed already");
    assert_eq!(apply(Vec::new(), false).0, None, "empty");
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    });
    assert_eq!(apply(noise.take(2000).collect(), false).0, None, "it would not be smaller");
}
