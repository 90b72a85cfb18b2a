//! The words and the criteria that an agent gets.

use crate::error::RunError;
use ordain_canon::Value;
use ordain_kernel::plan;
use ordain_spec::Verified;
use ordain_spec::bundle::{Bundle, OutputType};
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, TestType};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The brief as Markdown, and the criteria for programs.
pub(super) fn of(bundle: &Verified<Bundle>, intent: &Value<'_>) -> Result<(String, Json), RunError> {
    let plan = plan(bundle, intent, &BTreeSet::new())?;
    let mut brief = String::new();
    for output in bundle.outputs.iter().filter(|output| output.output_type == OutputType::Instruction) {
        brief.push_str(output.content.trim_end());
        brief.push_str("\n\n");
    }
    let commands: Vec<&str> = commands(&plan).collect();
    let tests: Vec<&AcceptanceTest> = tests(bundle, intent, &plan);
    brief.push_str(
        "## How the work is checked\n\nEdit the files in the current folder. It is a copy of the workspace, and only changes \
         in it count. When you end, these run in a sandbox without a network:\n\n",
    );
    for command in &commands {
        let _ = writeln!(brief, "- `{command}` must succeed");
    }
    for test in &tests {
        let what = match test.test_type {
            TestType::CommandSuccess => format!("`{}` must succeed", test.target),
            TestType::FileExists => format!("`{}` must be there", test.target),
            TestType::HashMatch => format!("`{}` must keep the content that it has now", test.target),
            TestType::ContentMatch => {
                format!("`{}` must have the content that acceptance.json says", test.target)
            }
        };
        let _ = writeln!(brief, "- {}: {what}", test.name);
    }
    if commands.is_empty() && tests.is_empty() {
        brief.push_str("- nothing: the order states no command and no test\n");
    }
    brief.push_str(
        "\nThey run a second time with all tests, test configuration, build scripts and CI files that were there before put \
         back, and must pass both times. So changing these files does not help. The same criteria stand in acceptance.json \
         beside this brief.\n",
    );
    let acceptance = json!({
        "bundle_id": bundle.id,
        "commands": commands,
        "tests": tests,
    });
    Ok((brief, acceptance))
}

fn commands(plan: &Proposal) -> impl Iterator<Item = &str> {
    let is_command =
        |kind| !matches!(kind, ActionType::CreateFile | ActionType::ModifyFile | ActionType::DeleteFile);
    plan.actions
        .iter()
        .filter(move |action| is_command(action.action_type))
        .map(|action| action.target.as_str())
}

/// Those that a work order's plan has: texts that are only for the agent are not files of the workspace.
fn tests<'p>(bundle: &Bundle, intent: &Value<'_>, plan: &'p Proposal) -> Vec<&'p AcceptanceTest> {
    let context = intent.get("context");
    let files = context.and_then(|it| it.get("files")).and_then(Value::as_array).unwrap_or_default();
    let brought = |path: &str| files.iter().any(|it| it.get("path").and_then(Value::as_str) == Some(path));
    let only_told = |path: &str| bundle.outputs.iter().any(|it| it.path == path) && !brought(path);
    plan.acceptance_tests
        .iter()
        .filter(|test| test.test_type != TestType::HashMatch || !only_told(&test.target))
        .collect()
}
