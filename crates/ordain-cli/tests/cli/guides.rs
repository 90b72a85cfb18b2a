//! The commands of guide pages are run in order, and their output is compared; `…` stands for what differs each time.

#![cfg(target_os = "linux")]

use crate::harness::{folder, repository};
use crate::readme::{commands, files};
use std::path::Path;
use std::process::Command;

/// A page is for one job.
const PAGE_BYTES_MAX: usize = 8 * 1024;

fn check(name: &str) {
    let page = std::fs::read_to_string(repository().join("docs/guide").join(name)).unwrap();
    assert!(page.len() <= PAGE_BYTES_MAX, "{name} has {} bytes", page.len());
    let (folder, state) = (folder(), folder());
    for (file, content) in files(&page) {
        std::fs::write(folder.path().join(file), content).unwrap();
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_ordain")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut compared = 0;
    for (command, expected) in commands(&page) {
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {command}\n}} 2>&1")])
            .env("PATH", &path)
            .env("XDG_STATE_HOME", state.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        let real = String::from_utf8(output.stdout).unwrap();
        assert!(
            fits(real.trim_end(), expected.trim_end()),
            "{name}: $ {command}\n{real}\nexpected:\n{expected}"
        );
        compared += 1;
    }
    assert!(compared >= 5, "only {compared} commands were found in {name}");
}

/// Whether a text is this one, with anything in the places of `…`.
fn fits(real: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = real.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn pages_about_patch_sets_and_work_show_real_output() {
    check("patches.md");
    check("work.md");
}
