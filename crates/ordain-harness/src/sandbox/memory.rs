//! How much memory the processes of the sandbox have together.

use super::root::Processes;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What all processes but pid 1 have together. Memory that they share without a file is counted whole and once,
/// however little of it is in use at the moment.
pub(crate) fn used_bytes(all: &Processes) -> u64 {
    let mut shared: BTreeMap<String, u64> = BTreeMap::new();
    let mut own = 0;
    for process in processes(all) {
        own += own_bytes(&process);
        add_shared(&process, &mut shared);
    }
    own + shared.values().sum::<u64>()
}

/// The same, with pages that a fork left in common counted once. It takes longer, and is asked only in doubt.
pub(crate) fn exact_bytes(all: &Processes) -> u64 {
    let mut shared: BTreeMap<String, u64> = BTreeMap::new();
    let mut own = 0;
    for process in processes(all) {
        let text = fs::read_to_string(process.join("smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        own += kibibytes.map_or_else(|| own_bytes(&process), |number| number * 1_024);
        add_shared(&process, &mut shared);
    }
    own + shared.values().sum::<u64>()
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

/// Resident pages that belong to no file.
fn own_bytes(process: &Path) -> u64 {
    let text = fs::read_to_string(process.join("statm")).unwrap_or_default();
    let mut numbers = text.split_whitespace().filter_map(|number| number.parse::<u64>().ok());
    let (resident, of_files) = (numbers.nth(1).unwrap_or_default(), numbers.next().unwrap_or_default());
    resident.saturating_sub(of_files) * rustix::param::page_size() as u64
}

/// `MAP_SHARED` memory without a file, by its inode, with its size.
fn add_shared(process: &Path, shared: &mut BTreeMap<String, u64>) {
    let text = fs::read_to_string(process.join("maps")).unwrap_or_default();
    for line in text.lines().filter(|line| line.ends_with("/dev/zero (deleted)")) {
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
}
