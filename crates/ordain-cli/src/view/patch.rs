//! Patch sets: which files change, and by how much.

use crate::page::{Column, Page};
use crate::wording::{count, exact_size, short_hash, size_of, word};
use ordain_spec::patch::{PatchOperation, PatchSet};

pub(super) fn show(page: &mut Page, patch: &PatchSet, full: bool) {
    page.title("patch set", &format!("from {}", patch.source_proposal_id.as_str()));
    page.label("source", &short_hash(patch.source_proposal_hash.as_str()));
    if let Some(bundle) = &patch.source_bundle_hash {
        page.label("made for", &format!("bundle {}", short_hash(bundle.as_str())));
    }
    let operations = count(patch.operations.len() as u64, "operation");
    page.label("total", &format!("{operations}, {}", exact_size(patch.total_bytes)));

    page.counted_section("Operations", patch.operations.len());
    let ordered = patch.operations.iter().any(|it| it.order.is_some());
    let row = |it: &PatchOperation| {
        let order = ordered.then(|| it.order.map(|order| order.to_string()).unwrap_or_default());
        let lines = it.content.as_deref().map(|content| format!("+{}", content.lines().count()));
        let size = it.content.as_deref().map(size_of);
        let rest = [word(&it.op), lines.unwrap_or_default(), size.unwrap_or_default(), it.path.clone()];
        order.into_iter().chain(rest).collect::<Vec<String>>()
    };
    let order = ordered.then_some(Column::Right("order"));
    let rest = [Column::Left("op"), Column::Right("lines"), Column::Right("size"), Column::Left("path")];
    let columns: Vec<Column> = order.into_iter().chain(rest).collect();
    page.table(&columns, patch.operations.iter().map(row), |page, number, _| {
        let content = patch.operations.get(number).and_then(|it| it.content.as_deref());
        if let Some(content) = content.filter(|_| full) {
            page.content(content);
        }
    });
}
