//! The last proposal as YAML, for people to look at. Nothing reads it.

use ordain_spec::note::Proposal;
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const FOLDER: &str = "km";
const NAME: &str = ".km_last_proposal.yaml";

/// Writes it beside its name first, so that nobody sees half of it. A link in its way is not followed.
pub(crate) fn write(vault: &Path, note: &Proposal) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = vault.join(FOLDER);
    match fs::symlink_metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(io::Error::other(format!("`{FOLDER}` is not a folder"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder)?,
        Err(error) => return Err(error),
    }
    let unique = format!("{NAME}.{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let beside = folder.join(unique);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let done = file.write_all(text(note)?.as_bytes()).and_then(|()| file.sync_all());
    let done = done.and_then(|()| fs::rename(&beside, folder.join(NAME)));
    if done.is_err() {
        // The failure to write is what counts.
        let _ = fs::remove_file(&beside);
    }
    done
}

fn text(note: &Proposal) -> io::Result<String> {
    let mut text = String::new();
    members(&serde_json::to_value(note).map_err(io::Error::other)?, 0, &mut text);
    Ok(text)
}

fn members(value: &Json, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Json::Object(_) => {
                let _ = writeln!(text, "{indent}{name}:");
                members(value, depth + 1, text);
            }
            Json::Array(elements) if !elements.is_empty() => {
                let _ = writeln!(text, "{indent}{name}:");
                for element in elements {
                    let _ = writeln!(text, "{indent}  - {}", scalar(element));
                }
            }
            _ => {
                let _ = writeln!(text, "{indent}{name}: {}", scalar(value));
            }
        }
    }
}

/// A JSON string is a YAML string, but for characters that YAML takes for the end of a line or does not take at all.
fn scalar(value: &Json) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match u32::from(character) {
            code @ (0x7f..=0x9f | 0x2028 | 0x2029 | 0xfeff | 0xfffe | 0xffff) => {
                let _ = write!(text, "\\u{code:04x}");
            }
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark for the order of bytes, or the end of a line that only YAML sees, would make another document of it.
    #[test]
    fn characters_that_yaml_does_not_take_are_escaped() {
        for character in [
            '\u{feff}', '\u{7f}', '\u{80}', '\u{85}', '\u{9f}', '\u{2028}', '\u{2029}', '\u{fffe}',
            '\u{ffff}', '\u{0}',
        ] {
            for text in
                [format!("{character}"), format!("{character}Tides"), format!("a{character}{character}b")]
            {
                let written = scalar(&Json::from(text.clone()));
                assert!(!written.contains(character), "{character:?}: {written}");
                assert_eq!(
                    serde_json::from_str::<Json>(&written).ok(),
                    Some(Json::from(text)),
                    "{character:?}"
                );
            }
        }
        assert_eq!(scalar(&Json::from("\u{feff}a: b # c")), "\"\\ufeffa: b # c\"");
        assert_eq!(scalar(&Json::from("é 🦀")), "\"é 🦀\"");
    }
}
