//! A machine with a service: its own `/etc`, `/run`, `/var/lib` and `/opt`, with users of its own, in a mount
//! namespace. It needs root, and says so.

use super::{Ran, Server, folder, ran};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Makes the machine in a new mount namespace, and keeps that until it is killed.
const SET_UP: &str = r#"
set -e
for folder in /run /var/lib /opt; do mount -t tmpfs -o mode=755 tmpfs $folder; done
mkdir "$1/layers"
mount -t tmpfs tmpfs "$1/layers"
mkdir "$1/layers/upper" "$1/layers/work"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/layers/upper,workdir=$1/layers/work" /etc
mkdir -p "$1/home" /etc/systemd/system
for user in olga agent mallory; do useradd --create-home --home-dir "$1/home/$user" $user; done
echo ready
exec sleep 600
"#;

/// A machine with the users `olga`, `agent` and `mallory`. Gone at the end.
pub(crate) struct Machine {
    holder: Child,
    folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let is_root = ran(Command::new("id").arg("-u")).stdout.trim() == "0";
        assert!(is_root, "this test makes users and runs programs as each of them: run it as root");
        let folder = folder();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_ordain"), folder.path().join("bin/ordain")).unwrap();
        let mut holder = Command::new("unshare");
        holder.args(["--mount", "--propagation", "private", "sh", "-c", SET_UP, "sh"]).arg(folder.path());
        let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the machine cannot be set up");
        Self { holder, folder }
    }

    /// A folder or file outside the private ones.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program, run in a folder of the machine as one of its users, with the groups that the user has by now.
    pub(crate) fn command(&self, user: &str, place: &Path, program: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id()));
        command.arg("env").arg("-C").arg(place);
        if user != "root" {
            command.args(["setpriv", "--init-groups", "--inh-caps=-all"]);
            command.args([format!("--reuid={user}"), format!("--regid={user}")]);
        }
        command.args(program).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", self.path("home").join(user)).env("ORDAIN_PAGER", "");
        command
    }

    /// The binary, run by a user.
    pub(crate) fn ordain(&self, user: &str, place: &Path, arguments: &[&str]) -> Ran {
        ran(self.command(user, place, &self.with_binary(arguments)).stdin(Stdio::null()))
    }

    fn with_binary<'a>(&self, arguments: &[&'a str]) -> Vec<&'a str> {
        let binary: &'static str = Box::leak(self.path("bin/ordain").display().to_string().into_boxed_str());
        [&[binary], arguments].concat()
    }

    /// The binary, run by a user on a terminal.
    pub(crate) fn on_terminal(
        &self,
        user: &str,
        place: &Path,
        steps: &[(&str, &str)],
        arguments: &[&str],
    ) -> Ran {
        let steps = serde_json::json!(steps).to_string();
        let script = crate::presence::ON_TERMINAL;
        let program =
            [&["python3", "-c", script, &steps, "alone"], &self.with_binary(arguments)[..]].concat();
        ran(&mut self.command(user, place, &program))
    }

    /// A program, run by root.
    pub(crate) fn root(&self, program: &[&str]) -> Ran {
        ran(&mut self.command("root", Path::new("/"), program))
    }

    /// Starts the service as its unit says: the same user, state, folder of the socket and command line.
    pub(crate) fn start_service(&self) -> Result<Server, Ran> {
        let unit = self.root(&["cat", "/etc/systemd/system/ordain.service"]).ended(0).stdout;
        let setting = |name: &str| {
            let prefix = format!("{name}=");
            unit.lines()
                .find_map(|line| line.strip_prefix(&prefix))
                .unwrap_or_else(|| panic!("{name}: {unit}"))
                .to_owned()
        };
        let (user, runtime) = (setting("User"), format!("/run/{}", setting("RuntimeDirectory")));
        let mode = setting("RuntimeDirectoryMode");
        self.root(&["install", "-d", "-o", &user, "-g", &setting("Group"), "-m", &mode, &runtime]).ended(0);
        let line = format!("{} --json", setting("ExecStart"));
        let program: Vec<&str> = line.split(' ').collect();
        let mut command = self.command(&user, Path::new("/"), &program);
        let environment = setting("Environment");
        let (name, value) = environment.split_once('=').unwrap();
        command.env(name, value);
        Server::start(command, &self.path("service.log"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
