//! How a request reaches the gate.

use ordain_api::Method;
use ordain_spec::statement::Signed;
use std::sync::Arc;
use std::time::Duration;

/// Carries requests to a gate and brings its answers back. It blocks, and it never repeats a request.
pub trait Transport: Send + Sync {
    /// Sends a request and reads the whole answer.
    fn send(&self, request: &Request) -> Result<Reply, TransportError>;
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        (**self).send(request)
    }
}

impl<T: Transport + ?Sized> Transport for Box<T> {
    fn send(&self, request: &Request) -> Result<Reply, TransportError> {
        (**self).send(request)
    }
}

/// A request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path with its query, percent-encoded.
    pub path: String,
    /// The body, which is JSON.
    pub body: Option<Vec<u8>>,
    /// The signed statements of an owner act.
    pub signed: Vec<Signed>,
    /// How long the gate may wait for something to happen before it answers.
    pub wait: Duration,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The type of the body.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The gate cannot be reached, or the connection broke. The request may have arrived.
    #[error("cannot reach {address}: {reason}")]
    Unreachable {
        /// The gate's address.
        address: String,
        /// The error.
        reason: String,
        /// The advice for this error.
        hint: Option<String>,
    },
    /// The request cannot be sent.
    #[error("cannot send `{path}`: {reason}")]
    Unsendable {
        /// The path.
        path: String,
        /// Why not.
        reason: String,
    },
}
