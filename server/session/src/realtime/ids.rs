//! Ids as clients know them: a prefix and letters and digits that do not repeat.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LETTERS: usize = 20;

/// Draws ids; the same seed gives the same ones.
#[derive(Debug)]
pub(super) struct Ids {
    /// The state of `SplitMix64` (Steele, Lea, Flood 2014).
    state: u64,
}

impl Ids {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next id, such as `item_` and 20 letters and digits.
    pub(super) fn draw(&mut self, prefix: &str) -> String {
        let mut id = String::with_capacity(prefix.len() + LETTERS);
        id.push_str(prefix);
        // Ten letters of 62 are 60 bits.
        for _ in 0..LETTERS / 10 {
            let mut bits = self.next();
            for _ in 0..10 {
                let at = usize::try_from(bits % 62).unwrap_or(0);
                id.push(char::from(ALPHABET[at]));
                bits /= 62;
            }
        }
        id
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
