//! The page that signs the user of this machine in to the console. Its file can be read by that user alone; the code
//! in it is in no argument of a program and in no request line.

use crate::exit::Failure;
use ordain_server::{App, ListenAddress};
use ordain_state::{GateFolder, write_private};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const FILE: &str = "console.html";

/// The address of the console, if a browser on this machine reaches one of the addresses.
pub(crate) fn address(gate: &GateFolder, addresses: &[ListenAddress]) -> Option<String> {
    let port = addresses.iter().find_map(|address| match address {
        ListenAddress::Tcp(address) if address.ip().is_loopback() => Some(address.port()),
        ListenAddress::Tcp(_) | ListenAddress::Tls(_) | ListenAddress::Socket(..) => None,
    })?;
    let port = if port == 80 { String::new() } else { format!(":{port}") };
    Some(format!("http://{}.localhost{port}", gate.id()))
}

/// Writes the page with a code that counts once.
pub(crate) fn write(app: &App, gate: &GateFolder, address: &str) -> Result<PathBuf, Failure> {
    let path = gate.path().join(FILE);
    let failed = |error| Failure::File { path: path.display().to_string(), error };
    let code = app.console_code().map_err(failed)?.unwrap_or_default();
    // The part after `#` stays in the browser.
    let page = format!(
        "<!doctype html>\n<meta charset=utf-8>\n<meta name=referrer content=no-referrer>\n<title>ordain</title>\n\
         <meta http-equiv=refresh content=\"0; url={address}/#code={code}\">\n\
         <p><a href=\"{address}/#code={code}\">Open the console</a>. This page counts once, for five minutes.\n"
    );
    write_private(&path, &page)?;
    Ok(path)
}

/// Removes the page of a server that ends.
pub(crate) fn remove(gate: &GateFolder) {
    let _ = std::fs::remove_file(gate.path().join(FILE));
}

/// Opens the page in the browser of this desktop; whether there is one.
pub(crate) fn open(page: &std::path::Path) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
