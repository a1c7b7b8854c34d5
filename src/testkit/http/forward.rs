//! Handing a request on to a real server.

use std::io;
use std::io::Read;
use std::net::SocketAddr;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::wire::{HttpReply, HttpRequest};

/// Sends the request with its body unpacked, over a connection of its own, and reads the whole answer.
pub(super) async fn forward(request: &HttpRequest, server: SocketAddr) -> io::Result<HttpReply> {
    let mut body = request.body.to_vec();
    if request.header("content-encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("gzip")) {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&*body).read_to_end(&mut plain)?;
        body = plain;
    }
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    for (name, value) in &request.headers {
        if !["connection", "content-length", "content-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    // The server wants to see a signature, and believes every one.
    if request.header("authorization").is_none() {
        head.push_str(
            "X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=none/20260101/none/dynamodb/\
             aws4_request, SignedHeaders=host, Signature=0\r\n",
        );
    }
    head.push_str(&format!("Connection: close\r\nContent-Length: {}\r\n\r\n", body.len()));
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    parse(&answer).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the server's answer is not HTTP"))
}

fn parse(answer: &[u8]) -> Option<HttpReply> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .filter(|(name, _)| {
            !["connection", "keep-alive", "content-length"].iter().any(|own| name.eq_ignore_ascii_case(own))
        })
        .collect();
    let body = Bytes::copy_from_slice(&answer[end + 4..]);
    Some(HttpReply { status, headers, body })
}
