//! A KernelRequest at the gate, by command: submitted, approved, used and replayed as what it stands for.

use crate::harness::{Kind, Project};
use serde_json::json;

const TOOLS: &str = r#"
["crm.update"]
action_type = "write"
resource_type = "crm_record"
resource_id = "contact-{contact}"
domain = "sales"
"#;

#[test]
fn a_permit_is_used_for_the_request_that_was_submitted() {
    let room = Project::with_gate(Kind::File);
    room.write("policy/tools.toml", TOOLS);
    room.push();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let request = |id: &str, tool: &str, contact: u64| {
        json!({"request_id": id, "ts_ms": u64::try_from(now.as_millis()).unwrap(), "actor": "agent-1",
            "intent": "update a contact", "tool_call": {"name": tool, "params": {"contact": contact}}})
        .to_string()
    };
    room.write("request.json", &request("r1", "crm.update", 7));
    room.write("other.json", &request("r1", "crm.update", 8));
    room.write("unmapped.json", &request("r2", "crm.drop", 7));
    let status = room.run(&["submit", "request.json", "--json"]).ended(20).json();
    let view = status["view_digest"].as_str().unwrap();
    let allowed = room.approve_as("alice", "r1", view).ended(0).json();
    let permit = allowed["permit"]["permit_id"].as_str().unwrap();
    room.run(&["permit", "use", permit, "--for", "other.json"]).ended(1).says("another `target`");
    room.run(&["permit", "use", permit, "--for", "request.json"]).ended(0).says("act now");
    room.run(&["permit", "outcome", permit, "succeeded", "--use", "1"]).ended(0);
    room.run(&["submit", "unmapped.json"]).ended(21).says("G2");
    room.run(&["replay"]).ended(0);
    room.sound();
}
