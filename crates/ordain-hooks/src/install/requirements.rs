//! Codex's settings of the machine, `requirements.toml`: TOML, in which hooks are managed and need nobody's trust.
//!
//! Tables are added at the end of the text and found by their lines. Whatever a change comes to is read again: it must
//! say what the text said before, and the hook.

use super::{EditError, Found, entry, events, is_ours, read};
use crate::core::agent::Agent;
use serde_json::{Value as Json, json};
use std::ops::Range;

const AGENT: Agent = Agent::Codex;

/// The settings as a value.
fn value(text: &str) -> Result<Json, EditError> {
    let malformed = |error: String| EditError::Malformed(error.trim_end().replace('\n', "; "));
    let table: toml::Table = toml::from_str(text).map_err(|error| malformed(error.to_string()))?;
    serde_json::to_value(table).map_err(|error| malformed(error.to_string()))
}

/// The lists of hooks that are ours to change.
fn lists() -> impl Iterator<Item = (&'static str, bool)> {
    let (before, after) = events(AGENT);
    [(before, true)].into_iter().chain(after.iter().map(|event| (*event, false)))
}

pub(super) fn find(text: &str) -> Result<Vec<Found>, EditError> {
    found_in(&value(text)?)
}

fn found_in(settings: &Json) -> Result<Vec<Found>, EditError> {
    let Some(hooks) = settings.get("hooks") else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (event, is_before) in lists() {
        let Some(list) = hooks.get(event) else { continue };
        let list = list.as_array().ok_or_else(|| EditError::Shape(format!("hooks.{event}")))?;
        let ours = list.iter().filter(|element| is_ours(AGENT, element));
        found.extend(ours.map(|element| read(AGENT, event, is_before, element)));
    }
    Ok(found)
}

/// The text with the hook at its end.
pub(super) fn add(text: &str, installed: &super::Installed<'_>) -> Result<String, EditError> {
    let before = value(text)?;
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let tables: Result<Vec<String>, EditError> =
        lists().map(|(event, is_before)| table(event, &entry(installed, is_before))).collect();
    let new = format!("{text}{gap}{}", tables?.join("\n"));
    // A list that is written in one line cannot have tables added.
    let after = value(&new).map_err(|_| EditError::Shape("hooks".to_owned()))?;
    if found_in(&after)?.len() == lists().count() && without_ours(after) == without_ours(before) {
        Ok(new)
    } else {
        Err(EditError::Shape("hooks".to_owned()))
    }
}

/// An entry as tables.
fn table(event: &str, entry: &Json) -> Result<String, EditError> {
    let hooks = entry.get("hooks").and_then(Json::as_array).into_iter().flatten();
    let mut text = format!("[[hooks.{event}]]\n{}", members(entry)?);
    for hook in hooks {
        text.push_str(&format!("\n[[hooks.{event}.hooks]]\n{}", members(hook)?));
    }
    Ok(text)
}

/// The members of an object, one a line, without lists.
fn members(object: &Json) -> Result<String, EditError> {
    let mut lines = String::new();
    let members = object.as_object().into_iter().flatten();
    for (name, value) in members.filter(|(_, value)| !value.is_array()) {
        // A basic string of TOML has the escapes of JSON, but for this one.
        if value.as_str().is_some_and(|text| text.contains('\u{7f}')) {
            return Err(EditError::Malformed(format!("`{name}` cannot be written")));
        }
        lines.push_str(&format!("{name} = {value}\n"));
    }
    Ok(lines)
}

/// The settings without the hook. A list that it leaves empty is as good as none.
fn without_ours(mut settings: Json) -> Json {
    if let Some(Json::Object(hooks)) = settings.get_mut("hooks") {
        for (event, _) in lists() {
            if let Some(Json::Array(list)) = hooks.get_mut(event) {
                list.retain(|element| !is_ours(AGENT, element));
                if list.is_empty() {
                    hooks.remove(event);
                }
            }
        }
    }
    if settings.get("hooks") == Some(&json!({}))
        && let Json::Object(members) = &mut settings
    {
        members.remove("hooks");
    }
    settings
}

/// The text without the hook.
pub(super) fn remove(text: &str) -> Result<String, EditError> {
    let before = value(text)?;
    let mut new = text.to_owned();
    while let Some(lines) = ours_in(&new) {
        new.replace_range(lines, "");
    }
    let after = value(&new).map_err(|_| EditError::Shape("hooks".to_owned()))?;
    if found_in(&after)?.is_empty() && without_ours(after) == without_ours(before) {
        Ok(new)
    } else {
        // Somebody wrote the hook in another way than as tables of its own.
        Err(EditError::Shape("hooks".to_owned()))
    }
}

/// The bytes of the first entry of ours, with the empty lines before it.
fn ours_in(text: &str) -> Option<Range<usize>> {
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push((start, line));
        start += line.len();
    }
    for (event, _) in lists() {
        let (header, inner) = (format!("[[hooks.{event}]]"), format!("[[hooks.{event}.hooks]]"));
        for (at, _) in lines.iter().enumerate().filter(|(_, (_, line))| line.trim() == header) {
            let rest = lines.get(at + 1..).unwrap_or_default();
            let is_next = |line: &str| line.trim_start().starts_with('[') && line.trim() != inner;
            let length = rest.iter().position(|(_, line)| is_next(line)).unwrap_or(rest.len());
            let group = lines.get(at..at + 1 + length).unwrap_or_default();
            // Comments and empty lines before the next table belong to that one.
            let is_loose = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
            let kept = group.iter().rposition(|(_, line)| !is_loose(line)).map_or(1, |last| last + 1);
            let group = group.get(..kept).unwrap_or_default();
            let tables: String = group.iter().map(|(_, line)| *line).collect();
            let is_ours = value(&tables).is_ok_and(|value| {
                let entry = value.pointer(&format!("/hooks/{event}/0"));
                entry.is_some_and(|entry| is_ours(AGENT, entry))
            });
            if !is_ours {
                continue;
            }
            let before = lines.get(..at).unwrap_or_default();
            let empty = before.iter().rev().take_while(|(_, line)| line.trim().is_empty()).count();
            let from = before.get(before.len() - empty).or(group.first()).map_or(0, |(start, _)| *start);
            let to = group.last().map_or(from, |(start, line)| start + line.len());
            return Some(from..to);
        }
    }
    None
}
