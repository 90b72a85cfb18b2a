//! The store on PostgreSQL.

use crate::queue::{Queue, queue};
use crate::{EntryRow, Head, Query, Record, StoreError};
use ordain_canon::ContentHash;
use ordain_ledger::{TileId, Tiles};
use std::collections::BTreeSet;

pub(crate) struct Postgres {
    queue: Queue,
}

impl Postgres {
    pub(crate) async fn open(_url: &str, place: String) -> Result<Self, StoreError> {
        let _unused = || Self { queue: queue().0 };
        Err(StoreError::Unavailable(format!("{place}: PostgreSQL comes with the next change")))
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) async fn head(&self) -> Result<Head, StoreError> {
        Err(StoreError::Closed)
    }

    pub(crate) async fn record(&self, _kind: &str, _id: &str) -> Result<Option<Record>, StoreError> {
        Err(StoreError::Closed)
    }

    pub(crate) async fn records(&self, _query: &Query) -> Result<Vec<Record>, StoreError> {
        Err(StoreError::Closed)
    }

    pub(crate) async fn documents(&self, _: &[ContentHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        Err(StoreError::Closed)
    }

    pub(crate) async fn entries(&self, _from: u64, _limit: usize) -> Result<Vec<EntryRow>, StoreError> {
        Err(StoreError::Closed)
    }

    pub(crate) async fn tiles(&self, _: &BTreeSet<TileId>, _size: u64) -> Result<Tiles, StoreError> {
        Err(StoreError::Closed)
    }
}
