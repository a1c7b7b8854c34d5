//! Version 5: segments, cut and joined by hand.

use std::collections::VecDeque;

use messina::testkit::{Answer, Cluster, Fault, Prime, Rows, Stage, Wrong, rows};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Body, Client, EXECUTE, Frame, OPTIONS, PREPARE, QUERY, SOON, Table, error, long_string};

fn crc24(bytes: &[u8]) -> u32 {
    let mut crc = 0x87_5060_u32;
    for byte in bytes {
        crc ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x100_0000 != 0 {
                crc ^= 0x197_4F0B;
            }
        }
    }
    crc
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0xFA, 0x2D, 0x55, 0xCA]);
    hasher.update(bytes);
    hasher.finalize()
}

/// A client past STARTUP in version 5.
struct Segments {
    client: Client,
    lz4: bool,
    /// Whole envelopes that came together with an earlier one.
    ready: VecDeque<u8>,
    segments: usize,
}

impl Segments {
    async fn ready(cluster: &Cluster, lz4: bool) -> Self {
        let mut client = Client::dial(cluster.node(0).addr()).await.unwrap();
        client.version = 5;
        let options: &[_] = if lz4 { &[("COMPRESSION", "lz4")] } else { &[] };
        let frame = client.startup(options).await;
        assert_eq!((frame.version, frame.opcode), (0x85, 0x02), "the answer to STARTUP travels bare");
        Self { client, lz4, ready: VecDeque::new(), segments: 0 }
    }

    fn segment(&self, payload: &[u8], self_contained: bool) -> Vec<u8> {
        let mut out;
        let packed = lz4_flex::block::compress(payload);
        let travels = if self.lz4 { &packed[..] } else { payload };
        if self.lz4 {
            let bits = travels.len() as u64 | (payload.len() as u64) << 17 | u64::from(self_contained) << 34;
            out = bits.to_le_bytes()[..5].to_vec();
        } else {
            let bits = travels.len() as u32 | u32::from(self_contained) << 17;
            out = bits.to_le_bytes()[..3].to_vec();
        }
        out.extend(&crc24(&out).to_le_bytes()[..3]);
        out.extend(travels);
        out.extend(crc32(travels).to_le_bytes());
        out
    }

    async fn send(&mut self, stream: i16, opcode: u8, body: &[u8]) {
        let mut bytes = vec![5, 0];
        bytes.extend(stream.to_be_bytes());
        bytes.push(opcode);
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        let segment = self.segment(&bytes, true);
        self.client.stream.write_all(&segment).await.unwrap();
    }

    async fn read(&mut self) {
        let length = if self.lz4 { 8 } else { 6 };
        let mut header = [0; 8];
        self.client.stream.read_exact(&mut header[..length]).await.unwrap();
        let (bits, check) = header[..length].split_at(length - 3);
        assert_eq!(crc24(bits).to_le_bytes()[..3], *check);
        let mut whole = [0; 8];
        whole[..bits.len()].copy_from_slice(bits);
        let bits = u64::from_le_bytes(whole);
        let mut payload = vec![0; (bits & 0x1_FFFF) as usize];
        self.client.stream.read_exact(&mut payload).await.unwrap();
        assert_eq!(self.client.stream.read_u32_le().await.unwrap(), crc32(&payload));
        let unpacked = (bits >> 17 & 0x1_FFFF) as usize;
        if self.lz4 && unpacked > 0 {
            payload = lz4_flex::block::decompress(&payload, unpacked).unwrap();
        }
        self.ready.extend(payload);
        self.segments += 1;
    }

    async fn receive(&mut self) -> Frame {
        while self.ready.len() < 9 {
            self.read().await;
        }
        let header: Vec<u8> = self.ready.drain(..9).collect();
        let length = u32::from_be_bytes(header[5..].try_into().unwrap()) as usize;
        while self.ready.len() < length {
            self.read().await;
        }
        Frame {
            version: header[0],
            flags: header[1],
            stream: i16::from_be_bytes([header[2], header[3]]),
            opcode: header[4],
            body: self.ready.drain(..length).collect(),
        }
    }

    async fn ask(&mut self, opcode: u8, body: &[u8]) -> Frame {
        self.send(7, opcode, body).await;
        tokio::time::timeout(SOON, self.receive()).await.unwrap()
    }
}

/// The body of a QUERY in version 5.
fn query(text: &str) -> Vec<u8> {
    let mut body = long_string(text);
    body.extend([0, 1, 0, 0, 0, 0]);
    body
}

/// cql 2: after the answer to STARTUP everything travels in segments, small or large, compressed or not.
#[tokio::test]
async fn small_and_large() {
    let cluster = Cluster::builder().name("metal").start().await.unwrap();
    let large = "x".repeat(300_000);
    cluster.prime("LARGE", rows!["t text"; (large.as_str(),)]);
    for lz4 in [false, true] {
        let mut client = Segments::ready(&cluster, lz4).await;
        let name = Table::read(&client.ask(QUERY, &query("SELECT cluster_name FROM system.local")).await);
        assert_eq!(name.text(0, "cluster_name"), "metal");
        let table = Table::read(&client.ask(QUERY, &query("LARGE")).await);
        assert_eq!(table.text(0, "t"), large);
        assert_eq!(client.segments, 4, "one, and three for what is too long");
        let log = cluster.node(0).connections();
        assert_eq!(log.last().unwrap().stages(), [Stage::Startup, Stage::Cluster, Stage::Query]);
    }
}

/// cql 2: a request that is spread over segments is joined; several in one are all answered.
#[tokio::test]
async fn spread_and_shared() {
    let cluster = Cluster::builder().start().await.unwrap();
    let mut client = Segments::ready(&cluster, false).await;
    let body = query(&"y".repeat(200_000));
    let mut bytes = vec![5, 0, 0, 9, QUERY];
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    for part in bytes.chunks(100_000) {
        let segment = client.segment(part, false);
        client.client.stream.write_all(&segment).await.unwrap();
    }
    let frame = client.receive().await;
    assert_eq!((error(&frame).0, frame.stream), (0x2200, 9));

    let two = [[5, 0, 0, 1, OPTIONS, 0, 0, 0, 0], [5, 0, 0, 2, OPTIONS, 0, 0, 0, 0]].concat();
    let segment = client.segment(&two, true);
    client.client.stream.write_all(&segment).await.unwrap();
    assert_eq!((client.receive().await.stream, client.receive().await.stream), (1, 2));
}

/// cql 8: damage in a segment is told on stream 0, then the connection ends.
#[tokio::test]
async fn damage() {
    let cluster = Cluster::builder().start().await.unwrap();
    for (place, part) in [(1, "header"), (10, "body")] {
        let mut client = Segments::ready(&cluster, false).await;
        let mut segment = client.segment(&[5, 0, 0, 1, OPTIONS, 0, 0, 0, 0], true);
        segment[place] ^= 4;
        client.client.stream.write_all(&segment).await.unwrap();
        let frame = client.receive().await;
        let text = format!("invalid, unrecoverable CRC mismatch detected in frame {part}");
        assert_eq!((error(&frame), frame.stream), ((0x000A, text), 0));
        assert_eq!(client.client.stream.read(&mut [0]).await.unwrap(), 0);
    }
}

/// testkit: wrong answers inside of segments: a flipped check, a length that lies, a bare envelope.
#[tokio::test]
async fn wrong_segments() {
    let cluster = Cluster::builder().start().await.unwrap();
    let node = cluster.node(0);
    let struck = async |wrong: Wrong, length: usize| {
        let mut client = Segments::ready(&cluster, false).await;
        node.fault(Stage::Heartbeat, Fault::Wrong(wrong));
        client.send(1, OPTIONS, &[]).await;
        let mut bytes = vec![0; length];
        client.client.stream.read_exact(&mut bytes).await.unwrap();
        node.clear_faults();
        bytes
    };
    let whole = {
        let mut client = Segments::ready(&cluster, false).await;
        client.send(1, OPTIONS, &[]).await;
        client.receive().await.body.len() + 9 + 10
    };
    let bytes = struck(Wrong::Crc, whole).await;
    let (payload, check) = bytes[6..].split_at(whole - 10);
    assert_ne!(crc32(payload).to_le_bytes(), *check);
    let bytes = struck(Wrong::Length(77), whole).await;
    let (payload, check) = bytes[6..].split_at(whole - 10);
    assert_eq!((crc32(payload).to_le_bytes(), &payload[5..9]), (check.try_into().unwrap(), &[0, 0, 0, 77][..]));
    assert_eq!(struck(Wrong::Framing, 9).await[..2], [0x85, 0]);

    // Too early: the answer to STARTUP in a segment.
    node.fault(Stage::Startup, Fault::Wrong(Wrong::Framing));
    let mut client = Client::dial(node.addr()).await.unwrap();
    client.version = 5;
    client.send(1, 0x01, &[0, 0]).await;
    let mut bytes = [0; 8];
    client.stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(bytes[6], 0x85);
}

/// cql 3: PREPARED carries the id of its result metadata; a client that knows another one is told the columns again.
#[tokio::test]
async fn result_metadata_id() {
    let cluster = Cluster::builder().start().await.unwrap();
    cluster.prime(Prime::new("SELECT n"), rows!["n int"; (1,)]);
    let mut client = Segments::ready(&cluster, false).await;
    let mut body = long_string("SELECT n");
    body.extend([0; 4]);
    let frame = client.ask(PREPARE, &body).await;
    let mut read = Body(&frame.body);
    assert_eq!(read.int(), 4);
    let length = read.short();
    let id = read.take(length).to_vec();
    let length = read.short();
    let metadata = read.take(length).to_vec();

    let execute = |known: &[u8]| {
        let mut body = (id.len() as u16).to_be_bytes().to_vec();
        body.extend(&id);
        body.extend((known.len() as u16).to_be_bytes());
        body.extend(known);
        body.extend([0, 1, 0, 0, 0, 2]);
        body
    };
    let table = Table::read(&client.ask(EXECUTE, &execute(&metadata)).await);
    assert_eq!((table.flags, table.columns.len(), table.rows.len()), (4, 0, 1));

    cluster.prime("SELECT n", Answer::from(Rows::new("n int, m int").row((1, 2))));
    let frame = client.ask(EXECUTE, &execute(&metadata)).await;
    let mut read = Body(&frame.body);
    assert_eq!((read.int(), read.int(), read.int()), (2, 1 | 8, 2));
    let length = read.short();
    let new = read.take(length).to_vec();
    assert_ne!(new, metadata);
    let table = Table::read(&client.ask(EXECUTE, &execute(&new)).await);
    assert_eq!((table.flags, table.rows[0].len()), (4, 2));
}
