//! `ordain completions`.

use crate::arguments::Connect;
use crate::cli;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::report;
use clap::Args;
use clap_complete::Shell;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionsQuery};
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL", required_unless_present = "ids")]
    pub(crate) shell: Option<Shell>,
    /// Print the ids of actions, for the scripts
    #[arg(long, hide = true, value_name = "STATE", value_parser = super::status::states())]
    pub(crate) ids: Option<ActionState>,
}

/// Where the scripts ask for ids: the command, and the state that its actions are in.
const IDS: [(&str, &str); 3] = [("approve", "held"), ("reject", "held"), ("status", "held")];

pub(crate) fn run(args: &Completions) -> Result<Outcome, Failure> {
    let mut out = std::io::stdout().lock();
    if let Some(state) = args.ids {
        for id in ids(state) {
            writeln!(out, "{id}")?;
        }
        return Ok(Outcome::Ok);
    }
    let Some(shell) = args.shell else { return Ok(Outcome::Ok) };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::command(), "ordain", &mut script);
    out.write_all(&script)?;
    out.write_all(with_ids(shell).as_bytes())?;
    Ok(Outcome::Ok)
}

/// The ids of actions in a state. Proposers choose them, and a shell puts them into the command line as they are: only
/// those that mean nothing to a shell are offered. Where there is no gate there are none.
fn ids(state: ActionState) -> Vec<String> {
    report::be_quiet();
    let connect = Connect::of_environment();
    let Ok(gateway) = Gateway::open(&connect, Purpose::Look) else { return Vec::new() };
    let query = ActionsQuery { state: Some(state), limit: Some(PAGE_MAX as u64), ..ActionsQuery::default() };
    let Ok(page) = gateway.client().actions(&query) else { return Vec::new() };
    page.actions.into_iter().map(|action| action.action_id).filter(|id| is_plain(id)).collect()
}

fn is_plain(id: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    !id.starts_with('-') && id.chars().all(plain)
}

/// Lines that add ids to the script that clap makes.
fn with_ids(shell: Shell) -> String {
    let names: Vec<&str> = IDS.iter().map(|(name, _)| *name).collect();
    match shell {
        Shell::Bash => format!(
            r#"
_ordain_with_ids() {{
    _ordain "$@"
    local cur="${{COMP_WORDS[COMP_CWORD]}}"
    case "${{COMP_WORDS[1]}}" in
        {}) if [[ "$cur" != -* && "${{COMP_WORDS[COMP_CWORD-1]}}" != --* ]]; then
            COMPREPLY+=($(compgen -W "$(ordain completions --ids held 2>/dev/null)" -- "$cur"))
        fi;;
    esac
}}
complete -F _ordain_with_ids -o nosort -o bashdefault -o default ordain
"#,
            names.join("|")
        ),
        Shell::Zsh => format!(
            r#"
_ordain_with_ids() {{
    case "${{words[2]}}" in
        {}) [[ "${{words[CURRENT]}}" != -* && "${{words[CURRENT-1]}}" != --* ]] && \
            compadd -- ${{(f)"$(ordain completions --ids held 2>/dev/null)"}};;
    esac
    _ordain "$@"
}}
compdef _ordain_with_ids ordain
"#,
            names.join("|")
        ),
        Shell::Fish => names
            .iter()
            .map(|name| {
                format!(
                    "complete -c ordain -n '__fish_seen_subcommand_from {name}' -f -a '(ordain completions --ids held 2>/dev/null)'\n"
                )
            })
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_shell_would_take_for_more_are_not_offered() {
        assert!(is_plain("push-1") && is_plain("apply-3f1c_2.x"));
        for id in ["a b", "x;rm", "$(x)", "`x`", "-f", "a\nb", "ü", "a'b", "a>b", "*"] {
            assert!(!is_plain(id), "{id}");
        }
    }
}
