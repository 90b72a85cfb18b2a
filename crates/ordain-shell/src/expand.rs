//! From a word to arguments, as far as that can be said without running anything.

use crate::limits::BRACE_WORDS_MAX;
use crate::reader::Refusal;
use crate::syntax::{Atom, Word};
use std::collections::BTreeMap;

/// An argument.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Arg {
    /// For people; and exactly the text if `exact`.
    pub(crate) text: String,
    /// The text that it surely begins with. The whole text if `exact`, and then without quotes.
    pub(crate) prefix: String,
    /// Whether the text is all there is.
    pub(crate) exact: bool,
    /// Whether it is a pattern of file names, and nothing in it is unknown.
    pub(crate) pattern: bool,
    /// Whether it can become any number of arguments.
    pub(crate) many: bool,
}

impl Arg {
    pub(crate) fn exact(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { prefix: text.clone(), text, exact: true, pattern: false, many: false }
    }

    pub(crate) fn unknown() -> Self {
        let text = "*".to_owned();
        Self { text, prefix: String::new(), exact: false, pattern: false, many: true }
    }

    /// Whether it can be an option, for all that is known.
    pub(crate) fn may_be_option(&self) -> bool {
        if self.exact {
            self.text.starts_with('-') && self.text != "-"
        } else {
            self.prefix.is_empty() || self.prefix.starts_with('-')
        }
    }

    /// The text after a part that it surely begins with.
    pub(crate) fn after(&self, prefix: &str) -> Option<Self> {
        let rest = self.prefix.strip_prefix(prefix)?;
        let text = self.text.strip_prefix(prefix).unwrap_or(&self.text);
        Some(Self { text: text.to_owned(), prefix: rest.to_owned(), ..self.clone() })
    }
}

/// The values of variables that are known: those of loops.
pub(crate) type Values = BTreeMap<String, Vec<Arg>>;

pub(crate) fn expand(word: &Word, values: &Values, assigned_home: bool) -> Result<Vec<Arg>, Refusal> {
    let mut words = vec![word.atoms.clone()];
    if word.atoms.contains(&Atom::Char('{', false)) {
        words = braces(&word.atoms)?;
    }
    let mut args = Vec::new();
    for atoms in words {
        args.extend(alternatives(&atoms, word.quoted, values, assigned_home));
    }
    Ok(args)
}

/// The words that braces make: `a{b,c}` is `ab ac`.
fn braces(atoms: &[Atom]) -> Result<Vec<Vec<Atom>>, Refusal> {
    let mut done: Vec<Vec<Atom>> = Vec::new();
    let mut todo: Vec<(Vec<Atom>, usize)> = vec![(atoms.to_vec(), 0)];
    let mut rounds = 0;
    while let Some((atoms, from)) = todo.pop() {
        rounds += 1;
        if rounds > 4 * BRACE_WORDS_MAX || done.len() + todo.len() > BRACE_WORDS_MAX {
            return Err("the braces make too many words");
        }
        let found = (from..atoms.len()).find(|at| atoms.get(*at) == Some(&Atom::Char('{', false)));
        let Some(open) = found else {
            done.push(atoms);
            continue;
        };
        let mut depth = 0_usize;
        let mut commas = Vec::new();
        let mut close = None;
        for (at, atom) in atoms.iter().enumerate().skip(open) {
            match atom {
                Atom::Char('{', false) => depth += 1,
                Atom::Char('}', false) => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        close = Some(at);
                        break;
                    }
                }
                Atom::Char(',', false) if depth == 1 => commas.push(at),
                _ => {}
            }
        }
        let Some(close) = close else {
            done.push(atoms);
            continue;
        };
        let inside = atoms.get(open + 1..close).unwrap_or_default();
        if commas.is_empty() {
            let text: String =
                inside.iter().map(|atom| if let Atom::Char(it, _) = atom { *it } else { '$' }).collect();
            // A sequence such as `{1..3}` or `{a..f}`.
            if text.contains("..") {
                return Err("a sequence in braces makes words that ordain does not list");
            }
            todo.push((atoms, open + 1));
            continue;
        }
        let mut starts = vec![open];
        starts.extend(commas.iter().copied());
        let mut ends = commas;
        ends.push(close);
        for (start, end) in starts.into_iter().zip(ends).rev() {
            let mut word = atoms.get(..open).unwrap_or_default().to_vec();
            word.extend_from_slice(atoms.get(start + 1..end).unwrap_or_default());
            word.extend_from_slice(atoms.get(close + 1..).unwrap_or_default());
            todo.push((word, open));
        }
    }
    Ok(done)
}

fn alternatives(atoms: &[Atom], quoted: bool, values: &Values, assigned_home: bool) -> Vec<Arg> {
    // One variable of a loop stands for each of its values.
    let loops = atoms.iter().enumerate().find_map(|(at, atom)| match atom {
        Atom::Variable(name, quoted) => values.get(name).map(|known| (at, known, *quoted)),
        _ => None,
    });
    let Some((at, known, in_quotes)) = loops else {
        return argument(atoms, quoted, assigned_home).into_iter().collect();
    };
    let plain = |arg: &Arg| {
        arg.exact && !arg.text.is_empty() && !arg.text.contains([' ', '\t', '\n', '*', '?', '[', '\\'])
    };
    let usable = known.iter().all(|arg| plain(arg) || in_quotes && (arg.exact || arg.pattern));
    if !usable {
        return argument(atoms, quoted, assigned_home).into_iter().collect();
    }
    let mut all = Vec::new();
    for value in known {
        let mut spelled: Vec<Atom> = atoms.get(..at).unwrap_or_default().to_vec();
        spelled.extend(value.text.chars().map(|it| Atom::Char(it, value.exact)));
        spelled.extend_from_slice(atoms.get(at + 1..).unwrap_or_default());
        all.extend(argument(&spelled, true, assigned_home));
    }
    all
}

fn argument(atoms: &[Atom], quoted: bool, assigned_home: bool) -> Option<Arg> {
    if atoms.is_empty() {
        return quoted.then(|| Arg::exact(""));
    }
    let mut arg =
        Arg { text: String::new(), prefix: String::new(), exact: true, pattern: false, many: false };
    for (at, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Char(character, is_quoted) => {
                arg.text.push(*character);
                // A bracket that nothing closes is a character.
                let closed = || atoms.iter().skip(at).any(|atom| matches!(atom, Atom::Char(']', _)));
                if !is_quoted && (matches!(character, '*' | '?') || *character == '[' && closed()) {
                    arg.exact = false;
                    arg.pattern = true;
                }
                // A tilde that is quoted is a name; one in front is the home folder.
                if at == 0 && *character == '~' && *is_quoted {
                    arg.text.insert_str(0, "./");
                    arg.prefix.push_str("./");
                }
                if arg.exact {
                    arg.prefix.push(*character);
                }
            }
            Atom::Variable(name, _) if at == 0 && name == "HOME" && !assigned_home => {
                arg.text.push('~');
                arg.prefix.push('~');
            }
            Atom::Variable(name, is_quoted) => {
                arg.text.push('$');
                arg.text.push_str(name);
                arg.exact = false;
                arg.pattern = false;
                arg.many |= !is_quoted || name == "@";
                return Some(rest(arg, atoms.get(at + 1..).unwrap_or_default()));
            }
            Atom::Unknown(is_quoted) => {
                arg.text.push_str("$(…)");
                arg.exact = false;
                arg.pattern = false;
                arg.many |= !is_quoted;
                return Some(rest(arg, atoms.get(at + 1..).unwrap_or_default()));
            }
        }
    }
    Some(arg)
}

/// Text after something unknown is shown and says nothing.
fn rest(mut arg: Arg, atoms: &[Atom]) -> Arg {
    for atom in atoms {
        match atom {
            Atom::Char(character, _) => arg.text.push(*character),
            Atom::Variable(name, quoted) => {
                arg.text.push('$');
                arg.text.push_str(name);
                arg.many |= !quoted;
            }
            Atom::Unknown(quoted) => {
                arg.text.push_str("$(…)");
                arg.many |= !quoted;
            }
        }
    }
    arg
}
