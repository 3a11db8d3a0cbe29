//! Measures: `5 km/h`, `20 °C`, `3.5 GB`, `6'2"`, `10%`, `5–10 kg`, `5-km`.

use super::{
    Dictionary,
    figure::{Quantity, quantity},
    found::Found,
    say,
    token::Tokens,
};

/// Unit, one of it, many of it. Case matters: `MB` is not `mb`.
const UNITS: [(&str, &str, &str); 118] = [
    ("%", "percent", "percent"),
    ("‰", "per thousand", "per thousand"),
    ("km", "kilometer", "kilometers"),
    ("m", "meter", "meters"),
    ("cm", "centimeter", "centimeters"),
    ("mm", "millimeter", "millimeters"),
    ("μm", "micrometer", "micrometers"),
    ("um", "micrometer", "micrometers"),
    ("nm", "nanometer", "nanometers"),
    ("mi", "mile", "miles"),
    ("ft", "foot", "feet"),
    ("yd", "yard", "yards"),
    ("yds", "yard", "yards"),
    ("in", "inch", "inches"),
    ("nmi", "nautical mile", "nautical miles"),
    ("ha", "hectare", "hectares"),
    ("ac", "acre", "acres"),
    ("km^2", "square kilometer", "square kilometers"),
    ("m^2", "square meter", "square meters"),
    ("cm^2", "square centimeter", "square centimeters"),
    ("mm^2", "square millimeter", "square millimeters"),
    ("ft^2", "square foot", "square feet"),
    ("mi^2", "square mile", "square miles"),
    ("sqft", "square foot", "square feet"),
    ("km^3", "cubic kilometer", "cubic kilometers"),
    ("m^3", "cubic meter", "cubic meters"),
    ("cm^3", "cubic centimeter", "cubic centimeters"),
    ("ft^3", "cubic foot", "cubic feet"),
    ("cc", "cubic centimeter", "cubic centimeters"),
    ("m2", "square meter", "square meters"),
    ("km2", "square kilometer", "square kilometers"),
    ("m3", "cubic meter", "cubic meters"),
    ("kg", "kilogram", "kilograms"),
    ("kgs", "kilogram", "kilograms"),
    ("g", "gram", "grams"),
    ("mg", "milligram", "milligrams"),
    ("μg", "microgram", "micrograms"),
    ("mcg", "microgram", "micrograms"),
    ("lb", "pound", "pounds"),
    ("lbs", "pound", "pounds"),
    ("oz", "ounce", "ounces"),
    ("t", "ton", "tons"),
    ("kt", "kiloton", "kilotons"),
    ("L", "liter", "liters"),
    ("l", "liter", "liters"),
    ("dl", "deciliter", "deciliters"),
    ("mL", "milliliter", "milliliters"),
    ("ml", "milliliter", "milliliters"),
    ("cl", "centiliter", "centiliters"),
    ("gal", "gallon", "gallons"),
    ("qt", "quart", "quarts"),
    ("pt", "pint", "pints"),
    ("tbsp", "tablespoon", "tablespoons"),
    ("tsp", "teaspoon", "teaspoons"),
    ("s", "second", "seconds"),
    ("sec", "second", "seconds"),
    ("secs", "second", "seconds"),
    ("ms", "millisecond", "milliseconds"),
    ("μs", "microsecond", "microseconds"),
    ("us", "microsecond", "microseconds"),
    ("ns", "nanosecond", "nanoseconds"),
    ("min", "minute", "minutes"),
    ("mins", "minute", "minutes"),
    ("h", "hour", "hours"),
    ("hr", "hour", "hours"),
    ("hrs", "hour", "hours"),
    ("yr", "year", "years"),
    ("yrs", "year", "years"),
    ("mo", "month", "months"),
    ("wk", "week", "weeks"),
    ("wks", "week", "weeks"),
    ("°C", "degree celsius", "degrees celsius"),
    ("°F", "degree fahrenheit", "degrees fahrenheit"),
    ("°K", "degree kelvin", "degrees kelvin"),
    ("°", "degree", "degrees"),
    ("K", "kelvin", "kelvin"),
    ("mph", "mile per hour", "miles per hour"),
    ("kph", "kilometer per hour", "kilometers per hour"),
    ("kmh", "kilometer per hour", "kilometers per hour"),
    ("mpg", "mile per gallon", "miles per gallon"),
    ("rpm", "revolution per minute", "revolutions per minute"),
    ("RPM", "revolution per minute", "revolutions per minute"),
    ("bpm", "beat per minute", "beats per minute"),
    ("fps", "frame per second", "frames per second"),
    ("dpi", "dot per inch", "dots per inch"),
    ("Hz", "hertz", "hertz"),
    ("kHz", "kilohertz", "kilohertz"),
    ("MHz", "megahertz", "megahertz"),
    ("GHz", "gigahertz", "gigahertz"),
    ("THz", "terahertz", "terahertz"),
    ("B", "byte", "bytes"),
    ("KB", "kilobyte", "kilobytes"),
    ("kB", "kilobyte", "kilobytes"),
    ("MB", "megabyte", "megabytes"),
    ("GB", "gigabyte", "gigabytes"),
    ("TB", "terabyte", "terabytes"),
    ("PB", "petabyte", "petabytes"),
    ("KiB", "kibibyte", "kibibytes"),
    ("MiB", "mebibyte", "mebibytes"),
    ("GiB", "gibibyte", "gibibytes"),
    ("kbps", "kilobit per second", "kilobits per second"),
    ("Mbps", "megabit per second", "megabits per second"),
    ("Gbps", "gigabit per second", "gigabits per second"),
    ("kbit", "kilobit", "kilobits"),
    ("Mbit", "megabit", "megabits"),
    ("Gbit", "gigabit", "gigabits"),
    ("V", "volt", "volts"),
    ("mV", "millivolt", "millivolts"),
    ("kV", "kilovolt", "kilovolts"),
    ("W", "watt", "watts"),
    ("kW", "kilowatt", "kilowatts"),
    ("MW", "megawatt", "megawatts"),
    ("GW", "gigawatt", "gigawatts"),
    ("kWh", "kilowatt hour", "kilowatt hours"),
    ("mA", "milliamp", "milliamps"),
    ("mAh", "milliamp hour", "milliamp hours"),
    ("kcal", "kilocalorie", "kilocalories"),
    ("dB", "decibel", "decibels"),
];

/// More units, rarely met.
const RARE: [(&str, &str, &str); 14] = [
    ("cal", "calorie", "calories"),
    ("kJ", "kilojoule", "kilojoules"),
    ("kPa", "kilopascal", "kilopascals"),
    ("hPa", "hectopascal", "hectopascals"),
    ("psi", "pound per square inch", "pounds per square inch"),
    ("hp", "horsepower", "horsepower"),
    ("Nm", "newton meter", "newton meters"),
    ("Ω", "ohm", "ohms"),
    ("kΩ", "kiloohm", "kiloohms"),
    ("MP", "megapixel", "megapixels"),
    ("px", "pixel", "pixels"),
    ("mol", "mole", "moles"),
    ("lm", "lumen", "lumens"),
    ("ppm", "part per million", "parts per million"),
];

/// Units that are also words or names: only right behind their number.
const CLOSE: [&str; 11] = ["in", "us", "t", "K", "B", "l", "V", "ac", "MP", "mo", "cal"];
/// Units that stand for another thing right behind a number: `4K`, `10k`, `5B`.
const NEVER_CLOSE: [&str; 3] = ["K", "B", "t"];

/// What may follow a slash: `$5/mo`.
const PER: [(&str, &str); 12] = [
    ("mo", "month"),
    ("month", "month"),
    ("yr", "year"),
    ("year", "year"),
    ("wk", "week"),
    ("week", "week"),
    ("day", "day"),
    ("hour", "hour"),
    ("user", "user"),
    ("person", "person"),
    ("night", "night"),
    ("minute", "minute"),
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    if tokens.letters(i).is_some()
        || tokens.is_space(i)
        || tokens.digits(i).is_some() && !tokens.starts_word(i)
    {
        return None;
    }
    feet(tokens, i).or_else(|| measure(tokens, i))
}

fn measure(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let number = quantity(tokens, i)?;
    let hyphen = tokens.is_mark(number.end, '-');
    let at = if hyphen {
        number.end + 1
    } else {
        tokens.past_space(number.end)
    };
    let close = at == number.end;
    let (unit, mut end) = unit(tokens, at)?;
    let (symbol, one, many) = *unit;
    if !close && CLOSE.contains(&symbol)
        || close && NEVER_CLOSE.contains(&symbol)
        || hyphen && symbol.len() < 2
    {
        return None;
    }
    if symbol == "s" && close && is_decade(tokens, i) {
        return None;
    }
    let name = if number.is_one || hyphen { one } else { many };
    let mut found = Found::line(i..number.end, number.say).then(at..end, name);
    if let Some(below) = denominator(tokens, end) {
        found = found.then(end..below.1, format!("per {}", below.0));
        end = below.1;
    }
    let abbreviated = tokens.is_mark(end, '.')
        && tokens.letters(at).is_some()
        && !tokens.is_tail(end)
        && !capital_follows(tokens, end + 1);
    Some(found.until(if abbreviated { end + 1 } else { end }))
}

/// `the 80s` and `1990s` are no seconds.
fn is_decade(tokens: &Tokens<'_>, i: usize) -> bool {
    let digits = tokens.digits(i).unwrap_or_default();
    let lead = tokens
        .word_before(i)
        .is_some_and(|word| matches!(word, "the" | "The" | "early" | "late" | "mid"));
    let apostrophe = i
        .checked_sub(1)
        .is_some_and(|before| tokens.is_mark(before, '\''));
    digits.len() == 4 || digits.len() == 2 && digits.ends_with('0') && (lead || apostrophe)
}

fn capital_follows(tokens: &Tokens<'_>, i: usize) -> bool {
    tokens
        .text(tokens.past_space(i))
        .starts_with(|c: char| c.is_ascii_uppercase())
}

/// The longest unit that begins at `i`, and the token after it.
fn unit(
    tokens: &Tokens<'_>,
    i: usize,
) -> Option<(&'static (&'static str, &'static str, &'static str), usize)> {
    (1..=3).rev().find_map(|length| {
        let text: String = (i..i + length).map(|i| tokens.text(i)).collect();
        let found = find(&text).filter(|_| length == 1 || i + length <= tokens.len())?;
        tokens.ends_word(i + length).then_some((found, i + length))
    })
}

fn find(text: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    UNITS
        .iter()
        .chain(&RARE)
        .find(|(symbol, ..)| *symbol == text)
}

/// `/h` after a unit: what it is divided by, and the token after it.
fn denominator(tokens: &Tokens<'_>, i: usize) -> Option<(&'static str, usize)> {
    if !tokens.is_mark(i, '/') {
        return None;
    }
    unit(tokens, i + 1)
        .map(|(unit, end)| (unit.1, end))
        .or_else(|| per(tokens.letters(i + 1)?).map(|name| (name, i + 2)))
}

/// What a word behind a slash is called after `per`.
pub(super) fn per(word: &str) -> Option<&'static str> {
    PER.iter()
        .find(|(short, _)| *short == word)
        .map(|(_, name)| *name)
        .or_else(|| find(word).map(|unit| unit.1))
}

/// `6'2"`, `6'`, `12"`
fn feet(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let number = tokens.digits(i)?;
    if tokens.is_mark(i + 1, '\'') {
        let foot = |count: &str| if count == "1" { "foot" } else { "feet" };
        let words = format!("{} {}", say::cardinal(number), foot(number));
        return match tokens.digits(i + 2).filter(|inches| inches.len() <= 2) {
            Some(inches) => {
                let end = if tokens.is_mark(i + 3, '"') {
                    i + 4
                } else {
                    i + 3
                };
                let inch = if inches == "1" { "inch" } else { "inches" };
                Some(Found::line(
                    i..end,
                    format!("{words} {} {inch}", say::cardinal(inches)),
                ))
            }
            None if tokens.is_wordy(i + 2) || is_quoted(tokens, i, '\'') => None,
            None => Some(Found::line(i..i + 2, words)),
        };
    }
    let Quantity { say, is_one, end } = quantity(tokens, i)?;
    let inches =
        tokens.is_mark(end, '"') && !tokens.is_wordy(end + 1) && !is_quoted(tokens, i, '"');
    inches.then(|| {
        Found::line(
            i..end + 1,
            format!("{say} {}", if is_one { "inch" } else { "inches" }),
        )
    })
}

/// Whether a quotation mark shortly before `i` is still open.
fn is_quoted(tokens: &Tokens<'_>, i: usize, mark: char) -> bool {
    (i.saturating_sub(64)..i)
        .filter(|i| tokens.is_mark(*i, mark))
        .count()
        % 2
        == 1
}
