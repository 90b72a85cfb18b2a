//! Problems of a policy folder.

use serde::Serialize;
use std::error::Error;
use std::fmt;

/// Problems as they are found.
pub(crate) type Problems = Vec<Problem>;

/// One thing that is wrong with a policy folder, or worth a warning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Problem {
    /// The file in the folder.
    pub file: String,
    /// The line, from 1, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The policy, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The problem, in words.
    pub message: String,
    /// Whether the folder can be used all the same.
    pub severity: Severity,
}

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The folder is refused.
    Error,
    /// Somebody should look.
    Warning,
}

impl Problem {
    pub(crate) fn error(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            policy: None,
            message: message.into(),
            severity: Severity::Error,
        }
    }

    pub(crate) fn warning(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(file, message) }
    }

    pub(crate) fn at(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }

    pub(crate) fn about(self, policy: impl Into<String>) -> Self {
        Self { policy: Some(policy.into()), ..self }
    }

    /// Makes a problem of an error of Cedar's, with its cause, its help and its place.
    pub(crate) fn of_diagnostic<E: miette::Diagnostic>(file: &str, text: &str, error: &E) -> Self {
        let offset = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
        let mut message = sentence(error);
        if let Some(help) = error.help() {
            let help = help.to_string();
            message.push_str("; ");
            // If several actions are equally near, Cedar names any one, and another the next time.
            let is_guess = help.starts_with("did you mean `Action::");
            message.push_str(if is_guess { "`ordain schema policy` lists the actions" } else { &help });
        }
        Self::error(file, message).at(offset.map(|offset| line_at(text, offset)))
    }
}

/// An error and its causes, in one line.
fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text.replace('\n', " ")
}

/// The line of an offset, from 1.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(policy) = &self.policy {
            write!(f, " `{policy}`")?;
        }
        write!(f, ": {}", self.message)
    }
}
