//! `ordain policy fmt`.

use crate::document::{check_stdin_once, write_file};
use crate::exit::{self, Failure, Outcome};
use crate::input::Source;
use crate::policy_folder::find;
use crate::report::{GREEN, YELLOW, printable};
use crate::wording::count;
use cedar_policy::PolicySet;
use cedar_policy_formatter::{Config, policies_str_to_pretty};
use clap::Args;
use ordain_canon::Canonicalizer;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain policy fmt
  ordain policy fmt --check policy
  ordain policy fmt - < draft.cedar", &[
    Outcome::Ok.means("done; with --check, nothing to do"),
    Outcome::Failed.means("an error; with --check, files would change"),
]))]
pub(crate) struct PolicyFmt {
    /// Files, or folders whose `.cedar` files are meant; `-` is standard input, to standard output; without any, the
    /// policy folder
    #[arg(value_name = "FILE|DIR")]
    pub(crate) files: Vec<PathBuf>,
    /// Write nothing, and list the files that would change
    #[arg(long)]
    pub(crate) check: bool,
}

const LINE_WIDTH: usize = 100;
const INDENT_WIDTH: isize = 2;

pub(crate) fn run(args: &PolicyFmt, json: bool) -> Result<Outcome, Failure> {
    let paths: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    check_stdin_once(&paths)?;
    if paths.contains(&Path::new("-")) {
        if paths.len() > 1 {
            return Err(Failure::Usage(
                "`-` goes to standard output and takes no files beside it".to_owned(),
            ));
        }
        return filter(args.check);
    }
    let named = if paths.is_empty() { vec![find(None)?] } else { args.files.clone() };
    let files = cedar_files(&named)?;
    // Nothing is written until all of them can be.
    let mut laid_out = Vec::with_capacity(files.len());
    for file in files {
        let before = text_of(&Source::of(&file))?;
        let after = formatted(&before).map_err(|problem| refused(&file, problem))?;
        laid_out.push((file, before != after, after));
    }
    let mut canon = Canonicalizer::new();
    let mut out = anstream::stdout().lock();
    for (file, changed, after) in &laid_out {
        let name = file.display().to_string();
        if *changed && !args.check {
            let failure = |error| Failure::File { path: name.clone(), error };
            write_file(file, after.as_bytes()).map_err(failure)?;
        }
        if json {
            out.write_all(canon.value(&json!({"file": name, "changed": changed}))?)?;
            writeln!(out)?;
        } else if *changed {
            let (style, word) = if args.check { (YELLOW, "would change") } else { (GREEN, "changed") };
            writeln!(out, "{style}{word}{style:#}  {}", printable(&name))?;
        }
    }
    let changed = laid_out.iter().filter(|(_, changed, _)| *changed).count();
    if !json {
        let would = if args.check { "to change" } else { "changed" };
        writeln!(out, "{}, {changed} {would}", count(laid_out.len() as u64, "file"))?;
    }
    out.flush()?;
    Ok(if args.check && changed > 0 { Outcome::Failed } else { Outcome::Ok })
}

/// From standard input to standard output.
fn filter(check: bool) -> Result<Outcome, Failure> {
    let before = text_of(&Source::Stdin)?;
    let after = formatted(&before).map_err(|problem| refused(Path::new("standard input"), problem))?;
    if check {
        return Ok(if before == after { Outcome::Ok } else { Outcome::Failed });
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(after.as_bytes())?;
    stdout.flush()?;
    Ok(Outcome::Ok)
}

fn refused(path: &Path, problem: String) -> Failure {
    Failure::Document { path: path.display().to_string(), problem }
}

/// The files themselves, and the `.cedar` files of folders.
fn cedar_files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let failure = |error| Failure::File { path: path.display().to_string(), error };
        let entries =
            std::fs::read_dir(path).map_err(failure)?.collect::<Result<Vec<_>, _>>().map_err(failure)?;
        let found = entries.into_iter().map(|entry| entry.path()).filter(|path| {
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            !hidden && path.extension().is_some_and(|extension| extension == "cedar") && path.is_file()
        });
        let before = files.len();
        files.extend(found);
        if files.len() == before {
            return Err(refused(path, "holds no `.cedar` file".to_owned()));
        }
        if let Some(found) = files.get_mut(before..) {
            found.sort();
        }
    }
    Ok(files)
}

fn text_of(source: &Source) -> Result<String, Failure> {
    let problem = || refused(Path::new(&source.name()), "is not UTF-8".to_owned());
    String::from_utf8(source.bytes()?).map_err(|_| problem())
}

/// The same policies, laid out. Whatever would change what they say, or lose a comment, is refused.
fn formatted(before: &str) -> Result<String, String> {
    let policies = parsed(before)?;
    if policies.as_array().is_some_and(Vec::is_empty) {
        // A file with comments alone stays as it is.
        return Ok(before.to_owned());
    }
    let config = Config { line_width: LINE_WIDTH, indent_width: INDENT_WIDTH };
    let after = policies_str_to_pretty(before, &config).map_err(|error| one_line(&error.to_string()))?;
    if parsed(&after)? != policies {
        return Err("laying it out would change what it means, so it stays as it is".to_owned());
    }
    if comments(before) != comments(&after) {
        return Err(
            "laying it out would lose a comment, so it stays as it is until the comment has a line of its own".to_owned()
        );
    }
    Ok(after)
}

/// The comments after `//` outside of strings, sorted: formatting may move one.
fn comments(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let (mut in_string, mut escaped, mut slash) = (false, false, false);
        for (at, character) in line.char_indices() {
            if character == '/' && slash && !in_string {
                found.extend(line.get(at + 1..).map(|comment| comment.trim().to_owned()));
                break;
            }
            in_string ^= character == '"' && !escaped;
            escaped = in_string && character == '\\' && !escaped;
            slash = character == '/';
        }
    }
    found.sort();
    found
}

/// All policies in Cedar's JSON form, in order. Annotations are part of it.
fn parsed(text: &str) -> Result<serde_json::Value, String> {
    let set = PolicySet::from_str(text).map_err(|error| {
        let place = error.iter().next().and_then(|error| miette::Diagnostic::labels(error)?.next());
        let line = place.map(|place| ordain_canon::place_of(text.as_bytes(), place.offset()).line);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", one_line(&error.to_string()))
    })?;
    let mut policies = Vec::new();
    for policy in set.policies() {
        policies.push((policy.id().to_string(), policy.to_json().map_err(|error| error.to_string())?));
    }
    for template in set.templates() {
        policies.push((template.id().to_string(), template.to_json().map_err(|error| error.to_string())?));
    }
    policies.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(json!(policies))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
