//! Sessions of the console for the user of this machine. They live in memory: a server that ends, ends them.

use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::{Problem, ProblemCode, SESSION_PREFIX};
use ordain_canon::ContentHash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a code counts that nobody used.
const CODE_LIVES: Duration = Duration::from_secs(300);
/// How long a session lives, used or not.
pub(crate) const SESSION_LIVES: Duration = Duration::from_secs(12 * 3600);
/// How long a session lives without a request.
pub(crate) const SESSION_IDLES: Duration = Duration::from_secs(30 * 60);
/// Sessions and codes at once; the oldest go first.
const SESSIONS_MAX: usize = 32;
/// Bytes of a code and of a session.
const SECRET_BYTES: usize = 32;

/// The sessions of one server.
pub(crate) struct Sessions {
    /// The user of this machine whose sessions they are.
    pub(crate) user: Arc<str>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    codes: Vec<(ContentHash, Instant)>,
    sessions: Vec<Session>,
}

struct Session {
    hash: ContentHash,
    started: Instant,
    used: Instant,
}

/// Which session a request belongs to, without its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionHash(ContentHash);

impl Sessions {
    pub(crate) fn of(user: &str) -> Self {
        Self { user: user.into(), open: Mutex::default() }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A code that counts once and for a few minutes.
    pub(crate) fn new_code(&self, now: Instant) -> std::io::Result<String> {
        let code = secret()?;
        let mut open = self.open();
        open.end_old(now);
        if open.codes.len() >= SESSIONS_MAX {
            open.codes.remove(0);
        }
        open.codes.push((hash(&code), now));
        Ok(code)
    }

    /// The session that a code gives.
    pub(crate) fn begin(&self, code: &str, now: Instant) -> Result<String, Problem> {
        let failed = |_| Problem::new(ProblemCode::Internal, "the machine gives no random bytes");
        let session = format!("{SESSION_PREFIX}{}", secret().map_err(failed)?);
        let mut open = self.open();
        open.end_old(now);
        let (code, before) = (hash(code), open.codes.len());
        open.codes.retain(|(known, _)| *known != code);
        if open.codes.len() == before {
            let problem = "the code is unknown, was used before, or is too old";
            let hint = "run `ordain serve --open` again";
            return Err(Problem::new(ProblemCode::Unauthenticated, problem).with_hint(hint));
        }
        if open.sessions.len() >= SESSIONS_MAX {
            open.sessions.remove(0);
        }
        open.sessions.push(Session { hash: hash(&session), started: now, used: now });
        Ok(session)
    }

    /// The session of a request, which is used by it.
    pub(crate) fn find(&self, text: &str, now: Instant) -> Option<SessionHash> {
        let wanted = hash(text);
        let mut open = self.open();
        open.end_old(now);
        let session = open.sessions.iter_mut().find(|session| session.hash == wanted)?;
        session.used = now;
        Some(SessionHash(wanted))
    }

    /// Whether a session is still there. Looking does not use it.
    pub(crate) fn holds(&self, session: SessionHash, now: Instant) -> bool {
        let mut open = self.open();
        open.end_old(now);
        open.sessions.iter().any(|known| known.hash == session.0)
    }

    /// Ends one session, or everything. Gives how many sessions there were.
    pub(crate) fn end(&self, session: Option<SessionHash>) -> u64 {
        let mut open = self.open();
        let before = open.sessions.len();
        match session {
            Some(session) => open.sessions.retain(|known| known.hash != session.0),
            None => *open = Open::default(),
        }
        (before - open.sessions.len()) as u64
    }
}

impl Open {
    fn end_old(&mut self, now: Instant) {
        let age = |since: Instant| now.saturating_duration_since(since);
        self.codes.retain(|(_, made)| age(*made) < CODE_LIVES);
        let lives =
            |session: &Session| age(session.started) < SESSION_LIVES && age(session.used) < SESSION_IDLES;
        self.sessions.retain(lives);
    }
}

/// Secrets are compared by their hashes, so that the time says nothing about them.
fn hash(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

fn secret() -> std::io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(Base64UrlUnpadded::encode_string(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_once_and_for_five_minutes() {
        let (sessions, now) = (Sessions::of("ann"), Instant::now());
        let code = sessions.new_code(now).unwrap();
        assert!(sessions.begin("guess", now).is_err());
        let session = sessions.begin(&code, now).unwrap();
        assert!(sessions.begin(&code, now).is_err(), "a code that was used");
        assert!(sessions.find(&session, now).is_some() && sessions.find(&code, now).is_none());
        let late = sessions.new_code(now).unwrap();
        assert!(sessions.begin(&late, now + CODE_LIVES).is_err());
    }

    #[test]
    fn a_session_ends_when_idle_when_old_and_when_told() {
        let (sessions, now) = (Sessions::of("ann"), Instant::now());
        let begin = |at| sessions.begin(&sessions.new_code(at).unwrap(), at).unwrap();
        let idle = begin(now);
        assert!(sessions.find(&idle, now + SESSION_IDLES).is_none());
        let busy = begin(now);
        let mut at = now;
        while at + SESSION_IDLES / 2 < now + SESSION_LIVES {
            at += SESSION_IDLES / 2;
            assert!(sessions.find(&busy, at).is_some());
        }
        assert!(sessions.find(&busy, now + SESSION_LIVES).is_none());
        let (one, other) = (begin(now), begin(now));
        let found = sessions.find(&one, now).unwrap();
        assert_eq!(sessions.end(Some(found)), 1);
        assert!(!sessions.holds(found, now) && sessions.find(&other, now).is_some());
        assert_eq!(sessions.end(None), 1);
        assert!(sessions.find(&other, now).is_none());
    }
}
