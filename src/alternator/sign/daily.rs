//! The signature of a request to the root, which nearly all are: what is the same all day is computed once a day.

use std::{
    fmt::Write,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use arc_swap::ArcSwapOption;
use aws_credential_types::Credentials;
use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use sha2::{Digest, Sha256};

use super::{SignError, Signer};
use crate::alternator::http::Payload;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "dynamodb";
const DAY: u64 = 86_400;

static DATE: HeaderName = HeaderName::from_static("x-amz-date");
static TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// The key of the day that was last signed on.
#[derive(Default)]
pub(super) struct Kept(ArcSwapOption<Daily>);

struct Daily {
    day: u64,
    /// `YYYYMMDD`.
    date: String,
    scope: String,
    key: Vec<u8>,
}

impl Signer {
    pub(super) fn sign_root(
        &self,
        request: &mut Request<Payload>,
        credentials: &Credentials,
        seconds: u64,
    ) -> Result<(), SignError> {
        let daily = self.daily(credentials, seconds / DAY);
        let second = seconds % DAY;
        let stamp = format!("{}T{:02}{:02}{:02}Z", daily.date, second / 3600, second / 60 % 60, second % 60);
        let (method, body) = (request.method().clone(), Sha256::digest(request.body().bytes()));
        let headers = request.headers_mut();
        headers.insert(&DATE, value(&stamp)?);
        if let Some(token) = credentials.session_token() {
            let mut token = value(token)?;
            token.set_sensitive(true);
            headers.insert(&TOKEN, token);
        }
        let mut canonical = String::with_capacity(512);
        canonical.push_str(method.as_str());
        canonical.push_str("\n/\n\n");
        let signed = canonical_headers(headers, &mut canonical)?;
        canonical.push('\n');
        canonical.push_str(&signed);
        canonical.push('\n');
        push_hex(&mut canonical, &body);
        let mut text = String::with_capacity(160);
        let _ = write!(text, "{ALGORITHM}\n{stamp}\n{}\n", daily.scope);
        push_hex(&mut text, &Sha256::digest(&canonical));
        let signature = calculate_signature(&daily.key, text.as_bytes());
        let authorization = format!(
            "{ALGORITHM} Credential={}/{}, SignedHeaders={signed}, Signature={signature}",
            self.access_key, daily.scope
        );
        headers.insert(header::AUTHORIZATION, value(&authorization)?);
        Ok(())
    }

    fn daily(&self, credentials: &Credentials, day: u64) -> Arc<Daily> {
        if let Some(daily) = self.key.0.load_full().filter(|daily| daily.day == day) {
            return daily;
        }
        let (secret, region) = (credentials.secret_access_key(), &*self.region);
        let key = generate_signing_key(secret, UNIX_EPOCH + Duration::from_secs(day * DAY), region, SERVICE);
        let date = date(day);
        let scope = format!("{date}/{region}/{SERVICE}/aws4_request");
        let daily = Arc::new(Daily { day, date, scope, key: key.as_ref().to_vec() });
        self.key.0.store(Some(Arc::clone(&daily)));
        daily
    }
}

fn value(text: &str) -> Result<HeaderValue, SignError> {
    HeaderValue::from_str(text).map_err(|error| SignError(Arc::new(error)))
}

/// Writes the headers that are signed, by their names; gives these. What a proxy may change is not signed.
fn canonical_headers(headers: &HeaderMap, out: &mut String) -> Result<String, SignError> {
    let unsigned =
        |name: &str| matches!(name, "authorization" | "user-agent" | "x-amzn-trace-id" | "transfer-encoding");
    let mut names: Vec<&HeaderName> = headers.keys().filter(|name| !unsigned(name.as_str())).collect();
    names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
    let mut signed = String::with_capacity(128);
    for name in names {
        let mut separator = ':';
        out.push_str(name.as_str());
        for value in headers.get_all(name) {
            let text = value.to_str().map_err(|error| SignError(Arc::new(error)))?;
            out.push(separator);
            // Runs of spaces count as one.
            for (i, word) in text.split(' ').filter(|word| !word.is_empty()).enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(word);
            }
            separator = ',';
        }
        out.push('\n');
        if !signed.is_empty() {
            signed.push(';');
        }
        signed.push_str(name.as_str());
    }
    Ok(signed)
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// `YYYYMMDD` of a day after the first of 1970. Counted from March on, so that the leap day is a year's last one.
fn date(day: u64) -> String {
    let since_march_0 = day + 719_468;
    let (era, day) = (since_march_0 / 146_097, since_march_0 % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}")
}
