//! The other end of a unix socket: which user it is, and which project it is about. The only Linux calls of the server.
//!
//! A client may send one preface byte before its first request, with an open descriptor of its project
//! folder. It says which project, not who.

use crate::limits::HEAD_WAIT;
use ordain_presence::OsUser;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The first byte of a preface. No request begins with it.
const PREFACE: u8 = 0;

/// A user of this machine at the other end of a socket.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) user: Arc<OsUser>,
    pub(crate) preface: Preface,
}

/// The bytes before the first request.
#[derive(Clone)]
pub(crate) enum Preface {
    /// Nothing.
    None,
    /// One descriptor. The kernel knows which folder it is; its name may lead elsewhere by now.
    Folder(Arc<OwnedFd>),
    /// Something else, and every request is answered with what is wrong with it.
    Invalid(&'static str),
}

impl Peer {
    /// The user, by the credentials that the kernel kept when it connected, and the preface, if there is one.
    pub(crate) async fn meet(stream: &UnixStream) -> io::Result<Self> {
        let user = Arc::new(OsUser::of_uid(stream.peer_cred()?.uid()));
        let preface = tokio::time::timeout(HEAD_WAIT, preface(stream)).await??;
        Ok(Self { user, preface })
    }
}

async fn preface(stream: &UnixStream) -> io::Result<Preface> {
    let mut first = [0];
    let peeked = stream.async_io(Interest::READABLE, || receive(stream, &mut first, RecvFlags::PEEK));
    // The descriptors of a peek are copies, and are closed here.
    let (count, _) = peeked.await?;
    if count == 0 || first != [PREFACE] {
        return Ok(Preface::None);
    }
    let (_, mut descriptors) = receive(stream, &mut first, RecvFlags::empty())?;
    Ok(match (descriptors.pop(), descriptors.pop()) {
        (Some(folder), None) => Preface::Folder(Arc::new(folder)),
        (None, _) => Preface::Invalid("the preface came without a descriptor"),
        (Some(_), Some(_)) => Preface::Invalid("the preface came with more than one descriptor"),
    })
}

/// One byte, and the descriptors that came with it.
fn receive(stream: &UnixStream, byte: &mut [u8; 1], flags: RecvFlags) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(stream.as_fd(), &mut [IoSliceMut::new(byte)], &mut control, flags)?;
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    Ok((received.bytes, descriptors.collect()))
}
