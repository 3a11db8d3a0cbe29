//! Which token may come next, and which comes.
//!
//! The rules of time stamps are those of Radford et al. 2022: they come in pairs, an end and a
//! beginning, except before the end; none is earlier than the one before; the first is within the
//! first second; and where the stamps together are likelier than any text, it is a stamp.

/// The latest first stamp, in steps of 20 ms.
const LATEST_FIRST: u32 = 50;

/// Tokens of the longest round that is recognised as one.
const LONGEST_ROUND: usize = 10;

/// Fewer tokens may be the same by chance: "no, no, no".
const LEAST_REPEATED: usize = 12;

/// More tokens in a second of sound than these, and all of it has been written down: quick speech
/// has about five, and sound has pauses.
const TOKENS_PER_SECOND: f32 = 3.0;

/// The marks that the rules are about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks<'a> {
    pub(super) end: u32,
    pub(super) no_stamps: u32,
    pub(super) suppressed: &'a [u32],
    pub(super) suppressed_first: &'a [u32],
    /// Whether time stamps are wanted.
    pub(super) stamps: bool,
}

/// The likeliest token that may follow `written`, of `logits` `[vocabulary]`, which are changed.
pub(super) fn choose(marks: &Marks<'_>, written: &[u32], logits: &mut [f32]) -> u32 {
    ban(logits, marks.suppressed);
    if written.is_empty() {
        ban(logits, marks.suppressed_first);
    }
    let first_stamp = marks.no_stamps + 1;
    if marks.stamps {
        ban(logits, &[marks.no_stamps]);
        stamps(marks, written, logits);
    } else if let Some(stamps) = logits.get_mut(first_stamp as usize..) {
        stamps.fill(f32::NEG_INFINITY);
    }
    likeliest(logits)
}

fn ban(logits: &mut [f32], tokens: &[u32]) {
    for &token in tokens {
        if let Some(logit) = logits.get_mut(token as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }
}

fn stamps(marks: &Marks<'_>, written: &[u32], logits: &mut [f32]) {
    let first_stamp = marks.no_stamps + 1;
    let start = first_stamp as usize;
    if start >= logits.len() {
        return;
    }
    let is_stamp = |token: Option<&u32>| token.is_some_and(|&token| token >= first_stamp);
    let last = is_stamp(written.last());
    let before = written.len() < 2 || is_stamp(written.iter().rev().nth(1));
    if last && before {
        logits[start..].fill(f32::NEG_INFINITY);
    } else if last {
        // The end of one has the beginning of the next behind it, or all of it ends.
        let end = logits.get(marks.end as usize).copied();
        logits[..start].fill(f32::NEG_INFINITY);
        if let Some((end, logit)) = end.zip(logits.get_mut(marks.end as usize)) {
            *logit = end;
        }
    }
    if let Some(&latest) = written.iter().rev().find(|&&token| token >= first_stamp) {
        // A segment is not empty: its end is later than its beginning.
        let least = latest + u32::from(!last);
        let early = start..(least as usize).clamp(start, logits.len());
        logits[early].fill(f32::NEG_INFINITY);
    }
    if written.is_empty() {
        logits[..start].fill(f32::NEG_INFINITY);
        let late = (start + LATEST_FIRST as usize + 1).min(logits.len());
        logits[late..].fill(f32::NEG_INFINITY);
        return;
    }
    let (texts, stamps) = logits.split_at(start);
    let largest = stamps.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let together = largest + stamps.iter().map(|l| (l - largest).exp()).sum::<f32>().ln();
    let text = texts.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if together > text {
        logits[..start].fill(f32::NEG_INFINITY);
    }
}

/// The first of the largest; what is no number is not chosen.
fn likeliest(logits: &[f32]) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (token, &logit) in (0..).zip(logits) {
        if logit > best.1 {
            best = (token, logit);
        }
    }
    best.0
}

/// Whether the answer goes in circles: its last tokens are three rounds, or more, of the same few.
pub(super) fn repeats(written: &[u32]) -> bool {
    (1..=LONGEST_ROUND).any(|round| {
        let length = (3 * round).max(LEAST_REPEATED);
        let tail = written
            .len()
            .checked_sub(length)
            .map(|start| &written[start..]);
        tail.is_some_and(|tail| tail.iter().zip(&tail[round..]).all(|(a, b)| a == b))
    })
}

/// Whether a window's answer begins from its beginning again behind a whole sentence, sooner than
/// that could have been said: `seconds` of sound have `written` tokens already.
#[expect(clippy::cast_precision_loss, reason = "a few hundred tokens")]
pub(super) fn begins_again(
    written: &[u32],
    token: u32,
    sentence_is_whole: bool,
    seconds: f32,
) -> bool {
    sentence_is_whole
        && written.first() == Some(&token)
        && written.len() as f32 > TOKENS_PER_SECOND * seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks<'static> = Marks {
        end: 5,
        no_stamps: 9,
        suppressed: &[1],
        suppressed_first: &[2],
        stamps: false,
    };

    /// 10 tokens of text and marks, 70 stamps.
    fn logits(high: &[(usize, f32)]) -> Vec<f32> {
        let mut logits = vec![0.0; 80];
        for &(token, logit) in high {
            logits[token] = logit;
        }
        logits
    }

    #[test]
    fn suppressed_tokens_are_not_chosen() {
        let high = [(1, 9.0), (2, 8.0), (3, 7.0), (20, 10.0)];
        assert_eq!(choose(&MARKS, &[], &mut logits(&high)), 3);
        assert_eq!(choose(&MARKS, &[4], &mut logits(&high)), 2);
    }

    #[test]
    fn stamps_come_in_pairs_and_in_order() {
        let marks = Marks {
            stamps: true,
            ..MARKS
        };
        // At first a stamp, and none over a second.
        assert_eq!(
            choose(&marks, &[], &mut logits(&[(3, 9.0), (70, 8.0), (12, 1.0)])),
            12
        );
        // Then text, even if a stamp is likelier.
        assert_eq!(
            choose(&marks, &[12], &mut logits(&[(3, 2.0), (30, 9.0)])),
            3
        );
        // An end is later than its beginning.
        assert_eq!(
            choose(&marks, &[12, 3], &mut logits(&[(12, 9.0), (13, 8.5)])),
            13
        );
        // Behind an end comes a beginning, or the end of all.
        assert_eq!(
            choose(&marks, &[12, 3, 30], &mut logits(&[(3, 9.0), (30, 8.0)])),
            30
        );
        assert_eq!(
            choose(&marks, &[12, 3, 30], &mut logits(&[(5, 9.0), (30, 1.0)])),
            5
        );
        // Many stamps together are likelier than a text.
        assert!(choose(&marks, &[12, 3], &mut logits(&[(3, 0.5)])) >= 13);
    }

    #[test]
    fn what_cannot_have_been_said_again_is_not_written_again() {
        let question = [1, 2, 3, 4, 5, 6, 7];
        assert!(begins_again(&question, 1, true, 1.9));
        assert!(!begins_again(&question, 1, true, 3.2));
        assert!(!begins_again(&question, 1, false, 1.9));
        assert!(!begins_again(&question, 2, true, 1.9));
        assert!(!begins_again(&[], 2, true, 1.9));
    }

    #[test]
    fn three_rounds_are_a_repetition() {
        let line = [1, 2, 3, 4, 5, 6];
        assert!(!repeats(&[line, line].concat()));
        assert!(repeats(&[&[9], line.as_slice(), &line, &line].concat()));
        assert!(!repeats(&[7; 11]));
        assert!(repeats(&[7; 12]));
        assert!(!repeats(&[&[7; 12], [8].as_slice()].concat()));
    }
}
