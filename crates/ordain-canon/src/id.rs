//! Derived ids (docs/contracts/canonical.md): a prefix and the first digits of a hash over part of an object.

use crate::error::WriteError;
use crate::hash::{Without, is_lower_hex, serialize_members};
use crate::value::Value;
use crate::writer::Canonicalizer;
use serde::ser::{Serialize, Serializer};

/// The things whose ids follow from their content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DerivedId {
    /// `bundle_…`, over every field but `id`.
    Bundle,
    /// `node_…`, over `parent_id`, `goal` and `constraints`.
    Node,
    /// `q_…`, over `text`, `expected_answer_type`, `why_needed` and `options`, where it has them.
    Question,
    /// `out_…`, over `type`, `path` and `content`.
    Output,
    /// `prop_…`, over every field but `id`.
    Plan,
    /// `act_…`, over every field but `id`.
    Action,
}

/// An id cannot be derived.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// Only objects have ids.
    #[error("expected an object, found {0}")]
    NotObject(&'static str),
    /// A field that the id covers is not there.
    #[error("the field `{0}` is missing, and the id covers it")]
    Missing(&'static str),
    /// The value has no canonical form.
    #[error(transparent)]
    Write(#[from] WriteError),
}

const ID_DIGITS: usize = 16;
const BRANCH_DIGITS: usize = 8;

enum Cover {
    AllBut(&'static str),
    Only { required: &'static [&'static str], optional: &'static [&'static str] },
}

impl DerivedId {
    /// The prefix before the digits, without the underscore.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Node => "node",
            Self::Question => "q",
            Self::Output => "out",
            Self::Plan => "prop",
            Self::Action => "act",
        }
    }

    /// Whether a text has the form of such an id.
    pub fn is_well_formed(self, id: &str) -> bool {
        let digits = id.strip_prefix(self.prefix()).and_then(|rest| rest.strip_prefix('_'));
        digits.is_some_and(|digits| is_lower_hex(digits, ID_DIGITS))
    }

    fn cover(self) -> Cover {
        match self {
            Self::Bundle | Self::Plan | Self::Action => Cover::AllBut("id"),
            Self::Node => Cover::Only { required: &["parent_id", "goal", "constraints"], optional: &[] },
            Self::Question => Cover::Only {
                required: &["text", "expected_answer_type", "why_needed"],
                optional: &["options"],
            },
            Self::Output => Cover::Only { required: &["type", "path", "content"], optional: &[] },
        }
    }

    /// The id that the object's content gives.
    pub fn of(self, canon: &mut Canonicalizer, value: &Value<'_>) -> Result<String, DeriveError> {
        if value.as_object().is_none() {
            return Err(DeriveError::NotObject(value.kind()));
        }
        let hex = match self.cover() {
            Cover::AllBut(except) => hex_digits(canon, &Without { value, except }, ID_DIGITS)?,
            Cover::Only { required, optional } => {
                if let Some(missing) = required.iter().find(|key| value.get(key).is_none()) {
                    return Err(DeriveError::Missing(missing));
                }
                hex_digits(canon, &Only { value, required, optional }, ID_DIGITS)?
            }
        };
        Ok(format!("{}_{hex}", self.prefix()))
    }
}

/// A branch's id: the first 8 digits of the hash of the question's id and the answer.
pub fn branch_id<T: Serialize>(
    canon: &mut Canonicalizer,
    question_id: T,
    answer: T,
) -> Result<String, WriteError> {
    #[derive(serde::Serialize)]
    struct Branch<T> {
        question_id: T,
        answer: T,
    }
    hex_digits(canon, &Branch { question_id, answer }, BRANCH_DIGITS)
}

fn hex_digits<T: Serialize>(
    canon: &mut Canonicalizer,
    value: &T,
    digits: usize,
) -> Result<String, WriteError> {
    let mut hex = crate::hash::BundleHash::of(canon, value)?.to_string();
    hex.truncate(digits);
    Ok(hex)
}

/// Some members of an object.
struct Only<'v, 'a> {
    value: &'v Value<'a>,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

impl Serialize for Only<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.value.as_object().unwrap_or_default();
        let covered = |key: &str| self.required.contains(&key) || self.optional.contains(&key);
        serialize_members(members.iter().filter(|(key, _)| covered(key)), serializer)
    }
}
