//! The date that a template writes: days by the Gregorian calendar, in UTC.

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// 1 January 1970 was a Thursday.
const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];

/// A moment, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    year: u64,
    /// From 0.
    month: usize,
    /// From 1.
    day: u64,
    day_name: &'static str,
    second_of_day: u64,
}

impl Date {
    /// The date of a moment in seconds since 1970.
    pub(super) fn of(seconds: u64) -> Self {
        let mut day = seconds / 86_400;
        let week = usize::try_from(day % 7).unwrap_or(0);
        let mut year = 1_970;
        // A loop of years is short for as long as anybody lives; beyond, the year stands still.
        while day >= days_of(year) && year < 9_999 {
            day -= days_of(year);
            year += 1;
        }
        let mut month = 0;
        while month < 11 && day >= days_of_month(year, month) {
            day -= days_of_month(year, month);
            month += 1;
        }
        Self {
            year,
            month,
            day: day + 1,
            day_name: DAYS.get(week).copied().unwrap_or_default(),
            second_of_day: seconds % 86_400,
        }
    }

    /// As C's `strftime` writes it, with the letters that templates use.
    pub(super) fn format(&self, format: &str) -> Result<String, String> {
        let month_name = MONTHS.get(self.month).copied().unwrap_or_default();
        let (month, second) = (self.month + 1, self.second_of_day);
        let mut written = String::new();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                written.push(letter);
                continue;
            }
            written.push_str(&match letters.next() {
                Some('Y') => self.year.to_string(),
                Some('y') => format!("{:02}", self.year % 100),
                Some('m') => format!("{month:02}"),
                Some('B') => month_name.to_owned(),
                Some('b' | 'h') => month_name.chars().take(3).collect(),
                Some('d') => format!("{:02}", self.day),
                Some('e') => format!("{:2}", self.day),
                Some('A') => self.day_name.to_owned(),
                Some('a') => self.day_name.chars().take(3).collect(),
                Some('H') => format!("{:02}", second / 3_600),
                Some('M') => format!("{:02}", second / 60 % 60),
                Some('S') => format!("{:02}", second % 60),
                Some('F') => format!("{}-{month:02}-{:02}", self.year, self.day),
                Some('%') => "%".to_owned(),
                other => {
                    let letter = other.map(String::from).unwrap_or_default();
                    return Err(format!("strftime_now does not know `%{letter}`"));
                }
            });
        }
        Ok(written)
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64) -> u64 {
    365 + u64::from(is_leap(year))
}

fn days_of_month(year: u64, month: usize) -> u64 {
    match month {
        1 => 28 + u64::from(is_leap(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let check = |seconds: u64, expected: &str| {
            let date = Date::of(seconds);
            assert_eq!(
                date.format("%a %A %d %e %b %B %Y %y %F %H:%M:%S %%")
                    .unwrap(),
                expected
            );
        };
        check(
            0,
            "Thu Thursday 01  1 Jan January 1970 70 1970-01-01 00:00:00 %",
        );
        check(
            951_782_400,
            "Tue Tuesday 29 29 Feb February 2000 00 2000-02-29 00:00:00 %",
        );
        check(
            1_796_130_061,
            "Tue Tuesday 01  1 Dec December 2026 26 2026-12-01 13:01:01 %",
        );
        check(
            4_107_542_399,
            "Sun Sunday 28 28 Feb February 2100 00 2100-02-28 23:59:59 %",
        );
    }

    #[test]
    fn an_unknown_letter_is_named() {
        assert_eq!(
            Date::of(0).format("%Q").unwrap_err(),
            "strftime_now does not know `%Q`"
        );
    }
}
