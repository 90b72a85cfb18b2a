//! Where a path leads, and whether credentials or guards are there.

use crate::analyse::Place;
use crate::expand::Arg;

/// Files and folders that hold credentials. A part of a path is enough; `*` is any text without a `/`.
static CREDENTIALS: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    "id_rsa*",
    "id_ed25519*",
    "id_ecdsa*",
    "id_dsa*",
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker",
    ".npmrc",
    ".pypirc",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    ".password-store",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    ".config/gh",
    ".config/gcloud",
    ".config/op",
    ".cargo/credentials*",
    "etc/shadow*",
    "etc/gshadow*",
    "etc/sudoers*",
    "etc/ssl/private",
    "proc/*/environ",
    "proc/*/mem",
    ".bash_history",
    ".zsh_history",
    ".mysql_history",
    ".psql_history",
    "keyrings",
    ".terraform.d",
    ".databrickscfg",
    ".s3cfg",
    ".boto",
    ".subversion/auth",
    ".local/state/ordain",
    ".local/share/keyrings",
];

/// Files and folders that decide what runs later without being asked: hooks, pipelines, start-up files, ordain's own.
static GUARDS: &[&str] = &[
    ".git",
    ".claude",
    ".codex",
    ".gemini",
    ".qwen",
    ".copilot",
    ".opencode",
    ".config/opencode",
    ".cursor",
    ".cline",
    ".clinerules",
    ".kiro",
    ".windsurf",
    ".agents",
    ".github",
    "opencode.json*",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".envrc",
    ".husky",
    ".gitlab-ci.yml",
    ".circleci",
    "jenkinsfile",
    "azure-pipelines.yml",
    ".travis.yml",
    ".buildkite",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".config/fish",
    ".inputrc",
    ".vimrc",
    ".config/nvim",
    ".gitconfig",
    ".config/git",
    "ordain.toml",
    ".ordain",
    "*.cedar",
    "*.cedarschema",
    ".config/systemd",
    ".config/autostart",
    ".launchd.conf",
    "launchagents",
    ".config/ordain",
    ".local/bin",
];

/// A folder that a command runs in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Folder {
    /// Below the workspace, by its parts.
    Inside(Vec<String>),
    /// From the root of the file system, or from `~`.
    Outside(Vec<String>),
    Unknown,
}

/// Where a path leads.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Spot {
    pub(crate) domain: &'static str,
    pub(crate) id: String,
    pub(crate) credential: bool,
    pub(crate) guard: bool,
}

impl Spot {
    pub(crate) fn anywhere() -> Self {
        Self { domain: "host", id: "*".to_owned(), credential: false, guard: false }
    }
}

/// Whether a path, relative or absolute, is one of credentials.
pub fn is_credential(path: &str) -> bool {
    let parts: Vec<String> = path.to_lowercase().split('/').map(str::to_owned).collect();
    listed(CREDENTIALS, &parts)
}

/// Whether a path, relative or absolute, is one of a guard: a file that decides what runs later without being asked.
pub fn is_guard(path: &str) -> bool {
    let parts: Vec<String> = path.to_lowercase().split('/').map(str::to_owned).collect();
    listed(GUARDS, &parts)
}

/// The folder that a path names.
pub(crate) fn folder(arg: &Arg, from: &Folder, place: &Place<'_>) -> Folder {
    if !arg.exact { Folder::Unknown } else { locate(&arg.text, from, place) }
}

/// Where an argument leads, if it is a path. Nothing, if it leads nowhere, as `/dev/null` does.
pub(crate) fn spot(arg: &Arg, from: &Folder, place: &Place<'_>) -> Option<Spot> {
    if arg.exact {
        if is_stream(&arg.text) {
            return None;
        }
        let found = locate(&arg.text, from, place);
        return Some(describe(&found, &[]));
    }
    if !arg.pattern {
        // Its beginning may say that it is a credential, whatever follows.
        let known = arg.prefix.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default();
        let credential = !known.is_empty() && is_credential(known);
        return Some(Spot { credential, ..Spot::anywhere() });
    }
    // The folder in front of the first pattern, and the patterns.
    let parts: Vec<&str> = arg.text.split('/').collect();
    let first = parts.iter().position(|part| part.contains(['*', '?', '['])).unwrap_or(parts.len());
    let (front, patterns) = parts.split_at(first);
    if patterns.contains(&"..") {
        return Some(Spot { guard: true, ..Spot::anywhere() });
    }
    let front = match front {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        parts => parts.join("/"),
    };
    let found = locate(&front, from, place);
    let patterns: Vec<String> = patterns.iter().map(|part| part.to_lowercase()).collect();
    Some(describe(&found, &patterns))
}

/// Whether a name, as `find -name` takes it, can be one of credentials.
pub(crate) fn name_of_credential(name: &str) -> bool {
    listed(CREDENTIALS, &[name.to_lowercase()])
}

fn is_stream(text: &str) -> bool {
    let streams = [
        "/dev/null",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/stdin",
        "/dev/tty",
        "/dev/zero",
        "/dev/urandom",
        "/dev/random",
        "-",
    ];
    streams.contains(&text)
        || text.strip_prefix("/dev/fd/").is_some_and(|rest| rest.chars().all(|it| it.is_ascii_digit()))
}

fn describe(folder: &Folder, patterns: &[String]) -> Spot {
    let (domain, id, parts) = match folder {
        Folder::Unknown => return Spot::anywhere(),
        Folder::Inside(parts) if parts.is_empty() => ("workspace", ".".to_owned(), parts),
        Folder::Inside(parts) => ("workspace", parts.join("/"), parts),
        Folder::Outside(parts) if parts.first().is_some_and(|part| part == "~") => {
            ("host", parts.join("/"), parts)
        }
        Folder::Outside(parts) => ("host", format!("/{}", parts.join("/")), parts),
    };
    let mut folded: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    folded.extend_from_slice(patterns);
    let root = parts.is_empty() && patterns.is_empty();
    Spot { domain, id, credential: listed(CREDENTIALS, &folded), guard: root || listed(GUARDS, &folded) }
}

fn listed(rows: &[&str], parts: &[String]) -> bool {
    let fits = |row: &&str| {
        let wanted: Vec<&str> = row.split('/').collect();
        parts
            .windows(wanted.len())
            .any(|window| window.iter().zip(&wanted).all(|(part, row)| meet(part, row)))
    };
    rows.iter().any(fits)
}

/// Whether some name fits both. Patterns that say too little, such as `*` or `src*`, fit only names that begin as they
/// do.
fn meet(part: &str, row: &str) -> bool {
    let wild = |character: char| matches!(character, '*' | '?' | '[');
    if !part.contains(wild) {
        return fits(row, part);
    }
    if let Some(suffix) = row.strip_prefix('*') {
        // By its last letters, if it has any.
        let tail =
            part.rsplit(|character: char| wild(character) || character == ']').next().unwrap_or_default();
        // `*y` can be `x.key`; `*.js` is not `x.jks`, since a tail with its dot has the whole ending.
        return !tail.is_empty()
            && (tail.ends_with(suffix) || suffix.ends_with(tail) && (!tail.contains('.') || tail == suffix));
    }
    let plain: String = part.chars().filter(|character| !wild(*character)).collect();
    if plain.is_empty() || !(part.starts_with('.') == row.starts_with('.') || part.starts_with(wild)) {
        return false;
    }
    // A star in front does not stand for a dot.
    if part.starts_with('*') && row.starts_with('.') && !part.contains('.') && !part.contains('[') {
        return false;
    }
    let (row, starred) = match row.strip_suffix('*') {
        Some(row) => (row, true),
        None => (row, false),
    };
    if starred {
        // `id_rsa*` and `id_*` meet if one can begin as the other does.
        let front: String = part.chars().take_while(|character| !wild(*character)).collect();
        return row.starts_with(&front) || front.starts_with(row) || loosely(part, row);
    }
    loosely(part, row)
}

/// Whether a pattern fits a name. A bracket stands for any one character.
fn loosely(pattern: &str, name: &str) -> bool {
    let mut simple = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '[' {
            let mut first = true;
            for inner in characters.by_ref() {
                if inner == ']' && !first {
                    break;
                }
                first = false;
            }
            simple.push('?');
        } else {
            simple.push(character);
        }
    }
    fits(&simple, name)
}

/// Whether a pattern of `*` and `?` fits a name.
fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(character) if *character == '?' || name.get(in_name) == Some(character) => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    at = place + 1;
                    in_name = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|character| *character == '*')
}

/// The place of the folder that a caller names: below the workspace if it is relative.
pub(crate) fn start(place: &Place<'_>) -> Folder {
    let top = Folder::Inside(Vec::new());
    if place.cwd.is_empty() { top } else { locate(place.cwd, &top, place) }
}

fn locate(path: &str, from: &Folder, place: &Place<'_>) -> Folder {
    if path == "~" || path.starts_with("~/") {
        let rest = path.trim_start_matches('~');
        return match place.home {
            Some(home) => locate(&format!("{home}{rest}"), from, place),
            None => {
                let mut parts = vec!["~".to_owned()];
                if climb(&mut parts, rest).is_none() || parts.is_empty() {
                    Folder::Unknown
                } else {
                    Folder::Outside(parts)
                }
            }
        };
    }
    if path.starts_with('~') {
        return Folder::Unknown;
    }
    if path.starts_with('/') {
        let mut parts = Vec::new();
        // `..` of the root is the root.
        let _above = climb(&mut parts, path);
        return inside(parts, place);
    }
    match from {
        Folder::Unknown => Folder::Unknown,
        Folder::Outside(parts) => {
            let mut parts = parts.clone();
            match climb(&mut parts, path) {
                Some(()) if parts.first().is_some_and(|part| part == "~") => Folder::Outside(parts),
                Some(()) => inside(parts, place),
                None => Folder::Unknown,
            }
        }
        Folder::Inside(parts) => {
            let mut below = parts.clone();
            if climb(&mut below, path).is_some() {
                return Folder::Inside(below);
            }
            let Some(root) = place.workspace else { return Folder::Unknown };
            locate(&format!("{root}/{}/{path}", parts.join("/")), from, place)
        }
    }
}

/// Follows a path. Nothing, if it leaves the folder that it starts in.
fn climb(parts: &mut Vec<String>, path: &str) -> Option<()> {
    let mut left = false;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => left |= parts.pop().is_none(),
            part => parts.push(part.to_owned()),
        }
    }
    (!left).then_some(())
}

/// A path from the root, which may lead below the workspace.
fn inside(parts: Vec<String>, place: &Place<'_>) -> Folder {
    if let Some(root) = place.workspace {
        let mut root_parts = Vec::new();
        let _above = climb(&mut root_parts, root);
        if !root_parts.is_empty()
            && let Some(rest) = parts.strip_prefix(root_parts.as_slice())
        {
            return Folder::Inside(rest.to_vec());
        }
    }
    Folder::Outside(parts)
}
