//! Valid documents of any size.

use ordain_canon::{Canonicalizer, ContentHash, DerivedId, Value};
use std::fmt::Write;

/// The text of a valid patch set with that many operations, each with that many lines of content.
pub fn large_patch_set(operations: usize, lines: usize) -> String {
    let content = "    let total = orders.iter().map(|order| order.amount).sum::<u64>();\n".repeat(lines);
    let hash = ContentHash::of(content.as_bytes());
    let escaped = content.replace('\n', "\\n");
    let mut text = String::from("{\"operations\":[");
    for number in 0..operations {
        let comma = if number > 0 { "," } else { "" };
        let size = content.len();
        let _ = write!(
            text,
            r#"{comma}{{"op":"create","path":"src/module_{:04}/file_{number:08}.rs","content":"{escaped}","expected_hash":"{hash}","size_bytes":{size}}}"#,
            number / 100,
        );
    }
    let _ = write!(
        text,
        r#"],"patch_schema_version":"1.0.0","source_proposal_id":"prop_0123456789abcdef","source_proposal_hash":"sha256:{}","total_bytes":{}}}"#,
        "0".repeat(64),
        operations * content.len(),
    );
    text
}

/// The text of a valid bundle whose root has that many children.
///
/// # Panics
///
/// When an id cannot be derived, which is a mistake here.
#[expect(clippy::expect_used, reason = "for tests")]
pub fn large_bundle(children: usize) -> String {
    let mut canon = Canonicalizer::new();
    let mut id = |kind: DerivedId, text: &str| {
        kind.of(&mut canon, &Value::read(text.as_bytes()).expect("JSON")).expect("an id")
    };
    let measures = r#""entropy":{"unresolved_refs":0,"schema_gaps":0,"contradiction_count":0,"branching_factor":1,"entropy_score":10},"density":{"concrete_constraints":1,"specified_outputs":1,"constraint_depth":1,"density_score":80},"unresolved_questions":[]"#;
    let root_key = r#""parent_id":null,"goal":"import all files","constraints":[]"#;
    let root = id(DerivedId::Node, &format!("{{{root_key}}}"));
    let mut nodes: Vec<(String, String)> = (0..children)
        .map(|number| {
            let key = format!(r#""parent_id":"{root}","goal":"import file {number}","constraints":["keep rows","row {number}"]"#);
            let node = id(DerivedId::Node, &format!("{{{key}}}"));
            let text = format!(r#"{{"id":"{node}",{key},"status":"terminal",{measures},"children":[]}}"#);
            (node, text)
        })
        .collect();
    nodes.sort();
    let nodes: Vec<String> = nodes.into_iter().map(|(_, text)| text).collect();
    let list = nodes.join(",");
    let output_key = r##""type":"instruction","path":"context/brief.md","content":"# Import all files\n""##;
    let output = id(DerivedId::Output, &format!("{{{output_key}}}"));
    let hash = ContentHash::of(b"# Import all files\n");
    let (status, total, leaves, depth) = match children {
        0 => ("terminal", 1, 1, 0),
        _ => ("expanding", children + 1, children, 1),
    };
    let root_text =
        format!(r#"{{"id":"{root}",{root_key},"status":"{status}",{measures},"children":[{list}]}}"#);
    let terminal = if children == 0 { root_text.clone() } else { list };
    let rest = format!(
        r#""schema_version":"0.1.0","kernel_version":"0.1.0","source_intent_hash":"{}","status":"complete","root_node":{root_text},"terminal_nodes":[{terminal}],"outputs":[{{"id":"{output}",{output_key},"content_hash":"{hash}","source_constraints":[],"confidence":80}}],"unresolved_questions":[],"stats":{{"total_nodes":{total},"terminal_nodes":{leaves},"max_depth":{depth},"total_outputs":1,"unresolved_count":0,"avg_terminal_entropy":10,"avg_terminal_density":80}}"#,
        "0".repeat(64),
    );
    let bundle = id(DerivedId::Bundle, &format!("{{{rest}}}"));
    format!(r#"{{"id":"{bundle}",{rest}}}"#)
}
