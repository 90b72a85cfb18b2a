//! The connection to a server breaks when a batch was sent: the caller is told that nobody knows, and finds out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_store::{Location, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use support::{Kind, Place, append, check_tree, runtime, set};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_postgres::config::Host;

/// The mark by which a batch is recognised.
const BODY: &str = r#"{"known":"by this"}"#;

/// The event when a batch comes by.
const NOTHING: u8 = 0;
/// The server never sees it.
const CUT_BEFORE: u8 = 1;
/// The server carries it out, and its answer is lost.
const CUT_AFTER: u8 = 2;

#[test]
fn a_lost_answer_is_uncertain() {
    let place = Place::new(Kind::Postgres);
    let Location::Postgres(url) = place.location.clone() else { panic!("no URL") };
    runtime().block_on(async {
        let mode = Arc::new(AtomicU8::new(NOTHING));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (_, database) = url.rsplit_once('/').unwrap();
        let location = Location::Postgres(format!("postgres://ordain@127.0.0.1:{port}/{database}"));
        tokio::spawn(proxy(listener, url.clone(), Arc::clone(&mode)));
        let store = Store::open(&location).await.unwrap();
        store.commit(set("k", "i", 0, "s", BODY)).await.unwrap();
        for (cut, version) in [(CUT_BEFORE, 1), (CUT_AFTER, 2), (CUT_BEFORE, 3), (CUT_AFTER, 4)] {
            mode.store(cut, Ordering::SeqCst);
            let before = store.record("k", "i").await.unwrap().unwrap().version;
            let error = store.commit(set("k", "i", before, "s", BODY)).await.unwrap_err();
            assert!(matches!(error, StoreError::Uncertain(_)), "{error}");
            mode.store(NOTHING, Ordering::SeqCst);
            // The next batch waits for its turn, which a batch on its way may still have.
            store.commit(append(vec![vec![cut]])).await.unwrap();
            let after = store.record("k", "i").await.unwrap().unwrap().version;
            assert_eq!(after - before, u64::from(cut == CUT_AFTER), "{version}");
        }
        check_tree(&store).await;
    });
}

fn contains(bytes: &[u8], words: &[u8]) -> bool {
    bytes.windows(words.len()).any(|window| window == words)
}

async fn proxy(listener: TcpListener, url: String, mode: Arc<AtomicU8>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        tokio::spawn(relay(client, url.clone(), Arc::clone(&mode)));
    }
}

async fn relay(mut client: TcpStream, url: String, mode: Arc<AtomicU8>) {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let Host::Unix(folder) = &config.get_hosts()[0] else {
        panic!("the server for tests has a local socket")
    };
    let mut server = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await.unwrap();
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(length @ 1..) = read else { return };
                let bytes = &from_client[..length];
                let batch = contains(bytes, BODY.as_bytes());
                let mode = mode.load(Ordering::SeqCst);
                if batch && mode == CUT_BEFORE {
                    return;
                }
                server.write_all(bytes).await.unwrap();
                if batch && mode == CUT_AFTER {
                    // Until the server has said that it is done.
                    let mut said = Vec::new();
                    while !contains(&said, b"SELECT 1\0") {
                        let length = server.read(&mut from_server).await.unwrap();
                        said.extend_from_slice(&from_server[..length]);
                    }
                    return;
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(length @ 1..) = read else { return };
                client.write_all(&from_server[..length]).await.unwrap();
            }
        }
    }
}
