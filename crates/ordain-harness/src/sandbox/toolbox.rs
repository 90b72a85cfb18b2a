//! Which programs of the host are seen inside, and the environment that they start with.
//!
//! The system's own folders are always there. Any other installation that the caller's `PATH` names is shown
//! if it has a command that the profile allows, and nothing around it: a toolchain in a home folder does not
//! bring the home folder along.
//!
//! The workspace is not trusted: no link in it decides what of the host is shown. See [`place`](super::place).

use super::WORKSPACE;
use super::place::{Place, Private, is_shared};
use super::wire::Bind;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Folders of the system, by their names below `/`.
const SYSTEM: &[&str] = &["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// The files of `/etc` that programs need to start.
const SETTINGS: &[&str] = &["/etc/ld.so.cache", "/etc/alternatives"];
const SYSTEM_PATH: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin"];
/// Where Rust's own tools are shown, whatever home folder they are in.
const CARGO_BIN: &str = "/toolchain/cargo/bin";
const RUSTUP_HOME: &str = "/toolchain/rustup";
const CARGO_HOME: &str = "/scratch/cargo";
/// The sandbox's own folders, which are not folders of the host.
const MOVED: &[&str] = &[WORKSPACE, "/scratch", "/toolchain", "/tmp"];
/// The parts of an installation that are shown besides the folder that `PATH` names. The rest may be
/// anything.
const PARTS: &[&str] = &["bin", "lib", "lib64", "libexec", "share", "include", "pyvenv.cfg"];
/// Further parts of an installation that has a certain file: Go, Java, Homebrew.
const MORE_PARTS: &[(&str, &[&str])] = &[
    ("bin/go", &["src", "pkg", "VERSION", "go.env"]),
    ("lib/modules", &["conf", "release"]),
    ("bin/brew", &["Cellar", "opt"]),
];
/// More than any reasonable `PATH`.
const BINDS_MAX: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Toolbox {
    pub(crate) binds: Vec<Bind>,
    /// Links at the root, such as `/bin`.
    pub(crate) links: Vec<(String, String)>,
    pub(crate) path: Vec<String>,
    has_rustup: bool,
    /// The private folder that stands for the root, where there are no namespaces.
    base: String,
}

/// The relevant part of the caller's environment.
pub(crate) struct Host {
    path: Vec<PathBuf>,
    cargo_home: Option<PathBuf>,
    rustup_home: Option<PathBuf>,
}

impl Host {
    pub(crate) fn of_environment() -> Self {
        let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = folder("HOME");
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let path = env::var_os("PATH").unwrap_or_default();
        Self {
            // The meaning of a relative entry depends on the caller's current folder: often the workspace.
            path: env::split_paths(&path).filter(|folder| folder.is_absolute()).collect(),
            cargo_home: folder("CARGO_HOME").or_else(|| below_home(".cargo")),
            rustup_home: folder("RUSTUP_HOME").or_else(|| below_home(".rustup")),
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
        let private = Private::of_caller(workspace);
        toolbox.add_system();
        let is_of_use = |folder: &Path| {
            is_system(folder) || allowed.iter().any(|name| name == "*" || is_program(&folder.join(name)))
        };
        let folders: Vec<Place> =
            host.path.iter().filter_map(|folder| Place::of(folder, workspace)).collect();
        for place in folders.iter().filter(|place| place.real.is_dir() && is_of_use(&place.real)) {
            toolbox.add_folder(host, &private, place);
        }
        for folder in SYSTEM_PATH {
            toolbox.add_to_path((*folder).to_owned());
        }
        for program in programs.filter(|program| !program.contains('/')) {
            // The target of a link in `PATH` may be installed elsewhere.
            let found = folders.iter().filter(|folder| !folder.is_of_workspace).find_map(|folder| {
                let file = Place::of(&folder.real.join(program), workspace)?;
                (!file.is_of_workspace && is_program(&file.real)).then_some((folder, file))
            });
            if let Some((folder, file)) = found
                && let Some(real) = file.real.parent()
                && real != folder.real
            {
                toolbox.show(&private, &Place::at(real));
            }
        }
        toolbox.binds.truncate(BINDS_MAX);
        toolbox
    }

    /// The same in a private folder, where there are no namespaces: the host's own folders keep their names.
    pub(crate) fn moved_to(mut self, base: &str) -> Self {
        base.clone_into(&mut self.base);
        for folder in &mut self.path {
            if MOVED.iter().any(|it| Path::new(folder.as_str()).starts_with(it)) {
                *folder = format!("{base}{folder}");
            }
        }
        self
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
        for path in SETTINGS.iter().map(Path::new) {
            if let Ok(real) = path.canonicalize() {
                self.bind(&real, path.display().to_string());
            }
        }
    }

    fn add_folder(&mut self, host: &Host, private: &Private, place: &Place) {
        if is_cargo_bin(host, private, place) {
            return self.add_rust(host, private, place);
        }
        if place.named.ends_with("shims") {
            return self.add_pyenv(private, &place.real);
        }
        if let Some(inside) = self.show(private, place) {
            self.add_to_path(inside);
        }
    }

    /// Rust's tools, the toolchains, and the downloaded crates; no credentials and no settings.
    fn add_rust(&mut self, host: &Host, private: &Private, bin: &Place) {
        self.bind(&bin.real, CARGO_BIN.to_owned());
        self.add_to_path(CARGO_BIN.to_owned());
        let mut add = |home: &Path, part: &str, inside: &str| {
            let found = Place::of(&home.join(part), &private.workspace).filter(|it| private.may_show(it));
            let is_there = found.as_ref().is_some_and(|it| it.real.exists());
            if let Some(found) = found.filter(|_| is_there) {
                self.bind(&found.real, format!("{inside}/{part}"));
            }
            is_there
        };
        if let Some(home) = &host.cargo_home {
            for part in ["registry", "git"] {
                add(home, part, CARGO_HOME);
            }
        }
        if let Some(home) = &host.rustup_home
            && add(home, "toolchains", RUSTUP_HOME)
        {
            add(home, "settings.toml", RUSTUP_HOME);
            self.has_rustup = true;
        }
    }

    /// The chosen versions themselves: the scripts in front of them need the whole of pyenv.
    fn add_pyenv(&mut self, private: &Private, shims: &Path) {
        let Some(root) = shims.parent().filter(|root| root.join("versions").is_dir()) else { return };
        let chosen = fs::read_to_string(root.join("version")).unwrap_or_default();
        for version in chosen.split_whitespace().filter(|version| !version.contains('/')) {
            let bin = root.join("versions").join(version).join("bin");
            let bin = Place::of(&bin, &private.workspace).filter(|bin| bin.real.is_dir());
            if let Some(inside) = bin.and_then(|bin| self.show(private, &bin)) {
                self.add_to_path(inside);
            }
        }
    }

    /// Shows the installation that a folder of programs belongs to, and says where the folder is inside.
    fn show(&mut self, private: &Private, place: &Place) -> Option<String> {
        if let Ok(below) = place.real.strip_prefix(&private.workspace) {
            return Some(Path::new(WORKSPACE).join(below).to_str()?.to_owned());
        }
        if place.is_of_workspace {
            return None;
        }
        // A shown folder keeps the name by which it is known, unless something else has it inside.
        let has_own_name = !is_system(&place.real) && !is_shared(&place.named);
        let named = if has_own_name { &place.named } else { &place.real };
        let inside = named.to_str()?.to_owned();
        if is_system(named) || self.shows(named) {
            return Some(inside);
        }
        if !private.may_show(place) {
            return None;
        }
        self.bind(&place.real, inside.clone());
        let prefixes = place.real.parent().zip(named.parent());
        if let Some((real, named)) = prefixes.filter(|(real, _)| private.may_show_around(real)) {
            self.add_parts(private, real, named);
        }
        Some(inside)
    }

    /// Shows what an installation is made of.
    fn add_parts(&mut self, private: &Private, prefix: &Path, named: &Path) {
        // `~/.local` holds all sorts of things besides programs.
        let is_prefix = prefix.join("lib").is_dir() || prefix.join("pyvenv.cfg").is_file();
        if !is_prefix || [prefix, named].iter().any(|path| path.ends_with(".local")) {
            return;
        }
        let more = MORE_PARTS.iter().filter(|(file, _)| prefix.join(file).is_file());
        for part in PARTS.iter().chain(more.flat_map(|(_, parts)| *parts)) {
            let Some(place) = Place::of(&prefix.join(part), &private.workspace) else { continue };
            let is_own = place.real.starts_with(prefix) || is_system(&place.real);
            let Some(inside) = named.join(part).to_str().map(str::to_owned) else { continue };
            if is_own && private.may_show(&place) && place.real.exists() && !self.shows(Path::new(&inside)) {
                self.bind(&place.real, inside);
            }
        }
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
        let moved = |value: &str| match MOVED.iter().find(|it| value.contains(**it)) {
            Some(folder) => value.replacen(folder, &format!("{}{folder}", self.base), 1),
            None => value.to_owned(),
        };
        let mut environment: Vec<(String, String)> =
            fixed.iter().map(|(name, value)| ((*name).to_owned(), moved(value))).collect();
        environment.push(("PATH".to_owned(), self.path.join(":")));
        environment.push(("PWD".to_owned(), moved(WORKSPACE)));
        if self.has_rustup {
            environment.push(("RUSTUP_HOME".to_owned(), moved(RUSTUP_HOME)));
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

fn is_cargo_bin(host: &Host, private: &Private, folder: &Place) -> bool {
    let bin = host.cargo_home.as_ref().and_then(|home| Place::of(&home.join("bin"), &private.workspace));
    bin.is_some_and(|bin| bin.real == folder.real && private.may_show(folder))
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
