//! A connection whose client must take what it asked for: one that reads nothing is let go.

use crate::limits::READ_WAIT;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A connection that waits so long for its client and no longer.
pub(crate) struct Patient<S> {
    stream: S,
    /// When patience ends; nothing while the client keeps up.
    end: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, end: None }
    }

    fn waited<T>(&mut self, context: &mut Context<'_>, done: Poll<Result<T>>) -> Poll<Result<T>> {
        if done.is_ready() {
            self.end = None;
            return done;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(READ_WAIT)));
        match end.as_mut().poll(context) {
            Poll::Ready(()) => {
                end.as_mut().reset(Instant::now());
                Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client reads nothing")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.waited(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.waited(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
