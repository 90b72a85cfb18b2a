//! The types that a folder declares for parameters and constraints, and how a document's value becomes one of Cedar's.

use super::problem::{Problem, Problems};
use super::schema::FILE;
use cedar_policy::RestrictedExpression;
use ordain_canon::{Value, push_pointer_token};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A declared type.
#[derive(Clone, Debug)]
pub(crate) enum Declared {
    Bool,
    Long,
    String,
    Decimal,
    /// `datetime`, `duration` or `ipaddr`, by the name of its function.
    Extension(&'static str),
    Set(Box<Declared>),
    Record(BTreeMap<String, Member>),
}

/// A member of a record.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    required: bool,
    declared: Declared,
}

/// Something that does not have its declared type.
pub(crate) struct Mismatch {
    pub(crate) path: String,
    pub(crate) message: String,
}

/// How deep types may refer to each other.
const TYPE_DEPTH_MAX: usize = 32;

impl Declared {
    /// A record without members.
    pub(crate) fn nothing() -> Self {
        Self::Record(BTreeMap::new())
    }

    /// The type of that name, from Cedar's JSON form.
    pub(crate) fn named(name: &str, types: &Map<String, Json>, problems: &mut Problems) -> Option<Self> {
        let json = types.get(name)?;
        match compile(json, types, 0) {
            Ok(declared @ Self::Record(_)) => Some(declared),
            Ok(_) => {
                problems.push(Problem::error(FILE, format!("the type `{name}` must be a record: `{{ … }}`")));
                None
            }
            Err(message) => {
                problems.push(Problem::error(FILE, format!("the type `{name}`: {message}")));
                None
            }
        }
    }

    /// The value as Cedar sees it. A value that does not fit is listed and left out.
    pub(crate) fn convert(
        &self,
        value: &Value<'_>,
        path: &str,
        wrong: &mut Vec<Mismatch>,
    ) -> Option<RestrictedExpression> {
        let mut refuse = |message: String| {
            wrong.push(Mismatch { path: path.to_owned(), message });
            None
        };
        match (self, value) {
            (Self::Bool, Value::Bool(value)) => Some(RestrictedExpression::new_bool(*value)),
            (Self::String, Value::String(text)) => Some(RestrictedExpression::new_string(text.to_string())),
            (Self::Long, Value::Number(_)) => match value.as_integer() {
                Some(integer) => Some(RestrictedExpression::new_long(integer)),
                None => refuse(
                    "the policy declares a `Long`, and this is not a whole number between -9007199254740991 and \
                     9007199254740991 (2^53 - 1)"
                        .to_owned(),
                ),
            },
            (Self::Decimal, Value::Number(number)) => match decimal_text(*number) {
                Some(text) => Some(RestrictedExpression::new_decimal(text)),
                None => refuse(
                    "the policy declares a `decimal`: at most four decimals, and not above 922337203685477.5807"
                        .to_owned(),
                ),
            },
            (Self::Extension(function), Value::String(text)) => {
                let source = format!("{function}({})", quoted(text));
                match RestrictedExpression::from_str(&source).ok().filter(|_| reads_as(function, text)) {
                    Some(expression) => Some(expression),
                    None => refuse(format!(
                        "the policy declares {}, which this text is not",
                        extension_name(function)
                    )),
                }
            }
            (Self::Set(inner), Value::Array(elements)) => {
                let mut converted = Vec::with_capacity(elements.len());
                for (index, element) in elements.iter().enumerate() {
                    let mut path = path.to_owned();
                    push_pointer_token(&mut path, &index.to_string());
                    converted.extend(inner.convert(element, &path, wrong));
                }
                Some(RestrictedExpression::new_set(converted))
            }
            (Self::Record(members), Value::Object(_)) => {
                let mut converted = Vec::with_capacity(members.len());
                for (name, member) in members {
                    let mut path = path.to_owned();
                    push_pointer_token(&mut path, name);
                    match value.get(name) {
                        Some(inner) => {
                            let inner = member.declared.convert(inner, &path, wrong);
                            converted.extend(inner.map(|inner| (name.clone(), inner)));
                        }
                        None if member.required => {
                            let message = "is missing, and the policy's schema demands it".to_owned();
                            wrong.push(Mismatch { path, message });
                        }
                        None => {}
                    }
                }
                // Names are those of a map, so none is there twice.
                RestrictedExpression::new_record(converted).ok()
            }
            (_, found) => refuse(format!("the policy declares {}, found {}", self.described(), found.kind())),
        }
    }

    fn described(&self) -> &'static str {
        match self {
            Self::Bool => "a boolean",
            Self::Long => "a `Long`",
            Self::String => "a string",
            Self::Decimal => "a `decimal`",
            Self::Extension(function) => extension_name(function),
            Self::Set(_) => "an array",
            Self::Record(_) => "an object",
        }
    }
}

fn extension_name(function: &str) -> &'static str {
    match function {
        "datetime" => "a `datetime`",
        "duration" => "a `duration`",
        _ => "an `ipaddr`",
    }
}

/// Whether Cedar can read the text. Restricted expressions are parsed without being evaluated.
fn reads_as(function: &str, text: &str) -> bool {
    use cedar_policy::{Context, RestrictedExpression as Expression};
    let expression = match function {
        "datetime" => Expression::new_datetime(text),
        "duration" => Expression::new_duration(text),
        _ => Expression::new_ip(text),
    };
    Context::from_pairs([("it".to_owned(), expression)]).is_ok()
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// The text of a decimal: at most four decimals, within what Cedar can hold.
fn decimal_text(number: f64) -> Option<String> {
    const LARGEST: i128 = i64::MAX as i128;
    let text = format!("{number}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
    if fraction.len() > 4 {
        return None;
    }
    let negative = whole.starts_with('-');
    let digits: String = whole.trim_start_matches('-').chars().chain(fraction.chars()).collect();
    let scale = 10_i128.checked_pow(4_u32.checked_sub(u32::try_from(fraction.len()).ok()?)?)?;
    let scaled = digits.parse::<i128>().ok()?.checked_mul(scale)?;
    let fits = if negative { scaled <= LARGEST + 1 } else { scaled <= LARGEST };
    fits.then(|| format!("{whole}.{fraction}"))
}

fn compile(json: &Json, types: &Map<String, Json>, depth: usize) -> Result<Declared, String> {
    if depth > TYPE_DEPTH_MAX {
        return Err("types refer to each other too deeply".to_owned());
    }
    let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default();
    match text("type") {
        "Boolean" | "Bool" => Ok(Declared::Bool),
        "Long" => Ok(Declared::Long),
        "String" => Ok(Declared::String),
        "Set" => {
            let element = json.get("element").ok_or("a set without its element's type")?;
            Ok(Declared::Set(Box::new(compile(element, types, depth + 1)?)))
        }
        "Record" => {
            let mut members = BTreeMap::new();
            for (name, member) in json.get("attributes").and_then(Json::as_object).into_iter().flatten() {
                let required = member.get("required").and_then(Json::as_bool).unwrap_or(true);
                let declared =
                    compile(member, types, depth + 1).map_err(|inner| format!("`{name}`: {inner}"))?;
                members.insert(name.clone(), Member { required, declared });
            }
            Ok(Declared::Record(members))
        }
        "Extension" | "EntityOrCommon" | "Entity" => by_name(text("name"), types, depth),
        name => by_name(name, types, depth),
    }
}

fn by_name(name: &str, types: &Map<String, Json>, depth: usize) -> Result<Declared, String> {
    if let Some(json) = types.get(name) {
        return compile(json, types, depth + 1);
    }
    match name.trim_start_matches("__cedar::") {
        "Bool" | "Boolean" => Ok(Declared::Bool),
        "Long" => Ok(Declared::Long),
        "String" => Ok(Declared::String),
        "decimal" => Ok(Declared::Decimal),
        "datetime" => Ok(Declared::Extension("datetime")),
        "duration" => Ok(Declared::Extension("duration")),
        "ipaddr" => Ok(Declared::Extension("ip")),
        other => Err(format!("`{other}` cannot be used: a document has no entities, only values")),
    }
}

#[cfg(test)]
mod tests {
    use super::decimal_text;

    #[test]
    fn decimals_at_the_edges() {
        for (number, expected) in [
            (0.0, Some("0.0")),
            (1.5, Some("1.5")),
            (-0.0001, Some("-0.0001")),
            (12.3456, Some("12.3456")),
            (12.34567, None),
            (1e-5, None),
            (922_337_203_685_477.0, Some("922337203685477.0")),
            (-922_337_203_685_477.0, Some("-922337203685477.0")),
            (922_337_203_685_478.0, None),
            (9_007_199_254_740_991.0, None),
            (1e300, None),
        ] {
            assert_eq!(decimal_text(number).as_deref(), expected, "{number}");
        }
    }
}
