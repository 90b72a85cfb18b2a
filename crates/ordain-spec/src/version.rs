//! Schema versions: `MAJOR.MINOR.PATCH`, and only a known MAJOR can be judged.

use crate::node::Node;
use crate::path::shorten;
use crate::rule::Findings;

/// Reports a version that is not a semantic version or has an unknown MAJOR. A missing or mistyped one is a
/// matter of shape.
pub(crate) fn check_version(version: Node<'_, '_>, major_known: u64, found: &mut Findings) {
    let Some(text) = version.str() else { return };
    match major(text) {
        None if text.is_empty() => found.at(version, "must not be empty"),
        None => found
            .at(version, format!("`{}` is not MAJOR.MINOR.PATCH, as in `{major_known}.1.0`", shorten(text))),
        Some(major) if major != major_known => {
            found.at(
                version,
                format!("version `{}` is unknown here; this reads {major_known}.x.y", shorten(text)),
            );
        }
        Some(_) => {}
    }
}

fn major(text: &str) -> Option<u64> {
    let (version, build) =
        text.split_once('+').map_or((text, None), |(version, build)| (version, Some(build)));
    let (core, release) =
        version.split_once('-').map_or((version, None), |(core, release)| (core, Some(release)));
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if ![release, build].into_iter().flatten().all(|parts| parts.split('.').all(word)) {
        return None;
    }
    let mut numbers = core.split('.').map(|number| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let padded = number.len() > 1 && number.starts_with('0');
        (digits && !padded).then(|| number.parse::<u64>().ok()).flatten()
    });
    let major = numbers.next()??;
    let complete = numbers.next()?.is_some() && numbers.next()?.is_some() && numbers.next().is_none();
    complete.then_some(major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantic_versions() {
        for (text, expected) in [
            ("1.0.0", Some(1)),
            ("0.1.0", Some(0)),
            ("12.3.4-rc.1+build", Some(12)),
            ("", None),
            ("1", None),
            ("1.0", None),
            ("1.0.0.0", None),
            ("01.0.0", None),
            ("1.x.0", None),
            ("v1.0.0", None),
            ("1..0", None),
            ("1.0.0-", None),
            ("1.0.0+", None),
            ("1.0.0-!!", None),
            ("1.0.0-a..b", None),
        ] {
            assert_eq!(major(text), expected, "{text}");
        }
    }
}
