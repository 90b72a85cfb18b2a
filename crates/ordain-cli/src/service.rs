//! The service of this machine: a gate that runs as its own user, behind a socket at one well-known path.
//!
//! Nothing in a workspace or in the environment chooses it. Only root makes folders in `/run`, so a socket in
//! there that nobody else could have put there is the service's.

use crate::exit::Failure;
use crate::report;
use ordain_api::{ProblemCode, ProjectStatus};
use ordain_client::{Client, ClientError, HttpTransport, TransportError};
use ordain_presence::{OsUser, is_member};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The folder of the socket, which systemd makes for the service's user.
pub(crate) const RUN_FOLDER: &str = "/run/ordain";
/// The socket.
pub(crate) const SOCKET: &str = "/run/ordain/gate.sock";
/// The group whose members may connect, and the user that the service runs as.
pub(crate) const ACCOUNT: &str = "ordain";
/// Its unit, where units of the administrator are.
pub(crate) const UNIT: &str = "/etc/systemd/system/ordain.service";
/// Where the service keeps its gate.
pub(crate) const STATE_BASE: &str = "/var/lib";

/// Whether the service of this machine listens. A socket that somebody else could have made is refused. To its own user
/// there is no service, but a store.
pub(crate) fn is_there() -> Result<bool, Failure> {
    let (folder, socket) = (Path::new(RUN_FOLDER), Path::new(SOCKET));
    let Ok(around) = folder.symlink_metadata() else { return Ok(false) };
    let Ok(found) = socket.symlink_metadata() else { return Ok(false) };
    let refused = |path: &Path, problem: &str| {
        let failure = Failure::Document { path: path.display().to_string(), problem: problem.to_owned() };
        Err(failure.with_hint("ask root to look at it; `ordain service install` makes it anew"))
    };
    const OTHERS_WRITE: u32 = 0o022;
    if !around.is_dir() || around.mode() & OTHERS_WRITE != 0 {
        return refused(folder, "is a link, or others may write to it: this is not the service's folder");
    }
    if !found.file_type().is_socket() || (found.uid() != around.uid() && found.uid() != 0) {
        return refused(socket, "is not the socket of the service");
    }
    let user = OsUser::current();
    if is_account(&user) && around.uid() == user.uid {
        return Ok(false);
    }
    if user.uid != 0 && around.uid() == user.uid {
        return refused(folder, "belongs to you: a service of your own user protects nothing");
    }
    Ok(true)
}

/// The way to the service, about a folder.
pub(crate) fn transport(folder: &Path) -> Result<HttpTransport, Failure> {
    let transport = HttpTransport::as_user(&format!("unix:{SOCKET}"), Some(folder));
    transport.map_err(|error| Failure::from(ClientError::from(error)))
}

/// The project of the service's gate that a folder belongs to.
pub(crate) fn project_of(folder: &Path) -> Result<Option<ProjectStatus>, Failure> {
    if !is_there()? {
        return if should_run() { Err(not_running("is not running")) } else { Ok(None) };
    }
    // Users outside the group have no business with it.
    if UnixStream::connect(SOCKET).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        return Ok(None);
    }
    match Client::new(transport(folder)?).gate() {
        Ok(status) => Ok(status.project),
        Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Unauthenticated => {
            report::note(&format!("the service on this machine was not asked: {}", problem.detail), None);
            Ok(None)
        }
        Err(ClientError::Transport(TransportError::Unreachable { .. })) => {
            Err(not_running("does not answer"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the service is installed and this user may ask it. Its socket goes when it stops, and its projects must not
/// seem to have no gate then.
fn should_run() -> bool {
    let user = OsUser::current();
    Path::new(UNIT).exists() && !is_account(&user) && is_member(&user.name, ACCOUNT)
}

/// Whether this is the user that the service runs as. `service install` refuses somebody's account of that name.
fn is_account(user: &OsUser) -> bool {
    user.name == ACCOUNT && user.uid != 0
}

fn not_running(what: &str) -> Failure {
    let problem = format!("the service {what}, so nobody can tell whether this folder has a gate");
    let failure = Failure::Document { path: SOCKET.to_owned(), problem };
    failure.with_hint("start it with `systemctl start ordain`")
}
