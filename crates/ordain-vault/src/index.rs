//! All notes of a vault by their names, kept beside it and brought up to date by reading only what changed.

use crate::error::VaultError;
use crate::finding::{Code, Finding, sort};
use crate::limits::{INDEX_BYTES_MAX, NOTE_BYTES_MAX};
use crate::markdown::{Heading, Outline};
use crate::note::{Note, stem};
use crate::vault::{Vault, joined};
use ordain_canon::ContentHash;
use ordain_harness::{EntryKind, Folder, RunFolderError, Stamp, replace_own_file};
use ordain_spec::folded_path;
use ordain_spec::note::Proposal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// The file, in `.ordain` of the vault.
const FILE: &str = "vault-index.json";
const VERSION: u32 = 1;
/// A file that was written a moment ago can be written again in the same tick of the file system's clock.
const TICK_NS: i64 = 2_000_000_000;

/// The notes of a vault.
#[derive(Default)]
pub struct Index {
    notes: BTreeMap<String, Indexed>,
    names: OnceLock<Names>,
}

/// The known facts about a note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Indexed {
    /// Its title.
    pub title: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its headings.
    pub headings: Vec<Heading>,
    /// Where its links lead, each once: `[[name]]` of a note, a path or an address.
    pub links: Vec<String>,
    /// The hash of its file; none where that cannot be read.
    pub hash: Option<String>,
    /// Why its front matter or its file cannot be read.
    pub problem: Option<String>,
    stamp: Stamp,
    /// Whether a later change would show in the stamp.
    settled: bool,
}

/// The work of bringing an index up to date.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Updated {
    /// Notes that were read.
    pub read: usize,
    /// Notes that are as they were.
    pub kept: usize,
    /// Notes that are gone.
    pub removed: usize,
}

/// Paths by folded names, sorted.
#[derive(Default)]
struct Names {
    stems: Vec<(String, String)>,
    titles: Vec<(String, String)>,
    aliases: Vec<(String, String)>,
}

/// The file: the version, the vault's folder, and the notes. An index that came with a copy of a vault says
/// nothing about this one.
#[derive(Serialize, Deserialize)]
struct Saved<N>(u32, u64, Vec<N>);

/// A note as it is kept, without the names of its fields: path, title, aliases, tags, headings, links, hash,
/// problem, inode, size, time, settled.
type Row = (
    String,
    String,
    Vec<String>,
    Vec<String>,
    Vec<(u8, String)>,
    Vec<String>,
    Option<String>,
    Option<String>,
    (u64, u64, i64, bool),
);

impl Indexed {
    fn to_row<'i>(&'i self, path: &'i str) -> impl Serialize + 'i {
        let headings: Vec<(u8, &str)> = self.headings.iter().map(|it| (it.level, it.text.as_str())).collect();
        let Stamp { inode, size, modified_ns } = self.stamp;
        let stamp = (inode, size, modified_ns, self.settled);
        (
            path,
            &self.title,
            &self.aliases,
            &self.tags,
            headings,
            &self.links,
            &self.hash,
            &self.problem,
            stamp,
        )
    }

    fn of_row((path, title, aliases, tags, headings, links, hash, problem, stamp): Row) -> (String, Self) {
        let headings = headings.into_iter().map(|(level, text)| Heading { level, text }).collect();
        let (inode, size, modified_ns, settled) = stamp;
        let stamp = Stamp { inode, size, modified_ns };
        (path, Self { title, aliases, tags, headings, links, hash, problem, stamp, settled })
    }
}

impl Index {
    /// Reads all notes.
    pub fn build(vault: &Vault) -> Result<Self, VaultError> {
        let mut index = Self::default();
        index.update(vault)?;
        Ok(index)
    }

    /// The index that was kept, brought up to date and kept again. One that is damaged, or of another vault,
    /// is built anew.
    pub fn open(vault: &Vault) -> Result<(Self, Updated), VaultError> {
        let mut index = Self { notes: saved(vault).unwrap_or_default(), ..Self::default() };
        let updated = index.update(vault)?;
        if updated.read + updated.removed > 0 {
            // Without a place to keep it, it is built the next time.
            let _ = index.save(vault);
        }
        Ok((index, updated))
    }

    /// Reads what is new or changed, and forgets what is gone.
    pub fn update(&mut self, vault: &Vault) -> Result<Updated, VaultError> {
        let mut known = std::mem::take(self).notes;
        let mut notes = BTreeMap::new();
        let mut unread = Vec::new();
        vault.walk(&mut |folder_path, folder, names| {
            for name in names {
                let path = joined(folder_path, &name);
                match known.remove(&path) {
                    Some(note) if note.settled && is_unchanged(folder, &name, note.stamp) => {
                        notes.insert(path, note);
                    }
                    _ => unread.push(path),
                }
            }
            Ok(())
        })?;
        let updated = Updated { read: unread.len(), kept: notes.len(), removed: known.len() };
        notes.extend(read_all(vault, &unread));
        self.notes = notes;
        Ok(updated)
    }

    /// Keeps the index in the vault's `.ordain`.
    pub fn save(&self, vault: &Vault) -> Result<(), RunFolderError> {
        let failed =
            |error: serde_json::Error| RunFolderError::Io { path: FILE.to_owned(), error: error.into() };
        let rows = self.notes.iter().map(|(path, note)| note.to_row(path)).collect();
        let saved = Saved(VERSION, root_of(vault), rows);
        let json = serde_json::to_vec(&saved).map_err(failed)?;
        let mut bytes = format!("{}\n", ContentHash::of(&json)).into_bytes();
        bytes.extend_from_slice(&json);
        replace_own_file(vault.root(), FILE, &bytes)
    }

    /// All notes by their paths.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &Indexed)> {
        self.notes.iter().map(|(path, note)| (path.as_str(), note))
    }

    /// The note at a path.
    pub fn get(&self, path: &str) -> Option<&Indexed> {
        self.notes.get(path)
    }

    /// The notes that a reference means: a path, with or without `.md`; or else the end of one; or else a
    /// title; or else an alias. `[[name#part|shown]]` is `name`. Case and Unicode form make no difference,
    /// but a path that is there exactly as written is meant.
    pub fn find(&self, reference: &str) -> Vec<&str> {
        let name = reference.trim().trim_start_matches("[[").trim_end_matches("]]");
        let name = name.split(['#', '|', '^']).next().unwrap_or_default().trim();
        if let Some((path, _)) = self.notes.get_key_value(name) {
            return vec![path];
        }
        if let Some((path, _)) = self.notes.get_key_value(&format!("{name}.md")) {
            return vec![path];
        }
        let folded = folded_path(name);
        let names = self.names();
        let path = folded.strip_suffix(".md").unwrap_or(&folded);
        let by_stem = among(&names.stems, stem(path)).filter(|found| {
            let found = folded_path(found);
            let found = found.strip_suffix(".md").unwrap_or(&found);
            found.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        });
        let by_stem: Vec<&str> = by_stem.collect();
        if !by_stem.is_empty() {
            return by_stem;
        }
        let by_title: Vec<&str> = among(&names.titles, &folded).collect();
        if by_title.is_empty() { among(&names.aliases, &folded).collect() } else { by_title }
    }

    /// Warnings before a proposal becomes a note: names that other notes have, and links that lead nowhere.
    pub fn warnings(&self, proposal: &Proposal) -> Vec<Finding> {
        let mut found = Vec::new();
        let path = proposal.target.path.as_str();
        let frontmatter = &proposal.frontmatter;
        let aliases = frontmatter.aliases.iter().flatten().enumerate();
        let aliases = aliases.map(|(at, alias)| (format!("/frontmatter/aliases/{at}"), alias.as_str()));
        for (pointer, name) in
            [("/frontmatter/title".to_owned(), frontmatter.title.as_str())].into_iter().chain(aliases)
        {
            let names = self.names();
            let folded = folded_path(name);
            let other =
                among(&names.titles, &folded).chain(among(&names.aliases, &folded)).find(|it| *it != path);
            if let Some(other) = other {
                let message = format!("`{other}` has this title or alias already");
                found.push(Finding::new(Code::NameTaken, pointer, message));
            }
        }
        let body = Outline::of(proposal.body.content_md.as_str()).links.into_iter();
        let body = body.map(|link| ("/body/content_md".to_owned(), link));
        let related = proposal.governance.related_links.iter().enumerate();
        let related = related.map(|(at, link)| (format!("/governance/related_links/{at}"), link.clone()));
        for (pointer, link) in body.chain(related) {
            if names_a_note(&link) && !self.leads_somewhere(&link, proposal) {
                let message = format!("there is no note `{link}`");
                found.push(Finding::new(Code::LinkUnknown, pointer, message));
            }
        }
        sort(&mut found);
        found
    }

    fn leads_somewhere(&self, link: &str, proposal: &Proposal) -> bool {
        let path = proposal.target.path.as_str();
        let name = link.trim_start_matches("[[").trim_end_matches("]]");
        let plain = decoded(name.split('#').next().unwrap_or_default());
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        // Relative to the note or to the vault: readers do both.
        let beside = beside(folder, &plain);
        let aliases = proposal.frontmatter.aliases.iter().flatten().map(|alias| alias.as_str());
        let own = [path, stem(path), proposal.frontmatter.title.as_str()].into_iter().chain(aliases);
        let mut own = own.map(folded_path);
        own.any(|own| own == folded_path(&plain))
            || beside.as_deref() == Some(path)
            || !self.find(&plain).is_empty()
            || beside.is_some_and(|path| self.notes.contains_key(&path))
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let mut names = Names::default();
            for (path, note) in &self.notes {
                names.stems.push((folded_path(stem(path)), path.clone()));
                names.titles.push((folded_path(&note.title), path.clone()));
                names.aliases.extend(note.aliases.iter().map(|alias| (folded_path(alias), path.clone())));
            }
            for list in [&mut names.stems, &mut names.titles, &mut names.aliases] {
                list.sort_unstable();
            }
            names
        })
    }
}

/// The paths that have a name.
fn among<'n>(names: &'n [(String, String)], name: &str) -> impl Iterator<Item = &'n str> {
    let start = names.partition_point(|(known, _)| known.as_str() < name);
    let rest = names.get(start..).unwrap_or_default();
    let count = rest.iter().take_while(|(known, _)| known == name).count();
    rest.iter().take(count).map(|(_, path)| path.as_str())
}

/// Whether a link is meant to lead to a note of this vault.
fn names_a_note(link: &str) -> bool {
    if let Some(name) = link.strip_prefix("[[") {
        // An embedded file may be a picture.
        let extension = name.trim_end_matches("]]").rsplit_once('.').map(|(_, extension)| extension);
        return extension.is_none_or(|it| {
            it == "md" || it.len() > 4 || it.contains(|c: char| !c.is_ascii_alphanumeric())
        });
    }
    let path = link.split('#').next().unwrap_or_default();
    path.ends_with(".md") && !path.contains(':') && !path.starts_with('/')
}

/// A path from a folder of the vault, without `.` and `..`; nothing if it leads out.
fn beside(folder: &str, path: &str) -> Option<String> {
    let mut segments: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            name => segments.push(name),
        }
    }
    Some(segments.join("/"))
}

/// Without `%20` and its like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = digits.filter(|_| *first == b'%').and_then(|it| u8::from_str_radix(it, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { more.get(2..).unwrap_or_default() } else { more };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn is_unchanged(folder: &Folder, name: &str, stamp: Stamp) -> bool {
    matches!(folder.look(name), Ok(Some((EntryKind::File, now))) if now == stamp)
}

/// Reads notes, on all cores where there are many. A core that is done takes the next few, so that nobody
/// waits long for a core that others use too.
fn read_all(vault: &Vault, paths: &[String]) -> Vec<(String, Indexed)> {
    const NOTES_AT_ONCE: usize = 64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let now_ns = i64::try_from(now).unwrap_or(i64::MAX);
    let taken = AtomicUsize::new(0);
    let read = || {
        let mut notes = Vec::new();
        let mut batches = paths.chunks(NOTES_AT_ONCE);
        let mut passed = 0;
        loop {
            let number = taken.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.nth(number - passed) else { return notes };
            passed = number + 1;
            notes
                .extend(batch.iter().filter_map(|path| Some((path.clone(), read_one(vault, path, now_ns)?))));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let helpers = cores.min(paths.len().div_ceil(NOTES_AT_ONCE)).saturating_sub(1);
    thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers).map(|_| scope.spawn(read)).collect();
        let mut notes = read();
        for helper in helpers {
            notes.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        notes
    })
}

/// The present facts about a note; nothing if it is gone.
fn read_one(vault: &Vault, path: &str, now_ns: i64) -> Option<Indexed> {
    let settled = |stamp: Stamp| stamp.modified_ns.saturating_add(TICK_NS) < now_ns;
    let (bytes, stamp) = match vault.folder.read(path, NOTE_BYTES_MAX as u64) {
        Ok(read) => read,
        Err(error) => {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let (_, stamp) = vault.folder.folder(folder).ok()?.look(name).ok()??;
            return Some(unreadable(path, stamp, settled(stamp), error.to_string()));
        }
    };
    let hash = ContentHash::of(&bytes).to_string();
    match Note::read(path, bytes) {
        Ok(note) => Some(Indexed {
            title: note.title().to_owned(),
            aliases: note.aliases,
            tags: note.tags,
            headings: note.headings,
            links: note.links,
            hash: Some(hash),
            problem: note.problem,
            stamp,
            settled: settled(stamp),
        }),
        Err(problem) => Some(unreadable(path, stamp, settled(stamp), problem)),
    }
}

fn unreadable(path: &str, stamp: Stamp, settled: bool, problem: String) -> Indexed {
    Indexed {
        title: stem(path).to_owned(),
        aliases: Vec::new(),
        tags: Vec::new(),
        headings: Vec::new(),
        links: Vec::new(),
        hash: None,
        problem: Some(problem),
        stamp,
        settled,
    }
}

/// The number of the vault's folder.
fn root_of(vault: &Vault) -> u64 {
    vault.folder.look(".").ok().flatten().map_or(0, |(_, stamp)| stamp.inode)
}

/// The index on disk, if it is whole and of this vault.
fn saved(vault: &Vault) -> Option<BTreeMap<String, Indexed>> {
    let (bytes, _) = vault.folder.read(&format!(".ordain/{FILE}"), INDEX_BYTES_MAX as u64).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (hash, json) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    if ContentHash::of(json).to_string().as_bytes() != hash {
        return None;
    }
    let Saved(version, root, rows) = serde_json::from_slice(json).ok()?;
    (version == VERSION && root == root_of(vault)).then(|| rows.into_iter().map(Indexed::of_row).collect())
}
