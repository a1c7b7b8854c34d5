//! Reading a request's body: every length is held against what is left.

use bytes::Bytes;

/// What is wrong with a body; the text goes to the client.
pub(in crate::testkit) type Malformed = String;

/// The rest of a body.
#[derive(Debug)]
pub(super) struct Reader {
    rest: Bytes,
}

impl Reader {
    pub(super) fn new(rest: Bytes) -> Self {
        Self { rest }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<Bytes, Malformed> {
        if length > self.rest.len() {
            let left = self.rest.len();
            return Err(format!("the body ends {left} bytes into a field of {length}"));
        }
        Ok(self.rest.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N)?;
        let mut array = [0; N];
        array.copy_from_slice(&bytes);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn short(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn int(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    fn text(&mut self, length: usize) -> Result<String, Malformed> {
        let bytes = self.take(length)?;
        String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
    }

    pub(super) fn string(&mut self) -> Result<String, Malformed> {
        let length = self.short()?;
        self.text(usize::from(length))
    }

    pub(super) fn long_string(&mut self) -> Result<String, Malformed> {
        let length = self.int()?;
        let length = usize::try_from(length).map_err(|_| format!("a text of {length} bytes"))?;
        self.text(length)
    }

    /// Bytes with a length; `None` for null and for unset.
    pub(super) fn bytes(&mut self) -> Result<Option<Bytes>, Malformed> {
        let length = self.int()?;
        usize::try_from(length).ok().map(|length| self.take(length)).transpose()
    }

    pub(super) fn short_bytes(&mut self) -> Result<Bytes, Malformed> {
        let length = self.short()?;
        self.take(usize::from(length))
    }

    /// A list with a short count; nothing is reserved by the count.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.short()?;
        (0..count).map(|_| item(self)).collect()
    }
}
