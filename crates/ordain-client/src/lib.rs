#![doc = include_str!("../README.md")]

mod address;
mod transport;

mod http;
#[cfg(unix)]
mod socket;
mod tls;

mod client;

pub use address::{Address, AddressError};
pub use client::{ActionEvent, Client, ClientError, SubmitAnswer};
pub use http::HttpTransport;
pub use tls::Authorities;
pub use transport::{Reply, Request, Transport, TransportError};
