//! How many words were understood wrongly.

/// Words of a text as a listener counts them: lower case, without punctuation.
pub(super) fn words(text: &str) -> Vec<String> {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '\'' {
            c
        } else {
            ' '
        }
    };
    let text: String = text.to_lowercase().chars().map(plain).collect();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The fewest words to put in, take out or replace to make `heard` of `said`.
pub(super) fn errors(said: &[String], heard: &[String]) -> usize {
    let mut row: Vec<usize> = (0..=heard.len()).collect();
    for (index, word) in said.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in heard.iter().enumerate() {
            let replaced = diagonal + usize::from(word != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[heard.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_by_hand() {
        let count = |said: &str, heard: &str| errors(&words(said), &words(heard));
        assert_eq!(count("What is this?", "what is this"), 0);
        assert_eq!(count("one two three", "one three"), 1);
        assert_eq!(count("one two three", "one too three four"), 2);
        assert_eq!(count("", "a b"), 2);
        assert_eq!(count("it's", "its"), 1);
    }
}
