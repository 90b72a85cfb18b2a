//! Reads rows. The writer uses the same in its turn.

use super::error::of_postgres;
use super::session::Session;
use crate::batch::Key;
use crate::limits::{ENTRIES_BYTES_MAX, LIST_MAX, MARKED_MAX, STATEMENT_WAIT};
use crate::rows::end_of;
use crate::tree::{
    attached_of, cut, document_of, from_bytes, hash_of, leaf_hashes_of, leaves_of, to_signed, to_unsigned,
};
use crate::{EntryRow, Head, MarkedView, Query, Record, StoreError};
use ordain_canon::ContentHash;
use ordain_ledger::{Hash, TileId, Tiles};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tokio::time::timeout;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Row, Statement};

/// Entries of one answer, however short they are.
const ENTRIES_MAX: i64 = 65_536;

type Parameter<'a> = &'a (dyn ToSql + Sync);

impl Session {
    pub(super) async fn head(&self) -> Result<Head, StoreError> {
        let rows = self.query(&self.sql.head, &[]).await?;
        self.head_of(&rows)
    }

    pub(super) fn head_of(&self, rows: &[Row]) -> Result<Head, StoreError> {
        let [row] = rows else { return Err(self.no_head()) };
        let root: Vec<u8> = self.column(row, 1)?;
        Ok(Head { size: to_unsigned(self.column(row, 0)?)?, root: hash_of(&root)? })
    }

    pub(super) fn no_head(&self) -> StoreError {
        StoreError::Corrupt(format!("{} has lost the ledger's head", self.place))
    }

    pub(super) async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        let rows = self.query(&self.sql.record, &[&kind, &id]).await?;
        rows.first().map(|row| self.record_of(row)).transpose()
    }

    pub(super) async fn records_of(&self, keys: &[(&str, &str)]) -> Result<Vec<Option<Record>>, StoreError> {
        let (kinds, ids): (Vec<&str>, Vec<&str>) = keys.iter().copied().unzip();
        let mut found = BTreeMap::new();
        for row in self.query(&self.sql.records_of, &[&kinds, &ids]).await? {
            let record = self.record_of(&row)?;
            found.insert((record.kind.clone(), record.id.clone()), record);
        }
        let key = |(kind, id): &(&str, &str)| ((*kind).to_owned(), (*id).to_owned());
        Ok(keys.iter().map(|names| found.get(&key(names)).cloned()).collect())
    }

    pub(super) async fn ids(
        &self,
        kind: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        let (end, limit) = (end_of(prefix), i64::try_from(limit).unwrap_or_default());
        let page: [Parameter<'_>; 4] = [&kind, &prefix, &end, &limit];
        let rows = self.query(&self.sql.ids, &page).await?;
        rows.iter().map(|row| self.column(row, 0)).collect()
    }

    pub(super) async fn records(&self, query: &Query) -> Result<Vec<Record>, StoreError> {
        let (changed_at, id) = match &query.after {
            Some((changed_at, id)) => (to_signed(*changed_at)?, id.as_str()),
            None if query.newest_first => (i64::MAX, ""),
            None => (-1, ""),
        };
        let limit = i64::try_from(query.limit.min(LIST_MAX)).unwrap_or_default();
        let rows = match &query.state {
            Some(state) => {
                let page: [Parameter<'_>; 5] = [&query.kind, &changed_at, &id, &limit, state];
                let sql = &self.sql;
                let sql = if query.newest_first { &sql.newest_in_state } else { &sql.records_in_state };
                self.query(sql, &page).await?
            }
            None => {
                let sql = if query.newest_first { &self.sql.newest } else { &self.sql.records };
                self.query(sql, &[&query.kind, &changed_at, &id, &limit]).await?
            }
        };
        rows.iter().map(|row| self.record_of(row)).collect()
    }

    fn record_of(&self, row: &Row) -> Result<Record, StoreError> {
        self.record_from(row, 0)
    }

    /// Reads a row from the first column on.
    fn record_from(&self, row: &Row, first: usize) -> Result<Record, StoreError> {
        Ok(Record {
            kind: self.column(row, first)?,
            id: self.column(row, first + 1)?,
            version: to_unsigned(self.column(row, first + 2)?)?,
            state: self.column(row, first + 3)?,
            body: self.column(row, first + 4)?,
            changed_at: to_unsigned(self.column(row, first + 5)?)?,
        })
    }

    /// A record, the last entry and the entries with a later mark: one statement, which sees one moment.
    pub(super) async fn marked_view(
        &self,
        kind: &str,
        id: &str,
        after: u64,
    ) -> Result<MarkedView, StoreError> {
        let (after, limit) = (to_signed(after)?, i64::try_from(MARKED_MAX).unwrap_or(i64::MAX));
        let mut view = MarkedView::default();
        for row in self.query(&self.sql.marked_view, &[&kind, &id, &after, &limit]).await? {
            match self.column::<String>(&row, 0)?.as_str() {
                "record" => view.record = Some(self.record_from(&row, 5)?),
                "last" => view.last = Some(self.bare_entry_of(&row)?),
                _ => view.marked.push(self.bare_entry_of(&row)?),
            }
        }
        view.marked.sort_by_key(|row| row.mark);
        Ok(view)
    }

    fn bare_entry_of(&self, row: &Row) -> Result<EntryRow, StoreError> {
        let leaf_hash: Vec<u8> = self.column(row, 3)?;
        let mark: Option<i64> = self.column(row, 4)?;
        Ok(EntryRow {
            index: to_unsigned(self.column(row, 1)?)?,
            bytes: self.column(row, 2)?,
            leaf_hash: hash_of(&leaf_hash)?,
            attached: Vec::new(),
            mark: mark.map(to_unsigned).transpose()?,
        })
    }

    pub(super) async fn documents(&self, hashes: &[ContentHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let names: Vec<&[u8]> = hashes.iter().map(|hash| hash.as_bytes().as_slice()).collect();
        let mut found: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for row in self.query(&self.sql.documents, &[&names]).await? {
            found.insert(self.column(&row, 0)?, self.column(&row, 1)?);
        }
        let read = |(hash, name): (&ContentHash, &&[u8])| {
            found.get(*name).map(|bytes| document_of(hash, bytes.clone())).transpose()
        };
        hashes.iter().zip(&names).map(read).collect()
    }

    pub(super) async fn entries(&self, from: u64, limit: usize) -> Result<Vec<EntryRow>, StoreError> {
        let Ok(from) = to_signed(from) else { return Ok(Vec::new()) };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX).min(ENTRIES_MAX);
        let bytes_max = i64::try_from(ENTRIES_BYTES_MAX).unwrap_or(i64::MAX);
        let rows = self.query(&self.sql.entries, &[&from, &limit, &bytes_max]).await?;
        let read = |row: &Row| {
            let leaf_hash: Vec<u8> = self.column(row, 2)?;
            let index = to_unsigned(self.column(row, 0)?)?;
            let packed: Option<Vec<u8>> = self.column(row, 3)?;
            let attached = attached_of(index, packed.as_deref()).unwrap_or_default();
            let mark: Option<i64> = self.column(row, 4)?;
            let mark = mark.map(to_unsigned).transpose()?;
            let (bytes, leaf_hash) = (self.column(row, 1)?, hash_of(&leaf_hash)?);
            Ok(EntryRow { index, bytes, leaf_hash, attached, mark })
        };
        rows.iter().map(read).collect()
    }

    /// The documents of the nearest entry at or before an index that has any.
    pub(super) async fn attached(&self, index: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        let Ok(index) = to_signed(index) else { return Ok(Vec::new()) };
        let rows = self.query(&self.sql.attached, &[&index]).await?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let packed: Vec<u8> = self.column(row, 1)?;
        attached_of(to_unsigned(self.column(row, 0)?)?, Some(&packed))
    }

    /// The hashes of entries as stored; none may be missing.
    pub(super) async fn leaf_hashes(&self, range: Range<u64>) -> Result<Vec<Hash>, StoreError> {
        let (start, end) = (to_signed(range.start)?, to_signed(range.end)?);
        let rows = self.query(&self.sql.leaf_hashes, &[&start, &end]).await?;
        let read = |row: &Row| Ok((self.column(row, 0)?, self.column(row, 1)?));
        leaf_hashes_of(range, rows.iter().map(read).collect::<Result<_, StoreError>>()?)
    }

    /// The records among those that are there.
    pub(super) async fn versions(&self, keys: &BTreeSet<Key>) -> Result<Vec<(Key, u64)>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let (kinds, ids): (Vec<&str>, Vec<&str>) =
            keys.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).unzip();
        let read = |row: Row| {
            let key = (self.column(&row, 0)?, self.column(&row, 1)?);
            Ok((key, to_unsigned(self.column(&row, 2)?)?))
        };
        self.query(&self.sql.versions, &[&kinds, &ids]).await?.into_iter().map(read).collect()
    }

    /// Only the last tile of level 0 is not stored as a tile, and it grows by rows that stay: two looks agree.
    pub(super) async fn tiles(&self, ids: &BTreeSet<TileId>, size: u64) -> Result<Tiles, StoreError> {
        let levels: Vec<i16> = ids.iter().map(|id| i16::from(id.level)).collect();
        let positions: Vec<i64> = ids.iter().map(|id| to_signed(id.index)).collect::<Result<_, _>>()?;
        let mut found = Tiles::new();
        for row in self.query(&self.sql.tiles, &[&levels, &positions]).await? {
            let level = u8::try_from(self.column::<i16>(&row, 0)?).unwrap_or(u8::MAX);
            let index = to_unsigned(self.column(&row, 1)?)?;
            found.insert(TileId { level, index }, from_bytes(&self.column::<Vec<u8>>(&row, 2)?)?);
        }
        for id in ids.iter().filter(|id| id.level == 0) {
            if !found.contains_key(id) {
                found.insert(*id, self.leaf_hashes(leaves_of(*id, size)).await?);
            }
        }
        cut(ids, size, found)
    }

    pub(super) async fn query(
        &self,
        statement: &Statement,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        match timeout(STATEMENT_WAIT, self.client.query(statement, parameters)).await {
            Ok(rows) => rows.map_err(|error| of_postgres(&self.place, &error)),
            Err(_) => Err(StoreError::Unavailable(format!(
                "{} has not answered for {} s",
                self.place,
                STATEMENT_WAIT.as_secs()
            ))),
        }
    }

    pub(super) fn column<T: FromSqlOwned>(&self, row: &Row, number: usize) -> Result<T, StoreError> {
        row.try_get(number).map_err(|error| {
            StoreError::Corrupt(format!("{} does not have the tables of a store: {error}", self.place))
        })
    }
}
