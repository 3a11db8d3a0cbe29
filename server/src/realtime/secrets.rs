//! `POST /v1/realtime/client_secrets`: keys for browsers, which live for minutes and open sessions
//! that the one who made them has described.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use session::realtime::{Session, Transport};
use session::{Fault, Fields, Kind};
use tokio::time::Instant;

use super::{begin, random_id};
use crate::app::{App, seconds_since_1970};
use crate::auth::{Caller, Grant};
use crate::config::seconds;
use crate::http::{Failure, body};

/// What every secret begins with, as in the public API.
const PREFIX: &str = "ek_";
/// How long a secret lives where its maker does not say, and what may be said, in seconds.
const LIFE: u64 = 600;
const LIVES: (u64, u64) = (10, 7_200);
/// Secrets that may be alive.
const MOST: usize = 10_000;
/// Bytes of a body: a session's instructions and tools are the most of it.
const LARGEST: usize = 2 * 1024 * 1024;

/// All secrets that are alive.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Mutex<HashMap<String, Kept>>);

#[derive(Debug)]
struct Kept {
    until: Instant,
    grant: Arc<Grant>,
}

impl Secrets {
    /// Whether a key is a secret's, alive or not.
    pub(crate) fn is_one(key: &str) -> bool {
        key.starts_with(PREFIX)
    }

    /// What a secret stands for.
    ///
    /// # Errors
    /// It is none, or not any more.
    pub(crate) fn find(&self, secret: &str, now: Instant) -> Result<Arc<Grant>, Fault> {
        let kept = self.0.lock();
        let found = kept.get(secret).filter(|kept| kept.until > now);
        found.map(|kept| Arc::clone(&kept.grant)).ok_or_else(|| {
            Fault::new(
                Kind::Unauthorized,
                "invalid_client_secret",
                "The client secret is not one of this server's, or it has expired. Get another \
                 from POST /v1/realtime/client_secrets.",
            )
        })
    }

    /// Keeps a secret that is made now.
    fn keep(
        &self,
        secret: String,
        now: Instant,
        life: Duration,
        grant: Grant,
    ) -> Result<(), Fault> {
        let mut kept = self.0.lock();
        if kept.len() >= MOST {
            kept.retain(|_, kept| kept.until > now);
        }
        if kept.len() >= MOST {
            let message =
                format!("{MOST} client secrets are alive, which is the limit. Try again.");
            return Err(Fault::new(Kind::Unavailable, "overloaded", message));
        }
        let (until, grant) = (now + life, Arc::new(grant));
        kept.insert(secret, Kept { until, grant });
        Ok(())
    }
}

/// Makes a secret.
pub(crate) async fn make(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Failure> {
    let patience = seconds(app.config.limits.body_seconds);
    let bytes = body::read_json(&headers, body, LARGEST, patience).await?;
    let mut fields = match bytes.trim_ascii() {
        // All of it may be left out.
        b"" => Fields::parse(b"{}")?,
        bytes => Fields::parse(bytes)?,
    };
    let life = life(&mut fields)?;
    let session = fields.object_value("session")?;
    fields.finish(&["expires_after", "session"])?;
    let loaded = app.loaded()?;
    let (_, config) = begin(&app, loaded, None, session.clone(), Transport::WebSocket)?;
    let effective = session
        .clone()
        .unwrap_or_else(|| json!({"type": "realtime"}));
    let shown = Session::check(&config, effective)?;
    let secret = random_id(PREFIX)?;
    let expires_at = seconds_since_1970() + life;
    let grant = Grant {
        key: caller.key,
        session: session.unwrap_or_default(),
    };
    let alive = Duration::from_secs(life);
    app.secrets
        .keep(secret.clone(), Instant::now(), alive, grant)?;
    Ok(Json(
        json!({"value": secret, "expires_at": expires_at, "session": shown}),
    ))
}

/// How long a secret is to live, in seconds.
fn life(fields: &mut Fields) -> Result<u64, Fault> {
    let Some(mut after) = fields.object("expires_after")? else {
        return Ok(LIFE);
    };
    after.one_of("anchor", &["created_at"])?;
    let seconds = after.integer_within("seconds", LIVES.0, LIVES.1)?;
    after.finish(&["anchor", "seconds"])?;
    Ok(seconds.unwrap_or(LIFE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        Grant {
            key: Some(1),
            session: json!({"type": "realtime"}),
        }
    }

    const LIFE: Duration = Duration::from_secs(10);

    #[test]
    fn a_secret_opens_until_it_expires() {
        let (secrets, now) = (Secrets::default(), Instant::now());
        secrets.keep("ek_a".into(), now, LIFE, grant()).unwrap();
        assert_eq!(*secrets.find("ek_a", now).unwrap(), grant());
        let other = secrets.find("ek_b", now).unwrap_err();
        assert_eq!(other.code, "invalid_client_secret");
        assert!(secrets.find("ek_a", now + LIFE).is_err());
    }

    #[test]
    fn there_are_so_many_secrets_and_the_dead_make_room() {
        let (secrets, now) = (Secrets::default(), Instant::now());
        let keep = |n: usize, now| secrets.keep(format!("ek_{n}"), now, LIFE, grant());
        for n in 0..MOST {
            keep(n, now).unwrap();
        }
        assert_eq!(keep(MOST, now).unwrap_err().code, "overloaded");
        keep(MOST, now + LIFE).unwrap();
        assert!(secrets.find("ek_0", now).is_err());
    }

    #[test]
    fn lives_are_bounded() {
        let life_of = |text: &str| life(&mut Fields::parse(text.as_bytes()).unwrap());
        assert_eq!(life_of("{}"), Ok(600));
        let given = |seconds: u64| {
            life_of(
                &json!({"expires_after": {"anchor": "created_at", "seconds": seconds}}).to_string(),
            )
        };
        assert_eq!(given(7_200), Ok(7_200));
        for seconds in [9, 7_201] {
            let fault = given(seconds).unwrap_err();
            assert_eq!(fault.param.as_deref(), Some("expires_after.seconds"));
        }
    }
}
