//! The transform takes time in proportion to the intent, ordinary or hostile.

use ordain_canon::Value;
use ordain_kernel::transform;
use serde_json::{Map, Value as Json, json};

/// Characters of the shortest goal.
const GOAL_CHARS: usize = 1_250;
/// Constraints of the shortest list. More would be as good; valgrind is slow.
const CONSTRAINTS: usize = 30;

#[track_caller]
fn check(name: &str, intent: impl Fn(usize) -> Json) {
    crate::harness::counting::check(name, |times| {
        crate::harness::counting::instructions(&["transform", "--json"], &intent(times).to_string())
    });
}

/// A goal of paragraphs that repeat these words, each with its share of the length.
#[track_caller]
fn check_goal(paragraphs: &[&str]) {
    let chars = GOAL_CHARS / paragraphs.len();
    check(&paragraphs.concat(), |times| {
        let paragraph = |words: &&str| words.repeat(times * chars / words.chars().count());
        json!({"goal": paragraphs.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")})
    });
}

/// As many constraints as the size asks for, no two of them equal.
#[track_caller]
fn check_constraints(name: &str, constraint: impl Fn(usize) -> String) {
    check(name, |times| {
        let constraints: Vec<String> = (0..CONSTRAINTS * times).map(&constraint).collect();
        json!({"goal": "Add a log", "constraints": constraints})
    });
}

/// A word of letters for a number, so that the reader of constraints does not see a number.
fn letters(mut number: usize) -> String {
    let mut word = String::from("w");
    for _ in 0..4 {
        word.push(char::from(b'a' + u8::try_from(number % 26).unwrap()));
        number /= 26;
    }
    word
}

#[test]
fn goal_of_marks() {
    check_goal(&["\" ", "' ", "{ ", "< ", "[ ", "` "]);
}

#[test]
fn goal_of_words_in_one_sentence() {
    check_goal(&["if ", "either a or b ", "some several various ", "fast and reliable, ", "test and pass "]);
}

#[test]
fn goal_of_gaps() {
    check_goal(&["TBD ", "[insert a] ", "<name> "]);
}

#[test]
fn goal_without_blanks() {
    check_goal(&["?", ")", "a,b;(c", "a", "_"]);
}

#[test]
fn goal_of_short_sentences() {
    check_goal(&["Add a thing. ", "Ab or Bc. ", "a    \n\n"]);
}

#[test]
fn goal_of_prose() {
    check("prose", |times| {
        let sentence =
            |n| format!("The {} writes the {} to the {}. ", letters(n), letters(3 * n), letters(7 * n));
        json!({"goal": (0..GOAL_CHARS * times / 45).map(sentence).collect::<String>()})
    });
}

#[test]
fn constraints_of_prose() {
    check_constraints("prose", |n| {
        format!("The {} must write each {} to `{}`", letters(n), letters(3 * n), letters(7 * n))
    });
}

/// One value many times, the same words with other numbers, must and must not, and `only` against other choices.
#[test]
fn constraints_that_contradict() {
    check_constraints("contradictions", |n| match n % 5 {
        0 => format!("port must be {n}"),
        1 => format!("Keep at least {n} copies of each row of the old table for {n} days"),
        2 => format!("It must log {}", letters(n)),
        3 => format!("It must not log {}", letters(n - 1)),
        _ if n < 10 => format!("Use only Redis {n}"),
        _ => format!("Keep {} in MySQL, Redis and Redis", letters(n)),
    });
}

#[test]
fn an_order() {
    check_constraints("order", |n| format!("Run {} before {}", letters(n), letters(n + 1)));
}

#[test]
fn an_order_in_a_circle() {
    check("circle", |times| {
        let count = CONSTRAINTS * times;
        let constraint = |n| format!("Run {} before {}", letters(n), letters((n + 1) % count));
        json!({"goal": "Add a log", "constraints": (0..count).map(constraint).collect::<Vec<_>>()})
    });
}

#[test]
fn gaps_in_constraints() {
    check_constraints("gaps", |n| format!("The {} is TBD, the {} is <name>", letters(n), letters(7 * n)));
}

/// A single constraint with more and more sentences.
#[test]
fn a_long_constraint() {
    check("long constraint", |times| {
        let constraint = "It is Redis. Use MySQL, test and pass. ".repeat(15 * times);
        json!({"goal": "Add a log", "constraints": [constraint]})
    });
}

#[test]
fn files() {
    check("files", |times| {
        let count = CONSTRAINTS * times;
        let file = |n| json!({"path": format!("context-{n}/x.md"), "content": "x"});
        let constraint = |n| format!("Write {} to docs-{n}/y.md", letters(n));
        json!({
            "goal": "Add a log",
            "constraints": (0..count).map(constraint).collect::<Vec<_>>(),
            "context": {"files": (0..count).map(file).collect::<Vec<_>>()},
        })
    });
}

/// The intent, with an answer to each question that comes until none does.
fn answered(mut intent: Json) -> Json {
    let mut answers = Map::new();
    loop {
        intent["context"] = json!({"answers": answers});
        let text = intent.to_string();
        let done = transform(&Value::read(text.as_bytes()).unwrap(), text.len());
        let bundle = done.bundle().unwrap_or_else(|| panic!("{done:?}"));
        if bundle.unresolved_questions.is_empty() {
            return intent;
        }
        for question in &bundle.unresolved_questions {
            let answer = question.options.as_ref().map_or("x1", |options| &options[0]);
            answers.insert(question.id.clone(), answer.into());
        }
    }
}

#[test]
fn answers() {
    check("answers", |times| {
        let constraint = |n| match n % 3 {
            0 => format!("The {} is <{}>", letters(n), letters(7 * n)),
            1 => format!("The {} is TBD", letters(n)),
            _ => format!("The {} and the {} are {{{}}}", letters(n), letters(3 * n), letters(5 * n)),
        };
        let constraints: Vec<String> = (0..15 * times).map(constraint).collect();
        answered(json!({"goal": "Add a log", "constraints": constraints}))
    });
}
