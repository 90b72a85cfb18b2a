//! The handle that everybody holds, and the way to one of the two implementations.

use crate::limits::{DOCUMENTS_MAX, LIST_MAX, TILES_MAX};
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::{
    Change, Committed, Counters, EntryRow, Head, Location, MarkedView, Query, Record, StoreError, checks,
    limits,
};
use ordain_canon::ContentHash;
use ordain_ledger::{
    Hash, ProofError, TileId, Tiles, consistency_proof, inclusion_proof, tiles_for_consistency,
    tiles_for_inclusion,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A ledger with its documents and records. Clones are handles on the same one.
#[derive(Clone)]
pub struct Store {
    engine: Arc<Engine>,
}

enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Opens a store. It is created if there is none, and its tables are brought to the newest version; a store of a
    /// newer program is refused. Must be called within a tokio runtime.
    pub async fn open(location: &Location) -> Result<Self, StoreError> {
        let engine = match location {
            Location::Memory => Engine::Sqlite(Sqlite::in_memory().await?),
            Location::File(path) => Engine::Sqlite(Sqlite::open(path.clone()).await?),
            Location::Postgres(url) => Engine::Postgres(Postgres::open(url, location.to_string()).await?),
        };
        Ok(Self { engine: Arc::new(engine) })
    }

    /// Opens a store that is there, to look at it: nothing is created or brought to another version, and
    /// whatever would be written is refused. A SQLite file may be on a disk that cannot be written to. Must
    /// be called within a tokio runtime.
    pub async fn open_to_read(location: &Location) -> Result<Self, StoreError> {
        let engine = match location {
            Location::Memory => Engine::Sqlite(Sqlite::in_memory().await?),
            Location::File(path) => Engine::Sqlite(Sqlite::open_to_read(path.clone()).await?),
            Location::Postgres(url) => {
                Engine::Postgres(Postgres::open_to_read(url, location.to_string()).await?)
            }
        };
        Ok(Self { engine: Arc::new(engine) })
    }

    /// Copies a SQLite store as it is at this moment into a file that is there and empty. Others may write
    /// meanwhile. Must be called within a tokio runtime.
    pub async fn copy_file(from: &Path, to: &Path) -> Result<(), StoreError> {
        Sqlite::copy(from.to_owned(), to.to_owned()).await
    }

    /// Writes all or nothing, durably when it returns. Many callers at once share one transaction and one
    /// sync. A change that was accepted is written even if nobody waits for the answer any more.
    pub async fn commit(&self, change: Change) -> Result<Committed, StoreError> {
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.commit(change).await,
            Engine::Postgres(postgres) => postgres.queue().commit(change).await,
        }
    }

    // A query to a server needs much room while it waits; it is boxed, so that queries to a file do not carry
    // it too.

    /// The end of the ledger.
    pub async fn head(&self) -> Result<Head, StoreError> {
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.head().await,
            Engine::Postgres(postgres) => Box::pin(postgres.head()).await,
        }
    }

    /// One record.
    pub async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        checks::name(kind, id)?;
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.record(kind, id).await,
            Engine::Postgres(postgres) => Box::pin(postgres.record(kind, id)).await,
        }
    }

    /// Several records in one look at the database, in the order of the keys (kind and id).
    pub async fn records_of(&self, keys: &[(&str, &str)]) -> Result<Vec<Option<Record>>, StoreError> {
        checks::length("a list of records", keys.len(), limits::GUARDS_MAX)?;
        keys.iter().try_for_each(|(kind, id)| checks::name(kind, id))?;
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.records_of(keys).await,
            Engine::Postgres(postgres) => Box::pin(postgres.records_of(keys)).await,
        }
    }

    /// Records of a kind in the order of their last change, or the other way round; those of one change by id.
    pub async fn records(&self, query: &Query) -> Result<Vec<Record>, StoreError> {
        checks::length("a listing", query.limit, LIST_MAX)?;
        checks::name(&query.kind, query.after.as_ref().map_or("", |(_, id)| id))?;
        checks::text("the state of a record", query.state.as_deref().unwrap_or(""), limits::KIND_BYTES_MAX)?;
        let found = match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.records(query).await,
            Engine::Postgres(postgres) => Box::pin(postgres.records(query)).await,
        }?;
        self.count_rows(found.len());
        Ok(found)
    }

    /// The ids of a kind that begin with a text, in their order.
    pub async fn ids(&self, kind: &str, prefix: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        checks::length("a listing", limit, LIST_MAX)?;
        checks::name(kind, prefix)?;
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.ids(kind, prefix, limit).await,
            Engine::Postgres(postgres) => Box::pin(postgres.ids(kind, prefix, limit)).await,
        }
    }

    /// One document.
    pub async fn document(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.documents(std::slice::from_ref(hash)).await?.pop().flatten())
    }

    /// Documents in the order of the hashes; `None` for what is not there.
    pub async fn documents(&self, hashes: &[ContentHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        checks::length("a list of documents", hashes.len(), DOCUMENTS_MAX)?;
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.documents(hashes).await,
            Engine::Postgres(postgres) => Box::pin(postgres.documents(hashes)).await,
        }
    }

    /// Entries from an index on, as stored; fewer than asked for if they are many bytes, and none only at the end.
    pub async fn entries(&self, from: u64, limit: usize) -> Result<Vec<EntryRow>, StoreError> {
        let found = match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.entries(from, limit).await,
            Engine::Postgres(postgres) => Box::pin(postgres.entries(from, limit)).await,
        }?;
        self.count_rows(found.len());
        Ok(found)
    }

    fn count_rows(&self, rows: usize) {
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.queue().count_rows(rows),
            Engine::Postgres(postgres) => postgres.queue().count_rows(rows),
        }
    }

    /// A record, the last entry, and up to [`limits::MARKED_MAX`] entries whose mark is greater than one that
    /// is known: in one look at the database, so that they fit each other. Whether a mark is missing, the
    /// caller tells.
    pub async fn marked_view(&self, kind: &str, id: &str, after: u64) -> Result<MarkedView, StoreError> {
        checks::name(kind, id)?;
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.marked_view(kind, id, after).await,
            Engine::Postgres(postgres) => Box::pin(postgres.marked_view(kind, id, after)).await,
        }
    }

    /// The documents of the change that an entry belongs to, if they were attached to it.
    pub async fn attached(&self, index: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.attached(index).await,
            Engine::Postgres(postgres) => Box::pin(postgres.attached(index)).await,
        }
    }

    /// Tiles as they are in a ledger of that size, which may be an earlier one.
    pub async fn tiles(&self, ids: &BTreeSet<TileId>, size: u64) -> Result<Tiles, StoreError> {
        checks::length("a list of tiles", ids.len(), TILES_MAX)?;
        if let Some(id) = ids.iter().find(|id| id.width_in(size) == 0) {
            return Err(StoreError::Beyond { asked: id.index, size });
        }
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.tiles(ids, size).await,
            Engine::Postgres(postgres) => Box::pin(postgres.tiles(ids, size)).await,
        }
    }

    /// The proof that the entry is in the ledger of that size.
    pub async fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, StoreError> {
        if index >= size {
            return Err(StoreError::Beyond { asked: index, size });
        }
        let tiles = self.tiles(&tiles_for_inclusion(index, size), size).await?;
        inclusion_proof(index, size, &tiles).map_err(|error| proof_error(&error))
    }

    /// The proof that the newer ledger begins with the older one.
    pub async fn consistency(&self, old: u64, new: u64) -> Result<Vec<Hash>, StoreError> {
        if old > new {
            return Err(StoreError::Beyond { asked: old, size: new });
        }
        let tiles = self.tiles(&tiles_for_consistency(old, new), new).await?;
        consistency_proof(old, new, &tiles).map_err(|error| proof_error(&error))
    }

    /// Writes what was accepted, then ends the writer. Other handles on this store are closed as well.
    pub async fn close(self) -> Result<(), StoreError> {
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.close().await,
            Engine::Postgres(postgres) => postgres.queue().close().await,
        }
    }

    /// Counts of the writer's work since this store was opened.
    pub fn counters(&self) -> Counters {
        match self.engine.as_ref() {
            Engine::Sqlite(sqlite) => sqlite.queue().counters(),
            Engine::Postgres(postgres) => postgres.queue().counters(),
        }
    }
}

fn proof_error(error: &ProofError) -> StoreError {
    StoreError::Corrupt(format!("no proof can be made: {error}"))
}
