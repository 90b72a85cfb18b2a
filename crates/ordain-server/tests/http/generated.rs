//! Clients that generators make from the committed OpenAPI document, from a proposal to its outcome.

use crate::support::{Folder, NOW, Server};
use std::path::{Path, PathBuf};
use std::process::Command;

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a program to its end, which must be a good one, and gives its output.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{:?}\n{said}", command.get_program());
    said
}

/// Tells a script where the gate is, and who asks.
fn with_gate<'a>(command: &'a mut Command, server: &Server) -> &'a mut Command {
    command
        .env("GATE_URL", format!("http://{}", server.address))
        .env("GATE_NOW", NOW.to_string())
        .env("ACTOR_TOKEN", server.token_of("andy"))
        .env("APPROVER_TOKEN", server.token_of("ann"))
        .env("SECOND_APPROVER_TOKEN", server.token_of("bob"))
        .env("WORKER_TOKEN", server.token_of("will"))
}

#[test]
fn a_python_client_is_generated_and_works() {
    let Some(environment) = std::env::var_os("ORDAIN_VENV") else {
        panic!("`cargo xtask test` installs openapi-python-client and names its folder in ORDAIN_VENV");
    };
    let programs = Path::new(&environment).join("bin");
    let folder = Folder::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The generator formats its code with the `ruff` beside it.
    let paths = [programs.clone()].into_iter().chain(std::env::split_paths(&path));
    run(Command::new(programs.join("openapi-python-client"))
        .args(["generate", "--fail-on-warning", "--meta", "none", "--path"])
        .arg(in_repository("../../schemas/openapi.json"))
        .arg("--output-path")
        .arg(folder.0.join("ordain_gate"))
        .env("PATH", std::env::join_paths(paths).unwrap()));
    let server = Server::new();
    let mut script = Command::new(programs.join("python"));
    script.arg(in_repository("tests/generated/life.py")).env("PYTHONPATH", &folder.0);
    assert_eq!(run(with_gate(&mut script, &server)).trim(), "done");
}

#[test]
fn a_typescript_client_is_generated_and_works() {
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("node/node_modules");
    for name in ["openapi-typescript", "openapi-fetch", "typescript"] {
        assert!(packages.join(name).exists(), "npm's `{name}` is missing; `cargo xtask test` installs it");
    }
    let folder = Folder::new();
    std::os::unix::fs::symlink(&packages, folder.0.join("node_modules")).unwrap();
    std::fs::write(folder.0.join("package.json"), r#"{"type": "module"}"#).unwrap();
    std::fs::copy(in_repository("tests/generated/life.ts"), folder.0.join("life.ts")).unwrap();
    let program = |path: &str| {
        let mut command = Command::new("node");
        command.arg(packages.join(path)).current_dir(&folder.0);
        command
    };
    let said = run(program("openapi-typescript/bin/cli.js")
        .arg(in_repository("../../schemas/openapi.json"))
        .args(["--output", "gate.d.ts"]));
    assert!(!said.to_lowercase().contains("warn"), "{said}");
    run(program("typescript/bin/tsc")
        .args(["--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--module", "nodenext"])
        .args(["--lib", "es2022,dom,dom.iterable", "life.ts"]));
    let server = Server::new();
    let mut script = Command::new("node");
    script.arg("life.js").current_dir(&folder.0);
    assert_eq!(run(with_gate(&mut script, &server)).trim(), "done");
}
