//! The other end of a unix socket: which user it is, and which project it is about. The only Linux calls of the server.
//!
//! A client may send one preface byte before its first request, with an open descriptor of its project folder. It says which
//! project, not who.

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
    /// The folder whose descriptor came with the preface.
    pub(crate) project: Option<Arc<ProjectFolder>>,
}

/// A folder, as the kernel knows it: its name may lead elsewhere by now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ProjectFolder {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl Peer {
    /// Who it is, by the credentials that the kernel kept when it connected, and the preface, if there is one.
    pub(crate) async fn meet(stream: &UnixStream) -> io::Result<Self> {
        let user = Arc::new(OsUser::of_uid(stream.peer_cred()?.uid()));
        let project = tokio::time::timeout(HEAD_WAIT, preface(stream)).await??;
        Ok(Self { user, project: project.map(Arc::new) })
    }
}

async fn preface(stream: &UnixStream) -> io::Result<Option<ProjectFolder>> {
    let mut first = [0];
    let peeked = stream.async_io(Interest::READABLE, || receive(stream, &mut first, RecvFlags::PEEK));
    let (count, _) = peeked.await?;
    if count == 0 || first != [PREFACE] {
        return Ok(None);
    }
    let (_, descriptors) = receive(stream, &mut first, RecvFlags::empty())?;
    let refused = |problem: &str| io::Error::new(io::ErrorKind::InvalidData, problem);
    let [folder] = descriptors.as_slice() else { return Err(refused("a preface has one descriptor")) };
    let found = rustix::fs::fstat(folder)?;
    if rustix::fs::FileType::from_raw_mode(found.st_mode) != rustix::fs::FileType::Directory {
        return Err(refused("the descriptor of a preface is a folder's"));
    }
    Ok(Some(ProjectFolder { device: found.st_dev, inode: found.st_ino }))
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
