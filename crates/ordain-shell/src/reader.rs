//! Reads a command line, strictly: it takes the part of bash that has one meaning, and refuses the rest.

use crate::limits::{DEPTH_MAX, STEPS_MAX, WORDS_MAX};
use crate::syntax::{Assignment, Atom, Direction, Group, Item, Join, List, Node, Redirect, Simple, Word};
use std::collections::{BTreeMap, BTreeSet};

/// Why a command line is not taken.
pub(crate) type Refusal = &'static str;

pub(crate) const TOO_LONG: Refusal = "the command is too long";
pub(crate) const TOO_DEEP: Refusal = "the command is nested too deeply";
const UNFINISHED: Refusal = "a quote, a bracket or a command is not finished";
const UNEXPECTED: Refusal = "bash does not take the command";
const UNSUPPORTED: Refusal = "the command uses a construct that ordain does not read";

/// All that the text says about variables, because arithmetic evaluates their values; and its here-documents.
#[derive(Default, Debug)]
pub(crate) struct Shared {
    /// Assigned variables, and whether they only ever hold numbers.
    pub(crate) assigned: BTreeMap<String, bool>,
    /// Variables that arithmetic reads.
    pub(crate) evaluated: BTreeSet<String>,
    pub(crate) documents: Vec<Word>,
}

/// How much has been done. Texts inside of texts share it.
#[derive(Default, Debug)]
pub(crate) struct Budget {
    pub(crate) steps: usize,
    pub(crate) words: usize,
}

/// Reads a whole text.
pub(crate) fn read(
    text: &str,
    depth: usize,
    budget: &mut Budget,
    names: &mut Shared,
) -> Result<List, Refusal> {
    let mut reader = Reader::new(text, depth, budget, names);
    let list = reader.list(&[])?;
    if !reader.at_end() {
        return Err(UNEXPECTED);
    }
    if !reader.documents.is_empty() {
        return Err(UNFINISHED);
    }
    Ok(list)
}

/// A here-document before its text.
struct Awaited {
    delimiter: String,
    quoted: bool,
    /// Whether leading tabs are left out.
    tabs: bool,
    place: usize,
}

struct Reader<'b> {
    characters: Vec<char>,
    at: usize,
    depth: usize,
    /// Here-documents whose text begins after the next line break.
    documents: Vec<Awaited>,
    budget: &'b mut Budget,
    names: &'b mut Shared,
}

const RESERVED: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}", "!",
    "[[", "]]", "function", "select", "time", "in", "coproc",
];

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn ends_word(character: char) -> bool {
    is_blank(character) || matches!(character, '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

fn starts_name(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

fn in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

impl<'b> Reader<'b> {
    fn new(text: &str, depth: usize, budget: &'b mut Budget, names: &'b mut Shared) -> Self {
        let characters = text.chars().collect();
        Self { characters, at: 0, depth, documents: Vec::new(), budget, names }
    }

    fn at_end(&self) -> bool {
        self.at >= self.characters.len()
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += 1;
        self.budget.steps += 1;
        Some(character)
    }

    fn take(&mut self, text: &str) -> bool {
        let fits = text.chars().enumerate().all(|(ahead, character)| self.peek_at(ahead) == Some(character));
        if fits {
            for _ in text.chars() {
                self.next();
            }
        }
        fits
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.budget.steps > STEPS_MAX || self.budget.words > WORDS_MAX { Err(TOO_LONG) } else { Ok(()) }
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        if self.depth >= DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Blanks, joined lines and comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(character) if is_blank(character) => {
                    self.next();
                }
                Some('\\') if self.peek_at(1) == Some('\n') => {
                    self.take("\\\n");
                }
                Some('#') => {
                    while self.peek().is_some_and(|character| character != '\n') {
                        self.next();
                    }
                }
                _ => return,
            }
        }
    }

    /// One line break, with the here-documents that begin after it.
    fn line_break(&mut self) -> Result<bool, Refusal> {
        if self.peek() != Some('\n') {
            return Ok(false);
        }
        self.next();
        for awaited in std::mem::take(&mut self.documents) {
            let body = self.document(&awaited.delimiter, awaited.quoted, awaited.tabs)?;
            if let Some(place) = self.names.documents.get_mut(awaited.place) {
                *place = body;
            }
        }
        Ok(true)
    }

    fn blank_lines(&mut self) -> Result<(), Refusal> {
        loop {
            self.blanks();
            if !self.line_break()? {
                return Ok(());
            }
        }
    }

    fn document(&mut self, delimiter: &str, quoted: bool, tabs: bool) -> Result<Word, Refusal> {
        let mut text = String::new();
        loop {
            if self.at_end() {
                return Err(UNFINISHED);
            }
            let mut line = String::new();
            while let Some(character) = self.peek().filter(|character| *character != '\n') {
                line.push(character);
                self.next();
            }
            let ended = self.peek() == Some('\n');
            self.next();
            let line = if tabs { line.trim_start_matches('\t') } else { &line };
            if line == delimiter {
                break;
            }
            // A line that is joined to the next one could hide the delimiter.
            if !quoted && line.ends_with('\\') {
                return Err(UNSUPPORTED);
            }
            text.push_str(line);
            text.push('\n');
            if !ended {
                return Err(UNFINISHED);
            }
        }
        if quoted {
            let atoms = text.chars().map(|character| Atom::Char(character, true)).collect();
            return Ok(Word { atoms, runs: Vec::new(), quoted });
        }
        self.deeper(|reader| {
            let mut inner = Reader::new(&text, reader.depth, reader.budget, reader.names);
            let mut word = Word::default();
            while let Some(character) = inner.peek() {
                inner.quoted_part(character, '\0', &mut word)?;
            }
            Ok(word)
        })
    }

    /// Commands up to one of the reserved words, a `)`, a `;;` or the end.
    fn list(&mut self, until: &[&str]) -> Result<List, Refusal> {
        self.deeper(|reader| {
            let mut items: List = Vec::new();
            let mut join = Join::Next;
            loop {
                reader.check()?;
                reader.blank_lines()?;
                let stops = match reader.peek() {
                    None | Some(')') => true,
                    Some(';') => reader.peek_at(1) == Some(';') || reader.peek_at(1) == Some('&'),
                    _ => until.iter().any(|word| reader.sees(word)),
                };
                if stops {
                    let open = matches!(join, Join::And | Join::Or);
                    return if open { Err(UNEXPECTED) } else { Ok(items) };
                }
                let node = reader.pipeline()?;
                items.push(Item { join, node });
                reader.blanks();
                join = match (reader.peek(), reader.peek_at(1)) {
                    (Some('&'), Some('&')) => {
                        reader.take("&&");
                        Join::And
                    }
                    (Some('|'), Some('|')) => {
                        reader.take("||");
                        Join::Or
                    }
                    (Some('&'), _) => {
                        reader.next();
                        Join::Background
                    }
                    (Some(';'), Some(';' | '&')) => Join::Next,
                    (Some(';'), _) => {
                        reader.next();
                        Join::Next
                    }
                    (Some('\n') | Some(')') | None, _) => Join::Next,
                    _ => return Err(UNEXPECTED),
                };
                if reader.peek() == Some(';') && join != Join::Next {
                    return Err(UNEXPECTED);
                }
            }
        })
    }

    /// Whether a reserved word stands here.
    fn sees(&self, word: &str) -> bool {
        let fits = word.chars().enumerate().all(|(ahead, character)| self.peek_at(ahead) == Some(character));
        fits && self.peek_at(word.len()).is_none_or(ends_word)
    }

    fn pipeline(&mut self) -> Result<Node, Refusal> {
        loop {
            self.blanks();
            if self.sees("!") {
                self.take("!");
            } else if self.sees("time") {
                self.take("time");
                self.blanks();
                if self.sees("-p") {
                    self.take("-p");
                }
            } else {
                break;
            }
        }
        let mut nodes = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some('|') || self.peek_at(1) == Some('|') {
                break;
            }
            self.next();
            if self.peek() == Some('&') {
                self.next();
            }
            self.blank_lines()?;
            nodes.push(self.command()?);
        }
        match (nodes.len(), nodes.pop()) {
            (1, Some(only)) => Ok(only),
            (_, Some(last)) => {
                nodes.push(last);
                Ok(Node::Pipeline(nodes))
            }
            _ => Err(UNEXPECTED),
        }
    }

    fn command(&mut self) -> Result<Node, Refusal> {
        self.blanks();
        if self.peek() == Some('(') {
            if self.peek_at(1) == Some('(') {
                self.take("((");
                let word = self.arithmetic()?;
                let redirects = self.redirects()?;
                return Ok(Node::Test { words: vec![word], redirects });
            }
            self.next();
            let body = self.list(&[])?;
            self.expect(")")?;
            return self.group(vec![body], true, false);
        }
        let found = RESERVED.iter().find(|word| self.sees(word)).copied();
        match found {
            Some("{") => {
                self.take("{");
                let body = self.list(&["}"])?;
                self.expect("}")?;
                self.group(vec![body], false, false)
            }
            Some("if") => self.branches(),
            Some(word @ ("while" | "until")) => {
                self.take(word);
                let test = self.list(&["do"])?;
                let body = self.body()?;
                self.group(vec![test, body], false, true)
            }
            Some("for") => self.for_loop(),
            Some("case") => self.case(),
            Some("[[") => self.extended_test(),
            Some("function") => {
                self.take("function");
                self.blanks();
                let name = self.word()?.bare().ok_or(UNSUPPORTED)?;
                self.blanks();
                if self.take("(") {
                    self.blanks();
                    self.expect(")")?;
                }
                self.function(name)
            }
            Some(_) => Err(UNSUPPORTED),
            None => self.simple(),
        }
    }

    fn expect(&mut self, text: &str) -> Result<(), Refusal> {
        self.blanks();
        if self.take(text) { Ok(()) } else { Err(UNFINISHED) }
    }

    /// The end of a command with a body, and its redirections.
    fn group(&mut self, parts: Vec<List>, subshell: bool, conditional: bool) -> Result<Node, Refusal> {
        if parts.first().is_some_and(Vec::is_empty) {
            return Err(UNEXPECTED);
        }
        let redirects = self.redirects()?;
        let (words, variable) = (Vec::new(), None);
        Ok(Node::Group(Group { subshell, conditional, parts, words, variable, redirects }))
    }

    fn body(&mut self) -> Result<List, Refusal> {
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn branches(&mut self) -> Result<Node, Refusal> {
        self.take("if");
        let mut parts = vec![self.list(&["then"])?];
        self.expect("then")?;
        parts.push(self.list(&["elif", "else", "fi"])?);
        loop {
            self.blanks();
            if self.take("elif") {
                parts.push(self.list(&["then"])?);
                self.expect("then")?;
                parts.push(self.list(&["elif", "else", "fi"])?);
            } else if self.take("else") {
                parts.push(self.list(&["fi"])?);
                self.expect("fi")?;
                break;
            } else {
                self.expect("fi")?;
                break;
            }
        }
        self.group(parts, false, true)
    }

    fn for_loop(&mut self) -> Result<Node, Refusal> {
        self.take("for");
        self.blanks();
        if self.take("((") {
            let word = self.arithmetic()?;
            self.blanks();
            self.take(";");
            self.blank_lines()?;
            let body = self.body()?;
            let mut node = self.group(vec![body], false, true)?;
            if let Node::Group(group) = &mut node {
                group.words.push(word);
            }
            return Ok(node);
        }
        let name = self.word()?.bare().filter(|name| is_name(name)).ok_or(UNSUPPORTED)?;
        self.names.assigned.insert(name.clone(), false);
        self.blank_lines()?;
        let mut words = Vec::new();
        if self.sees("in") {
            self.take("in");
            loop {
                self.blanks();
                match self.peek() {
                    Some(';' | '\n') => break,
                    None => return Err(UNFINISHED),
                    Some(_) => words.push(self.word()?),
                }
            }
        } else {
            let atoms = vec![Atom::Variable("@".to_owned(), true)];
            words.push(Word { atoms, runs: Vec::new(), quoted: true });
        }
        self.blanks();
        if self.peek() == Some(';') {
            self.next();
        }
        self.blank_lines()?;
        let body = self.body()?;
        let mut node = self.group(vec![body], false, true)?;
        if let Node::Group(group) = &mut node {
            group.words = words;
            group.variable = Some(name);
        }
        Ok(node)
    }

    fn case(&mut self) -> Result<Node, Refusal> {
        self.take("case");
        self.blanks();
        let mut words = vec![self.word()?];
        self.blank_lines()?;
        if !self.sees("in") {
            return Err(UNEXPECTED);
        }
        self.take("in");
        let mut parts = vec![];
        loop {
            self.blank_lines()?;
            if self.sees("esac") {
                self.take("esac");
                break;
            }
            self.take("(");
            loop {
                self.blanks();
                words.push(self.word()?);
                self.blanks();
                match self.next() {
                    Some('|') => {}
                    Some(')') => break,
                    _ => return Err(UNEXPECTED),
                }
            }
            parts.push(self.list(&["esac"])?);
            self.blanks();
            if !(self.take(";;&") || self.take(";;") || self.take(";&") || self.sees("esac")) {
                return Err(UNEXPECTED);
            }
        }
        let redirects = self.redirects()?;
        Ok(Node::Group(Group { subshell: false, conditional: true, parts, words, variable: None, redirects }))
    }

    /// `[[ … ]]`: words up to the end, whatever they mean.
    fn extended_test(&mut self) -> Result<Node, Refusal> {
        self.take("[[");
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.check()?;
            self.blank_lines()?;
            if self.sees("]]") {
                self.take("]]");
                break;
            }
            match self.peek() {
                None => return Err(UNFINISHED),
                Some('&' | '|' | '(' | ')' | '<' | '>') => {
                    let process = matches!(self.peek(), Some('<' | '>')) && self.peek_at(1) == Some('(');
                    if process {
                        return Err(UNSUPPORTED);
                    }
                    self.next();
                }
                Some(';') => return Err(UNEXPECTED),
                Some(_) => {
                    // A regular expression may hold brackets, which mean nothing to the shell there.
                    let after = words.last().and_then(Word::bare);
                    if after.as_deref() == Some("=~") {
                        words.push(self.expression()?);
                    } else {
                        words.push(self.word()?);
                    }
                }
            }
        }
        for position in 0..words.len() {
            let operator = words.get(position).and_then(Word::bare);
            if matches!(operator.as_deref(), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")) {
                for side in [position.wrapping_sub(1), position + 1] {
                    self.evaluated(words.get(side).ok_or(UNEXPECTED)?)?;
                }
            }
            if matches!(operator.as_deref(), Some("-v" | "-R")) {
                return Err(UNSUPPORTED);
            }
        }
        let redirects = self.redirects()?;
        Ok(Node::Test { words, redirects })
    }

    fn expression(&mut self) -> Result<Word, Refusal> {
        let mut word = Word::default();
        let mut open = 0_usize;
        while let Some(character) = self.peek() {
            match character {
                '(' => open += 1,
                ')' if open == 0 => break,
                ')' => open -= 1,
                '|' if open > 0 => {}
                '\n' | ';' | '<' | '>' | '&' => return Err(UNSUPPORTED),
                other if is_blank(other) && open == 0 => break,
                '|' => break,
                _ => {
                    self.part(character, &mut word)?;
                    continue;
                }
            }
            self.next();
            word.atoms.push(Atom::Char(character, true));
        }
        Ok(word)
    }

    /// Arithmetic evaluates the values of variables, and the value of a variable can be a command there. So every name
    /// must hold a number by then.
    fn evaluated(&mut self, word: &Word) -> Result<(), Refusal> {
        let mut text = Vec::new();
        for atom in &word.atoms {
            match atom {
                Atom::Char(character, _) => text.push(*character),
                Atom::Variable(name, _) => {
                    if !matches!(name.as_str(), "#" | "?" | "$" | "!") {
                        self.must_be_number(name)?;
                    }
                    text.push(' ');
                }
                Atom::Unknown(_) => return Err(UNSUPPORTED),
            }
        }
        let mut at = 0;
        while let Some(character) = text.get(at).copied() {
            if in_name(character) {
                let rest = text.get(at..).unwrap_or_default();
                let name: String = rest.iter().copied().take_while(|it| in_name(*it)).collect();
                at += name.len();
                let after: String =
                    text.get(at..).unwrap_or_default().iter().filter(|it| !is_blank(**it)).take(2).collect();
                let assigns = after.starts_with('=') && after != "==";
                if name.starts_with(starts_name) {
                    if assigns {
                        self.names.assigned.entry(name).or_insert(true);
                    } else {
                        self.must_be_number(&name)?;
                    }
                }
                continue;
            }
            if !(is_blank(character) || "+-*/%<>=!&|^~?:,()".contains(character)) {
                return Err(UNSUPPORTED);
            }
            at += 1;
        }
        self.budget.steps += text.len();
        Ok(())
    }

    fn must_be_number(&mut self, name: &str) -> Result<(), Refusal> {
        if matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "EPOCHSECONDS") {
            return Ok(());
        }
        self.names.evaluated.insert(name.to_owned());
        if self.names.assigned.get(name) == Some(&true) { Ok(()) } else { Err(UNSUPPORTED) }
    }

    /// The rest of `(( … ))`, after the opening.
    fn arithmetic(&mut self) -> Result<Word, Refusal> {
        self.deeper(|reader| {
            let mut word = Word::default();
            let mut open = 0_usize;
            loop {
                let Some(character) = reader.peek() else { return Err(UNFINISHED) };
                match character {
                    '(' => open += 1,
                    ')' if open == 0 => {
                        if !reader.take("))") {
                            return Err(UNSUPPORTED);
                        }
                        break;
                    }
                    ')' => open -= 1,
                    '$' => {
                        reader.dollar(true, &mut word)?;
                        continue;
                    }
                    ';' | '\n' => {
                        reader.next();
                        word.atoms.push(Atom::Char(' ', true));
                        continue;
                    }
                    '\'' | '"' | '`' | '\\' | '[' | ']' | '{' | '}' | '#' | '@' => return Err(UNSUPPORTED),
                    _ => {}
                }
                reader.next();
                word.atoms.push(Atom::Char(character, true));
            }
            reader.evaluated(&word)?;
            Ok(word)
        })
    }

    fn function(&mut self, name: String) -> Result<Node, Refusal> {
        self.blank_lines()?;
        let body = self.deeper(Self::command)?;
        match body {
            Node::Group(_) => Ok(Node::Function { name, body: Box::new(body) }),
            _ => Err(UNSUPPORTED),
        }
    }

    fn simple(&mut self) -> Result<Node, Refusal> {
        let mut simple = Simple::default();
        loop {
            self.check()?;
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            match self.peek() {
                None => break,
                Some('(') if simple.words.len() == 1 && simple.assignments.is_empty() => {
                    let name = simple.words.pop().and_then(|word| word.bare()).ok_or(UNSUPPORTED)?;
                    self.next();
                    self.expect(")")?;
                    return self.function(name);
                }
                Some('<' | '>') => {}
                Some('(') => return Err(UNEXPECTED),
                Some(character) if ends_word(character) => break,
                Some(_) => {}
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            simple.words.push(self.word()?);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(UNEXPECTED);
        }
        Ok(Node::Simple(simple))
    }

    /// `name=value`, `name+=value`, `name=(…)`.
    fn assignment(&mut self) -> Result<Option<Assignment>, Refusal> {
        let mut length = 0;
        while self.peek_at(length).is_some_and(in_name) {
            length += 1;
        }
        if length == 0 || !self.peek().is_some_and(starts_name) {
            return Ok(None);
        }
        let adds = self.peek_at(length) == Some('+') && self.peek_at(length + 1) == Some('=');
        match self.peek_at(length) {
            Some('=') => {}
            Some('+') if adds => {}
            // The subscript of an array is arithmetic. `x[1]=2` would be an assignment, and `x[1]` a word.
            Some('[') => return Err(UNSUPPORTED),
            _ => return Ok(None),
        }
        let mut name = String::new();
        for _ in 0..length {
            name.extend(self.next());
        }
        self.take(if adds { "+=" } else { "=" });
        let arithmetic = self.sees_arithmetic_only();
        let mut value = Vec::new();
        if self.peek() == Some('(') {
            self.next();
            loop {
                self.blank_lines()?;
                match self.peek() {
                    Some(')') => break,
                    Some('[') | None => return Err(UNSUPPORTED),
                    Some(_) => value.push(self.word()?),
                }
            }
            self.next();
        } else if self.peek().is_some_and(|character| !ends_word(character) || self.sees_process()) {
            value.push(self.word()?);
        }
        let numeric = |word: &Word| {
            word.runs.is_empty()
                && word.literal().is_some_and(|text| text.chars().all(|it| it.is_ascii_digit()))
        };
        let number = value.len() == 1 && (arithmetic || value.iter().all(numeric));
        let known = self.names.assigned.entry(name.clone()).or_insert(true);
        *known &= number;
        Ok(Some(Assignment { name, value }))
    }

    /// Whether the value here is one `$(( … ))` and nothing else, which is a number.
    fn sees_arithmetic_only(&self) -> bool {
        let rest = self.characters.get(self.at..).unwrap_or_default();
        let value: String =
            rest.iter().take_while(|it| !matches!(it, ';' | '\n' | '|' | '`' | '{')).take(80).collect();
        let value = value.trim_end();
        value.starts_with("$((") && value.ends_with("))") && value.matches("))").count() == 1
    }

    fn sees_process(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.peek_at(1) == Some('(')
    }

    fn redirects(&mut self) -> Result<Vec<Redirect>, Refusal> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    fn redirect(&mut self) -> Result<Option<Redirect>, Refusal> {
        let start = self.at;
        let mut digits = 0;
        while self.peek_at(digits).is_some_and(|character| character.is_ascii_digit()) {
            digits += 1;
        }
        let operator = self.peek_at(digits);
        let both = digits == 0 && operator == Some('&') && self.peek_at(1) == Some('>');
        if !(matches!(operator, Some('<' | '>')) || both) {
            return Ok(None);
        }
        if digits == 0 && self.sees_process() {
            return Ok(None);
        }
        let descriptor: String =
            self.characters.get(start..start + digits).unwrap_or_default().iter().collect();
        for _ in 0..digits {
            self.next();
        }
        let input = descriptor.is_empty() || descriptor == "0";
        let is_input = operator == Some('<') && input;
        let direction = if both {
            self.take("&>");
            self.take(">");
            Direction::Write
        } else if self.take("<<<") {
            self.blanks();
            let word = self.word()?;
            let direction = Direction::Text;
            return Ok(Some(Redirect { direction, input, word, document: None }));
        } else if self.take("<<") {
            let tabs = self.take("-");
            self.blanks();
            let word = self.word()?;
            let delimiter = word.literal().filter(|_| word.runs.is_empty()).ok_or(UNSUPPORTED)?;
            let quoted = word.bare().is_none();
            let place = self.names.documents.len();
            self.names.documents.push(Word::default());
            self.documents.push(Awaited { delimiter, quoted, tabs, place });
            let (direction, word) = (Direction::Text, Word::default());
            return Ok(Some(Redirect { direction, input, word, document: Some(place) }));
        } else if self.take("<>") {
            Direction::Both
        } else if self.take("<&") || self.take(">&") {
            self.blanks();
            let word = self.word()?;
            let text = word.bare().unwrap_or_default();
            let number = !text.is_empty() && text.chars().all(|it| it.is_ascii_digit() || it == '-');
            let direction = if number { Direction::Descriptor } else { Direction::Write };
            return Ok(Some(Redirect { direction, input: is_input, word, document: None }));
        } else if self.take(">>") || self.take(">|") || self.take(">") {
            Direction::Write
        } else if self.take("<") {
            Direction::Read
        } else {
            return Err(UNEXPECTED);
        };
        self.blanks();
        let word = self.word()?;
        let input = is_input || direction == Direction::Both && input;
        Ok(Some(Redirect { direction, input, word, document: None }))
    }

    /// One word. It ends at a blank or an operator.
    fn word(&mut self) -> Result<Word, Refusal> {
        self.budget.words += 1;
        self.check()?;
        let mut word = Word::default();
        let start = self.at;
        loop {
            if self.sees_process() {
                self.next();
                self.next();
                let list = self.inner_list()?;
                word.runs.push(list);
                // It is handed over as a descriptor.
                word.atoms.extend("/dev/fd/63".chars().map(|character| Atom::Char(character, true)));
                continue;
            }
            let Some(character) = self.peek().filter(|character| !ends_word(*character)) else { break };
            self.part(character, &mut word)?;
        }
        if self.at == start { Err(UNEXPECTED) } else { Ok(word) }
    }

    /// The commands of a substitution, and its closing bracket.
    fn inner_list(&mut self) -> Result<List, Refusal> {
        // The order of the texts would depend on the line breaks inside.
        if !self.documents.is_empty() {
            return Err(UNSUPPORTED);
        }
        let list = self.list(&[])?;
        self.blank_lines()?;
        if !self.documents.is_empty() {
            return Err(UNSUPPORTED);
        }
        self.expect(")")?;
        Ok(list)
    }

    /// The next part of a word outside of quotes.
    fn part(&mut self, character: char, word: &mut Word) -> Result<(), Refusal> {
        match character {
            '\'' => {
                self.next();
                loop {
                    match self.next() {
                        None => return Err(UNFINISHED),
                        Some('\'') => break,
                        Some(other) => word.atoms.push(Atom::Char(other, true)),
                    }
                }
                word.quoted = true;
            }
            '"' => {
                self.next();
                self.double_quoted(word)?;
            }
            '\\' => {
                self.next();
                match self.next() {
                    None => return Err(UNFINISHED),
                    Some('\n') => {}
                    Some(other) => word.atoms.push(Atom::Char(other, true)),
                }
            }
            '$' if self.peek_at(1) == Some('\'') => {
                self.take("$'");
                self.ansi_quoted(word)?;
            }
            '$' if self.peek_at(1) == Some('"') => {
                self.take("$\"");
                self.double_quoted(word)?;
            }
            '$' => self.dollar(false, word)?,
            '`' => self.backquoted(false, word)?,
            other => {
                self.next();
                word.atoms.push(Atom::Char(other, false));
            }
        }
        Ok(())
    }

    fn double_quoted(&mut self, word: &mut Word) -> Result<(), Refusal> {
        loop {
            match self.peek() {
                None => return Err(UNFINISHED),
                Some('"') => {
                    self.next();
                    word.quoted = true;
                    return Ok(());
                }
                Some(character) => self.quoted_part(character, '"', word)?,
            }
        }
    }

    /// The next part inside of double quotes or of a here-document.
    fn quoted_part(&mut self, character: char, quote: char, word: &mut Word) -> Result<(), Refusal> {
        match character {
            '\\' => {
                self.next();
                match self.peek() {
                    Some('\n') => {
                        self.next();
                    }
                    Some(other) if matches!(other, '$' | '`' | '\\') || other == quote => {
                        self.next();
                        word.atoms.push(Atom::Char(other, true));
                    }
                    _ => word.atoms.push(Atom::Char('\\', true)),
                }
            }
            '$' => self.dollar(true, word)?,
            '`' => self.backquoted(true, word)?,
            other => {
                self.next();
                word.atoms.push(Atom::Char(other, true));
            }
        }
        Ok(())
    }

    fn ansi_quoted(&mut self, word: &mut Word) -> Result<(), Refusal> {
        loop {
            match self.next() {
                None => return Err(UNFINISHED),
                Some('\'') => break,
                Some('\\') => {
                    let character = self.escape()?;
                    word.atoms.push(Atom::Char(character, true));
                }
                Some(other) => word.atoms.push(Atom::Char(other, true)),
            }
        }
        word.quoted = true;
        Ok(())
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let escape = self.next().ok_or(UNFINISHED)?;
        let (radix, most) = match escape {
            'a' | 'b' | 'f' | 'v' | 'c' | '?' => return Err(UNSUPPORTED),
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            'e' | 'E' => return Ok('\u{1b}'),
            '\\' | '\'' | '"' => return Ok(escape),
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 2),
            _ => return Err(UNSUPPORTED),
        };
        let mut code = if radix == 8 { escape.to_digit(8).unwrap_or_default() } else { 0 };
        let mut digits = 0;
        while digits < most
            && let Some(digit) = self.peek().and_then(|character| character.to_digit(radix))
        {
            self.next();
            code = code.wrapping_mul(radix).wrapping_add(digit);
            digits += 1;
        }
        if digits == 0 && radix == 16 {
            return Err(UNSUPPORTED);
        }
        // Bytes above are parts of characters, and nothing here reads bytes.
        let byte = radix == 8 || most == 2;
        char::from_u32(code).filter(|_| code != 0 && !(byte && code > 0x7f)).ok_or(UNSUPPORTED)
    }

    fn dollar(&mut self, quoted: bool, word: &mut Word) -> Result<(), Refusal> {
        self.next();
        match self.peek() {
            Some('(') if self.peek_at(1) == Some('(') => {
                self.take("((");
                let inner = self.arithmetic()?;
                word.runs.extend(inner.runs);
                word.atoms.push(Atom::Unknown(quoted));
            }
            Some('(') => {
                self.next();
                let list = self.inner_list()?;
                word.runs.push(list);
                word.atoms.push(Atom::Unknown(quoted));
            }
            Some('{') => {
                self.next();
                self.deeper(|reader| reader.braced(quoted, word))?;
            }
            Some('[') => return Err(UNSUPPORTED),
            Some(character) if starts_name(character) => {
                let mut name = String::new();
                while let Some(character) = self.peek().filter(|character| in_name(*character)) {
                    name.push(character);
                    self.next();
                }
                word.atoms.push(Atom::Variable(name, quoted));
            }
            Some(character) if character.is_ascii_digit() || "?#@*$!-".contains(character) => {
                self.next();
                word.atoms.push(Atom::Variable(character.to_string(), quoted));
            }
            _ => word.atoms.push(Atom::Char('$', true)),
        }
        Ok(())
    }

    /// The rest of `${…}`.
    fn braced(&mut self, quoted: bool, word: &mut Word) -> Result<(), Refusal> {
        let length = self.peek() == Some('#') && self.peek_at(1) != Some('}');
        if length {
            self.next();
        }
        let mut name = String::new();
        match self.peek() {
            Some(character) if starts_name(character) => {
                while let Some(character) = self.peek().filter(|character| in_name(*character)) {
                    name.push(character);
                    self.next();
                }
            }
            Some(character) if character.is_ascii_digit() => {
                while let Some(character) = self.peek().filter(char::is_ascii_digit) {
                    name.push(character);
                    self.next();
                }
            }
            Some(character) if "?#@*$-".contains(character) => {
                name.push(character);
                self.next();
            }
            // `${!name}` evaluates what the variable holds.
            _ => return Err(UNSUPPORTED),
        }
        let mut plain = !length;
        if self.peek() == Some('[') {
            plain = false;
            self.next();
            while let Some(character) =
                self.peek().filter(|it| it.is_ascii_digit() || matches!(it, '@' | '*'))
            {
                let _ = character;
                self.next();
            }
            if self.next() != Some(']') {
                return Err(UNSUPPORTED);
            }
        }
        match self.peek() {
            Some('}') => {
                self.next();
                let atom = if plain { Atom::Variable(name, quoted) } else { Atom::Unknown(quoted) };
                word.atoms.push(atom);
                return Ok(());
            }
            Some(':') => {
                self.next();
                match self.peek() {
                    Some('-' | '=' | '+' | '?') => {
                        if self.next() == Some('=') {
                            self.names.assigned.insert(name, false);
                        }
                    }
                    // An offset is arithmetic.
                    _ => {
                        while self
                            .peek()
                            .is_some_and(|it| it.is_ascii_digit() || matches!(it, ' ' | '-' | ':'))
                        {
                            self.next();
                        }
                        if self.peek() != Some('}') {
                            return Err(UNSUPPORTED);
                        }
                    }
                }
            }
            Some('=') => {
                self.next();
                self.names.assigned.insert(name, false);
            }
            Some('-' | '+' | '?' | '#' | '%' | '/' | '^' | ',') => {
                self.next();
            }
            // `@P` expands what the variable holds once more.
            _ => return Err(UNSUPPORTED),
        }
        let mut inner = Word::default();
        loop {
            match self.peek() {
                None => return Err(UNFINISHED),
                Some('}') => {
                    self.next();
                    break;
                }
                // In double quotes a single quote is a character here, and outside it quotes.
                Some('\'') if quoted => return Err(UNSUPPORTED),
                Some(character) => self.part(character, &mut inner)?,
            }
        }
        word.runs.extend(inner.runs);
        word.atoms.push(Atom::Unknown(quoted));
        Ok(())
    }

    fn backquoted(&mut self, quoted: bool, word: &mut Word) -> Result<(), Refusal> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(UNFINISHED),
                Some('`') => break,
                Some('\\') => match self.next() {
                    None => return Err(UNFINISHED),
                    Some(other @ ('$' | '`' | '\\')) => text.push(other),
                    Some('"') if quoted => text.push('"'),
                    Some(other) => text.extend(['\\', other]),
                },
                Some(other) => text.push(other),
            }
        }
        let list = self.deeper(|reader| read(&text, reader.depth, reader.budget, reader.names))?;
        word.runs.push(list);
        word.atoms.push(Atom::Unknown(quoted));
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(starts_name) && text.chars().all(in_name)
}
