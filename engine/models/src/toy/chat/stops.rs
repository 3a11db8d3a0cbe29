//! Texts that end an answer: what may still become one is held back until that is settled.

/// What was said and may be the beginning of a stop.
#[derive(Default)]
pub(super) struct Stops {
    held: String,
}

impl Stops {
    /// Takes in what is said next. Returns what may be given out, and whether a stop was reached;
    /// the stop and what stands behind it are dropped.
    pub(super) fn say(&mut self, text: &str, stops: &[String]) -> (String, bool) {
        self.held.push_str(text);
        let found = stops.iter().filter_map(|stop| self.held.find(stop)).min();
        if let Some(at) = found {
            let mut held = std::mem::take(&mut self.held);
            held.truncate(at);
            return (held, true);
        }
        let keep = self.held.split_off(self.held.len() - self.open(stops));
        (std::mem::replace(&mut self.held, keep), false)
    }

    /// Nothing follows: all that was held back is given out.
    pub(super) fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Bytes at the end that are the beginning of a stop.
    fn open(&self, stops: &[String]) -> usize {
        let ends_with = |stop: &String| {
            let beginnings = stop.char_indices().rev().map(|(at, _)| &stop[..at]);
            beginnings
                .filter(|beginning| self.held.ends_with(beginning))
                .map(str::len)
                .max()
        };
        stops.iter().filter_map(ends_with).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_stop_is_ever_given_out() {
        let stops = ["ende".to_owned(), "è fin".to_owned()];
        for (said, expected, stopped) in [
            (&["no stop"][..], "no stop", false),
            (&["the en", "d", "e."], "the ", true),
            (&["the en", "d", "."], "the end.", false),
            (&["a è", " f", "in ende"], "a ", true),
            (&["enenende"], "enen", true),
            (&["e", "n", "e", "n", "d", "e"], "en", true),
        ] {
            let (mut state, mut given, mut is_over) = (Stops::default(), String::new(), false);
            for piece in said {
                let (more, over) = state.say(piece, &stops);
                given.push_str(&more);
                is_over |= over;
            }
            given.push_str(&state.end());
            assert_eq!((given.as_str(), is_over), (expected, stopped), "{said:?}");
        }
    }
}
