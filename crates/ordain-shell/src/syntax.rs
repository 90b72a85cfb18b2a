//! The parts of a command line.

/// A part of a word.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Atom {
    /// A character, and whether it was quoted.
    Char(char, bool),
    /// The value of a variable, and whether it was quoted.
    Variable(String, bool),
    /// Something that only the shell knows: output of a command, a number, a default. Its place in the text says
    /// nothing.
    Unknown(bool),
}

/// A word before expansion, and the commands that expanding it runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Word {
    pub(crate) atoms: Vec<Atom>,
    pub(crate) runs: Vec<List>,
    /// Whether a part of it was quoted, be it an empty one.
    pub(crate) quoted: bool,
}

/// Commands one after another.
pub(crate) type List = Vec<Item>;

/// A command, and what joins it to the one before.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Item {
    pub(crate) join: Join,
    pub(crate) node: Node,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    /// `;`, a new line, or the first one.
    Next,
    /// After `&`.
    Background,
    /// `&&`.
    And,
    /// `||`.
    Or,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Node {
    Simple(Simple),
    Pipeline(Vec<Node>),
    /// Everything with a body: `( )`, `{ }`, `if`, `while`, `for`, `case`.
    Group(Group),
    Function {
        name: String,
        body: Box<Node>,
    },
    /// `[[ … ]]` and `(( … ))`.
    Test {
        words: Vec<Word>,
        redirects: Vec<Redirect>,
    },
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Vec<Word>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    /// Whether a change of folder stays inside.
    pub(crate) subshell: bool,
    /// Whether each part may be left out or repeated.
    pub(crate) conditional: bool,
    pub(crate) parts: Vec<List>,
    /// Words that it expands: of `for`, `case`, and its patterns.
    pub(crate) words: Vec<Word>,
    /// The variable of a `for` loop.
    pub(crate) variable: Option<String>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
    Both,
    /// Another descriptor, or it is closed.
    Descriptor,
    /// A text: `<<` and `<<<`.
    Text,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Redirect {
    pub(crate) direction: Direction,
    /// Whether it replaces the standard input.
    pub(crate) input: bool,
    pub(crate) word: Word,
    /// The here-document, by its place in the text.
    pub(crate) document: Option<usize>,
}

impl Word {
    /// The text, if nothing in it is expanded.
    pub(crate) fn literal(&self) -> Option<String> {
        let character = |atom: &Atom| match atom {
            Atom::Char(character, _) => Some(*character),
            Atom::Variable(..) | Atom::Unknown(_) => None,
        };
        self.atoms.iter().map(character).collect()
    }

    /// The text, if nothing in it is quoted or expanded: only then it can be a word of the language.
    pub(crate) fn bare(&self) -> Option<String> {
        if self.quoted {
            return None;
        }
        let character = |atom: &Atom| match atom {
            Atom::Char(character, false) => Some(*character),
            _ => None,
        };
        self.atoms.iter().map(character).collect()
    }
}
