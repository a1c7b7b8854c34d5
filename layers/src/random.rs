//! Small, seedable randomness: a counter that many clones may share, mixed well.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A stream of numbers; clones draw from the same stream, each number once.
#[derive(Clone, Debug)]
pub(crate) struct Random(Arc<AtomicU64>);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    pub(crate) fn from_system() -> Self {
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    /// SplitMix64: an additive step, then a mixing function.
    pub(crate) fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        mix(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }

    /// From 0 up to, but without, 1.
    pub(crate) fn next_unit(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Puts `items` into a random order; one draw decides the whole order.
    pub(crate) fn shuffle<T>(&self, items: &mut [T]) {
        let mut state = self.next();
        for i in (1..items.len()).rev() {
            state = mix(state.wrapping_add(i as u64 + 1));
            // Multiply-shift keeps the bias below one in 2^32 for lists of this length.
            let j = ((u128::from(state) * (i as u128 + 1)) >> 64) as usize;
            items.swap(i, j);
        }
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
