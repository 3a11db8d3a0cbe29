//! The right name for a wrong one.

/// Longest name that is compared; a longer one is a mistake of another kind.
const LONGEST: usize = 64;

/// Up to three of `known` that look like `name`, the nearest first.
///
/// Near means: at most a third of the longer name's characters (and at least one) must change,
/// without regard to case, or one name contains the other.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = lower(name);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|candidate| {
            let other = lower(candidate);
            let distance = distance(&wanted, &other);
            let allowed = (wanted.len().max(other.len()) / 3).max(1);
            (distance <= allowed || contains(&wanted, &other)).then_some((distance, candidate))
        })
        .collect();
    ranked.sort();
    ranked.truncate(3);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

/// ` (did you mean a, b?)`, or nothing when no name is near.
#[must_use]
pub fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(name, known);
    if near.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = near.iter().map(|name| format!("'{name}'")).collect();
    format!(" (did you mean {}?)", quoted.join(" or "))
}

/// `name` as an error may repeat it: short, and without control characters.
#[must_use]
pub fn quoted(name: &str) -> String {
    let mut shown: String = name
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("'{shown}'")
}

fn lower(name: &str) -> Vec<char> {
    name.chars()
        .take(LONGEST + 1)
        .flat_map(char::to_lowercase)
        .collect()
}

fn contains(a: &[char], b: &[char]) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.len() >= 3 && long.windows(short.len()).any(|window| window == short)
}

/// Insertions, deletions and replacements that lead from `a` to `b` (Levenshtein).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(left != right);
            diagonal = *cell;
            before = replaced.min(*cell + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_textbook() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("same", "same", 0),
        ] {
            assert_eq!(distance(&lower(a), &lower(b)), expected, "{a} {b}");
        }
    }

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        let known = ["sine", "square", "alloy"];
        assert_eq!(nearest("sin", known), ["sine"]);
        assert_eq!(nearest("SQUARE", known), ["square"]);
        assert_eq!(nearest("aloy", known), ["alloy"]);
        assert!(nearest("completely-other", known).is_empty());
        assert!(nearest("", known).is_empty());
        assert!(nearest(&"x".repeat(100_000), known).is_empty());
    }

    #[test]
    fn a_repeated_name_is_short_and_printable() {
        assert_eq!(quoted("a\nb"), "'a b'");
        assert!(quoted(&"ü".repeat(1000)).chars().count() < 70);
    }
}
