//! Numbers as words: the pure part, from digits to a string of lower-case words.

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = [
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];
const SCALES: [(u128, &str); 6] = [
    (1_000_000_000_000_000_000, "quintillion"),
    (1_000_000_000_000_000, "quadrillion"),
    (1_000_000_000_000, "trillion"),
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1_000, "thousand"),
];
/// More digits than this are read one by one.
const CARDINAL_DIGITS: usize = 21;

/// A whole number: `one hundred five`. Leading zeros do not count; numbers beyond quintillions
/// are read digit by digit.
pub(super) fn cardinal(digits: &str) -> String {
    let significant = digits.trim_start_matches('0');
    match significant.parse::<u128>() {
        _ if significant.len() > CARDINAL_DIGITS => self::digits(digits),
        Ok(number) => number_words(number),
        Err(_) => ONES[0].to_owned(),
    }
}

fn number_words(mut number: u128) -> String {
    let mut words: Vec<String> = Vec::new();
    for (scale, name) in SCALES {
        if number >= scale {
            words.push(below_thousand(number / scale));
            words.push(name.to_owned());
            number %= scale;
        }
    }
    if number > 0 || words.is_empty() {
        words.push(below_thousand(number));
    }
    words.join(" ")
}

fn below_thousand(number: u128) -> String {
    match number {
        0..20 => one(number).to_owned(),
        20..100 if number.is_multiple_of(10) => ten(number).to_owned(),
        20..100 => format!("{} {}", ten(number), one(number % 10)),
        _ if number.is_multiple_of(100) => format!("{} hundred", one(number / 100)),
        _ => format!(
            "{} hundred {}",
            one(number / 100 % 10),
            below_thousand(number % 100)
        ),
    }
}

fn one(number: u128) -> &'static str {
    usize::try_from(number)
        .ok()
        .and_then(|number| ONES.get(number))
        .copied()
        .unwrap_or_default()
}

fn ten(number: u128) -> &'static str {
    usize::try_from(number / 10)
        .ok()
        .and_then(|number| TENS.get(number))
        .copied()
        .unwrap_or_default()
}

/// Digits one by one: `five five oh`? No: zero is `zero`.
pub(super) fn digits(digits: &str) -> String {
    let names: Vec<&str> = digits
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|d| ONES[usize::from(d - b'0')])
        .collect();
    names.join(" ")
}

/// Digits one by one, with `oh` for zero, as in telephone and room numbers.
pub(super) fn digits_oh(text: &str) -> String {
    digits(text).replace("zero", "oh")
}

/// The word of rank: `twenty first`.
pub(super) fn ordinal(digits: &str) -> String {
    ordinal_of(&cardinal(digits))
}

/// Makes the last word of a number one of rank.
pub(super) fn ordinal_of(words: &str) -> String {
    let (head, last) = words
        .rsplit_once(' ')
        .map_or(("", words), |(head, last)| (head, last));
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        other => other
            .strip_suffix('y')
            .map_or_else(|| format!("{other}th"), |stem| format!("{stem}ieth")),
    };
    if head.is_empty() {
        last
    } else {
        format!("{head} {last}")
    }
}

/// The plural of the last word: `nineteen nineties`.
pub(super) fn plural(words: &str) -> String {
    match words.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if words.ends_with('x') => format!("{words}es"),
        None => format!("{words}s"),
    }
}

/// A year of our era of one to four digits: `nineteen eighty four`, `two thousand five`.
pub(super) fn year(digits: &str) -> String {
    let significant = digits.trim_start_matches('0');
    let (Some((century, rest)), 4) = (significant.split_at_checked(2), significant.len()) else {
        return cardinal(digits);
    };
    match (century, rest) {
        ("10" | "20" | "30", _) if rest.starts_with('0') => cardinal(significant),
        (_, "00") if century.ends_with('0') => cardinal(significant),
        (_, "00") => format!("{} hundred", cardinal(century)),
        _ if rest.starts_with('0') => format!("{} oh {}", cardinal(century), cardinal(rest)),
        _ => format!("{} {}", cardinal(century), cardinal(rest)),
    }
}

/// A short number in a name, in the way of room and model numbers: `seven forty seven`.
pub(super) fn label(digits: &str) -> String {
    match digits.len() {
        2 if digits.starts_with('0') => digits_oh(digits),
        0..=2 => cardinal(digits),
        3 if digits.ends_with("00") => cardinal(digits),
        3 => match (digits.split_at(1), &digits[1..2]) {
            (("0", _), _) => digits_oh(digits),
            ((first, rest), "0") => format!("{} oh {}", cardinal(first), cardinal(rest)),
            ((first, rest), _) => format!("{} {}", cardinal(first), cardinal(rest)),
        },
        4 if digits.ends_with("000") => cardinal(digits),
        4 if !digits.starts_with('0') => year(digits),
        _ => self::digits(digits),
    }
}

/// A decimal number from its two sides: `three point one four`. The part before the point may be
/// empty.
pub(super) fn decimal(whole: &str, fraction: &str) -> String {
    match (whole, fraction) {
        (_, "") => cardinal(whole),
        ("", _) => format!("point {}", digits(fraction)),
        _ => format!("{} point {}", cardinal(whole), digits(fraction)),
    }
}

/// A fraction: `three quarters`, `one half`, `five over eighty one`.
pub(super) fn fraction(top: &str, bottom: &str) -> String {
    let one = top == "1";
    let (top_words, bottom_words) = (cardinal(top), cardinal(bottom));
    let part = match bottom {
        "2" => if one { "half" } else { "halves" }.to_owned(),
        "4" => if one { "quarter" } else { "quarters" }.to_owned(),
        _ if bottom.len() <= 2 || bottom == "100" || bottom == "1000" => {
            let rank = ordinal_of(&bottom_words);
            if one { rank } else { plural(&rank) }
        }
        _ => return format!("{top_words} over {bottom_words}"),
    };
    format!("{top_words} {part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        for (number, words) in [
            ("0", "zero"),
            ("00", "zero"),
            ("7", "seven"),
            ("19", "nineteen"),
            ("20", "twenty"),
            ("85", "eighty five"),
            ("100", "one hundred"),
            ("110", "one hundred ten"),
            ("999", "nine hundred ninety nine"),
            ("1000", "one thousand"),
            ("1001", "one thousand one"),
            ("12345", "twelve thousand three hundred forty five"),
            ("1000000", "one million"),
            ("2000000001", "two billion one"),
            ("1000000000000000000", "one quintillion"),
            (
                "9223372036854775807",
                "nine quintillion two hundred twenty three quadrillion three hundred seventy two trillion thirty six billion eight hundred fifty four million seven hundred seventy five thousand eight hundred seven",
            ),
            (
                "1234567890123456789012",
                "one two three four five six seven eight nine zero one two three four five six seven eight nine zero one two",
            ),
        ] {
            assert_eq!(cardinal(number), words, "{number}");
        }
    }

    #[test]
    fn ranks() {
        for (number, words) in [
            ("1", "first"),
            ("2", "second"),
            ("3", "third"),
            ("5", "fifth"),
            ("8", "eighth"),
            ("9", "ninth"),
            ("11", "eleventh"),
            ("12", "twelfth"),
            ("20", "twentieth"),
            ("21", "twenty first"),
            ("100", "one hundredth"),
            ("112", "one hundred twelfth"),
            ("1000", "one thousandth"),
        ] {
            assert_eq!(ordinal(number), words, "{number}");
        }
    }

    #[test]
    fn years() {
        for (number, words) in [
            ("1984", "nineteen eighty four"),
            ("1900", "nineteen hundred"),
            ("1905", "nineteen oh five"),
            ("2000", "two thousand"),
            ("2005", "two thousand five"),
            ("2010", "twenty ten"),
            ("2024", "twenty twenty four"),
            ("1066", "ten sixty six"),
            ("1000", "one thousand"),
            ("476", "four hundred seventy six"),
        ] {
            assert_eq!(year(number), words, "{number}");
        }
    }

    #[test]
    fn labels_and_fractions() {
        assert_eq!(label("747"), "seven forty seven");
        assert_eq!(label("101"), "one oh one");
        assert_eq!(label("007"), "oh oh seven");
        assert_eq!(label("4090"), "forty ninety");
        assert_eq!(label("5000"), "five thousand");
        assert_eq!(fraction("3", "4"), "three quarters");
        assert_eq!(fraction("2", "3"), "two thirds");
        assert_eq!(fraction("1", "2"), "one half");
        assert_eq!(fraction("5", "812"), "five over eight hundred twelve");
    }
}
