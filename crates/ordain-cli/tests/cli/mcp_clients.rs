//! The files of MCP clients; ordain as a server; calls that are only tried.

use crate::harness::{Kind, Project, count};
use crate::mcp::{Session, call, script, text};
use crate::presence::{PASSPHRASE, on_terminal};
use serde_json::{Value as Json, json};

const TOOLS: &str = "[\"mcp.s.read\"]\naction_type = \"write\"\nresource_type = \"tool\"\nresource_id = \"read\"\ndomain = \"crm\"\n\
    [\"mcp.s.write\"]\naction_type = \"write\"\nresource_type = \"tool\"\nresource_id = \"write\"\ndomain = \"sales\"\n";

#[test]
fn a_clients_file_is_wrapped_and_restored_byte_for_byte() {
    let room = Project::with_gate(Kind::File);
    room.write("policy/tools.toml", TOOLS);
    room.push();
    let server = room.path("server");
    room.write("server/list", r#"{"tools":[{"name":"read"},{"name":"write"}]}"#);
    let before = format!(
        "{{\n\t\"mcpServers\": {{\"s\":{{\"command\":\"python3\" ,\"args\":[\"{}\",\"{}\"], \"env\": {{\"T\": \"1\"}}}},\"u\": {{\"url\": \"https://x.example\"}} }}\r\n}}",
        script("mcp_lister.py"),
        server.display()
    );
    room.write(".mcp.json", &before);
    let file = || std::fs::read_to_string(room.path(".mcp.json")).unwrap();
    room.run(&["mcp", "wrap", "claude", "--dry-run"]).ended(0).says("gateway");
    assert_eq!(file(), before);
    let told = room.run(&["mcp", "wrap", "claude", "--json"]).ended(0).json();
    assert_eq!(told["servers"], json!({"s": "wrapped", "u": "is reached by URL"}));
    let wrapped = file();
    assert_ne!(wrapped, before);
    // Twice is once, and what is wrapped works.
    room.run(&["mcp", "wrap", "claude"]).ended(0);
    assert_eq!(file(), wrapped);
    let entry: Json = serde_json::from_str(&wrapped).unwrap();
    let entry = &entry["mcpServers"]["s"];
    let mut words = vec![entry["command"].as_str().unwrap().to_owned()];
    words.extend(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()));
    assert!(words.windows(2).any(|pair| pair == ["--env", "T"]), "{words:?}");
    let mut client = Session::start(&words);
    assert_eq!(text(&client.ask(&call(1, "read", &json!({})))), "read");
    drop(client);
    // Taking it away is an act of the owner.
    let steps = [("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE), ("[y/N] ", "y")];
    on_terminal(&room, &steps, &["init", "--claim"]).ended(0);
    let refused = room.run(&["mcp", "unwrap", "claude"]);
    assert_ne!(refused.code, 0, "{}", refused.all());
    assert_eq!(file(), wrapped);
    on_terminal(&room, &[("Passphrase: ", PASSPHRASE)], &["mcp", "unwrap", "claude"]).ended(0);
    assert_eq!(file(), before);
    // A file that is not read strictly stays as it is.
    room.write(".cursor/mcp.json", "{\"mcpServers\": {}, \"mcpServers\": {\"s\": {\"command\": \"x\"}}}");
    room.run(&["mcp", "wrap", "cursor"]).ended(1);
    room.run(&["mcp", "wrap", "desktop"]).ended(64);
}

#[test]
fn a_call_can_be_tried() {
    let room = Project::with_gate(Kind::File);
    room.write("policy/tools.toml", TOOLS);
    room.push();
    let before = room.entries().len();
    let tried = room.run(&["mcp", "try", "s", "read", "{\"a\": 1}", "--json"]).ended(0).json();
    assert_eq!(tried["outcome"], "ALLOW");
    room.run(&["mcp", "try", "s", "write"]).ended(20);
    room.run(&["mcp", "try", "s", "other", "--json"]).ended(21).says("does not map the tool");
    room.run(&["mcp", "try", "s", "read", "[1]"]).ended(64);
    room.write("policy/mcp.toml", "pin = \"review\"\n");
    room.push();
    room.run(&["mcp", "try", "s", "read", "--json"]).ended(21).says("is not approved");
    assert_eq!(room.entries().len(), before + 1);
}

#[test]
fn an_agent_proposes_over_mcp_and_decides_nothing() {
    let room = Project::with_gate(Kind::File);
    room.push();
    let inner = room.command(&["mcp", "serve"]);
    let mut words = vec!["env".to_owned()];
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_str().unwrap(), value.to_str().unwrap()));
        }
    }
    words.extend(["sh", "-c", "cd \"$0\" && exec \"$@\""].map(str::to_owned));
    words.push(room.root.display().to_string());
    words.push(inner.get_program().to_str().unwrap().to_owned());
    words.extend(inner.get_args().map(|word| word.to_str().unwrap().to_owned()));
    // The session itself names a gate that is not there.
    words.insert(1, "--unset=ORDAIN_SERVER".to_owned());
    let mut client = Session::start(&words);
    let opening = client
        .ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#);
    assert_eq!(opening["result"]["protocolVersion"], "2025-06-18");
    let listed = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["propose", "status", "list_held", "show", "why"]);
    let propose = |domain: &str| json!({"action_type": "write", "target": {"resource_type": "contact", "resource_id": "1", "domain": domain}});
    let allowed = client.call(2, "propose", &propose("crm"));
    assert_eq!(allowed["result"]["structuredContent"]["state"], "allowed", "{allowed}");
    let held = client.call(3, "propose", &propose("sales"));
    assert_eq!(held["result"]["structuredContent"]["state"], "held", "{held}");
    let id = held["result"]["structuredContent"]["action_id"].clone();
    let about = json!({"action_id": id});
    assert!(text(&client.call(4, "why", &about)).contains("G14"));
    assert!(text(&client.call(5, "show", &about)).contains("sales"));
    assert_eq!(
        client.call(6, "list_held", &json!({}))["result"]["structuredContent"]["actions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    for tool in ["approve", "reject", "decide"] {
        assert!(client.call(7, tool, &about).get("error").is_some());
    }
    let denied = client.call(8, "propose", &propose("other"));
    assert_eq!(denied["result"]["structuredContent"]["state"], "denied", "{denied}");
    let wrong = client.call(9, "propose", &json!({"as": "alice"}));
    assert_eq!(wrong["result"]["isError"], true);
    // The revision without an opening.
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let found = client.ask(
        &json!({"jsonrpc": "2.0", "id": 10, "method": "server/discover", "params": {"_meta": meta}})
            .to_string(),
    );
    assert_eq!(found["result"]["resultType"], "complete");
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2030-01-01"});
    let found = client.ask(
        &json!({"jsonrpc": "2.0", "id": 11, "method": "tools/list", "params": {"_meta": meta}}).to_string(),
    );
    assert_eq!(found["error"]["code"], -32022);
    assert_eq!(client.end(), 0);
    assert_eq!(count(&room.entries(), "approved"), 0);
    room.sound();
}
