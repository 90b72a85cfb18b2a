//! Ids of typed values: what a verifier will recompute, computed the same way.

use ordain_canon::{Canonicalizer, ContentHash, DeriveError, DerivedId, SHA256_PREFIX, Value};
use serde::Serialize;

/// Digits of the hash that an id takes.
const DIGITS: usize = 16;

/// The id of what `covered` says: it has exactly the fields that the id covers.
pub(crate) fn derive_id<T: Serialize>(
    canon: &mut Canonicalizer,
    kind: DerivedId,
    covered: &T,
) -> Result<String, DeriveError> {
    let mut text = canon.value(covered)?.to_vec();
    text.push(b'\n');
    Ok(id_of_text(kind, &text))
}

/// The id of a value that is named by all of its fields but `id`, which may still be empty.
pub(crate) fn derive_whole<T: Serialize>(
    canon: &mut Canonicalizer,
    kind: DerivedId,
    value: &T,
) -> Result<String, DeriveError> {
    const EMPTY_ID: &[u8] = b"{\"id\":\"\",";
    let text = canon.value(value)?;
    // Keys are sorted, and no other key of such a value comes before `id`.
    if let Some(rest) = text.strip_prefix(EMPTY_ID) {
        let text = [b"{", rest, b"\n"].concat();
        return Ok(id_of_text(kind, &text));
    }
    let text = text.to_vec();
    let value = Value::read(&text).unwrap_or(Value::Null);
    kind.of(canon, &value)
}

fn id_of_text(kind: DerivedId, text: &[u8]) -> String {
    let hash = ContentHash::of(text).to_string();
    let digits = hash.strip_prefix(SHA256_PREFIX).and_then(|it| it.get(..DIGITS)).unwrap_or(&hash);
    format!("{}_{digits}", kind.prefix())
}
