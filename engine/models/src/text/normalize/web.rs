//! Addresses: web, mail, files, handles and tags, read as they are dictated.
//!
//! The scheme (`https://`) is not read, nor is what follows `?` or `#` in a web address: nobody
//! can take it down by ear.

use super::{
    Dictionary,
    found::Found,
    say,
    token::{Kind, Tokens},
    words,
};

/// The most tokens of one address; the rest is read as ordinary text.
const LIMIT: usize = 256;

/// Ends of host names that make a word with dots an address.
const DOMAINS: [&str; 48] = [
    "com", "org", "net", "edu", "gov", "mil", "int", "io", "ai", "co", "dev", "app", "info", "biz",
    "xyz", "me", "tv", "uk", "us", "ca", "de", "fr", "es", "it", "nl", "ch", "at", "be", "se",
    "no", "dk", "fi", "pl", "cz", "eu", "ru", "jp", "cn", "in", "au", "nz", "br", "mx", "za", "ly",
    "gg", "sh", "cloud",
];
/// Ends of file names that make a word with a dot a file.
const FILES: [&str; 52] = [
    "txt", "md", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "csv", "json", "yaml", "yml",
    "toml", "xml", "html", "htm", "css", "js", "ts", "jsx", "tsx", "py", "rs", "go", "c", "h",
    "cpp", "hpp", "java", "rb", "php", "sh", "exe", "dll", "zip", "tar", "gz", "png", "jpg",
    "jpeg", "gif", "svg", "mp3", "mp4", "wav", "flac", "ogg", "log", "ini", "cfg", "lock",
];

pub(super) fn read(tokens: &Tokens<'_>, i: usize, dictionary: &dyn Dictionary) -> Option<Found> {
    let opens = i.checked_sub(1).is_none_or(|before| {
        tokens.is_space(before)
            || matches!(
                tokens.mark(before),
                Some('(' | '"' | '\'' | '[' | '<' | ',' | ':' | '—')
            )
    });
    if !opens {
        return None;
    }
    match tokens.mark(i) {
        Some('@') => return handle(tokens, i, "at", dictionary),
        Some('#') => return handle(tokens, i, "hashtag", dictionary),
        Some('/' | '~' | '.') => return path(tokens, i, dictionary),
        Some(_) => return None,
        None if !tokens.is_wordy(i) => return None,
        None => {}
    }
    let end = end_of(tokens, i);
    let (start, end) = body(tokens, i, end)?;
    Some(spoken(tokens, i, start, end, dictionary))
}

/// The end of the run without spaces that begins at `i`, without closing punctuation.
fn end_of(tokens: &Tokens<'_>, i: usize) -> usize {
    let stops = |i: usize| {
        tokens.is_space(i)
            || matches!(
                tokens.mark(i),
                Some('(' | ')' | '"' | '<' | '>' | '[' | ']' | '—' | '…' | ',')
            )
    };
    let mut end = (i..(i + LIMIT).min(tokens.len()))
        .find(|i| stops(*i))
        .unwrap_or((i + LIMIT).min(tokens.len()));
    while end > i + 1
        && matches!(
            tokens.mark(end - 1),
            Some('.' | ',' | ';' | ':' | '!' | '?' | '\'')
        )
    {
        end -= 1;
    }
    end
}

/// Which part of `i..end` is read, when it is an address at all.
fn body(tokens: &Tokens<'_>, i: usize, end: usize) -> Option<(usize, usize)> {
    let scheme = tokens.letters(i).is_some_and(|word| {
        matches!(
            word.to_ascii_lowercase().as_str(),
            "http" | "https" | "ftp" | "file" | "ws" | "wss"
        )
    }) && tokens.is_mark(i + 1, ':')
        && tokens.is_mark(i + 2, '/')
        && tokens.is_mark(i + 3, '/');
    if scheme && i + 4 < end {
        return Some((i + 4, end));
    }
    let drive = tokens.letters(i).is_some_and(|word| word.len() == 1)
        && tokens.is_mark(i + 1, ':')
        && tokens.is_mark(i + 2, '\\');
    if drive {
        return Some((i, end));
    }
    let at = (i + 1..end).find(|i| tokens.is_mark(*i, '@'));
    if at.is_some_and(|at| tokens.is_wordy(at + 1) && (at + 1..end).any(|i| tokens.is_mark(i, '.')))
    {
        return Some((i, end));
    }
    let host_end = (i..end)
        .find(|i| !tokens.is_wordy(*i) && !matches!(tokens.mark(*i), Some('.' | '-' | '_')))
        .unwrap_or(end);
    let last = tokens.text(host_end.checked_sub(1)?);
    let dotted = host_end >= i + 3 && tokens.is_mark(host_end - 2, '.');
    let host = dotted
        && last.chars().all(|c| c.is_ascii_lowercase())
        && DOMAINS.contains(&last)
        && !tokens
            .digits(host_end - 3)
            .is_some_and(|digits| host_end - 3 == i && digits.len() < 3);
    let www = tokens.text(i) == "www" && tokens.is_mark(i + 1, '.');
    let ending = tokens.text(end - 1);
    let listed = FILES.contains(&ending)
        || ending.len() > 1 && FILES.contains(&ending.to_ascii_lowercase().as_str());
    let file = end >= i + 3 && tokens.is_mark(end - 2, '.') && listed && tokens.is_wordy(end - 3);
    (host || www || file).then_some((i, end))
}

fn spoken(
    tokens: &Tokens<'_>,
    first: usize,
    start: usize,
    end: usize,
    dictionary: &dyn Dictionary,
) -> Found {
    let mail = (start..end).any(|i| tokens.is_mark(i, '@'));
    let web = start > first || !mail;
    let cut = (start..end)
        .find(|i| web && matches!(tokens.mark(*i), Some('?' | '#')))
        .unwrap_or(end);
    let cut = if cut > start + 1 && tokens.is_mark(cut - 1, '/') {
        cut - 1
    } else {
        cut
    };
    let mut found = Found::silent(end);
    for i in start..cut {
        found = piece(tokens, found, i, start, cut, dictionary);
    }
    found.until(end)
}

/// One token of an address.
fn piece(
    tokens: &Tokens<'_>,
    found: Found,
    i: usize,
    start: usize,
    end: usize,
    dictionary: &dyn Dictionary,
) -> Found {
    let Some(token) = tokens.get(i) else {
        return found;
    };
    match token.kind {
        Kind::Letters => {
            let after_dot = i > start && tokens.is_mark(i - 1, '.');
            let (word, how) = label(token.text, after_dot, dictionary);
            if how {
                found.then(i..i + 1, word)
            } else {
                words::pieces(&word, dictionary)
                    .into_iter()
                    .fold(found, |found, (word, how)| {
                        found.then_word(i..i + 1, word, how)
                    })
            }
        }
        Kind::Digits => found.then(i..i + 1, say::label(token.text)),
        Kind::Mark('/') if i + 1 == end => found,
        Kind::Mark(mark) => match sign(mark) {
            Some(line) => found.then(i..i + 1, line),
            None => found,
        },
        Kind::Space => found,
    }
}

/// A label of a host or file name; `true` when it is a line of the rules' own.
fn label(text: &str, after_dot: bool, dictionary: &dyn Dictionary) -> (String, bool) {
    let small = text.to_ascii_lowercase();
    match small.as_str() {
        "www" => ("WWW".to_owned(), true),
        "com" | "org" | "net" | "gov" | "dev" | "app" | "info" | "biz" | "co" | "me" | "cloud"
        | "log" | "zip" | "lock" | "go"
            if after_dot =>
        {
            (small, true)
        }
        "json" => ("jason".to_owned(), true),
        "yaml" => ("yamel".to_owned(), true),
        "toml" => ("tomel".to_owned(), true),
        "jpeg" | "jpg" => ("jaypeg".to_owned(), true),
        _ if after_dot
            && (DOMAINS.contains(&small.as_str()) || FILES.contains(&small.as_str()))
            && !(small.len() > 2 && dictionary.knows(&small)) =>
        {
            (small.to_ascii_uppercase(), true)
        }
        _ if small.len() == 1 => (small.to_ascii_uppercase(), true),
        _ => (text.to_owned(), false),
    }
}

fn sign(mark: char) -> Option<&'static str> {
    Some(match mark {
        '.' => "dot",
        '/' => "slash",
        '\\' => "backslash",
        '-' => "dash",
        '_' => "underscore",
        '@' => "at",
        ':' => "colon",
        '~' => "tilde",
        '+' => "plus",
        '=' => "equals",
        '&' => "and",
        '?' => "question mark",
        '#' => "hash",
        '%' => "percent",
        _ => return None,
    })
}

/// `@name`, `#tag`
fn handle(tokens: &Tokens<'_>, i: usize, lead: &str, dictionary: &dyn Dictionary) -> Option<Found> {
    tokens.letters(i + 1)?;
    let joins = |i: usize| tokens.is_wordy(i) || tokens.is_mark(i, '_') && tokens.is_wordy(i + 1);
    let end = (i + 1..i + 32)
        .find(|i| !joins(*i))
        .unwrap_or(i + 32)
        .min(tokens.len());
    let mut found = Found::line(i..i + 1, lead);
    for at in i + 1..end {
        found = piece(tokens, found, at, i + 1, end, dictionary);
    }
    Some(found.until(end))
}

/// `/etc/hosts`, `~/notes.txt`, `./run.sh`
fn path(tokens: &Tokens<'_>, i: usize, dictionary: &dyn Dictionary) -> Option<Found> {
    let leads = match tokens.mark(i) {
        Some('/') => tokens.letters(i + 1).is_some(),
        Some('~') => tokens.is_mark(i + 1, '/'),
        _ => tokens.is_mark(i + 1, '/') || tokens.is_mark(i + 1, '.') && tokens.is_mark(i + 2, '/'),
    };
    if !leads {
        return None;
    }
    let end = end_of(tokens, i);
    Some(spoken(tokens, i, i, end, dictionary))
}
