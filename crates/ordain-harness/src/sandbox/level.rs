//! How strong the protection is, and what a machine has of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How strong the protection is. More is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Everything but Landlock, or with a Landlock too old to cover truncation.
    Namespaces,
    /// Everything.
    Full,
}

impl Level {
    /// As documents say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a machine can do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The level that a session reaches; nothing when it cannot run at all.
    pub level: Option<Level>,
    /// Who asks, as it matters to the sandbox: `root` or `an ordinary user`.
    pub caller: String,
    /// One after the other.
    pub features: Vec<Feature>,
}

/// One thing that the sandbox is made of.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Feature {
    /// A short name.
    pub name: String,
    /// Whether it was there when it was tried.
    pub works: bool,
    /// What was found: a version, or why it does not work.
    pub found: String,
    /// What to change, where it does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Feature {
    pub(crate) fn missing(name: &str, cause: &str, remedy: &str) -> Self {
        Self { name: name.to_owned(), works: false, found: cause.to_owned(), remedy: Some(remedy.to_owned()) }
    }
}
