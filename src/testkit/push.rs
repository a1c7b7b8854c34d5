//! Events that a node sends to the connections that registered for them.

use std::net::SocketAddr;

use super::routes::CLIENT_ROUTES_CHANGE;
use super::types::{count, put_inet, put_short, put_string};

/// An event that a node sends without being asked.
///
/// ```
/// use messina::testkit::Push;
///
/// let down = Push::status("DOWN", ([127, 0, 0, 1], 9042));
/// let added = Push::schema(["CREATED", "TABLE", "ks", "t"]);
/// # let _ = (down, added);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    pub(super) kind: String,
    body: Vec<u8>,
}

impl Push {
    /// STATUS_CHANGE: `UP` or `DOWN`.
    pub fn status(change: &str, addr: impl Into<SocketAddr>) -> Self {
        Self::about("STATUS_CHANGE", change, addr.into())
    }

    /// TOPOLOGY_CHANGE: `NEW_NODE` or `REMOVED_NODE`.
    pub fn topology(change: &str, addr: impl Into<SocketAddr>) -> Self {
        Self::about("TOPOLOGY_CHANGE", change, addr.into())
    }

    /// SCHEMA_CHANGE: change, target, keyspace, and the name within it if there is one.
    pub fn schema<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut body = Vec::new();
        parts.into_iter().for_each(|part| put_string(&mut body, part));
        Self::raw("SCHEMA_CHANGE", body)
    }

    /// CLIENT_ROUTES_CHANGE (ScyllaDB): the ids of connections, and host ids as text.
    pub fn client_routes<C, H>(
        connection_ids: impl IntoIterator<Item = C>,
        host_ids: impl IntoIterator<Item = H>,
    ) -> Self
    where
        C: AsRef<str>,
        H: ToString,
    {
        let connections: Vec<_> = connection_ids.into_iter().map(|id| id.as_ref().to_owned()).collect();
        let hosts: Vec<_> = host_ids.into_iter().map(|id| id.to_string()).collect();
        let mut body = Vec::new();
        put_string(&mut body, "UPDATE_NODES");
        for list in [connections, hosts] {
            put_short(&mut body, count(list.len()));
            list.iter().for_each(|text| put_string(&mut body, text));
        }
        Self::raw(CLIENT_ROUTES_CHANGE, body)
    }

    /// Any type with any body behind it.
    pub fn raw(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { kind: kind.into(), body: body.into() }
    }

    fn about(kind: &str, change: &str, addr: SocketAddr) -> Self {
        let mut body = Vec::new();
        put_string(&mut body, change);
        put_inet(&mut body, addr);
        Self::raw(kind, body)
    }

    /// The body of the EVENT.
    pub(super) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_string(&mut body, &self.kind);
        body.extend_from_slice(&self.body);
        body
    }
}
