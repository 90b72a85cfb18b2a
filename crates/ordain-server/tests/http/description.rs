//! The OpenAPI document: it is the committed one, it is valid, and the server does what it says.

use crate::support::{Server, proposal, text};
use ordain_api::Role;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How long strangers try on an ordinary day, and how long in a soak.
const SECONDS: u64 = 40;
const SOAK_SECONDS: u64 = 300;

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json")
}

#[test]
fn the_committed_description_is_the_one_that_is_served() {
    let server = Server::new();
    let reply = server.ask_with(None, "GET", "/openapi.json", None);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let committed = std::fs::read_to_string(committed()).unwrap();
    assert_eq!(reply.expect(200), serde_json::from_str::<Json>(&committed).unwrap(), "run cargo xtask gen");
}

/// A program of the Python environment that `cargo xtask test` makes.
fn program(name: &str) -> Command {
    let Some(folder) = std::env::var_os("ORDAIN_VENV") else {
        panic!("`cargo xtask test` makes a Python environment with `{name}` and names it in ORDAIN_VENV");
    };
    Command::new(Path::new(&folder).join("bin").join(name))
}

#[test]
fn the_description_is_valid_openapi() {
    let output =
        program("openapi-spec-validator").arg("--schema").arg("3.1").arg(committed()).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn strangers_find_nothing_that_is_not_described() {
    let folder = crate::support::Folder::new();
    let server = Server::new();
    let seconds = if std::env::var_os("ORDAIN_SOAK").is_some() { SOAK_SECONDS } else { SECONDS };
    let config = folder.0.join("schemathesis.toml");
    std::fs::write(&config, with_names(&server)).unwrap();
    let output = program("st")
        .arg("--config-file")
        .arg(config)
        .arg("run")
        .arg(format!("http://{}/openapi.json", server.address))
        .args(["--max-time", &seconds.to_string()])
        .args(["--header", &format!("Authorization: Bearer {}", server.token_of("everybody"))])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}");
    // Its own token still holds, so that it was not refused all the time.
    server.get("everybody", "/v1/gate").expect(200);
}

/// How it asks, with the names of things that there are.
fn with_names(server: &Server) -> String {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis.toml");
    let status = server.submit(&proposal("allowed", "read"));
    let held = server.submit(&proposal("held", "write"));
    let token = server.token("nobody", &[Role::Actor], &[], None);
    std::fs::read_to_string(template)
        .unwrap()
        .replace("@ACTION@", "allowed")
        .replace("@HELD@", "held")
        .replace("@PERMIT@", text(&status["permit"]["permit_id"]))
        .replace("@PERMIT_TEXT@", text(&status["permit"]["token"]))
        .replace("@DIGEST@", text(&held["view_digest"]))
        .replace("@TOKEN@", token.split('_').nth(1).unwrap())
}
