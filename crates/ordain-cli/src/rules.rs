//! `ordain rules` and `ordain schema`.

use crate::args;
use crate::exit::{Failure, Outcome};
use crate::report::{BOLD, GREEN, RED};
use ordain_canon::Canonicalizer;
use ordain_spec::run::links::{LINKS, Link};
use ordain_spec::{Category, Kind, Rule};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use std::io::{BufWriter, Write};

/// Kind, rule, and `about.md`, `accept.json`, `reject.json`, `reject.report.json` of the conformance set.
type Example = (&'static str, &'static str, [Option<&'static str>; 4]);

static EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// What stands in a report in place of a rule when there is no document to judge.
static ANSWERS: &[(&str, &str)] = &[
    (
        "PARSE",
        "the text is not strict JSON; the message says what and where, docs/contracts/canonical.md why",
    ),
    ("KIND", "the document's fields do not show what it is, or show several kinds; say it with `--kind`"),
    ("IO", "the file could not be read"),
];

/// A rule as `--json` shows it.
#[derive(Serialize)]
struct RuleView<'a> {
    rule_id: &'a str,
    kind: &'a str,
    title: &'a str,
    section: &'a str,
    category: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
}

pub(crate) fn run(args: &args::Rules, json: bool) -> Result<Outcome, Failure> {
    let wanted = |kind: &Kind| args.kind.is_none_or(|only| only == *kind);
    let all = || {
        Kind::ALL
            .into_iter()
            .filter(wanted)
            .flat_map(|kind| kind.rules().iter().map(move |rule| (kind, rule)))
    };
    let rules: Vec<(Kind, &Rule)> = match &args.id {
        None => all().collect(),
        Some(id) => all().filter(|(_, rule)| rule.id.name().eq_ignore_ascii_case(id)).collect(),
    };
    if rules.is_empty() {
        let id = args.id.as_deref().unwrap_or_default();
        let of_runs = args.kind.is_none_or(|kind| kind == Kind::Run);
        let wanted = |link: &&Link| link.id.name().eq_ignore_ascii_case(id) && of_runs;
        if let Some(link) = LINKS.iter().find(wanted) {
            return show_links(std::slice::from_ref(link), json);
        }
        let answer = ANSWERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(id) && args.kind.is_none());
        if let Some((name, about)) = answer {
            writeln!(anstream::stdout(), "{BOLD}{name}{BOLD:#}: {about}")?;
            return Ok(Outcome::Ok);
        }
        return Err(Failure::Usage(format!("there is no rule `{id}`; `ordain rules` lists them")));
    }
    let mut out = BufWriter::new(anstream::stdout().lock());
    let mut canon = Canonicalizer::new();
    for (position, (kind, rule)) in rules.iter().enumerate() {
        let about = args.id.as_ref().and_then(|_| example(*kind, rule)?[0]);
        if json {
            let name = rule.id.name();
            let view = RuleView {
                rule_id: &name,
                kind: kind.name(),
                title: rule.title,
                section: rule.section,
                category: rule.category.name(),
                about: about.map(str::trim),
            };
            out.write_all(canon.value(&view)?)?;
            writeln!(out)?;
        } else if args.id.is_some() {
            if position > 0 {
                writeln!(out)?;
            }
            explain(&mut out, *kind, rule)?;
        } else {
            if position == 0 {
                writeln!(out, "{BOLD}{:<11} {:<9} {:<12} what holds{BOLD:#}", "rule", "kind", "category")?;
            }
            let (id, category) = (rule.id, rule.category.name());
            writeln!(out, "{GREEN}{id:<11}{GREEN:#} {kind:<9} {category:<12} {}", rule.title)?;
        }
    }
    out.flush()?;
    drop(out);
    if args.id.is_none() && args.kind.is_none_or(|kind| kind == Kind::Run) {
        show_links(LINKS, json)?;
    }
    Ok(Outcome::Ok)
}

/// Links are rules between the files of a run's folder.
fn show_links(links: &[Link], json: bool) -> Result<Outcome, Failure> {
    let mut out = anstream::stdout().lock();
    for link in links {
        let (name, title) = (link.id.name(), link.title);
        if json {
            let view = RuleView {
                rule_id: &name,
                kind: Kind::Run.name(),
                title,
                section: "run folders",
                category: Category::Reference.name(),
                about: (links.len() == 1).then_some(link.about),
            };
            out.write_all(Canonicalizer::new().value(&view)?)?;
            writeln!(out)?;
        } else if links.len() == 1 {
            writeln!(out, "{BOLD}{name}: {title}{BOLD:#}")?;
            writeln!(out, "folder of a run · reference · docs/contracts/run-folder.md\n\n{}", link.about)?;
        } else {
            writeln!(out, "{GREEN}{name:<11}{GREEN:#} {:<9} {:<12} {title}", "run", "reference")?;
        }
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

fn example(kind: Kind, rule: &Rule) -> Option<&'static [Option<&'static str>; 4]> {
    let name = rule.id.name();
    EXAMPLES.iter().find(|(folder, id, _)| *folder == kind.name() && *id == name).map(|(_, _, files)| files)
}

fn explain(out: &mut impl Write, kind: Kind, rule: &Rule) -> std::io::Result<()> {
    writeln!(out, "{BOLD}{}: {}{BOLD:#}", rule.id, rule.title)?;
    writeln!(
        out,
        "{} · {} · {} · docs/contracts/{kind}.md",
        kind.title(),
        rule.section,
        rule.category.name()
    )?;
    let Some([about, accept, reject, report]) = example(kind, rule) else { return Ok(()) };
    if let Some(about) = about {
        writeln!(out, "\n{}", about.trim_end())?;
    }
    if let (Some(accept), Some(reject)) = (accept, reject) {
        writeln!(out, "\n{BOLD}From a valid document to one that breaks the rule{BOLD:#}")?;
        diff(out, accept, reject)?;
        writeln!(out, "Both stand in conformance/{kind}/{}/.", rule.id)?;
    }
    if let Some(report) = report {
        writeln!(out, "\n{BOLD}What verify says{BOLD:#}\n{}", report.trim_end())?;
    }
    Ok(())
}

fn diff(out: &mut impl Write, old: &str, new: &str) -> std::io::Result<()> {
    let diff = TextDiff::from_lines(old, new);
    for (position, group) in diff.grouped_ops(2).iter().enumerate() {
        if position > 0 {
            writeln!(out, "  ⋮")?;
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Delete => writeln!(out, "{RED}- {line}{RED:#}")?,
                ChangeTag::Insert => writeln!(out, "{GREEN}+ {line}{GREEN:#}")?,
                ChangeTag::Equal => writeln!(out, "  {line}")?,
            }
        }
    }
    Ok(())
}

pub(crate) fn schema(args: &args::Schema, json: bool) -> Result<Outcome, Failure> {
    let schema = args.kind.schema();
    let mut stdout = std::io::stdout().lock();
    if json {
        stdout.write_all(Canonicalizer::new().value(&schema)?)?;
    } else {
        serde_json::to_writer_pretty(&mut stdout, &schema).map_err(std::io::Error::from)?;
    }
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    Ok(Outcome::Ok)
}
