//! The time in which a key stays unlocked. Every signature that says `recent` names it, and its number in it.

use super::{NONE, StatementError, field, time};
use crate::limits::{SESSION_MS_MAX, SESSION_SIGNATURES_MAX};
use ordain_canon::is_lower_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Hexadecimal digits of a session's id.
pub const SESSION_ID_DIGITS: usize = 32;

/// A key that a person unlocked once, for a few signatures and a few minutes. One line of a statement: id,
/// start and number, with one space between them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// 32 hexadecimal digits, random.
    #[schemars(extend("x-rule" = "AP12"))]
    pub id: String,
    /// When the key was unlocked, by the gate's clock, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "AP12"))]
    pub started_at_ms: u64,
    /// Which signature of the session it is, counted from 1.
    #[schemars(range(min = 1), extend("x-rule" = "AP12"))]
    pub number: u64,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.id, self.started_at_ms, self.number)
    }
}

impl Session {
    /// Why it does not cover a signature of this time; nothing if it does.
    pub fn violation(&self, at_ms: u64) -> Option<String> {
        if !is_lower_hex(&self.id, SESSION_ID_DIGITS) {
            return Some(format!("has an id that is not {SESSION_ID_DIGITS} hexadecimal digits"));
        }
        if self.number == 0 || self.number > SESSION_SIGNATURES_MAX {
            return Some(format!(
                "has the number {}; a session has 1 to {SESSION_SIGNATURES_MAX}",
                self.number
            ));
        }
        match at_ms.checked_sub(self.started_at_ms) {
            None => Some(format!("started {} ms after the signature", self.started_at_ms - at_ms)),
            Some(age_ms) if age_ms > SESSION_MS_MAX => Some(format!(
                "started {age_ms} ms before the signature; at most {SESSION_MS_MAX} ms are allowed"
            )),
            Some(_) => None,
        }
    }
}

/// The line of a statement.
pub(super) fn line(session: Option<&Session>) -> String {
    session.map_or_else(|| NONE.to_owned(), Session::to_string)
}

/// Reads the line of a statement.
pub(super) fn parse(text: &str) -> Result<Option<Session>, StatementError> {
    if text == NONE {
        return Ok(None);
    }
    let mut parts = text.split(' ');
    let (Some(id), Some(started_at_ms), Some(number), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(field("session", "is neither `none` nor an id, a time and a number"));
    };
    let (started_at_ms, number) = (time("session", started_at_ms)?, time("session", number)?);
    Ok(Some(Session { id: id.to_owned(), started_at_ms, number }))
}
