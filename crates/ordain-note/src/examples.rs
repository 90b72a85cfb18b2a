//! Answers that the program brings, so that drafting can be tried without a model.

use ordain_model::Embedded;

/// Prompts, and an answer to each. No model gave them: they were written as examples.
pub const EXAMPLES: Embedded = &[
    (
        "Create a new note that introduces REST vs RPC trade-offs and links to two reference resources.",
        include_str!("../answers/rest-vs-rpc.json"),
    ),
    (
        "Write a note about idempotency keys in payment APIs.",
        include_str!("../answers/idempotency-keys.json"),
    ),
    ("Draft a template note for the weekly research meeting.", include_str!("../answers/meeting-notes.json")),
];
