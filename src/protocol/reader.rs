//! Reading the protocol's notations out of a body, each bounded by what is left of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use uuid::Uuid;

use super::parse_error::{ParseError, Problem};

/// What is left of a body.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of a body.
    #[must_use]
    pub const fn new(body: &'a [u8]) -> Self {
        Self { rest: body, whole: body.len() }
    }

    /// How many bytes were read.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.rest.len()
    }

    /// The bytes that are left.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error at this place.
    #[must_use]
    #[cold]
    pub fn error(&self, what: &'static str, problem: Problem) -> ParseError {
        ParseError { what, offset: self.offset(), problem }
    }

    /// Takes this many bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take(&mut self, what: &'static str, needed: usize) -> Result<&'a [u8], ParseError> {
        let Some((taken, rest)) = self.rest.split_at_checked(needed) else {
            let left = self.left();
            return Err(self.error(what, Problem::TooShort { needed, left }));
        };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ParseError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            let left = self.left();
            return Err(self.error(what, Problem::TooShort { needed: N, left }));
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// A `[byte]`.
    ///
    /// # Errors
    /// When nothing is left.
    pub fn byte(&mut self, what: &'static str) -> Result<u8, ParseError> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// A `[short]`.
    ///
    /// # Errors
    /// When too little is left.
    pub fn short(&mut self, what: &'static str) -> Result<u16, ParseError> {
        self.array(what).map(u16::from_be_bytes)
    }

    /// An `[int]`.
    ///
    /// # Errors
    /// When too little is left.
    #[inline]
    pub fn int(&mut self, what: &'static str) -> Result<i32, ParseError> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// A `[long]`.
    ///
    /// # Errors
    /// When too little is left.
    pub fn long(&mut self, what: &'static str) -> Result<i64, ParseError> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// A `[uuid]`.
    ///
    /// # Errors
    /// When too little is left.
    pub fn uuid(&mut self, what: &'static str) -> Result<Uuid, ParseError> {
        self.array(what).map(Uuid::from_bytes)
    }

    /// An `[int]` that cannot be negative.
    ///
    /// # Errors
    /// When it is, or too little is left.
    #[inline]
    pub fn length(&mut self, what: &'static str) -> Result<usize, ParseError> {
        let before = *self;
        let length = self.int(what)?;
        usize::try_from(length).map_err(|_| before.error(what, Problem::Negative(length)))
    }

    /// An `[int]` that counts things of at least `min_each` bytes.
    ///
    /// # Errors
    /// When the bytes left cannot hold them, or it is negative.
    pub fn count(&mut self, what: &'static str, min_each: usize) -> Result<usize, ParseError> {
        let before = *self;
        let count = self.length(what)?;
        self.bound(before, what, count, min_each)
    }

    /// A `[short]` that counts things of at least `min_each` bytes.
    ///
    /// # Errors
    /// When the bytes left cannot hold them.
    pub fn short_count(&mut self, what: &'static str, min_each: usize) -> Result<usize, ParseError> {
        let before = *self;
        let count = usize::from(self.short(what)?);
        self.bound(before, what, count, min_each)
    }

    fn bound(&self, before: Self, what: &'static str, count: usize, min_each: usize) -> Result<usize, ParseError> {
        if count.saturating_mul(min_each) > self.left() {
            let (count, left) = (count as u64, self.left());
            return Err(before.error(what, Problem::TooMany { count, left }));
        }
        Ok(count)
    }

    fn text(&mut self, what: &'static str, length: usize) -> Result<&'a str, ParseError> {
        let before = *self;
        let bytes = self.take(what, length)?;
        std::str::from_utf8(bytes).map_err(|_| before.error(what, Problem::Utf8))
    }

    /// A `[string]`.
    ///
    /// # Errors
    /// When too little is left, or it is not UTF-8.
    pub fn string(&mut self, what: &'static str) -> Result<&'a str, ParseError> {
        let length = self.short(what)?;
        self.text(what, usize::from(length))
    }

    /// A `[long string]`.
    ///
    /// # Errors
    /// When too little is left, or it is not UTF-8.
    pub fn long_string(&mut self, what: &'static str) -> Result<&'a str, ParseError> {
        let length = self.length(what)?;
        self.text(what, length)
    }

    /// A `[string list]`.
    ///
    /// # Errors
    /// When too little is left, or one is not UTF-8.
    pub fn string_list(&mut self, what: &'static str) -> Result<Vec<String>, ParseError> {
        let count = self.short_count(what, 2)?;
        (0..count).map(|_| self.string(what).map(str::to_owned)).collect()
    }

    /// `[short bytes]`.
    ///
    /// # Errors
    /// When too little is left.
    pub fn short_bytes(&mut self, what: &'static str) -> Result<&'a [u8], ParseError> {
        let length = self.short(what)?;
        self.take(what, usize::from(length))
    }

    /// `[bytes]`; every negative length is a null.
    ///
    /// # Errors
    /// When too little is left.
    pub fn bytes(&mut self, what: &'static str) -> Result<Option<&'a [u8]>, ParseError> {
        match usize::try_from(self.int(what)?) {
            Ok(length) => self.take(what, length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// An `[inetaddr]`: a length and an address.
    ///
    /// # Errors
    /// When too little is left, or the length is that of no address.
    pub fn address(&mut self, what: &'static str) -> Result<IpAddr, ParseError> {
        let before = *self;
        match self.byte(what)? {
            4 => Ok(Ipv4Addr::from(self.array::<4>(what)?).into()),
            16 => Ok(Ipv6Addr::from(self.array::<16>(what)?).into()),
            other => Err(before.error(what, Problem::AddressLength(other))),
        }
    }

    /// An `[inet]`: an address and a port.
    ///
    /// # Errors
    /// When too little is left, or it is no address or no port.
    pub fn inet(&mut self, what: &'static str) -> Result<SocketAddr, ParseError> {
        let address = self.address(what)?;
        let before = *self;
        let port = self.int(what)?;
        let port = u16::try_from(port).map_err(|_| before.error(what, Problem::Unknown(i64::from(port))))?;
        Ok(SocketAddr::new(address, port))
    }
}

/// How much room to make for `count` things at once: what is more has to come first.
pub(super) const fn capacity(count: usize) -> usize {
    if count < 64 { count } else { 64 }
}
