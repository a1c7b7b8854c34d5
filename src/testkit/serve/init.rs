//! OPTIONS, STARTUP, AUTH_RESPONSE, REGISTER.

use super::reply::Reply;
use super::{Connection, Phase};
use crate::protocol::{Compression, Dialect, Opcode, ProtocolVersion};
use crate::testkit::log::EventKind;
use crate::testkit::types::{put_bytes, put_string};
use crate::testkit::wire::response::Written;

/// The event types that a node knows.
const EVENTS: [&str; 3] = ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];

const BAD_CREDENTIALS: i32 = 0x0100;

impl Connection {
    pub(super) fn options(&self) -> Reply {
        let facts = self.node.facts();
        let mut options = vec![
            ("CQL_VERSION".to_owned(), vec!["3.4.7".to_owned()]),
            ("COMPRESSION".to_owned(), facts.compression.clone()),
        ];
        if facts.lists_versions {
            options.push(("PROTOCOL_VERSIONS".to_owned(), facts.version_list()));
        }
        if let Some(scylla) = &facts.scylla {
            options.extend(scylla.keys(self.shard, facts.host_id, &facts.partitioner));
        }
        Written::supported(&options).into()
    }

    pub(super) fn startup(&mut self, version: ProtocolVersion, options: &[(String, String)]) -> Reply {
        let option = |name: &str| options.iter().find(|(key, _)| key == name).map(|(_, value)| value.to_lowercase());
        let offered = |name: &str| self.node.with(|facts| facts.compression.iter().any(|one| one == name));
        let asked = option("COMPRESSION").unwrap_or_default();
        let compression = match asked.as_str() {
            "" => None,
            "lz4" if offered("lz4") => Some(Compression::Lz4),
            "snappy" if offered("snappy") && version.has_snappy() => Some(Compression::Snappy),
            other => {
                return Reply::protocol_error(&format!("Unknown compression algorithm: {other}"));
            }
        };
        self.dialect = Some(dialect(version, options));

        let authenticate = !self.node.cluster.users.is_empty();
        let mut reply = if authenticate {
            let mut body = Vec::new();
            put_string(&mut body, &self.node.cluster.authenticator);
            Reply::from(Written::new(Opcode::Authenticate, body))
        } else {
            Reply::from(Written::new(Opcode::Ready, Vec::new()))
        };
        if authenticate {
            reply.phase = Some(Phase::Authenticating);
        } else {
            reply.phase = Some(Phase::Ready);
            reply.note = Some(EventKind::LoggedIn);
        }
        reply.switch = Some((version, compression));
        reply
    }

    pub(super) fn authenticate(&self, token: Option<&[u8]>) -> Reply {
        let given = credentials(token);
        let user = given.as_ref().map(|(user, _)| user.clone()).unwrap_or_default();
        if given.is_some_and(|given| self.node.cluster.users.contains(&given)) {
            let mut body = Vec::new();
            put_bytes(&mut body, None);
            let mut reply = Reply::from(Written::new(Opcode::AuthSuccess, body));
            reply.phase = Some(Phase::Ready);
            reply.note = Some(EventKind::LoggedIn);
            return reply;
        }
        let text = format!("Provided username {user} and/or password are incorrect");
        let mut reply = Reply::from(Written::error(BAD_CREDENTIALS, &text));
        reply.note = Some(EventKind::LoginRejected);
        reply
    }

    pub(super) fn register(&self, kinds: Vec<String>) -> Reply {
        let known =
            |kind: &str| EVENTS.contains(&kind) || self.node.with(|facts| facts.events.iter().any(|more| more == kind));
        if let Some(unknown) = kinds.iter().find(|kind| !known(kind)) {
            return Reply::protocol_error(&format!("Invalid value '{unknown}' for Type"));
        }
        self.node.subscribe(kinds, self.events.clone());
        Written::new(Opcode::Ready, Vec::new()).into()
    }
}

/// User and password of a plain token: a zero byte before each.
pub(super) fn credentials(token: Option<&[u8]>) -> Option<(String, String)> {
    let mut parts = token?.split(|byte| *byte == 0).skip(1);
    let mut part = || String::from_utf8(parts.next()?.to_vec()).ok();
    Some((part()?, part()?))
}

/// What the options of STARTUP turn on.
fn dialect(version: ProtocolVersion, options: &[(String, String)]) -> Dialect {
    let has = |name: &str| options.iter().any(|(key, _)| key == name);
    let mark = options
        .iter()
        .find(|(key, _)| key == "SCYLLA_LWT_ADD_METADATA_MARK")
        .and_then(|(_, value)| value.rsplit('=').next()?.parse().ok());
    Dialect::new(version).with_metadata_id_extension(has("SCYLLA_USE_METADATA_ID")).with_lwt_mask(mark)
}
