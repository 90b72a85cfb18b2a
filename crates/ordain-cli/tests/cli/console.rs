//! The console in a real browser: `harness/console_browser/console.test.mjs` has a named test for each feature.

use std::path::{Path, PathBuf};
use std::process::Command;

fn target() -> PathBuf {
    // …/target/debug/ordain
    Path::new(env!("CARGO_BIN_EXE_ordain")).ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn the_console_works_in_a_browser() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let room = tempfile::Builder::new().prefix("ordain-console-").tempdir().unwrap();
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec"])
        .arg(root.join("tests/cli/harness/console_browser/console.test.mjs"))
        .env("ORDAIN", env!("CARGO_BIN_EXE_ordain"))
        .env("ROOM", room.path())
        .env("NODE_MODULES", target().join("node/node_modules"))
        .env("CONSOLE", root.join("../../console"))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // A run that found no tests would pass.
    assert!(said.contains("pass 2"), "{said}");
}
