//! A server with a bug: its clock panics. Every request that asks for the time must be answered with status
//! 500, and the next one as if nothing had happened. An example, because tests are always built with
//! `panic = "unwind"`, whatever the profile says: `cargo xtask soak panics` runs it in the profiles `release`
//! and `dist`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "it may fail loudly")]

use ordain_decision::PolicyFiles;
use ordain_gate::{Caller, Clock, Gate, Keyring, Settings};
use ordain_server::{App, Background, ListenAddress, listen};
use ordain_store::{Location, Store};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    let clock = Clock::of(move || {
        assert!(!is_broken.load(Ordering::Relaxed), "the clock is broken");
        1_767_614_400_000
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let address = runtime.block_on(async {
        let store = Store::open(&Location::Memory).await.unwrap();
        let keyring = Keyring::ephemeral().unwrap();
        let gate = Gate::open(store, keyring, clock, Settings::default()).await.unwrap();
        let policy = "@id(\"read\") permit(principal, action == Action::\"read\", resource);";
        let files = PolicyFiles::from([("read.cedar".to_owned(), policy.to_owned())]);
        gate.set_policy(&Caller::local("operator"), &files).await.unwrap();
        let addresses = ["127.0.0.1:0".parse::<ListenAddress>().unwrap()];
        let listening = listen(App::new(gate), &addresses).await.unwrap();
        let addresses = listening.addresses().unwrap();
        tokio::spawn(listening.run(Background::default(), std::future::pending()));
        match addresses.as_slice() {
            [ListenAddress::Tcp(address)] => *address,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(status(address, "/ready"), "200");
    broken.store(true, Ordering::Relaxed);
    for _ in 0..10 {
        assert_eq!(status(address, "/ready"), "500");
        assert_eq!(status(address, "/health"), "200");
    }
    broken.store(false, Ordering::Relaxed);
    assert_eq!(status(address, "/ready"), "200");
    println!("10 panics were answered with status 500, and the server went on");
}

/// The status of an answer.
fn status(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("the server broke off")).to_owned()
}
