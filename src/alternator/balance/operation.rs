//! What a request asks for, as far as moving on to another node depends on it.

use std::fmt;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, header};

use crate::alternator::http::Payload;

static TARGET: HeaderName = HeaderName::from_static("x-amz-target");
/// The prefix of `X-Amz-Target`.
const VERSION: &str = "DynamoDB_20120810.";

/// A request for an operation, such as `GetItem` with its JSON: neither signed nor addressed to a node yet.
///
/// # Errors
/// If the name is empty, or has anything but ASCII letters and digits.
pub fn operation(name: &str, json: impl Into<Bytes>) -> Result<Request<Payload>, InvalidOperation> {
    let invalid = || InvalidOperation(name.to_owned());
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(invalid());
    }
    let target = HeaderValue::from_str(&format!("{VERSION}{name}")).map_err(|_| invalid())?;
    let json: Bytes = json.into();
    let mut request = Request::new(Payload::from(json));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(TARGET.clone(), target);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    Ok(request)
}

/// A name that no operation has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOperation(String);

impl fmt::Display for InvalidOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no name of an operation, which is letters and digits, such as `GetItem`", self.0)
    }
}

impl std::error::Error for InvalidOperation {}

/// In the extensions of a request: whether it may be sent twice, in place of what its operation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeatable(pub bool);

/// Operations that take about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::alternator) enum Class {
    Item,
    Range,
    Other,
}

/// The name of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::alternator) struct Operation<'a>(&'a str);

impl<'a> Operation<'a> {
    pub(in crate::alternator) fn of<B>(request: &'a Request<B>) -> Self {
        let target = request.headers().get(&TARGET).and_then(|target| target.to_str().ok()).unwrap_or_default();
        // A name has no dot.
        let name = target.as_bytes().iter().rposition(|byte| *byte == b'.').map_or(0, |dot| dot + 1);
        Self(target.get(name..).unwrap_or_default())
    }

    pub(in crate::alternator) const fn name(self) -> &'a str {
        self.0
    }

    /// Whether it only reads, so that sending it twice does no harm.
    pub(in crate::alternator) fn only_reads(self) -> bool {
        matches!(self.0, "GetItem" | "BatchGetItem" | "Query" | "Scan")
            || self.0.starts_with("Describe")
            || self.0.starts_with("List")
    }

    pub(in crate::alternator) fn class(self) -> Class {
        match self.0 {
            "GetItem" | "PutItem" | "UpdateItem" | "DeleteItem" => Class::Item,
            "Query" | "Scan" | "BatchGetItem" | "BatchWriteItem" => Class::Range,
            _ => Class::Other,
        }
    }
}
