//! Proof files: an entry's place, the way to the root and the signed checkpoint, complete in one text.

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::decimal;
use crate::hash::Hash;
use crate::key::NoteVerifier;
use crate::limits::{ENTRY_BYTES_MAX, PROOF_HASHES_MAX};
use crate::note::{NoteError, SignedNote};
use crate::proof::ProofError;
use crate::verify::verify_inclusion;
use base64ct::{Base64, Encoding};
use std::fmt;

/// The first line.
const HEADER: &str = "c2sp.org/tlog-proof@v1";

/// That an entry is in a ledger, for who has the ledger's public key and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofFile {
    /// A text that no signature covers. In our files it is the entry itself, which counts once its leaf was
    /// verified.
    pub extra: Option<Vec<u8>>,
    /// Which entry.
    pub index: u64,
    /// The siblings on the way from the leaf to the root.
    pub hashes: Vec<Hash>,
    /// The checkpoint that the ledger signed.
    pub checkpoint: SignedNote,
}

/// Why a text is not a proof file, or proves nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProofFileError {
    /// Something else.
    #[error("is not a proof file: its first line must be `{HEADER}`")]
    Header,
    /// A line says something else than it should.
    #[error("line {line} of the proof file is not {expected}")]
    Line {
        /// Which line, from 1.
        line: usize,
        /// The expected content.
        expected: &'static str,
    },
    /// More than the longest way.
    #[error("the proof file has more than {PROOF_HASHES_MAX} hashes")]
    TooMany,
    /// The entry is not in the file.
    #[error("the proof file does not hold the entry itself: it has no line `extra`")]
    NoEntry,
    /// The note in it is none.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The checkpoint cannot be relied on.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The way leads elsewhere.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

impl ProofFile {
    /// Takes a file apart. It says nothing about what it proves.
    pub fn parse(text: &str) -> Result<ProofFile, ProofFileError> {
        let rest = text.strip_prefix(HEADER).and_then(|rest| rest.strip_prefix('\n'));
        let mut rest = Lines { line: 1, rest: rest.ok_or(ProofFileError::Header)? };
        let extra = if rest.rest.starts_with("extra ") { Some(parse_extra(&mut rest)?) } else { None };
        let expected = "an index: `index <decimal number>` was expected";
        let index = rest.next().and_then(|line| decimal::parse(line.strip_prefix("index ")?));
        let index = index.ok_or(ProofFileError::Line { line: rest.line, expected })?;
        let mut hashes = Vec::new();
        loop {
            let expected = "a hash in base64, nor the blank line before the checkpoint";
            let line = rest.next().ok_or(ProofFileError::Line { line: rest.line, expected })?;
            if line.is_empty() {
                break;
            }
            if hashes.len() == PROOF_HASHES_MAX {
                return Err(ProofFileError::TooMany);
            }
            let wrong = |_| ProofFileError::Line { line: rest.line, expected };
            hashes.push(Hash::parse(line).map_err(wrong)?);
        }
        Ok(ProofFile { extra, index, hashes, checkpoint: SignedNote::parse(rest.rest)? })
    }

    /// The checkpoint that the ledger of that name signed and in which the leaf is the entry `index`.
    pub fn verify(
        &self,
        leaf: Hash,
        known: &[NoteVerifier],
        origin: &str,
    ) -> Result<Checkpoint, ProofFileError> {
        let checkpoint = Checkpoint::open(&self.checkpoint, known, origin)?;
        verify_inclusion(leaf, self.index, checkpoint.size, &self.hashes, checkpoint.root)?;
        Ok(checkpoint)
    }

    /// The same for a file that holds the entry itself, which is then the ledger's word.
    pub fn verify_entry(
        &self,
        known: &[NoteVerifier],
        origin: &str,
    ) -> Result<(&[u8], Checkpoint), ProofFileError> {
        let entry = self.extra.as_deref().ok_or(ProofFileError::NoEntry)?;
        Ok((entry, self.verify(Hash::of_leaf(entry), known, origin)?))
    }
}

fn parse_extra(lines: &mut Lines<'_>) -> Result<Vec<u8>, ProofFileError> {
    let line = lines.next().and_then(|line| line.strip_prefix("extra "));
    let short = line.filter(|encoded| encoded.len() <= ENTRY_BYTES_MAX.div_ceil(3) * 4);
    let extra = short.and_then(|encoded| Base64::decode_vec(encoded).ok());
    let fits = extra.filter(|extra| extra.len() <= ENTRY_BYTES_MAX);
    let expected = "extra data: at most 65,535 bytes in base64 with padding were expected";
    fits.ok_or(ProofFileError::Line { line: lines.line, expected })
}

/// Lines that end with a line feed, and the number of the one that was asked for last.
struct Lines<'t> {
    line: usize,
    rest: &'t str,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.line += 1;
        let (line, rest) = self.rest.split_once('\n')?;
        self.rest = rest;
        Some(line)
    }
}

impl fmt::Display for ProofFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", Base64::encode_string(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        for hash in &self.hashes {
            writeln!(f, "{hash}")?;
        }
        write!(f, "\n{}", self.checkpoint)
    }
}
