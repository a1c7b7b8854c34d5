//! The check of a request's signature, as the server does it.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::wire::HttpRequest;

/// Whether the signature is what the secret makes of the request: of the headers it names as they were received, of
/// the path, and of the body as it is. A header that is named and missing counts as empty; runs of spaces are folded.
pub(super) fn is_right(request: &HttpRequest, access_key: &str, secret: &str) -> bool {
    check(request, access_key, secret).unwrap_or(false)
}

fn check(request: &HttpRequest, access_key: &str, secret: &str) -> Option<bool> {
    let fields = request.header("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let field = |name: &str| fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='));
    let (key, scope) = field("Credential")?.split_once('/')?;
    let (date, region) = (scope.split('/').next()?, scope.split('/').nth(1)?);
    let signed = field("SignedHeaders")?;
    let mut canonical = String::new();
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let _ = write!(canonical, "{}\n{path}\n{query}\n", request.method);
    for name in signed.split(';') {
        let value = request.header(name).unwrap_or_default();
        let folded = value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(canonical, "{name}:{folded}");
    }
    let _ = write!(canonical, "\n{signed}\n{}", hex(&Sha256::digest(&request.body)));
    let time = request.header("x-amz-date").unwrap_or_default();
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
    let mut secret = mac(format!("AWS4{secret}").as_bytes(), date)?;
    for part in [region, "dynamodb", "aws4_request", &text] {
        secret = mac(&secret, part)?;
    }
    Some(key == access_key && field("Signature")? == hex(&secret))
}

fn mac(key: &[u8], text: &str) -> Option<Vec<u8>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    Some(mac.finalize().into_bytes().to_vec())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
