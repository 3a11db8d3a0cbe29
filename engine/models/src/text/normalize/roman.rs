//! Roman numerals behind names: `Henry VIII`, `World War II`, `Chapter IV`.

use super::{Dictionary, found::Found, say, token::Tokens};

/// Names whose numeral is a rank.
const RULERS: [&str; 40] = [
    "henry",
    "louis",
    "george",
    "elizabeth",
    "charles",
    "edward",
    "richard",
    "william",
    "james",
    "john",
    "paul",
    "pius",
    "benedict",
    "gregory",
    "leo",
    "innocent",
    "urban",
    "clement",
    "alexander",
    "nicholas",
    "catherine",
    "peter",
    "frederick",
    "philip",
    "francis",
    "napoleon",
    "wilhelm",
    "ferdinand",
    "ramesses",
    "ramses",
    "ptolemy",
    "mary",
    "margaret",
    "gustav",
    "christian",
    "haakon",
    "albert",
    "victor",
    "ivan",
    "otto",
];
/// Words whose numeral is a number.
const LABELS: [&str; 26] = [
    "war", "chapter", "part", "act", "volume", "phase", "type", "section", "article", "book",
    "title", "level", "class", "stage", "bowl", "appendix", "scene", "season", "episode",
    "fantasy", "rocky", "version", "mark", "grade", "figure", "table",
];
/// Words before `I` that would make it a pronoun, and words that follow a ruler.
const AFTER_FIRST: [&str; 10] = [
    "of", "was", "died", "ruled", "reigned", "became", "and", "is", "had", "in",
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    let numeral = tokens.letters(i)?;
    let before = i
        .checked_sub(1)
        .filter(|before| tokens.is_space(*before))
        .and_then(|_| tokens.word_before(i))?;
    let value = value(numeral)?;
    let capital = before.starts_with(|c: char| c.is_ascii_uppercase());
    let small = before.to_ascii_lowercase();
    let ruler = capital && RULERS.contains(&small.as_str());
    let label = LABELS.contains(&small.as_str());
    if numeral.len() == 1 && !(label || ruler && is_after_ruler(tokens, i + 1)) {
        return None;
    }
    let plain = numeral.chars().all(|c| "IVX".contains(c));
    if !(ruler || label || capital && plain && numeral != "IV") {
        return None;
    }
    let digits = value.to_string();
    if ruler {
        return Some(Found::line(
            i..i + 1,
            format!("the {}", say::ordinal(&digits)),
        ));
    }
    Some(Found::line(i..i + 1, say::cardinal(&digits)))
}

/// Whether a single letter stands for a rank here: no verb of `I` follows.
fn is_after_ruler(tokens: &Tokens<'_>, i: usize) -> bool {
    match tokens.letters(tokens.past_space(i)) {
        Some(word) => AFTER_FIRST.contains(&word),
        None => true,
    }
}

/// The value of a numeral in its usual writing, up to 399.
fn value(numeral: &str) -> Option<u32> {
    let of = |c: char| match c {
        'I' => Some(1),
        'V' => Some(5),
        'X' => Some(10),
        'L' => Some(50),
        'C' => Some(100),
        _ => None,
    };
    if numeral.len() > 9 {
        return None;
    }
    let digits: Vec<u32> = numeral.chars().map(of).collect::<Option<_>>()?;
    let mut total = 0;
    for (n, digit) in digits.iter().enumerate() {
        let subtracts = digits.get(n + 1).is_some_and(|next| next > digit);
        total = if subtracts {
            total - i64::from(*digit)
        } else {
            total + i64::from(*digit)
        };
    }
    let value = u32::try_from(total).ok()?;
    (write(value) == numeral).then_some(value)
}

fn write(mut value: u32) -> String {
    const STEPS: [(u32, &str); 9] = [
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut numeral = String::new();
    for (step, letters) in STEPS {
        while value >= step && numeral.len() < 16 {
            numeral.push_str(letters);
            value -= step;
        }
    }
    numeral
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals_have_values() {
        for (numeral, expected) in [
            ("I", Some(1)),
            ("IV", Some(4)),
            ("XIV", Some(14)),
            ("LVIII", Some(58)),
            ("XCIX", Some(99)),
            ("IIII", None),
            ("VX", None),
            ("MIX", None),
        ] {
            assert_eq!(value(numeral), expected, "{numeral}");
        }
    }
}
