//! The random numbers that the clients of all languages agree on: Go's additive lagged Fibonacci generator.
//!
//! Seeding it whole takes 1841 steps, while a plan draws a few numbers. The start value of each slot is therefore
//! computed when it is touched, from a table of powers; the state as a whole exists only after 273 draws, when a
//! draw first reads what an earlier one wrote.

use super::cooked::COOKED;

const LENGTH: usize = 607;
const TAP: usize = 273;
const MODULUS: u64 = (1 << 31) - 1;
const FACTOR: u64 = 48271;

/// The factor by which the seed becomes the first of the three numbers of a slot: `FACTOR^(21 + 3 * slot)`.
static POWERS: [u64; LENGTH] = powers();

const fn powers() -> [u64; LENGTH] {
    let mut table = [0; LENGTH];
    let mut power = 1;
    let mut exponent = 0;
    while exponent < 21 + 3 * LENGTH {
        if exponent >= 21 && exponent.is_multiple_of(3) {
            table[(exponent - 21) / 3] = power;
        }
        power = power * FACTOR % MODULUS;
        exponent += 1;
    }
    table
}

/// Random numbers from a seed, the same in every language.
///
/// ```
/// use messina::alternator::plan::Generator;
///
/// let mut numbers = Generator::new(42);
/// assert_eq!([5, 7, 8].map(|_| numbers.below(10)), [5, 7, 8]);
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
    drawn: usize,
    state: Option<Box<[u64; LENGTH]>>,
}

impl Generator {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: i64) -> Self {
        let seed = match seed.rem_euclid(MODULUS as i64) {
            0 => 89_482_311,
            seed => seed as u64,
        };
        Self { seed, drawn: 0, state: None }
    }

    fn start(&self, slot: usize) -> u64 {
        let first = self.seed * POWERS[slot] % MODULUS;
        let second = first * FACTOR % MODULUS;
        let third = second * FACTOR % MODULUS;
        (first << 40) ^ (second << 20) ^ third ^ COOKED[slot]
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        // Both walk downwards and wrap around.
        let draw = self.drawn % LENGTH;
        let feed = (2 * LENGTH - TAP - 1 - draw) % LENGTH;
        let tap = LENGTH - 1 - draw;
        if self.drawn < TAP {
            self.drawn += 1;
            return self.start(feed).wrapping_add(self.start(tap));
        }
        if self.state.is_none() {
            let mut state = Box::new([0; LENGTH]);
            for (slot, value) in state.iter_mut().enumerate() {
                *value = self.start(slot);
            }
            for draw in 0..TAP {
                let feed = LENGTH - TAP - 1 - draw;
                state[feed] = state[feed].wrapping_add(state[LENGTH - 1 - draw]);
            }
            self.state = Some(state);
        }
        // Kept below twice the length, so that it never overflows and never falls below the first 273 again.
        self.drawn = if self.drawn + 1 == 2 * LENGTH { LENGTH } else { self.drawn + 1 };
        let Some(state) = &mut self.state else { return 0 };
        state[feed] = state[feed].wrapping_add(state[tap]);
        state[feed]
    }

    /// The next 63 bits.
    pub fn next_63(&mut self) -> u64 {
        self.next_u64() & (u64::MAX >> 1)
    }

    fn next_31(&mut self) -> u32 {
        (self.next_63() >> 32) as u32
    }

    /// The next number below `bound`, which counts as 1 if it is 0 and as 2^31 - 1 if it is more.
    ///
    /// A bound of 1 uses a number up too.
    pub fn below(&mut self, bound: u32) -> u32 {
        const MAX: u32 = u32::MAX >> 1;
        let bound = bound.clamp(1, MAX);
        if bound.is_power_of_two() {
            return self.next_31() & (bound - 1);
        }
        let last = MAX - (1 << 31) % bound;
        loop {
            let drawn = self.next_31();
            if drawn <= last {
                return drawn % bound;
            }
        }
    }
}
