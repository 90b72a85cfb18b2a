//! A PostgreSQL server for tests: private, in a temporary folder, stopped at the end.

use crate::process::{command, line, output, run, works};
use crate::tools;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tests find the server by this.
pub(crate) const VARIABLE: &str = "ORDAIN_TEST_POSTGRES";
const START_WAIT: Duration = Duration::from_secs(30);

pub(crate) struct Server {
    child: Child,
    port: String,
    programs: PathBuf,
    folder: PathBuf,
    user: User,
}

impl Server {
    /// Makes a cluster that syncs, as a real one does. It is reached by a socket in its folder, and by TCP
    /// with TLS and a password. Its authority's certificate is `ca.pem` beside its data. It is a child of the
    /// program `under`, if that names one with its arguments.
    pub(crate) fn start(under: &[&str]) -> Result<Self, String> {
        let programs = tools::postgresql()?;
        let user = User::find()?;
        let folder = std::env::temp_dir().join(format!("ordain-postgres-{}", std::process::id()));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        if let User::Other { uid, gid } = user {
            chown(&folder, Some(uid), Some(gid)).map_err(failed)?;
        }
        let (data, log) = (folder.join("data"), folder.join("log"));
        let mut initdb = user.command(&programs.join("initdb"), &["--username=ordain", "--auth-local=trust"]);
        initdb
            .args([
                "--auth-host=scram-sha-256",
                "--encoding=UTF8",
                "--no-locale",
                "--no-instructions",
                "--pgdata",
            ])
            .arg(&data);
        run(initdb.stdout(Stdio::null()))?;
        make_certificates(user, &data)?;
        let log = fs::File::create(log).map_err(failed)?;
        let port = free_port().map_err(failed)?;
        let mut server = user.command(Path::new("env"), under);
        server.arg(programs.join("postgres")).args(["-c", "listen_addresses=127.0.0.1"]);
        server.args(["-c", "ssl=on", "-c", "max_connections=300", "-p", &port, "-k"]).arg(&folder);
        server.arg("-D").arg(&data);
        server.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
        let child = server.spawn().map_err(|error| format!("{} does not start: {error}", line(&server)))?;
        let mut server = Self { child, port, programs, folder, user };
        server.wait()?;
        Ok(server)
    }

    /// As [`VARIABLE`] names it.
    pub(crate) fn url(&self) -> String {
        let host = self.folder.display().to_string().replace('%', "%25").replace('/', "%2F");
        format!("postgres://ordain@{host}:{}/postgres", self.port)
    }

    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        let ready = self.programs.join("pg_isready");
        while !works(self.user.command(&ready, &["-q", "-p", &self.port, "-h"]).arg(&self.folder)) {
            let ended = self.child.try_wait().is_ok_and(|status| status.is_some());
            if ended || start.elapsed() > START_WAIT {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("PostgreSQL does not start: {}", log.trim()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stop = self.programs.join("pg_ctl");
        let data = self.folder.join("data");
        let asked = works(self.user.command(&stop, &["stop", "-m", "immediate", "-w", "-D"]).arg(data));
        if !asked {
            self.child.kill().ok();
        }
        self.child.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// One that nobody listens on.
fn free_port() -> std::io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string())
}

/// An authority, and a certificate of `localhost` by it, where the server looks for its own.
fn make_certificates(user: User, data: &Path) -> Result<(), String> {
    tools::openssl()?;
    let key =
        ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3"];
    let make = |arguments: &[&str]| {
        let mut openssl = user.command(Path::new("openssl"), &key);
        run(openssl.args(arguments).current_dir(data).stderr(Stdio::null()))
    };
    make(&["-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"])?;
    let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    let by = ["-addext", "basicConstraints=critical,CA:FALSE", "-CA", "ca.pem", "-CAkey", "ca.key"];
    make(&[&names[..], &by, &["-keyout", "server.key", "-out", "server.crt"]].concat())
}

/// The user that runs the server: PostgreSQL refuses root.
#[derive(Clone, Copy)]
enum User {
    Ourselves,
    Other { uid: u32, gid: u32 },
}

impl User {
    fn find() -> Result<Self, String> {
        let number = |arguments: &[&str]| -> Result<u32, String> {
            let text = output(&mut command("id", arguments))?;
            text.trim().parse().map_err(|_| format!("`id` printed {text}"))
        };
        match number(&["-u"])? {
            0 => Ok(Self::Other { uid: number(&["-u", "postgres"])?, gid: number(&["-g", "postgres"])? }),
            _ => Ok(Self::Ourselves),
        }
    }

    fn command(self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        // The server's user may not be able to enter the repository.
        command.args(arguments).current_dir("/");
        if let Self::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_and_leaves_nothing_behind() {
        let server = Server::start(&[]).unwrap();
        assert!(server.url().starts_with("postgres://ordain@%2F"), "{}", server.url());
        let folder = server.folder.clone();
        assert!(folder.join("data").exists());
        drop(server);
        assert!(!folder.exists());
    }
}
