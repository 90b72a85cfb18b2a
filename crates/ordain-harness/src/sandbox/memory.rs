//! How much memory the processes of the sandbox have together, and the kernel has for them.

use super::limits::{
    DESCRIPTOR_BYTES, HIDDEN_MAPPINGS, MAPPING_BYTES, MAPPINGS_MAX, MEMORY_BYTES_MAX, SOCKET_BYTES_MIN,
    WATCHES_MAX, WATCHING_DESCRIPTORS_MIN,
};
use super::processes::Processes;
use super::sys;
use crate::beneath::{FOLDER, names};
use rustix::fs::{AtFlags, Mode, open, readlinkat, statat};
use rustix::io::Errno;
use rustix::process::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

/// The result of one look.
#[derive(Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) bytes: u64,
    pub(crate) mappings: u64,
    /// Nobody has memory in common without a file. False where that is not known.
    pub(crate) nothing_shared: bool,
}

impl Look {
    pub(crate) fn is_too_much(&self) -> bool {
        self.bytes > MEMORY_BYTES_MAX || self.mappings > MAPPINGS_MAX
    }
}

/// How closely to look.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Care {
    /// Pages and address spaces that processes have in common count for each of them.
    Rough,
    /// They count once. It takes longer, and is asked only in doubt.
    Exact,
}

/// The memory of all processes but pid 1 together. Memory that they share without a file counts as far as it
/// is mapped, however little of it is in use. Sockets and descriptors count with what they can hold.
///
/// Stops as soon as it is too much, and at the deadline: many processes with many mappings take a while.
pub(crate) fn look(all: &Processes, care: Care, deadline: Instant) -> Look {
    let bytes = if all.are_among_others() { 0 } else { socket_bytes(all) };
    let mut look = Look { bytes, ..Look::default() };
    let mut spaces: Vec<Pid> = Vec::new();
    let mut tasks = Vec::new();
    for process in all.each() {
        let mut task = Task::of(process.clone());
        if let Some(met) = task.as_ref().filter(|_| care == Care::Exact) {
            if !is_new(&mut spaces, met.id) {
                continue;
            }
            // A process that ends has none any more, and that is another one too.
            task = Task::of(process);
        }
        let Some(task) = task else { continue };
        look.bytes += task.bytes(care);
        if look.is_too_much() || Instant::now() >= deadline {
            return look;
        }
        tasks.push(task);
    }
    if all.are_among_others() {
        look.bytes += open_bytes(all, deadline);
    }
    let mut shared = BTreeMap::new();
    for task in tasks {
        look.mappings += task.mapped(MAPPINGS_MAX.saturating_sub(look.mappings), &mut shared);
        if look.is_too_much() || Instant::now() >= deadline {
            return look;
        }
    }
    look.nothing_shared = shared.is_empty();
    look.bytes += look.mappings * MAPPING_BYTES + shared.values().sum::<u64>();
    look
}

/// A count of watches that is under way.
#[derive(Default)]
pub(crate) struct WatchCount {
    /// The last process that was counted. Those with higher numbers follow.
    after: i32,
    pub(crate) found: u64,
}

/// How many watches of epoll and inotify all processes have; one more than `max` where there are more. Looks at
/// every descriptor, which takes a while where there are many. So it stops when the time is up, without an
/// answer, and goes on there at the next call.
pub(crate) fn watches(all: &Processes, max: u64, count: &mut WatchCount, until: Instant) -> Option<u64> {
    for process in all.each() {
        let number = process.file_name().and_then(|it| it.to_str()?.parse().ok()).unwrap_or(i32::MAX);
        if number <= count.after {
            continue;
        }
        count.found += Task::of(process).map_or(0, |task| task.watches(max.saturating_sub(count.found)));
        count.after = number;
        if count.found > max {
            break;
        }
        if Instant::now() >= until {
            return None;
        }
    }
    Some(std::mem::take(count).found)
}

/// How many watches all processes may have together.
pub(crate) fn watches_max() -> u64 {
    static MAX: OnceLock<u64> = OnceLock::new();
    *MAX.get_or_init(|| {
        let of_user = fs::read_to_string("/proc/sys/fs/epoll/max_user_watches");
        let of_user = of_user.ok().and_then(|text| text.trim().parse::<u64>().ok());
        of_user.map_or(WATCHES_MAX, |of_user| WATCHES_MAX.min(of_user / 10))
    })
}

/// How many processes there are besides pid 1.
pub(crate) fn count(all: &Processes) -> u64 {
    all.each().count() as u64
}

/// Whether this address space was not met before. Where the kernel does not tell, it counts again.
fn is_new(spaces: &mut Vec<Pid>, task: Pid) -> bool {
    let is_new = !spaces.iter().any(|known| sys::have_same_space(*known, task));
    if is_new {
        spaces.push(task);
    }
    is_new
}

/// A thread that has the memory of its process.
struct Task {
    process: PathBuf,
    folder: PathBuf,
    id: Pid,
    status: String,
}

impl Task {
    /// Once its first thread has ended, a process shows nothing; the other threads still do.
    fn of(process: PathBuf) -> Option<Self> {
        let threads =
            || fs::read_dir(process.join("task")).into_iter().flatten().flatten().map(|it| it.path());
        let (folder, status) = std::iter::once(process.clone()).chain(threads()).find_map(|folder| {
            let status = fs::read_to_string(folder.join("status")).ok()?;
            status.contains("\nRssAnon:").then_some((folder, status))
        })?;
        let number = folder.file_name()?.to_str()?.parse().ok()?;
        Some(Self { process, folder, id: Pid::from_raw(number)?, status })
    }

    /// Pages that belong to no file, in memory or swapped out, the tables that say where pages are, and what its
    /// descriptors can hold.
    fn bytes(&self, care: Care) -> u64 {
        let tables = field_bytes(&self.status, "VmPTE:") + field_bytes(&self.status, "HugetlbPages:");
        let descriptors = fs::metadata(self.folder.join("fd")).map_or(0, |it| it.len()) * DESCRIPTOR_BYTES;
        let pages = match care {
            Care::Rough => None,
            // The kernel goes through all tables for that, which takes long where they are what is too much.
            Care::Exact if tables + descriptors > MEMORY_BYTES_MAX => return tables + descriptors,
            Care::Exact => fs::read_to_string(self.process.join("smaps_rollup")).ok(),
        };
        let pages = match pages.filter(|text| text.contains("Pss_Anon:")) {
            Some(text) => field_bytes(&text, "Pss_Anon:") + field_bytes(&text, "SwapPss:"),
            None => field_bytes(&self.status, "RssAnon:") + field_bytes(&self.status, "VmSwap:"),
        };
        tables + descriptors + pages
    }

    /// How many watches it has; one more than `max` where there are more. Descriptors that processes have in
    /// common count for each.
    fn watches(&self, max: u64) -> u64 {
        let descriptors = fs::metadata(self.folder.join("fd")).map_or(0, |it| it.len());
        // Older kernels do not say how many there are.
        if (1..WATCHING_DESCRIPTORS_MIN).contains(&descriptors) {
            return 0;
        }
        let Ok(folder) = open(self.folder.join("fd"), FOLDER, Mode::empty()) else { return 0 };
        let mut count = 0;
        for name in names(&folder).unwrap_or_default() {
            let Ok(link) = readlinkat(&folder, &name, Vec::new()) else { continue };
            let line_starts: &[u8] = match link.to_bytes() {
                b"anon_inode:[eventpoll]" => b"tfd:",
                b"anon_inode:inotify" => b"inotify wd:",
                _ => continue,
            };
            let Some(name) = name.to_str().ok() else { continue };
            let Ok(info) = File::open(self.folder.join("fdinfo").join(name)) else { continue };
            let mut info = BufReader::with_capacity(1 << 16, info);
            let mut line = Vec::new();
            while info.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                count += u64::from(line.starts_with(line_starts));
                line.clear();
                if count > max {
                    return count;
                }
            }
        }
        count
    }

    /// How many mappings it has; one more than `max` where there are more. Adds the `MAP_SHARED` memory without a
    /// file, by its inode, with its size.
    fn mapped(&self, max: u64, shared: &mut BTreeMap<String, u64>) -> u64 {
        let maps = match File::open(self.folder.join("maps")) {
            Ok(maps) => maps,
            // Without namespaces a program that nobody may read hides them. Nobody needs many of these.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return HIDDEN_MAPPINGS,
            Err(_) => return 0,
        };
        let mut maps = BufReader::with_capacity(1 << 16, maps);
        let (mut line, mut count) = (Vec::new(), 0);
        while count <= max && maps.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            count += 1;
            if line.ends_with(b"/dev/zero (deleted)\n") {
                add_shared(&String::from_utf8_lossy(&line), shared);
            }
            line.clear();
        }
        count
    }
}

fn field_bytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1_024
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

/// Whether a process or thread is there.
pub(crate) fn is_there(all: &Processes, task: u32) -> bool {
    Path::exists(&all.path().join(task.to_string()))
}

/// The bytes that the sockets between processes can hold in transit. They cannot ask for more than this
/// machine gives each.
fn socket_bytes(all: &Processes) -> u64 {
    let Ok(sockets) = File::open(all.path().join("self/net/unix")) else { return 0 };
    let lines = BufReader::with_capacity(1 << 16, sockets).split(b'\n').map_while(Result::ok).count();
    match lines.saturating_sub(1) as u64 {
        0 => 0,
        count => count * sys::socket_buffer_bytes().max(SOCKET_BYTES_MIN),
    }
}

/// The bytes that descriptors hold where others have sockets too: those of pairs, and files that no longer
/// have a name.
fn open_bytes(all: &Processes, deadline: Instant) -> u64 {
    let each = sys::socket_buffer_bytes().max(SOCKET_BYTES_MIN);
    let (mut sockets, mut files, mut hidden) = (BTreeSet::new(), BTreeMap::new(), 0);
    for path in all.each().map(|process| process.join("fd")) {
        let folder = match open(&path, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::ACCESS) => {
                hidden += fs::metadata(&path).map_or(0, |it| it.len());
                continue;
            }
            Err(_) => continue,
        };
        for name in names(&folder).unwrap_or_default() {
            let Ok(link) = readlinkat(&folder, &name, Vec::new()) else { continue };
            if link.to_bytes().starts_with(b"socket:") {
                sockets.insert(link);
            } else if link.to_bytes().ends_with(b" (deleted)")
                && let Ok(stat) = statat(&folder, &name, AtFlags::empty())
            {
                files.insert((stat.st_dev, stat.st_ino), stat.st_blocks.unsigned_abs() * 512);
            }
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    (sockets.len() as u64 + hidden) * each + files.values().sum::<u64>()
}
