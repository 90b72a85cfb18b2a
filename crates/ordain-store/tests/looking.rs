//! A store that is opened only to look at it is left as it is, and a closed file is whole.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use ordain_store::{Store, StoreError};
use std::fs;
use support::{Kind, Place, append, check_tree, runtime};

#[test]
fn nothing_is_written() {
    for kind in [Kind::File, Kind::Postgres] {
        let place = Place::new(kind);
        runtime().block_on(async {
            assert!(Store::open_to_read(&place.location).await.is_err(), "nothing is made of nothing");
            let store = place.open().await;
            store.commit(append(vec![b"x".to_vec()])).await.unwrap();
            // Beside one that writes.
            let reader = Store::open_to_read(&place.location).await.unwrap();
            store.commit(append(vec![b"y".to_vec()])).await.unwrap();
            assert_eq!(check_tree(&reader).await.len(), 2);
            let error = reader.commit(append(vec![b"z".to_vec()])).await.unwrap_err();
            assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
            reader.close().await.unwrap();
            store.close().await.unwrap();
            let reader = Store::open_to_read(&place.location).await.unwrap();
            assert_eq!(check_tree(&reader).await.len(), 2);
        });
    }
}

#[test]
fn an_empty_file_stays_empty() {
    let place = Place::new(Kind::File);
    fs::write(place.file(), "").unwrap();
    runtime().block_on(async {
        let error = Store::open_to_read(&place.location).await.err().unwrap();
        assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    });
    assert_eq!(fs::read(place.file()).unwrap(), b"");
}

#[test]
fn a_closed_file_is_whole_without_its_log() {
    let place = Place::new(Kind::File);
    runtime().block_on(async {
        let store = place.open().await;
        store.commit(append(vec![b"x".to_vec()])).await.unwrap();
        assert_eq!(check_tree(&store).await.len(), 1, "readers have connections of their own");
        let handle = store.clone();
        store.close().await.unwrap();
        assert!(matches!(handle.head().await, Err(StoreError::Closed)));
        let names: Vec<_> = fs::read_dir(place.file().parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(check_tree(&place.open().await).await.len(), 1);
    });
}

#[test]
fn a_file_that_was_cut_off_is_noticed() {
    let place = Place::new(Kind::File);
    runtime().block_on(async {
        let store = place.open().await;
        store.commit(append(vec![b"x".to_vec()])).await.unwrap();
        store.close().await.unwrap();
        let whole = fs::read(place.file()).unwrap();
        for missing in [1, 512, 4095] {
            fs::write(place.file(), &whole[..whole.len() - missing]).unwrap();
            let error = Store::open_to_read(&place.location).await.err().unwrap();
            assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
        }
    });
}
