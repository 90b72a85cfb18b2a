//! The commands of README.md and of every guide page are run, in the order of the page, and their output is compared.
//!
//! A `console` block is run. A command with output below it must print exactly that, with anything in the
//! places of `…`; one without must succeed. Commands that need a terminal or another machine are in `text`
//! blocks.

use crate::harness::{folder, repository};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The commands of the console blocks with the output that follows each; a trailing backslash continues a command.
fn commands(readme: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let (mut in_block, mut continues) = (false, false);
    for line in readme.lines() {
        match line {
            "```console" => in_block = true,
            _ if line.starts_with("```") => in_block = false,
            _ if !in_block => {}
            _ if continues => {
                let (command, _) = commands.last_mut().unwrap();
                continues = line.ends_with('\\');
                command.push('\n');
                command.push_str(line);
            }
            _ => match line.strip_prefix("$ ") {
                Some(command) => {
                    continues = command.ends_with('\\');
                    commands.push((command.to_owned(), String::new()));
                }
                None => {
                    let (_, output) = commands.last_mut().expect("a block starts with a command");
                    output.push_str(line);
                    output.push('\n');
                }
            },
        }
    }
    commands
}

/// The `yaml` and `json` blocks that are files: those after a paragraph that names one, without a folder.
fn files(readme: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for fence in ["\n```yaml\n", "\n```json\n"] {
        for (start, _) in readme.match_indices(fence) {
            let before = readme[..start].trim_end().rsplit("\n\n").next().unwrap();
            let named = before.split('`').skip(1).step_by(2);
            let is_file = |name: &&str| name.ends_with(fence[4..].trim_end()) && !name.contains('/');
            let content = readme[start + fence.len()..].split_once("```").unwrap().0;
            files.extend(named.filter(is_file).last().map(|name| (name.to_owned(), content.to_owned())));
        }
    }
    files
}

/// A folder of its own, in which commands may write; examples and vectors are linked into it.
fn scratch(readme: &str) -> TempDir {
    let root = repository();
    let folder = folder();
    for name in ["conformance", "examples"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
    }
    for (name, content) in files(readme) {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Runs a page. With `ORDAIN_BLESS=1` outputs that differ are written into it; look at the difference.
fn check(page: &str) {
    let bless = std::env::var_os("ORDAIN_BLESS").is_some();
    let file = repository().join(page);
    let mut text = std::fs::read_to_string(&file).unwrap();
    assert!(text.len() <= PAGE_BYTES_MAX, "{page} has {} bytes: one page, one job", text.len());
    let (folder, state) = (scratch(&text), folder());
    let binary = Path::new(env!("CARGO_BIN_EXE_ordain")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());

    for (shown, expected) in commands(&text) {
        let command = shown.replace("cargo run --release --", "ordain");
        if command.starts_with("cargo") {
            continue;
        }
        let shell = format!("{{ {command}\n}} 2>&1");
        let output = Command::new("sh")
            .args(["-c", &shell])
            .env("PATH", &path)
            .env("XDG_STATE_HOME", state.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        let real = String::from_utf8(output.stdout).unwrap();
        if expected.trim().is_empty() {
            assert!(output.status.success(), "{page}: $ {command}\n{real}");
        } else if bless && !fits(real.trim_end(), expected.trim_end()) {
            let (old, new) = (format!("$ {shown}\n{expected}"), format!("$ {shown}\n{}\n", real.trim_end()));
            // A line without content between two commands of a block is for the eye.
            let blank = if expected.ends_with("\n\n") { "\n" } else { "" };
            text = text.replace(&old, &format!("{new}{blank}"));
        } else if !bless {
            let fits = fits(real.trim_end(), expected.trim_end());
            assert!(fits, "{page}: $ {command}\n{real}\nexpected:\n{expected}");
        }
    }
    if bless {
        std::fs::write(&file, text).unwrap();
    }
}

/// Whether a text is this one, with anything in the places of `…`.
fn fits(real: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = real.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// README.md and each page of the guide is for one job, and short.
const PAGE_BYTES_MAX: usize = 8 * 1024;

macro_rules! pages {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            check($file);
        })*

        const PAGES: &[&str] = &[$($file),*];
    };
}

pages! {
    readme: "README.md",
    agents: "docs/guide/agents.md",
    approvals: "docs/guide/approvals.md",
    audit: "docs/guide/audit.md",
    claude: "docs/guide/claude.md",
    codex: "docs/guide/codex.md",
    coding_agents: "docs/guide/coding-agents.md",
    console: "docs/guide/console.md",
    copilot: "docs/guide/copilot.md",
    duties: "docs/guide/duties.md",
    gates: "docs/guide/gates.md",
    gemini: "docs/guide/gemini.md",
    intents: "docs/guide/intents.md",
    ledger: "docs/guide/ledger.md",
    mcp_clients: "docs/guide/mcp-clients.md",
    mcp_pins: "docs/guide/mcp-pins.md",
    mcp_serve: "docs/guide/mcp-serve.md",
    mcp: "docs/guide/mcp.md",
    notes: "docs/guide/notes.md",
    opencode: "docs/guide/opencode.md",
    operate: "docs/guide/operate.md",
    patches: "docs/guide/patches.md",
    policies: "docs/guide/policies.md",
    qwen: "docs/guide/qwen.md",
    sandbox: "docs/guide/sandbox.md",
    serve: "docs/guide/serve.md",
    service: "docs/guide/service.md",
    solo: "docs/guide/solo.md",
    start: "docs/guide/start.md",
    verify: "docs/guide/verify.md",
    work: "docs/guide/work.md",
}

#[test]
fn no_page_is_forgotten() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let mut pages = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(repository().join("docs/guide")).unwrap() {
        let page = format!("docs/guide/{}", entry.unwrap().file_name().to_str().unwrap());
        assert!(readme.contains(&page), "README.md does not lead to {page}");
        pages.push(page);
    }
    pages.sort();
    assert_eq!(pages, PAGES);
}
