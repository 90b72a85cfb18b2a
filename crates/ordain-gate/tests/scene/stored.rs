//! A gate that `ann` owns, in a file or in a PostgreSQL database, and what somebody with SQL does to its rows.

use super::owner::{key, owned_on};
use super::{NOW, Scene, proposal};
use ed25519_dalek::SigningKey;
use ordain_decision::PolicyFiles;
use ordain_gate::{Clock, Gate, GateError, Settings, check_records};
use ordain_store::{Location, Store};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_postgres::NoTls;

/// Where the rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Postgres,
}

/// A row, to put it back later: kind, id, version, state, body.
pub(crate) type Row = (String, String, i64, String, String);

/// A gate that `ann` owns.
pub(crate) struct Stored {
    pub(crate) scene: Scene,
    pub(crate) ann: SigningKey,
    location: Location,
    kind: Kind,
    /// The folder of a file, or the name of a database.
    place: String,
}

impl Stored {
    pub(crate) async fn new(kind: Kind) -> Self {
        let (location, place) = Self::place(kind);
        let store = Store::open(&location).await.unwrap();
        let (scene, ann) = owned_on(Scene::on(store).await).await;
        Self { scene, ann, location, kind, place }
    }

    /// A gate that nobody owns, with these policies.
    pub(crate) async fn open_gate(kind: Kind, files: &PolicyFiles) -> Self {
        let (location, place) = Self::place(kind);
        let scene = Scene::on(Store::open(&location).await.unwrap()).await;
        scene.gate.set_policy(&scene.operator, files).await.unwrap();
        Self { scene, ann: key(1), location, kind, place }
    }

    fn place(kind: Kind) -> (Location, String) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("ordain_rows_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        match kind {
            Kind::File => {
                let folder = std::env::temp_dir().join(name);
                std::fs::create_dir(&folder).unwrap();
                (Location::File(folder.join("ordain.db")), folder.display().to_string())
            }
            Kind::Postgres => {
                execute(&server_url(), &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"));
                let url = server_url();
                let (server, _) = url.rsplit_once('/').unwrap();
                (Location::parse(&format!("{server}/{name}")), name)
            }
        }
    }

    /// Runs SQL behind the store's back; tables are named as in a file.
    pub(crate) fn sql(&self, sql: &str) {
        match &self.location {
            Location::Postgres(url) => execute(url, &format!("SET search_path = ordain; {sql}")),
            _ => self.connection().execute_batch(sql).unwrap(),
        }
    }

    /// Removes a member of the JSON of a kind of rows.
    pub(crate) fn remove_member(&self, kind: &str, member: &str) {
        let body = match self.kind {
            Kind::File => format!("json_remove(body, '$.{member}')"),
            Kind::Postgres => format!("(body::jsonb - '{member}')::text"),
        };
        self.sql(&format!("UPDATE records SET body = {body} WHERE kind = '{kind}'"));
    }

    /// The row as it is now.
    pub(crate) fn row(&self, kind: &str) -> Row {
        let sql = format!("SELECT kind, id, version, state, body FROM records WHERE kind = '{kind}'");
        match &self.location {
            Location::Postgres(url) => {
                let url = url.clone();
                let sql = sql.replace("FROM records", "FROM ordain.records");
                on_thread(async move {
                    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
                    tokio::spawn(connection);
                    let row = client.query_one(&sql, &[]).await.unwrap();
                    (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4))
                })
            }
            _ => {
                let read = |row: &rusqlite::Row<'_>| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                };
                self.connection().query_row(&sql, [], read).unwrap()
            }
        }
    }

    /// Puts a row back under the version that it had.
    pub(crate) fn put_back(&self, (kind, id, version, state, body): &Row) {
        let body = body.replace('\'', "''");
        self.sql(&format!(
            "UPDATE records SET version = {version}, state = '{state}', body = '{body}' WHERE kind = '{kind}' AND id = '{id}'"
        ));
    }

    fn connection(&self) -> Connection {
        let Location::File(path) = &self.location else { panic!("no file") };
        let connection = Connection::open(path).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
        connection
    }

    pub(crate) async fn store(&self) -> Store {
        Store::open(&self.location).await.unwrap()
    }

    /// Another process.
    pub(crate) async fn open(&self) -> Result<Gate, GateError> {
        let clock = Clock::of(|| NOW);
        Gate::open(self.store().await, self.scene.gate.keyring(), clock, Settings::default()).await
    }

    pub(crate) async fn other(&self) -> Scene {
        let gate = self.open().await.unwrap();
        Scene { gate, hands: self.scene.hands.clone(), operator: self.scene.operator.clone() }
    }

    /// A process that knows the record from memory decides nothing by what was put back under the version
    /// that it knows.
    pub(crate) async fn is_refused_from_memory(&self, says: &str) {
        let text = proposal("after", "read").to_string();
        let submitted = self.scene.gate.submit(&self.scene.operator, text.as_bytes(), None).await;
        check_damaged(submitted.map(drop), says);
    }

    /// Nothing is decided any more by a process that reads the record. The ledger can still be read, and
    /// `fsck` says what is wrong.
    pub(crate) async fn is_refused(&self, says: &str) {
        check_damaged(self.scene.gate.gate_status().await.map(drop), says);
        check_damaged(self.open().await.map(drop), says);
        let (keyring, clock) = (self.scene.gate.keyring(), Clock::of(|| NOW));
        let looked = Gate::open_to_look(self.store().await, keyring, clock, Settings::default()).await;
        let gate = looked.unwrap();
        assert!(gate.ledger_entries(0, 10).await.unwrap().len() > 3);
        check_damaged(gate.gate_status().await.map(drop), says);
        assert_ne!(check_records(gate.store()).await.unwrap(), []);
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        match self.kind {
            Kind::File => drop(std::fs::remove_dir_all(PathBuf::from(&self.place))),
            Kind::Postgres => execute(&server_url(), &format!("DROP DATABASE {} WITH (FORCE)", self.place)),
        }
    }
}

#[track_caller]
pub(crate) fn check_damaged(result: Result<(), GateError>, says: &str) {
    match result {
        Err(error @ GateError::Damaged(_)) => {
            let text = error.to_string();
            assert!(text.contains(says) && text.contains("ordain ledger fsck"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

fn server_url() -> String {
    std::env::var("ORDAIN_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("ORDAIN_TEST_POSTGRES names no server; run `cargo xtask test`, which starts one")
    })
}

fn execute(url: &str, sql: &str) {
    let (url, sql) = (url.to_owned(), sql.to_owned());
    on_thread(async move {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    });
}

/// On a thread of its own, so that it also works where a runtime runs.
fn on_thread<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let run =
        move || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work);
    std::thread::spawn(run).join().unwrap()
}
