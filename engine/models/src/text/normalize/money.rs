//! Money: `$3.50`, `€5bn`, `EUR 1.2M`, `500 USD`, `£20–30`, `99¢`.

use super::{
    Dictionary,
    figure::{Figure, figure, range_end},
    found::Found,
    say,
    token::Tokens,
    units,
};

struct Currency {
    sign: &'static str,
    code: &'static str,
    one: &'static str,
    many: &'static str,
    /// A hundredth, one and many; empty where there is none.
    cent: [&'static str; 2],
}

const fn currency(
    sign: &'static str,
    code: &'static str,
    one: &'static str,
    many: &'static str,
    cent: [&'static str; 2],
) -> Currency {
    Currency {
        sign,
        code,
        one,
        many,
        cent,
    }
}

const CENTS: [&str; 2] = ["cent", "cents"];
const CURRENCIES: [Currency; 22] = [
    currency("$", "USD", "dollar", "dollars", CENTS),
    currency("€", "EUR", "euro", "euros", CENTS),
    currency("£", "GBP", "pound", "pounds", ["penny", "pence"]),
    currency("¥", "JPY", "yen", "yen", ["", ""]),
    currency("₹", "INR", "rupee", "rupees", ["paisa", "paise"]),
    currency("₽", "RUB", "ruble", "rubles", ["kopeck", "kopecks"]),
    currency("₩", "KRW", "won", "won", ["", ""]),
    currency("₿", "BTC", "bitcoin", "bitcoin", ["", ""]),
    currency("₺", "TRY", "lira", "lira", ["", ""]),
    currency("₪", "ILS", "shekel", "shekels", ["", ""]),
    currency("₫", "VND", "dong", "dong", ["", ""]),
    currency("₴", "UAH", "hryvnia", "hryvnia", ["", ""]),
    currency(
        "",
        "CHF",
        "swiss franc",
        "swiss francs",
        ["centime", "centimes"],
    ),
    currency("", "CNY", "yuan", "yuan", ["", ""]),
    currency("", "SEK", "swedish krona", "swedish kronor", ["", ""]),
    currency("", "NOK", "norwegian krone", "norwegian kroner", ["", ""]),
    currency("", "DKK", "danish krone", "danish kroner", ["", ""]),
    currency("", "PLN", "zloty", "zlotys", ["", ""]),
    currency("", "CAD", "canadian dollar", "canadian dollars", CENTS),
    currency("", "AUD", "australian dollar", "australian dollars", CENTS),
    currency("", "MXN", "mexican peso", "mexican pesos", ["", ""]),
    currency("", "BRL", "brazilian real", "brazilian reals", ["", ""]),
];

/// What stands right before a dollar sign.
const DOLLARS: [(&str, &str); 8] = [
    ("US", "US dollars"),
    ("C", "canadian dollars"),
    ("CA", "canadian dollars"),
    ("A", "australian dollars"),
    ("AU", "australian dollars"),
    ("NZ", "new zealand dollars"),
    ("HK", "hong kong dollars"),
    ("S", "singapore dollars"),
];

/// Letters after an amount that multiply it.
const SCALES: [(&str, &str); 15] = [
    ("k", "thousand"),
    ("K", "thousand"),
    ("m", "million"),
    ("M", "million"),
    ("mn", "million"),
    ("mln", "million"),
    ("mm", "million"),
    ("MM", "million"),
    ("b", "billion"),
    ("B", "billion"),
    ("bn", "billion"),
    ("Bn", "billion"),
    ("t", "trillion"),
    ("T", "trillion"),
    ("tn", "trillion"),
];
const SCALE_WORDS: [&str; 6] = [
    "hundred",
    "thousand",
    "million",
    "billion",
    "trillion",
    "quadrillion",
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    if !tokens.starts_word(i) {
        return None;
    }
    dollars(tokens, i)
        .or_else(|| sign_first(tokens, i))
        .or_else(|| code_first(tokens, i))
        .or_else(|| amount_first(tokens, i))
}

fn by_sign(mark: Option<char>) -> Option<&'static Currency> {
    let mark = mark?;
    CURRENCIES
        .iter()
        .find(|currency| currency.sign.starts_with(mark))
}

fn by_code(word: &str) -> Option<&'static Currency> {
    CURRENCIES.iter().find(|currency| currency.code == word)
}

/// `US$5`
fn dollars(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let before = tokens.letters(i)?;
    let (_, many) = DOLLARS.iter().find(|(prefix, _)| *prefix == before)?;
    let number = figure(tokens, i + 2).filter(|_| tokens.is_mark(i + 1, '$'))?;
    let (scale, end) = scale(tokens, number.end);
    Some(Found::line(
        i..end,
        format!("{}{scale} {many}", number.say()),
    ))
}

/// `$3.50`, `-€5`, `£20–30 million`
fn sign_first(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let (minus, at) = if matches!(tokens.mark(i), Some('-' | '–')) {
        ("minus ", i + 1)
    } else {
        ("", i)
    };
    let currency = by_sign(tokens.mark(at))?;
    let start = tokens.past_space(at + 1);
    let (minus, start) = if tokens.is_mark(start, '-') {
        ("minus ", start + 1)
    } else {
        (minus, start)
    };
    let (words, end) = amount(tokens, start, currency)?;
    let (per, end) = per(tokens, end);
    Some(Found::line(i..end, format!("{minus}{words}{per}")))
}

/// `EUR 1.2M`
fn code_first(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let currency = by_code(tokens.letters(i)?)?;
    let start = tokens.past_space(i + 1);
    let (words, end) = amount(tokens, start, currency)?;
    Some(Found::line(i..end, words))
}

/// `500 USD`, `5 €`, `99¢`, `1.2M EUR`
fn amount_first(tokens: &Tokens<'_>, i: usize) -> Option<Found> {
    let number = figure(tokens, i)?;
    let (scale, end) = scale(tokens, number.end);
    let at = tokens.past_space(end);
    let number_words = number.say();
    if tokens.is_mark(end, '¢') {
        let name = if number.is_one() { "cent" } else { "cents" };
        return Some(Found::line(i..end + 1, format!("{number_words} {name}")));
    }
    let currency = match tokens.letters(at) {
        Some(word) => by_code(word)?,
        None => by_sign(tokens.mark(at)).filter(|_| figure(tokens, at + 1).is_none())?,
    };
    Some(Found::line(i..at + 1, price(&number, &scale, currency)))
}

/// A figure, or two, with what multiplies it, in a currency; and the token after it.
fn amount(tokens: &Tokens<'_>, i: usize, currency: &Currency) -> Option<(String, usize)> {
    let first = figure(tokens, i)?;
    let dash = matches!(tokens.mark(first.end), Some('-' | '–'));
    let second = if dash && by_sign(tokens.mark(first.end + 1)).is_some() {
        figure(tokens, first.end + 2)
    } else {
        range_end(tokens, first.end)
    };
    if let Some(second) = second {
        let (scale, end) = scale(tokens, second.end);
        return Some((
            format!(
                "{} to {}{scale} {}",
                first.say(),
                second.say(),
                currency.many
            ),
            end,
        ));
    }
    let (scale, end) = scale(tokens, first.end);
    Some((price(&first, &scale, currency), end))
}

/// `three dollars and fifty cents`
fn price(number: &Figure<'_>, scale: &str, currency: &Currency) -> String {
    let name = if number.is_one() && scale.is_empty() {
        currency.one
    } else {
        currency.many
    };
    let cents = match number.fraction {
        _ if !scale.is_empty() || currency.cent[0].is_empty() => None,
        "00" => Some(0),
        fraction if fraction.len() == 2 => fraction.parse::<u32>().ok(),
        fraction if fraction.len() == 1 => fraction.parse::<u32>().ok().map(|tenths| tenths * 10),
        _ => None,
    };
    let Some(cents) = cents else {
        return format!("{}{scale} {name}", number.say());
    };
    let is_none = number.whole.trim_start_matches('0').is_empty();
    let whole = format!(
        "{} {}",
        say::cardinal(&number.whole),
        if number.whole == "1" {
            currency.one
        } else {
            currency.many
        }
    );
    let part = format!(
        "{} {}",
        say::cardinal(&cents.to_string()),
        currency.cent[usize::from(cents != 1)]
    );
    match cents {
        0 => whole,
        _ if is_none => part,
        _ => format!("{whole} and {part}"),
    }
}

/// ` million` after an amount, and the token after it.
fn scale(tokens: &Tokens<'_>, i: usize) -> (String, usize) {
    if let Some((_, name)) = tokens
        .letters(i)
        .and_then(|word| SCALES.iter().find(|(letters, _)| *letters == word))
    {
        return (format!(" {name}"), i + 1);
    }
    let at = tokens.past_space(i);
    match tokens
        .letters(at)
        .filter(|word| at > i && SCALE_WORDS.contains(word))
    {
        Some(word) => (format!(" {word}"), at + 1),
        None => (String::new(), i),
    }
}

/// ` per month` after a price.
fn per(tokens: &Tokens<'_>, i: usize) -> (String, usize) {
    let name = tokens
        .letters(i + 1)
        .filter(|_| tokens.is_mark(i, '/'))
        .and_then(units::per);
    name.map_or((String::new(), i), |name| (format!(" per {name}"), i + 2))
}
