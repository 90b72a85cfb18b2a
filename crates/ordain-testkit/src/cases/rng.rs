//! Splitmix64: small, and the same everywhere.

pub(super) struct Rng(u64);

impl Rng {
    /// Two streams of one seed have nothing to do with each other.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f));
        rng.next();
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// In so many of a hundred cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list that is not empty.
    #[expect(clippy::expect_used, reason = "lists here are not empty")]
    pub(super) fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        list.get(self.below(list.len())).expect("a list that is not empty")
    }

    /// Some of a list, in order.
    pub(super) fn some<'l, T>(&mut self, list: &'l [T], percent: usize) -> Vec<&'l T> {
        list.iter().filter(|_| self.chance(percent)).collect()
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
    }
}
