//! The settings file of an agent.

use crate::exit::Failure;
use crate::kept_file::KeptFile;
use ordain_hooks::{Agent, EditError, Setting, find_hook, remove};
use std::ops::Deref;
use std::path::Path;

/// A settings file, which may not be there.
pub(super) struct SettingsFile {
    pub(super) agent: Agent,
    file: KeptFile,
}

impl Deref for SettingsFile {
    type Target = KeptFile;

    fn deref(&self) -> &KeptFile {
        &self.file
    }
}

impl SettingsFile {
    pub(super) fn open(agent: Agent, setting: Setting, path: &Path) -> Result<Self, Failure> {
        let file = KeptFile::open(path)?;
        // A host that runs as another user than root must be able to read it.
        let file = if setting == Setting::Managed { file.for_everybody() } else { file };
        Ok(Self { agent, file })
    }

    pub(super) fn refused(&self, error: &EditError) -> Failure {
        let problem = format!("{error}; it was not changed");
        let failure = Failure::Document { path: self.path.display().to_string(), problem };
        failure.with_hint("mend the file, or move it away, and run this again")
    }

    /// The advice to somebody whose hook ordain cannot remove.
    pub(super) fn by_hand(&self) -> String {
        let (path, agent) = (self.path.display(), self.agent);
        if matches!(agent, Agent::Copilot | Agent::Opencode) {
            return format!("nothing was changed; to do it by hand, delete {path}");
        }
        format!(
            "nothing was changed; to do it by hand, delete every entry of {path} whose command has `ordain hook {agent}`"
        )
    }

    /// Writes the text with the hook, and keeps what was there before.
    pub(super) fn write(&self, text: &str) -> Result<(), Failure> {
        self.file.write(text, || self.without_hook())
    }

    /// The text without the hook, where somebody else changed it since, or put the hook in.
    fn without_hook(&self) -> Result<Option<String>, Failure> {
        let Some(text) = &self.text else { return Ok(None) };
        let refused = |error: EditError| self.refused(&error);
        if text.trim().is_empty() || find_hook(self.agent, &self.path, text).map_err(refused)?.is_empty() {
            return Ok(Some(text.clone()));
        }
        if matches!(self.agent, Agent::Copilot | Agent::Opencode) {
            return Ok(None);
        }
        remove(self.agent, &self.path, text).map(Some).map_err(refused)
    }

    /// The file without the hook: byte for byte as before, unless somebody changed it since.
    pub(super) fn restored(&self) -> Result<Option<String>, Failure> {
        self.file.restored(|| self.without_hook())
    }
}
