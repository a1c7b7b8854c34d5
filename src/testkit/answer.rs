//! What a server says to a request.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::Rows;
use super::types::{put_bytes, put_int, put_short, put_short_bytes, put_string};

/// An answer: rows, an error, or any opcode and body.
///
/// ```
/// use std::time::Duration;
/// use messina::testkit::{Answer, rows};
///
/// let slow = Answer::from(rows!["now text"; ("noon",)]).delayed(Duration::from_millis(50));
/// let overloaded = Answer::error(0x1001, "too much").with_warning("slow down");
/// # let _ = (slow, overloaded);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub(super) body: Body,
    pub(super) warnings: Vec<String>,
    pub(super) payload: Vec<(String, Vec<u8>)>,
    pub(super) delay: Duration,
}

/// What an answer carries.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Void,
    Rows(Arc<Rows>),
    Keyspace(String),
    SchemaChange(Vec<String>),
    Error { code: i32, text: String, tail: Vec<u8> },
    Raw { opcode: u8, body: Vec<u8> },
}

impl Answer {
    /// A RESULT without rows, as for an INSERT.
    pub fn void() -> Self {
        Body::Void.into()
    }

    /// A RESULT with rows; paged as the request asks.
    pub fn rows(rows: Rows) -> Self {
        Body::Rows(Arc::new(rows)).into()
    }

    /// The RESULT of `USE`.
    pub fn keyspace(name: impl Into<String>) -> Self {
        Body::Keyspace(name.into()).into()
    }

    /// The RESULT of a change of the schema: `["CREATED", "TABLE", "ks", "t"]`.
    pub fn schema_change<S: Into<String>>(parts: impl IntoIterator<Item = S>) -> Self {
        Body::SchemaChange(parts.into_iter().map(Into::into).collect()).into()
    }

    /// An ERROR with this code and text.
    pub fn error(code: i32, text: impl Into<String>) -> Self {
        Body::Error { code, text: text.into(), tail: Vec::new() }.into()
    }

    /// UNAVAILABLE (code 1000): consistency, replicas required, replicas alive.
    pub fn unavailable(consistency: u16, required: i32, alive: i32) -> Self {
        let mut tail = Vec::new();
        put_short(&mut tail, consistency);
        put_int(&mut tail, required);
        put_int(&mut tail, alive);
        Body::Error { code: 0x1000, text: "Cannot achieve consistency level".into(), tail }.into()
    }

    /// READ_TIMEOUT (code 1200): consistency, answers received and required, whether data came.
    pub fn read_timeout(consistency: u16, received: i32, required: i32, data: bool) -> Self {
        let mut tail = Vec::new();
        put_short(&mut tail, consistency);
        put_int(&mut tail, received);
        put_int(&mut tail, required);
        tail.push(u8::from(data));
        Body::Error { code: 0x1200, text: "Operation timed out".into(), tail }.into()
    }

    /// WRITE_TIMEOUT (code 1100): consistency, answers received and required, write type.
    pub fn write_timeout(consistency: u16, received: i32, required: i32, kind: &str) -> Self {
        let mut tail = Vec::new();
        put_short(&mut tail, consistency);
        put_int(&mut tail, received);
        put_int(&mut tail, required);
        put_string(&mut tail, kind);
        Body::Error { code: 0x1100, text: "Operation timed out".into(), tail }.into()
    }

    /// UNPREPARED (code 2500): the server does not know this id.
    pub fn unprepared(id: &[u8]) -> Self {
        let mut tail = Vec::new();
        put_short_bytes(&mut tail, id);
        Body::Error { code: 0x2500, text: "Prepared query not found".into(), tail }.into()
    }

    /// Any opcode with any body.
    pub fn raw(opcode: u8, body: impl Into<Vec<u8>>) -> Self {
        Body::Raw { opcode, body: body.into() }.into()
    }

    /// Puts raw bytes behind the text of an error, for codes that carry more.
    pub fn with_tail(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Body::Error { tail, .. } = &mut self.body {
            *tail = bytes.into();
        }
        self
    }

    /// Adds a warning (from v4 on).
    pub fn with_warning(mut self, text: impl Into<String>) -> Self {
        self.warnings.push(text.into());
        self
    }

    /// Adds an entry to the custom payload (from v4 on).
    pub fn with_payload(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.payload.push((key.into(), value.into()));
        self
    }

    /// Tells of a tablet, as ScyllaDB does when a request met a node or shard that does not hold it: the tokens after `first`
    /// up to `last`, on these nodes and shards.
    pub fn with_tablet(self, first: i64, last: i64, replicas: impl IntoIterator<Item = (Uuid, i32)>) -> Self {
        let mut list = Vec::new();
        let mut count = 0;
        for (host_id, shard) in replicas {
            let mut replica = Vec::new();
            put_bytes(&mut replica, Some(host_id.as_bytes()));
            put_bytes(&mut replica, Some(&shard.to_be_bytes()));
            put_bytes(&mut list, Some(&replica));
            count += 1;
        }
        let mut counted = Vec::new();
        put_int(&mut counted, count);
        counted.extend(list);
        let mut tablet = Vec::new();
        put_bytes(&mut tablet, Some(&first.to_be_bytes()));
        put_bytes(&mut tablet, Some(&last.to_be_bytes()));
        put_bytes(&mut tablet, Some(&counted));
        self.with_payload("tablets-routing-v1", tablet)
    }

    /// Lets the answer wait; other requests are not held up.
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl From<Body> for Answer {
    fn from(body: Body) -> Self {
        Self { body, warnings: Vec::new(), payload: Vec::new(), delay: Duration::ZERO }
    }
}

impl From<Rows> for Answer {
    fn from(rows: Rows) -> Self {
        Self::rows(rows)
    }
}

/// Writes an ERROR body.
pub(super) fn put_error(out: &mut Vec<u8>, code: i32, text: &str, tail: &[u8]) {
    put_int(out, code);
    put_string(out, text);
    out.extend_from_slice(tail);
}

/// Writes what stands before the body of an answer: warnings, then the payload.
pub(super) fn put_prefixes(out: &mut Vec<u8>, answer: &Answer) {
    if !answer.warnings.is_empty() {
        put_short(out, super::types::count(answer.warnings.len()));
        for warning in &answer.warnings {
            put_string(out, warning);
        }
    }
    if !answer.payload.is_empty() {
        put_short(out, super::types::count(answer.payload.len()));
        for (key, value) in &answer.payload {
            put_string(out, key);
            put_bytes(out, Some(value));
        }
    }
}
