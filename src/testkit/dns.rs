//! A DNS server on loopback whose records change while it runs.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_server::Server;
use hickory_server::net::runtime::Time;
use hickory_server::proto::op::{Metadata, ResponseCode};
use hickory_server::proto::rr::rdata::{A, AAAA, CNAME};
use hickory_server::proto::rr::{Name, RData, Record, RecordType};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use tokio::net::{TcpListener, UdpSocket};

/// What the server answers for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DnsAnswer {
    /// These addresses, in this order; A and AAAA each get their own kind.
    Addresses(Vec<IpAddr>),
    /// The answer of another name, behind a CNAME.
    Cname(String),
    /// There is no such name: also the answer for every name that was never set.
    NxDomain,
    /// The name exists and has no address.
    Empty,
    /// The server failed.
    ServFail,
    /// Nothing at all: the query runs into the client's limit.
    Silence,
}

/// The type of a query that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DnsKind {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Anything else.
    Other,
}

/// A DNS server on a free port of 127.0.0.1, over UDP and TCP, with a TTL of 0.
///
/// Names are compared without case and without a last dot. The server ends when it is dropped.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// use messina::testkit::{DnsAnswer, DnsKind, DnsServer};
///
/// let dns = DnsServer::start().await?;
/// dns.set("db.test", [[127, 0, 0, 1], [127, 0, 0, 2]]);
/// dns.answer("gone.test", DnsAnswer::NxDomain);
/// // .. point a resolver at `dns.addr()` ..
/// assert_eq!(dns.queries("db.test", DnsKind::A), 0);
/// # Ok(())
/// # }
/// ```
pub struct DnsServer {
    addr: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    _server: Server<Handler>,
}

impl DnsServer {
    /// Starts the server.
    pub async fn start() -> io::Result<Self> {
        let (udp, tcp) = bind_both().await?;
        let addr = udp.local_addr()?;
        let zone = Arc::new(Mutex::new(Zone::default()));
        let mut server = Server::new(Handler { zone: zone.clone() });
        server.register_socket(udp);
        server.register_listener(tcp, Duration::from_secs(30), 16);
        Ok(Self { addr, zone, _server: server })
    }

    /// Where it listens, for UDP and for TCP.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Gives a name these addresses; none is [`DnsAnswer::Empty`].
    pub fn set<I>(&self, name: &str, addresses: I)
    where
        I: IntoIterator,
        I::Item: Into<IpAddr>,
    {
        let addresses = addresses.into_iter().map(Into::into).collect();
        self.answer(name, DnsAnswer::Addresses(addresses));
    }

    /// Sets what a name answers from now on.
    pub fn answer(&self, name: &str, answer: DnsAnswer) {
        self.zone().entry(name).answer = answer;
    }

    /// Lets each answer for a name wait this long; zero takes the delay away.
    pub fn delay(&self, name: &str, delay: Duration) {
        self.zone().entry(name).delay = delay;
    }

    /// How many queries of this kind came for the name.
    pub fn queries(&self, name: &str, kind: DnsKind) -> usize {
        self.zone().counts.get(&(key(name), kind)).copied().unwrap_or(0)
    }

    /// How many queries came, for every name and kind together.
    pub fn total_queries(&self) -> usize {
        self.zone().counts.values().sum()
    }

    fn zone(&self) -> std::sync::MutexGuard<'_, Zone> {
        self.zone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DnsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DnsServer").field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// A UDP and a TCP socket on the same free port.
async fn bind_both() -> io::Result<(UdpSocket, TcpListener)> {
    let mut tries = 0;
    loop {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(tcp) => return Ok((udp, tcp)),
            // Someone else has this port for TCP: take another one.
            Err(_) if tries < 32 => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

// ===== What is known =====

#[derive(Debug, Default)]
struct Zone {
    names: HashMap<String, Entry>,
    counts: HashMap<(String, DnsKind), usize>,
}

#[derive(Clone, Debug)]
struct Entry {
    answer: DnsAnswer,
    delay: Duration,
}

impl Zone {
    fn entry(&mut self, name: &str) -> &mut Entry {
        self.names.entry(key(name)).or_insert(Entry { answer: DnsAnswer::NxDomain, delay: Duration::ZERO })
    }

    /// Counts the query and says what becomes of it.
    fn ask(&mut self, name: &Name, kind: RecordType) -> (Reply, Duration) {
        let asked = key(&name.to_utf8());
        let counted = match kind {
            RecordType::A => DnsKind::A,
            RecordType::AAAA => DnsKind::Aaaa,
            _ => DnsKind::Other,
        };
        *self.counts.entry((asked.clone(), counted)).or_default() += 1;
        let delay = self.names.get(&asked).map_or(Duration::ZERO, |entry| entry.delay);

        let mut records = Vec::new();
        let mut owner = name.clone();
        // A chain of names is followed a few steps; a circle ends as a failure.
        for _ in 0..8 {
            let answer = self.names.get(&key(&owner.to_utf8())).map(|entry| &entry.answer);
            let reply = match answer {
                Some(DnsAnswer::Addresses(addresses)) => {
                    let data = addresses.iter().filter_map(|ip| match (ip, kind) {
                        (IpAddr::V4(ip), RecordType::A) => Some(RData::A(A(*ip))),
                        (IpAddr::V6(ip), RecordType::AAAA) => Some(RData::AAAA(AAAA(*ip))),
                        _ => None,
                    });
                    records.extend(data.map(|data| Record::from_rdata(owner.clone(), 0, data)));
                    Reply::Records(records)
                }
                Some(DnsAnswer::Cname(next)) => {
                    let Ok(next) = Name::from_utf8(next) else {
                        return (Reply::Code(ResponseCode::ServFail), delay);
                    };
                    let data = RData::CNAME(CNAME(next.clone()));
                    records.push(Record::from_rdata(owner, 0, data));
                    owner = next;
                    continue;
                }
                Some(DnsAnswer::Empty) => Reply::Records(records),
                Some(DnsAnswer::ServFail) => Reply::Code(ResponseCode::ServFail),
                Some(DnsAnswer::Silence) => Reply::Nothing,
                Some(DnsAnswer::NxDomain) | None => Reply::Code(ResponseCode::NXDomain),
            };
            return (reply, delay);
        }
        (Reply::Code(ResponseCode::ServFail), delay)
    }
}

fn key(name: &str) -> String {
    name.trim_end_matches('.').to_lowercase()
}

enum Reply {
    Records(Vec<Record>),
    Code(ResponseCode),
    Nothing,
}

// ===== The server's hook =====

struct Handler {
    zone: Arc<Mutex<Zone>>,
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(&self, request: &Request, mut out: R) -> ResponseInfo {
        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.authoritative = true;
        let (reply, delay) = match request.request_info() {
            Ok(info) => {
                let mut zone = self.zone.lock().unwrap_or_else(PoisonError::into_inner);
                zone.ask(&info.query.name().into(), info.query.query_type())
            }
            Err(_) => (Reply::Code(ResponseCode::FormErr), Duration::ZERO),
        };
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let records = match reply {
            Reply::Records(records) => records,
            Reply::Code(code) => {
                metadata.response_code = code;
                Vec::new()
            }
            Reply::Nothing => return not_sent(metadata),
        };
        let response = MessageResponseBuilder::from_message_request(request).build(metadata, &records, [], [], []);
        // A client that is gone needs no answer.
        out.send_response(response).await.unwrap_or_else(|_| not_sent(metadata))
    }
}

fn not_sent(metadata: Metadata) -> ResponseInfo {
    hickory_server::proto::op::Header { metadata, counts: Default::default() }.into()
}
