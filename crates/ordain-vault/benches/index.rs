//! The index of a vault beside plainly reading its files, interleaved in one run: built anew, and brought up
//! to date after one note in a hundred changed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark may fail loudly")]

use ordain_vault::{Index, Updated, Vault};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

const NOTES: usize = 5_000;
const FOLDERS: usize = 50;
const ROUNDS: usize = 9;
/// Rounds before that, which fill the cache of the system.
const WARM_UP: usize = 2;

fn main() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ordain-vault-bench");
    fs::remove_dir_all(&root).ok();
    let bytes = write_notes(&root);
    let vault = Vault::open(&root).unwrap();
    let [mut build, mut open, mut update] = [(); 3].map(|()| Figures::default());
    for round in 0..WARM_UP + ROUNDS {
        let plain = timed(|| assert_eq!(read_plainly(&root), bytes));
        let built = timed(|| assert_eq!(Index::build(&vault).unwrap().notes().count(), NOTES));
        Index::open(&vault).unwrap();
        let opened = timed(|| assert_eq!(Index::open(&vault).unwrap().1, changed(0)));
        for number in (round % 100..NOTES).step_by(100) {
            touch(&place(&root, number), 3_600 - round as u64);
        }
        let updated = timed(|| assert_eq!(Index::open(&vault).unwrap().1, changed(NOTES / 100)));
        if round >= WARM_UP {
            build.push(plain, built);
            open.push(plain, opened);
            update.push(plain, updated);
        }
    }
    println!(
        "{NOTES} notes, {} KB on average, beside finding and reading all of them",
        bytes / NOTES / 1_000
    );
    println!("{:<36} {:>6} {:>9} {:>9}", "", "ratio", "ms", "reading");
    build.print("built anew");
    open.print("opened, nothing changed");
    update.print("opened, 1 % changed, and kept");
    fs::remove_dir_all(&root).unwrap();
}

fn changed(read: usize) -> Updated {
    Updated { read, kept: NOTES - read, removed: 0 }
}

#[derive(Default)]
struct Figures {
    ratios: Vec<f64>,
    plain: Vec<f64>,
    ours: Vec<f64>,
}

impl Figures {
    fn push(&mut self, plain: f64, ours: f64) {
        self.ratios.push(plain / ours);
        self.plain.push(plain);
        self.ours.push(ours);
    }

    fn print(&mut self, name: &str) {
        let [ratio, ours, plain] = [&mut self.ratios, &mut self.ours, &mut self.plain].map(|it| median(it));
        println!("{name:<36} {ratio:>6.2} {:>9.1} {:>9.1}", ours * 1e3, plain * 1e3);
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap()
}

/// The bytes of all notes, found and read by one thread.
fn read_plainly(folder: &Path) -> usize {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            bytes += fs::read(&path).unwrap().len();
        } else if entry.file_type().unwrap().is_dir() && !entry.file_name().to_string_lossy().starts_with('.')
        {
            bytes += read_plainly(&path);
        }
    }
    bytes
}

fn place(root: &Path, number: usize) -> PathBuf {
    root.join(format!("topic-{}/note-{number}.md", number % FOLDERS))
}

/// As of so many seconds ago: what was written a moment ago is read again.
fn touch(path: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Notes as people have them; gives their bytes in all.
fn write_notes(root: &Path) -> usize {
    let mut bytes = 0;
    for folder in 0..FOLDERS {
        fs::create_dir_all(root.join(format!("topic-{folder}"))).unwrap();
    }
    for number in 0..NOTES {
        let mut text = format!(
            "---\ntitle: \"Note {number}: of the bench\"\nstatus: draft\ntags:\n  - topic-{}\n  - bench\naliases: [n{number}]\n\
             created: 2026-01-05\n---\n\n# Note {number}\n\nAbout *something* that is **worth** a note, as [[note-{}]] says.\n\n",
            number % FOLDERS,
            (number + 1) % NOTES
        );
        for section in 0..5 + number % 5 {
            text.push_str(&format!(
                "## Section {section}\n\nA paragraph with `code`, a [link](https://example.org/{section}) and a reference to \
                 [[note-{}|another note]]. It goes on for a few sentences, as paragraphs do. Nothing in it is special, and \
                 that is the point: most of a vault is prose.\n\n- a list\n- with *two* items, one of them long enough to be \
                 wrapped by an editor\n\n```rust\nfn main() {{ println!(\"{section}\"); }}\n```\n\n",
                (number * 7 + section) % NOTES
            ));
        }
        bytes += text.len();
        let path = place(root, number);
        fs::write(&path, text).unwrap();
        touch(&path, 7_200);
    }
    bytes
}
