//! `ordain policy test`.

use super::cases::{Expect, ExpectedReason, Prepared, read_all};
use super::junit;
use crate::document::write_file;
use crate::exit::{self, Failure, Outcome};
use crate::page::PLAIN;
use crate::policy_folder::{TESTS, load};
use crate::progress::Progress;
use crate::report::{GREEN, RED, printable};
use crate::wording::{count, word};
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_decision::PolicySet;
use ordain_spec::decision::gate::{Weight, weight};
use ordain_spec::decision::{Decision, Outcome as Decided, Reason};
use serde::Serialize;
use similar::ChangeTag;
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain policy test
  ordain policy test policy --filter payment
  ordain policy test --junit report.xml", &[
    Outcome::Ok.means("every case is as expected"),
    Outcome::Failed.means("a case is not as expected, or there are none"),
]))]
pub(crate) struct PolicyTest {
    /// The policy folder; without it the one that the nearest ordain.toml names, or ./policy
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only the cases with this text in their name or in their file's
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Write the results to this file too, in JUnit's form
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// A case that was run.
#[derive(Serialize)]
pub(super) struct Ran {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) ok: bool,
    /// Why it could not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The differences from the expectation, one line each.
    pub(super) differences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    #[serde(skip)]
    diff: Vec<Line>,
}

/// A line of a diff from what was expected to what was decided.
type Line = (ChangeTag, String);

pub(crate) fn run(args: &PolicyTest, json: bool) -> Result<Outcome, Failure> {
    let (folder, policies) = load(args.dir.as_deref(), json)?;
    let tests = folder.join(TESTS);
    let all = read_all(&folder, &tests);
    let wanted = |case: &&Prepared| match &args.filter {
        Some(text) => case.name.contains(text) || case.file.contains(text),
        None => true,
    };
    let chosen: Vec<&Prepared> = all.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(no_cases(args, &tests, all.len()));
    }
    let mut progress = Progress::new("cases", Some(chosen.len()));
    let mut canon = Canonicalizer::new();
    let mut out = BufWriter::new(anstream::stdout().lock());
    let mut ran = Vec::with_capacity(chosen.len());
    for case in chosen {
        let result = run_one(case, &policies);
        if json {
            out.write_all(canon.value(&result)?)?;
            out.write_all(b"\n")?;
        } else {
            show(&mut out, &result)?;
        }
        ran.push(result);
        progress.add(1);
    }
    drop(progress);
    let failed = ran.iter().filter(|result| !result.ok).count();
    if !json {
        summary(&mut out, ran.len(), failed, all.len())?;
    }
    out.flush()?;
    if let Some(path) = &args.junit {
        write_junit(path, &ran)?;
    }
    Ok(if failed == 0 { Outcome::Ok } else { Outcome::Failed })
}

fn no_cases(args: &PolicyTest, tests: &Path, all: usize) -> Failure {
    let failure = |problem| Failure::Document { path: tests.display().to_string(), problem };
    match &args.filter {
        Some(text) if all > 0 => {
            failure(format!("none of the {} has `{text}` in its name", count(all as u64, "case")))
        }
        _ => failure("there are no cases".to_owned())
            .with_hint("docs/contracts/policy.md says how to write a case; `ordain init` writes some"),
    }
}

fn write_junit(path: &Path, ran: &[Ran]) -> Result<(), Failure> {
    let failure = |error| Failure::File { path: path.display().to_string(), error };
    write_file(path, junit::report(ran).as_bytes()).map_err(failure)
}

fn run_one(case: &Prepared, policies: &PolicySet) -> Ran {
    let mut ran = Ran {
        file: case.file.clone(),
        name: case.name.clone(),
        ok: false,
        error: None,
        differences: Vec::new(),
        decision: None,
        diff: Vec::new(),
    };
    let decided = case.case.as_ref().map_err(Clone::clone);
    match decided.and_then(|ready| Ok((&ready.expect, ready.decide(policies)?))) {
        Err(problem) => ran.error = Some(problem),
        Ok((expect, decision)) => {
            ran.diff = compare(expect, &decision);
            let changed = ran.diff.iter().filter(|(tag, _)| *tag != ChangeTag::Equal);
            ran.differences = changed.map(|(tag, line)| format!("{}{line}", sign(*tag))).collect();
            ran.ok = ran.differences.is_empty();
            ran.decision = Some(decision);
        }
    }
    ran
}

/// The decision line by line, beside what was expected.
fn compare(expect: &Expect, decision: &Decision) -> Vec<Line> {
    let mut lines = Vec::new();
    either(&mut lines, "outcome", Some(expect.outcome.name().to_owned()), decision.outcome.name().to_owned());
    let approvals = expect.approvals.as_ref();
    let found = &decision.approvals;
    let class = approvals.and_then(|it| it.class.as_ref()).map(word);
    either(&mut lines, "approvals.class", class, word(&found.class));
    let required = approvals.and_then(|it| it.required).map(|required| required.to_string());
    either(&mut lines, "approvals.required", required, found.required.to_string());
    let have = approvals.and_then(|it| it.have.clone()).map(|mut have| {
        have.sort();
        listed(&have)
    });
    either(&mut lines, "approvals.have", have, listed(&found.have));
    let permitted = decision.outcome != Decided::Deny;
    let missing = expect.reasons.iter().filter(|it| !decision.reasons.iter().any(|reason| it.fits(reason)));
    let mut reasons: Vec<(String, Line)> =
        missing.map(|it| (it.rule_id.clone(), (ChangeTag::Delete, it.line()))).collect();
    for reason in &decision.reasons {
        let listed = expect.reasons.iter().any(|it| it.fits(reason));
        let of_no_matter = weight(&reason.rule_id, permitted) == Weight::Tells
            && !expect.reasons.iter().any(|it| it.rule_id == reason.rule_id);
        let tag = if expect.only && !listed && !of_no_matter { ChangeTag::Insert } else { ChangeTag::Equal };
        let place = if reason.path.is_empty() { "the proposal" } else { &reason.path };
        let line = format!("{} at {place}: {}{}", reason.rule_id, reason.message, by(&reason.policies));
        reasons.push((reason.rule_id.clone(), (tag, line)));
    }
    reasons.sort_by(|left, right| left.0.cmp(&right.0));
    lines.extend(reasons.into_iter().map(|(_, line)| line));
    lines
}

fn either(lines: &mut Vec<Line>, name: &str, expected: Option<String>, found: String) {
    match expected.filter(|expected| *expected != found) {
        None => lines.push((ChangeTag::Equal, format!("{name} {found}"))),
        Some(expected) => {
            lines.push((ChangeTag::Delete, format!("{name} {expected}")));
            lines.push((ChangeTag::Insert, format!("{name} {found}")));
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
}

fn by(policies: &[String]) -> String {
    if policies.is_empty() { String::new() } else { format!(" [{}]", policies.join(", ")) }
}

impl ExpectedReason {
    fn fits(&self, reason: &Reason) -> bool {
        let same = |expected: &Vec<String>| {
            expected.iter().collect::<BTreeSet<_>>() == reason.policies.iter().collect::<BTreeSet<_>>()
        };
        self.rule_id == reason.rule_id
            && self.path.as_ref().is_none_or(|path| *path == reason.path)
            && self.message.as_ref().is_none_or(|part| reason.message.contains(part))
            && self.policies.as_ref().is_none_or(same)
    }

    fn line(&self) -> String {
        let place = match self.path.as_deref() {
            None => "anywhere",
            Some("") => "the proposal",
            Some(path) => path,
        };
        let message = self.message.as_ref().map(|part| format!(": … {part} …")).unwrap_or_default();
        let policies = match self.policies.as_deref() {
            Some([]) => " [no policies]".to_owned(),
            Some(policies) => by(policies),
            None => String::new(),
        };
        format!("{} at {place}{message}{policies}", self.rule_id)
    }
}

fn sign(tag: ChangeTag) -> char {
    match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    }
}

fn show(out: &mut impl Write, ran: &Ran) -> io::Result<()> {
    let (style, word) = if ran.ok { (GREEN, "ok") } else { (RED, "failed") };
    writeln!(out, "{style}{word:<6}{style:#}  {}: {}", printable(&ran.file), printable(&ran.name))?;
    if let Some(error) = &ran.error {
        writeln!(out, "    {}", printable(error))?;
    }
    if ran.differences.is_empty() {
        return Ok(());
    }
    writeln!(out, "    {RED}--- expected{RED:#}\n    {GREEN}+++ decided{GREEN:#}")?;
    for (tag, line) in &ran.diff {
        let style = match tag {
            ChangeTag::Equal => PLAIN,
            ChangeTag::Delete => RED,
            ChangeTag::Insert => GREEN,
        };
        writeln!(out, "    {style}{}{}{style:#}", sign(*tag), printable(line))?;
    }
    Ok(())
}

fn summary(out: &mut impl Write, ran: usize, failed: usize, all: usize) -> io::Result<()> {
    let of_all = if ran < all { format!(" of {all}") } else { String::new() };
    let cases = if ran == 1 && of_all.is_empty() { "case" } else { "cases" };
    let (style, result) = match failed {
        0 => (GREEN, "all as expected".to_owned()),
        _ => (RED, format!("{failed} failed, {} as expected", ran - failed)),
    };
    writeln!(out, "{ran}{of_all} {cases}: {style}{result}{style:#}")
}
