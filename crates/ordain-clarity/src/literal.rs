//! Which chunks of a text are names of something definite: paths, identifiers, addresses.

use crate::text::Kind;

const EXTENSIONS: &[&str] = &[
    "bash", "c", "cfg", "conf", "cpp", "cs", "css", "csv", "db", "env", "go", "graphql", "h", "html", "ini",
    "ipynb", "java", "jpg", "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "pdf", "php",
    "pl", "png", "proto", "ps1", "py", "rb", "rs", "rst", "scala", "sh", "sql", "sqlite", "svg", "swift",
    "tar", "tex", "tf", "toml", "ts", "tsx", "txt", "vue", "wasm", "xlsx", "xml", "yaml", "yml", "zip",
];

/// Whether a chunk is a name of something definite rather than a word.
pub fn literal_kind(chunk: &str) -> Option<Kind> {
    // Most are plain words, which needs no closer look.
    if let [first, rest @ ..] = chunk.as_bytes()
        && first.is_ascii_alphabetic()
        && rest.iter().all(u8::is_ascii_lowercase)
    {
        return None;
    }
    let has_letter = chunk.contains(char::is_alphabetic);
    if !has_letter {
        return None;
    }
    if chunk.contains("://") || chunk.starts_with("www.") {
        return Some(Kind::Path);
    }
    let clean = chunk.trim_start_matches(['(', '[', '<', '{', '\'', '‘']);
    if clean.len() != chunk.len() {
        return None;
    }
    if let Some(flag) = chunk.strip_prefix('-') {
        return flag.trim_start_matches('-').starts_with(char::is_alphabetic).then_some(Kind::Identifier);
    }
    if is_path(chunk) {
        return Some(Kind::Path);
    }
    // `1.x`, `v2.3`
    let version = chunk.trim_start_matches('v').starts_with(|it: char| it.is_ascii_digit())
        && (chunk.ends_with(".x") || (chunk.starts_with('v') && chunk.len() > 1));
    (version || is_identifier(chunk)).then_some(Kind::Identifier)
}

fn is_path(chunk: &str) -> bool {
    let rooted = ["/", "./", "~/", "../"].iter().any(|it| chunk.len() > it.len() && chunk.starts_with(it));
    let segments = chunk.split('/').count();
    // `and/or`, `input/output` and `TCP/IP` are words; a path has a dot, a rule or a third segment, or ends in a slash.
    let folder = segments >= 2
        && !chunk.contains("//")
        && (segments > 2 || chunk.ends_with('/') || chunk.contains(['.', '_', '*', '{', '@']));
    rooted || folder || has_extension(chunk) || is_email(chunk)
}

/// Whether a name ends like the name of a file.
pub fn has_extension(chunk: &str) -> bool {
    chunk.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && !name.ends_with('.')
            && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
    })
}

fn is_email(chunk: &str) -> bool {
    chunk
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('@'))
}

fn is_identifier(chunk: &str) -> bool {
    let bytes = chunk.as_bytes();
    let camel = bytes
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    let word_like = |it: &str| !it.is_empty() && it.chars().all(|it| it.is_alphanumeric() || it == '_');
    let snake = chunk.contains('_')
        && chunk.chars().any(char::is_alphanumeric)
        && chunk.split('_').any(|it| !it.is_empty());
    let dotted = chunk.matches('.').count() >= 1
        && chunk.split('.').all(word_like)
        && chunk.split('.').all(|it| it.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_'))
        && (chunk.matches('.').count() >= 2 || chunk.contains('_') || camel);
    let call = chunk.find('(').is_some_and(|at| at > 0 && chunk.ends_with(')'));
    let generic = chunk.find(['<', '[']).is_some_and(|at| {
        at > 0
            && bytes.get(at - 1).is_some_and(|it| it.is_ascii_alphanumeric() || *it == b'_')
            && chunk.ends_with(['>', ']'])
    });
    let operator = ["==", "->", "=>", "!=", "::", ">>>", "&&", "||"].iter().any(|it| chunk.contains(it));
    let assigned = chunk.split_once('=').is_some_and(|(name, value)| word_like(name) && !value.is_empty());
    camel || snake || dotted || call || generic || operator || assigned
}
