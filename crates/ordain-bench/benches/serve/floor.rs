//! The floor: the least that a durable, signed answer takes. A bare axum handler reads the body, signs as
//! many bytes as a permit has, and one thread writes what an action comes to as rows of SQLite, one
//! transaction and one sync for all who wait. Nothing is judged, hashed, packed or guarded.

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use rusqlite::Connection;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// Bytes that a permit's signature covers.
const SIGNED_BYTES: usize = 1_100;
/// Bytes of an answer.
const ANSWER_BYTES: usize = 2_400;
/// The rows of an ALLOW: three entries, one of them with its documents, and the record.
const ROWS_BYTES: [usize; 4] = [850, 300, 300, 450];

struct Job {
    rows: [Vec<u8>; ROWS_BYTES.len()],
    done: oneshot::Sender<()>,
}

pub(crate) async fn start(path: &Path) -> SocketAddr {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA wal_autocheckpoint = 500;
             CREATE TABLE rows (position INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;",
        )
        .unwrap();
    let (jobs, inbox) = channel();
    std::thread::Builder::new()
        .name("floor-writer".to_owned())
        .spawn(move || write(&connection, &inbox))
        .unwrap();
    let key = Arc::new(key());
    let handler = move |body: axum::body::Bytes| answer(body, key.clone(), jobs.clone());
    let router = axum::Router::new().route("/v1/actions", axum::routing::post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// The quickest signer, as in the gate.
#[cfg(target_arch = "x86_64")]
fn key() -> impl Fn(&[u8]) -> [u8; 64] + Send + Sync + 'static {
    let key = graviola::signing::eddsa::Ed25519SigningKey::from_bytes(&[7; 32]).unwrap();
    move |message| key.sign(message)
}

#[cfg(not(target_arch = "x86_64"))]
fn key() -> impl Fn(&[u8]) -> [u8; 64] + Send + Sync + 'static {
    let key = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    move |message| key.sign(message).as_ref().try_into().unwrap()
}

async fn answer<S>(body: axum::body::Bytes, sign: Arc<S>, jobs: Sender<Job>) -> impl IntoResponse
where
    S: Fn(&[u8]) -> [u8; 64],
{
    let mut claims = body.to_vec();
    claims.resize(SIGNED_BYTES, b'x');
    let signature = sign(&claims);
    let rows = ROWS_BYTES.map(|bytes| {
        let mut row = signature.to_vec();
        row.resize(bytes, b'x');
        row
    });
    let (done, written) = oneshot::channel();
    jobs.send(Job { rows, done }).unwrap();
    written.await.unwrap();
    claims.resize(ANSWER_BYTES, b'x');
    (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json")], claims)
}

fn write(connection: &Connection, inbox: &Receiver<Job>) {
    while let Ok(first) = inbox.recv() {
        let jobs: Vec<Job> = std::iter::once(first).chain(inbox.try_iter()).collect();
        connection.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        let mut insert = connection.prepare_cached("INSERT INTO rows (bytes) VALUES (?1)").unwrap();
        for row in jobs.iter().flat_map(|job| &job.rows) {
            insert.execute([row]).unwrap();
        }
        connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
        for job in jobs {
            job.done.send(()).unwrap();
        }
    }
}
