//! The hash of the Murmur3 partitioner.

use super::Token;

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// Hashes a partition key that comes in pieces: MurmurHash3 (x64, 128 bits, seed 0; the first half counts), with the
/// last bytes taken as signed, as Apache Cassandra's `MurmurHash.hash3_x64_128` takes them.
#[derive(Clone, Debug, Default)]
pub struct Murmur3 {
    h1: u64,
    h2: u64,
    length: u64,
    block: [u8; 16],
}

impl Murmur3 {
    /// A hasher that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The token of a partition key in one piece.
    #[must_use]
    pub fn token(key: &[u8]) -> Token {
        let mut hasher = Self::new();
        hasher.write(key);
        hasher.finish()
    }

    /// Adds bytes.
    pub fn write(&mut self, mut bytes: &[u8]) {
        let held = self.held();
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if held > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(16 - held));
            self.block[held..held + head.len()].copy_from_slice(head);
            bytes = rest;
            if held + head.len() < 16 {
                return;
            }
            let block = self.block;
            self.mix(&block);
        }
        let (blocks, rest) = bytes.as_chunks::<16>();
        for block in blocks {
            self.mix(block);
        }
        self.block[..rest.len()].copy_from_slice(rest);
    }

    /// The token of what was written.
    #[must_use]
    pub fn finish(self) -> Token {
        let (mut h1, mut h2) = (self.h1, self.h2);
        let tail = &self.block[..self.held()];
        // Sign-extended before the shift: the partitioner's own reading of the algorithm.
        let signed = |range: &[u8]| {
            let bytes = range.iter().enumerate();
            bytes.fold(0_u64, |k, (i, byte)| k ^ (i64::from(byte.cast_signed()).cast_unsigned() << (8 * i)))
        };
        if tail.len() > 8 {
            h2 ^= scramble2(signed(&tail[8..]));
        }
        if !tail.is_empty() {
            h1 ^= scramble1(signed(&tail[..tail.len().min(8)]));
        }
        h1 ^= self.length;
        h2 ^= self.length;
        h1 = h1.wrapping_add(h2);
        h2 = h2.wrapping_add(h1);
        h1 = finalize(h1);
        h2 = finalize(h2);
        let token = h1.wrapping_add(h2).cast_signed();
        // The lowest number is no token.
        Token(if token == i64::MIN { i64::MAX } else { token })
    }

    fn held(&self) -> usize {
        // The last four bits fit.
        (self.length & 15) as usize
    }

    fn mix(&mut self, block: &[u8; 16]) {
        let [k1, k2] = [0, 8].map(|at| {
            let mut half = [0; 8];
            half.copy_from_slice(&block[at..at + 8]);
            u64::from_le_bytes(half)
        });
        self.h1 ^= scramble1(k1);
        self.h1 = self.h1.rotate_left(27).wrapping_add(self.h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        self.h2 ^= scramble2(k2);
        self.h2 = self.h2.rotate_left(31).wrapping_add(self.h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
}

fn scramble1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finalize(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}
