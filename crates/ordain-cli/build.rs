//! Puts the conformance vectors into the binary, so that `ordain rules ID` can show them anywhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const FILES: [&str; 4] = ["about.md", "accept.json", "reject.json", "reject.report.json"];

fn folders(at: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(at)? {
        folders.push(entry?.path());
    }
    folders.retain(|path| path.is_dir());
    folders.sort();
    Ok(folders)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../conformance").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut table = String::from("&[\n");
    for kind in folders(&root)? {
        for rule in folders(&kind)? {
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            write!(table, "    ({:?}, {:?}, [", name(&kind).ok_or("a name")?, name(&rule).ok_or("a name")?)?;
            for file in FILES {
                let path = rule.join(file);
                match path.is_file() {
                    true => write!(table, "Some(include_str!({path:?})), ")?,
                    false => write!(table, "None, ")?,
                }
            }
            table.push_str("]),\n");
        }
    }
    table.push(']');
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("examples.rs"), table)?;
    Ok(())
}
