//! A machine with a service: its own `/etc`, `/run`, `/var/lib` and `/opt`, with users of its own, in a mount
//! namespace. It needs root, and says so.

use super::{Ran, Server, folder, ran, unique};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
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

/// Boots systemd as the first process of namespaces of its own, on a layer above the root folder. It can load no
/// module, and change neither the clock nor a setting of the kernel.
const BOOT: &str = r#"
set -e
base=$1/root
mount --make-rprivate /
mkdir -p $base "$1/home"
mount -t tmpfs tmpfs $base
new=$base/new
mkdir $base/upper $base/work $new
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" $new
mount -t proc proc $new/proc
mount --bind $new/proc/sys $new/proc/sys && mount -o remount,bind,ro $new/proc/sys
mount --bind /sys $new/sys && mount -o remount,bind,ro $new/sys
mount -t cgroup2 cgroup2 $new/sys/fs/cgroup
for folder in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs $new/$folder; done
chmod 1777 $new/tmp
for device in null zero full random urandom tty; do
  touch $new/dev/$device
  mount --bind /dev/$device $new/dev/$device
done
mkdir $new/dev/pts $new/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts $new/dev/pts
ln -s pts/ptmx $new/dev/ptmx
ln -s /proc/self/fd $new/dev/fd
mkdir -p "$new$1"
mount --bind "$1" "$new$1"
mkdir $new/old
cd $new
pivot_root . old
umount -l /old
for user in olga agent mallory; do useradd --create-home --home-dir "$1/home/$user" $user; done
exec env -i container=test /lib/systemd/systemd --system --unit=basic.target --log-target=null --show-status=no
"#;

/// Begins namespaces and a control group for [`BOOT`].
const POWER_ON: &str = r#"
set -e
echo $$ > "$2/cgroup.procs"
exec setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-sys_rawio \
  unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child=KILL sh -c "$3" sh "$1"
"#;

/// A machine with the users `olga`, `agent` and `mallory`. Gone at the end.
pub(crate) struct Machine {
    holder: Child,
    folder: TempDir,
    /// How `nsenter` gets into it.
    enter: Vec<String>,
    /// The control group of a machine with systemd.
    group: Option<PathBuf>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = folder_with_binary();
        let mut holder = Command::new("unshare");
        holder.args(["--mount", "--propagation", "private", "sh", "-c", SET_UP, "sh"]).arg(folder.path());
        let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the machine cannot be set up");
        let enter = vec![format!("--mount=/proc/{}/ns/mnt", holder.id())];
        Self { holder, folder, enter, group: None }
    }

    /// The same on a machine that systemd runs.
    pub(crate) fn booted() -> Self {
        let folder = folder_with_binary();
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let groups = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let unified = groups.into_iter().find(|fields| fields[2] == "cgroup2").expect("cgroup2 is mounted");
        let group = Path::new(unified[1]).join(unique("ordain-machine-"));
        std::fs::create_dir(&group).unwrap();
        let holder = Command::new("sh")
            .args(["-c", POWER_ON, "sh"])
            .args([folder.path(), &group])
            .arg(BOOT)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let mut machine = Self { holder, folder, enter: Vec::new(), group: Some(group) };
        let begun = Instant::now();
        loop {
            let first = std::fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
            if !first.is_empty() {
                machine.enter = vec!["--all".to_owned(), format!("--target={first}")];
                let state = machine.root(&["systemctl", "is-system-running"]).stdout;
                if ["running\n", "degraded\n"].contains(&state.as_str()) {
                    return machine;
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "systemd does not boot");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A folder or file outside the private ones.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program, run in a folder of the machine as one of its users, with the groups that the user has by now.
    pub(crate) fn command(&self, user: &str, place: &Path, program: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(&self.enter);
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
        // The first process does not end when its parent does, unless the parent ends it.
        if let Some(group) = &self.group {
            let _ = std::fs::write(group.join("cgroup.kill"), "1");
        }
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        if let Some(group) = &self.group {
            remove_group(group);
        }
    }
}

/// A folder with a copy of the binary; the caller must be root.
fn folder_with_binary() -> TempDir {
    let is_root = ran(Command::new("id").arg("-u")).stdout.trim() == "0";
    assert!(is_root, "this test makes users and runs programs as each of them: run it as root");
    let folder = folder();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_ordain"), folder.path().join("bin/ordain")).unwrap();
    folder
}

/// Removes a control group and those below it, once their processes are gone.
fn remove_group(group: &Path) {
    let below = std::fs::read_dir(group).into_iter().flatten().filter_map(Result::ok);
    for entry in below.filter(|entry| entry.path().is_dir()) {
        remove_group(&entry.path());
    }
    let begun = Instant::now();
    while std::fs::remove_dir(group).is_err() && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
}
