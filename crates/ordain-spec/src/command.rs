//! Commands without a shell: a line is split into an argument vector by POSIX quoting rules, what only a shell could
//! do is refused, and an argument vector is written as such a line.

/// Why a command line cannot run without a shell.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Nothing to run.
    #[error("the command is empty")]
    Empty,
    /// A character that a shell would act on.
    #[error("`{0}` needs a shell ({1}); quote it, or name one command and its arguments")]
    Shell(char, &'static str),
    /// A quote that is never closed.
    #[error("a quote is not closed")]
    Unclosed,
    /// A backslash with nothing behind it.
    #[error("the command ends in a backslash")]
    TrailingBackslash,
    /// `NAME=value` before the command.
    #[error("`{0}` sets a variable, which needs a shell")]
    Assignment(String),
    /// A NUL cannot be passed to a process.
    #[error("the command contains a NUL character")]
    Nul,
}

fn shell_only(character: char) -> Option<&'static str> {
    Some(match character {
        '|' => "a pipe",
        '<' | '>' => "a redirection",
        ';' => "a second command",
        '&' => "a background command or a list",
        '$' => "an expansion",
        '`' => "a command substitution",
        '*' | '?' | '[' => "a glob",
        '(' | ')' => "a subshell",
        '\n' => "a second command",
        _ => return None,
    })
}

/// Splits a command line into its arguments.
///
/// ```
/// use ordain_spec::split_command;
/// assert_eq!(split_command(r#"grep -c 'a b' "it's" x\ y"#).unwrap(), ["grep", "-c", "a b", "it's", "x y"]);
/// assert!(split_command("ls | wc").is_err());
/// ```
pub fn split_command(line: &str) -> Result<Vec<String>, CommandError> {
    if line.contains('\0') {
        return Err(CommandError::Nul);
    }
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(inner) => word.push(inner),
                        None => return Err(CommandError::Unclosed),
                    }
                }
            }
            '"' => double_quoted(&mut characters, word.get_or_insert_default())?,
            '\\' => match characters.next() {
                // A line continuation.
                Some('\n') => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => return Err(CommandError::TrailingBackslash),
            },
            '~' | '#' if word.is_none() => {
                return Err(CommandError::Shell(
                    character,
                    if character == '~' { "a home folder" } else { "a comment" },
                ));
            }
            _ => match shell_only(character) {
                Some(reason) => return Err(CommandError::Shell(character, reason)),
                None => {
                    let word = word.get_or_insert_default();
                    if character == '=' && words.is_empty() && is_name(word) {
                        return Err(CommandError::Assignment(format!("{word}=")));
                    }
                    word.push(character);
                }
            },
        }
    }
    words.extend(word);
    match words.first() {
        Some(first) if !first.is_empty() => Ok(words),
        _ => Err(CommandError::Empty),
    }
}

fn double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), CommandError> {
    loop {
        match characters.next() {
            Some('"') => return Ok(()),
            Some('$') => return Err(CommandError::Shell('$', "an expansion")),
            Some('`') => return Err(CommandError::Shell('`', "a command substitution")),
            Some('\\') => match characters.next() {
                Some('\n') => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => return Err(CommandError::Unclosed),
            },
            Some(inner) => word.push(inner),
            None => return Err(CommandError::Unclosed),
        }
    }
}

fn is_name(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
}

/// The command line that [`split_command`] splits into exactly these arguments.
///
/// ```
/// use ordain_spec::join_command;
/// assert_eq!(join_command(&["grep", "-c", "it's", "a b"]).unwrap(), r"grep -c 'it'\''s' 'a b'");
/// ```
pub fn join_command<S: AsRef<str>>(argv: &[S]) -> Result<String, CommandError> {
    if argv.first().is_none_or(|command| command.as_ref().is_empty()) {
        return Err(CommandError::Empty);
    }
    let mut line = String::new();
    for (position, argument) in argv.iter().enumerate() {
        let argument = argument.as_ref();
        if argument.contains('\0') {
            return Err(CommandError::Nul);
        }
        // An unquoted `=` in the first word would set a variable.
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"_@%+:,./-".contains(&byte) || (byte == b'=' && position > 0)
        };
        if position > 0 {
            line.push(' ');
        }
        if !argument.is_empty() && argument.bytes().all(plain) {
            line.push_str(argument);
        } else {
            // Inside single quotes nothing has a meaning but the quote itself.
            line.push('\'');
            line.push_str(&argument.replace('\'', r"'\''"));
            line.push('\'');
        }
    }
    Ok(line)
}

/// The command line for people: as [`join_command`] quotes it, or for arguments that no shell could take, joined.
pub fn shown_command<S: AsRef<str>>(argv: &[S]) -> String {
    join_command(argv).unwrap_or_else(|_| argv.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joins_with_quotes_where_they_are_needed() {
        for (argv, line) in [
            (vec!["cargo", "test", "--jobs=1", "a/b.rs"], Ok("cargo test --jobs=1 a/b.rs")),
            (vec!["X=1"], Ok("'X=1'")),
            (vec!["echo", "", "~", "#", "é", "a\nb"], Ok("echo '' '~' '#' 'é' 'a\nb'")),
            (vec!["echo", "'"], Ok(r"echo ''\'''")),
            (vec![], Err(CommandError::Empty)),
            (vec!["", "a"], Err(CommandError::Empty)),
            (vec!["a", "b\0"], Err(CommandError::Nul)),
        ] {
            assert_eq!(join_command(&argv), line.map(str::to_owned), "{argv:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_joined_splits_again(
            argv in proptest::collection::vec(r#"[^\x00]{0,6}|[-A-Za-z_=~# \t\n'"\\$`*|&;<>()]{0,8}"#, 1..6)
        ) {
            match join_command(&argv) {
                Ok(line) => prop_assert_eq!(split_command(&line), Ok(argv)),
                Err(error) => prop_assert!(argv[0].is_empty(), "{error}: {argv:?}"),
            }
        }
    }

    #[test]
    fn splits_as_a_shell_would() {
        for (line, words) in [
            ("true", vec!["true"]),
            ("  a\tb  ", vec!["a", "b"]),
            ("a '' b", vec!["a", "", "b"]),
            (r#"a "b \" \$ \x c""#, vec!["a", r#"b " $ \x c"#]),
            (r"a\|b", vec!["a|b"]),
            ("grep 'a|b;c*$x'", vec!["grep", "a|b;c*$x"]),
            ("a~ b#c x=y", vec!["a~", "b#c", "x=y"]),
        ] {
            assert_eq!(
                split_command(line).as_deref(),
                Ok(&*words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()),
                "{line}"
            );
        }
    }

    #[test]
    fn refuses_what_needs_a_shell() {
        for line in [
            "",
            "  ",
            "a | b",
            "a > f",
            "a < f",
            "a; b",
            "a && b",
            "a &",
            "echo $HOME",
            "echo \"$HOME\"",
            "echo `id`",
            "ls *",
            "ls a?",
            "ls [ab]",
            "(a)",
            "a\nb",
            "cd ~",
            "a # b",
            "X=1 a",
            "'a",
            "\"a",
            "a\\",
            "a\0",
            "''",
        ] {
            assert!(split_command(line).is_err(), "{line:?}");
        }
    }
}
