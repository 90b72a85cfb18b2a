//! The pinned gate: the way to it, and how it is started.

use crate::pins::{GatePin, Pins};
use ordain_api::GateStatus;
use ordain_client::{Authorities, Client, HttpTransport};
use ordain_state::{GateFolder, Home};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A connection to the gate, about a folder.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) status: GateStatus,
    /// The workspace's folder without links; nothing where the folder belongs to no project of the gate.
    pub(crate) root: Option<PathBuf>,
}

/// How long a gate may take to start.
const START: Duration = Duration::from_secs(30);
/// After so many seconds without a connection the gate stops again.
const IDLE_S: u64 = 3_600;
/// The log of a gate that a hook started begins anew when it is longer than this.
const LOG_BYTES_MAX: u64 = 4 << 20;

/// Asks the pinned gate who it is and which project the folder belongs to.
pub(crate) fn connect(pins: &Pins, folder: &Path) -> Result<Connection, String> {
    let socket = match &pins.gate {
        GatePin::Own { .. } => running(&own_folder(pins)?)?,
        GatePin::Service { socket, .. } => socket.clone(),
        GatePin::Server { origin, url, token, cacert, workspace, .. } => {
            let client = client_of_server(url, token, cacert.as_deref())?;
            return connect_to_server(client, origin, workspace);
        }
    };
    let real = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
    let transport = HttpTransport::as_user(&format!("unix:{}", socket.display()), Some(&real));
    let client = Client::new(transport.map_err(|error| error.to_string())?);
    let status = client.gate().map_err(|error| error.to_string())?;
    if let GatePin::Service { origin, .. } = &pins.gate
        && status.origin != *origin
    {
        return Err(format!("another gate answers, `{}` instead of `{origin}`", status.origin));
    }
    let root = match &status.project {
        Some(project) => {
            let root = real.ancestors().nth(project.levels_up);
            Some(root.ok_or("the gate names a folder that is not there")?.to_owned())
        }
        None => None,
    };
    Ok(Connection { client, status, root })
}

/// A gate on the network says who it is. The workspace is the pinned folder.
fn connect_to_server(client: Client, origin: &str, workspace: &Path) -> Result<Connection, String> {
    let status = client.gate().map_err(|error| error.to_string())?;
    if status.origin != origin {
        return Err(format!("another gate answers, `{}` instead of `{origin}`", status.origin));
    }
    let root = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
    Ok(Connection { client, status, root: Some(root) })
}

/// A client of a gate on the network, with what the pins say about it.
pub fn client_of_server(url: &str, token: &Path, cacert: Option<&Path>) -> Result<Client, String> {
    let named = |error: std::io::Error| format!("{}: {error}", token.display());
    let token = std::fs::read_to_string(token).map_err(named)?;
    let authorities = cacert.map_or(Authorities::System, |path| Authorities::File(path.to_owned()));
    let transport = HttpTransport::trusting(url, &token, authorities).map_err(|error| error.to_string())?;
    Ok(Client::new(transport))
}

/// Where calls under way are noted.
pub(crate) fn calls_folder(pins: &Pins) -> Result<PathBuf, String> {
    match &pins.gate {
        GatePin::Own { .. } => Ok(own_folder(pins)?.path().join("calls")),
        GatePin::Service { calls, .. } | GatePin::Server { calls, .. } => Ok(calls.clone()),
    }
}

/// The folder of a gate of this user, which must be there and nobody else's.
fn own_folder(pins: &Pins) -> Result<GateFolder, String> {
    let GatePin::Own { id, state } = &pins.gate else { return Err("the gate is a service".to_owned()) };
    let base = state.parent().unwrap_or(state);
    let home = Home::in_folder(base);
    if home.path() != state {
        return Err(format!("{} is not a state directory", state.display()));
    }
    let gate = home.gate(id);
    gate.settings().map_err(|error| format!("the gate {id} is gone: {error}"))?;
    Ok(gate)
}

/// The socket of a gate that runs. Only one hook starts it; the others wait.
fn running(gate: &GateFolder) -> Result<PathBuf, String> {
    let socket = gate.path().join("gate.sock");
    if UnixStream::connect(&socket).is_ok() {
        return Ok(socket);
    }
    let lock = private(&gate.path().join("serve.lock"))?;
    lock.lock().map_err(|error| format!("the gate cannot be started: {error}"))?;
    if UnixStream::connect(&socket).is_ok() {
        return Ok(socket);
    }
    start(gate, &socket)?;
    Ok(socket)
}

fn private(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.open(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Starts the gate with nothing of this process: no variable, no folder, no terminal.
fn start(gate: &GateFolder, socket: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the gate cannot be started: {error}");
    let log = gate.path().join("serve.log");
    if log.metadata().is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX) {
        std::fs::remove_file(&log).map_err(failed)?;
    }
    let state = gate.path().parent().unwrap_or(Path::new("/"));
    let base = state.parent().unwrap_or(Path::new("/"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["serve", "--json", "--gate", gate.id().as_str()]);
    command.arg("--listen").arg(format!("unix:{}", socket.display()));
    command.args(["--until-idle", &IDLE_S.to_string()]);
    command.env_clear().env("XDG_STATE_HOME", base).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(private(&log)?);
    let mut child = command.spawn().map_err(failed)?;
    let started = Instant::now();
    while started.elapsed() < START {
        if UnixStream::connect(socket).is_ok() {
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("the gate ended as it started ({status}), and its log is {}", log.display()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("the gate does not start, and its log is {}", log.display()))
}

/// Leaves the terminal and the session that this process was started in. A process that leads its group stays where
/// it is.
pub fn leave_session() {
    let _ = rustix::process::setsid();
}
