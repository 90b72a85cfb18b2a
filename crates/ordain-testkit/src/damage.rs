//! Damaged documents: each differs from a good one in one place.

use ordain_canon::{Value, push_pointer_token};

/// Every way to damage one value of a document: left out, another type, another value of its type, an unknown field.
/// Each comes with the JSON Pointer of the place and a word for the damage.
pub fn damaged<'a>(document: &Value<'a>) -> Vec<(String, &'static str, Value<'a>)> {
    let mut all = Vec::new();
    let mut places = Vec::new();
    collect(document, &mut Vec::new(), &mut places);
    for place in places {
        for (damage, change) in DAMAGES {
            let mut copy = document.clone();
            if change(&mut copy, &place) {
                let mut pointer = String::new();
                place.iter().for_each(|step| push_pointer_token(&mut pointer, &step.token()));
                all.push((pointer, *damage, copy));
            }
        }
    }
    all
}

#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    fn token(&self) -> String {
        match self {
            Self::Key(key) => key.clone(),
            Self::Index(index) => index.to_string(),
        }
    }
}

fn collect(value: &Value<'_>, way: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    places.push(way.clone());
    let mut descend = |step: Step, inner: &Value<'_>| {
        way.push(step);
        collect(inner, way, places);
        way.pop();
    };
    match value {
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| descend(Step::Index(index), element));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| descend(Step::Key(key.to_string()), member))
        }
        _ => {}
    }
}

fn at<'v, 'a>(value: &'v mut Value<'a>, way: &[Step]) -> Option<&'v mut Value<'a>> {
    way.iter().try_fold(value, |value, step| match (value, step) {
        (Value::Array(elements), Step::Index(index)) => elements.get_mut(*index),
        (Value::Object(members), Step::Key(key)) => {
            members.iter_mut().find(|(name, _)| name == key).map(|(_, member)| member)
        }
        _ => None,
    })
}

type Change = fn(&mut Value<'_>, &[Step]) -> bool;

static DAMAGES: &[(&str, Change)] = &[
    ("left out", |document, way| {
        let Some((Step::Key(key), parent)) = way.split_last() else { return false };
        let Some(Value::Object(members)) = at(document, parent) else { return false };
        members.retain(|(name, _)| name != key);
        true
    }),
    ("null", |document, way| {
        replace(document, way, |value| (!matches!(value, Value::Null)).then_some(Value::Null))
    }),
    ("another type", |document, way| {
        replace(document, way, |value| match value {
            Value::String(_) => Some(Value::Number(7.0)),
            _ => Some(Value::String("damaged".into())),
        })
    }),
    ("a fraction", |document, way| {
        replace(document, way, |value| value.as_f64().map(|number| Value::Number(number + 0.5)))
    }),
    ("negative", |document, way| {
        replace(document, way, |value| value.as_f64().map(|number| Value::Number(-1.0 - number)))
    }),
    ("empty", |document, way| {
        replace(document, way, |value| {
            value.as_str().filter(|text| !text.is_empty()).map(|_| Value::String("".into()))
        })
    }),
    ("unknown field", |document, way| {
        let Some(Value::Object(members)) = at(document, way) else { return false };
        members.push(("damaged_by_test".into(), Value::Bool(true)));
        true
    }),
];

fn replace(
    document: &mut Value<'_>,
    way: &[Step],
    change: impl Fn(&Value<'_>) -> Option<Value<'static>>,
) -> bool {
    let Some(value) = at(document, way) else { return false };
    match change(value) {
        Some(other) => {
            *value = other;
            true
        }
        None => false,
    }
}
