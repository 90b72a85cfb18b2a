//! A person's signing key, sealed under their passphrase.

use crate::passphrase::Passphrase;
use argon2::{Algorithm, Argon2, Params, Version};
use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The type of a key file, in its own words. It also fixes the cost below, so that no file can lower it.
const FORMAT: &str = "ordain/approver-key/v1";
const MEMORY_KIB: u32 = 256 * 1_024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
const SECRET_BYTES: usize = 32;
/// No key file is longer.
const FILE_BYTES_MAX: u64 = 4_096;
/// The modes that others have no part in.
const OTHERS: u32 = 0o077;
/// How many digits of a public key's hash are shown to people.
const FINGERPRINT_DIGITS: usize = 16;

/// A key file: the public key, and the secret one under a passphrase.
pub struct KeyFile {
    path: PathBuf,
    sealed: Sealed,
    public: VerifyingKey,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    format: String,
    public_key: String,
    salt: String,
    nonce: String,
    secret: String,
}

/// A key that signs, until it is dropped and wiped.
pub struct UnlockedKey(SigningKey);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// There is none.
    #[error("there is no key file `{}`", .0.display())]
    Missing(PathBuf),
    /// There is one already.
    #[error("the key file `{}` exists already", .0.display())]
    Exists(PathBuf),
    /// Others could read or replace it.
    #[error("the key file `{}` is not this user's alone", .0.display())]
    NotPrivate(PathBuf),
    /// It is something else.
    #[error("`{}` is not a key file", .0.display())]
    NotAKeyFile(PathBuf),
    /// The passphrase is another, or the file was changed.
    #[error("the passphrase does not open `{}`", .0.display())]
    Passphrase(PathBuf),
    /// The machine has too little memory, or no randomness.
    #[error("the key cannot be derived: {0}")]
    Derivation(String),
    /// The file failed.
    #[error("the key file `{}` cannot be used: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl KeyFileError {
    /// A way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing(_) => Some("run `ordain approver enrol`".to_owned()),
            Self::NotPrivate(path) => Some(format!("run `chmod 600 {}` if it is yours", path.display())),
            Self::Derivation(_) => Some("unlocking a key takes 256 MiB of memory".to_owned()),
            _ => None,
        }
    }
}

impl KeyFile {
    /// Makes a new key in a new file.
    pub fn create(path: &Path, passphrase: &Passphrase) -> Result<(Self, UnlockedKey), KeyFileError> {
        let secret = Zeroizing::new(random::<SECRET_BYTES>()?);
        let key = SigningKey::from_bytes(&secret);
        let (salt, nonce) = (random::<SALT_BYTES>()?, random::<NONCE_LEN>()?);
        let public_key = Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes());
        let mut text = Zeroizing::new(secret.to_vec());
        text.reserve_exact(CHACHA20_POLY1305.tag_len());
        let cipher = cipher(passphrase, &salt)?;
        let about = about(&public_key);
        let nonce_value = Nonce::assume_unique_for_key(nonce);
        cipher
            .seal_in_place_append_tag(nonce_value, Aad::from(about), &mut *text)
            .map_err(|_| KeyFileError::Derivation("sealing failed".to_owned()))?;
        let sealed = Sealed {
            format: FORMAT.to_owned(),
            public_key,
            salt: Base64UrlUnpadded::encode_string(&salt),
            nonce: Base64UrlUnpadded::encode_string(&nonce),
            secret: Base64UrlUnpadded::encode_string(&text),
        };
        write_new(path, &sealed)?;
        let public = key.verifying_key();
        Ok((Self { path: path.to_owned(), sealed, public }, UnlockedKey(key)))
    }

    /// Reads a file that belongs to this user alone.
    pub fn open(path: &Path) -> Result<Self, KeyFileError> {
        let text = read_private(path, FILE_BYTES_MAX)?;
        let not_one = || KeyFileError::NotAKeyFile(path.to_owned());
        let sealed: Sealed = serde_json::from_slice(&text).map_err(|_| not_one())?;
        if sealed.format != FORMAT {
            return Err(not_one());
        }
        let public: [u8; 32] = decoded(&sealed.public_key).ok_or_else(not_one)?;
        let public = VerifyingKey::from_bytes(&public).map_err(|_| not_one())?;
        Ok(Self { path: path.to_owned(), sealed, public })
    }

    /// The key, if this is its passphrase.
    pub fn unlock(&self, passphrase: &Passphrase) -> Result<UnlockedKey, KeyFileError> {
        let not_one = || KeyFileError::NotAKeyFile(self.path.clone());
        let wrong = || KeyFileError::Passphrase(self.path.clone());
        let salt: [u8; SALT_BYTES] = decoded(&self.sealed.salt).ok_or_else(not_one)?;
        let nonce: [u8; NONCE_LEN] = decoded(&self.sealed.nonce).ok_or_else(not_one)?;
        let mut text =
            Zeroizing::new(Base64UrlUnpadded::decode_vec(&self.sealed.secret).map_err(|_| not_one())?);
        let cipher = cipher(passphrase, &salt)?;
        let about = about(&self.sealed.public_key);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = cipher.open_in_place(nonce, Aad::from(about), &mut text).map_err(|_| wrong())?;
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        if opened.len() != secret.len() {
            return Err(not_one());
        }
        secret.copy_from_slice(opened);
        let key = SigningKey::from_bytes(&secret);
        if key.verifying_key() == self.public { Ok(UnlockedKey(key)) } else { Err(not_one()) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The public key.
    pub fn public(&self) -> &VerifyingKey {
        &self.public
    }
}

impl UnlockedKey {
    #[cfg(test)]
    pub(crate) fn of_seed(seed: [u8; SECRET_BYTES]) -> Self {
        Self(SigningKey::from_bytes(&seed))
    }

    /// Signs.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// The public key.
    pub fn public(&self) -> VerifyingKey {
        self.0.verifying_key()
    }
}

/// The start of the SHA-256 of a public key, in groups of four digits, for people to compare.
pub fn fingerprint(public: &VerifyingKey) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, public.as_bytes());
    let digits: Vec<String> = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let digits: Vec<char> = digits.concat().chars().take(FINGERPRINT_DIGITS).collect();
    digits.chunks(4).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// At most so many bytes of a file that belongs to this user alone. Nothing behind a link is read.
pub fn read_private(path: &Path, bytes_max: u64) -> Result<Zeroizing<Vec<u8>>, KeyFileError> {
    let failed = |error| KeyFileError::Io { path: path.to_owned(), error };
    let opened = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KeyFileError::Missing(path.to_owned()),
        _ => failed(error),
    })?;
    let found = file.metadata().map_err(failed)?;
    let own = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_file() || !own || found.mode() & OTHERS != 0 {
        return Err(KeyFileError::NotPrivate(path.to_owned()));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(bytes_max).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// No links, and no waiting for somebody at the other end of a pipe in the place of the file.
#[cfg(target_os = "linux")]
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
#[cfg(not(target_os = "linux"))]
const NO_FOLLOW: i32 = 0;

/// The sealed secret is bound to the format and to the public key beside it.
fn about(public_key: &str) -> String {
    format!("{FORMAT}\n{public_key}\n")
}

fn cipher(passphrase: &Passphrase, salt: &[u8]) -> Result<LessSafeKey, KeyFileError> {
    let failed = |error: argon2::Error| KeyFileError::Derivation(error.to_string());
    let params = Params::new(MEMORY_KIB, PASSES, LANES, Some(SECRET_BYTES)).map_err(failed)?;
    let mut derived = Zeroizing::new([0; SECRET_BYTES]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.bytes(), salt, &mut *derived)
        .map_err(failed)?;
    let key = UnboundKey::new(&CHACHA20_POLY1305, &*derived);
    let key = key.map_err(|_| KeyFileError::Derivation("the key has a wrong length".to_owned()))?;
    Ok(LessSafeKey::new(key))
}

fn random<const N: usize>() -> Result<[u8; N], KeyFileError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| KeyFileError::Derivation(error.to_string()))?;
    Ok(bytes)
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    Base64UrlUnpadded::decode_vec(text).ok()?.try_into().ok()
}

/// Writes the whole file or none, in a directory that others cannot enter.
fn write_new(path: &Path, sealed: &Sealed) -> Result<(), KeyFileError> {
    let failed = |error| KeyFileError::Io { path: path.to_owned(), error };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.exists() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
    }
    if path.symlink_metadata().is_ok() {
        return Err(KeyFileError::Exists(path.to_owned()));
    }
    // It appears whole: half a key file opens nothing, and keeps the next one from being made.
    let number = u64::from_be_bytes(random::<8>()?);
    let draft = path.with_extension(format!("{number:016x}.draft"));
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(failed)?;
    let written = serde_json::to_vec(sealed)
        .map_err(io::Error::other)
        .and_then(|text| file.write_all(&text))
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&draft, path));
    // The name that counts is another one.
    let _ = fs::remove_file(&draft);
    written.and_then(|()| File::open(parent)?.sync_all()).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
        _ => failed(error),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn only_the_passphrase_opens_the_file_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/approver.key");
        let (file, key) = KeyFile::create(&path, &passphrase("correct horse battery")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert!(matches!(
            KeyFile::create(&path, &passphrase("correct horse battery")),
            Err(KeyFileError::Exists(_))
        ));
        let again = KeyFile::open(&path).unwrap();
        assert_eq!(again.public(), file.public());
        let unlocked = again.unlock(&passphrase("correct horse battery")).unwrap();
        let signature = ed25519_dalek::Signature::from_bytes(&unlocked.sign(b"hello"));
        key.public().verify_strict(b"hello", &signature).unwrap();
        assert!(matches!(
            again.unlock(&passphrase("correct horse batterY")),
            Err(KeyFileError::Passphrase(_))
        ));

        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("correct"));
        // Another public key over the same secret would have people approve with a key that they did not mean.
        let other = KeyFile::create(&folder.path().join("other.key"), &passphrase("correct horse battery"))
            .unwrap()
            .0;
        let of = |key: &VerifyingKey| Base64UrlUnpadded::encode_string(key.as_bytes());
        fs::write(&path, text.replace(&of(file.public()), &of(other.public()))).unwrap();
        let swapped = KeyFile::open(&path).unwrap();
        assert!(swapped.unlock(&passphrase("correct horse battery")).is_err());
    }

    #[test]
    fn a_file_that_others_could_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approver.key");
        assert!(matches!(KeyFile::open(&path), Err(KeyFileError::Missing(_))));
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(KeyFile::open(&path), Err(KeyFileError::NotPrivate(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(KeyFile::open(&path), Err(KeyFileError::NotAKeyFile(_))));
        let link = folder.path().join("link.key");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(KeyFile::open(&link), Err(KeyFileError::Io { .. })));
        // A new key takes no name that is there, wherever it leads.
        let dangling = folder.path().join("dangling.key");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &dangling).unwrap();
        let made = KeyFile::create(&dangling, &passphrase("correct horse battery"));
        assert!(matches!(made, Err(KeyFileError::Exists(_))));
        assert!(!folder.path().join("elsewhere").exists());
        // A pipe in the place of the file would have the program wait for ever.
        let pipe = folder.path().join("pipe.key");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(matches!(KeyFile::open(&pipe), Err(KeyFileError::NotPrivate(_))));
        let left = fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.file_name());
        let drafts = left.filter(|name| name.to_string_lossy().contains("draft")).count();
        assert_eq!(drafts, 0);
    }
}
