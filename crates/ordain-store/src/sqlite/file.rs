//! The file: created durably for its owner alone, and watched, because SQLite goes on writing to a file that
//! was removed.

use super::error::of_sqlite;
use super::schema;
use crate::StoreError;
use crate::limits::{LOCK_RETRY, LOCK_WAIT};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Closing a file drops all locks that the process has on it, those of SQLite too. So nobody opens while one creates.
static CREATING: Mutex<()> = Mutex::new(());
const STATEMENTS_CACHED: usize = 48;
const PAGE_BYTES: &str = "8192";
/// Pages of the log after which they are copied into the file, which takes two more syncs. From then on the
/// log is written over from its beginning and does not grow: a sync is quicker when the size of the file
/// stays.
const CHECKPOINT_PAGES: &str = "500";

/// A file that was there when the store was opened.
#[derive(Clone)]
pub(super) struct File {
    path: PathBuf,
    /// As messages name it.
    pub(super) place: String,
    identity: Identity,
    /// Nobody writes.
    read_only: bool,
}

impl File {
    pub(super) fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        let place = format!("`{}`", path.display());
        let _alone = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
        create(path, &place)?;
        // An absolute path: SQLite gives some relative ones a meaning of their own.
        let path = path.canonicalize().map_err(|error| of_system(&place, &error))?;
        let identity = Identity::of(&path).map_err(|error| of_system(&place, &error))?;
        Ok(Self { path, place, identity, read_only: false })
    }

    /// A file that is there, to look at it.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let place = format!("`{}`", path.display());
        let failed = |error: std::io::Error| of_system(&place, &error);
        let path = path.canonicalize().map_err(failed)?;
        let identity = Identity::of(&path).map_err(failed)?;
        Ok(Self { path, place, identity, read_only: true })
    }

    /// That nothing was cut off the end: SQLite reads what is missing of the last page as zeros.
    pub(super) fn check_whole(&self, connection: &Connection) -> Result<(), StoreError> {
        let page: u32 = connection
            .query_row("PRAGMA page_size", [], |row| row.get(0))
            .map_err(|error| of_sqlite(&self.place, &error))?;
        let length = fs::metadata(&self.path).map_err(|error| of_system(&self.place, &error))?.len();
        if length % u64::from(page) == 0 {
            return Ok(());
        }
        Err(StoreError::Corrupt(format!(
            "{} was cut off in the middle of a page; restore it from a backup",
            self.place
        )))
    }

    /// A connection that writes.
    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        self.check()?;
        if self.read_only {
            return Err(StoreError::ReadOnly(self.place.clone()));
        }
        let _alone = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.open(flags)?;
        // SQLite opens what it may not write to for reading, and fails later in other words.
        if connection.is_readonly("main").map_err(|error| of_sqlite(&self.place, &error))? {
            return Err(StoreError::ReadOnly(self.place.clone()));
        }
        // Takes effect in a new file only. Rows of a decision have about a kilobyte: on smaller pages a
        // seventh of the room stays empty.
        self.set(&connection, "page_size", PAGE_BYTES)?;
        self.use_write_ahead_log(&connection)?;
        self.set(&connection, "synchronous", "FULL")?;
        self.set(&connection, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        Ok(connection)
    }

    pub(super) fn connect_and_migrate(&self) -> Result<Connection, StoreError> {
        let mut connection = self.connect()?;
        schema::migrate(&mut connection, &self.place)?;
        if let Some(folder) = self.path.parent() {
            sync_folder(folder).map_err(|error| of_system(&self.place, &error))?;
        }
        Ok(connection)
    }

    /// A connection that only reads.
    pub(super) fn connect_reader(&self) -> Result<Connection, StoreError> {
        self.check()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.open(flags)?;
        // SQLite makes files beside the one that it reads. Where it cannot, nobody else can write either.
        let looked = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        match looked {
            Err(error)
                if self.read_only
                    && error.sqlite_error_code() == Some(ErrorCode::CannotOpen)
                    && !self.has_log() =>
            {
                self.open_at(&self.as_it_stands(), flags | OpenFlags::SQLITE_OPEN_URI)
            }
            _ => Ok(connection),
        }
    }

    /// Whether the log has something that is not in the file yet.
    fn has_log(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
    }

    /// The URI by which SQLite takes the file for one that nobody changes.
    fn as_it_stands(&self) -> PathBuf {
        let path = self.path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        PathBuf::from(format!("file:{path}?immutable=1"))
    }

    fn open(&self, flags: OpenFlags) -> Result<Connection, StoreError> {
        self.open_at(&self.path, flags)
    }

    fn open_at(&self, path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
        let failed = |error: rusqlite::Error| of_sqlite(&self.place, &error);
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_handler(Some(waiting())).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
        self.set(&connection, "foreign_keys", "ON")?;
        Ok(connection)
    }

    fn set(&self, connection: &Connection, name: &str, value: &str) -> Result<(), StoreError> {
        connection.pragma_update(None, name, value).map_err(|error| of_sqlite(&self.place, &error))
    }

    /// Two processes that do this at once get in each other's way, without SQLite waiting for either.
    fn use_write_ahead_log(&self, connection: &Connection) -> Result<(), StoreError> {
        let start = Instant::now();
        loop {
            let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    return Err(StoreError::Unavailable(format!(
                        "{}: its file system has no shared memory, so that SQLite stays in mode `{mode}`; it needs \
                         a local disk",
                        self.place
                    )));
                }
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && start.elapsed() < LOCK_WAIT => {}
                Err(error) => return Err(of_sqlite(&self.place, &error)),
            }
            std::thread::sleep(LOCK_RETRY);
        }
    }

    /// The path still leads to the file that was opened.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let gone = |what: &str| StoreError::Unavailable(format!("{} {what} while it was open", self.place));
        match Identity::of(&self.path) {
            Ok(identity) if identity == self.identity => Ok(()),
            Ok(_) => Err(gone("was replaced")),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(gone("was removed")),
            Err(error) => Err(of_system(&self.place, &error)),
        }
    }
}

fn create(path: &Path, place: &str) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            sync_folder(folder.unwrap_or(Path::new("."))).map_err(|error| of_system(place, &error))
        }
        Err(_) if path.is_dir() => {
            Err(StoreError::Unavailable(format!("{place} is a folder, and the store is a file")))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::Unavailable(format!(
            "the folder of {place} does not exist; create it, or name another place for the store"
        ))),
        Err(error) => Err(of_system(place, &error)),
    }
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

fn of_system(place: &str, error: &std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full(place.to_owned()),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => StoreError::ReadOnly(place.to_owned()),
        _ => StoreError::Unavailable(format!("{place} cannot be opened: {error}")),
    }
}

/// Which file a path leads to.
#[derive(Clone, PartialEq, Eq)]
struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    #[cfg(unix)]
    fn of(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), number: metadata.ino() })
    }

    #[cfg(not(unix))]
    fn of(path: &Path) -> std::io::Result<Self> {
        fs::metadata(path).map(|_| Self { device: 0, number: 0 })
    }
}

/// Tries again soon and evenly: SQLite's own way waits ever longer, and of eight processes one may starve.
fn waiting() -> impl FnMut(i32) -> bool {
    let mut start = Instant::now();
    move |attempts| {
        if attempts == 0 {
            start = Instant::now();
        }
        std::thread::sleep(LOCK_RETRY);
        start.elapsed() < LOCK_WAIT
    }
}
