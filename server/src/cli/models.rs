//! `promenade models`: which weights there are, and installing them.

use std::process::ExitCode;

use super::Failure;

#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: Args) -> Result<ExitCode, Failure> {
    Err(Failure::failed("weights cannot be installed by this build"))
}
