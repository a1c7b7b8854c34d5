//! Randomness of requests without a key.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// The additive step of SplitMix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Numbers of one plan.
#[derive(Clone, Debug)]
pub(super) struct Stream(u64);

impl Stream {
    pub(super) const fn new(start: u64) -> Self {
        Self(start)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`: multiply and shift, so that no remainder can leave the bounds.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }
}

/// Where the plans of a client get their randomness from: each plan a different start.
///
/// ```
/// use messina::alternator::plan::Randomness;
///
/// let (one, other) = (Randomness::seeded(7), Randomness::seeded(7));
/// assert_eq!(one.draw(), other.draw());
/// assert_ne!(one.draw(), one.draw());
/// ```
#[derive(Debug)]
pub struct Randomness(AtomicU64);

impl Randomness {
    /// Different in every process.
    #[must_use]
    pub fn from_system() -> Self {
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    /// The same in every run, for tests. The counter behind it may wrap around.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn draw(&self) -> u64 {
        mix(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

impl Randomness {
    /// Puts items into a random order.
    pub(crate) fn shuffle<T>(&self, items: &mut [T]) {
        let mut stream = Stream::new(self.draw());
        for last in (1..items.len()).rev() {
            let drawn = stream.below(u32::try_from(last + 1).unwrap_or(u32::MAX));
            items.swap(last, drawn as usize);
        }
    }
}

impl Default for Randomness {
    fn default() -> Self {
        Self::from_system()
    }
}
