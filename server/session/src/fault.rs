//! What was wrong with a request, in the words and codes of the wire.
//!
//! A fault is a value, not an exception of the program: the doors render it (HTTP as an error
//! body with a status, a WebSocket as an `error` event). `message` names what was wrong and what
//! is accepted; `code` is stable and meant for programs.

use std::borrow::Cow;

/// Whose doing a [`Fault`] was; a door turns it into a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The request is malformed, or a value is not accepted. Changing it helps.
    Invalid,
    /// The thing that was named does not exist here.
    NotFound,
    /// The caller did not prove who they are.
    Unauthorized,
    /// The caller's origin or key may not do this.
    Forbidden,
    /// The request is larger than a stated limit.
    TooLarge,
    /// The body is of a kind that this door does not read.
    MediaType,
    /// The path exists, the method does not.
    Method,
    /// The caller took longer than a stated limit to send the request.
    Slow,
    /// This caller's own limit is reached; waiting helps.
    RateLimited,
    /// The server is full, loading or closing; waiting helps.
    Unavailable,
    /// The request was sound and its work was given up.
    Cancelled,
    /// The fault is on this side.
    Internal,
}

/// One thing that was wrong with a request. See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Whose doing it was.
    pub kind: Kind,
    /// What was wrong and what is accepted, for people.
    pub message: String,
    /// The field that was wrong, when it was one.
    pub param: Option<Cow<'static, str>>,
    /// A stable name for programs.
    pub code: &'static str,
    /// Seconds after which it is worth trying again, where that is known.
    pub retry_after: Option<u64>,
}

impl Fault {
    /// A fault of the request as a whole.
    #[must_use]
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            code,
            retry_after: None,
        }
    }

    /// An unacceptable value of one field.
    #[must_use]
    pub fn field(
        param: impl Into<Cow<'static, str>>,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind: Kind::Invalid,
            message: message.into(),
            param: Some(param.into()),
            code,
            retry_after: None,
        }
    }

    /// A required field that is not there.
    #[must_use]
    pub fn missing(param: impl Into<Cow<'static, str>>) -> Self {
        let param = param.into();
        Self::field(
            param.clone(),
            "missing_required_parameter",
            format!("Missing required parameter: '{param}'."),
        )
    }

    /// Says of which kind the fault is.
    #[must_use]
    pub fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Says when it is worth trying again.
    #[must_use]
    pub fn retry_after(mut self, seconds: Option<u64>) -> Self {
        self.retry_after = seconds;
        self
    }

    /// The `type` that the wire gives to this fault.
    #[must_use]
    pub fn wire_type(&self) -> &'static str {
        match self.kind {
            Kind::Invalid
            | Kind::NotFound
            | Kind::TooLarge
            | Kind::MediaType
            | Kind::Method
            | Kind::Slow => "invalid_request_error",
            Kind::Unauthorized => "authentication_error",
            Kind::Forbidden => "permission_error",
            Kind::RateLimited => "rate_limit_error",
            Kind::Unavailable => "overloaded_error",
            Kind::Cancelled => "request_cancelled",
            Kind::Internal => "server_error",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
