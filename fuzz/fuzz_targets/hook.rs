//! Any bytes as an event of a coding agent: nothing panics, and every member is read once, as it was written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ordain_hooks::{Agent, Event, Place, Resolved, World, action_of, read_event};
use serde_json::Value as Json;
use std::path::Path;

/// A machine on which nothing exists.
struct Nowhere;

impl World for Nowhere {
    fn place(&self, cwd: &Path, path: &str) -> Result<Place, String> {
        let real = cwd.join(path);
        let inside = real.strip_prefix("/w").ok().and_then(Path::to_str).map(str::to_owned);
        Ok(Place { real, inside, exists: false })
    }

    fn content(&self, _: &Place) -> Result<String, String> {
        Ok("absent".to_owned())
    }

    fn command(&self, _: &Place, _: &str) -> Resolved {
        Resolved::default()
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else { return };
    let agent = Agent::ALL[usize::from(*first) % Agent::ALL.len()];
    let Ok(Event::Before(call)) = read_event(agent, bytes) else { return };
    // An event that is read is JSON, and whole: without its last byte it is refused.
    let event: Json = serde_json::from_slice(bytes).expect("an event is JSON");
    let end = bytes.iter().rposition(|byte| !byte.is_ascii_whitespace()).expect("an event is not empty");
    assert!(read_event(agent, &bytes[..end]).is_err(), "a part of an event is refused");
    let member = |own: &str, other: &str| event.get(own).or_else(|| event.get(other)).cloned();
    assert_eq!(member("tool_name", "toolName"), Some(Json::from(call.tool.clone())));
    assert_eq!(member("tool_input", "toolArgs"), Some(Json::Object(call.input.clone())));
    if let Ok(action) = action_of(&call, &Nowhere) {
        assert!(!action.tool.is_empty());
        assert!(!action.parameters.contains_key("effects"), "only the gate derives effects");
    }
});
