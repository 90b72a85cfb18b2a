//! Gaps that somebody meant to fill: `TBD`, `???`, `<name>`, `{new_name}`, `[insert region here]`.

use crate::class::Class;
use crate::detect::Hit;
use crate::quantity::is_unit;
use crate::text::{Kind, Text, Token};
use std::cell::LazyCell;

/// Names of HTML elements and the like that mean themselves in angle brackets.
#[rustfmt::skip]
static ELEMENTS: &[&str] = &[
    "a", "abbr", "acronym", "address", "animate", "applet", "area", "article", "aside", "audio", "b", "base", "bdi", "bdo", "big", "blink", "blockquote",
    "body", "br", "button", "canvas", "caption", "center", "circle", "cite", "clippath", "code", "col", "colgroup", "data", "datalist", "dd", "defs", "del", "desc",
    "details", "dfn", "dialog", "dir", "div", "dl", "dt", "ellipse", "em", "embed", "fieldset", "figcaption", "figure", "filter", "font", "footer",
    "foreignobject", "form", "frame", "frameset", "g", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "i", "iframe", "image", "img", "input", "ins",
    "kbd", "label", "legend", "li", "line", "lineargradient", "link", "main", "map", "mark", "marker", "marquee", "mask", "math", "menu", "menuitem", "meta", "meter", "nav", "noframes",
    "noscript", "object", "ol", "optgroup", "option", "output", "p", "param", "path", "pattern", "picture", "polygon", "polyline", "portal", "pre", "progress", "q",
    "radialgradient", "rect", "rp", "rt", "ruby", "s", "samp", "script", "search", "section", "select", "slot", "small", "source", "span", "stop", "strike", "strong", "style", "sub",
    "summary", "sup", "svg", "symbol", "table", "tbody", "td", "template", "text", "textarea", "tfoot", "th", "thead", "time", "title", "tr", "track", "tspan", "tt", "u", "ul", "use",
    "var", "video", "view", "wbr", "xml", "xs", "xsd",
    "module", "stdin", "lambda", "genexpr", "listcomp", "locals", "string", "unknown", "stdio", "iostream", "vector",
];

/// Words in angle brackets that mean themselves in prose: types, keys, and the values of headers.
#[rustfmt::skip]
static THEMSELVES: &[&str] = &[
    "alt", "backspace", "bool", "boolean", "cmd", "control", "ctrl", "date", "del", "delete", "down", "enter", "esc",
    "escape", "float", "int", "integer", "left", "number", "return", "right", "shift", "space", "string", "tab",
    "timestamp", "token", "up", "uuid",
];

/// Nouns behind brackets that show that the brackets are meant: `the <title> element`, `a {name} parameter`.
#[rustfmt::skip]
static MEANT: &[&str] = &[
    "argument", "arguments", "element", "elements", "option", "parameter", "parameters", "syntax", "tag", "tags",
    "variable", "variables", "token", "tokens", "type", "placeholder", "placeholders", "key", "header",
];

/// The words after a marker that is a word like any other: a `TODO` app, `FIXME` comments.
#[rustfmt::skip]
static AFTER_TODO: &[&str] = &[
    "app", "apps", "application", "comment", "comments", "entries", "entry", "item", "items", "list", "lists",
    "marker", "markers", "note", "notes", "tracker", "s", "api", "file", "column", "state", "status", ",", "|", "and",
    "or", "/",
];

/// Names so general that two of them need not be the same thing.
#[rustfmt::skip]
static GENERAL_NAMES: &[&str] = &[
    "amount", "count", "date", "email", "file", "host", "id", "key", "link", "n", "name", "number", "path", "port",
    "region", "team", "text", "time", "title", "url", "user", "username", "value", "version", "x", "placeholder",
];

/// Whether a placeholder has a name of its own, so that it is the same wherever it stands.
pub fn is_named(words: &str) -> bool {
    let name = words.trim_matches(['<', '>', '{', '}', '`', ' ']).to_lowercase();
    words.starts_with(GAP_OPENS) && !name.is_empty() && !GENERAL_NAMES.contains(&name.as_str())
}

/// The start of a placeholder with a name of its own.
pub const GAP_OPENS: [char; 3] = ['<', '{', '`'];

pub fn find(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    // Most texts have no mark that could start a gap, and no word that is one.
    let prose = LazyCell::new(|| Prose::of(text));
    let mut position = 0;
    while let Some(token) = tokens.get(position) {
        let could_be = token.kind != Kind::Word || token.has(Class::GAP);
        let end = if could_be { placeholder_end(text, position) } else { None };
        let end = end.filter(|end| prose.has_gap(position, *end));
        if let (Some(end), Some(first)) = (end, tokens.get(position))
            && let Some(last) = tokens.get(end)
        {
            found.push(Hit {
                start: first.start,
                words: text.between(first, last).to_owned(),
                options: Vec::new(),
            });
            position = end;
        }
        position += 1;
    }
}

/// Where in a text a gap may be: not in a line of a shell or of a log, not in a template, and not where the
/// text says what it stands for.
struct Prose<'x, 't> {
    text: &'x Text<'t>,
    /// Whether the text speaks of templates, in which braces belong.
    template: bool,
}

/// Words of texts in which braces stand for themselves.
#[rustfmt::skip]
pub(crate) static TEMPLATES: &[&str] = &[
    "f-string", "f-strings", "handlebars", "interpolate", "interpolated", "interpolation", "jinja", "jinja2", "liquid", "mustache", "placeholder", "placeholders",
    "substitute", "substituted", "substitution", "template", "templates", "templating", "variables",
];

impl<'x, 't> Prose<'x, 't> {
    fn of(text: &'x Text<'t>) -> Self {
        let braces = text.tokens.iter().any(|it| it.text == "{");
        let template = braces && text.tokens.iter().any(|it| it.is_word() && it.has(Class::TEMPLATE));
        Self { text, template }
    }

    fn has_gap(&self, first: usize, last: usize) -> bool {
        let tokens = &self.text.tokens;
        let (Some(open), Some(close)) = (tokens.get(first), tokens.get(last)) else { return false };
        let words = self.text.between(open, close);
        let bracketed = words.starts_with(['<', '{']);
        !(self.template && words.starts_with('{'))
            && !(bracketed && (self.is_defined(words, last) || in_command_line(self.text.source, open.start)))
    }

    /// `<env> is one of …`, `where <env> means …`: somewhere the text says what it is.
    fn is_defined(&self, words: &str, last: usize) -> bool {
        let tokens = &self.text.tokens;
        let says = |at: usize| {
            tokens.get(at).is_some_and(|it| {
                matches!(&*it.lower, "is" | "are" | "means" | "stands" | "denotes" | "=" | "represents")
            }) && !tokens
                .get(at + 1)
                .is_none_or(|it| matches!(it.text, "." | "?" | "…" | "TBD" | "not" | "still"))
        };
        if says(last + 1) {
            return true;
        }
        // The same name elsewhere; a text has few of them.
        let others = self.text.source.match_indices(words).map(|(at, _)| at + words.len()).take(8);
        others.into_iter().any(|end| {
            let next = tokens.partition_point(|it| it.start < end);
            says(next)
        })
    }
}

/// Whether a place is on a line that starts like one of a shell: `$ deploy <env>`, `>>> f(<x>)`.
fn in_command_line(source: &str, start: usize) -> bool {
    let before = source.get(..start).unwrap_or_default();
    let line = before.get(before.rfind('\n').map_or(0, |at| at + 1)..).unwrap_or_default().trim_start();
    line.starts_with("$ ") || line.starts_with(">>> ") || line.starts_with("# ") && line.contains("$ ")
}

/// Names of compilers in underscores, which stand for themselves.
static MACROS: &[&str] = &[
    "__COUNTER__",
    "__DATE__",
    "__DIR__",
    "__FILE__",
    "__FUNCTION__",
    "__GNUC__",
    "__LINE__",
    "__TIME__",
    "__VA_ARGS__",
];

/// `xx %`, `N requests`: letters in place of a number, before what it counts.
fn letters_end(tokens: &[Token<'_>], position: usize) -> Option<usize> {
    let token = tokens.get(position)?;
    let next = tokens.get(position + 1)?;
    let unit = is_unit(next);
    match token.text {
        "xx" | "xxx" | "nn" | "yy" | "XX" | "NN" if unit => Some(position),
        "N" | "X" | "Y" => {
            let before = position.checked_sub(1).and_then(|at| tokens.get(at))?;
            let counts = matches!(
                &*before.lower,
                "of" | "to" | "by" | "at" | "within" | "than" | "least" | "most" | "for"
            );
            let noun = next.is_word()
                && !next.is_capitalized()
                && (unit || next.lower.ends_with('s'))
                && !crate::detect::ends_phrase(next);
            // Named twice, or with `where N …`, it is a parameter.
            let again = tokens.iter().filter(|it| it.text == token.text).count() > 1;
            (counts && noun && !again).then_some(position)
        }
        _ => None,
    }
}

/// The last token of the placeholder that starts at `position`, if one does.
fn placeholder_end(text: &Text<'_>, position: usize) -> Option<usize> {
    let tokens = &text.tokens;
    let token = tokens.get(position)?;
    let next = tokens.get(position + 1);
    match (token.kind, token.text) {
        (Kind::Word, "TBD" | "TBC" | "TBA" | "tbd" | "tba" | "tbc" | "Tbd" | "XX") => Some(position),
        (Kind::Word, "TODO" | "FIXME" | "XXX" | "XXXX") => {
            // In a list of its kind it is a word: `forbid TODO, FIXME and XXX`.
            let before = position.checked_sub(1).and_then(|at| tokens.get(at));
            let listed =
                before.is_some_and(|it| matches!(&*it.lower, "and" | "or" | "|" | "," | "/" | "states"));
            let word = listed || next.is_some_and(|it| AFTER_TODO.contains(&&*it.lower));
            (!word).then_some(position)
        }
        (Kind::Word, "xx" | "xxx" | "nn" | "yy" | "NN" | "N" | "X" | "Y") => letters_end(tokens, position),
        (Kind::Word, _) => phrase_end(tokens, position),
        (Kind::Mark, "?") => run_end(text, position, if is_value_place(tokens, position) { 1 } else { 2 }),
        (Kind::Mark, "." | "…") => ellipsis_end(tokens, position),
        (Kind::Mark, "_") => run_end(text, position, 3),
        (Kind::Mark, "<") => bracket_end(text, position, ">", is_gap_name),
        (Kind::Mark, "{") => bracket_end(text, position, "}", is_gap_name),
        (Kind::Mark, "[") => bracket_end(text, position, "]", is_instruction),
        (Kind::Code, code) => whole_code_is_gap(code).then_some(position),
        (Kind::Identifier, name) if ["=TBD", "=???", "=TODO", "=XXX"].iter().any(|it| name.ends_with(it)) => {
            Some(position)
        }
        (Kind::Identifier, name) => {
            let underscores = (3..=RUN_MAX).contains(&name.len()) && name.chars().all(|it| it == '_');
            let inside = name.strip_prefix("__").and_then(|it| it.strip_suffix("__"));
            let marked = inside.is_some_and(|it| {
                it.starts_with(|it: char| it.is_ascii_uppercase())
                    && it.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_')
            }) && !MACROS.contains(&name);
            (underscores || marked).then_some(position)
        }
        _ => None,
    }
}

/// `to be decided`, `not yet known`, `lorem ipsum`.
fn phrase_end(tokens: &[Token<'_>], position: usize) -> Option<usize> {
    let word = |ahead: usize| {
        tokens.get(position + ahead).filter(|it| it.is_word()).map(|it| &*it.lower).unwrap_or_default()
    };
    match (word(0), word(1), word(2)) {
        (
            "to",
            "be",
            "decided" | "determined" | "defined" | "confirmed" | "announced" | "specified" | "agreed"
            | "clarified",
        ) => {
            // `to be defined by the user` says who; only an open end is a gap.
            let by = matches!(
                word(3),
                "by" | "in"
                    | "as"
                    | "at"
                    | "on"
                    | "from"
                    | "per"
                    | "with"
                    | "using"
                    | "for"
                    | "before"
                    | "when"
            );
            (!by || word(2) == "agreed").then_some(position + 2)
        }
        ("not", "yet", "decided" | "determined" | "defined" | "known" | "specified" | "agreed") => {
            Some(position + 2)
        }
        ("lorem", "ipsum", _) => Some(position + 1),
        ("is" | "are", "still", "open") => Some(position + 2),
        ("will", "be", "decided" | "determined" | "defined") if word(3) == "later" => Some(position + 3),
        _ => None,
    }
}

/// Longer runs of one mark are drawings.
const RUN_MAX: usize = 12;

/// Whether a value is expected here: behind a colon or an equals sign.
fn is_value_place(tokens: &[Token<'_>], position: usize) -> bool {
    position.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|it| matches!(it.text, ":" | "="))
}

/// `The region is ...`, `Region: …`: an ellipsis where a value belongs, and nothing behind it.
fn ellipsis_end(tokens: &[Token<'_>], position: usize) -> Option<usize> {
    let dots = tokens.iter().skip(position).take_while(|it| matches!(it.text, "." | "…")).count();
    let ellipsis = tokens.get(position).is_some_and(|it| it.text == "…") || dots >= 3;
    let before = position.checked_sub(1).and_then(|at| tokens.get(at));
    let expected = before
        .is_some_and(|it| matches!(&*it.lower, ":" | "=" | "is" | "be" | "to" | "called" | "named" | "at"));
    let last = tokens.get(position + dots).is_none_or(is_unit);
    (ellipsis && expected && last).then_some(position + dots - 1)
}

/// A run of one mark that stands alone: `???`, `____`.
fn run_end(text: &Text<'_>, position: usize, length_min: usize) -> Option<usize> {
    let tokens = &text.tokens;
    let first = tokens.get(position)?;
    let mut end = position;
    while let (Some(last), Some(next)) = (tokens.get(end), tokens.get(end + 1)) {
        if next.text != first.text || next.start != last.end() || end - position > RUN_MAX {
            break;
        }
        end += 1;
    }
    let before = text.source.get(..first.start)?.chars().next_back();
    let after = text.source.get(tokens.get(end)?.end()..)?.chars().next();
    let alone = before
        .is_none_or(|it| it.is_whitespace() || matches!(it, '(' | '[' | '=' | ':' | '"' | '/' | '#'))
        && after.is_none_or(|it| !it.is_alphanumeric());
    // A long run is a line across the page.
    (alone && (length_min..=RUN_MAX).contains(&(end + 1 - position))).then_some(end)
}

/// How many tokens may stand between brackets.
const INSIDE_MAX: usize = 8;

fn bracket_end(text: &Text<'_>, position: usize, close: &str, is_gap: fn(&str) -> bool) -> Option<usize> {
    let tokens = &text.tokens;
    let open = tokens.get(position)?;
    // `{{name}}` is one gap, and both of its ends are doubled.
    let depth = tokens.iter().skip(position).take_while(|it| it.text == open.text).count();
    let inner = position + depth;
    let closes =
        |at: usize| (0..depth).all(|ahead| tokens.get(at + ahead).is_some_and(|it| it.text == close));
    let end = (inner..=inner + INSIDE_MAX).find(|at| closes(*at))?;
    let last = tokens.get(end + depth - 1)?;
    let inside = text.source.get(tokens.get(inner - 1)?.end()..tokens.get(end)?.start)?;
    let before = text.source.get(..open.start)?.chars().next_back();
    let mut after = text.source.get(last.end()..)?.chars();
    let (after, beyond) = (after.next(), after.next());
    let glued = |it: char| it.is_alphanumeric();
    // `Vec<u8>`, `${HOME}`, `f{x}`, `/users/{id}`, `[text](url)`, `orders.{tenant}.created`
    let attached = before.is_some_and(|it| {
        glued(it) || matches!(it, '/' | '%' | '#' | '\\' | '_' | '?' | '=' | '.' | ':' | '-' | '@' | '|')
    }) || (before == Some('$') && close == "}")
        || after.is_some_and(|it| matches!(it, '/' | '(' | '_' | '=' | '+' | '@') || glued(it))
        || (after.is_some_and(|it| matches!(it, '.' | ':' | '-')) && beyond.is_some_and(glued));
    let meant = tokens.get(end + depth).is_some_and(|it| MEANT.contains(&&*it.lower));
    let name = inside.trim_matches('/').trim().to_lowercase();
    let angle = close == ">";
    let itself = angle && (ELEMENTS.contains(&name.as_str()) || THEMSELVES.contains(&name.as_str()));
    let loose = angle && inside.trim() != inside;
    // `<N> times`: a letter counts only before a noun.
    let letter = angle && matches!(&*name, "n" | "x") && tokens.get(end + depth).is_some_and(Token::is_word);
    (!attached && !meant && !itself && !loose && (letter || is_gap(inside))).then_some(end + depth - 1)
}

/// `name`, `new_name`, `your name`: letters, but no type parameter such as `T` and no name of a character.
fn is_gap_name(inside: &str) -> bool {
    let inside = inside.trim_matches(['{', '}', '<', '>', ' ']);
    inside.len() > 1
        && inside.starts_with(char::is_alphabetic)
        && inside.chars().all(|it| it.is_alphabetic() || matches!(it, '_' | '-' | ' '))
        && !matches!(inside, "EOF" | "CR" | "LF" | "CRLF" | "TAB" | "ESC" | "NUL" | "BOM" | "NULL")
}

/// Words in square brackets that tell the reader to fill something in.
fn is_instruction(inside: &str) -> bool {
    let lower = inside.trim().to_lowercase();
    let words: Vec<&str> = lower.split(|it: char| !it.is_alphanumeric()).collect();
    // `[X] minutes`, `[...]`
    if matches!(inside.trim(), "X" | "N" | "Y" | "XX" | "NN" | "x" | "n" | "..." | "…") {
        return lower != "x" || inside.trim() == "X";
    }
    let says = |word: &str| words.contains(&word);
    says("insert")
        || says("tbd")
        || says("todo")
        || says("placeholder")
        || says("your")
        || says("here")
        || lower.starts_with("fill in")
}

/// Code that is nothing but a gap: `` `<new_name>` ``. Code with more in it describes a syntax.
fn whole_code_is_gap(code: &str) -> bool {
    let inside = code.trim_matches('`').trim();
    let bare = |open: char, close: char| {
        inside
            .strip_prefix(open)
            .and_then(|it| it.strip_suffix(close))
            .filter(|it| !it.contains([open, close]))
    };
    if matches!(inside, "TBD" | "???" | "XXX") {
        return true;
    }
    let angle =
        bare('<', '>').is_some_and(|it| is_gap_name(it) && !ELEMENTS.contains(&it.to_lowercase().as_str()));
    angle || bare('{', '}').is_some_and(is_gap_name)
}

/// Whether a whole answer is a placeholder and so no answer.
pub fn is_placeholder(answer: &str) -> bool {
    let trimmed = answer.trim();
    let text = Text::new(trimmed);
    let mut found = Vec::new();
    find(&text, &mut found);
    let marks_only = !trimmed.chars().any(char::is_alphanumeric);
    let lower = trimmed.to_lowercase();
    let evasive = matches!(
        lower.as_str(),
        "todo"
            | "tbd"
            | "tba"
            | "tbc"
            | "n/a"
            | "xxx"
            | "fixme"
            | "unknown"
            | "later"
            | "not sure"
            | "dunno"
            | "idk"
            | "don't know"
            | "i don't know"
            | "whatever"
            | "placeholder"
    );
    marks_only || evasive || !found.is_empty()
}
