//! Results of cases in the XML that JUnit made common.

use super::test::Ran;
use std::collections::BTreeMap;

/// One suite for each file. Without times, so that the same results give the same bytes.
pub(super) fn report(ran: &[Ran]) -> String {
    let mut suites: BTreeMap<&str, Vec<&Ran>> = BTreeMap::new();
    for case in ran {
        suites.entry(&case.file).or_default().push(case);
    }
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    xml += &format!("<testsuites name=\"ordain policy test\" {}>\n", figures(ran.iter()));
    for (file, cases) in suites {
        let file = escaped(file);
        xml += &format!("  <testsuite name=\"{file}\" {}>\n", figures(cases.iter().copied()));
        for case in cases {
            let head = format!("    <testcase classname=\"{file}\" name=\"{}\"", escaped(&case.name));
            let found = match &case.error {
                _ if case.ok => None,
                Some(error) => Some(("error", "cannot be run", error.clone())),
                None => Some(("failure", "the decision is not as expected", case.differences.join("\n"))),
            };
            xml += &match found {
                None => format!("{head}/>\n"),
                Some((tag, message, text)) => {
                    let text = escaped(&text);
                    format!("{head}>\n      <{tag} message=\"{message}\">{text}</{tag}>\n    </testcase>\n")
                }
            };
        }
        xml += "  </testsuite>\n";
    }
    xml + "</testsuites>\n"
}

fn figures<'r>(cases: impl Iterator<Item = &'r Ran> + Clone) -> String {
    let errors = cases.clone().filter(|case| case.error.is_some()).count();
    let failures = cases.clone().filter(|case| !case.ok && case.error.is_none()).count();
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.count())
}

/// For text and for attributes. Characters that XML cannot hold become the one that stands for them.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(character),
            '\u{fffe}' | '\u{ffff}' => safe.push(char::REPLACEMENT_CHARACTER),
            _ if character.is_control() => safe.push(char::REPLACEMENT_CHARACTER),
            _ => safe.push(character),
        }
    }
    safe
}
