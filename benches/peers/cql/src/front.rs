//! A minimal CQL server: reads, inserts and pages of a scan are answered from canned bytes; everything else, such as the
//! handshake and the system tables, is passed on to a node of the test kit. It speaks v3 and v4.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use messina::testkit::{Answer, Cluster, Prime, Rows};

use crate::table::{INSERT, PAGE, POINT, ROWS, SCAN, VALUE};

const HEADER: usize = 9;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0A;

/// Serves until its input ends; the first line of its output is its address.
pub async fn serve() {
    let front = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = front.local_addr().expect("bound");
    // The only node says that it stands where the canned answers come from.
    let cluster = Cluster::builder()
        .versions([3, 4])
        .without_peers_v2()
        .keyspaces(["ks"])
        .node(0, move |facts| facts.address = Some(address))
        .start()
        .await
        .expect("a node");
    let prime = |text: &str, params: &str| Prime::new(text).of("ks", "t").params(params);
    cluster.prime(prime(POINT, "pk int").columns("v text").partition_key([0]), Rows::new("v text"));
    cluster.prime(prime(INSERT, "pk int, v text").partition_key([0]), Answer::void());
    cluster.prime(prime(SCAN, "").columns("pk int, v text"), Rows::new("pk int, v text"));
    // What `cdrs-tokio` asks for; the kit answers the tables as they are.
    let replication = r#"{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}"#;
    let keyspaces = Rows::new("keyspace_name text, replication text").row(("ks", replication));
    cluster.prime("SELECT keyspace_name, toJson(replication) AS replication FROM system_schema.keyspaces", keyspaces);
    let canned = Arc::new(Canned::new());
    let node = cluster.node(0).addr();
    std::thread::spawn(move || {
        for stream in front.incoming().flatten() {
            let canned = Arc::clone(&canned);
            std::thread::spawn(move || connection(stream, node, &canned));
        }
    });
    println!("{address}");
    let _ = tokio::task::spawn_blocking(|| io::stdin().read_line(&mut String::new())).await;
}

#[derive(Clone, Copy)]
enum Kind {
    Point,
    Insert,
    Scan,
}

/// Bodies of answers, with their columns and without.
struct Canned {
    kinds: Mutex<HashMap<Vec<u8>, Kind>>,
    point: [Vec<u8>; 2],
    pages: Vec<[Vec<u8>; 2]>,
}

impl Canned {
    fn new() -> Self {
        let both = |body: &dyn Fn(bool) -> Vec<u8>| [body(true), body(false)];
        let row = |out: &mut Vec<u8>, key: Option<i32>| {
            if let Some(key) = key {
                out.extend(4_u32.to_be_bytes().iter().chain(&key.to_be_bytes()));
            }
            out.extend((VALUE.len() as u32).to_be_bytes());
            out.extend(VALUE.as_bytes());
        };
        let point = both(&|columns| {
            let mut body = rows(&[("v", 0x0D)], columns, None, 1);
            row(&mut body, None);
            body
        });
        let pages = ROWS / PAGE;
        let page = |page: i32| {
            both(&|columns| {
                let next = (page + 1 < pages).then_some(page + 1);
                let mut body = rows(&[("pk", 0x09), ("v", 0x0D)], columns, next, PAGE);
                (page * PAGE..(page + 1) * PAGE).for_each(|key| row(&mut body, Some(key)));
                body
            })
        };
        Self { kinds: Mutex::default(), point, pages: (0..pages).map(page).collect() }
    }

    fn body(&self, kind: Kind, request: &[u8]) -> &[u8] {
        let (columns, page) = options(request);
        let bodies = match kind {
            Kind::Insert => return &[0, 0, 0, 1],
            Kind::Point => &self.point,
            Kind::Scan => &self.pages[page],
        };
        &bodies[usize::from(!columns)]
    }
}

/// The beginning of a ROWS answer.
fn rows(columns: &[(&str, u16)], told: bool, next: Option<i32>, count: i32) -> Vec<u8> {
    let mut body = 2_u32.to_be_bytes().to_vec();
    let flags = u32::from(told) | u32::from(next.is_some()) << 1 | u32::from(!told) << 2;
    body.extend(flags.to_be_bytes());
    body.extend((columns.len() as u32).to_be_bytes());
    if let Some(next) = next {
        body.extend(4_u32.to_be_bytes().iter().chain(&next.to_be_bytes()));
    }
    if told {
        body.extend(b"\0\x02ks\0\x01t");
        for (name, typ) in columns {
            body.extend((name.len() as u16).to_be_bytes());
            body.extend(name.as_bytes());
            body.extend(typ.to_be_bytes());
        }
    }
    body.extend(count.to_be_bytes());
    body
}

fn number<const N: usize>(bytes: &[u8]) -> usize {
    bytes[..N].iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Whether an EXECUTE wants its columns told, and the page it wants.
fn options(body: &[u8]) -> (bool, usize) {
    let mut rest = &body[2 + number::<2>(body) + 2..];
    let flags = rest[0];
    rest = &rest[1..];
    if flags & 0x01 != 0 {
        let values = number::<2>(rest);
        rest = &rest[2..];
        for _ in 0..values {
            if flags & 0x40 != 0 {
                rest = &rest[2 + number::<2>(rest)..];
            }
            let length = i32::from_be_bytes(rest[..4].try_into().expect("four bytes")).max(0);
            rest = &rest[4 + length as usize..];
        }
    }
    if flags & 0x04 != 0 {
        rest = &rest[4..];
    }
    let page = if flags & 0x08 != 0 { number::<4>(&rest[4..]) } else { 0 };
    (flags & 0x02 == 0, page)
}

fn connection(mut stream: TcpStream, node: SocketAddr, canned: &Canned) -> io::Result<()> {
    let mut behind = TcpStream::connect(node)?;
    stream.set_nodelay(true)?;
    behind.set_nodelay(true)?;
    let mut known: HashMap<Vec<u8>, Kind> = HashMap::new();
    let (mut input, mut out, mut buffer) = (Vec::new(), Vec::new(), vec![0; 64 * 1024]);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        input.extend_from_slice(&buffer[..n]);
        let mut done = 0;
        while input.len() - done >= HEADER {
            let length = HEADER + number::<4>(&input[done + 5..]);
            let Some(frame) = input[done..].get(..length) else { break };
            done += length;
            let body = &frame[HEADER..];
            if frame[4] == EXECUTE {
                let id = &body[2..2 + number::<2>(body)];
                let kind = known.get(id).copied().or_else(|| {
                    let kind = canned.kinds.lock().expect("no panic").get(id).copied()?;
                    known.insert(id.to_vec(), kind);
                    Some(kind)
                });
                if let Some(kind) = kind {
                    let body = canned.body(kind, body);
                    out.extend([frame[0] | 0x80, 0, frame[2], frame[3], 0x08]);
                    out.extend((body.len() as u32).to_be_bytes());
                    out.extend_from_slice(body);
                    continue;
                }
            }
            behind.write_all(frame)?;
            let answer = one_frame(&mut behind)?;
            if frame[4] == PREPARE && answer[4] == 0x08 {
                learn(canned, body, &answer[HEADER..]);
            }
            out.extend_from_slice(&answer);
        }
        input.drain(..done);
        stream.write_all(&out)?;
        out.clear();
    }
}

fn learn(canned: &Canned, prepare: &[u8], answer: &[u8]) {
    let text = String::from_utf8_lossy(&prepare[4..]);
    let kinds = [(POINT, Kind::Point), (INSERT, Kind::Insert), (SCAN, Kind::Scan)];
    if let Some((_, kind)) = kinds.into_iter().find(|(known, _)| text.starts_with(known)) {
        let id = answer[6..6 + number::<2>(&answer[4..])].to_vec();
        canned.kinds.lock().expect("no panic").insert(id, kind);
    }
}

fn one_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEADER];
    stream.read_exact(&mut frame)?;
    let length = number::<4>(&frame[5..]);
    frame.resize(HEADER + length, 0);
    stream.read_exact(&mut frame[HEADER..])?;
    Ok(frame)
}
