//! Checkpoints: what a ledger signs about its size and root.

use crate::decimal;
use crate::hash::Hash;
use crate::key::{NoteSigner, NoteVerifier};
use crate::note::{NoteError, SignedNote};

/// How many entries a ledger has, and what they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// Which ledger: its name, the first line.
    pub origin: String,
    /// How many entries.
    pub size: u64,
    /// The hash of the tree of all entries.
    pub root: Hash,
    /// More lines, whose meaning others know.
    pub extensions: Vec<String>,
}

/// Why a text is not a checkpoint, or not one to rely on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Three lines, each with its line feed.
    #[error("a checkpoint has at least three lines that are not empty: origin, size, root")]
    Lines,
    /// The second line.
    #[error(
        "line 2 of the checkpoint is not a size: a decimal number up to {} was expected",
        crate::SIZE_MAX
    )]
    Size,
    /// The third line.
    #[error("line 3 of the checkpoint is not a hash: 32 bytes in base64 with padding were expected")]
    Root,
    /// A tree without leaves has one root only.
    #[error("the checkpoint has no entries and a root that is not `{}`", Hash::EMPTY)]
    EmptyRoot,
    /// A field has a line feed in it, or is empty.
    #[error("origin and extensions of a checkpoint are lines: not empty, without line feeds")]
    Fields,
    /// It is about another ledger.
    #[error("the checkpoint is of the ledger `{found}`, not `{expected}`")]
    Origin {
        /// Which ledger was meant.
        expected: String,
        /// Which ledger it is.
        found: String,
    },
    /// Somebody signed it, but not the ledger.
    #[error("the checkpoint is not signed by a known key with the name of the ledger, `{0}`")]
    NotByLedger(String),
    /// It is not a note, or nobody known signed it.
    #[error(transparent)]
    Note(#[from] NoteError),
}

impl Checkpoint {
    /// The text that is signed.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n{}\n", self.origin, self.size, self.root);
        for line in &self.extensions {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// From the text of a note.
    pub fn parse(text: &str) -> Result<Checkpoint, CheckpointError> {
        let mut lines = text.strip_suffix('\n').ok_or(CheckpointError::Lines)?.split('\n');
        let mut line = || lines.next().filter(|line| !line.is_empty()).ok_or(CheckpointError::Lines);
        let (origin, size, root) = (line()?.to_owned(), line()?, line()?);
        let size = decimal::parse(size).ok_or(CheckpointError::Size)?;
        let root = Hash::parse(root).map_err(|_| CheckpointError::Root)?;
        if size == 0 && root != Hash::EMPTY {
            return Err(CheckpointError::EmptyRoot);
        }
        let extensions: Vec<String> = lines.map(str::to_owned).collect();
        if extensions.iter().any(String::is_empty) {
            return Err(CheckpointError::Lines);
        }
        Ok(Checkpoint { origin, size, root, extensions })
    }

    /// Signs it. The key of the ledger has the name of the origin.
    ///
    /// Two checkpoints of which neither is the start of the other are proof of a lie: sign what is on disk.
    pub fn sign(&self, signers: &[&NoteSigner]) -> Result<SignedNote, CheckpointError> {
        let text = self.text();
        // Other readers must parse the same values that are meant here.
        if Checkpoint::parse(&text)? != *self {
            return Err(CheckpointError::Fields);
        }
        Ok(SignedNote::sign(&text, signers)?)
    }

    /// The checkpoint of that ledger in a note that a known key with the ledger's name signed.
    pub fn open(
        note: &SignedNote,
        known: &[NoteVerifier],
        origin: &str,
    ) -> Result<Checkpoint, CheckpointError> {
        let signed = note.verify(known)?;
        let checkpoint = Checkpoint::parse(&note.text)?;
        if checkpoint.origin != origin {
            return Err(CheckpointError::Origin { expected: origin.to_owned(), found: checkpoint.origin });
        }
        // A witness, or another ledger that is known here, cannot speak for this one.
        if !signed.iter().any(|key| key.name() == origin) {
            return Err(CheckpointError::NotByLedger(checkpoint.origin));
        }
        Ok(checkpoint)
    }
}
