//! The grammar of addresses.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6},
    str::FromStr,
};

use super::{Address, Name, error::Reason};

/// The longest name that DNS allows, in bytes of text without a final dot.
pub(super) const MAX_NAME: usize = 253;
/// The longest label that DNS allows, in bytes.
pub(super) const MAX_LABEL: usize = 63;

pub(super) fn check_port(port: u16) -> Result<u16, Reason> {
    if port == 0 { Err(Reason::Port) } else { Ok(port) }
}

pub(super) fn split_port(text: &str) -> Result<(&str, Option<&str>), Reason> {
    if let Some(rest) = text.strip_prefix('[') {
        let (_, after) = rest.split_once(']').ok_or(Reason::Brackets)?;
        let host = &text[..text.len() - after.len()];
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(Reason::Brackets),
        };
    }
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(port))),
    }
}

pub(super) fn host_of(host: &str, port: u16) -> Result<Address, Reason> {
    if let Some(inside) = host.strip_prefix('[') {
        let inside = inside.strip_suffix(']').ok_or(Reason::Brackets)?;
        return ipv6(inside, port)?.ok_or(Reason::Brackets);
    }
    if host.contains(':') {
        return ipv6(host, port)?.ok_or(Reason::Colons);
    }
    if let Ok(ip) = host.parse::<Ipv4Addr>() {
        return Ok(Address::Socket(SocketAddr::new(ip.into(), port)));
    }
    name(host).map(|name| Address::Name(name, port))
}

fn ipv6(text: &str, port: u16) -> Result<Option<Address>, Reason> {
    let (ip, zone) = match text.split_once('%') {
        None => (text, 0),
        Some((ip, zone)) => (ip, digits(zone).ok_or(Reason::Zone)?),
    };
    let ip = ip.parse::<Ipv6Addr>().ok();
    Ok(ip.map(|ip| Address::Socket(SocketAddrV6::new(ip, port, 0, zone).into())))
}

/// A number in digits alone; `parse` by itself would take a sign too.
pub(super) fn digits<N: FromStr>(text: &str) -> Option<N> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Decimal, octal or hexadecimal, as `inet_aton` reads numbers.
fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x").or_else(|| label.strip_prefix("0X")) {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => label.bytes().all(|b| b.is_ascii_digit()),
    }
}

fn name(text: &str) -> Result<Name, Reason> {
    let labels = text.strip_suffix('.').unwrap_or(text);
    if labels.is_empty() {
        return Err(Reason::Empty);
    }
    if let Some(c) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')) {
        return Err(Reason::Character(c));
    }
    if labels.len() > MAX_NAME {
        return Err(Reason::Length);
    }
    if labels.split('.').any(|label| label.is_empty() || label.len() > MAX_LABEL) {
        return Err(Reason::Label);
    }
    // A name whose last label is a number would be read as an address by some systems (inet_aton).
    if labels.rsplit('.').next().is_some_and(is_number) {
        return Err(Reason::Ipv4);
    }
    Ok(Name(text.into()))
}
