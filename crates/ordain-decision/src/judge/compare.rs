//! Compares a field of evidence with what a precondition expects.

use crate::limits::{PATTERN_BYTES_MAX, PATTERN_CLASSES_MAX, PATTERN_MEMORY_MAX};
use crate::shown::CHARS_SHOWN;
use ordain_canon::Value;
use ordain_canon::time::Timestamp;
use ordain_spec::action::Operator;
use regex::RegexBuilder;
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};
use regex_syntax::hir::translate::Translator;
use unicode_normalization::UnicodeNormalization as _;

/// Whether it holds; if not, why, as the end of a sentence about the field.
pub(crate) fn compare(field: &Value<'_>, operator: Operator, value: &Value<'_>) -> Result<(), String> {
    match operator {
        Operator::Eq => {
            same_type(field, value).and_then(|()| holds(field.same_as(value), &unequal(field, value)))
        }
        Operator::Ne => same_type(field, value).and_then(|()| holds(!field.same_as(value), "is equal")),
        Operator::Gt => ordered(field, value, |field, value| field > value, "is not greater"),
        Operator::Lt => ordered(field, value, |field, value| field < value, "is not less"),
        Operator::Contains => contains(field, value),
        Operator::Matches => matches(field, value),
    }
}

fn holds(it_does: bool, otherwise: &str) -> Result<(), String> {
    if it_does { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn types(field: &Value<'_>, value: &Value<'_>) -> String {
    format!("is {} and cannot be compared with {}", field.kind(), value.kind())
}

fn same_type(field: &Value<'_>, value: &Value<'_>) -> Result<(), String> {
    holds(std::mem::discriminant(field) == std::mem::discriminant(value), &types(field, value))
}

/// That two values are not equal, and where texts differ in what a message would not show.
fn unequal(field: &Value<'_>, value: &Value<'_>) -> String {
    let (Value::String(field), Value::String(value)) = (field, value) else {
        return "is not equal".to_owned();
    };
    let same = field.chars().zip(value.chars()).take_while(|(field, value)| field == value).count();
    if field.nfc().eq(value.nfc()) {
        format!("is not equal (the same text in another Unicode form, from character {} on)", same + 1)
    } else if same >= CHARS_SHOWN {
        format!("is not equal (it differs from character {} on)", same + 1)
    } else {
        "is not equal".to_owned()
    }
}

/// Numbers, or moments in time.
fn ordered(
    field: &Value<'_>,
    value: &Value<'_>,
    compare: fn(&Ordered, &Ordered) -> bool,
    otherwise: &str,
) -> Result<(), String> {
    match (field, value) {
        (Value::Number(field), Value::Number(value)) => {
            holds(compare(&Ordered::Number(*field), &Ordered::Number(*value)), otherwise)
        }
        (Value::String(field), Value::String(value)) => {
            let moment = |text: &str, whose: &str| {
                Timestamp::parse(text).map(Ordered::Moment).ok_or_else(|| {
                    format!("cannot be ordered: texts are, as RFC 3339 timestamps with a zone, and {whose} is none")
                })
            };
            let (field, value) = (moment(field, "it")?, moment(value, "the expected value")?);
            holds(compare(&field, &value), otherwise)
        }
        _ => Err(format!(
            "is {} and the expected value {}, and only two numbers or two timestamps have an order",
            field.kind(),
            value.kind()
        )),
    }
}

#[derive(PartialEq, PartialOrd)]
enum Ordered {
    Number(f64),
    Moment(Timestamp),
}

fn contains(field: &Value<'_>, value: &Value<'_>) -> Result<(), String> {
    match (field, value) {
        (Value::String(field), Value::String(value)) => {
            holds(field.contains(value.as_ref()), "does not contain it")
        }
        (Value::Array(elements), value) => {
            holds(elements.iter().any(|element| element.same_as(value)), "has no such element")
        }
        (Value::String(_), other) => Err(format!("is a string and cannot contain {}", other.kind())),
        (field, _) => Err(format!("is {}, and only a string or an array contains something", field.kind())),
    }
}

fn matches(field: &Value<'_>, value: &Value<'_>) -> Result<(), String> {
    let (Value::String(field), Value::String(pattern)) = (field, value) else {
        return Err(format!(
            "is {} and the pattern {}, and only a string matches, and only a string is a pattern",
            field.kind(),
            value.kind()
        ));
    };
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("cannot be matched: the pattern has more than {PATTERN_BYTES_MAX} bytes"));
    }
    let invalid = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("cannot be matched: the pattern is not valid: {last}")
    };
    // Read alone and written again, so that a pattern can neither close the group that anchors it nor hide its end in a
    // comment.
    let tree = Parser::new().parse(pattern).map_err(|error| invalid(&error))?;
    // A class of two characters in the pattern can have thousands of ranges, and each costs when it is read.
    if ast::visit(&tree, Classes(0)).is_err() {
        return Err(format!(
            "cannot be matched: the pattern has more than {PATTERN_CLASSES_MAX} classes of characters"
        ));
    }
    let read = Translator::new().translate(pattern, &tree).map_err(|error| invalid(&error))?;
    let anchored = RegexBuilder::new(&format!(r"\A(?:{read})\z"))
        .size_limit(PATTERN_MEMORY_MAX)
        .dfa_size_limit(PATTERN_MEMORY_MAX)
        .build()
        .map_err(|error| invalid(&error))?;
    holds(anchored.is_match(field), "does not match")
}

/// Counts classes of characters, as far as they are few enough.
struct Classes(usize);

impl Classes {
    fn count(&mut self, one_more: bool) -> Result<(), ()> {
        self.0 += usize::from(one_more);
        if self.0 > PATTERN_CLASSES_MAX { Err(()) } else { Ok(()) }
    }
}

impl Visitor for Classes {
    type Output = ();
    type Err = ();

    fn finish(self) -> Result<(), ()> {
        Ok(())
    }

    fn visit_pre(&mut self, tree: &Ast) -> Result<(), ()> {
        self.count(matches!(
            tree,
            Ast::Dot(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_)
        ))
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        self.count(matches!(
            item,
            ClassSetItem::Unicode(_) | ClassSetItem::Perl(_) | ClassSetItem::Bracketed(_)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, operator: Operator, value: &str) -> bool {
        let (field, value) = (Value::read(field.as_bytes()).unwrap(), Value::read(value.as_bytes()).unwrap());
        compare(&field, operator, &value).is_ok()
    }

    #[test]
    fn every_operator_with_every_pair_of_types() {
        use Operator::{Contains, Eq, Gt, Lt, Matches, Ne};
        let samples = ["null", "true", "7", "\"a\"", "[7]", "{\"a\":1}"];
        for (at, field) in samples.iter().enumerate() {
            for (other, value) in samples.iter().enumerate() {
                assert_eq!(check(field, Eq, value), at == other, "{field} eq {value}");
                assert!(!check(field, Ne, value), "{field} ne {value}: equal, or of two types");
                assert!(!check(field, Gt, value) && !check(field, Lt, value), "{field} {value}");
                let contains = (*field == "[7]" && *value == "7") || (*field == "\"a\"" && *value == "\"a\"");
                assert_eq!(check(field, Contains, value), contains, "{field} contains {value}");
                assert_eq!(
                    check(field, Matches, value),
                    *field == "\"a\"" && at == other,
                    "{field} matches {value}"
                );
            }
        }
        let others =
            [("false", "true"), ("8", "7"), ("\"b\"", "\"a\""), ("[8]", "[7]"), ("{\"a\":2}", "{\"a\":1}")];
        for (field, value) in others {
            assert!(check(field, Ne, value) && !check(field, Eq, value), "{field} {value}");
        }
        assert!(check("8", Gt, "7") && check("-1", Lt, "0.5") && !check("8", Lt, "7"));
        assert!(check("50", Eq, "50.0"));
        assert!(check("\"2024-01-01T01:00:00+01:00\"", Lt, "\"2024-01-01T00:00:00.001Z\""));
        assert!(!check("\"b\"", Gt, "\"a\""), "text is not ordered");
        assert!(check("[[1],{\"x\":null}]", Contains, "{\"x\":null}"));
        assert!(check("\"haystack\"", Contains, "\"st\"") && !check("{\"a\":1}", Contains, "\"a\""));
    }

    #[test]
    fn a_pattern_is_anchored_and_cannot_escape() {
        use Operator::Matches;
        assert!(check("\"abc\"", Matches, "\"a.c\""));
        assert!(!check("\"xabc\"", Matches, "\"abc\"") && !check("\"abc\\n\"", Matches, "\"abc\""));
        assert!(!check("\"ab\"", Matches, "\"a|b\""));
        assert!(!check("\"anything\"", Matches, "\")|(?:.*\""), "an unbalanced pattern is not valid");
        assert!(!check("\"x\\nabc\\ny\"", Matches, "\"(?m)^abc$\""));
        assert!(!check("\"anything\"", Matches, "\"(?x)a #\""));
        assert!(
            check("\"ab\"", Matches, "\"(?x) a b+ # comment\"") && check("\"AB\"", Matches, "\"(?i)ab\"")
        );
        let bomb = "\"(a+)+$\"".to_owned();
        let long = format!("\"{}b\"", "a".repeat(50_000));
        assert!(!check(&long, Matches, &bomb));
        assert!(!check("\"a\"", Matches, "\"a{1000}{1000}{1000}\""), "too large to compile");
        assert!(!check("\"a\"", Matches, &format!("\"{}\"", "a?".repeat(4_000))));
    }

    /// Patterns that are short and would cost much, each with what is said of it.
    #[test]
    fn a_pattern_that_costs_too_much_is_refused() {
        let why = |pattern: &str| {
            matches(&Value::String("a".repeat(60_000).into()), &Value::String(pattern.to_owned().into()))
                .unwrap_err()
        };
        for pattern in [
            r"\pL".repeat(33),
            format!("(?i){}", r"\w".repeat(300)),
            r"[^\W\d_]".repeat(17),
            r"[\w--\d]".repeat(17),
            "[^a]".repeat(33),
            ".".repeat(33),
        ] {
            assert_eq!(
                why(&pattern),
                "cannot be matched: the pattern has more than 32 classes of characters",
                "{pattern:.20}"
            );
        }
        for pattern in [
            "a{1000}{1000}".to_owned(),
            r"\w{1000}".to_owned(),
            format!("{}a{}", "(?:".repeat(60), "){2}".repeat(60)),
        ] {
            assert!(why(&pattern).contains("size limit"), "{pattern:.20}: {}", why(&pattern));
        }
        assert!(why(&format!("{}a{}", "(".repeat(300), ")".repeat(300))).contains("nest"));
        assert_eq!(why(&"a".repeat(1_025)), "cannot be matched: the pattern has more than 1024 bytes");
        let address = [r"(25[0-5]|2[0-4]\d|1?\d?\d)"; 4].join(r"\.");
        assert!(check("\"192.168.1.254\"", Operator::Matches, &serde_json::to_string(&address).unwrap()));
    }
}
