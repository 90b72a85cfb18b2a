//! The store on PostgreSQL: one writer thread for each node, and readers on connections of their own.

mod error;
mod read;
mod readers;
mod schema;
mod session;
mod tls;
mod writer;

use crate::queue::{Queue, queue};
use crate::{EntryRow, Head, MarkedView, Query, Record, StoreError};
use ordain_canon::ContentHash;
use ordain_ledger::{TileId, Tiles};
use readers::Readers;
use session::{Server, Session};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::runtime;
use writer::Writer;

pub(crate) struct Postgres {
    queue: Queue,
    readers: Readers,
}

impl Postgres {
    pub(crate) async fn open(url: &str, place: String) -> Result<Self, StoreError> {
        let server = Arc::new(Server::parse(url, place)?);
        let mut client = server.connect().await?;
        schema::migrate(&mut client, &server.place).await?;
        drop(client);
        Self::start(server)
    }

    pub(crate) async fn open_to_read(url: &str, place: String) -> Result<Self, StoreError> {
        let server = Arc::new(Server::parse(url, place)?.only_to_read());
        let mut client = server.connect().await?;
        schema::check(&mut client, &server.place).await?;
        drop(client);
        Self::start(server)
    }

    fn start(server: Arc<Server>) -> Result<Self, StoreError> {
        let (queue, inbox) = queue();
        // A runtime of its own: what a change builds may take a while, and nobody else should wait for that.
        let failed = |error: std::io::Error| {
            StoreError::Unavailable(format!("the thread that writes to the store does not start: {error}"))
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let writer = Writer::new(Arc::clone(&server));
        let thread = std::thread::Builder::new().name("ordain-writer".to_owned());
        thread.spawn(move || runtime.block_on(writer.run(inbox))).map_err(failed)?;
        Ok(Self { queue, readers: Readers::new(server) })
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) async fn head(&self) -> Result<Head, StoreError> {
        self.session().await?.head().await
    }

    pub(crate) async fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, StoreError> {
        self.session().await?.record(kind, id).await
    }

    pub(crate) async fn records_of(&self, keys: &[(&str, &str)]) -> Result<Vec<Option<Record>>, StoreError> {
        self.session().await?.records_of(keys).await
    }

    pub(crate) async fn records(&self, query: &Query) -> Result<Vec<Record>, StoreError> {
        self.session().await?.records(query).await
    }

    pub(crate) async fn ids(
        &self,
        kind: &str,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.session().await?.ids(kind, prefix, limit).await
    }

    pub(crate) async fn documents(&self, hashes: &[ContentHash]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.session().await?.documents(hashes).await
    }

    pub(crate) async fn entries(&self, from: u64, limit: usize) -> Result<Vec<EntryRow>, StoreError> {
        self.session().await?.entries(from, limit).await
    }

    pub(crate) async fn marked_view(
        &self,
        kind: &str,
        id: &str,
        after: u64,
    ) -> Result<MarkedView, StoreError> {
        self.session().await?.marked_view(kind, id, after).await
    }

    pub(crate) async fn attached(&self, index: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        self.session().await?.attached(index).await
    }

    pub(crate) async fn tiles(&self, ids: &BTreeSet<TileId>, size: u64) -> Result<Tiles, StoreError> {
        let session = self.session().await?;
        let head = session.head().await?;
        if size > head.size {
            return Err(StoreError::Beyond { asked: size, size: head.size });
        }
        session.tiles(ids, size).await
    }

    async fn session(&self) -> Result<Arc<Session>, StoreError> {
        if self.queue.is_closed() {
            return Err(StoreError::Closed);
        }
        self.queue.count_read();
        self.readers.session().await
    }
}
