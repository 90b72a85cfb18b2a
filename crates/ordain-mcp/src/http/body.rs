//! Bodies of answers.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

pub(super) type Answer = Response<BoxBody<Bytes, io::Error>>;

/// Pieces of a stream that wait for its client.
const PIECES_MAX: usize = 16;

/// A body that is written piece by piece.
pub(super) struct Written(mpsc::Receiver<Bytes>);

impl Body for Written {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A body, and the way to write it.
pub(super) fn written() -> (mpsc::Sender<Bytes>, BoxBody<Bytes, io::Error>) {
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    (sender, Written(receiver).boxed())
}

/// A stream of events.
pub(super) fn stream(body: BoxBody<Bytes, io::Error>) -> Answer {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("cache-control", HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}

pub(super) fn relayed(body: Incoming) -> BoxBody<Bytes, io::Error> {
    body.map_err(io::Error::other).boxed()
}

pub(super) fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

pub(super) fn full(text: impl Into<Bytes>) -> BoxBody<Bytes, io::Error> {
    Full::new(text.into()).map_err(|never| match never {}).boxed()
}

pub(super) fn json(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    whole(status, "application/json", text)
}

pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(full(Bytes::new()));
    *answer.status_mut() = status;
    answer
}
