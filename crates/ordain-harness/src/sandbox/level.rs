//! How strong the protection is, and what a machine has of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How strong the protection is. More is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Landlock and seccomp on a copy of the workspace, without namespaces. Only where it is asked for.
    #[serde(rename = "landlock-only")]
    LandlockOnly,
    /// Everything but Landlock, or with a Landlock too old to cover truncation.
    Namespaces,
    /// Everything.
    Full,
}

impl Level {
    /// As documents say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LandlockOnly => "landlock-only",
            Self::Namespaces => "namespaces",
            Self::Full => "full",
        }
    }

    /// The abilities of a command at this level that it does not have with namespaces.
    pub fn leaves_open(self) -> &'static [&'static str] {
        match self {
            Self::LandlockOnly => &[
                "no namespaces: processes, mounts and names are the host's, and only the filter keeps the network away",
                "names, sizes, owners and times of all files can be seen, though their content cannot be read",
                "modes and times of files can be changed wherever the caller could, as in its home; never their content",
                "which processes there are can be found out, though not what they do",
                "sizes and numbers of files are counted while the command runs, and limited by no file system",
                "processes of a command can outlive it if somebody kills the sandbox's own processes",
            ],
            Self::Namespaces | Self::Full => &[],
        }
    }
}

/// The option that allows [`Level::LandlockOnly`] on the command line.
#[cfg(target_os = "linux")]
pub(crate) const FLAG: &str = "--allow-landlock-only";
/// The lack of protection at that level, in one sentence.
#[cfg(target_os = "linux")]
pub(crate) const FLAG_MEANS: &str = "commands then run on a copy and can write nothing else, but they see which files \
     and processes there are, and can change modes and times of the caller's own files";

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The abilities of a machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The level that a session reaches; nothing when it cannot run at all.
    pub level: Option<Level>,
    /// The caller, as it matters to the sandbox: `root` or `an ordinary user`.
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
    /// The finding: a version, or why it does not work.
    pub found: String,
    /// The remedy, where it does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Feature {
    pub(crate) fn missing(name: &str, cause: &str, remedy: &str) -> Self {
        Self { name: name.to_owned(), works: false, found: cause.to_owned(), remedy: Some(remedy.to_owned()) }
    }
}
