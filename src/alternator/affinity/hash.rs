//! The hash of a partition key's value.

/// The value of a partition key; values of other types have no affinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyValue<'a> {
    /// A string.
    S(&'a str),
    /// A number, as the request spells it: `1` and `1.0` are different keys here.
    N(&'a str),
    /// Bytes.
    B(&'a [u8]),
}

impl KeyValue<'_> {
    /// The hash that all languages agree on.
    ///
    /// ```
    /// use messina::alternator::affinity::KeyValue;
    ///
    /// assert_eq!(KeyValue::S("hello").hash(), 8815023923555918238);
    /// ```
    #[must_use]
    pub fn hash(self) -> i64 {
        let (tag, bytes) = match self {
            Self::S(text) => (1, text.as_bytes()),
            Self::N(text) => (2, text.as_bytes()),
            Self::B(bytes) => (3, bytes),
        };
        let mut hash = Murmur::default();
        hash.update(&[tag]);
        hash.update(bytes);
        hash.finish() as i64
    }
}

/// The first half of MurmurHash3 (x64, 128 bits, seed 0). The last bytes count unsigned, unlike in Cassandra's variant.
#[must_use]
pub fn murmur(bytes: &[u8]) -> u64 {
    let mut hash = Murmur::default();
    hash.update(bytes);
    hash.finish()
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

#[derive(Default)]
struct Murmur {
    h1: u64,
    h2: u64,
    length: u64,
    block: [u8; 16],
    filled: usize,
}

impl Murmur {
    fn update(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(16 - self.filled));
            self.block[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == 16 {
                self.mix();
                self.block = [0; 16];
                self.filled = 0;
            }
        }
    }

    fn lanes(&self) -> (u64, u64) {
        let block = u128::from_le_bytes(self.block);
        let (k1, k2) = (block as u64, (block >> 64) as u64);
        (k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2), k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1))
    }

    fn mix(&mut self) {
        let (k1, k2) = self.lanes();
        self.h1 = (self.h1 ^ k1).rotate_left(27).wrapping_add(self.h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        self.h2 = (self.h2 ^ k2).rotate_left(31).wrapping_add(self.h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }

    fn finish(self) -> u64 {
        // The unfilled rest of the block is zero, and a lane of zeros changes nothing.
        let (k1, k2) = self.lanes();
        let (h1, h2) = (self.h1 ^ k1 ^ self.length, self.h2 ^ k2 ^ self.length);
        let h1 = h1.wrapping_add(h2);
        let h2 = h2.wrapping_add(h1);
        avalanche(h1).wrapping_add(avalanche(h2))
    }
}

fn avalanche(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}
