//! `ordain init`: a policy folder to start with.

use crate::exit::{self, Failure, Outcome};
use crate::page::Page;
use crate::project::CONFIG;
use crate::report::{GREEN, printable};
use clap::Args;
use ordain_canon::Canonicalizer;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain init
  ordain init service && cd service && ordain policy test", &[
    Outcome::Ok.means("written"),
    Outcome::Failed.means("a file exists already, or an error; nothing is overwritten"),
]))]
pub(crate) struct Init {
    /// The folder to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
}

const FOLDER: &str = "policy";

macro_rules! starter {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("starter/policy/", $name)))),*]
    };
}

/// The files of the policy folder.
static FILES: &[(&str, &str)] = starter![
    "README.md",
    "commands.cedar",
    "effects.toml",
    "entities.json",
    "files.cedar",
    "money.cedar",
    "observe.cedar",
    "protected.cedar",
    "schema.cedarschema",
    "sensors.toml",
    "tests/commands.json",
    "tests/evidence.json",
    "tests/files.json",
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
];

static CONFIG_TEXT: &str = include_str!("starter/ordain.toml");

pub(crate) fn run(args: &Init, json: bool) -> Result<Outcome, Failure> {
    let here = args.dir == Path::new(".");
    let below = |name: &str| if here { PathBuf::from(name) } else { args.dir.join(name) };
    let (config, folder) = (below(CONFIG), below(FOLDER));
    let there: Vec<String> = [&config, &folder]
        .into_iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| path.display().to_string())
        .collect();
    if !there.is_empty() {
        let (exists, it) = if there.len() == 1 { ("exists", "it") } else { ("exist", "them") };
        let problem = format!("{exists} already; nothing was written");
        let failure = Failure::Document { path: there.join(" and "), problem };
        return Err(failure.with_hint(format!("move {it} away, or name another folder")));
    }
    let failure = |path: &Path, error| Failure::File { path: path.display().to_string(), error };
    fs::create_dir_all(&args.dir).map_err(|error| failure(&args.dir, error))?;
    write_folder(&folder).map_err(|(path, error)| failure(&path, error))?;
    write_new(&config, CONFIG_TEXT).map_err(|error| failure(&config, error))?;
    let mut files = vec![config.display().to_string()];
    files.extend(FILES.iter().map(|(name, _)| folder.join(name).display().to_string()));
    tell(&files, (!here).then_some(&args.dir), json)
}

/// All of the folder or nothing: it is written under another name first.
fn write_folder(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let staged = folder.with_file_name(format!(".{FOLDER}.{}.tmp", std::process::id()));
    let written = FILES.iter().try_for_each(|(name, text)| {
        let path = staged.join(name);
        let parent = path.parent().unwrap_or(&staged);
        let done = fs::create_dir_all(parent).and_then(|()| write_new(&path, text));
        done.map_err(|error| (path.clone(), error))
    });
    let done = written.and_then(|()| fs::rename(&staged, folder).map_err(|error| (folder.to_owned(), error)));
    if done.is_err() {
        // The failure to write is what counts.
        let _ = fs::remove_dir_all(&staged);
    }
    done
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn tell(files: &[String], dir: Option<&PathBuf>, json: bool) -> Result<Outcome, Failure> {
    let mut out = anstream::stdout().lock();
    if json {
        out.write_all(Canonicalizer::new().value(&json!({ "files": files }))?)?;
        writeln!(out)?;
    } else {
        for file in files {
            writeln!(out, "{GREEN}+{GREEN:#} {}", printable(file))?;
        }
        let mut page = Page::default();
        page.section("Next");
        if let Some(dir) = dir {
            page.item(&format!("cd {}", dir.display()));
        }
        page.item(&format!(
            "put your people, agents and paths in place of the examples, as {FOLDER}/README.md says"
        ));
        page.item("ordain policy check && ordain policy test");
        page.item(&format!("ordain decide {FOLDER}/tests/proposals/write.json"));
        out.write_all(page.text().as_bytes())?;
    }
    out.flush()?;
    Ok(Outcome::Ok)
}
