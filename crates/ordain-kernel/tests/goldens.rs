//! The goldens and the version of the kernel move together.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and reads its data"
)]

use ordain_canon::ContentHash;
use ordain_kernel::KERNEL_VERSION;
use std::fs;
use std::path::Path;

/// The hash of all goldens, in the order of their names.
fn digest(folder: &Path) -> String {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let lines: String = files
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            format!("{} {name}\n", ContentHash::of(&fs::read(path).unwrap()))
        })
        .collect();
    ContentHash::of(lines.as_bytes()).to_string()
}

#[test]
fn goldens_and_kernel_version_move_together() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let golden = root.join("examples/golden");
    let changes = fs::read_to_string(root.join("CHANGELOG_GOLDENS.md")).unwrap();
    let entry = changes.split("\n## ").nth(1).unwrap_or_default();
    let digest = digest(&golden);
    assert!(
        entry.starts_with(KERNEL_VERSION) && entry.contains(&digest),
        "the first entry of CHANGELOG_GOLDENS.md must be `{KERNEL_VERSION}` with the digest `{digest}`; \
         when goldens changed, KERNEL_VERSION does too"
    );
    for file in fs::read_dir(&golden).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(text.contains(&format!("\"kernel_version\":\"{KERNEL_VERSION}\"")), "{}", &text[..60]);
    }
}
