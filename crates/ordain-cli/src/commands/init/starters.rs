//! The policies to start with: for a team, or for one person and one agent.

use super::names::Names;
use ordain_decision::{PolicyFiles, is_policy_file};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// For whom a project starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starter {
    /// People with different duties, who approve for each other.
    Team,
    /// One person and one agent.
    Solo,
}

/// A step after `init`: in words, or a command and what it is for.
pub(super) enum Step {
    Text(String),
    Command(&'static str, String),
}

macro_rules! files {
    ($($folder:literal: [$($name:literal),* $(,)?]),* $(,)?) => {
        &[$($(($name, include_str!(concat!($folder, "/policy/", $name)))),*),*]
    };
}

/// The files of the team's policy folder.
static TEAM: &[(&str, &str)] = files!["starter": [
    "README.md",
    "commands.cedar",
    "effects.toml",
    "entities.json",
    "files.cedar",
    "mcp.cedar",
    "mcp.toml",
    "money.cedar",
    "observe.cedar",
    "protected.cedar",
    "schema.cedarschema",
    "sensors.toml",
    "tests/commands.json",
    "tests/evidence.json",
    "tests/files.json",
    "tests/mcp.json",
    "tests/money.json",
    "tests/observe.json",
    "tests/patch-sets.json",
    "tests/proposals/delete.json",
    "tests/proposals/patch-set.json",
    "tests/proposals/pay.json",
    "tests/proposals/read.json",
    "tests/proposals/request.json",
    "tests/proposals/run.json",
    "tests/proposals/write.json",
    "tests/requests.json",
    "tools.toml",
]];

/// The files for one person. Both starters protect the same paths.
static SOLO: &[(&str, &str)] = files![
    "solo": [
        "README.md",
        "commands.cedar",
        "effects.toml",
        "entities.json",
        "schema.cedarschema",
        "sensors.toml",
        "solo.cedar",
        "tests/commands.json",
        "tests/proposals/push.json",
        "tests/protected.json",
        "tests/solo.json",
        "tools.toml",
    ],
    "starter": ["mcp.cedar", "mcp.toml", "protected.cedar", "tests/mcp.json"],
];

/// The table of tools, to which the tools of coding agents and of usual MCP servers are added.
const TOOLS: &str = "tools.toml";

impl Starter {
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Team => TEAM,
            Self::Solo => SOLO,
        }
    }

    fn config(self) -> &'static str {
        match self {
            Self::Team => include_str!("starter/ordain.toml"),
            Self::Solo => include_str!("solo/ordain.toml"),
        }
    }

    /// The names of the files in the policy folder.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.files().iter().map(|(name, _)| *name)
    }

    /// The policy folder with these names, as it would be pushed.
    pub(super) fn policy_files(self, names: &Names) -> PolicyFiles {
        let files = self.files().iter().filter(|(name, _)| is_policy_file(name));
        files.map(|(name, text)| ((*name).to_owned(), text_of(name, text, names))).collect()
    }

    /// The steps that a person takes next.
    pub(super) fn next(self, folder: &str) -> Vec<Step> {
        match self {
            Self::Team => vec![
                Step::Text(format!(
                    "put your people, agents and paths in place of the examples, as {folder}/README.md says"
                )),
                Step::Command("", "ordain policy test && ordain policy push".to_owned()),
                Step::Command("", format!("ordain decide {folder}/tests/proposals/write.json")),
            ],
            Self::Solo => vec![
                Step::Command(
                    "propose something as your agent would; it is held",
                    format!("ordain submit {folder}/tests/proposals/push.json"),
                ),
                Step::Command("see what waits for you, and decide", "ordain approve".to_owned()),
                Step::Text(format!("read {folder}/README.md; it has one page")),
            ],
        }
    }

    /// Writes the policy folder and the settings.
    pub(super) fn write(
        self,
        folder: &Path,
        config: &Path,
        names: &Names,
    ) -> Result<(), (PathBuf, io::Error)> {
        self.write_folder(folder, names)?;
        write_new(config, &names.put_into(self.config())).map_err(|error| (config.to_owned(), error))
    }

    /// Writes the policy folder with these names. All of it or nothing: it is written under another name first.
    pub(crate) fn write_folder(self, folder: &Path, names: &Names) -> Result<(), (PathBuf, io::Error)> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let staged = folder.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let written = self.files().iter().try_for_each(|(name, text)| {
            let path = staged.join(name);
            let parent = path.parent().unwrap_or(&staged);
            let text = text_of(name, text, names);
            let done = fs::create_dir_all(parent).and_then(|()| write_new(&path, &text));
            done.map_err(|error| (path.clone(), error))
        });
        let done =
            written.and_then(|()| fs::rename(&staged, folder).map_err(|error| (folder.to_owned(), error)));
        if done.is_err() {
            // The failure to write is what counts.
            let _ = fs::remove_dir_all(&staged);
        }
        done
    }
}

/// The text of a file of the policy folder, with these names.
fn text_of(name: &str, text: &str, names: &Names) -> String {
    let mut text = names.put_into(text);
    if name == TOOLS {
        text.push_str(&ordain_hooks::tools_toml(&ordain_hooks::Agent::ALL));
        text.push_str(include_str!("mcp-tools.toml"));
    }
    text
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
