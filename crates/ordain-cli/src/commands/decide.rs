//! `ordain decide`.

use crate::clock::{now_ms, parse_time};
use crate::document::document_failure;
use crate::document::{check_stdin_once, with_article};
use crate::exit::{self, Failure, Outcome};
use crate::input::{Source, Text, search};
use crate::page::Page;
use crate::policy_folder;
use crate::project::Project;
use crate::report::printable;
use crate::view;
use crate::wording::shell_word;
use clap::Args;
use ordain_canon::{Canonicalizer, Value};
use ordain_decision::{Case, PolicySet, decide_text};
use ordain_spec::decision::gate::{self, Weight, weight};
use ordain_spec::decision::{Decision, Outcome as Decided};
use ordain_spec::{Kind, RuleId};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The input of a decision.
#[derive(Args)]
pub(crate) struct CaseArgs {
    /// The action proposal or KernelRequest, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The policy folder; without it the one that the nearest ordain.toml names, or ./policy
    #[arg(long, value_name = "DIR")]
    pub(crate) policy: Option<PathBuf>,
    /// Evidence packets: a file with one or with an array of them, or a folder of such files; may be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Vec<PathBuf>,
    /// Approvals and rejections: a file with one or with an array of them, or a folder of such files; may be given
    /// several times
    #[arg(long, value_name = "FILE")]
    pub(crate) approvals: Vec<PathBuf>,
    /// The time to decide at, in milliseconds since 1970 or as 2026-01-05T12:00:00Z; the machine's when absent
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<u64>,
    /// Decide as if an operator had halted the gate
    #[arg(long)]
    pub(crate) halted: bool,
}

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain decide proposal.json
  ordain decide proposal.json --policy policy --evidence evidence/ --approvals approvals/
  ordain decide request.yaml --now 2026-01-05T12:00:00Z --json", &[
    Outcome::Ok.means("ALLOW"),
    Outcome::Hold.means("HOLD"),
    Outcome::Deny.means("DENY"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Decide {
    #[command(flatten)]
    pub(crate) case: CaseArgs,
}

pub(crate) fn run(args: &Decide, json: bool) -> Result<Outcome, Failure> {
    let given = Given::read(&args.case, json)?;
    let decision = given.decide()?;
    let mut out = anstream::stdout().lock();
    if json {
        out.write_all(Canonicalizer::new().value(&decision)?)?;
        out.write_all(b"\n")?;
    } else {
        let mut page = Page::default();
        view::decision::show(&mut page, &decision, given.wants().as_deref());
        next(&mut page, &decision, &args.case);
        out.write_all(page.text().as_bytes())?;
    }
    out.flush()?;
    Ok(match decision.outcome {
        Decided::Allow => Outcome::Ok,
        Decided::Hold => Outcome::Hold,
        Decided::Deny => Outcome::Deny,
    })
}

/// Everything that a decision is asked with, as it was read.
pub(crate) struct Given {
    proposal: Text,
    policies: PolicySet,
    evidence: Vec<(Source, Text)>,
    approvals: Vec<(Source, Text)>,
    now_ms: u64,
    halted: bool,
    /// The folder of the project, for shell commands.
    workspace: Option<String>,
}

impl Given {
    pub(crate) fn read(args: &CaseArgs, json: bool) -> Result<Self, Failure> {
        let mut paths: Vec<&Path> = vec![&args.file];
        paths.extend(args.evidence.iter().chain(&args.approvals).map(PathBuf::as_path));
        check_stdin_once(&paths)?;
        let (_, policies) = policy_folder::load(args.policy.as_deref(), json)?;
        Ok(Self {
            proposal: Source::of(&args.file).text()?,
            policies,
            evidence: read_all(&args.evidence)?,
            approvals: read_all(&args.approvals)?,
            now_ms: args.now.unwrap_or_else(now_ms),
            halted: args.halted,
            workspace: Project::find()?.and_then(|project| project.workspace()),
        })
    }

    /// The actor and the action, as far as the proposal names them.
    pub(crate) fn wants(&self) -> Option<String> {
        let document = Value::read(self.proposal.checked().ok()?).ok()?;
        let text = |value: &Value<'_>, name: &str| {
            value.get(name).and_then(Value::as_str).map(|text| printable(text).into_owned())
        };
        let actor = text(&document, "actor")?;
        if let Some(call) = document.get("tool_call") {
            return Some(format!("{actor}: the tool {}", text(call, "name")?));
        }
        let target = document.get("target")?;
        let of = |name: &str| text(target, name);
        let action = text(&document, "action_type")?;
        Some(format!(
            "{actor}: {action} the {} {} of {}",
            of("resource_type")?,
            of("resource_id")?,
            of("domain")?
        ))
    }

    /// Decides. An unreadable proposal is denied, whatever it is written in; only the reader of YAML can say
    /// what is wrong with it.
    pub(crate) fn decide(&self) -> Result<Decision, Failure> {
        let mut decision = self.ask(|case| decide_text(&self.proposal.json, case).decision)?;
        if let Err(wrong) = self.proposal.checked() {
            for reason in decision.reasons.iter_mut().filter(|it| it.rule_id == RuleId::Parse.name()) {
                (reason.path, reason.message) = (wrong.pointer.clone(), wrong.message.clone());
            }
        }
        Ok(decision)
    }

    /// Asks something about the case.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Case<'_>) -> T) -> Result<T, Failure> {
        let evidence = documents(&self.evidence, Kind::Packet)?;
        let approvals = documents(&self.approvals, Kind::Approval)?;
        Ok(question(&Case {
            document: &Value::read(&self.proposal.json).unwrap_or(Value::Null),
            policies: &self.policies,
            evidence: &evidence,
            approvals: &approvals,
            approver_keys: &ordain_spec::statement::NO_KEYS,
            now_ms: self.now_ms,
            halted: self.halted,
            workspace: self.workspace.as_deref(),
        }))
    }
}

/// The texts of files, and of the files in folders. A folder may be empty: nobody has approved yet.
fn read_all(paths: &[PathBuf]) -> Result<Vec<(Source, Text)>, Failure> {
    let mut sources = Vec::new();
    for path in paths {
        if path.is_dir() { search(path, &mut sources) } else { sources.push(Source::of(path)) }
    }
    sources.into_iter().map(|source| source.text().map(|text| (source, text))).collect()
}

/// The documents of texts: one each, or an array of them. A damaged one is for the decision to judge; another kind of
/// document is a mistake.
fn documents(texts: &[(Source, Text)], kind: Kind) -> Result<Vec<Value<'_>>, Failure> {
    let mut all = Vec::new();
    for (source, text) in texts {
        let found = match text.read(&text.json).map_err(|wrong| document_failure(source, &wrong))? {
            Value::Array(elements) => elements,
            document => vec![document],
        };
        for document in &found {
            let other = match Kind::recognise(document) {
                Ok(other) if other != kind => with_article(other),
                Err(_) if document.as_object().is_none() => document.kind().to_owned(),
                _ => continue,
            };
            let problem = format!("expected {} or an array of them, found {other}", with_article(kind));
            return Err(Failure::Document { path: source.name(), problem });
        }
        all.extend(found);
    }
    Ok(all)
}

/// The next steps after a decision.
fn next(page: &mut Page, decision: &Decision, args: &CaseArgs) {
    let has = |rules: &[RuleId]| {
        decision.reasons.iter().any(|it| rules.iter().any(|rule| rule.name() == it.rule_id))
    };
    page.section("Next");
    match decision.outcome {
        Decided::Allow => {
            page.item("it may happen now, as it was proposed; a change makes it another proposal")
        }
        Decided::Hold => {
            let hash = decision.proposal_hash.0.as_ref().map(|hash| hash.as_str()).unwrap_or_default();
            page.item(&format!("ask the people named above to approve the proposal {hash}"));
            page.item("then decide again with what they said: --approvals FILE");
        }
        Decided::Deny => {
            if has(&[gate::HALT]) {
                page.item("ask an operator to lift the halt");
            }
            if has(&[gate::FORBID, gate::EVALUATION, gate::PERMIT]) && args.file != Path::new("-") {
                let file = shell_word(&args.file.display().to_string());
                page.step("see what each policy asks for", &format!("ordain policy explain {file}"));
            }
            let denying = |it: &&str| weight(it, false) == Weight::Denies;
            let rules: BTreeSet<&str> =
                decision.reasons.iter().map(|it| it.rule_id.as_str()).filter(denying).collect();
            let rules: Vec<String> = rules.into_iter().map(|rule| format!("ordain rules {rule}")).collect();
            page.steps("read what a rule is for", &rules);
        }
    }
}
