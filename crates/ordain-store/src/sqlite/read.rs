//! Reads rows. The writer uses the same inside its transaction.

use super::error::of_sqlite;
use crate::limits::{ENTRIES_BYTES_MAX, LIST_MAX, MARKED_MAX};
use crate::rows::end_of;
use crate::tree::{
    attached_of, cut, document_of, from_bytes, hash_of, leaf_hashes_of, leaves_of, to_signed, to_unsigned,
};
use crate::{EntryRow, Head, MarkedView, Query, Record, StoreError};
use ordain_canon::ContentHash;
use ordain_ledger::{Hash, TileId, Tiles};
use rusqlite::{Connection, OptionalExtension, Params, Row};
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) connection: &'a Connection,
    pub(super) place: &'a str,
}

impl Rows<'_> {
    pub(super) fn head(self) -> Result<Head, StoreError> {
        let (size, root) = self
            .one("SELECT size, root FROM head", [], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?
            .ok_or_else(|| StoreError::Corrupt(format!("{} has lost the ledger's head", self.place)))?;
        Ok(Head { size: to_unsigned(size)?, root: hash_of(&root)? })
    }

    pub(super) fn version(self, kind: &str, id: &str) -> Result<u64, StoreError> {
        let sql = "SELECT version FROM records WHERE kind = ?1 AND id = ?2";
        to_unsigned(self.one(sql, (kind, id), |row| row.get(0))?.unwrap_or_default())
    }

    pub(super) fn record(self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        let sql =
            "SELECT kind, id, version, state, body, changed_at FROM records WHERE kind = ?1 AND id = ?2";
        self.one(sql, (kind, id), record_row)?.map(record_of).transpose()
    }

    /// Records of all states come from one list for each state: another index would cost every write more
    /// than it spares a listing.
    pub(super) fn records(self, query: &Query) -> Result<Vec<Record>, StoreError> {
        let limit = query.limit.min(LIST_MAX);
        if let Some(state) = &query.state {
            return self.records_in(query, state, limit);
        }
        let states = "WITH RECURSIVE found (state) AS ( \
                      SELECT min(state) FROM records WHERE kind = ?1 \
                      UNION ALL SELECT (SELECT min(state) FROM records WHERE kind = ?1 AND state > found.state) \
                      FROM found WHERE found.state IS NOT NULL) SELECT state FROM found WHERE state IS NOT NULL";
        let mut records = Vec::new();
        for state in self.all(states, [&query.kind], |row| row.get::<_, String>(0))? {
            records.extend(self.records_in(query, &state, limit)?);
        }
        records.sort_by(|left, right| (left.changed_at, &left.id).cmp(&(right.changed_at, &right.id)));
        if query.newest_first {
            records.reverse();
        }
        records.truncate(limit);
        Ok(records)
    }

    fn records_in(self, query: &Query, state: &str, limit: usize) -> Result<Vec<Record>, StoreError> {
        let (changed_at, id) = match &query.after {
            Some((changed_at, id)) => (to_signed(*changed_at)?, id.as_str()),
            None if query.newest_first => (i64::MAX, ""),
            None => (-1, ""),
        };
        let limit = i64::try_from(limit).unwrap_or_default();
        let sql = if query.newest_first {
            "SELECT kind, id, version, state, body, changed_at FROM records WHERE kind = ?1 AND state = ?2 \
             AND (changed_at, id) < (?3, ?4) ORDER BY changed_at DESC, id DESC LIMIT ?5"
        } else {
            "SELECT kind, id, version, state, body, changed_at FROM records WHERE kind = ?1 AND state = ?2 \
             AND (changed_at, id) > (?3, ?4) ORDER BY changed_at, id LIMIT ?5"
        };
        let rows = self.all(sql, (&query.kind, state, changed_at, id, limit), record_row)?;
        rows.into_iter().map(record_of).collect()
    }

    pub(super) fn ids(self, kind: &str, prefix: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or_default();
        let sql = "SELECT id FROM records WHERE kind = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT ?4";
        self.all(sql, (kind, prefix, end_of(prefix), limit), |row| row.get::<_, String>(0))
    }

    pub(super) fn documents(self, hashes: &[ContentHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let read = |hash: &ContentHash| {
            let sql = "SELECT bytes FROM documents WHERE hash = ?1";
            let found = self.one(sql, [hash.as_bytes().as_slice()], |row| row.get::<_, Vec<u8>>(0))?;
            found.map(|bytes| document_of(hash, bytes)).transpose()
        };
        hashes.iter().map(read).collect()
    }

    pub(super) fn entries(self, from: u64, limit: usize) -> Result<Vec<EntryRow>, StoreError> {
        let failed = |error: rusqlite::Error| of_sqlite(self.place, &error);
        let Ok(from) = to_signed(from) else { return Ok(Vec::new()) };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT position, bytes, leaf_hash, attached, mark FROM entries WHERE position >= ?1 ORDER BY position LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query((from, limit)).map_err(failed)?;
        let mut entries: Vec<EntryRow> = Vec::new();
        let mut total = 0;
        while let Some(row) = rows.next().map_err(failed)? {
            let bytes: Vec<u8> = row.get(1).map_err(failed)?;
            let packed: Option<Vec<u8>> = row.get(3).map_err(failed)?;
            total += bytes.len() + packed.as_ref().map_or(0, Vec::len);
            if total > ENTRIES_BYTES_MAX && !entries.is_empty() {
                break;
            }
            let index = to_unsigned(row.get(0).map_err(failed)?)?;
            let leaf_hash = hash_of(&row.get::<_, Vec<u8>>(2).map_err(failed)?)?;
            let attached = attached_of(index, packed.as_deref()).unwrap_or_default();
            let mark: Option<i64> = row.get(4).map_err(failed)?;
            let mark = mark.map(to_unsigned).transpose()?;
            entries.push(EntryRow { index, bytes, leaf_hash, attached, mark });
        }
        Ok(entries)
    }

    /// The documents of the nearest entry at or before an index that has any.
    pub(super) fn attached(self, index: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        let Ok(index) = to_signed(index) else { return Ok(Vec::new()) };
        let sql = "SELECT position, attached FROM entries WHERE position <= ?1 AND attached IS NOT NULL \
                   ORDER BY position DESC LIMIT 1";
        let found = self.one(sql, [index], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        match found {
            Some((position, packed)) => attached_of(to_unsigned(position)?, Some(&packed)),
            None => Ok(Vec::new()),
        }
    }

    /// A record, the last entry and the entries with a later mark, in one look at the database.
    pub(super) fn marked_view(self, kind: &str, id: &str, after: u64) -> Result<MarkedView, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let _ends_on_drop = snapshot.map_err(|error| of_sqlite(self.place, &error))?;
        let record = self.record(kind, id)?;
        let sql = "SELECT position, bytes, leaf_hash, mark FROM entries WHERE position = (SELECT size - 1 FROM head)";
        let last = self.one(sql, [], bare_row)?.map(bare_entry_of).transpose()?;
        let sql =
            "SELECT position, bytes, leaf_hash, mark FROM entries WHERE mark > ?1 ORDER BY mark LIMIT ?2";
        let limit = i64::try_from(MARKED_MAX).unwrap_or(i64::MAX);
        let marked = self.all(sql, (to_signed(after)?, limit), bare_row)?;
        let marked = marked.into_iter().map(bare_entry_of).collect::<Result<_, _>>()?;
        Ok(MarkedView { record, last, marked })
    }

    /// The last entry alone.
    pub(super) fn last_entry(self, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT bytes FROM entries WHERE position = ?1";
        self.one(sql, [to_signed(index)?], |row| row.get(0))
    }

    /// The hashes of entries as stored; none may be missing.
    pub(super) fn leaf_hashes(self, range: Range<u64>) -> Result<Vec<Hash>, StoreError> {
        let sql = "SELECT position, leaf_hash FROM entries WHERE position >= ?1 AND position < ?2 ORDER BY position";
        let bounds = (to_signed(range.start)?, to_signed(range.end)?);
        let rows = self.all(sql, bounds, |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        leaf_hashes_of(range, rows)
    }

    /// Tiles of a ledger of that size, in one look at the database.
    pub(super) fn tiles_of_snapshot(self, ids: &BTreeSet<TileId>, size: u64) -> Result<Tiles, StoreError> {
        let snapshot = self.connection.unchecked_transaction();
        let _ends_on_drop = snapshot.map_err(|error| of_sqlite(self.place, &error))?;
        let head = self.head()?;
        if size > head.size {
            return Err(StoreError::Beyond { asked: size, size: head.size });
        }
        self.tiles(ids, size)
    }

    pub(super) fn tiles(self, ids: &BTreeSet<TileId>, size: u64) -> Result<Tiles, StoreError> {
        let mut found = Tiles::new();
        for id in ids {
            let key = (id.level, to_signed(id.index)?);
            let sql = "SELECT hashes FROM tiles WHERE level = ?1 AND position = ?2";
            let row = match self.one(sql, key, |row| row.get::<_, Vec<u8>>(0))? {
                Some(bytes) => from_bytes(&bytes)?,
                None if id.level == 0 => self.leaf_hashes(leaves_of(*id, size))?,
                None => continue,
            };
            found.insert(*id, row);
        }
        cut(ids, size, found)
    }

    fn one<T>(
        self,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let statement = self.connection.prepare_cached(sql);
        let row = statement.and_then(|mut statement| statement.query_row(parameters, read).optional());
        row.map_err(|error| of_sqlite(self.place, &error))
    }

    fn all<T>(
        self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let statement = self.connection.prepare_cached(sql);
        let rows = statement.and_then(|mut statement| statement.query_map(parameters, read)?.collect());
        rows.map_err(|error| of_sqlite(self.place, &error))
    }
}

type BareRow = (i64, Vec<u8>, Vec<u8>, Option<i64>);

fn bare_row(row: &Row<'_>) -> rusqlite::Result<BareRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn bare_entry_of((index, bytes, leaf_hash, mark): BareRow) -> Result<EntryRow, StoreError> {
    let (index, mark) = (to_unsigned(index)?, mark.map(to_unsigned).transpose()?);
    Ok(EntryRow { index, bytes, leaf_hash: hash_of(&leaf_hash)?, attached: Vec::new(), mark })
}

type RecordRow = (String, String, i64, String, String, i64);

fn record_row(row: &Row<'_>) -> rusqlite::Result<RecordRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

fn record_of((kind, id, version, state, body, changed_at): RecordRow) -> Result<Record, StoreError> {
    let (version, changed_at) = (to_unsigned(version)?, to_unsigned(changed_at)?);
    Ok(Record { kind, id, version, state, body, changed_at })
}
