//! How a test connects: through a name whose records it sets, with the order forced.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use messina::layers::{HickoryResolver, Order};
use messina::session::SessionBuilder;
use messina::testkit::DnsServer;
use messina::{Error, Session};

use super::cluster::Cluster;
use super::network::Network;
use super::raw::{RESULT, Raw};
use super::trace::passed_over;

/// The name every way leads through.
pub(crate) const NAME: &str = "db.messina.test";

/// Side by side after the default delay, or strictly one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Delay,
    Sequential,
}

/// A name server of one test.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) dns: DnsServer,
    mode: Mode,
}

impl Way {
    /// The name has these addresses, in this order. A name carries no port, so they have the same.
    pub(crate) async fn through(mode: Mode, addresses: &[SocketAddr]) -> Self {
        let dns = DnsServer::start().await.unwrap();
        assert!(addresses.iter().all(|address| address.port() == Network::ports().native));
        dns.set(NAME, addresses.iter().map(|address| -> IpAddr { address.ip() }));
        Self { dns, mode }
    }

    /// A builder that begins at the name.
    pub(crate) fn builder(&self) -> SessionBuilder {
        self.bare().contact_point(contact_point())
    }

    /// A builder without contact points, that asks this name server and dials in the order of the answer.
    pub(crate) fn bare(&self) -> SessionBuilder {
        let builder = Session::builder()
            .resolver(HickoryResolver::with_server(self.dns.addr()))
            .candidate_order(Order::AsGiven)
            .max_candidate_addresses(6);
        match self.mode {
            Mode::Delay => builder,
            Mode::Sequential => builder.sequential(),
        }
    }

    /// The same with short limits, so that a sequential walk past silent addresses stays short.
    pub(crate) fn impatient(&self) -> SessionBuilder {
        match self.mode {
            Mode::Delay => self.builder(),
            Mode::Sequential => self.builder().connect_timeout(IMPATIENT).init_timeout(IMPATIENT),
        }
    }
}

/// Limits of one step for sequential walks.
pub(crate) const IMPATIENT: Duration = Duration::from_secs(1);

/// The name with the port of every node.
pub(crate) fn contact_point() -> String {
    format!("{NAME}:{}", Network::ports().native)
}

/// The next address was tried once after this one. What takes longer than the attempt delay is told as no answer yet.
pub(crate) fn told_once(address: SocketAddr, cause: &str, mode: Mode) {
    let causes = passed_over(address);
    assert_eq!(causes.len(), 1, "{address}: {causes:?}");
    let slow = mode == Mode::Delay && causes[0].starts_with("no answer within");
    assert!(slow || causes[0].contains(cause), "{address}: {causes:?}");
}

/// Makes the role `messina` with the password `strait`, which other clusters do not know.
pub(crate) fn create_role(cluster: &Cluster) {
    let mut raw = Raw::connect(cluster.native(), 4).unwrap();
    raw.startup(&[]).unwrap();
    raw.login("cassandra", "cassandra").unwrap();
    let role = "CREATE ROLE IF NOT EXISTS messina WITH PASSWORD = 'strait' AND LOGIN = true";
    let answer = raw.query(role).unwrap();
    assert_eq!(answer.opcode, RESULT, "{}", answer.text());
}

/// Which cluster answers.
pub(crate) async fn cluster_name(session: &Session) -> Result<String, Error> {
    let rows = session.execute("SELECT cluster_name FROM system.local", ()).await?;
    Ok(rows.one::<(String,)>().await?.0)
}
