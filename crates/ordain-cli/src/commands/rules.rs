//! `ordain rules`.

use crate::arguments::kinds;
use crate::exit::{self, Failure, Outcome};
use crate::output::print_page;
use crate::page::{Column, Page};
use crate::report::{BOLD, GREEN, RED};
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_spec::decision::gate::GATES;
use ordain_spec::run::links::LINKS;
use ordain_spec::{Category, Kind, Rule, RuleId};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use std::io::{BufWriter, Write};

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Rules {
    /// A rule, such as PS4 or V-PROP-010; all of them when absent
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only the rules of this kind of document
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<Kind>,
}

/// Kind, rule, and `about.md`, `accept.json`, `reject.json`, `reject.report.json` of the conformance set.
type Example = (&'static str, &'static str, [Option<&'static str>; 4]);

static EXAMPLES: &[Example] = include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// The words that a report has in place of a rule when there is no document to judge.
static ANSWERS: &[(&str, &str)] = &[
    (
        "PARSE",
        "the text is not strict JSON; the message says what and where, docs/contracts/canonical.md why",
    ),
    ("KIND", "the document's fields do not show what it is, or show several kinds; `--kind` names it"),
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

pub(crate) fn run(args: &Rules, json: bool) -> Result<Outcome, Failure> {
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
        let found = wider_rules().find(|rule| rule.id.name().eq_ignore_ascii_case(id) && wanted(&rule.kind));
        if let Some(rule) = found {
            return explain_wider(&rule, json);
        }
        let answer = ANSWERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(id) && args.kind.is_none());
        if let Some((name, about)) = answer {
            writeln!(anstream::stdout(), "{BOLD}{name}{BOLD:#}: {about}")?;
            return Ok(Outcome::Ok);
        }
        let hint = "run `ordain rules` to list all rules";
        return Err(Failure::Usage(format!("there is no rule `{id}`")).with_hint(hint));
    }
    let mut out = BufWriter::new(anstream::stdout().lock());
    let mut canon = Canonicalizer::new();
    let mut rows = Vec::new();
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
            rows.push(row(rule.id, *kind, rule.category, rule.title));
        }
    }
    for rule in wider_rules().filter(|rule| args.id.is_none() && wanted(&rule.kind)) {
        if json {
            out.write_all(canon.value(&rule.view(&rule.id.name(), None))?)?;
            writeln!(out)?;
        } else {
            rows.push(row(rule.id, rule.kind, rule.category, rule.title));
        }
    }
    out.flush()?;
    drop(out);
    if !rows.is_empty() {
        let columns = [
            Column::Left("rule"),
            Column::Left("kind"),
            Column::Spare("category"),
            Column::Left("what holds"),
        ];
        let mut page = Page::default();
        page.table(&columns, rows, |_, _, _| {});
        print_page(&page)?;
    }
    Ok(Outcome::Ok)
}

fn row(id: RuleId, kind: Kind, category: Category, title: &str) -> Vec<String> {
    vec![id.to_string(), kind.to_string(), category.name().to_owned(), title.to_owned()]
}

/// A rule about more than one document: a link between the files of a run's folder, or what the gate asks.
struct WiderRule {
    id: RuleId,
    /// The kind it is listed with.
    kind: Kind,
    title: &'static str,
    about: &'static str,
    section: &'static str,
    category: Category,
    /// The line below its title.
    origin: String,
}

fn wider_rules() -> impl Iterator<Item = WiderRule> {
    let links = LINKS.iter().map(|link| WiderRule {
        id: link.id,
        kind: Kind::Run,
        title: link.title,
        about: link.about,
        section: "run folders",
        category: Category::Reference,
        origin: "folder of a run · reference · docs/contracts/run-folder.md".to_owned(),
    });
    let gates = GATES.iter().map(|gate| WiderRule {
        id: gate.id,
        kind: Kind::Decision,
        title: gate.title,
        about: gate.about,
        section: "gate",
        category: Category::Gate,
        origin: format!("gate · it {} · docs/contracts/decision.md", gate.effect()),
    });
    gates.chain(links)
}

impl WiderRule {
    fn view<'a>(&'a self, rule_id: &'a str, about: Option<&'a str>) -> RuleView<'a> {
        let (kind, category) = (self.kind.name(), self.category.name());
        RuleView { rule_id, kind, title: self.title, section: self.section, category, about }
    }
}

fn explain_wider(rule: &WiderRule, json: bool) -> Result<Outcome, Failure> {
    let mut out = anstream::stdout().lock();
    let name = rule.id.name();
    if json {
        out.write_all(Canonicalizer::new().value(&rule.view(&name, Some(rule.about)))?)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{BOLD}{name}: {}{BOLD:#}", rule.title)?;
        writeln!(out, "{}\n\n{}", rule.origin, rule.about)?;
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
        "{} · {} · {} · docs/contracts/{}.md",
        kind.title(),
        rule.section,
        rule.category.name(),
        kind.contract()
    )?;
    let Some([about, accept, reject, report]) = example(kind, rule) else { return Ok(()) };
    if let Some(about) = about {
        writeln!(out, "\n{}", about.trim_end())?;
    }
    if let (Some(accept), Some(reject)) = (accept, reject) {
        writeln!(out, "\n{BOLD}From a valid document to one that breaks the rule{BOLD:#}")?;
        diff(out, accept, reject)?;
        writeln!(out, "Both are in conformance/{kind}/{}/.", rule.id)?;
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
