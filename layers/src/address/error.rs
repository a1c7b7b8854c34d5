//! Why a text is no address.

use std::fmt;

use super::parse::{MAX_LABEL, MAX_NAME};

/// Text that is no address: what it was, what is wrong, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    pub(super) text: String,
    pub(super) reason: Reason,
}

impl AddressError {
    /// `text` is refused; some texts show what was meant better than the place at which reading them ended.
    pub(super) fn new(text: &str, reason: Reason) -> Self {
        let reason = if text.contains(',') {
            Reason::Several
        } else if text.contains("://") {
            Reason::Scheme
        } else {
            reason
        };
        Self { text: text.to_owned(), reason }
    }

    /// The text that was refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, reason } = self;
        match reason {
            Reason::Empty => write!(f, "{text:?} has no host; write `host`, `host:port` or `[ipv6]:port`"),
            Reason::NoPort => write!(f, "{text:?} has no port; write `host:port`"),
            Reason::Port => write!(f, "the port in {text:?} is not a number from 1 to 65535"),
            Reason::Brackets => write!(f, "the brackets in {text:?} do not hold an IPv6 address; write `[ipv6]:port`"),
            Reason::Colons => write!(
                f,
                "{text:?} is neither `host:port` nor an IPv6 address; an IPv6 address with a port needs brackets"
            ),
            Reason::Zone => write!(
                f,
                "the zone in {text:?} is not a number from 0 to 4294967295; interface names are not looked up"
            ),
            Reason::Ipv4 => {
                write!(f, "{text:?} ends in a number but is not an IPv4 address; write four numbers from 0 to 255")
            }
            Reason::Character(c) => write!(
                f,
                "the name {text:?} has the character {c:?}; allowed are letters a-z, digits, `-`, `_` and dots (an international name in its xn-- form)"
            ),
            Reason::Label => write!(f, "the name {text:?} has a label that is not 1 to {MAX_LABEL} characters long"),
            Reason::Length => write!(f, "the name {text:?} is longer than {MAX_NAME} characters"),
            Reason::Scheme => {
                write!(
                    f,
                    "{text:?} has a scheme (`://`), which an address has not; write `host`, `host:port` or `[ipv6]:port`"
                )
            }
            Reason::Several => write!(f, "{text:?} has a comma; give several addresses one by one, each on its own"),
            Reason::Literal => write!(f, "{text:?} is an IP address, not a name"),
        }
    }
}

impl std::error::Error for AddressError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Empty,
    NoPort,
    Port,
    Brackets,
    Colons,
    Zone,
    Ipv4,
    Character(char),
    Label,
    Length,
    Literal,
    Scheme,
    Several,
}
