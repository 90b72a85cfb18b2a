//! Claude Code and Codex, as their makers publish them, with a server behind the gateway: against a scripted model,
//! with loopback as their only network.

use crate::harness::{folder, os_user, ran};
use crate::hooks_live::program;
use crate::mcp::{approve, entry, project, script, seen, test_server};
use ordain_hooks::Agent;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;

/// Runs an agent that knows one server, and gives the texts that the model was told after each call.
fn told(agent: Agent, words: &[String], home: &Path, calls: &[(&str, Json)]) -> Vec<String> {
    let call = |(tool, arguments): &(&str, Json)| match agent {
        Agent::Claude => vec![json!({"name": format!("mcp__t__{tool}"), "input": arguments})],
        _ => vec![json!({"item": {"type": "function_call", "name": tool, "namespace": "mcp__t",
            "arguments": arguments.to_string()}})],
    };
    let main: Vec<Vec<Json>> = calls.iter().map(call).collect();
    let (steps, results) = (home.join("steps.json"), home.join("results.json"));
    std::fs::write(&steps, json!({"main": main, "sub": []}).to_string()).unwrap();
    let _ = std::fs::remove_file(&results);
    let program = program(agent);
    let mut command = Command::new("unshare");
    let is_root = os_user() == "root";
    command.arg(if is_root { "--net" } else { "--net=" }).args((!is_root).then_some("--map-root-user"));
    command.args(["python3", &script("agent_stage.py")]);
    command.arg(if agent == Agent::Claude { "anthropic" } else { "openai" });
    command.args([&steps, &results]).args(["--", "timeout", "90", "env", "-i"]);
    command.arg("PATH=/usr/local/bin:/usr/bin:/bin").arg(format!("HOME={}", home.display()));
    if agent == Agent::Claude {
        let servers = json!({"mcpServers": {"t": {"command": words[0], "args": words[1..]}}});
        std::fs::write(home.join("mcp.json"), servers.to_string()).unwrap();
        command.args(["ANTHROPIC_BASE_URL=http://127.0.0.1:{port}", "ANTHROPIC_API_KEY=none"]);
        command.args(["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"]).arg(program);
        command.args(["-p", "ORDAINTEST", "--output-format", "json", "--allowedTools", "mcp__t"]);
        command.args(["--strict-mcp-config", "--mcp-config"]).arg(home.join("mcp.json"));
    } else {
        std::fs::create_dir_all(home.join(".codex")).unwrap();
        let config = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\n\
             base_url = \"http://127.0.0.1:1/v1\"\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n\
             [mcp_servers.t]\ncommand = {}\nargs = {}\n",
            json!(words[0]),
            json!(words[1..])
        );
        std::fs::write(home.join(".codex/config.toml"), config).unwrap();
        command.arg("OPENAI_API_KEY=none").arg(program).args(["exec", "--skip-git-repo-check", "--json"]);
        command.args(["--dangerously-bypass-approvals-and-sandbox", "-c"]);
        command.args(["model_providers.scripted.base_url=\"http://127.0.0.1:{port}/v1\"", "ORDAINTEST"]);
    }
    let ran = ran(command.current_dir(home));
    let told = std::fs::read_to_string(&results).unwrap_or_else(|error| panic!("{error}: {}", ran.all()));
    let told: Vec<String> = serde_json::from_str(&told).unwrap();
    assert_eq!(told.len(), calls.len(), "{told:#?}\n{}", ran.all());
    told
}

/// Allowed, denied and held; and served after the approval.
fn calls_pass_the_gateway(agent: Agent) {
    let (project, home) = (project(), folder());
    let words = entry(&project, "t", &["--wait", "2"], &test_server(&project));
    let first = [("echo", json!({"a": 1})), ("crash", json!({})), ("sell", json!({"n": 1}))];
    let told_first = told(agent, &words, home.path(), &[first[0].clone(), first[2].clone()]);
    assert!(told_first[0].contains("echo {"), "{told_first:#?}");
    let held = &told_first[1];
    assert!(
        held.contains("HELD") && held.contains("Repeat the identical call after approval"),
        "{told_first:#?}"
    );
    approve(&project, held.split(['(', ')']).nth(1).unwrap());
    let calls = [first[2].clone(), ("sell", json!({"n": 2})), ("drip", json!({})), first[1].clone()];
    let told = told(agent, &words, home.path(), &calls);
    assert!(told[0].contains("sell {") && told[1].contains("HELD"), "{told:#?}");
    assert!(told[2].contains("slow") && told[3].contains("UNKNOWN"), "{told:#?}");
    let sold: Vec<Json> = seen(&project).into_iter().filter(|call| call[0] == "sell").collect();
    assert_eq!(sold, [json!(["sell", {"n": 1}])]);
    project.sound();
}

#[test]
fn claude_code_calls_through_the_gateway() {
    calls_pass_the_gateway(Agent::Claude);
}

#[test]
fn codex_calls_through_the_gateway() {
    calls_pass_the_gateway(Agent::Codex);
}
