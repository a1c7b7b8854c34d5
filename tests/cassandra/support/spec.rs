//! What a cluster is to be like. Tests that ask for equal specs share one cluster.

/// The newest release; answers every error on the stream of its request.
const NEWEST: &str = "5.0.9";
/// An earlier one, which answers protocol trouble on stream 0.
const EARLIER: &str = "5.0.4";

/// Every release that a spec may name.
pub(crate) const VERSIONS: &[&str] = &[NEWEST, EARLIER];

/// The only name in the certificate of an ordinary TLS node.
pub(crate) const TLS_NAME: &str = "db.messina.test";
/// The only name in the certificate of [`Spec::rotating`], whose file is its own.
pub(crate) const ROTATING_NAME: &str = "rotating.messina.test";

/// How a node treats TLS. The text is the only name in its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    Off,
    /// TLS only; clients show no certificate.
    Server(&'static str),
    /// TLS only; a client without a certificate of our authority is refused.
    Mutual(&'static str),
}

/// A cluster as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The cluster's name; part of the identity, so another name is another cluster.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// One (data centre, rack) per node.
    pub(crate) nodes: Vec<(&'static str, &'static str)>,
    pub(crate) passwords: bool,
    pub(crate) tls: Tls,
    /// Refuses every protocol version but the newest.
    pub(crate) newest_protocol_only: bool,
    /// Takes orders of an operator, over JMX, and knows its schema after it was killed.
    pub(crate) managed: bool,
    /// Tells clients another address than the one it listens on.
    pub(crate) fronted: bool,
}

impl Spec {
    /// One node, nothing special.
    pub(crate) fn single() -> Self {
        Self {
            name: "messina",
            version: NEWEST,
            nodes: vec![("dc1", "rack1")],
            passwords: false,
            tls: Tls::Off,
            newest_protocol_only: false,
            managed: false,
            fronted: false,
        }
    }

    /// One node that no other test touches, so that it may be stopped.
    pub(crate) fn own(name: &'static str) -> Self {
        Self { name, managed: true, ..Self::single() }
    }

    /// One node of another cluster, which wants a login too.
    pub(crate) fn foreign() -> Self {
        Self { name: "foreign", ..Self::passwords() }
    }

    /// Three nodes in three racks.
    pub(crate) fn three() -> Self {
        let nodes = vec![("dc1", "rack1"), ("dc1", "rack2"), ("dc1", "rack3")];
        Self { name: "three", nodes, managed: true, ..Self::single() }
    }

    /// Three nodes that tell clients an address on which nothing listens, so that a test may stand there.
    pub(crate) fn three_fronted() -> Self {
        Self { name: "fronted", managed: false, fronted: true, ..Self::three() }
    }

    /// Two data centres with a node each.
    pub(crate) fn two_data_centres() -> Self {
        Self { name: "two", nodes: vec![("north", "rack1"), ("south", "rack1")], managed: true, ..Self::single() }
    }

    /// Two data centres with racks of different sizes.
    pub(crate) fn racks() -> Self {
        let north = [("north", "rack1"), ("north", "rack1"), ("north", "rack2")];
        let nodes = [&north[..], &[("south", "rack1"), ("south", "rack2")]].concat();
        Self { name: "racks", nodes, ..Self::two_data_centres() }
    }

    /// One node that wants a login: role `cassandra`, password `cassandra`.
    pub(crate) fn passwords() -> Self {
        Self { name: "passwords", passwords: true, ..Self::single() }
    }

    /// One node that speaks TLS only.
    pub(crate) fn tls() -> Self {
        Self { name: "tls", tls: Tls::Server(TLS_NAME), ..Self::single() }
    }

    /// One node that speaks TLS only, with a certificate for another name.
    pub(crate) fn tls_other_name() -> Self {
        Self { tls: Tls::Server("other.messina.test"), ..Self::tls() }
    }

    /// One node that wants a client certificate.
    pub(crate) fn mutual_tls() -> Self {
        Self { name: "mutual", tls: Tls::Mutual(TLS_NAME), ..Self::single() }
    }

    /// The same for a test that changes certificates.
    pub(crate) fn rotating() -> Self {
        Self { name: "rotating", managed: true, tls: Tls::Mutual(ROTATING_NAME), ..Self::single() }
    }

    /// One node of the earlier release and the same cluster name as [`Spec::single`], that refuses everything before v5.
    pub(crate) fn newest_protocol_only() -> Self {
        Self { version: EARLIER, newest_protocol_only: true, ..Self::single() }
    }
}
