//! Characters by what they do to a sentence.

pub(super) fn is_ender(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '‽')
}

pub(super) fn is_clause(c: char) -> bool {
    matches!(c, ',' | ';' | ':')
}

/// Sentence marks of scripts that put no space behind them.
pub(super) fn is_wide_ender(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡' | '।' | '۔' | '؟')
}

pub(super) fn is_wide_clause(c: char) -> bool {
    matches!(c, '，' | '、' | '；' | '：')
}

/// Marks that close what was opened before them, those of Markdown included.
pub(super) fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | ')'
            | ']'
            | '}'
            | '」'
            | '』'
            | '）'
            | '】'
            | '*'
            | '_'
    )
}

pub(super) fn is_opener(c: char) -> bool {
    matches!(c, '"' | '“' | '‘' | '«' | '(' | '[')
}

/// Ends a line. A carriage return does not: it stands before a line feed.
pub(super) fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\u{2028}' | '\u{2029}')
}

/// Punctuation that says nothing alone.
pub(super) fn is_mark(c: char) -> bool {
    c.is_ascii_punctuation()
        || is_ender(c)
        || is_wide_ender(c)
        || is_wide_clause(c)
        || is_closer(c)
        || is_opener(c)
        || matches!(c, '—' | '–')
}

/// Characters that belong to the one before them.
pub(super) fn joins(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036F}' | '\u{200D}' | '\u{20D0}'..='\u{20FF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}')
}
