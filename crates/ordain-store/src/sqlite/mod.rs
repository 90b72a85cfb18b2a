//! The store on SQLite: one writer with group commit, and readers beside it.

mod error;
mod file;
mod read;
mod readers;
mod schema;
mod writer;

use crate::queue::{Answer, Queue, queue};
use crate::{Change, EntryRow, Head, MarkedView, Query, Record, StoreError, checks};
use file::File;
use ordain_canon::ContentHash;
use ordain_ledger::{TileId, Tiles};
use read::Rows;
use readers::Readers;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, spawn_blocking};
use writer::{SharedWriter, Writer};

/// How messages name a store without a file.
const IN_MEMORY: &str = "the store in memory";
/// Documents or entries that are read at once.
const FEW: usize = 4;

/// A connection that the writer and, in memory, readers use in turn.
type Shared = Arc<Mutex<Connection>>;

pub(crate) struct Sqlite {
    queue: Queue,
    writer: SharedWriter,
    readers: Arc<Readers>,
}

impl Sqlite {
    pub(crate) async fn in_memory() -> Result<Self, StoreError> {
        let connection = Connection::open_in_memory();
        let mut connection = connection.map_err(|error| error::of_sqlite(IN_MEMORY, &error))?;
        schema::migrate(&mut connection, IN_MEMORY)?;
        let shared = Arc::new(Mutex::new(connection));
        Self::start(Writer::new(None, Some(Arc::clone(&shared))), Readers::in_memory(shared))
    }

    pub(crate) async fn open(path: PathBuf) -> Result<Self, StoreError> {
        let opened = spawn_blocking(move || {
            let file = File::open_or_create(&path)?;
            let connection = file.connect_and_migrate()?;
            Ok((file, Arc::new(Mutex::new(connection))))
        });
        let (file, connection) = opened.await.map_err(|_| StoreError::Closed)??;
        Self::start(Writer::new(Some(file.clone()), Some(connection)), Readers::of_file(file))
    }

    pub(crate) async fn open_to_read(path: PathBuf) -> Result<Self, StoreError> {
        let opened = spawn_blocking(move || {
            let file = File::open_to_read(&path)?;
            let connection = file.connect_reader()?;
            schema::check(&connection, &file.place)?;
            file.check_whole(&connection)?;
            Ok(file)
        });
        let file = opened.await.map_err(|_| StoreError::Closed)??;
        Self::start(Writer::new(Some(file.clone()), None), Readers::of_file(file))
    }

    /// Copies a store as it is at this moment into a file that is there and empty. Others may write meanwhile.
    pub(crate) async fn copy(from: PathBuf, to: PathBuf) -> Result<(), StoreError> {
        let copied = spawn_blocking(move || {
            let file = File::open_to_read(&from)?;
            let connection = file.connect_reader()?;
            schema::check(&connection, &file.place)?;
            file.check_whole(&connection)?;
            let done = connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]);
            done.map(drop).map_err(|error| error::of_sqlite(&file.place, &error))
        });
        copied.await.map_err(|_| StoreError::Closed)?
    }

    fn start(writer: Writer, readers: Readers) -> Result<Self, StoreError> {
        let (queue, inbox) = queue();
        let writer = Arc::new(Mutex::new(Some(writer)));
        let shared = Arc::clone(&writer);
        let thread = std::thread::Builder::new().name("ordain-writer".to_owned());
        thread.spawn(move || writer::write_queued(&shared, inbox)).map_err(|error| {
            StoreError::Unavailable(format!("the thread that writes to the store does not start: {error}"))
        })?;
        Ok(Self { queue, writer, readers: Arc::new(readers) })
    }

    /// A caller that is alone writes in its own thread: it would wait for two changes of thread otherwise.
    /// The others share transactions.
    pub(crate) async fn commit(&self, change: Change) -> Answer {
        let runtime = Handle::current();
        if runtime.runtime_flavor() == RuntimeFlavor::MultiThread
            && self.queue.has_one_caller()
            && let Ok(mut writer) = self.writer.try_lock()
        {
            let Some(writer) = writer.as_mut() else { return Err(StoreError::Closed) };
            checks::guards(&change.guards)?;
            let write = || writer.write_alone(change, self.queue.counts());
            // Nobody else gets here meanwhile, so that the other threads serve everybody else. A thread that is
            // alone hands its work to a new one, which takes longer than the writing.
            return if runtime.metrics().num_workers() > 1 { write() } else { block_in_place(write) };
        }
        self.queue.commit(change).await
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        self.readers.close().await;
        self.queue.close().await
    }

    pub(crate) async fn head(&self) -> Result<Head, StoreError> {
        self.read_few(|rows| rows.head()).await
    }

    pub(crate) async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        let (kind, id) = (kind.to_owned(), id.to_owned());
        self.read_few(move |rows| rows.record(&kind, &id)).await
    }

    pub(crate) async fn records_of(&self, keys: &[(&str, &str)]) -> Result<Vec<Option<Record>>, StoreError> {
        let keys: Vec<(String, String)> =
            keys.iter().map(|(kind, id)| ((*kind).to_owned(), (*id).to_owned())).collect();
        self.read_few(move |rows| keys.iter().map(|(kind, id)| rows.record(kind, id)).collect()).await
    }

    pub(crate) async fn records(&self, query: &Query) -> Result<Vec<Record>, StoreError> {
        let query = query.clone();
        self.read(move |rows| rows.records(&query)).await
    }

    pub(crate) async fn ids(
        &self,
        kind: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let (kind, prefix) = (kind.to_owned(), prefix.to_owned());
        self.read(move |rows| rows.ids(&kind, &prefix, limit)).await
    }

    pub(crate) async fn documents(&self, hashes: &[ContentHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let hashes = hashes.to_vec();
        match hashes.len() {
            0..=FEW => self.read_few(move |rows| rows.documents(&hashes)).await,
            _ => self.read(move |rows| rows.documents(&hashes)).await,
        }
    }

    pub(crate) async fn entries(&self, from: u64, limit: usize) -> Result<Vec<EntryRow>, StoreError> {
        match limit {
            0..=FEW => self.read_few(move |rows| rows.entries(from, limit)).await,
            _ => self.read(move |rows| rows.entries(from, limit)).await,
        }
    }

    pub(crate) async fn marked_view(
        &self,
        kind: &str,
        id: &str,
        after: u64,
    ) -> Result<MarkedView, StoreError> {
        let (kind, id) = (kind.to_owned(), id.to_owned());
        self.read_few(move |rows| rows.marked_view(&kind, &id, after)).await
    }

    pub(crate) async fn attached(&self, index: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        self.read_few(move |rows| rows.attached(index)).await
    }

    pub(crate) async fn tiles(&self, ids: &BTreeSet<TileId>, size: u64) -> Result<Tiles, StoreError> {
        let ids = ids.clone();
        self.read(move |rows| rows.tiles_of_snapshot(&ids, size)).await
    }

    async fn read_few<T: Send + 'static>(
        &self,
        work: impl FnOnce(Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.queue.is_closed() {
            return Err(StoreError::Closed);
        }
        self.queue.count_read();
        Readers::read_few(&self.readers, work).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.queue.is_closed() {
            return Err(StoreError::Closed);
        }
        self.queue.count_read();
        Readers::read(&self.readers, work).await
    }
}
