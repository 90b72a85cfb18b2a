//! A store that is full, read-only, gone, damaged or somebody else’s: refused in clear words, nothing acknowledged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_store::{Location, Store, StoreError};
use std::fs;
use std::path::Path;
use support::{Folder, Kind, Place, append, check_tree, child, execute, runtime, set};

async fn refused(location: &Location) -> StoreError {
    match Store::open(location).await {
        Ok(_) => panic!("{location} was opened"),
        Err(error) => error,
    }
}

/// Runs the child where a file system of its own is mounted, which only it sees.
fn in_a_small_room(arguments: &[&str]) {
    let under = ["unshare", "--map-root-user", "--mount"];
    let output = child::command(&under, arguments).output().expect("unshare (Debian's package `util-linux`)");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    assert_eq!(child::lines(&output.stdout), ["done"]);
}

fn mount(words: &[&str]) {
    assert!(std::process::Command::new("mount").args(words).status().unwrap().success(), "{words:?}");
}

#[test]
fn a_full_disk() {
    let folder = Folder::new();
    in_a_small_room(&["full", folder.path.to_str().unwrap()]);
}

async fn fill(folder: &Path) {
    mount(&["-t", "tmpfs", "-o", "size=6m", "tmpfs", folder.to_str().unwrap()]);
    fs::write(folder.join("ballast"), vec![1; 1 << 20]).unwrap();
    let file = folder.join("ordain.db");
    let store = Store::open(&Location::File(file.clone())).await.unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match store.commit(append(vec![vec![7; 50_000]])).await {
            Ok(committed) => acknowledged = committed.size,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(error.to_string().contains("ordain.db`: no room is left"), "{error}");
    assert!(acknowledged > 5, "{acknowledged}");
    assert_eq!(store.head().await.unwrap().size, acknowledged);
    assert!(matches!(store.commit(append(vec![vec![7; 60_000]; 20])).await, Err(StoreError::Full(_))));
    assert_eq!(check_tree(&store).await.len() as u64, acknowledged);
    // With room it goes on where it was.
    fs::remove_file(folder.join("ballast")).unwrap();
    assert_eq!(store.commit(append(vec![vec![8; 100]])).await.unwrap().first_index, acknowledged);
    store.close().await.unwrap();
    let store = Store::open(&Location::File(file)).await.unwrap();
    assert_eq!(check_tree(&store).await.len() as u64, acknowledged + 1);
}

#[test]
fn a_read_only_disk() {
    let folder = Folder::new();
    in_a_small_room(&["read-only", folder.path.to_str().unwrap()]);
}

async fn read_only(folder: &Path) {
    let path = folder.to_str().unwrap();
    mount(&["-t", "tmpfs", "-o", "size=6m", "tmpfs", path]);
    let location = Location::File(folder.join("ordain.db"));
    let store = Store::open(&location).await.unwrap();
    store.commit(append(vec![vec![]])).await.unwrap();
    store.close().await.unwrap();
    mount(&["-o", "remount,ro", path]);
    for location in [location, Location::File(folder.join("new.db"))] {
        let error = refused(&location).await;
        assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    }
}

#[test]
#[ignore = "started by another test"]
fn child() {
    let arguments = child::arguments();
    let folder = Path::new(&arguments[1]);
    runtime().block_on(async {
        match arguments[0].as_str() {
            "full" => fill(folder).await,
            _ => read_only(folder).await,
        }
    });
    child::say("done");
}

#[test]
fn a_removed_or_replaced_file() {
    let place = Place::new(Kind::File);
    let file = place.file();
    runtime().block_on(async {
        let store = place.open().await;
        store.commit(append(vec![b"x".to_vec()])).await.unwrap();
        let away = file.with_extension("away");
        fs::rename(&file, &away).unwrap();
        let unavailable = async |words: &str| {
            for error in [
                store.commit(append(vec![b"lost".to_vec()])).await.err().unwrap(),
                store.head().await.err().unwrap(),
            ] {
                assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                assert!(error.to_string().contains(words), "{error}");
            }
        };
        unavailable("was removed").await;
        fs::write(&file, b"").unwrap();
        unavailable("was replaced").await;
        assert_eq!(fs::read(&file).unwrap(), b"", "what is not ours is left alone");
        fs::rename(&away, &file).unwrap();
        assert_eq!(store.commit(append(vec![b"y".to_vec()])).await.unwrap().first_index, 1);
        assert_eq!(check_tree(&store).await.len(), 2);
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
        unavailable("was removed").await;
    });
}

#[test]
fn what_is_no_store() {
    let folder = Folder::new();
    let at = |name: &str| Location::File(folder.path.join(name));
    runtime().block_on(async {
        let check = async |location: Location, words: &str| {
            let error = refused(&location).await;
            assert!(error.to_string().contains(words), "{error}");
            error
        };
        check(at("none/ordain.db"), "does not exist").await;
        check(at(""), "is a folder").await;
        check(Location::parse(""), "does not exist").await;
        fs::write(folder.path.join("text"), "Not a database, and long enough to see that. ".repeat(100))
            .unwrap();
        assert!(matches!(check(at("text"), "not an SQLite file").await, StoreError::Corrupt(_)));
        let other = rusqlite::Connection::open(folder.path.join("other")).unwrap();
        other.execute_batch("CREATE TABLE entries (x)").unwrap();
        assert!(matches!(check(at("other"), "another program").await, StoreError::Corrupt(_)));
        drop(other);
        // A file that lost its end.
        let store = Store::open(&at("short")).await.unwrap();
        store.commit(append(vec![vec![7; 50_000]; 20])).await.unwrap();
        store.close().await.unwrap();
        let file = fs::OpenOptions::new().write(true).open(folder.path.join("short")).unwrap();
        file.set_len(3 * 4096).unwrap();
        let error = match Store::open(&at("short")).await {
            Ok(store) => store.commit(append(vec![vec![]])).await.err().unwrap(),
            Err(error) => error,
        };
        assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    });
}

#[test]
fn a_table_that_is_gone() {
    for kind in [Kind::File, Kind::Postgres] {
        let place = Place::new(kind);
        runtime().block_on(async {
            let store = place.open().await;
            store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
            let table = place.table("records");
            place.meddle(&format!("ALTER TABLE {table} RENAME TO away"));
            for _ in 0..3 {
                let error = store.commit(set("k", "i", 1, "s", "{}")).await.unwrap_err();
                assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
                store.record("k", "i").await.unwrap_err();
            }
            place.meddle(&format!("ALTER TABLE {} RENAME TO records", place.table("away")));
            assert_eq!(store.commit(set("k", "i", 1, "s", "{}")).await.unwrap().size, 2);
        });
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(Kind::File);
    runtime().block_on(async {
        let store = place.open().await;
        store.commit(append(vec![vec![]])).await.unwrap();
        for entry in fs::read_dir(place.file().parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        }
    });
}

#[test]
fn a_server_that_is_not_there_or_wants_more() {
    runtime().block_on(async {
        let secret = "postgres://anna:s3cret@127.0.0.1:1/ordain";
        for url in [secret, "postgres://%2Fno%2Fsuch%2Ffolder/ordain", "postgres://h:port/x", "postgres://"] {
            let error = refused(&Location::parse(url)).await;
            assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
        let place = Place::new(Kind::Postgres);
        let Location::Postgres(url) = &place.location else { panic!("no URL") };
        let error = refused(&Location::parse(&format!("{url}?sslmode=require"))).await;
        assert!(error.to_string().contains("sslmode=disable"), "{error}");
        let error = refused(&Location::parse(&format!("{url}_other"))).await;
        assert!(error.to_string().contains("does not exist"), "{error}");
    });
}

/// By TCP, where the server for tests has TLS, a certificate of `localhost` by its own authority, and wants a password.
#[test]
fn a_server_with_tls() {
    let place = Place::new(Kind::Postgres);
    let Location::Postgres(url) = place.location.clone() else { panic!("no URL") };
    let (_, database) = url.rsplit_once('/').unwrap();
    let role = format!("{database}_tls");
    execute(&url, &format!("CREATE ROLE {role} SUPERUSER LOGIN PASSWORD 's3cret'"));
    runtime().block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let row = client.query_one("SELECT current_setting('port'), current_setting('data_directory')", &[]);
        let row = row.await.unwrap();
        let (port, data): (String, String) = (row.get(0), row.get(1));
        let authority = format!("sslrootcert={data}/ca.pem");
        let at = |host: &str, query: &str| {
            Location::parse(&format!("postgres://{role}:s3cret@{host}:{port}/{database}?{query}"))
        };
        let store = Store::open(&at("localhost", &authority)).await.unwrap();
        store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
        let sql = "SELECT bool_and(ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = $1";
        let row = client.query_one(sql, &[&role]).await.unwrap();
        assert!(row.get::<_, bool>(0) && row.get::<_, i64>(1) > 0, "{row:?}");
        store.close().await.unwrap();
        for mode in ["require", "verify-ca", "verify-full"] {
            let location = at("localhost", &format!("{authority}&sslmode={mode}"));
            assert_eq!(Store::open(&location).await.unwrap().head().await.unwrap().size, 1);
        }
        for (host, query, words) in [
            // Not by an authority that everybody knows.
            ("localhost", "sslmode=require".to_owned(), "sslrootcert=FILE"),
            // Opens it by another name.
            ("127.0.0.1", authority.clone(), "not valid for"),
            ("localhost", "sslrootcert=%2Fno%2Fsuch.pem".to_owned(), "`/no/such.pem`"),
            ("localhost", format!("sslrootcert={data}/PG_VERSION"), "no certificates"),
        ] {
            let error = refused(&at(host, &query)).await;
            assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
            let said = format!("{error} {error:?}");
            assert!(said.contains(words) && !said.contains("s3cret"), "{said}");
        }
        // On this machine nobody needs it.
        assert_eq!(Store::open(&at("127.0.0.1", "")).await.unwrap().head().await.unwrap().size, 1);
    });
    execute(&url, &format!("REASSIGN OWNED BY {role} TO CURRENT_USER; DROP ROLE {role}"));
}

#[test]
fn a_server_that_only_reads() {
    let place = Place::new(Kind::Postgres);
    runtime().block_on(async {
        let store = place.open().await;
        store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
        place.meddle("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$");
        let reader = place.open().await;
        assert_eq!(reader.record("k", "i").await.unwrap().unwrap().version, 1);
        let error = reader.commit(set("k", "i", 1, "s", "{}")).await.unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
        assert_eq!(store.commit(set("k", "i", 1, "s", "{}")).await.unwrap().size, 2);
    });
}

#[test]
fn a_server_that_drops_its_connections() {
    let place = Place::new(Kind::Postgres);
    let Location::Postgres(url) = place.location.clone() else { panic!("no URL") };
    runtime().block_on(async {
        let store = place.open().await;
        store.commit(set("k", "i", 0, "s", "{}")).await.unwrap();
        for round in 0..5 {
            let drop_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                            WHERE datname = current_database() AND pid <> pg_backend_pid()";
            execute(&url, drop_all);
            // An error for whoever was hit, none for long, and never a loss.
            let (mut commits, mut reads) = (0, 0);
            while let Err(error) = store.commit(append(vec![vec![round]])).await {
                assert!(matches!(error, StoreError::Unavailable(_) | StoreError::Uncertain(_)), "{error}");
                commits += 1;
                assert!(commits < 3, "{error}");
            }
            while let Err(error) = store.head().await {
                assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                reads += 1;
                assert!(reads < 6, "{error}");
            }
        }
        assert_eq!(check_tree(&store).await.len(), 6);
    });
}
