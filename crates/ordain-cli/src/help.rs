//! The help of commands: which groups they are listed in, and examples. Exit codes are in the manual pages.

use crate::display::{self, UNLIMITED};
use crate::exit;
use crate::page::wrapped;
use anstyle::{AnsiColor, Style};
use clap::Command;

const HEADER: Style = AnsiColor::Green.on_default().bold();
const LITERAL: Style = AnsiColor::Cyan.on_default();
/// The column of what a command does.
const ABOUT_COLUMN: usize = 15;
const WIDTH_MAX: usize = 100;

/// The commands of the program, by what people come for. A command that is not here is listed last.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["demo", "init", "doctor", "help"]),
    ("Propose and decide", &["submit", "status", "approve", "reject", "watch", "grant"]),
    ("Agents", &["setup", "hook", "scan", "pause", "mcp", "work"]),
    ("Policies", &["policy", "decide", "replay"]),
    ("Record", &["ledger", "report", "dossier", "permit", "evidence"]),
    ("Gates, people and keys", &["gate", "approver", "token", "keys", "halt", "resume"]),
    ("Change files", &["patch", "apply", "undo", "recover", "sandbox"]),
    ("Intents and notes", &["transform", "clarify", "plan", "run", "validate", "note"]),
    ("Documents", &["verify", "show", "diff", "canon", "hash", "id", "rules", "schema"]),
    ("Operate", &["serve", "service", "completions", "man"]),
];

/// Examples of commands whose own text has none.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("apply", &["ordain apply change.diff", "ordain apply .ordain/runs/last --workspace shop"]),
    ("approver list", &["ordain approver list"]),
    ("approver revoke", &["ordain approver revoke 6c1f22aa9d0177e0"]),
    ("canon", &["ordain canon plan.json", "ordain canon --jsonl < plans.jsonl"]),
    ("clarify", &["ordain clarify intent.yaml", "ordain clarify intent.yaml --answers answers.json"]),
    ("completions", &["ordain completions bash > ~/.local/share/bash-completion/completions/ordain"]),
    ("demo", &["ordain demo", "ordain demo --keep"]),
    ("diff", &["ordain diff before.json after.json"]),
    ("doctor", &["ordain doctor", "ordain doctor --json"]),
    ("evidence add", &["ordain evidence add packet.json"]),
    ("gate forget", &["ordain gate forget ."]),
    ("gate list", &["ordain gate list"]),
    ("grant list", &["ordain grant list", "ordain grant list --all"]),
    ("grant revoke", &["ordain grant revoke grant_0123456789abcdef"]),
    ("halt", &["ordain halt --reason \"the agent loops\""]),
    ("hash", &["ordain hash --kind plan plan.json"]),
    ("help", &["ordain help approve", "ordain help ledger verify"]),
    (
        "mcp gateway",
        &["ordain mcp gateway files --gate … --state … --key … --actor claude -- mcp-server-filesystem ."],
    ),
    ("mcp serve", &["ordain mcp serve", "ordain mcp serve --actor claude"]),
    ("mcp try", &["ordain mcp try files write_file \"{}\""]),
    ("mcp unwrap", &["ordain mcp unwrap cursor --user"]),
    ("mcp pins", &["ordain mcp pins"]),
    ("mcp diff", &["ordain mcp diff files"]),
    ("mcp approve", &["ordain mcp approve files", "ordain mcp approve files:write_file"]),
    ("mcp block", &["ordain mcp block files:write_file"]),
    (
        "hook",
        &[
            "ordain hook claude --gate … --state … --key … --actor claude < event.json    # as `ordain setup` writes it",
        ],
    ),
    ("id", &["ordain id --kind plan plan.json"]),
    ("keys list", &["ordain keys list"]),
    ("keys rotate", &["ordain keys rotate"]),
    ("ledger checkpoint", &["ordain ledger checkpoint > last.txt"]),
    ("ledger export", &["ordain ledger export tiles"]),
    ("ledger fsck", &["ordain ledger fsck"]),
    (
        "ledger show",
        &["ordain ledger show", "ordain ledger show 0 --limit 50", "ordain ledger show --absolute"],
    ),
    ("man", &["ordain man | man -l -", "ordain man --dir ~/.local/share/man/man1"]),
    ("note apply", &["ordain note apply note.json"]),
    ("note show", &["ordain note show note.json"]),
    ("note validate", &["ordain note validate note.json"]),
    ("patch", &["ordain patch plan.json", "ordain patch --git HEAD > change.json"]),
    ("permit show", &["ordain permit show permit_0123456789abcdef_push-1"]),
    ("plan", &["ordain plan intent.yaml", "ordain plan bundle.json --intent intent.yaml"]),
    ("policy show", &["ordain policy show"]),
    ("recover", &["ordain recover"]),
    ("resume", &["ordain resume --reason \"fixed\""]),
    ("rules", &["ordain rules", "ordain rules PS4"]),
    ("run", &["ordain run intent.yaml", "ordain run --patch change.json --apply"]),
    ("sandbox exec", &["ordain sandbox exec -- cargo test", "ordain sandbox exec --profile dev -- make"]),
    ("sandbox probe", &["ordain sandbox probe"]),
    ("schema", &["ordain schema plan", "ordain schema policy"]),
    ("service uninstall", &["sudo ordain service uninstall --dry-run"]),
    ("show", &["ordain show plan.json"]),
    ("token list", &["ordain token list"]),
    ("token revoke", &["ordain token revoke 3f1c"]),
    ("transform", &["ordain transform intent.yaml"]),
    ("undo", &["ordain undo"]),
    ("validate", &["ordain validate evidence.json --plan plan.json"]),
    ("verify", &["ordain verify plan.json", "ordain verify .ordain/runs/last", "ordain verify proof.txt"]),
    ("work", &["ordain work intent.yaml -- claude -p"]),
    ("work submit", &["ordain work submit ~/.cache/ordain/work/1795033868-d848b7"]),
];

/// The mark of the lines about exit codes in the text after a help.
const EXIT_CODES: &str = "Exit codes:\n";
const EXAMPLES_HEAD: &str = "Examples:\n";

/// The parts of the text after a help.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) remarks: String,
    pub(crate) examples: Vec<String>,
    pub(crate) exit_codes: String,
}

impl After {
    /// The parts for the command with this path.
    pub(crate) fn of(command: &Command, path: &str) -> Self {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (text, exit_codes) = text.split_once(EXIT_CODES).unwrap_or((&text, ""));
        let (before, rest) = text.split_once(EXAMPLES_HEAD).unwrap_or((text, ""));
        // Examples end at an empty line; what follows is remarks.
        let (examples, after) = rest.split_once("\n\n").unwrap_or((rest, ""));
        let mut examples: Vec<String> = examples.lines().map(|line| line.trim_start().to_owned()).collect();
        if examples.is_empty() {
            let known = EXAMPLES.iter().find(|(name, _)| *name == path);
            examples.extend(known.into_iter().flat_map(|(_, lines)| lines.iter().map(|it| (*it).to_owned())));
        }
        let remarks = [before.trim(), after.trim()].into_iter().filter(|part| !part.is_empty());
        Self {
            remarks: remarks.collect::<Vec<_>>().join("\n\n"),
            examples,
            exit_codes: exit_codes.to_owned(),
        }
    }

    fn help(&self) -> String {
        let examples: String = self.examples.iter().map(|line| format!("\n  {line}")).collect();
        let examples =
            if examples.is_empty() { examples } else { format!("{HEADER}Examples:{HEADER:#}{examples}") };
        let parts = [self.remarks.clone(), examples].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

/// The command line as people meet it.
pub(crate) fn command(raw: Command) -> Command {
    let columns = match display::columns() {
        UNLIMITED => WIDTH_MAX,
        columns => columns.min(WIDTH_MAX),
    };
    let groups = groups(&raw, columns);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{HEADER}Options:{HEADER:#}\n{{options}}{{after-help}}"
    );
    shaped(raw, "").help_template(template).after_help(
        "`ordain help COMMAND` has the options and examples of a command; `ordain man` has exit codes, files and variables.",
    )
}

fn shaped(command: Command, path: &str) -> Command {
    let after = After::of(&command, path).help();
    let prefix = if path.is_empty() { String::new() } else { format!("{path} ") };
    let command = command.disable_help_subcommand(true).mut_subcommands(|part| {
        let path = format!("{prefix}{}", part.get_name());
        shaped(part, &path)
    });
    command.after_help(after)
}

fn groups(raw: &Command, columns: usize) -> String {
    let mut listed = Vec::new();
    let mut text = String::new();
    let mut group = |title: &str, commands: &[&Command]| {
        if commands.is_empty() {
            return;
        }
        text += &format!("{HEADER}{title}:{HEADER:#}\n");
        for command in commands {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let mut first = format!(
                "  {LITERAL}{name}{LITERAL:#}{}",
                " ".repeat((ABOUT_COLUMN - 2).saturating_sub(name.len()))
            );
            for line in wrapped(&about, columns.saturating_sub(ABOUT_COLUMN).max(20)) {
                text += &format!("{first}{line}\n");
                first = " ".repeat(ABOUT_COLUMN);
            }
        }
        text.push('\n');
    };
    for (title, names) in GROUPS {
        let commands: Vec<&Command> = names.iter().filter_map(|name| raw.find_subcommand(name)).collect();
        listed.extend(names.iter().copied());
        group(title, &commands);
    }
    let others: Vec<&Command> =
        raw.get_subcommands().filter(|part| !listed.contains(&part.get_name())).collect();
    group("More", &others);
    text
}

/// The exit codes of all commands, for the manual page of the program.
pub(crate) fn all_exit_codes() -> String {
    exit::help_of_all().replacen(EXIT_CODES, "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, command as whole};
    use clap::CommandFactory;

    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        for part in command.get_subcommands() {
            let path = format!("{path}{}", part.get_name());
            leaves(part, &format!("{path} "), found);
            if !part.has_subcommands() || path == "work" {
                found.push((path, part.clone()));
            }
        }
    }

    fn commands() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        found
    }

    #[test]
    fn every_command_is_in_one_group() {
        let names: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for command in Cli::command().get_subcommands() {
            let count = names.iter().filter(|name| **name == command.get_name()).count();
            assert_eq!(count, 1, "{} must be in one of GROUPS", command.get_name());
        }
    }

    /// Words as a shell splits them, as far as examples need it.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (at, part) in line.split('"').enumerate() {
            if at % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words
    }

    /// The commands of a line: between pipes, without what the shell does.
    fn pieces(line: &str) -> Vec<Vec<String>> {
        let all = words(line);
        let is_end = |word: &String| ["|", "&&", ";", ">", "<"].contains(&word.as_str());
        let mut found = Vec::new();
        for piece in all.split(is_end) {
            let start = piece.iter().position(|word| word.trim_start_matches('(') == "ordain");
            if let Some(start) = start {
                found.push(piece.get(start..).unwrap_or_default().to_vec());
            }
        }
        found
    }

    #[test]
    fn every_command_has_examples_that_it_takes() {
        for (path, command) in commands() {
            let examples = After::of(&command, &path).examples;
            assert!(!examples.is_empty(), "`ordain {path} --help` has no examples");
            assert!(
                examples.iter().any(|line| line.contains(&format!("ordain {path}"))),
                "{path}: {examples:?}"
            );
            // An example with a value of the reader's own cannot be checked.
            for line in examples.iter().filter(|line| !line.contains('…')) {
                for mut piece in pieces(line) {
                    piece[0] = "ordain".to_owned();
                    let said = whole().try_get_matches_from(&piece);
                    // A group or a key of the reader's machine is not on this one.
                    let is_right =
                        |error: &clap::Error| error.kind() == clap::error::ErrorKind::ValueValidation;
                    let wrong = said.err().filter(|error| !is_right(error));
                    assert!(wrong.is_none(), "{path}: `{line}`: {wrong:?}");
                }
            }
        }
    }

    #[test]
    fn help_has_no_exit_codes() {
        for (path, _) in commands() {
            let mut arguments = vec!["ordain"];
            arguments.extend(path.split(' '));
            arguments.push("--help");
            let help = whole().try_get_matches_from(arguments).unwrap_err().to_string();
            assert!(help.contains("Examples:") && !help.contains("Exit codes"), "{path}: {help}");
        }
    }
}
