//! The DNS server, asked by hand.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use messina::testkit::{DnsAnswer, DnsKind, DnsServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::client::{QUIET, SOON};

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// A query with one question.
fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = vec![0xAB, 0xCD, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    bytes
}

/// The response code, and kind, TTL and data of each record.
fn answers(bytes: &[u8]) -> (u8, Vec<(u16, u32, Vec<u8>)>) {
    let short = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    assert_eq!(short(0), 0xABCD, "the query's id");
    let mut at = 12;
    let name_end = |mut at: usize| loop {
        match bytes[at] {
            0 => return at + 1,
            length if length >= 0xC0 => return at + 2,
            length => at += 1 + usize::from(length),
        }
    };
    at = name_end(at) + 4;
    let records = (0..short(6)).map(|_| {
        at = name_end(at);
        let ttl = u32::from(short(at + 4)) << 16 | u32::from(short(at + 6));
        let end = at + 10 + usize::from(short(at + 8));
        let record = (short(at), ttl, bytes[at + 10..end].to_vec());
        at = end;
        record
    });
    (bytes[3] & 0x0F, records.collect())
}

async fn send(server: SocketAddr, name: &str, kind: u16) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&question(name, kind), server).await.unwrap();
    socket
}

async fn receive(socket: &UdpSocket) -> (u8, Vec<(u16, u32, Vec<u8>)>) {
    let mut bytes = [0; 1500];
    let length = tokio::time::timeout(SOON, socket.recv(&mut bytes)).await.unwrap().unwrap();
    answers(&bytes[..length])
}

async fn ask(server: &DnsServer, name: &str, kind: u16) -> (u8, Vec<(u16, u32, Vec<u8>)>) {
    receive(&send(server.addr(), name, kind).await).await
}

/// testkit: addresses come in their order, each kind to its question, with a TTL of 0, counted.
#[tokio::test]
async fn addresses_and_counts() {
    let dns = DnsServer::start().await.unwrap();
    let all: [IpAddr; 3] = ["127.0.0.9", "::1", "127.0.0.3"].map(|ip| ip.parse().unwrap());
    dns.set("db.test", all);
    let (code, four) = ask(&dns, "DB.test", A).await;
    assert_eq!(code, 0);
    assert_eq!(four, [(A, 0, vec![127, 0, 0, 9]), (A, 0, vec![127, 0, 0, 3])]);
    let (_, six) = ask(&dns, "db.test", AAAA).await;
    assert_eq!(six.len(), 1);
    assert_eq!(dns.queries("db.TEST.", DnsKind::A), 1);
    assert_eq!(dns.queries("db.test", DnsKind::Aaaa), 1);
    assert_eq!(dns.total_queries(), 2);
}

/// testkit: a record changed at run time is seen by the next query.
#[tokio::test]
async fn records_move() {
    let dns = DnsServer::start().await.unwrap();
    dns.set("db.test", [[127, 0, 0, 1]]);
    assert_eq!(ask(&dns, "db.test", A).await.1[0].2, [127, 0, 0, 1]);
    dns.set("db.test", [[127, 0, 0, 2]]);
    assert_eq!(ask(&dns, "db.test", A).await.1[0].2, [127, 0, 0, 2]);
}

/// testkit: NXDOMAIN, SERVFAIL, empty, CNAME, a circle of names.
#[tokio::test]
async fn every_other_answer() {
    let dns = DnsServer::start().await.unwrap();
    assert_eq!(ask(&dns, "never.test", A).await, (3, vec![]));
    dns.answer("broken.test", DnsAnswer::ServFail);
    assert_eq!(ask(&dns, "broken.test", A).await, (2, vec![]));
    dns.answer("empty.test", DnsAnswer::Empty);
    assert_eq!(ask(&dns, "empty.test", A).await, (0, vec![]));
    dns.answer("alias.test", DnsAnswer::Cname("real.test".into()));
    dns.set("real.test", [[127, 0, 0, 5]]);
    let (code, records) = ask(&dns, "alias.test", A).await;
    assert_eq!((code, records[0].0), (0, CNAME));
    assert_eq!(records[1], (A, 0, vec![127, 0, 0, 5]));
    dns.answer("circle.test", DnsAnswer::Cname("circle.test".into()));
    assert_eq!(ask(&dns, "circle.test", A).await.0, 2);
}

/// testkit: a silent name answers nothing, and holds up no other.
#[tokio::test]
async fn silence_and_delay() {
    let dns = DnsServer::start().await.unwrap();
    dns.answer("silent.test", DnsAnswer::Silence);
    dns.set("slow.test", [[127, 0, 0, 1]]);
    dns.delay("slow.test", QUIET / 2);
    let silent = send(dns.addr(), "silent.test", A).await;
    let start = tokio::time::Instant::now();
    assert_eq!(ask(&dns, "slow.test", A).await.0, 0);
    assert!(start.elapsed() >= QUIET / 2 - Duration::from_millis(2));
    assert!(silent.try_recv(&mut [0; 512]).is_err(), "silence is not broken");
    assert_eq!(dns.queries("silent.test", DnsKind::A), 1);
}

/// testkit: many records do not fit into a datagram; TCP carries them.
#[tokio::test]
async fn over_tcp() {
    let dns = DnsServer::start().await.unwrap();
    dns.set("many.test", (1..=200).map(|host| [127, 0, 1, host]));
    let mut stream = TcpStream::connect(dns.addr()).await.unwrap();
    let bytes = question("many.test", A);
    stream.write_u16(bytes.len() as u16).await.unwrap();
    stream.write_all(&bytes).await.unwrap();
    let length = stream.read_u16().await.unwrap();
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(answers(&bytes).1.len(), 200);
}
