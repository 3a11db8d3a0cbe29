//! Why a command failed, and what it exits with.

use std::fmt;
use std::process::ExitCode;

/// A message and an exit code.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// It was tried and did not work.
    pub(super) fn failed(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 1,
        }
    }

    /// The command line or the configuration cannot be used.
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 2,
        }
    }

    /// Weights are not there.
    pub(super) fn missing_weights(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            code: 3,
        }
    }

    pub(super) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Self {
        // The message of missing or damaged weights says what to run.
        let is_load = matches!(error, engine::Error::Load(_));
        if is_load && error.to_string().contains("promenade models install") {
            return Self::missing_weights(error);
        }
        match error.kind() {
            engine::Kind::Invalid | engine::Kind::NotFound => Self::usage(error),
            _ => Self::failed(error),
        }
    }
}

impl From<server::Error> for Failure {
    fn from(error: server::Error) -> Self {
        match error {
            server::Error::Engine(error) => error.into(),
            server::Error::Model(message) => Self::usage(message),
            error => Self::failed(error),
        }
    }
}

impl From<server::config::Error> for Failure {
    fn from(error: server::config::Error) -> Self {
        Self::usage(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
