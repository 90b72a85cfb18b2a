//! Why the state directory cannot be used.

use std::path::Path;

/// Why the state directory cannot be used: where, what is wrong, and perhaps what to do.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct StateError {
    path: String,
    problem: String,
    hint: Option<String>,
}

impl StateError {
    pub(crate) fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self { path: path.display().to_string(), problem: problem.into(), hint: None }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::new(path, error.to_string())
    }

    #[must_use]
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The advice for this error.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The file or folder that it is about.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The problem without the path.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}
