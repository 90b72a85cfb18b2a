//! Paths that stay inside (PATCH_SPEC §4.1–4.3), and when two of them are one file.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Why a path is not safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFault {
    /// Starts with `/`.
    Absolute,
    /// Starts with a drive, as in `C:`.
    Drive,
    /// Has no character.
    Empty,
    /// Contains `..` anywhere.
    Parent,
    /// Contains a backslash.
    Backslash,
    /// Has a segment `.`.
    Dot,
    /// Contains `//`.
    DoubleSlash,
    /// Ends in `/`.
    TrailingSlash,
    /// Contains a control character.
    Control,
    /// The path or a segment starts or ends with whitespace.
    Whitespace,
}

impl PathFault {
    /// PS3 owns these; PS4 owns the rest.
    pub fn is_absolute(self) -> bool {
        matches!(self, Self::Absolute | Self::Drive)
    }

    /// As a message says it.
    pub fn message(self) -> &'static str {
        match self {
            Self::Absolute => "starts with `/` and is not relative to the workspace",
            Self::Drive => "starts with a drive letter and is not relative to the workspace",
            Self::Empty => "is empty",
            Self::Parent => "contains `..`",
            Self::Backslash => "contains a backslash; separate folders with `/`",
            Self::Dot => "has a segment `.`",
            Self::DoubleSlash => "contains `//`",
            Self::TrailingSlash => "ends with `/`",
            Self::Control => "contains a control character",
            Self::Whitespace => "has whitespace at the start or end of a segment",
        }
    }
}

/// Everything that is wrong with a path, in the order of the contract.
pub fn path_faults(path: &str) -> Vec<PathFault> {
    if path.is_empty() {
        return vec![PathFault::Empty];
    }
    let bytes = path.as_bytes();
    let inner = path.strip_prefix('/').unwrap_or(path);
    let segments = || inner.split('/');
    let drive = bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    [
        (path.starts_with('/'), PathFault::Absolute),
        (drive, PathFault::Drive),
        (path.contains(".."), PathFault::Parent),
        (path.contains('\\'), PathFault::Backslash),
        (segments().any(|segment| segment == "."), PathFault::Dot),
        (path.contains("//"), PathFault::DoubleSlash),
        (path.len() > 1 && path.ends_with('/'), PathFault::TrailingSlash),
        (path.contains(char::is_control), PathFault::Control),
        (segments().any(|segment| segment.trim().len() != segment.len()), PathFault::Whitespace),
    ]
    .into_iter()
    .filter_map(|(wrong, fault)| wrong.then_some(fault))
    .collect()
}

/// Everything that is wrong with a path in one sentence, or nothing.
pub fn path_problem(path: &str) -> Option<String> {
    describe(path, &path_faults(path))
}

pub(crate) fn describe(path: &str, faults: &[PathFault]) -> Option<String> {
    if faults.is_empty() {
        return None;
    }
    let reasons: Vec<_> = faults.iter().map(|fault| fault.message()).collect();
    Some(format!("path `{}` {}", shorten(path), reasons.join(" and ")))
}

/// A text short enough for a message, with its control characters escaped.
pub(crate) fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    let mut shown = String::new();
    for character in text.chars().take(CHARS_MAX) {
        match character.is_control() {
            true => shown.extend(character.escape_debug()),
            false => shown.push(character),
        }
    }
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// One key for all the names that a file system without case or with its own Unicode form takes for one file.
pub fn folded_path(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    let mut cased = String::new();
    for character in path.nfd() {
        match character {
            // Letters that lower case alone leaves apart from others of their kind.
            'ς' => cased.push('σ'),
            'ſ' => cased.push('s'),
            'ß' | 'ẞ' => cased.push_str("ss"),
            other => cased.extend(other.to_lowercase()),
        }
    }
    cased.nfc().collect()
}

/// Two paths that cannot both be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clash {
    /// The same path.
    Same,
    /// They differ only by case or Unicode normalization.
    SameFile,
    /// The one is a folder that holds the other.
    Folder,
}

/// Finds the paths that clash with an earlier one or with a folder of theirs: `(position, other position, clash)`,
/// at most one for each position. Takes n log n steps.
pub fn clashes(paths: &[&str]) -> Vec<(usize, usize, Clash)> {
    let mut keys: Vec<(String, usize)> =
        paths.iter().enumerate().map(|(at, path)| (folded_path(path), at)).collect();
    // With `/` before every other character, the content of a folder follows the folder itself.
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    keys.sort_by(|(left, left_at), (right, right_at)| {
        left.bytes().map(rank).cmp(right.bytes().map(rank)).then(left_at.cmp(right_at))
    });
    let mut found = Vec::new();
    let mut holder: Option<&(String, usize)> = None;
    for key in &keys {
        if let Some((other, other_at)) = holder {
            let (text, at) = key;
            if text == other {
                let same = paths.get(*at) == paths.get(*other_at);
                found.push((*at, *other_at, if same { Clash::Same } else { Clash::SameFile }));
                continue;
            }
            if text.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/')) {
                found.push((*at, *other_at, Clash::Folder));
                continue;
            }
        }
        holder = Some(key);
    }
    found.sort_unstable_by_key(|(at, ..)| *at);
    found
}

impl Clash {
    /// As a message says it of `path` and the one it clashes with.
    pub fn message(self, path: &str, other: &str) -> String {
        let (path, other) = (shorten(path), shorten(other));
        match self {
            Self::Same => format!("path `{path}` is a target twice"),
            Self::SameFile => {
                format!(
                    "path `{path}` differs from `{other}` only by case or Unicode form; on some systems they are one file"
                )
            }
            Self::Folder => format!("path `{path}` lies inside `{other}`, which is a file here"),
        }
    }
}

/// The NFC form, without a copy where it is that already.
pub fn nfc(text: &str) -> std::borrow::Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.into(),
        _ => text.nfc().collect::<String>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_and_unsafe_paths() {
        use PathFault as Fault;
        for (path, faults) in [
            ("a", vec![]),
            ("src/main.rs", vec![]),
            (".github/a b/[x]*?.md", vec![]),
            ("", vec![Fault::Empty]),
            ("/", vec![Fault::Absolute]),
            ("/etc/passwd", vec![Fault::Absolute]),
            ("//x", vec![Fault::Absolute, Fault::DoubleSlash]),
            ("C:", vec![Fault::Drive]),
            ("c:/x", vec![Fault::Drive]),
            ("a..b", vec![Fault::Parent]),
            ("../x", vec![Fault::Parent]),
            ("a\\b", vec![Fault::Backslash]),
            (".", vec![Fault::Dot]),
            ("./x", vec![Fault::Dot]),
            ("a/./b", vec![Fault::Dot]),
            ("a//b", vec![Fault::DoubleSlash]),
            ("a/", vec![Fault::TrailingSlash]),
            ("a\tb", vec![Fault::Control]),
            ("a\0", vec![Fault::Control]),
            (" a", vec![Fault::Whitespace]),
            ("a/ b", vec![Fault::Whitespace]),
            ("a /b", vec![Fault::Whitespace]),
            ("a\n", vec![Fault::Control, Fault::Whitespace]),
        ] {
            assert_eq!(path_faults(path), faults, "{path:?}");
        }
    }

    #[test]
    fn clashing_paths() {
        let check = |paths: &[&str]| {
            clashes(paths)
                .into_iter()
                .map(|(at, other, clash)| (at, other, format!("{clash:?}")))
                .collect::<Vec<_>>()
        };
        assert_eq!(check(&["a", "b", "a/b-c", "ab"]), [(2, 0, "Folder".into())]);
        assert_eq!(check(&["a-b", "a/b", "a.c"]), []);
        assert_eq!(check(&["a", "a", "A"]), [(1, 0, "Same".into()), (2, 0, "SameFile".into())]);
        assert_eq!(check(&["stra\u{df}e", "STRASSE"]), [(1, 0, "SameFile".into())]);
        assert_eq!(check(&["ilik.txt", "\u{131}l\u{131}k.txt"]), []);
        assert_eq!(check(&["\u{3a3}\u{3c2}", "\u{3c3}\u{3a3}"]), [(1, 0, "SameFile".into())]);
        assert_eq!(check(&["caf\u{e9}", "cafe\u{301}/x"]), [(1, 0, "Folder".into())]);
        assert_eq!(check(&["a/b/c", "a/b", "a"]), [(0, 2, "Folder".into()), (1, 2, "Folder".into())]);
    }
}
