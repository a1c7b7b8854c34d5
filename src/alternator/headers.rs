//! Which headers of a request are sent, decided before it is signed.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The user agent of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UserAgent {
    /// What the request says; `messina/VERSION` if it says nothing.
    #[default]
    Default,
    /// This one, whatever the request says.
    Fixed(HeaderValue),
    /// None.
    None,
}

impl UserAgent {
    pub(super) fn apply(&self, headers: &mut HeaderMap) {
        match self {
            Self::Default => {
                let own = HeaderValue::from_static(super::client::USER_AGENT);
                headers.entry(header::USER_AGENT).or_insert(own);
            }
            Self::Fixed(text) => {
                headers.insert(header::USER_AGENT, text.clone());
            }
            Self::None => {
                headers.remove(header::USER_AGENT);
            }
        }
    }
}

/// What is always kept: what the server needs, what the client asks for, what a signature is made of.
pub(super) fn is_needed(name: &str) -> bool {
    matches!(
        name,
        "host"
            | "x-amz-target"
            | "content-type"
            | "content-length"
            | "content-encoding"
            | "connection"
            | "accept-encoding"
            | "user-agent"
            | "authorization"
            | "x-amz-date"
            | "x-amz-security-token"
            | "x-amz-content-sha256"
    )
}

/// Removes every header that the server does not need: half of a small request is headers.
///
/// All values of a header that is kept are kept, and so is every header that a signature names which the request
/// already has. Best called before signing, so that nothing needless is signed. `Accept-Encoding: identity` says
/// nothing and goes.
pub fn slim(headers: &mut HeaderMap, also_kept: &[HeaderName]) {
    if headers.get(header::ACCEPT_ENCODING).is_some_and(|value| value == "identity") {
        headers.remove(header::ACCEPT_ENCODING);
    }
    let signed = signed_headers(headers);
    let kept = |name: &HeaderName| {
        is_needed(name.as_str()) || also_kept.contains(name) || signed.split(';').any(|signed| signed == name)
    };
    let needless: Vec<HeaderName> = headers.keys().filter(|name| !kept(name)).cloned().collect();
    for name in needless {
        headers.remove(name);
    }
}

/// `SignedHeaders` of a signature, if there is one.
fn signed_headers(headers: &HeaderMap) -> String {
    let signature = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let fields = signature.and_then(|text| text.split_once("SignedHeaders=")).map(|(_, fields)| fields);
    fields.and_then(|fields| fields.split([',', ' ']).next()).unwrap_or_default().to_ascii_lowercase()
}
