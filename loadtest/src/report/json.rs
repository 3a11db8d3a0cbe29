//! The report for programs. `README.md` of this crate says what each field means.

use anyhow::Result;

use super::Report;

/// The report as JSON, with a line break at its end.
///
/// # Errors
/// When a figure is not finite; the formulas give none such.
pub fn json(report: &Report) -> Result<String> {
    Ok(serde_json::to_string_pretty(report)? + "\n")
}
