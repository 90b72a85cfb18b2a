//! How much memory the processes of the sandbox have together.

use super::limits::{MAPPING_BYTES, SOCKET_BYTES, SOCKETS_FREE};
use super::root::Processes;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What all processes but pid 1 have together, and what the kernel has for them. Memory that they share without a
/// file is counted whole and once, however little of it is in use at the moment.
///
/// Looks no longer than until the deadline: many processes with many mappings take a while. More than `enough` is not
/// looked for either.
pub(crate) fn used_bytes(all: &Processes, enough: u64, deadline: Instant) -> u64 {
    total(all, own_bytes, enough, deadline)
}

/// The same, with pages that a fork left in common counted once. It takes longer, and is asked only in doubt.
pub(crate) fn exact_bytes(all: &Processes, enough: u64, deadline: Instant) -> u64 {
    total(all, proportional_bytes, enough, deadline)
}

fn total(all: &Processes, own: fn(&Path) -> u64, enough: u64, deadline: Instant) -> u64 {
    let mut shared: BTreeMap<String, u64> = BTreeMap::new();
    let mut used = socket_bytes(all);
    for process in processes(all) {
        used += own(&process);
        used += mapped(&process, &mut shared) * MAPPING_BYTES;
        if used > enough || Instant::now() >= deadline {
            break;
        }
    }
    used + shared.values().sum::<u64>()
}

/// How many processes there are besides pid 1.
pub(crate) fn count(all: &Processes) -> u64 {
    processes(all).count() as u64
}

fn processes(all: &Processes) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(all.path()).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        (number != 1).then(|| entry.path())
    })
}

/// Pages that belong to no file, in memory or swapped out, and the tables that say where pages are.
fn own_bytes(process: &Path) -> u64 {
    let text = fs::read_to_string(process.join("status")).unwrap_or_default();
    field_bytes(&text, "RssAnon:") + field_bytes(&text, "VmSwap:") + field_bytes(&text, "VmPTE:")
}

fn proportional_bytes(process: &Path) -> u64 {
    let pages = fs::read_to_string(process.join("smaps_rollup")).unwrap_or_default();
    if !pages.contains("Pss_Anon:") {
        return own_bytes(process);
    }
    let tables = fs::read_to_string(process.join("status")).unwrap_or_default();
    field_bytes(&pages, "Pss_Anon:") + field_bytes(&pages, "SwapPss:") + field_bytes(&tables, "VmPTE:")
}

fn field_bytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1_024
}

/// How many mappings a process has. Adds the `MAP_SHARED` memory without a file, by its inode, with its size.
fn mapped(process: &Path, shared: &mut BTreeMap<String, u64>) -> u64 {
    let Ok(maps) = File::open(process.join("maps")) else { return 0 };
    let mut maps = BufReader::with_capacity(1 << 16, maps);
    let (mut line, mut count) = (Vec::new(), 0);
    while maps.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        count += 1;
        if line.ends_with(b"/dev/zero (deleted)\n") {
            add_shared(&String::from_utf8_lossy(&line), shared);
        }
        line.clear();
    }
    count
}

fn add_shared(line: &str, shared: &mut BTreeMap<String, u64>) {
    let mut words = line.split_whitespace();
    let range = words.next().and_then(|range| range.split_once('-'));
    let bytes = range.and_then(|(from, to)| {
        let address = |text| u64::from_str_radix(text, 16).ok();
        Some(address(to)?.saturating_sub(address(from)?))
    });
    if let (Some(bytes), Some(inode)) = (bytes, words.nth(3)) {
        let known = shared.entry(inode.to_owned()).or_default();
        *known = bytes.max(*known);
    }
}

/// What the sockets between processes may hold in transit, if there are many.
fn socket_bytes(all: &Processes) -> u64 {
    let Ok(sockets) = File::open(all.path().join("self/net/unix")) else { return 0 };
    let lines = BufReader::with_capacity(1 << 16, sockets).split(b'\n').map_while(Result::ok).count();
    let title = 1;
    lines.saturating_sub(title + SOCKETS_FREE) as u64 * SOCKET_BYTES
}
