//! The table of clarity rules: what makes a request unclear, what settles it, how much each counts, and what to ask.
//!
//! Every rule has texts in which it finds something and texts in which it must not; they are its tests.
//! `cargo xtask clarity` measures each rule on labelled requests and how well the weights carry over.

use crate::detect;
use crate::genre::Genre;
use crate::placeholder;
use crate::text::Text;
use ordain_spec::bundle::AnswerType;

/// The effect of a finding of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It always asks.
    Hard,
    /// It raises the entropy score, and asks when the score reaches [`CLARIFY_SCORE`].
    Unclear,
    /// It lowers the entropy score.
    Settles,
}

/// One rule.
pub struct ClarityRule {
    /// Its name, stable.
    pub id: &'static str,
    /// The thing that it looks for.
    pub title: &'static str,
    /// The effect of a finding.
    pub effect: Effect,
    /// Points of the entropy score for each finding.
    pub points: u8,
    /// No more findings than this count: longer text is not less clear.
    pub counts_max: u8,
    /// How it looks.
    pub find: Find,
    /// The question about a finding, if there is one.
    pub ask: Option<Ask>,
    /// Texts in which it finds something.
    pub accept: &'static [&'static str],
    /// Texts in which it finds nothing.
    pub reject: &'static [&'static str],
}

impl ClarityRule {
    /// How many findings count in a text of a genre. A stub is code: its head, its examples and their numbers
    /// are one proof.
    pub fn counted_in(&self, genre: Genre) -> usize {
        match (genre, self.id) {
            (Genre::Stub, "code") => 1,
            (Genre::Stub, "number" | "quote" | "name" | "definite" | "observed" | "period") => 0,
            _ => usize::from(self.counts_max),
        }
    }
}

/// How a rule looks at a text.
pub enum Find {
    /// For words and phrases, in lower case.
    Words(&'static [&'static str]),
    /// For words, together with the noun phrase that follows.
    Phrases(&'static [&'static str]),
    /// For something that a function knows.
    Pattern(fn(&Text<'_>, &mut Vec<detect::Hit>)),
    /// It needs the whole intent: see `findings.rs`.
    Whole,
}

/// How to ask about a finding; `{}` stands for its words.
pub struct Ask {
    pub text: &'static str,
    pub why: &'static str,
    pub answer: AnswerType,
    /// Higher is asked first.
    pub priority: u8,
    /// The assumption in the brief when it is not asked; nothing when that would be noise.
    pub assumption: Option<&'static str>,
}

/// From this entropy score on, soft findings are asked about.
pub const CLARIFY_SCORE: u8 = 48;

/// Questions in one bundle at most.
pub const QUESTIONS_MAX: usize = 6;

/// Soft questions for one intent at most, answered ones included, so that clarifying ends soon.
pub const SOFT_QUESTIONS_MAX: usize = 4;

const fn ask(
    text: &'static str,
    why: &'static str,
    answer: AnswerType,
    priority: u8,
    assumption: &'static str,
) -> Option<Ask> {
    let assumption = if assumption.is_empty() { None } else { Some(assumption) };
    Some(Ask { text, why, answer, priority, assumption })
}

use Effect::{Hard, Settles, Unclear};
use Find::{Pattern, Phrases, Whole, Words};

/// The rules, hard ones first.
#[rustfmt::skip]
pub static CLARITY_RULES: &[ClarityRule] = &[
    ClarityRule {
        id: "placeholder", title: "a gap that somebody meant to fill", effect: Hard, points: 25, counts_max: 3,
        find: Pattern(placeholder::find),
        ask: ask("What should stand in place of “{}”?", "A placeholder was left where a value belongs.", AnswerType::Text, 100, ""),
        accept: &["Set the limit to TBD", "Rename it to <name>", "Call it {new_name}", "The owner is ???", "Deploy to [insert region here]", "Port: ____", "The format is to be decided", "Rename it to `<new_name>`", "Set the session timeout in `auth.rs` to [X] minutes", "Set the retention of `logs` to ... days", "Increase the price in `plans.json` by xx%", "Use the colour #?????? for links", "Add a limit of N requests per minute", "Deploy `api` to __REGION__"],
        reject: &["Return a Vec<u8>", "Read argv[1]", "Accept {\"id\":1}", "Reject unknown fields", "GET /users/{id} returns a user", "Close the <div> element", "Write a TODO app", "Use ${HOME}", "Run `deploy <env>`", "List<String> names", "See [1] and [the docs](https://example.org)", "if a < b and c > d", "What???", "Replace the <marquee> in index.html by <p>", "Put the caption in a <figcaption>", "Replace <img> by <picture> with srcset", "The template must contain Dear {firstName}", "Print __FILE__", "Keep the top N rows", "Split it into groups of N lines, where N is an argument", "$ deploy <env>", "Run deploy with <env>, where <env> is staging or production", "- [x] Add a log"],
    },
    ClarityRule {
        id: "contradiction", title: "constraints that cannot hold together", effect: Hard, points: 25, counts_max: 3,
        find: Whole,
        ask: ask("Which of these holds: {}?", "They cannot hold together.", AnswerType::Choice, 95, ""),
        accept: &[], reject: &[],
    },
    ClarityRule {
        id: "no-object", title: "a goal that does not say what it is about", effect: Hard, points: 30, counts_max: 1,
        find: Pattern(detect::no_object),
        ask: ask("“{}”: what exactly is this about, and what should be different afterwards?", "The goal names no object.", AnswerType::Text, 98, ""),
        accept: &["Make it better", "Do the work", "BILL-42", "Look at this", "yes", "Do it", "Fix this please", "Just make everything work", "Improve", "Fix the bug"],
        reject: &["Make the login page better", "Do the migration to PostgreSQL 16", "Fix this typo in README.md", "Changelog", "Fix `parse()`", "Fix the export", "Make the build work"],
    },
    ClarityRule {
        id: "nothing-concrete", title: "a goal that names nothing that could be worked on", effect: Hard, points: 1, counts_max: 1,
        find: Whole,
        ask: ask("“{}”: what exactly is wanted, and how will somebody tell that it is done?", "The goal names nothing that could be worked on.", AnswerType::Text, 97, ""),
        accept: &["hello, how are you?", "asap!!! prod is down", "Users are complaining", "We should do something about tech debt", "Do what the ticket says", "优化一下系统", "Arregla el error por favor", "Mach die Anwendung schneller und schöner", "Set up monitoring"],
        reject: &["Add a logout button to the header", "Fix `parse()`", "Explain recursion", "Arregla el error en `login.py`", "As a player, I want a daily reward", "Changelog"],
    },
    ClarityRule {
        id: "alternative", title: "alternatives left open", effect: Unclear, points: 3, counts_max: 2,
        find: Pattern(detect::alternatives),
        ask: ask("“{}”: which one?", "The text leaves the choice open.", AnswerType::Choice, 80, "“{}”: either will do."),
        accept: &["Store sessions in Redis or Memcached", "Use either tabs or spaces"],
        reject: &["Export the data as CSV or JSON", "Retry one or more times", "Fail if the name is empty or missing", "Tell whether or not it passed"],
    },
    ClarityRule {
        id: "disjunction", title: "a sentence that says `or`", effect: Unclear, points: 3, counts_max: 2,
        find: Words(&["or", "either", "alternatively", "otherwise"]), ask: None,
        accept: &["Print it or save it"], reject: &["Print and save it"],
    },
    ClarityRule {
        id: "unnamed", title: "something definite that is not named", effect: Unclear, points: 2, counts_max: 2,
        find: Phrases(&["a specific", "a certain", "certain", "a particular", "a given", "the given", "the desired", "desired", "the chosen", "the selected", "the specified", "specific", "particular", "preferred", "favorite", "favourite", "designated", "respective", "the relevant", "relevant", "corresponding", "related", "another", "someone", "somebody", "the appropriate", "intended", "predefined"]),
        ask: ask("What exactly is meant by “{}”?", "Something definite is meant but not named.", AnswerType::Text, 78, "“{}” is for the implementer to choose."),
        accept: &["Pull the tweets of a specific politician", "Handle certain inputs"],
        reject: &["Pull the tweets of the mayor"],
    },
    ClarityRule {
        id: "some-source", title: "an input that is named only by its kind", effect: Unclear, points: 3, counts_max: 2,
        find: Pattern(detect::some_source),
        ask: ask("Which one: “{}”?", "Without it nobody can start.", AnswerType::Text, 76, ""),
        accept: &["Scrape prices from a website", "Read rows of an Excel file"],
        reject: &["Scrape prices from example.com/prices", "Write a file `out.csv`", "Add a table `users`"],
    },
    ClarityRule {
        id: "personal", title: "something only the author knows", effect: Unclear, points: 3, counts_max: 2,
        find: Phrases(&["my", "our", "mine", "ours"]),
        ask: ask("What is to be known about “{}”?", "Only the author of the request knows it.", AnswerType::Text, 66, ""),
        accept: &["Organize my photos", "Write to our customers"], reject: &["Organize the photos in `~/photos`"],
    },
    ClarityRule {
        id: "wish", title: "a wish rather than a result", effect: Unclear, points: 1, counts_max: 2,
        find: Words(&["i want", "we want", "i need", "we need", "would like", "i'd like", "we'd like", "looking for", "looking to", "interested in", "help me", "help us", "considering", "trying to", "thinking of", "thinking about", "hoping", "it would be nice", "would be great"]),
        ask: None,
        accept: &["I want to clean up the tests"], reject: &["Clean up the tests"],
    },
    ClarityRule {
        id: "advice", title: "advice that depends on who asks", effect: Unclear, points: 5, counts_max: 2,
        find: Pattern(detect::advice),
        ask: ask("What should decide about “{}”?", "The right answer depends on what matters to the person who asks.", AnswerType::Text, 64, "“{}”: general criteria are used."),
        accept: &["Recommend a laptop", "Suggest some tips for interviews", "Help me plan a trip"],
        reject: &["Add `--help` to the tool", "Return the query plan"],
    },
    ClarityRule {
        id: "quality", title: "a quality without a measure", effect: Unclear, points: 5, counts_max: 3,
        find: Pattern(detect::quality),
        ask: ask("By which figure or check is “{}” judged?", "Two people would read it differently.", AnswerType::Text, 70, "“{}” is left to the judgement of the implementer."),
        accept: &["The search must be fast", "Make the form user-friendly", "Handle errors properly", "Use a suitable format"],
        reject: &["The search must be fast: under 200 ms", "Use a fast-forward merge", "The search must answer within 200 ms"],
    },
    ClarityRule {
        id: "superlative", title: "a superlative without a criterion", effect: Unclear, points: 2, counts_max: 2,
        find: Pattern(detect::superlatives),
        ask: ask("“{}” by which criterion?", "A superlative needs a scale.", AnswerType::Text, 68, "“{}” is left to the judgement of the implementer."),
        accept: &["Find the best laptop", "Use the cheapest host"],
        reject: &["Retry at most 3 times", "Keep at least two copies", "Add a test", "the latest version"],
    },
    ClarityRule {
        id: "moving", title: "a reference that moves with time or place", effect: Unclear, points: 3, counts_max: 2,
        find: Phrases(&["latest", "recent", "recently", "upcoming", "trending", "popular", "nearby", "local", "locally", "near me", "online", "up-to-date", "modern", "nowadays", "state-of-the-art"]),
        ask: ask("“{}”: as of when, or where?", "It means something else on another day or in another place.", AnswerType::Text, 60, "“{}” means at the time of the work."),
        accept: &["Use the latest release"], reject: &["Use release 1.4"],
    },
    ClarityRule {
        id: "loophole", title: "a way out", effect: Unclear, points: 3, counts_max: 2,
        find: Words(&["if possible", "where possible", "when possible", "as far as possible", "if necessary", "if needed", "as needed", "as necessary", "when necessary", "where necessary", "when needed", "where needed", "as appropriate", "if appropriate", "where appropriate", "when appropriate", "as required", "if applicable", "as applicable", "where applicable", "to the extent", "as far as", "if practical", "where practical", "practicable", "preferably", "ideally", "possibly", "perhaps", "maybe", "probably", "optionally", "at your discretion", "in principle", "approximately", "roughly", "relatively", "fairly", "as soon as possible", "nice to have"]),
        ask: ask("“{}”: must it hold, yes or no?", "Nobody can tell whether it was met.", AnswerType::Boolean, 72, "“{}” is read as: it must hold."),
        accept: &["Cache results if possible"], reject: &["Cache results for 5 minutes", "Log it if the request fails"],
    },
    ClarityRule {
        id: "frequency", title: "now and then", effect: Unclear, points: 3, counts_max: 2,
        find: Words(&["normally", "generally", "usually", "typically", "in general", "in most cases", "often", "sometimes", "occasionally", "frequently", "eventually", "mainly", "largely", "mostly"]),
        ask: ask("“{}”: when exactly, and when not?", "Nobody can tell which cases are meant.", AnswerType::Text, 71, "“{}” is read as: always."),
        accept: &["Errors should usually be logged"], reject: &["Errors are logged"],
    },
    ClarityRule {
        id: "open-list", title: "a list without an end", effect: Unclear, points: 3, counts_max: 2,
        find: Pattern(detect::open_lists),
        ask: ask("What else belongs to the list that ends in “{}”?", "An open list has no point at which it is done.", AnswerType::List, 74, "“{}” adds nothing: only what is named is meant."),
        accept: &["Support CSV, JSON etc.", "Log errors, warnings and so on"], reject: &["Support CSV and JSON", "Make it faster and more robust", "Read the etc/hosts file"],
    },
    ClarityRule {
        id: "deferred", title: "a decision put off, or made where the reader was not", effect: Unclear, points: 4, counts_max: 2,
        find: Phrases(&["we discussed", "we talked about", "as discussed", "as agreed", "we agreed", "last time", "as before", "like before", "the usual", "as usual", "still open", "not final", "under discussion", "decide later", "will decide", "makes sense", "make sense", "depending on", "depends on", "i think", "i believe", "i guess", "not sure", "whatever", "somehow", "as you see fit", "you know what"]),
        ask: ask("“{}”: what was decided?", "The decision is not in the text.", AnswerType::Text, 77, ""),
        accept: &["Rename it as discussed", "Use whatever is useful"], reject: &["Rename it to `total`"],
    },
    ClarityRule {
        id: "examples-for-rule", title: "examples in place of a rule", effect: Unclear, points: 1, counts_max: 2,
        find: Words(&["such as", "like", "e.g", "for instance", "including", "includes"]), ask: None,
        accept: &["Handle formats such as CSV"], reject: &["Handle CSV"],
    },
    ClarityRule {
        id: "amount", title: "an amount without a number", effect: Unclear, points: 2, counts_max: 2,
        find: Phrases(&["various", "several", "multiple", "many", "some", "a few", "numerous", "a number of", "a variety of", "a range of", "a lot of", "lots of", "a couple of", "anything", "something", "things", "stuff", "additional", "extra", "further", "enough", "a level of", "most of", "too many", "too much", "too few"]),
        ask: ask("“{}”: how many, or which ones?", "No number and no names are given.", AnswerType::Text, 62, "“{}”: how many and which is left to the implementer."),
        accept: &["Add several tests", "Support a range of formats"], reject: &["Add 3 tests"],
    },
    ClarityRule {
        id: "size", title: "a size without a figure", effect: Unclear, points: 2, counts_max: 2,
        find: Phrases(&["large", "small", "huge", "big", "tiny", "heavy"]),
        ask: ask("“{}”: from which size on?", "No figure is given.", AnswerType::Text, 61, "“{}”: no figure is checked."),
        accept: &["Handle large uploads"], reject: &["Handle uploads over 1 GB"],
    },
    ClarityRule {
        id: "indefinite", title: "a thing named only by its kind", effect: Unclear, points: 3, counts_max: 2,
        find: Pattern(detect::indefinite), ask: None,
        accept: &["Write a script"], reject: &["Write the script `sort.py`", "Explain the rule"],
    },
    ClarityRule {
        id: "vague-verb", title: "a verb that says that something happens, not what", effect: Unclear, points: 6, counts_max: 2,
        find: Phrases(&["handle", "handles", "handled", "handling", "manage", "manages", "managing", "deal with", "deals with", "improve", "improves", "enhance", "enhances", "optimize", "optimise", "ensure", "ensures", "facilitate", "facilitates", "enable", "enables", "enabling", "allow", "allows", "allowing", "involve", "involves", "involving", "affect", "affects", "affecting", "causing", "leading to", "relates to", "cater for", "accommodate", "assist", "consider", "minimize", "minimise", "maximize", "maximise", "work on", "look into", "take care of", "clean up", "tidy up", "support", "supports"]),
        ask: ask("“{}”: what should happen, exactly?", "The verb leaves open what is to be done.", AnswerType::Text, 65, ""),
        accept: &["Handle errors", "Improve the build"], reject: &["Return exit code 2 on errors"],
    },
    ClarityRule {
        id: "empty-noun", title: "a noun that stands for what was not said", effect: Unclear, points: 6, counts_max: 2,
        find: Words(&["means", "capability", "capabilities", "capable", "ability", "facility", "functionality", "mechanism", "provision", "way", "manner", "approach", "behavior", "behaviour", "issue", "issues", "problem", "problems", "inconsistency", "inconsistencies", "discrepancy", "aspect", "aspects", "information", "indication", "feature", "features", "scenario", "scenarios", "circumstances", "conditions", "situations"]),
        ask: ask("What exactly does “{}” stand for here?", "The word says that there is something, not what it is.", AnswerType::Text, 59, ""),
        accept: &["Provide a means to sign in"], reject: &["Let users sign in with a passkey"],
    },
    ClarityRule {
        id: "symptom", title: "a failure without what was seen", effect: Unclear, points: 2, counts_max: 2,
        find: Words(&["unexpected", "unexpectedly", "incorrect", "incorrectly", "wrong", "wrongly", "strange", "weird", "broken", "not working", "doesn't work", "does not work", "don't work", "correctly", "as expected", "acting up", "misbehaves", "flaky", "buggy"]),
        ask: ask("“{}”: what happens now, and what should happen instead?", "Without both nobody can tell when it is fixed.", AnswerType::Text, 75, ""),
        accept: &["The export is broken"], reject: &["The export writes an empty file"],
    },
    ClarityRule {
        id: "pronoun", title: "a pronoun", effect: Unclear, points: 3, counts_max: 2,
        find: Words(&["it", "this", "that", "these", "those", "they", "them", "its", "their", "which"]), ask: None,
        accept: &["Move it"], reject: &["Move the file"],
    },
    ClarityRule {
        id: "weak-modal", title: "a weak obligation", effect: Unclear, points: 1, counts_max: 2,
        find: Words(&["should", "may", "might", "could"]), ask: None,
        accept: &["It should log"], reject: &["It must log"],
    },
    ClarityRule {
        id: "passive", title: "nobody who does it", effect: Unclear, points: 1, counts_max: 2,
        find: Pattern(detect::passive), ask: None,
        accept: &["An alarm shall be raised"], reject: &["The server raises an alarm"],
    },
    ClarityRule {
        id: "compound", title: "several things in one sentence", effect: Unclear, points: 1, counts_max: 2,
        find: Words(&["and", "as well as"]), ask: None,
        accept: &["Parse and print it"], reject: &["Parse it"],
    },
    ClarityRule {
        id: "gap-language", title: "a program without a language", effect: Unclear, points: 2, counts_max: 1,
        find: Whole,
        ask: ask("In which language should “{}” be written?", "No language is named.", AnswerType::Text, 58, "“{}”: written in the language of the code around it."),
        accept: &["Write a script that counts words"], reject: &["Write a Python script that counts words", "Write a service in Go", "Write the script count.py"],
    },
    ClarityRule {
        id: "gap-database", title: "a database without a name", effect: Unclear, points: 2, counts_max: 1,
        find: Whole,
        ask: ask("Which database does “{}” mean?", "No database is named.", AnswerType::Text, 57, "“{}” is the database in use already."),
        accept: &["Store the orders in a database"], reject: &["Store the orders in a PostgreSQL database"],
    },
    ClarityRule {
        id: "gap-authentication", title: "signing in without a method", effect: Unclear, points: 2, counts_max: 1,
        find: Whole,
        ask: ask("By which method does “{}” work?", "No way to prove who somebody is is named.", AnswerType::Text, 57, "“{}” works as it does elsewhere in the product."),
        accept: &["Add authentication to the API"], reject: &["Add authentication to the API with JWT"],
    },
    ClarityRule {
        id: "gap-format", title: "data without a format", effect: Unclear, points: 2, counts_max: 1,
        find: Whole,
        ask: ask("In which format is “{}”?", "No format is named.", AnswerType::Text, 56, "“{}”: in the format of the data around it."),
        accept: &["Export the report every night"], reject: &["Export the report as CSV every night"],
    },
    ClarityRule {
        id: "no-acceptance", title: "no way to tell that it is done", effect: Unclear, points: 2, counts_max: 1,
        find: Whole,
        ask: ask("How will somebody check that “{}” is done?", "Nothing says when the work is finished.", AnswerType::Text, 50, "How the result is checked is left to the implementer."),
        accept: &["Tidy the tests"], reject: &["Tidy the tests. Done when `make test` passes."],
    },
    ClarityRule {
        id: "nothing-specific", title: "no number, no name, no example, no quoted text", effect: Unclear, points: 2, counts_max: 1,
        find: Whole, ask: None,
        accept: &["Improve the search"], reject: &["Improve the search in Firefox", "Improve `search()`", "Improve 3 searches"],
    },
    ClarityRule {
        id: "unqualified", title: "a request for a thing about which nothing else is said", effect: Unclear, points: 7, counts_max: 1,
        find: Whole,
        ask: ask("“{}”: what exactly is wanted, and where does it end?", "The request names a thing and nothing about it.", AnswerType::Text, 52, ""),
        accept: &["Improve performance", "Add a report for management", "We need a dashboard", "Set up monitoring", "Refactor the payment module"],
        reject: &["Improve the performance of the nightly import", "Refactor the module `payment`", "Explain recursion", "Fix the typo in the title"],
    },
    ClarityRule {
        id: "wish-term", title: "a wish with a word that leaves open what is wanted", effect: Unclear, points: 7, counts_max: 2,
        find: Whole, ask: ask("“{}”: what exactly is wanted?", "Two people would build different things.", AnswerType::Text, 79, "“{}” is left to the judgement of the implementer."),
        accept: &["As a courier I want to see the important fields of a stop"], reject: &["As a courier I want to see the address of a stop, so that I get there faster"],
    },
    ClarityRule {
        id: "stub-example", title: "a stub without an example", effect: Unclear, points: 3, counts_max: 1,
        find: Whole, ask: ask("Which result does “{}” have, for one input that is not trivial?", "Nothing shows what the code has to return.", AnswerType::Text, 55, ""),
        accept: &["def f(x: int) -> int:\n    \"\"\"Doubles the value of x.\"\"\""], reject: &["def f(x: int) -> int:\n    \"\"\"Doubles x.\n    >>> f(2)\n    4\"\"\"", "Double the value of x"],
    },
    ClarityRule {
        id: "stub-choice", title: "a stub that leaves one of two opposites open", effect: Unclear, points: 12, counts_max: 1,
        find: Whole, ask: ask("“{}”: which one, and when?", "The code can do only one of them.", AnswerType::Text, 82, ""),
        accept: &["def f(xs):\n    \"\"\"Sort xs in ascending or descending order.\"\"\""], reject: &["def f(xs):\n    \"\"\"Sort xs in ascending order.\"\"\"", "Sort it in ascending or descending order"],
    },
    ClarityRule {
        id: "stub-cut", title: "a stub whose text breaks off", effect: Unclear, points: 14, counts_max: 1,
        find: Whole, ask: ask("How does the text go on that ends in “{}”?", "A sentence breaks off.", AnswerType::Text, 84, ""),
        accept: &["def f(xs, parts):\n    \"\"\"Split xs into parts. The remaining items are\n    \"\"\""], reject: &["def f(xs):\n    \"\"\"Split xs in two. The rest is dropped.\"\"\""],
    },
    ClarityRule {
        id: "stub-short", title: "a stub with hardly a word", effect: Unclear, points: 14, counts_max: 1,
        find: Whole, ask: ask("“{}”: what exactly does the code have to do?", "The text says almost nothing.", AnswerType::Text, 83, ""),
        accept: &["/** Processes the items. */\nexport function f(xs: number[]): number[] {"], reject: &["def f(xs):\n    \"\"\"Return the sum of all even numbers of xs.\"\"\""],
    },
    ClarityRule {
        id: "stub-term", title: "a stub with a term that could mean several things", effect: Unclear, points: 7, counts_max: 2,
        find: Whole, ask: ask("“{}”: when exactly is that so?", "The code needs a rule, and none is given.", AnswerType::Text, 81, ""),
        accept: &["def f(xs):\n    \"\"\"Merge the intervals of xs that are close to each other.\"\"\""], reject: &["def f(xs):\n    \"\"\"Merge the intervals of xs that overlap.\"\"\""],
    },
    ClarityRule {
        id: "number", title: "a number", effect: Settles, points: 4, counts_max: 2,
        find: Pattern(detect::numbers), ask: None,
        accept: &["Keep 3 copies", "Keep three copies"], reject: &["Keep copies", "5.2.3 The driver is told"],
    },
    ClarityRule {
        id: "quote", title: "the words themselves, in quotes", effect: Settles, points: 8, counts_max: 2,
        find: Pattern(detect::quotes), ask: None,
        accept: &["Print \"done\""], reject: &["Print a message", "the users' data"],
    },
    ClarityRule {
        id: "code", title: "code, a path or the name of something in a program", effect: Settles, points: 8, counts_max: 3,
        find: Pattern(detect::code), ask: None,
        accept: &["Call `main`", "Edit src/lib.rs", "Set max_retries"], reject: &["Call the main function"],
    },
    ClarityRule {
        id: "name", title: "a proper name", effect: Settles, points: 1, counts_max: 2,
        find: Pattern(detect::names), ask: None,
        accept: &["The weather in Paris", "Use Redis", "An HTTP call"], reject: &["The weather today", "When I arrive", "Add an API"],
    },
    ClarityRule {
        id: "definite", title: "a thing that is pinned down by what it belongs to", effect: Settles, points: 1, counts_max: 2,
        find: Pattern(detect::definite), ask: None,
        accept: &["Find the capital city of Tasmania"], reject: &["Find a city", "The city is large"],
    },
    ClarityRule {
        id: "fact", title: "a question with one answer", effect: Settles, points: 6, counts_max: 2,
        find: Words(&["who", "whose", "how many", "how much", "how old", "how tall", "how far", "capital", "average", "number of", "find out", "determine", "explain", "explanation", "definition", "difference between", "differences between", "summarize", "summarise", "summary", "history", "list of all", "list all", "population", "calculate", "count", "identify", "current", "currently", "today", "compare", "price of", "concept", "basics"]),
        ask: None,
        accept: &["Explain the borrow checker"], reject: &["Make something nice"],
    },
    ClarityRule {
        id: "bound", title: "a bound, a scope or an enumeration", effect: Settles, points: 1, counts_max: 2,
        find: Words(&["at least", "at most", "up to", "no more than", "less than", "more than", "fewer than", "within", "per", "maximum", "minimum", "only", "exactly", "each", "every", "all", "the following", "as follows", "i.e", "namely", "step by step", "step-by-step", "between", "both", "unless", "until", "must not", "shall not", "never"]),
        ask: None,
        accept: &["Retry at most twice", "Return only the id"], reject: &["Retry"],
    },
    ClarityRule {
        id: "period", title: "a date or a period", effect: Settles, points: 3, counts_max: 1,
        find: Pattern(detect::periods), ask: None,
        accept: &["Revenue of the past five years", "Films of 2020"], reject: &["Recent films"],
    },
    ClarityRule {
        id: "observed", title: "an observation: output, a message, steps", effect: Settles, points: 7, counts_max: 2,
        find: Words(&["traceback", "stack trace", "steps to reproduce", "reproduce", "reproduces", "expected result", "actual result", "expected output", "actual output", "output is", "returns", "raises", "prints", "throws", "exits with", "instead of", "should return", "should be", "import", "example"]),
        ask: None,
        accept: &["It raises KeyError instead of returning None"], reject: &["It fails"],
    },
    ClarityRule {
        id: "obligation", title: "an obligation", effect: Settles, points: 2, counts_max: 1,
        find: Words(&["must", "shall", "has to", "have to", "is required to"]), ask: None,
        accept: &["It must log"], reject: &["It logs"],
    },
    ClarityRule {
        id: "acceptance", title: "a way to tell that it is done", effect: Settles, points: 5, counts_max: 1,
        find: Pattern(detect::acceptance), ask: None,
        accept: &["Done when `make test` passes", "Acceptance: the list is empty", "`cargo test` passes", "All existing tests must pass", "Covered by an integration test", "shellcheck reports no warnings"],
        reject: &["Tidy the tests", "Pass the id along"],
    },
];

/// The position of a rule in the table.
pub const fn index_of(id: &str) -> usize {
    let (mut rules, mut at) = (CLARITY_RULES, 0);
    while let [rule, rest @ ..] = rules {
        if is_same(rule.id.as_bytes(), id.as_bytes()) {
            return at;
        }
        (rules, at) = (rest, at + 1);
    }
    0
}

/// `==` as a constant can have it.
const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([one, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        if *one != *other {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}
