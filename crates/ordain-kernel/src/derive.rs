//! Ids of typed values: what a verifier will recompute, computed the same way.

use ordain_canon::{Canonicalizer, DeriveError, DerivedId, Value};
use serde::Serialize;

/// The id that the content of `value` gives; its own `id` may still be empty.
pub(crate) fn derive_id<T: Serialize>(
    canon: &mut Canonicalizer,
    kind: DerivedId,
    value: &T,
) -> Result<String, DeriveError> {
    let text = canon.value(value)?.to_vec();
    // What was just written is read again: two forms of one value, so reading cannot fail.
    let value = Value::read(&text).unwrap_or(Value::Null);
    kind.of(canon, &value)
}
