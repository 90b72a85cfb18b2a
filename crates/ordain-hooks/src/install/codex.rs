//! Trust in Codex: a hook runs only if `config.toml` has its hash.

use super::EditError;

/// The text of `config.toml` with the hash under which a hook is trusted. The table is one that Codex writes itself.
pub fn codex_trust(text: &str, key: &str, hash: &str) -> Result<String, EditError> {
    let quoted = |value: &str| serde_json::Value::from(value).to_string();
    // A basic string of TOML has the escapes of JSON, but for this one.
    if key.contains('\u{7f}') || hash.contains('\u{7f}') {
        return Err(EditError::Malformed("the name of the hook cannot be written".to_owned()));
    }
    let header = format!("[hooks.state.{}]", quoted(key));
    let line = format!("trusted_hash = {}", quoted(hash));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let Some(start) = lines.iter().position(|it| it.trim() == header) else {
        let gap = if text.is_empty() {
            ""
        } else if text.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        return Ok(format!("{text}{gap}{header}\n{line}\n"));
    };
    let end = lines.iter().skip(start + 1).position(|it| it.trim_start().starts_with('['));
    let end = end.map_or(lines.len(), |end| start + 1 + end);
    let old = (start + 1..end)
        .find(|at| lines.get(*at).is_some_and(|it| it.trim_start().starts_with("trusted_hash")));
    match old.and_then(|at| lines.get_mut(at)) {
        Some(old) => *old = line,
        None => lines.insert(start + 1, line),
    }
    Ok(lines.join("\n") + "\n")
}
