//! Which programs of the host are seen inside, and the environment that they start with.
//!
//! The system's own folders are always there. Of what else the caller's `PATH` names, the installation is shown if it
//! has a command that the profile allows, and nothing around it: a toolchain in a home folder does not bring the home folder along.

use super::WORKSPACE;
use super::wire::Bind;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Folders of the system, by their names below `/`.
pub(crate) const SYSTEM: &[&str] = &["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// What of `/etc` programs need to start.
const SETTINGS: &[&str] = &["/etc/ld.so.cache", "/etc/alternatives"];
const SYSTEM_PATH: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];
/// Where Rust's own tools are shown, whatever home folder they are in.
const CARGO_BIN: &str = "/toolchain/cargo/bin";
const RUSTUP_HOME: &str = "/toolchain/rustup";
const CARGO_HOME: &str = "/scratch/cargo";
/// Never shown as a whole, whatever is in `PATH`.
const PRIVATE: &[&str] = &["/", "/home", "/root", "/etc", "/proc", "/sys", "/dev", "/run", "/var", "/tmp"];
/// More than any reasonable `PATH`.
const BINDS_MAX: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Toolbox {
    pub(crate) binds: Vec<Bind>,
    /// Links at the root, such as `/bin`.
    pub(crate) links: Vec<(String, String)>,
    pub(crate) path: Vec<String>,
    has_rustup: bool,
}

/// What the caller's environment says.
pub(crate) struct Host {
    path: Vec<PathBuf>,
    home: Option<PathBuf>,
    cargo_home: Option<PathBuf>,
    rustup_home: Option<PathBuf>,
}

impl Host {
    pub(crate) fn of_environment() -> Self {
        let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        Self {
            path: env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default(),
            cargo_home: folder("CARGO_HOME").or_else(|| below_home(".cargo")),
            rustup_home: folder("RUSTUP_HOME").or_else(|| below_home(".rustup")),
            home,
        }
    }
}

impl Toolbox {
    /// For these allowed commands and programs to start, on this workspace (all as the host knows them).
    pub(crate) fn new<'p>(
        host: &Host,
        workspace: &Path,
        allowed: &[String],
        programs: impl Iterator<Item = &'p str>,
    ) -> Self {
        let mut toolbox = Self::default();
        toolbox.add_system();
        let is_of_use = |folder: &Path| {
            is_system(folder) || allowed.iter().any(|name| name == "*" || is_program(&folder.join(name)))
        };
        let folders = host.path.iter().filter(|folder| folder.is_absolute() && folder.is_dir());
        for folder in folders.filter(|folder| is_of_use(folder)) {
            toolbox.add_folder(host, workspace, folder);
        }
        for folder in SYSTEM_PATH {
            toolbox.add_to_path((*folder).to_owned());
        }
        for program in programs.filter(|program| !program.contains('/')) {
            let found = host.path.iter().map(|folder| folder.join(program)).find(|file| is_program(file));
            // What a link in `PATH` leads to may be installed elsewhere.
            if let Some(real) = found.and_then(|file| file.canonicalize().ok())
                && let Some(folder) = real.parent()
            {
                toolbox.show(host, workspace, folder);
            }
        }
        toolbox.binds.truncate(BINDS_MAX);
        toolbox
    }

    fn add_system(&mut self) {
        for name in SYSTEM {
            let path = Path::new("/").join(name);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_symlink() => {
                    if let Some(target) =
                        fs::read_link(&path).ok().and_then(|it| it.to_str().map(str::to_owned))
                    {
                        self.links.push((format!("/{name}"), target));
                    }
                }
                Ok(metadata) if metadata.is_dir() => self.bind(&path, format!("/{name}")),
                _ => {}
            }
        }
        for path in SETTINGS.iter().map(Path::new).filter(|path| path.exists()) {
            self.bind(path, path.display().to_string());
        }
    }

    fn add_folder(&mut self, host: &Host, workspace: &Path, folder: &Path) {
        if is_cargo_bin(host, folder) {
            return self.add_rust(host, folder);
        }
        if folder.ends_with("shims") {
            return self.add_pyenv(host, workspace, folder);
        }
        if let Some(inside) = self.show(host, workspace, folder) {
            self.add_to_path(inside);
        }
    }

    /// Rust's tools, the toolchains, and the downloaded crates; no credentials and no settings.
    fn add_rust(&mut self, host: &Host, bin: &Path) {
        self.bind(bin, CARGO_BIN.to_owned());
        self.add_to_path(CARGO_BIN.to_owned());
        if let Some(home) = &host.cargo_home {
            for part in ["registry", "git"].iter().filter(|part| home.join(part).is_dir()) {
                self.bind(&home.join(part), format!("{CARGO_HOME}/{part}"));
            }
        }
        if let Some(home) = host.rustup_home.as_ref().filter(|home| home.join("toolchains").is_dir()) {
            for part in ["toolchains", "settings.toml"].iter().filter(|part| home.join(part).exists()) {
                self.bind(&home.join(part), format!("{RUSTUP_HOME}/{part}"));
            }
            self.has_rustup = true;
        }
    }

    /// The chosen versions themselves: the scripts in front of them need the whole of pyenv.
    fn add_pyenv(&mut self, host: &Host, workspace: &Path, shims: &Path) {
        let Some(root) = shims.parent().filter(|root| root.join("versions").is_dir()) else { return };
        let chosen = fs::read_to_string(root.join("version")).unwrap_or_default();
        for version in chosen.split_whitespace().filter(|version| !version.contains('/')) {
            let bin = root.join("versions").join(version).join("bin");
            if let Some(inside) = bin.is_dir().then(|| self.show(host, workspace, &bin)).flatten() {
                self.add_to_path(inside);
            }
        }
    }

    /// Shows the installation that a folder of programs belongs to, and says where the folder is inside.
    fn show(&mut self, host: &Host, workspace: &Path, folder: &Path) -> Option<String> {
        if let Ok(below) = folder.strip_prefix(workspace) {
            return Some(Path::new(WORKSPACE).join(below).to_str()?.to_owned());
        }
        let inside = folder.to_str()?.to_owned();
        if is_system(folder) || self.shows(folder) {
            return Some(inside);
        }
        let is_private = |path: &Path| {
            PRIVATE.iter().any(|it| path == Path::new(it)) || host.home.as_deref() == Some(path)
        };
        let has_parents = folder.components().any(|part| part == Component::ParentDir);
        if is_private(folder) || has_parents || folder.starts_with("/proc") || folder.starts_with("/sys") {
            return None;
        }
        // `~/.local` holds all sorts of things besides programs.
        let is_prefix = |path: &Path| {
            !is_private(path)
                && !path.ends_with(".local")
                && (path.join("lib").is_dir() || path.join("pyvenv.cfg").is_file())
        };
        let shown = folder.parent().filter(|parent| is_prefix(parent)).unwrap_or(folder);
        self.bind(shown, shown.to_str()?.to_owned());
        Some(inside)
    }

    fn shows(&self, folder: &Path) -> bool {
        self.binds.iter().any(|bind| folder.starts_with(&bind.to))
    }

    fn bind(&mut self, from: &Path, to: String) {
        let bind = Bind { from: from.into(), to };
        if !self.binds.contains(&bind) {
            self.binds.push(bind);
        }
    }

    fn add_to_path(&mut self, folder: String) {
        if !self.path.contains(&folder) {
            self.path.push(folder);
        }
    }

    /// The whole environment of a command. Nothing of the caller's is in it.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let fixed: &[(&str, &str)] = &[
            ("HOME", "/scratch/home"),
            ("USER", "sandbox"),
            ("LOGNAME", "sandbox"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("TERM", "dumb"),
            ("TMPDIR", "/tmp"),
            ("XDG_CACHE_HOME", "/scratch/cache"),
            ("XDG_CONFIG_HOME", "/scratch/home/.config"),
            ("XDG_DATA_HOME", "/scratch/home/.local/share"),
            ("CARGO_HOME", CARGO_HOME),
            ("CARGO_TARGET_DIR", "/scratch/target"),
            ("CARGO_NET_OFFLINE", "true"),
            ("CARGO_TERM_COLOR", "never"),
            ("GOCACHE", "/scratch/cache/go-build"),
            ("GOPATH", "/scratch/go"),
            ("GOFLAGS", "-mod=mod"),
            ("GOPROXY", "off"),
            ("GOTOOLCHAIN", "local"),
            ("NPM_CONFIG_CACHE", "/scratch/cache/npm"),
            ("NPM_CONFIG_OFFLINE", "true"),
            ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
            ("PIP_NO_INDEX", "1"),
            ("PYTHONPYCACHEPREFIX", "/scratch/cache/python"),
            ("PYTEST_ADDOPTS", "-o cache_dir=/scratch/cache/pytest"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_VALUE_0", "*"),
        ];
        let mut environment: Vec<(String, String)> =
            fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        environment.push(("PATH".to_owned(), self.path.join(":")));
        environment.push(("PWD".to_owned(), WORKSPACE.to_owned()));
        if self.has_rustup {
            environment.push(("RUSTUP_HOME".to_owned(), RUSTUP_HOME.to_owned()));
            environment.push(("RUSTUP_AUTO_INSTALL".to_owned(), "0".to_owned()));
        }
        environment
    }
}

fn is_system(folder: &Path) -> bool {
    let names: BTreeSet<&str> = SYSTEM.iter().copied().collect();
    let first = folder.components().nth(1).map(Component::as_os_str);
    first.and_then(|name| name.to_str()).is_some_and(|name| names.contains(name))
}

fn is_cargo_bin(host: &Host, folder: &Path) -> bool {
    host.cargo_home.as_ref().is_some_and(|home| folder == home.join("bin"))
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
