//! The definitions that the client was shown. A call carries the hash of its tool's definition, so that an approval
//! holds for that one only.

use crate::limits::TOOLS_MAX;
use ordain_canon::{Canonicalizer, ContentHash};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The hashes of a server's instructions and of its tools in this session.
#[derive(Default)]
pub(crate) struct Definitions {
    instructions: Option<String>,
    /// Nothing where a list had two definitions of one name.
    tools: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Definitions {
    /// Learns from the result of an opening or of a list of tools.
    pub(crate) fn learn(&mut self, result: &str) {
        let Ok(Said { instructions, tools }) = serde_json::from_str::<Said<'_>>(result) else { return };
        if let Some(instructions) = instructions {
            self.instructions = Some(hash(instructions.get()));
        }
        let mut listed: BTreeMap<String, Option<String>> = BTreeMap::new();
        for tool in tools.into_iter().flatten() {
            let Ok(Named { name }) = serde_json::from_str(tool.get()) else { continue };
            let is_second = listed.contains_key(&name);
            listed.insert(name, Some(hash(tool.get())).filter(|_| !is_second));
        }
        for (name, definition) in listed {
            if self.tools.len() < TOOLS_MAX || self.tools.contains_key(&name) {
                self.tools.insert(name, definition);
            }
        }
    }

    /// The pins of a call of this tool: nothing of a tool that was not listed.
    pub(crate) fn pins(&self, tool: &str) -> Result<Map<String, Json>, String> {
        let mut pins = Map::new();
        match self.tools.get(tool) {
            Some(Some(definition)) => drop(pins.insert("pin".to_owned(), json!(definition))),
            Some(None) => return Err(format!("the server lists two tools of the name `{tool}`")),
            None => {}
        }
        if let Some(instructions) = &self.instructions {
            pins.insert("instructions".to_owned(), json!(instructions));
        }
        Ok(pins)
    }
}

/// Two spellings of one document have one hash; a document that has no canonical form has that of its text.
fn hash(text: &str) -> String {
    let mut canon = Canonicalizer::new();
    match canon.text(text.as_bytes()) {
        Ok(bytes) => ContentHash::of(bytes).to_string(),
        Err(_) => ContentHash::of(text.as_bytes()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(definitions: &Definitions, tool: &str) -> Json {
        definitions.pins(tool).unwrap().get("pin").cloned().unwrap_or_default()
    }

    #[test]
    fn any_change_of_a_definition_is_another_pin() {
        let mut definitions = Definitions::default();
        definitions.learn(
            r#"{"tools":[{"name":"a","description":"x","annotations":{"readOnlyHint":true}},{"name":"b"}]}"#,
        );
        let (first, other) = (pin(&definitions, "a"), pin(&definitions, "b"));
        assert_ne!(first, other);
        assert_eq!(pin(&definitions, "c"), Json::Null);
        definitions
            .learn(r#"{"tools":[{"annotations":{"readOnlyHint":true}, "description":"x", "name":"a"}]}"#);
        assert_eq!(pin(&definitions, "a"), first);
        for changed in [
            r#"{"tools":[{"name":"a","description":"y","annotations":{"readOnlyHint":true}}]}"#,
            r#"{"tools":[{"name":"a","description":"x","annotations":{"readOnlyHint":false}}]}"#,
            r#"{"tools":[{"name":"a","description":"x","annotations":{"readOnlyHint":true},"vendor":9007199254740993}]}"#,
        ] {
            definitions.learn(changed);
            assert_ne!(pin(&definitions, "a"), first, "{changed}");
            assert_eq!(pin(&definitions, "b"), other);
        }
        definitions.learn(r#"{"instructions":"Always call a first"}"#);
        assert!(definitions.pins("b").unwrap().contains_key("instructions"));
    }

    #[test]
    fn two_definitions_of_one_name_are_none() {
        let mut definitions = Definitions::default();
        definitions.learn(r#"{"tools":[{"name":"a"},{"name":"a","description":"evil"}]}"#);
        assert!(definitions.pins("a").is_err());
        definitions.learn(r#"{"tools":[{"name":"a"}]}"#);
        assert!(definitions.pins("a").is_ok());
    }
}
