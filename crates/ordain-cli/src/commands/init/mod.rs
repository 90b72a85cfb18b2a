//! `ordain init`: a gate for a folder, and policies to start with.

mod gate;
mod names;
mod replace;
mod starters;

use gate::Made;
pub(crate) use gate::begin as begin_gate;
pub(crate) use names::Names;
pub(crate) use starters::Starter;
use starters::Step;

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose, approver_keys_of};
use crate::output::print_result;
use crate::own_key::OwnKey;
use crate::page::Page;
use crate::project::{CONFIG, Project};
use crate::prompt;
use crate::report::{self, GREEN, printable};
use crate::signing;
use crate::wording::{shell_word, short_hash};
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_decision::PolicyFiles;
use ordain_presence::{OsUser, Terminal};
use ordain_state::Home;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The policy folder of `init --solo`, for this user and one agent.
pub(crate) fn solo_files() -> PolicyFiles {
    let names = Names { user: OsUser::current().name, me: None, agent: None };
    Starter::Solo.policy_files(&names)
}

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain init
  ordain init --solo --me anna --agent claude
  ordain init service --team && cd service && ordain policy test
  ordain init --keep --store postgres://ordain@db.example/ordain

PostgreSQL on another machine is reached with TLS, and its certificate is verified; `?sslrootcert=FILE` in the URL names an \
authority of your own, `?sslmode=disable` does without. Version 14 or newer.", &[
    Outcome::Ok.means("the gate is made and registered, and its policies are in force"),
    Outcome::Failed.means("a file or a gate exists already, or an error; nothing is overwritten"),
]))]
pub(crate) struct Init {
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Start small, for one person and one agent: reading, editing and ordinary commands pass; what deletes, installs,
    /// sends or cannot be read takes your signature
    #[arg(long, conflicts_with_all = ["team", "keep", "claim", "replace"])]
    pub(crate) solo: bool,
    /// Start with people who approve for each other, as examples: engineers, leads, finance
    #[arg(long, conflicts_with_all = ["keep", "claim", "replace"])]
    pub(crate) team: bool,
    /// Your name at the gate [default: solo: your user name, team: olga]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["keep", "claim", "replace"])]
    pub(crate) me: Option<String>,
    /// The name of your agent [default: agent-1]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["keep", "claim", "replace"])]
    pub(crate) agent: Option<String>,
    /// Keep ordain.toml and the policy folder that are here, and put those policies in force
    #[arg(long)]
    pub(crate) keep: bool,
    /// Own the open gate of this project: enrol your key, made on this terminal, and push its policies again
    /// in your name
    #[arg(long, conflicts_with_all = ["keep", "store"])]
    pub(crate) claim: bool,
    /// Make a new gate in the place of one whose owners' keys are all lost. Move the old gate's folder aside
    /// by hand first: without that, this only says how. Nothing of the old gate carries over: no policy,
    /// token, approval or permit
    #[arg(long, conflicts_with_all = ["keep", "claim"])]
    pub(crate) replace: bool,
    /// Keep the record in this database: postgres://user@host/database [default: a file in the state directory]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

const FOLDER: &str = "policy";

pub(crate) fn run(args: &Init, json: bool) -> Result<Outcome, Failure> {
    if args.claim {
        return claim(&args.dir, None, None);
    }
    if args.replace {
        replace::run(&args.dir, args.store.as_deref())?;
        return claim(&args.dir, None, None);
    }
    check_no_gate(&args.dir)?;
    let user = OsUser::current().name;
    let mut names = Names { user, me: args.me.clone(), agent: args.agent.clone() };
    names.check()?;
    let here = args.dir == Path::new(".");
    let below = |name: &str| if here { PathBuf::from(name) } else { args.dir.join(name) };
    let (config, folder) = (below(CONFIG), below(FOLDER));
    let there: Vec<String> = [&config, &folder]
        .into_iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| path.display().to_string())
        .collect();
    if !there.is_empty() && !args.keep {
        let (exists, it) = if there.len() == 1 { ("exists", "it") } else { ("exist", "them") };
        let problem = format!("{exists} already; nothing was written");
        let failure = Failure::Document { path: there.join(" and "), problem };
        return Err(failure.with_hint(format!(
            "run `ordain init{} --keep` to use {it}, or move {it} away",
            of_dir(&args.dir)
        )));
    }
    let failure = |path: &Path, error| Failure::File { path: path.display().to_string(), error };
    let starter = match (args.solo, args.team || args.keep || json) {
        (true, _) => Starter::Solo,
        (false, false) if signing::on_terminal() => asked(&mut names)?,
        (false, _) => Starter::Team,
    };
    // The state directory is looked at, and the person asked, before anything is written: whoever leaves at the
    // passphrase leaves nothing behind.
    let new = gate::NewGate::prepare(&args.dir, args.store.as_deref())?;
    let kept = if args.keep { gate::policies_of(&args.dir, json)? } else { None };
    let own = signing::on_terminal().then(OwnKey::unlock_or_make).transpose()?;
    fs::create_dir_all(&args.dir).map_err(|error| failure(&args.dir, error))?;
    let mut files = Vec::new();
    let policies = if args.keep {
        kept
    } else {
        starter.write(&folder, &config, &names).map_err(|(path, error)| failure(&path, error))?;
        files.push(config.display().to_string());
        files.extend(starter.names().map(|name| folder.join(name).display().to_string()));
        gate::policies_of(&args.dir, json)?
    };
    let made = new.make(&args.dir, policies.as_ref())?;
    tell(&files, &made, json)?;
    let is_claimed = own.is_some();
    if let Some(own) = &own {
        claim(&args.dir, made.policy_hash.as_deref(), Some(own)).inspect_err(|_| note_open(&args.dir))?;
    }
    if !json {
        let mut page = Page::default();
        page.section("Next");
        if !here {
            page.step("", &format!("cd {}", shell_word(&args.dir.display().to_string())));
        }
        for step in starter.next(FOLDER) {
            match step {
                Step::Text(text) => page.item(&text),
                Step::Command(what, command) => page.step(what, &command),
            }
        }
        print_result(&page)?;
    }
    if !is_claimed {
        note_open(&args.dir);
    }
    Ok(Outcome::Ok)
}

/// Says that the gate of a folder is open, and how it is closed.
fn note_open(dir: &Path) {
    let said = "this gate is open: nobody owns it, and nothing that needs a signature can be approved";
    report::note(said, Some(&claim_hint(dir)));
}

fn claim_hint(dir: &Path) -> String {
    format!("run `ordain init{} --claim` on a terminal", of_dir(dir))
}

/// The folder on a command line, where it is not this one.
fn of_dir(dir: &Path) -> String {
    if dir == Path::new(".") { String::new() } else { format!(" {}", shell_word(&dir.display().to_string())) }
}

/// That the folder has no gate yet. One that is open is claimed, and not made a second time.
fn check_no_gate(dir: &Path) -> Result<(), Failure> {
    let home = Home::from_environment()?;
    let folder = gate::absolute(dir)?;
    let Some(known) = home.registry()?.at(&folder).cloned() else { return Ok(()) };
    // A record that cannot be read is looked at by another command.
    let Ok(keys) = approver_keys_of(&home.gate(&known.gate)) else { return Ok(()) };
    let owner = keys.into_iter().find(|key| key.owner && key.is_in_force());
    let (is, hint) = match owner {
        None => ("is open: nobody owns it".to_owned(), claim_hint(dir)),
        Some(owner) => {
            let hint = format!(
                "run `ordain doctor` to look at it, or run `ordain gate forget {}` to end its registration",
                shell_word(&folder.display().to_string())
            );
            (format!("belongs to `{}`", owner.principal), hint)
        }
    };
    let problem =
        format!("is registered already, with the gate {}, which {is}; nothing was written", known.gate);
    Err(Failure::Document { path: dir.display().to_string(), problem }.with_hint(hint))
}

/// Asks what the options did not say.
fn asked(names: &mut Names) -> Result<Starter, Failure> {
    let mut terminal = Terminal::open().map_err(signing::terminal_failure)?;
    let mut ask = |question: &str| prompt::ask(&mut terminal, question);
    let starter = loop {
        match ask("Who approves here: you alone, or a team? [solo/team] ")?.to_lowercase().as_str() {
            "s" | "solo" => break Starter::Solo,
            "t" | "team" => break Starter::Team,
            _ => {}
        }
    };
    let given = |answer: String| (!answer.is_empty()).then_some(answer);
    if names.me.is_none() {
        let answer = ask(&format!("Your name at the gate [{}]: ", printable(&names.user)))?;
        names.me = given(answer).or_else(|| Some(names.user.clone()));
    }
    if names.agent.is_none() {
        names.agent = given(ask(&format!("The name of your agent [{}]: ", names::EXAMPLE_AGENT))?);
    }
    names.check()?;
    Ok(starter)
}

/// Makes the person at the terminal the owner of the folder's gate, whose policies this process may have `made`, with
/// the key that they unlocked for it before.
fn claim(dir: &Path, made: Option<&str>, with: Option<&OwnKey>) -> Result<Outcome, Failure> {
    let project = Project::above(dir)?;
    let own = project.as_ref().is_some_and(|project| project.gate().is_some());
    // The gate of a service is claimed before it has a project.
    let of_service = if own { None } else { Gateway::of_service(dir)? };
    let gateway = match of_service {
        Some(gateway) => gateway,
        None => {
            Gateway::open_in(project, &Connect::default(), Purpose::Write).map_err(Failure::without_server)?
        }
    };
    let client = gateway.client();
    if client.approver_keys()?.owned {
        let failure = Failure::Usage("this gate has an owner already".to_owned());
        return Err(failure.with_hint("run `ordain approver list` to see whose keys are enrolled"));
    }
    let key = match with {
        Some(own) => signing::claim(client, &gateway.principal(), made, own)?,
        None => signing::claim(client, &gateway.principal(), made, &OwnKey::unlock_or_make()?)?,
    };
    let said = format!("{} owns this gate with the key {}", key.principal, key.key_id);
    writeln!(anstream::stdout(), "{GREEN}owned{GREEN:#}  {}", printable(&said))?;
    Ok(Outcome::Ok)
}

fn tell(files: &[String], made: &Made, json: bool) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    if json {
        let Made { gate_id, state, policy_hash } = made;
        let told = json!({"files": files, "gate": gate_id, "state": state, "policy_hash": policy_hash});
        out.write_all(Canonicalizer::new().value(&told)?)?;
        writeln!(out)?;
    } else {
        for file in files {
            writeln!(out, "{GREEN}+{GREEN:#} {}", printable(file))?;
        }
        writeln!(out, "{GREEN}gate{GREEN:#}  {}, kept in {}", made.gate_id, printable(&made.state))?;
        match &made.policy_hash {
            Some(hash) => writeln!(out, "{GREEN}in force{GREEN:#}  {}", short_hash(hash))?,
            None => {
                writeln!(out, "no policies are in force yet: `ordain policy push` puts a folder in force")?
            }
        }
    }
    Ok(out.flush()?)
}
