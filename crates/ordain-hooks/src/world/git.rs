//! A git repository, read from its files. `git` itself is not run: its configuration can name programs.

use super::files;
use ordain_canon::ContentHash;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of a file of a repository that is read.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// References that are read.
const REFERENCES_MAX: usize = 10_000;
/// Names from `HEAD` to a commit.
const STEPS_MAX: usize = 8;

/// The repository that a folder belongs to: the folder with HEAD, and the one with everything shared.
struct Repository {
    own: PathBuf,
    common: PathBuf,
}

/// The state that a git command would work on: the commit, the hash of all branches and tags, the remotes, and the hash
/// of the configuration. Nothing where there is no repository.
pub(super) fn state(folder: &Path) -> Option<Result<Json, String>> {
    let repository = folder.ancestors().find_map(find)?;
    Some(repository.and_then(|repository| repository.state()))
}

fn find(folder: &Path) -> Option<Result<Repository, String>> {
    let path = folder.join(".git");
    let metadata = path.metadata().ok()?;
    if metadata.is_dir() {
        return Some(Ok(Repository { own: path.clone(), common: path }));
    }
    // A worktree or a submodule names its repository in a file.
    Some(text(&path).and_then(|text| {
        let named = text.as_deref().and_then(|text| text.trim_end().strip_prefix("gitdir:"));
        let named = named.ok_or("`.git` is neither a folder nor the name of one")?;
        let own = folder.join(named.trim());
        let common = match self::text(&own.join("commondir"))? {
            Some(name) => own.join(name.trim()),
            None => own.clone(),
        };
        Ok(Repository { own, common })
    }))
}

fn text(path: &Path) -> Result<Option<String>, String> {
    let name = || path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = files::bytes(path, FILE_BYTES_MAX).map_err(|problem| format!("{}: {problem}", name()))?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| format!("{}: it is not UTF-8", name()))
}

impl Repository {
    fn state(&self) -> Result<Json, String> {
        if self.common.join("reftable").is_dir() {
            return Err("its references are in a table that is not read here".to_owned());
        }
        let references = self.references()?;
        let head = text(&self.own.join("HEAD"))?.ok_or("it has no HEAD")?;
        let config = text(&self.common.join("config"))?.unwrap_or_default();
        let own_config = text(&self.own.join("config.worktree"))?.unwrap_or_default();
        let mut listed = String::new();
        for (name, id) in &references {
            listed.push_str(&format!("{id} {name}\n"));
        }
        Ok(json!({
            "head": head.trim(),
            "commit": self.commit(head.trim(), &references)?,
            "references": ContentHash::of(listed.as_bytes()).to_string(),
            "remotes": remotes(&config),
            "config": ContentHash::of(format!("{config}\0{own_config}").as_bytes()).to_string(),
        }))
    }

    /// The commit that HEAD leads to; nothing before the first one.
    fn commit(&self, head: &str, references: &BTreeMap<String, String>) -> Result<Option<String>, String> {
        let mut at = head.to_owned();
        for _ in 0..STEPS_MAX {
            let Some(name) = at.strip_prefix("ref:") else { return Ok(Some(at)) };
            match references.get(name.trim()) {
                Some(next) => at = next.clone(),
                None => return Ok(None),
            }
        }
        Err("its HEAD leads nowhere".to_owned())
    }

    /// All branches, tags and remote branches, by name.
    fn references(&self) -> Result<BTreeMap<String, String>, String> {
        let mut found = BTreeMap::new();
        let packed = text(&self.common.join("packed-refs"))?.unwrap_or_default();
        for line in packed.lines().filter(|line| !line.starts_with(['#', '^'])) {
            if let Some((id, name)) = line.split_once(' ') {
                found.insert(name.to_owned(), id.to_owned());
            }
        }
        let mut folders = vec![(self.common.join("refs"), "refs".to_owned())];
        while let Some((folder, prefix)) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries {
                let entry = entry.map_err(|error| error.to_string())?;
                let name = entry.file_name().into_string().map_err(|_| "a reference is not UTF-8")?;
                let full = format!("{prefix}/{name}");
                if entry.path().is_dir() {
                    folders.push((entry.path(), full));
                } else if let Some(id) = text(&entry.path())? {
                    found.insert(full, id.trim().to_owned());
                }
                if found.len() + folders.len() > REFERENCES_MAX {
                    return Err(format!("it has more than {REFERENCES_MAX} references"));
                }
            }
        }
        Ok(found)
    }
}

/// The URLs of a configuration, for people to read. The hash of the configuration covers everything else in it.
fn remotes(config: &str) -> Map<String, Json> {
    let mut remotes = Map::new();
    let mut remote = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            let name = line.strip_prefix("[remote \"").and_then(|rest| rest.strip_suffix("\"]"));
            remote = name.map(str::to_owned);
        } else if let (Some(remote), Some((key, value))) = (&remote, line.split_once('=')) {
            let key = key.trim().to_lowercase();
            if key == "url" || key == "pushurl" {
                let name = if key == "url" { remote.clone() } else { format!("{remote} (push)") };
                remotes.insert(name, json!(without_password(value.trim())));
            }
        }
    }
    remotes
}

/// A URL without the user and password before its host.
fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_recorded() {
        let config = "[core]\n\turl = no\n[remote \"origin\"]\n\turl = https://me:secret@git.example/a.git\n\tpushurl = git@x:a\n";
        let remotes = Json::Object(remotes(config));
        assert_eq!(remotes, json!({"origin": "https://git.example/a.git", "origin (push)": "git@x:a"}));
    }
}
