//! Letter to sound: a GRU that spells out words no lexicon has.
//!
//! Encoder and decoder are one GRU of 256 each (the `g2p_en` checkpoint, 0.83 M parameters): the
//! encoder reads the letters, the decoder writes ARPABET phonemes, the likeliest each time. With
//! `x` the embedding of a letter or of the phoneme before, and `h` the state (Cho et al. 2014,
//! in `PyTorch`'s variant):
//!
//! ```text
//! r = σ(W_ir x + b_ir + W_hr h + b_hr)      z = σ(W_iz x + b_iz + W_hz h + b_hz)
//! n = tanh(W_in x + b_in + r (W_hn h + b_hn))      h' = (1 − z) n + z h
//! ```
//!
//! The products with the embeddings do not depend on the state, so they are made once, at load.
//! A word costs about half a million multiplications a letter; answers are kept.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::{
    arpabet,
    error::{Error, File, Result},
    npz::{self, Array},
};

/// The state's size.
const WIDTH: usize = 256;
/// Letters: padding, unknown, end, then a to z.
const LETTERS: usize = 29;
const LETTER_UNKNOWN: usize = 1;
const LETTER_END: usize = 2;
/// Phonemes: padding, unknown, start, end, then [`arpabet::SYMBOLS`].
const PHONEMES: usize = 4 + arpabet::SYMBOLS.len();
const PHONEME_START: usize = 2;
const PHONEME_END: usize = 3;
/// Longer words are cut by the caller; the network was trained on shorter ones.
pub(crate) const LETTER_LIMIT: usize = 28;
/// Words whose answer is kept. When full, the memory is emptied: it fills again in a blink.
const MEMORY: usize = 4096;

/// One GRU, with the products of its embeddings made.
struct Gru {
    /// `W_i x + b_i` for each symbol: `[symbols, 3 * WIDTH]`.
    inputs: Vec<f32>,
    /// `W_h`: `[3 * WIDTH, WIDTH]`.
    recurrent: Vec<f32>,
    /// `b_h`: `[3 * WIDTH]`.
    bias: Vec<f32>,
}

/// The network and the words that it has answered.
pub(crate) struct LetterToSound {
    encoder: Gru,
    decoder: Gru,
    /// `[PHONEMES, WIDTH]`.
    output: Vec<f32>,
    /// `[PHONEMES]`.
    output_bias: Vec<f32>,
    memory: Mutex<HashMap<Box<str>, Box<str>>>,
}

impl LetterToSound {
    /// Takes the weights out of an `.npz` archive.
    pub(crate) fn from_npz(bytes: &[u8]) -> Result<Self> {
        let arrays =
            npz::read(bytes).map_err(|reason| Error::malformed(File::LetterToSound, reason))?;
        Ok(Self {
            encoder: Gru::new(&arrays, "enc", LETTERS)?,
            decoder: Gru::new(&arrays, "dec", PHONEMES)?,
            output: array(&arrays, "fc_w", &[PHONEMES, WIDTH])?.to_vec(),
            output_bias: array(&arrays, "fc_b", &[PHONEMES])?.to_vec(),
            memory: Mutex::new(HashMap::new()),
        })
    }

    /// How a word of lower-case ASCII letters is said, in misaki's alphabet. Empty for no letters.
    pub(crate) fn say(&self, word: &str) -> Box<str> {
        if let Some(known) = self.memory.lock().get(word) {
            return known.clone();
        }
        let said = arpabet::misaki(
            self.phonemes(word)
                .iter()
                .map(|index| arpabet::SYMBOLS[*index]),
        )
        .into_boxed_str();
        let mut memory = self.memory.lock();
        if memory.len() >= MEMORY {
            memory.clear();
        }
        memory.insert(word.into(), said.clone());
        said
    }

    /// Indices into [`arpabet::SYMBOLS`].
    fn phonemes(&self, word: &str) -> Vec<usize> {
        let mut state = [0.0; WIDTH];
        let letters = word
            .bytes()
            .take(LETTER_LIMIT)
            .filter(|letter| *letter != b'\'');
        for letter in letters.map(letter_index).chain([LETTER_END]) {
            self.encoder.step(letter, &mut state);
        }
        let mut symbol = PHONEME_START;
        let mut phonemes = Vec::new();
        for _ in 0..LETTER_LIMIT {
            self.decoder.step(symbol, &mut state);
            symbol = self.likeliest(&state);
            if symbol == PHONEME_END {
                break;
            }
            phonemes.extend(symbol.checked_sub(4));
        }
        phonemes
    }

    fn likeliest(&self, state: &[f32; WIDTH]) -> usize {
        let rows = self.output.chunks_exact(WIDTH).zip(&self.output_bias);
        let scores = rows.map(|(row, bias)| dot(row, state) + bias);
        let best = scores.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        best.map_or(PHONEME_END, |(index, _)| index)
    }
}

impl Gru {
    fn new(arrays: &HashMap<String, Array>, part: &str, symbols: usize) -> Result<Self> {
        let embedding = array(arrays, &format!("{part}_emb"), &[symbols, WIDTH])?;
        let weights = array(arrays, &format!("{part}_w_ih"), &[3 * WIDTH, WIDTH])?;
        let bias = array(arrays, &format!("{part}_b_ih"), &[3 * WIDTH])?;
        let rows = || weights.chunks_exact(WIDTH).zip(bias);
        let inputs = embedding
            .chunks_exact(WIDTH)
            .flat_map(|x| rows().map(move |(row, bias)| dot(row, x) + bias));
        Ok(Self {
            inputs: inputs.collect(),
            recurrent: array(arrays, &format!("{part}_w_hh"), &[3 * WIDTH, WIDTH])?.to_vec(),
            bias: array(arrays, &format!("{part}_b_hh"), &[3 * WIDTH])?.to_vec(),
        })
    }

    /// Advances the state by one symbol.
    fn step(&self, symbol: usize, state: &mut [f32; WIDTH]) {
        let input = &self.inputs[symbol * 3 * WIDTH..(symbol + 1) * 3 * WIDTH];
        let mut hidden = [0.0; 3 * WIDTH];
        for ((out, row), bias) in hidden
            .iter_mut()
            .zip(self.recurrent.chunks_exact(WIDTH))
            .zip(&self.bias)
        {
            *out = dot(row, state) + bias;
        }
        for (i, h) in state.iter_mut().enumerate() {
            let reset = sigmoid(input[i] + hidden[i]);
            let update = sigmoid(input[WIDTH + i] + hidden[WIDTH + i]);
            let new = (input[2 * WIDTH + i] + reset * hidden[2 * WIDTH + i]).tanh();
            *h = (1.0 - update) * new + update * *h;
        }
    }
}

fn letter_index(letter: u8) -> usize {
    if letter.is_ascii_lowercase() {
        usize::from(letter - b'a') + 3
    } else {
        LETTER_UNKNOWN
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The dot product in eight lanes, so that it becomes vector code: sums of floats may not be
/// reordered by the compiler.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum()
}

fn array<'a>(arrays: &'a HashMap<String, Array>, name: &str, shape: &[usize]) -> Result<&'a [f32]> {
    let found = arrays
        .get(name)
        .ok_or_else(|| Error::malformed(File::LetterToSound, format!("no array {name}")))?;
    if found.shape != shape {
        let reason = format!(
            "array {name} has the shape {:?}, expected {shape:?}",
            found.shape
        );
        return Err(Error::malformed(File::LetterToSound, reason));
    }
    Ok(&found.data)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{super::npz::tests::archive, *};

    /// A network that reads nothing and always writes the phonemes `K AE1 T`, then ends: each
    /// symbol's embedding leads the state to its successor.
    pub(crate) fn constant() -> Vec<u8> {
        let at = |name: &str| {
            arpabet::SYMBOLS
                .iter()
                .position(|symbol| *symbol == name)
                .unwrap()
                + 4
        };
        let chain = [
            (PHONEME_START, at("K")),
            (at("K"), at("AE1")),
            (at("AE1"), at("T")),
            (at("T"), PHONEME_END),
        ];
        let mut embedding = vec![0.0; PHONEMES * WIDTH];
        for (before, after) in chain {
            embedding[before * WIDTH + after] = 1.0;
        }
        let mut candidate = vec![0.0; 3 * WIDTH * WIDTH];
        for i in 0..WIDTH {
            candidate[(2 * WIDTH + i) * WIDTH + i] = 4.0;
        }
        let mut gates = vec![0.0; 3 * WIDTH];
        gates[WIDTH..2 * WIDTH].fill(-30.0);
        let mut output = vec![0.0; PHONEMES * WIDTH];
        for i in 0..PHONEMES {
            output[i * WIDTH + i] = 1.0;
        }
        let (square, none) = (vec![0.0; 3 * WIDTH * WIDTH], vec![0.0; 3 * WIDTH]);
        archive(&[
            ("enc_emb", &[LETTERS, WIDTH], &vec![0.0; LETTERS * WIDTH]),
            ("enc_w_ih", &[3 * WIDTH, WIDTH], &square),
            ("enc_w_hh", &[3 * WIDTH, WIDTH], &square),
            ("enc_b_ih", &[3 * WIDTH], &none),
            ("enc_b_hh", &[3 * WIDTH], &none),
            ("dec_emb", &[PHONEMES, WIDTH], &embedding),
            ("dec_w_ih", &[3 * WIDTH, WIDTH], &candidate),
            ("dec_w_hh", &[3 * WIDTH, WIDTH], &square),
            ("dec_b_ih", &[3 * WIDTH], &gates),
            ("dec_b_hh", &[3 * WIDTH], &none),
            ("fc_w", &[PHONEMES, WIDTH], &output),
            ("fc_b", &[PHONEMES], &vec![0.0; PHONEMES]),
        ])
    }

    #[test]
    fn a_network_says_what_its_weights_say() {
        let network = LetterToSound::from_npz(&constant()).unwrap();
        assert_eq!(&*network.say("anything"), "kˈæt");
        assert_eq!(
            &*network.say("anything"),
            "kˈæt",
            "the kept answer is the same"
        );
    }

    #[test]
    fn the_memory_is_bounded() {
        let network = LetterToSound::from_npz(&constant()).unwrap();
        network
            .memory
            .lock()
            .extend((0..MEMORY).map(|n| (n.to_string().into(), Box::from(""))));
        network.say("one");
        assert_eq!(network.memory.lock().len(), 1);
    }

    #[test]
    fn missing_and_misshapen_arrays_are_named() {
        let error = LetterToSound::from_npz(&archive(&[]))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("no array enc_emb"), "{error}");
        let error = LetterToSound::from_npz(&archive(&[("enc_emb", &[1], &[0.0])]))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("[29, 256]"), "{error}");
    }
}
