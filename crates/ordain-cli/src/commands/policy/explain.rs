//! `ordain policy explain`.

use crate::commands::decide::{CaseArgs, Given};
use crate::exit::{self, Failure, Outcome};
use crate::page::{PLAIN, Page};
use crate::report::{BOLD, GREEN, RED, YELLOW};
use crate::view;
use clap::Args;
use ordain_canon::{Canonicalizer, Value};
use ordain_decision::{Check, Examined, explain, nearest};
use ordain_spec::decision::{Decision, Outcome as Decided, Reason, gate};
use serde::Serialize;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain policy explain proposal.json
  ordain policy explain proposal.json --approvals approvals/ --now 2026-01-05T12:00:00Z", &[
    Outcome::Ok.means("explained, for any decision"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct PolicyExplain {
    #[command(flatten)]
    pub(crate) case: CaseArgs,
}

/// The explanation for programs.
#[derive(Serialize)]
struct Explained<'a> {
    decision: &'a Decision,
    policies: Vec<Shown<'a>>,
}

/// A policy, and whether it applies.
#[derive(Serialize)]
struct Shown<'a> {
    policy: &'a str,
    effect: &'a str,
    path: &'a str,
    applies: bool,
    checks: &'a [Check],
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

pub(crate) fn run(args: &PolicyExplain, json: bool) -> Result<Outcome, Failure> {
    let given = Given::read(&args.case, json)?;
    let decision = given.decide()?;
    let (mut policies, operations) = given.ask(|case| (explain(case), operations(case.document)))?;
    // By operation; what applies first, then the permits that lack the least.
    let rank = |it: &Examined| (!it.applies(), it.effect == "forbid" && !it.applies(), it.distance());
    policies.sort_by_key(|it| (it.path.clone(), rank(it), it.policy.clone()));
    let mut out = anstream::stdout().lock();
    if json {
        let policies = policies.iter().map(|it| Shown {
            policy: &it.policy,
            effect: it.effect,
            path: &it.path,
            applies: it.applies(),
            checks: &it.checks,
            reason: it.reason.as_deref(),
        });
        let explained = Explained { decision: &decision, policies: policies.collect() };
        out.write_all(Canonicalizer::new().value(&explained)?)?;
        out.write_all(b"\n")?;
    } else {
        let mut page = Page::default();
        view::decision::show(&mut page, &decision, given.wants().as_deref());
        show(&mut page, &policies, &operations);
        show_changes(&mut page, &decision, &policies, &operations);
        out.write_all(page.text().as_bytes())?;
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

/// The operations of a patch set as people read them, by their pointers.
fn operations(document: &Value<'_>) -> Vec<(String, String)> {
    let operations = document.get("parameters").and_then(|it| it.get("operations")).and_then(Value::as_array);
    let text = |operation: &Value<'_>, name: &str| {
        operation.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let named = |(at, it): (usize, &Value<'_>)| {
        (format!("/parameters/operations/{at}"), format!("{} {}", text(it, "op"), text(it, "path")))
    };
    operations.unwrap_or_default().iter().enumerate().map(named).collect()
}

fn operation<'o>(operations: &'o [(String, String)], path: &str) -> Option<&'o str> {
    operations.iter().find(|(pointer, _)| pointer == path).map(|(_, it)| it.as_str())
}

fn show(page: &mut Page, policies: &[Examined], operations: &[(String, String)]) {
    if policies.is_empty() {
        page.section("Policies");
        page.item("none was asked: the faults above come first");
    }
    for path in paths(policies) {
        let about = operation(operations, path).map(|it| format!(", {it}")).unwrap_or_default();
        let of = |applies: bool| -> Vec<&Examined> {
            policies.iter().filter(|it| it.path == path && it.applies() == applies).collect()
        };
        let (applying, others) = (of(true), of(false));
        page.counted_section(&format!("Policies that apply{about}"), applying.len());
        applying.iter().for_each(|it| show_policy(page, it));
        page.counted_section(&format!("Policies that do not apply{about}, the nearest first"), others.len());
        others.iter().for_each(|it| show_policy(page, it));
    }
}

/// The forbids that apply, and for what nothing permits the permits that lack the least.
fn show_changes(
    page: &mut Page,
    decision: &Decision,
    policies: &[Examined],
    operations: &[(String, String)],
) {
    page.section("What would have to change");
    if decision.outcome == Decided::Hold {
        return page.item("nothing but the approvals that are missing");
    }
    let about = |path: &str| operation(operations, path).map(|it| format!("{it}: ")).unwrap_or_default();
    let mut changes = Vec::new();
    for forbid in policies.iter().filter(|it| it.effect == "forbid" && it.applies()) {
        let ends = forbid.checks.iter().map(|check| {
            match check.condition.strip_prefix("!(").and_then(|inner| inner.strip_suffix(')')) {
                Some(inner) => format!("`{inner}` holds"),
                None => format!("`{}` no longer holds", check.condition),
            }
        });
        let ends = ends.collect::<Vec<_>>().join(" or ");
        let until = if ends.is_empty() { String::new() } else { format!(" until {ends}") };
        changes.push(format!("{}`{}` forbids it{until}", about(&forbid.path), forbid.policy));
    }
    let permits = gate::PERMIT.name();
    let unpermitted = |it: &&Reason| it.rule_id == permits && it.policies.is_empty();
    let denied = decision.outcome == Decided::Deny;
    for reason in decision.reasons.iter().filter(unpermitted).filter(|_| denied) {
        let of_it = |it: &&Examined| it.path == reason.path && it.effect == "permit";
        let misses = nearest(policies.iter().filter(of_it).cloned().collect());
        if misses.is_empty() {
            changes.push(format!("{}{}", about(&reason.path), reason.message));
        }
        for miss in misses {
            let missing = miss.would_if();
            changes.push(format!(
                "{}would be permitted by `{}` if {missing}",
                about(&reason.path),
                miss.policy
            ));
        }
    }
    if changes.is_empty() {
        changes.push(match decision.outcome {
            Decided::Allow => "nothing".to_owned(),
            Decided::Hold | Decided::Deny => {
                "nothing in the policies; the reasons above say what else is wrong".to_owned()
            }
        });
    }
    changes.iter().for_each(|change| page.item(change));
}

/// Where what was asked about stands, in order.
fn paths(policies: &[Examined]) -> Vec<&str> {
    let mut paths: Vec<&str> = policies.iter().map(|it| it.path.as_str()).collect();
    paths.dedup();
    paths
}

fn show_policy(page: &mut Page, it: &Examined) {
    let style = match (it.effect, it.applies()) {
        ("forbid", true) => RED,
        (_, true) => GREEN,
        (_, false) => YELLOW,
    };
    let reason = it.reason.as_ref().map(|reason| format!("  {reason}")).unwrap_or_default();
    let head = format!("  {style}{}{style:#}  {BOLD}{}{BOLD:#}", it.effect, it.policy);
    page.prose(&head, "    ", PLAIN, &reason);
    for check in &it.checks {
        let (style, mark) = if check.holds { (GREEN, "✓") } else { (RED, "✗") };
        let found = match &check.found {
            Some(found) => format!("  (found {found})"),
            None if check.failed => "  (cannot be evaluated)".to_owned(),
            None => String::new(),
        };
        page.prose(
            &format!("    {style}{mark}{style:#} "),
            "      ",
            PLAIN,
            &format!("{}{found}", check.condition),
        );
    }
}
