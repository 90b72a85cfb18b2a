//! The definitions that the server lists. A call carries the hash of its tool's definition, so that an approval
//! holds for that one only. The gate says which of them the client is shown.

use hyper::header::HeaderName;
use ordain_canon::{Canonicalizer, push_pointer_token};
use ordain_spec::mcp::{Listing, TOOLS_MAX, hash_of};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A server's instructions and its tools in this session.
#[derive(Default)]
pub(crate) struct Definitions {
    instructions: Option<String>,
    /// The hashes of definitions; nothing where a list had two of one name.
    tools: BTreeMap<String, Option<String>>,
    /// The pages of the list that is being read.
    pages: BTreeMap<String, Json>,
    /// Names on these pages that stand for no tool.
    ambiguous: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Opening {
    #[serde(default)]
    instructions: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// A page of a list of tools.
pub(crate) struct Page<'l> {
    line: &'l [u8],
    /// The place of the tools in the line.
    place: Range<usize>,
    tools: Vec<&'l RawValue>,
    /// The place of a word that lets others reuse the answer.
    public: Option<Range<usize>>,
    /// Whether another page follows.
    has_more: bool,
}

/// Why a list cannot be shown.
const AMBIGUOUS: &str = "the server's list of tools has two readings";

impl<'l> Page<'l> {
    /// Reads the result of `tools/list`, which is a part of the line. A list that two clients could read in two ways is
    /// refused.
    pub(crate) fn read(line: &'l [u8], result: &'l str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Listed<'a> {
            #[serde(borrow)]
            tools: &'a RawValue,
            #[serde(borrow, default, rename = "nextCursor")]
            next_cursor: Option<&'a RawValue>,
            #[serde(borrow, default, rename = "cacheScope")]
            cache_scope: Option<&'a RawValue>,
        }
        let unreadable =
            |error: serde_json::Error| format!("the server's list of tools cannot be read: {error}");
        let names: BTreeMap<String, &RawValue> = serde_json::from_str(result).map_err(unreadable)?;
        let is_other = |name: &String| name != "tools" && name.to_lowercase() == "tools";
        if names.keys().any(is_other) {
            return Err(AMBIGUOUS.to_owned());
        }
        let listed: Listed<'l> = serde_json::from_str(result).map_err(unreadable)?;
        let tools: Vec<&'l RawValue> = serde_json::from_str(listed.tools.get()).map_err(unreadable)?;
        let place = |part: &str| {
            let start = (part.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
            (start + part.len() <= line.len()).then_some(start..start + part.len())
        };
        let public = listed.cache_scope.filter(|scope| scope.get() == "\"public\"");
        Ok(Self {
            line,
            place: place(listed.tools.get()).ok_or(AMBIGUOUS)?,
            tools,
            public: public.and_then(|scope| place(scope.get())),
            has_more: listed.next_cursor.is_some_and(|cursor| cursor.get() != "null"),
        })
    }

    /// The line with the tools that are shown. If that is all of them, it is the line itself.
    pub(crate) fn shown(&self, is_shown: impl Fn(&str) -> bool) -> Cow<'l, [u8]> {
        let kept: Vec<&str> = self
            .tools
            .iter()
            .filter(|tool| name_of(tool).is_some_and(|name| is_shown(&name)))
            .map(|tool| tool.get())
            .collect();
        if kept.len() == self.tools.len() {
            return Cow::Borrowed(self.line);
        }
        let tools = format!("[{}]", kept.join(","));
        let mut edits = vec![(self.place.clone(), tools)];
        // The list of one agent is nobody else's.
        edits.extend(self.public.clone().map(|place| (place, "\"private\"".to_owned())));
        edits.sort_by_key(|(place, _)| place.start);
        let mut line = Vec::with_capacity(self.line.len());
        let mut end = 0;
        for (place, text) in edits {
            line.extend_from_slice(self.line.get(end..place.start).unwrap_or_default());
            line.extend_from_slice(text.as_bytes());
            end = place.end;
        }
        line.extend_from_slice(self.line.get(end..).unwrap_or_default());
        Cow::Owned(line)
    }
}

fn name_of(tool: &RawValue) -> Option<String> {
    serde_json::from_str::<Named>(tool.get()).ok().map(|named| named.name)
}

/// A definition that has one reading.
fn definition_of(tool: &RawValue) -> Option<Json> {
    let mut canon = Canonicalizer::new();
    let bytes = canon.text(tool.get().as_bytes()).ok()?;
    serde_json::from_slice(bytes).ok()
}

impl Definitions {
    /// Learns from the result of an opening.
    pub(crate) fn open(&mut self, result: &str) {
        let Ok(Opening { instructions }) = serde_json::from_str::<Opening>(result) else { return };
        self.instructions = instructions.or(self.instructions.take());
    }

    /// Learns from a page of the list, and gives the list so far and whether it is whole.
    pub(crate) fn learn(&mut self, page: &Page<'_>, from_start: bool, upstream: &str) -> (Listing, bool) {
        if from_start {
            self.pages.clear();
            self.ambiguous.clear();
        }
        for tool in &page.tools {
            let Some(name) = name_of(tool) else { continue };
            match definition_of(tool) {
                Some(definition) if !self.pages.contains_key(&name) && self.pages.len() < TOOLS_MAX => {
                    self.pages.insert(name, definition);
                }
                _ => drop(self.ambiguous.insert(name)),
            }
        }
        if self.tools.len() >= TOOLS_MAX {
            self.tools.retain(|name, _| self.pages.contains_key(name));
        }
        for (name, definition) in &self.pages {
            let definition = hash_of(definition).filter(|_| !self.ambiguous.contains(name));
            if self.tools.len() < TOOLS_MAX || self.tools.contains_key(name) {
                self.tools.insert(name.clone(), definition);
            }
        }
        let tools = self.pages.iter().filter(|(name, _)| !self.ambiguous.contains(*name));
        let listing = Listing {
            upstream: upstream.to_owned(),
            instructions: self.instructions.clone(),
            tools: tools.map(|(name, definition)| (name.clone(), definition.clone())).collect(),
        };
        (listing, !page.has_more)
    }

    /// Whether a name of the list stands for one tool with one reading.
    pub(crate) fn is_plain(&self, tool: &str) -> bool {
        self.pages.contains_key(tool) && !self.ambiguous.contains(tool)
    }

    /// The pins of a call of this tool: nothing of a tool that was not listed.
    pub(crate) fn pins(&self, tool: &str) -> Result<Map<String, Json>, String> {
        let mut pins = Map::new();
        match self.tools.get(tool) {
            Some(Some(definition)) => drop(pins.insert("pin".to_owned(), json!(definition))),
            Some(None) => return Err(format!("the server lists two tools of the name `{tool}`")),
            None => {}
        }
        let instructions = self.instructions.clone().and_then(|text| hash_of(&Json::String(text)));
        pins.extend(instructions.map(|hash| ("instructions".to_owned(), json!(hash))));
        Ok(pins)
    }
}

/// The arguments of tools that go into headers, too (`x-mcp-header`), as pointers into the arguments.
pub(crate) fn parameter_headers(result: &str) -> BTreeMap<String, Vec<(HeaderName, String)>> {
    let result = serde_json::from_str::<Json>(result).unwrap_or_default();
    let tools = result.get("tools").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let marked = tools.iter().take(TOOLS_MAX).filter_map(|tool| {
        let mut found = Vec::new();
        marked_properties(tool.get("inputSchema")?, &mut String::new(), &mut found);
        Some((tool.get("name")?.as_str()?.to_owned(), found)).filter(|(_, found)| !found.is_empty())
    });
    marked.collect()
}

fn marked_properties(schema: &Json, pointer: &mut String, found: &mut Vec<(HeaderName, String)>) {
    for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
        let length = pointer.len();
        push_pointer_token(pointer, name);
        let header = property.get("x-mcp-header").and_then(Json::as_str);
        let header = header.and_then(|header| HeaderName::try_from(format!("mcp-param-{header}")).ok());
        found.extend(header.map(|header| (header, pointer.clone())));
        marked_properties(property, pointer, found);
        pointer.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(definitions: &mut Definitions, result: &str) -> bool {
        let page = Page::read(result.as_bytes(), result).unwrap();
        definitions.learn(&page, true, "u").1
    }

    fn pin(definitions: &Definitions, tool: &str) -> Json {
        definitions.pins(tool).unwrap().get("pin").cloned().unwrap_or_default()
    }

    #[test]
    fn any_change_of_a_definition_is_another_pin() {
        let mut definitions = Definitions::default();
        learn(
            &mut definitions,
            r#"{"tools":[{"name":"a","description":"x","annotations":{"readOnlyHint":true}},{"name":"b"}]}"#,
        );
        let (first, other) = (pin(&definitions, "a"), pin(&definitions, "b"));
        assert_ne!(first, other);
        assert_eq!(pin(&definitions, "c"), Json::Null);
        learn(
            &mut definitions,
            r#"{"tools":[{"annotations":{"readOnlyHint":true}, "description":"x", "name":"a"}]}"#,
        );
        assert_eq!(pin(&definitions, "a"), first);
        for changed in [
            r#"{"tools":[{"name":"a","description":"y","annotations":{"readOnlyHint":true}}]}"#,
            r#"{"tools":[{"name":"a","description":"x","annotations":{"readOnlyHint":false}}]}"#,
            r#"{"tools":[{"name":"a","description":"x","annotations":{"readOnlyHint":true},"vendor":1}]}"#,
        ] {
            learn(&mut definitions, changed);
            assert_ne!(pin(&definitions, "a"), first, "{changed}");
            assert_eq!(pin(&definitions, "b"), other);
        }
        definitions.open(r#"{"instructions":"Always call a first"}"#);
        assert!(definitions.pins("b").unwrap().contains_key("instructions"));
    }

    #[test]
    fn two_definitions_of_one_name_are_none() {
        let mut definitions = Definitions::default();
        learn(&mut definitions, r#"{"tools":[{"name":"a"},{"name":"a","description":"evil"}]}"#);
        assert!(definitions.pins("a").is_err() && !definitions.is_plain("a"));
        learn(&mut definitions, r#"{"tools":[{"name":"a"}]}"#);
        assert!(definitions.pins("a").is_ok() && definitions.is_plain("a"));
        // On two pages, too.
        let page = r#"{"tools":[{"name":"a","description":"evil"}]}"#;
        let (listing, _) = definitions.learn(&Page::read(page.as_bytes(), page).unwrap(), false, "u");
        assert!(definitions.pins("a").is_err() && listing.tools.is_empty());
    }

    #[test]
    fn definitions_with_two_readings_are_not_shown() {
        for definition in [
            r#"{"name":"a","description":"x","description":"y"}"#,
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"p":{},"p":{}}}}"#,
            r#"{"name":"a","n":9007199254740993}"#,
            r#"{"name":"a","d":"\ud800"}"#,
            r#"{"name":"a","name":"b"}"#,
            r#"{"title":"a"}"#,
            r#""a""#,
        ] {
            let result = format!(r#"{{"tools":[{definition},{{"name":"ok"}}]}}"#);
            let mut definitions = Definitions::default();
            let page = Page::read(result.as_bytes(), &result).unwrap();
            let (listing, _) = definitions.learn(&page, true, "u");
            assert_eq!(listing.tools.keys().collect::<Vec<_>>(), ["ok"], "{definition}");
            let shown = page.shown(|name| definitions.is_plain(name));
            assert_eq!(&*shown, br#"{"tools":[{"name":"ok"}]}"#, "{definition}");
        }
    }

    #[test]
    fn lists_with_two_readings_are_refused() {
        for result in [
            r#"{"tools":[],"tools":[{"name":"evil"}]}"#,
            r#"{"tools":[],"Tools":[{"name":"evil"}]}"#,
            r#"{"tools":[],"t\u006fols":[{"name":"evil"}]}"#,
            r#"{"tools":{}}"#,
            r#"{}"#,
            "[]",
        ] {
            assert!(Page::read(result.as_bytes(), result).is_err(), "{result}");
        }
    }

    #[test]
    fn everything_but_hidden_tools_stays_as_it_is() {
        let result = r#"{ "nextCursor":"c", "tools" : [ {"name":"a", "x":1.50}, {"name":"b"} ],"cacheScope":"public","ttlMs":5e1 }"#;
        let line = format!(r#"{{"id":1, "result":{result}, "vendor":[1.0]}}"#);
        let start = line.find(result).unwrap();
        let page = Page::read(line.as_bytes(), &line[start..start + result.len()]).unwrap();
        assert_eq!(&*page.shown(|_| true), line.as_bytes());
        assert!(page.has_more);
        let expected = line
            .replace(r#"[ {"name":"a", "x":1.50}, {"name":"b"} ]"#, r#"[{"name":"a", "x":1.50}]"#)
            .replace("public", "private");
        assert_eq!(std::str::from_utf8(&page.shown(|name| name == "a")).unwrap(), expected);
    }
}
