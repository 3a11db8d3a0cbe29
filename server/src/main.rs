//! The command line of Promenade: the only place that prints.
//!
//! | exit code | means |
//! |---|---|
//! | 0 | done |
//! | 1 | it failed; the message says why |
//! | 2 | the command line or the configuration is wrong |
//! | 3 | weights are missing; the message says how to install them |
//! | 130 | interrupted |

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
