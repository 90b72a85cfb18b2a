//! The key that permits and checkpoints are signed with: one file that only its owner can read.

use super::signer::QuickSigner;
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::SigningKey;
use ordain_decision::{PermitKey, PublicKey};
use ordain_state::{StateError, make_private_folder, open_private};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "signing.key";
/// Bytes that are read of a key's file; a key is shorter.
const KEY_FILE_BYTES_MAX: u64 = 1 << 10;

/// The signing key of this node.
#[derive(Clone)]
pub struct Keyring {
    key: Arc<SigningKey>,
    /// The same key, ready to mint.
    permit_key: Arc<PermitKey<QuickSigner>>,
    folder: Option<PathBuf>,
}

/// A key could not be read or made.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct KeyringError {
    path: String,
    problem: String,
}

impl From<StateError> for KeyringError {
    fn from(error: StateError) -> Self {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        Self { path: error.path().to_owned(), problem: format!("{}{hint}", error.problem()) }
    }
}

impl Keyring {
    /// The key in a folder; where there is none, a new one. Only a new gate takes a new key: a store is
    /// refused without the key that it was opened with.
    pub fn open(folder: &Path) -> Result<Self, KeyringError> {
        if let Some(keyring) = Self::open_existing(folder)? {
            return Ok(keyring);
        }
        let path = folder.join(FILE);
        let failed = |problem: String| KeyringError { path: path.display().to_string(), problem };
        if !folder.is_dir() {
            make_private_folder(folder).map_err(|error| failed(error.problem().to_owned()))?;
        }
        write_new(&path, &new_seed()?).map_err(|error| failed(error.to_string()))?;
        Self::open_existing(folder)?.ok_or_else(|| failed("was removed at once".to_owned()))
    }

    /// The key in a folder, if there is one. Nothing is written.
    pub fn open_existing(folder: &Path) -> Result<Option<Self>, KeyringError> {
        Self::read(folder, FILE)
    }

    fn read(folder: &Path, name: &str) -> Result<Option<Self>, KeyringError> {
        let path = folder.join(name);
        let failed = |problem: String| KeyringError { path: path.display().to_string(), problem };
        let Some(file) = open_private(&path).map_err(KeyringError::from)? else { return Ok(None) };
        let mut text = String::new();
        let read = file.take(KEY_FILE_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| failed(error.to_string()))?;
        let wrong =
            || failed("is not a signing key: 32 bytes in base64url without padding were expected".to_owned());
        let mut seed = [0; 32];
        let decoded = Base64UrlUnpadded::decode(text.trim_end(), &mut seed).map_err(|_| wrong())?;
        if decoded.len() != 32 {
            return Err(wrong());
        }
        Self::of(&seed, Some(folder.to_owned())).map(Some)
    }

    /// The key in a folder, which must be there.
    fn expect(folder: &Path) -> Result<Self, KeyringError> {
        Self::open_existing(folder)?.ok_or_else(|| KeyringError {
            path: folder.join(FILE).display().to_string(),
            problem: "is missing, and the store is refused without it".to_owned(),
        })
    }

    /// A key that is gone with the process.
    pub fn ephemeral() -> Result<Self, KeyringError> {
        Self::of(&random::<32>()?, None)
    }

    fn of(seed: &[u8; 32], folder: Option<PathBuf>) -> Result<Self, KeyringError> {
        let key = SigningKey::from_bytes(seed);
        let public = PublicKey::of(&key);
        let unusable = |problem: String| KeyringError { path: format!("the key `{}`", public.id()), problem };
        let signer = QuickSigner::new(&key).map_err(unusable)?;
        let permit_key = PermitKey::new(&public, signer).map_err(|error| unusable(error.to_string()))?;
        Ok(Self { key: Arc::new(key), permit_key: Arc::new(permit_key), folder })
    }

    /// Another key, which may take the place of this one. It is in no file yet.
    pub(super) fn next(&self) -> Result<Self, KeyringError> {
        Self::of(&random::<32>()?, self.folder.clone())
    }

    /// Keeps a key beside the one whose place it takes: nothing is lost if what is between fails.
    pub(super) fn keep_beside(&self) -> Result<(), KeyringError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(draft_name(&self.public().id()));
        let written = write_new(&path, &Base64UrlUnpadded::encode_string(self.key.as_bytes()));
        written
            .and_then(|()| sync_folder(folder))
            .map_err(|error| KeyringError { path: path.display().to_string(), problem: error.to_string() })
    }

    /// The key of this id that is kept beside this one, if there is one.
    pub(super) fn beside(&self, key_id: &str) -> Result<Option<Self>, KeyringError> {
        match &self.folder {
            Some(folder) => Self::read(folder, &draft_name(key_id)),
            None => Ok(None),
        }
    }

    /// A key that was kept beside another takes its place: the other is gone. Gives the key that is there then; another
    /// process may have come first.
    pub(super) fn take_place(self) -> Result<Self, KeyringError> {
        let Some(folder) = &self.folder else { return Ok(self) };
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| KeyringError {
            path: path.display().to_string(),
            problem: error.to_string(),
        };
        match std::fs::rename(folder.join(draft_name(&self.public().id())), &path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        Self::expect(folder)
    }

    /// A key that was kept beside another is not needed.
    pub(super) fn discard(&self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_file(folder.join(draft_name(&self.public().id())));
        }
    }

    /// As it is on disk now.
    pub(super) fn reread(&self) -> Result<Self, KeyringError> {
        match &self.folder {
            Some(folder) => Self::expect(folder),
            None => Ok(self.clone()),
        }
    }

    pub(super) fn key(&self) -> &Arc<SigningKey> {
        &self.key
    }

    pub(super) fn permit_key(&self) -> &PermitKey<QuickSigner> {
        &self.permit_key
    }

    /// Its public part.
    pub fn public(&self) -> PublicKey {
        PublicKey::of(&self.key)
    }
}

/// Random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], KeyringError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| KeyringError {
        path: "random bytes".to_owned(),
        problem: format!("the machine gives none: {error}"),
    })?;
    Ok(bytes)
}

/// Random letters and digits of hexadecimal numbers.
pub(super) fn random_hex<const BYTES: usize>() -> Result<String, KeyringError> {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    Ok(random::<BYTES>()?.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
}

fn draft_name(key_id: &str) -> String {
    format!("{FILE}.{key_id}.new")
}

/// That a new name in a folder survives a power failure.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => std::fs::File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}

fn new_seed() -> Result<String, KeyringError> {
    Ok(Base64UrlUnpadded::encode_string(&random::<32>()?))
}

/// The first process writes it; the others read it. It appears whole: a killed process leaves no half of a key.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let random = random_hex::<8>().map_err(|error| std::io::Error::other(error.to_string()))?;
    let draft = path.with_extension(format!("{random}.draft"));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(format!("{text}\n").as_bytes())?;
        file.sync_all()
    });
    let linked = match written.and_then(|()| std::fs::hard_link(&draft, path)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    };
    // The name that counts is another one.
    let _ = std::fs::remove_file(&draft);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_names_the_key_that_signs_it() {
        let keyring = Keyring::ephemeral().unwrap();
        assert_eq!(keyring.permit_key.id(), keyring.public().id());
    }
}
