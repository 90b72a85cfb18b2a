//! A connection over a unix socket, for ureq.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error};

/// An agent whose every connection goes to this socket.
pub(crate) fn agent(config: Config, path: &Path, project: Option<&Path>) -> Agent {
    let project = project.map(Path::to_owned);
    Agent::with_parts(config, SocketConnector { path: path.to_owned(), project }, NoResolver)
}

/// A socket has a path and no host, so nothing is looked up.
#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        Ok(addresses)
    }
}

#[derive(Debug)]
struct SocketConnector {
    path: PathBuf,
    /// The folder that the client names to the server.
    project: Option<PathBuf>,
}

impl Connector for SocketConnector {
    type Out = SocketTransport;

    fn connect(&self, details: &ConnectionDetails, _: Option<()>) -> Result<Option<SocketTransport>, Error> {
        let stream = UnixStream::connect(&self.path)?;
        if let Some(project) = &self.project {
            introduce(&stream, project)?;
        }
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(SocketTransport { stream, buffers }))
    }
}

/// The first byte of a preface. No request begins with it.
const PREFACE: u8 = 0;

/// Tells the server which project the requests are about: one byte, with an open descriptor of the folder.
fn introduce(stream: &UnixStream, project: &Path) -> std::io::Result<()> {
    // The server asks which folder it is, and reads nothing in it.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, project, flags, Mode::empty())?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [folder.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(stream, &[IoSlice::new(&[PREFACE])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[derive(Debug)]
struct SocketTransport {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl Transport for SocketTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.set_write_timeout(timeout.not_zero().map(|limit| *limit))?;
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        match self.stream.write_all(output) {
            // A server that refuses a request does not read all of it; its answer is there to be read.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| timed_out(error, &timeout)),
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.set_read_timeout(timeout.not_zero().map(|limit| *limit))?;
        let buffer = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result.map_err(|error| timed_out(error, &timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// An idle connection is open when there is nothing to read and no end either.
    fn is_open(&mut self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let idle = matches!(self.stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        idle && self.stream.set_nonblocking(false).is_ok()
    }
}

/// A read or write that ran into the timeout reports it as `WouldBlock`.
fn timed_out(error: std::io::Error, timeout: &NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}
