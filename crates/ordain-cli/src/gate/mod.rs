//! Parts that the commands which ask the gate share.

pub(crate) mod deciding;
mod fields;
pub(crate) mod files;
pub(crate) mod held;
pub(crate) mod ids;
pub(crate) mod page;
pub(crate) mod poll;
pub(crate) mod repeat;
pub(crate) mod screen;
pub(crate) mod settling;
pub(crate) mod summary;

use crate::report::printable;
use ordain_api::Problem;

/// A problem as people read it: what, and below it each fault and each of the kernel's reasons.
pub(crate) fn problem_text(problem: &Problem) -> String {
    let alone = match problem.errors.as_slice() {
        [fault] if fault.message == problem.detail => Some(fault.path.as_str()),
        _ => None,
    };
    let place = alone.filter(|path| !path.is_empty()).map(|path| format!("{path}: ")).unwrap_or_default();
    let mut lines = vec![format!("{place}{}", problem.detail)];
    for fault in problem.errors.iter().filter(|_| alone.is_none()) {
        let parts = [fault.rule_id.as_deref().unwrap_or_default(), &fault.path, &fault.message];
        lines.push(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  "));
    }
    lines.extend(problem.reasons.iter().map(|reason| format!("{}  {}", reason.rule_id, reason.message)));
    lines.iter().map(|line| printable(line)).collect::<Vec<_>>().join("\n  ")
}
