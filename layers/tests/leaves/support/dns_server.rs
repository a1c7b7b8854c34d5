//! A DNS server of a few lines: records that change, silence, errors, truncation, counts.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use hickory_proto::{
    op::{Message, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{CNAME, SOA},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinHandle,
};

/// What is known of a name and type.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    Ips(Vec<IpAddr>),
    Alias(&'static str),
    Error(ResponseCode),
    Silence,
    /// Tells a client that asks over UDP to come back over TCP.
    OverTcp(Vec<IpAddr>),
}

type Key = (String, RecordType);

#[derive(Debug, Default)]
struct State {
    zones: HashMap<Key, Zone>,
    asked: Vec<Key>,
}

/// The server; it ends when dropped.
#[derive(Debug)]
pub(crate) struct DnsServer {
    pub(crate) addr: SocketAddr,
    state: Arc<Mutex<State>>,
    tasks: [JoinHandle<()>; 2],
}

impl DnsServer {
    pub(crate) async fn start() -> Self {
        let state = Arc::<Mutex<State>>::default();
        // The same port for both; a port that is free for one is nearly always free for the other.
        let (udp, tcp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let addr = udp.local_addr().unwrap();
        let tasks = [tokio::spawn(over_udp(udp, Arc::clone(&state))), tokio::spawn(over_tcp(tcp, Arc::clone(&state)))];
        Self { addr, state, tasks }
    }

    /// Knows these addresses, of either family, and that there are no others.
    pub(crate) fn set(&self, name: &str, ips: &[IpAddr]) {
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = ips.iter().partition(|ip| ip.is_ipv4());
        self.set_type(name, RecordType::A, Zone::Ips(v4));
        self.set_type(name, RecordType::AAAA, Zone::Ips(v6));
    }

    pub(crate) fn set_both(&self, name: &str, zone: Zone) {
        self.set_type(name, RecordType::A, zone.clone());
        self.set_type(name, RecordType::AAAA, zone);
    }

    pub(crate) fn set_type(&self, name: &str, kind: RecordType, zone: Zone) {
        self.state.lock().unwrap().zones.insert((format!("{name}."), kind), zone);
    }

    /// How often a type was asked for under a name.
    pub(crate) fn asked(&self, name: &str, kind: RecordType) -> usize {
        let key = (format!("{name}."), kind);
        self.state.lock().unwrap().asked.iter().filter(|asked| **asked == key).count()
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn over_udp(socket: UdpSocket, state: Arc<Mutex<State>>) {
    let mut buffer = [0; 4096];
    while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
        if let Some(answer) = answer(&buffer[..length], &state, true) {
            let _ = socket.send_to(&answer, peer).await;
        }
    }
}

async fn over_tcp(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let _ = serve(stream, state).await;
        });
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) -> std::io::Result<()> {
    loop {
        let mut question = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut question).await?;
        if let Some(answer) = answer(&question, &state, false) {
            stream.write_u16(u16::try_from(answer.len()).unwrap()).await?;
            stream.write_all(&answer).await?;
        }
    }
}

fn answer(question: &[u8], state: &Mutex<State>, udp: bool) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).ok()?;
    let query = question.queries.first()?.clone();
    let mut state = state.lock().unwrap();
    let key = (query.name().to_ascii().to_lowercase(), query.query_type());
    state.asked.push(key.clone());
    let mut reply = Message::response(question.metadata.id, question.metadata.op_code);
    reply.metadata.recursion_available = true;
    reply.add_query(query.clone());
    let mut owner = query.name().clone();
    let mut zone = state.zones.get(&key);
    while let Some(Zone::Alias(canonical)) = zone {
        let canonical = Name::from_ascii(format!("{canonical}.")).unwrap();
        reply.add_answer(Record::from_rdata(owner, 60, RData::CNAME(CNAME(canonical.clone()))));
        zone = state.zones.get(&(canonical.to_ascii(), key.1));
        owner = canonical;
    }
    let ips = match zone? {
        Zone::Silence => return None,
        Zone::Error(code) => {
            reply.metadata.response_code = *code;
            &Vec::new()
        }
        Zone::OverTcp(_) if udp => {
            reply.metadata.truncation = true;
            &Vec::new()
        }
        Zone::Ips(ips) | Zone::OverTcp(ips) => ips,
        Zone::Alias(_) => return None,
    };
    for ip in ips {
        let data = match ip {
            IpAddr::V4(ip) => RData::A((*ip).into()),
            IpAddr::V6(ip) => RData::AAAA((*ip).into()),
        };
        // A day: whoever caches does not see a change in this test.
        reply.add_answer(Record::from_rdata(owner.clone(), 86_400, data));
    }
    if reply.answers.is_empty() && !reply.metadata.truncation {
        let zone = Name::from_ascii("test.").unwrap();
        let soa = SOA::new(zone.clone(), zone.clone(), 1, 86_400, 86_400, 86_400, 86_400);
        reply.add_authority(Record::from_rdata(zone, 86_400, RData::SOA(soa)));
    }
    reply.to_vec().ok()
}
