//! Connections that read beside the writer.

use super::file::File;
use super::read::Rows;
use super::{IN_MEMORY, Shared};
use crate::StoreError;
use crate::limits::READERS;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

const READERS_U32: u32 = READERS as u32;

pub(super) struct Readers {
    source: Source,
    turns: Arc<Semaphore>,
}

enum Source {
    /// There is only the writer's connection.
    Memory(Shared),
    File(Pool),
}

struct Pool {
    file: File,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn in_memory(connection: Shared) -> Self {
        Self { source: Source::Memory(connection), turns: Arc::new(Semaphore::new(1)) }
    }

    pub(super) fn of_file(file: File) -> Self {
        let pool = Pool { file, idle: Mutex::new(Vec::with_capacity(READERS)) };
        Self { source: Source::File(pool), turns: Arc::new(Semaphore::new(READERS)) }
    }

    pub(super) async fn read<T: Send + 'static>(
        readers: &Arc<Self>,
        work: impl FnOnce(Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&readers.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(readers);
        let done = spawn_blocking(move || {
            let result = readers.with_connection(work);
            drop(turn);
            result
        });
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Reads a few rows, at once where that is possible: handing so little to another thread takes longer
    /// than the work.
    pub(super) async fn read_few<T: Send + 'static>(
        readers: &Arc<Self>,
        work: impl FnOnce(Rows<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match &readers.source {
            Source::Memory(connection) => {
                if let Ok(connection) = connection.try_lock() {
                    return work(Rows { connection: &connection, place: IN_MEMORY });
                }
            }
            Source::File(pool) => {
                if let Ok(_turn) = readers.turns.try_acquire()
                    && let Some(connection) = pool.idle.try_lock().ok().and_then(|mut idle| idle.pop())
                {
                    pool.file.check()?;
                    return pool.work(connection, work);
                }
            }
        }
        Self::read(readers, work).await
    }

    /// Waits for those who read, and closes their connections: whoever is last to close a file copies its log
    /// into it, and a connection that only reads could not.
    pub(super) async fn close(&self) {
        let Source::File(pool) = &self.source else { return };
        let Ok(everybody) = self.turns.acquire_many(READERS_U32).await else { return };
        self.turns.close();
        pool.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        drop(everybody);
    }

    /// For a thread that may wait.
    fn with_connection<T>(
        &self,
        work: impl FnOnce(Rows<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.source {
            Source::Memory(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                work(Rows { connection: &connection, place: IN_MEMORY })
            }
            Source::File(pool) => {
                pool.file.check()?;
                let taken = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let connection = match taken {
                    Some(connection) => connection,
                    None => pool.file.connect_reader()?,
                };
                pool.work(connection, work)
            }
        }
    }
}

impl Pool {
    fn work<T>(
        &self,
        connection: Connection,
        work: impl FnOnce(Rows<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = work(Rows { connection: &connection, place: &self.file.place });
        // After an error a new connection is better than one in an unknown state.
        if result.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        result
    }
}
