//! `ordain man`: manual pages, made from the command line and one table.

use crate::cli::Cli;
use crate::exit::{self, Failure, Outcome};
use crate::help::{After, all_exit_codes};
use clap::{Arg, Args, Command, CommandFactory};
use clap_mangen::Man as Page;
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

/// Variables that every command heeds.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("ORDAIN_SERVER", "The gate to ask, as --server names it."),
    ("ORDAIN_TOKEN", "The token for that server, where --token-file names no file."),
    ("ORDAIN_CACERT", "The certificate authorities of that server, where --cacert names no file."),
    (
        "ORDAIN_PAGER, PAGER",
        "The pager for long pages; less -FRX if neither is set. An empty one means none. Screens of approve and watch use no pager.",
    ),
    (
        "COLUMNS",
        "The width of pages, instead of the terminal's. Output into a pipe is not wrapped without it.",
    ),
    ("NO_COLOR", "If it is set, nothing is in colours; --color overrides it."),
    ("XDG_STATE_HOME", "Where gates live: in ordain below it. Default: ~/.local/state."),
    ("XDG_CONFIG_HOME", "Where your key lives: in ordain below it. Default: ~/.config."),
    (
        "ORDAIN_MODEL_PROVIDER, ORDAIN_MODEL, ORDAIN_MODEL_BASE_URL, ORDAIN_MODEL_KEY",
        "The model that drafts notes, and its key.",
    ),
    (
        "ORDAIN_BRIEF, ORDAIN_FEEDBACK, ORDAIN_ROUND",
        "Set by work for the agent that it starts: the work order, the failures of the last round, and the number of the round.",
    ),
];

const FILES: &[(&str, &str)] = &[
    ("ordain.toml", "Settings of a project. It names no gate, no key and no server."),
    ("policy/", "Policies of a project, in force once they are pushed."),
    (".ordain/", "Runs and replaced files of a workspace."),
    (
        "~/.local/state/ordain/",
        "Gates of this user: their records, signing keys and checkpoints, and the registry of projects.",
    ),
    ("~/.config/ordain/approver.key", "Your key, under your passphrase."),
    ("/run/ordain/gate.sock, /var/lib/ordain/", "The socket and the state of a gate that runs as a service."),
];

pub(crate) fn run(args: &Man) -> Result<Outcome, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    match &args.dir {
        None => page(&command, "", &command, &mut std::io::stdout().lock())?,
        Some(folder) => {
            let failure = |error| Failure::File { path: folder.display().to_string(), error };
            std::fs::create_dir_all(folder).map_err(failure)?;
            for (path, part) in all(&command) {
                let name = format!("ordain {path}").trim_end().replace(' ', "-");
                let mut text = Vec::new();
                page(&part, &path, &command, &mut text)?;
                std::fs::write(folder.join(format!("{name}.1")), text).map_err(failure)?;
            }
        }
    }
    Ok(Outcome::Ok)
}

/// Every command with its path, the program first.
fn all(command: &Command) -> Vec<(String, Command)> {
    fn below(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        found.push((path.to_owned(), command.clone()));
        for part in command.get_subcommands().filter(|part| part.get_name() != "help" || path.is_empty()) {
            below(part, format!("{path} {}", part.get_name()).trim_start(), found);
        }
    }
    let mut found = Vec::new();
    below(command, "", &mut found);
    found
}

fn page(command: &Command, path: &str, top: &Command, out: &mut impl Write) -> io::Result<()> {
    let after = After::of(command, path);
    let name = format!("ordain {path}").trim_end().replace(' ', "-");
    let shown = command.clone().display_name(name).after_help("");
    let man = Page::new(shown);
    man.render_title(out)?;
    man.render_name_section(out)?;
    synopsis(command, path, out)?;
    man.render_description_section(out)?;
    for part in after.remarks.split("\n\n").filter(|part| !part.is_empty()) {
        writeln!(out, ".PP\n{}", escaped(part))?;
    }
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    if !after.examples.is_empty() {
        writeln!(out, ".SH EXAMPLES\n.nf")?;
        for line in &after.examples {
            writeln!(out, "{}", escaped(line))?;
        }
        writeln!(out, ".fi")?;
    }
    let codes = if path.is_empty() { all_exit_codes() } else { after.exit_codes };
    let codes: Vec<(&str, &str)> =
        codes.lines().filter_map(|line| line.trim_start().split_once("  ")).collect();
    section(out, "EXIT STATUS", &codes)?;
    section(out, "ENVIRONMENT", ENVIRONMENT)?;
    section(out, "FILES", FILES)?;
    see_also(path, top, out)
}

/// Every option with its value, and the arguments.
fn synopsis(command: &Command, path: &str, out: &mut impl Write) -> io::Result<()> {
    let name = format!("ordain {path}");
    writeln!(out, ".SH SYNOPSIS\n\\fB{}\\fR", escaped(name.trim_end()))?;
    for argument in command.get_arguments().filter(|it| !it.is_hide_set() && !it.is_global_set()) {
        let text = usage(argument);
        let text = if argument.is_required_set() { text } else { format!("[{text}]") };
        writeln!(out, "{}", escaped(&text))?;
    }
    if command.has_subcommands() {
        writeln!(out, "COMMAND")?;
    }
    Ok(())
}

fn usage(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let takes = argument.get_action().takes_values();
    let values: Vec<&str> = names.iter().filter(|_| takes).map(|name| name.as_str()).collect();
    let many = argument.get_num_args().is_some_and(|range| range.max_values() > 1);
    let values = format!("{}{}", values.join(" "), if many { "..." } else { "" });
    match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long} {values}").trim_end().to_owned(),
        (None, Some(short)) => format!("-{short} {values}").trim_end().to_owned(),
        (None, None) => values,
    }
}

fn section(out: &mut impl Write, title: &str, rows: &[(&str, &str)]) -> io::Result<()> {
    writeln!(out, ".SH {}", title.replace(' ', "\\ "))?;
    for (name, text) in rows {
        writeln!(out, ".TP\n\\fB{}\\fR\n{}", escaped(name), escaped(text))?;
    }
    Ok(())
}

/// The page above, or all others; and the documents.
fn see_also(path: &str, top: &Command, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, ".SH SEE\\ ALSO")?;
    let others: Vec<String> = match path.rsplit_once(' ') {
        Some((above, _)) => vec!["ordain".to_owned(), format!("ordain-{}", above.replace(' ', "-"))],
        None if path.is_empty() => {
            top.get_subcommands().map(|part| format!("ordain-{}", part.get_name())).collect()
        }
        None => vec!["ordain".to_owned()],
    };
    let others: Vec<String> = others.iter().map(|name| format!("\\fB{}\\fR(1)", escaped(name))).collect();
    writeln!(out, "{}", others.join(", "))
}

/// Text that means nothing to roff.
fn escaped(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Vec<(String, String)> {
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let page_of = |(path, part): (String, Command)| {
            let mut text = Vec::new();
            page(&part, &path, &command, &mut text).unwrap();
            (path, String::from_utf8(text).unwrap())
        };
        all(&command).into_iter().map(page_of).collect()
    }

    #[test]
    fn every_page_has_its_sections() {
        let pages = pages();
        assert!(pages.len() > 60, "{}", pages.len());
        for (path, text) in &pages {
            for title in
                ["NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "FILES", "EXIT\\ STATUS", "SEE\\ ALSO"]
            {
                assert!(text.contains(&format!(".SH {title}\n")), "{path} has no {title}: {text}");
            }
            assert!(!text.contains("EXTRA"), "{path}");
        }
        let serve = &pages.iter().find(|(path, _)| path == "serve").unwrap().1;
        assert!(serve.contains("[\\-\\-listen ADDRESS]"), "{serve}");
    }

    /// Every variable that a source names is in the table.
    #[test]
    fn the_table_has_every_variable() {
        fn search(folder: &std::path::Path, found: &mut std::collections::BTreeSet<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    search(&path, found);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    for rest in text.split("\"ORDAIN_").skip(1) {
                        let name: String =
                            rest.chars().take_while(|it| it.is_ascii_uppercase() || *it == '_').collect();
                        if !name.is_empty()
                            && rest.get(name.len()..).is_some_and(|rest| rest.starts_with('"'))
                        {
                            found.insert(format!("ORDAIN_{name}"));
                        }
                    }
                }
            }
        }
        let mut found = std::collections::BTreeSet::new();
        search(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        let known: Vec<&str> = ENVIRONMENT.iter().flat_map(|(names, _)| names.split(", ")).collect();
        found.retain(|name| !known.contains(&name.as_str()) && name != "ORDAIN_BLESS");
        assert!(found.is_empty(), "not in ENVIRONMENT: {found:?}");
        assert!(known.contains(&"ORDAIN_SERVER"));
    }
}
