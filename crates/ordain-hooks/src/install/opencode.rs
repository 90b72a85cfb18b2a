//! The plugin of OpenCode: a file of JavaScript that runs the hook and throws on every no.

use super::{Found, Installed};
use crate::pins::Pins;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

const WORDS: &str = "const WORDS = ";

/// OpenCode runs a tool when its plugin does not load, so this uses nothing that could be missing.
const PLUGIN: &str = r#"
import { spawn } from "node:child_process"

// Asks the gate before a tool runs. Everything but a clear yes throws, and then the tool does not run.
const ask = (event) => new Promise((resolve) => {
  const child = spawn(WORDS[0], WORDS.slice(1), { stdio: ["pipe", "pipe", "pipe"], env: {} })
  let out = "", err = ""
  child.stdout.on("data", (data) => { out += data })
  child.stderr.on("data", (data) => { err += data })
  child.on("error", (error) => resolve({ code: -1, out: "", err: String(error) }))
  child.on("close", (code) => resolve({ code, out, err }))
  child.stdin.on("error", () => {})
  child.stdin.end(JSON.stringify(event))
})

export const Ordain = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const event = { hook_event_name: "tool.execute.before", input, directory, tool_name: input.tool, tool_input: output.args }
    const { code, out, err } = await ask(event)
    if (code !== 0 || out !== '{"decision":"allow"}\n') throw new Error(err.trim() || "ordain: the call was not run.")
  },
  "tool.execute.after": async (input, output) => {
    const event = { hook_event_name: "tool.execute.after", input, directory, tool_name: input.tool, tool_input: input.args ?? {} }
    await ask(event)
  },
})
"#;

pub(super) fn plugin(installed: &Installed<'_>) -> String {
    let words = json!(installed.pins.words(installed.program));
    format!(
        "// Written by `ordain setup opencode`; `ordain setup opencode --remove` takes it away.\n{WORDS}{words}\n{PLUGIN}"
    )
}

pub(super) fn find(text: &str) -> Vec<Found> {
    let line = text.lines().find_map(|line| line.strip_prefix(WORDS));
    let words: Option<Vec<String>> = line.and_then(|line| serde_json::from_str(line).ok());
    let Some(words) = words else { return Vec::new() };
    let pins = match words.as_slice() {
        [program, hook, rest @ ..] if hook == "hook" => {
            Pins::parse(rest).ok().map(|pins| (PathBuf::from(program), pins))
        }
        _ => None,
    };
    let exact = pins.as_ref().is_some_and(|(program, pins)| plugin(&Installed { program, pins }) == text);
    let command = Json::from(words).to_string();
    vec![Found { event: "tool.execute.before".to_owned(), command, pins, timeout_s: None, exact }]
}
