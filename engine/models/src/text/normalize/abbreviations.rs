//! Abbreviations with a full stop, and a few without: titles, streets, months and weekdays,
//! Latin, states after a comma, initials.

use super::{super::utterance::Pause, Dictionary, found::Found, token::Tokens};

/// When an abbreviation counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// With its full stop.
    Dot,
    /// With or without.
    Any,
    /// With its full stop or without, before a capital.
    Title,
    /// Before a number.
    Number,
    /// With its full stop, after a name or a number.
    AfterName,
    /// Without its full stop only in these letters, behind a name: `Sammy Davis Jr`.
    Suffix,
}

use When::{AfterName, Any, Dot, Number, Suffix, Title};

const TABLE: [(&str, &str, When); 108] = [
    ("mr", "mister", Title),
    ("mrs", "missus", Title),
    ("ms", "miz", Title),
    ("dr", "doctor", Title),
    ("prof", "professor", Title),
    ("gen", "general", Title),
    ("col", "colonel", Title),
    ("maj", "major", Title),
    ("capt", "captain", Title),
    ("lt", "lieutenant", Title),
    ("sgt", "sergeant", Title),
    ("cpl", "corporal", Title),
    ("pvt", "private", Title),
    ("cmdr", "commander", Title),
    ("rev", "reverend", Title),
    ("hon", "honorable", Title),
    ("gov", "governor", Title),
    ("sen", "senator", Title),
    ("rep", "representative", Title),
    ("pres", "president", Title),
    ("supt", "superintendent", Title),
    ("st", "saint", Title),
    ("ste", "saint", Title),
    ("mt", "mount", Title),
    ("ft", "fort", Title),
    ("fr", "father", Title),
    ("mme", "madame", Title),
    ("mlle", "mademoiselle", Title),
    ("messrs", "messers", Title),
    ("dr", "drive", AfterName),
    ("st", "street", AfterName),
    ("ave", "avenue", AfterName),
    ("blvd", "boulevard", Any),
    ("rd", "road", AfterName),
    ("ln", "lane", AfterName),
    ("hwy", "highway", Any),
    ("pkwy", "parkway", Any),
    ("sq", "square", AfterName),
    ("ct", "court", AfterName),
    ("pl", "place", AfterName),
    ("apt", "apartment", Number),
    ("jr", "junior", Suffix),
    ("sr", "senior", Suffix),
    ("esq", "esquire", Suffix),
    ("inc", "incorporated", Suffix),
    ("ltd", "limited", Suffix),
    ("corp", "corporation", Suffix),
    ("co", "company", AfterName),
    ("bros", "brothers", AfterName),
    ("no", "number", Number),
    ("nos", "numbers", Number),
    ("fig", "figure", Number),
    ("figs", "figures", Number),
    ("vol", "volume", Number),
    ("ch", "chapter", Number),
    ("sec", "section", Number),
    ("eq", "equation", Number),
    ("pp", "pages", Number),
    ("p", "page", Number),
    ("pg", "page", Number),
    ("art", "article", Number),
    ("ver", "version", Number),
    ("v", "version", Number),
    ("ext", "extension", Number),
    ("rm", "room", Number),
    ("tel", "telephone", Dot),
    ("ed", "edition", Dot),
    ("est", "established", Number),
    ("approx", "approximately", Any),
    ("appt", "appointment", Any),
    ("dept", "department", Any),
    ("govt", "government", Any),
    ("univ", "university", Dot),
    ("assoc", "association", Dot),
    ("asst", "assistant", Dot),
    ("avg", "average", Any),
    ("max", "maximum", Dot),
    ("min", "minimum", Dot),
    ("temp", "temperature", Dot),
    ("misc", "miscellaneous", Any),
    ("incl", "including", Any),
    ("excl", "excluding", Any),
    ("etc", "et cetera", Any),
    ("vs", "versus", Any),
    ("cf", "compare", Dot),
    ("ca", "circa", Dot),
    ("al", "al", Dot),
    ("viz", "namely", Any),
    ("resp", "respectively", Dot),
    ("ibid", "ibid", Dot),
    ("aka", "also known as", Any),
    ("asap", "as soon as possible", Any),
    ("btw", "by the way", Any),
    ("fyi", "for your information", Any),
    ("tbd", "to be determined", Any),
    ("mon", "monday", Dot),
    ("tue", "tuesday", Dot),
    ("tues", "tuesday", Dot),
    ("wed", "wednesday", Dot),
    ("thu", "thursday", Dot),
    ("thur", "thursday", Dot),
    ("thurs", "thursday", Dot),
    ("fri", "friday", Dot),
    ("sat", "saturday", Dot),
    ("jan", "january", Dot),
    ("feb", "february", Dot),
    ("mar", "march", Dot),
    ("apr", "april", Dot),
];

const MORE: [(&str, &str, When); 14] = [
    ("jun", "june", Dot),
    ("jul", "july", Dot),
    ("aug", "august", Dot),
    ("sept", "september", Dot),
    ("sep", "september", Dot),
    ("oct", "october", Dot),
    ("nov", "november", Dot),
    ("dec", "december", Dot),
    ("lbs", "pounds", Dot),
    ("oz", "ounces", Dot),
    ("hrs", "hours", Any),
    ("mins", "minutes", Any),
    ("yrs", "years", Any),
    ("thx", "thanks", Any),
];

/// Words that are an abbreviation only with a capital: `sat.` ends a sentence, `Sat.` is a day.
const CAPITAL: [&str; 12] = [
    "sat", "mon", "wed", "fri", "jan", "mar", "apr", "jun", "jul", "aug", "sep", "dec",
];

/// Letters with full stops between them that are not spelled.
const DOTTED: [(&str, &str); 10] = [
    ("eg", "for example"),
    ("ie", "that is"),
    ("am", "AM"),
    ("pm", "PM"),
    ("aka", "also known as"),
    ("phd", "PHD"),
    ("msc", "MSC"),
    ("bsc", "BSC"),
    ("ps", "PS"),
    ("cf", "compare"),
];

/// States and the like, after a comma: `Austin, TX`.
const STATES: [(&str, &str); 50] = [
    ("AL", "alabama"),
    ("AK", "alaska"),
    ("AZ", "arizona"),
    ("AR", "arkansas"),
    ("CA", "california"),
    ("CO", "colorado"),
    ("CT", "connecticut"),
    ("DE", "delaware"),
    ("FL", "florida"),
    ("GA", "georgia"),
    ("HI", "hawaii"),
    ("ID", "idaho"),
    ("IL", "illinois"),
    ("IN", "indiana"),
    ("IA", "iowa"),
    ("KS", "kansas"),
    ("KY", "kentucky"),
    ("LA", "louisiana"),
    ("ME", "maine"),
    ("MD", "maryland"),
    ("MA", "massachusetts"),
    ("MI", "michigan"),
    ("MN", "minnesota"),
    ("MS", "mississippi"),
    ("MO", "missouri"),
    ("MT", "montana"),
    ("NE", "nebraska"),
    ("NV", "nevada"),
    ("NH", "new hampshire"),
    ("NJ", "new jersey"),
    ("NM", "new mexico"),
    ("NY", "new york"),
    ("NC", "north carolina"),
    ("ND", "north dakota"),
    ("OH", "ohio"),
    ("OK", "oklahoma"),
    ("OR", "oregon"),
    ("PA", "pennsylvania"),
    ("RI", "rhode island"),
    ("SC", "south carolina"),
    ("SD", "south dakota"),
    ("TN", "tennessee"),
    ("TX", "texas"),
    ("UT", "utah"),
    ("VT", "vermont"),
    ("VA", "virginia"),
    ("WA", "washington"),
    ("WV", "west virginia"),
    ("WI", "wisconsin"),
    ("WY", "wyoming"),
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, _: &dyn Dictionary) -> Option<Found> {
    let word = tokens.letters(i)?;
    if !tokens.starts_word(i) {
        return None;
    }
    slashed(tokens, i, word)
        .or_else(|| dotted(tokens, i, word))
        .or_else(|| state(tokens, i, word))
        .or_else(|| listed(tokens, i, word))
        .or_else(|| initial(tokens, i, word))
}

/// `w/`, `w/o`, `c/o`, `n/a`
fn slashed(tokens: &Tokens<'_>, i: usize, word: &str) -> Option<Found> {
    if !tokens.is_mark(i + 1, '/') {
        return None;
    }
    let next = tokens.letters(i + 2).map(str::to_ascii_lowercase);
    let (line, end) = match (word.to_ascii_lowercase().as_str(), next.as_deref()) {
        ("w", Some("o")) => ("without", i + 3),
        ("w", None) => ("with", i + 2),
        ("w", Some(_)) => ("with", i + 2),
        ("c", Some("o")) => ("care of", i + 3),
        ("b", Some("c")) => ("because", i + 3),
        ("n", Some("a")) => ("not applicable", i + 3),
        ("and", Some("or")) => ("and or", i + 3),
        ("he", Some("she")) => ("he or she", i + 3),
        ("his", Some("her")) => ("his or her", i + 3),
        _ => return None,
    };
    Some(Found::line(i..end, line))
}

/// `U.S.A.`, `e.g.`, `Ph.D.`: letters, each with its full stop.
fn dotted(tokens: &Tokens<'_>, i: usize, word: &str) -> Option<Found> {
    let mut letters = word.to_owned();
    let mut end = i + 1;
    while end < i + 16 && tokens.is_mark(end, '.') {
        let Some(next) = tokens.letters(end + 1).filter(|next| next.len() <= 2) else {
            break;
        };
        letters.push_str(next);
        end += 2;
    }
    let count = (end - i).div_ceil(2);
    if count < 2 || word.len() > 2 || letters.len() > count + 1 {
        return None;
    }
    let closed = tokens.is_mark(end, '.');
    let small = letters.to_ascii_lowercase();
    let known = DOTTED
        .iter()
        .find(|(dotted, _)| *dotted == small)
        .map(|(_, line)| *line);
    let capitals = letters.chars().all(|c| c.is_ascii_uppercase());
    if known.is_none() && !(capitals || closed && letters.len() == count) || tokens.is_wordy(end) {
        return None;
    }
    let line = known.map_or_else(|| letters.to_ascii_uppercase(), str::to_owned);
    let end = if closed { end + 1 } else { end };
    let comma = tokens.is_mark(end, ',') && matches!(small.as_str(), "eg" | "ie");
    let found = Found::line(i..end, line);
    Some(if comma { found.until(end + 1) } else { found })
}

/// `Austin, TX`
fn state(tokens: &Tokens<'_>, i: usize, word: &str) -> Option<Found> {
    let (_, name) = STATES.iter().find(|(code, _)| *code == word)?;
    let comma = i
        .checked_sub(2)
        .is_some_and(|comma| tokens.is_space(comma + 1) && tokens.is_mark(comma, ','));
    let place = i.checked_sub(3).and_then(|place| tokens.letters(place));
    let capital = place.is_some_and(|place| place.starts_with(|c: char| c.is_ascii_uppercase()));
    (comma && capital && !tokens.is_wordy(i + 1)).then(|| Found::line(i..i + 1, *name))
}

fn listed(tokens: &Tokens<'_>, i: usize, word: &str) -> Option<Found> {
    let small = word.to_ascii_lowercase();
    let dot = tokens.is_mark(i + 1, '.');
    let end = if dot { i + 2 } else { i + 1 };
    let hit = |entry: &&(&'static str, &'static str, When)| {
        entry.0 == small && counts(tokens, i, entry.2, dot, word)
    };
    let (_, line, when) = TABLE.iter().chain(&MORE).find(hit)?;
    let found = Found::line(i..end, *line);
    let opens = dot && !matches!(when, Title | Number) && starts_sentence(tokens, end);
    Some(if opens {
        found.then_pause(Pause::Stop)
    } else {
        found
    })
}

fn counts(tokens: &Tokens<'_>, i: usize, when: When, dot: bool, word: &str) -> bool {
    let end = if dot { i + 2 } else { i + 1 };
    let next = tokens.past_space(end);
    let capital = word.starts_with(|c: char| c.is_ascii_uppercase());
    let before = i
        .checked_sub(1)
        .filter(|before| tokens.is_space(*before))
        .and_then(|_| tokens.word_before(i));
    let after_name =
        before.is_some_and(|before| before.starts_with(|c: char| c.is_ascii_uppercase()));
    if tokens.is_wordy(end) || tokens.is_mark(end, '-') || tokens.is_mark(end, '\'') {
        return when == Number && tokens.digits(end).is_some() && (dot || word == "v");
    }
    match when {
        Any => dot || !capital || word.len() > 3,
        Dot => dot && (capital || !CAPITAL.contains(&word)),
        Title => {
            let name = tokens
                .letters(next)
                .is_some_and(|next| next.starts_with(|c: char| c.is_ascii_uppercase()));
            let street = matches!(word, "St" | "Dr")
                && after_name
                && !matches!(before, Some("The" | "In" | "At" | "And"));
            let pair = dot && matches!(tokens.letters(next), Some("and" | "or"));
            capital && (name || pair) && next > end && !street
        }
        Number => {
            let number = tokens.is_mark(next, '#') || tokens.digits(next).is_some();
            number && (dot || matches!(word, "No" | "Fig" | "Vol" | "Apt" | "Ext"))
        }
        AfterName => {
            let rank = i >= 3 && tokens.digits(i - 3).is_some() && tokens.letters(i - 2).is_some();
            let after_number = rank || i >= 2 && tokens.digits(i - 2).is_some();
            dot && capital && (after_name || after_number)
                || capital && after_name && !word.ends_with('o') && tokens.is_mark(end, ',')
        }
        Suffix => capital && (dot || after_name || i >= 2 && tokens.is_mark(i - 2, ',')),
    }
}

fn starts_sentence(tokens: &Tokens<'_>, end: usize) -> bool {
    let next = tokens.letters(tokens.past_space(end));
    tokens.is_space(end)
        && next.is_some_and(|next| {
            next.len() > 1
                && next.starts_with(|c: char| c.is_ascii_uppercase())
                && matches!(
                    next,
                    "The"
                        | "This"
                        | "It"
                        | "He"
                        | "She"
                        | "We"
                        | "They"
                        | "But"
                        | "In"
                        | "And"
                        | "That"
                        | "There"
                        | "You"
                        | "If"
                        | "When"
                        | "What"
                        | "How"
                )
        })
}

/// `J. K. Rowling`: an initial does not end the sentence.
fn initial(tokens: &Tokens<'_>, i: usize, word: &str) -> Option<Found> {
    let single =
        word.len() == 1 && word.as_bytes()[0].is_ascii_uppercase() && tokens.is_mark(i + 1, '.');
    let next = tokens.letters(tokens.past_space(i + 2));
    let named = next.is_some_and(|next| {
        next.starts_with(|c: char| c.is_ascii_uppercase())
            && !matches!(next, "The" | "It" | "He" | "She" | "We")
    });
    let pronoun = word == "I" && next.is_none_or(|next| next.len() != 1);
    (single && named && !pronoun).then(|| Found::line(i..i + 2, word))
}
