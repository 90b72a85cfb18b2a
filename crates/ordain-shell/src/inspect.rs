//! Small languages in arguments: whether a text of `sed` or `awk` only edits and prints.

/// Whether a script of `sed` only edits: no `e`, `w`, `r` or other command that reaches beyond its input.
pub(crate) fn sed_only_edits(script: &str) -> bool {
    let characters: Vec<char> = script.chars().collect();
    let mut at = 0;
    loop {
        while characters.get(at).is_some_and(|it| it.is_whitespace() || matches!(it, ';' | '{' | '}')) {
            at += 1;
        }
        if at >= characters.len() {
            return true;
        }
        match command(&characters, at) {
            Some(next) => at = next,
            None => return false,
        }
    }
}

/// Whether a script with something unknown in it is a plain substitution. The unknown part could end it early, so it is
/// not.
pub(crate) fn sed_template(_script: &str) -> bool {
    false
}

/// One command with its address. Where the next one begins.
fn command(characters: &[char], mut at: usize) -> Option<usize> {
    for _ in 0..2 {
        at = address(characters, at)?;
        while characters.get(at).is_some_and(|it| matches!(it, ' ' | '\t')) {
            at += 1;
        }
        if characters.get(at) == Some(&',') {
            at += 1;
        } else {
            break;
        }
    }
    while characters.get(at).is_some_and(|it| matches!(it, '!' | ' ' | '\t')) {
        at += 1;
    }
    match *characters.get(at)? {
        'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' | 'z' => {
            ends(characters, at + 1)
        }
        'q' | 'Q' => {
            at += 1;
            while characters.get(at).is_some_and(char::is_ascii_digit) {
                at += 1;
            }
            ends(characters, at)
        }
        '{' | '}' => Some(at + 1),
        '#' => Some(line_end(characters, at)),
        'a' | 'i' | 'c' => Some(text_end(characters, at + 1)),
        ':' | 'b' | 't' | 'T' => {
            at += 1;
            while characters.get(at).is_some_and(|it| !matches!(it, ';' | '\n' | '}')) {
                at += 1;
            }
            Some(at)
        }
        's' | 'y' => {
            let flags = characters.get(at) == Some(&'s');
            let delimiter = *characters.get(at + 1)?;
            if delimiter == '\\' || delimiter == '\n' {
                return None;
            }
            at += 2;
            for _ in 0..2 {
                at = part_end(characters, at, delimiter)?;
            }
            while flags
                && characters
                    .get(at)
                    .is_some_and(|it| matches!(it, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9'))
            {
                at += 1;
            }
            ends(characters, at)
        }
        _ => None,
    }
}

/// A line, a pattern, or none.
fn address(characters: &[char], mut at: usize) -> Option<usize> {
    match characters.get(at) {
        Some('/') => {
            at = part_end(characters, at + 1, '/')?;
            while characters.get(at).is_some_and(|it| matches!(it, 'I' | 'M')) {
                at += 1;
            }
            Some(at)
        }
        Some('\\') => part_end(characters, at + 2, *characters.get(at + 1)?),
        Some('$') => Some(at + 1),
        Some(first) if first.is_ascii_digit() || matches!(first, '+' | '~') => {
            while characters.get(at).is_some_and(|it| it.is_ascii_digit() || matches!(it, '~' | '+')) {
                at += 1;
            }
            Some(at)
        }
        _ => Some(at),
    }
}

/// Behind the next delimiter that is not escaped. A delimiter in brackets is doubtful, and refused.
fn part_end(characters: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    let mut bracket = false;
    loop {
        let character = *characters.get(at)?;
        if character == '\\' {
            at += 2;
            continue;
        }
        if character == delimiter {
            return (!bracket).then_some(at + 1);
        }
        match character {
            '[' => bracket = true,
            ']' => bracket = false,
            _ => {}
        }
        at += 1;
    }
}

/// Only a separator may follow.
fn ends(characters: &[char], mut at: usize) -> Option<usize> {
    while characters.get(at).is_some_and(|it| matches!(it, ' ' | '\t')) {
        at += 1;
    }
    match characters.get(at) {
        None => Some(at),
        Some(';' | '\n' | '}') => Some(at),
        Some('#') => Some(line_end(characters, at)),
        Some(_) => None,
    }
}

fn line_end(characters: &[char], mut at: usize) -> usize {
    while characters.get(at).is_some_and(|it| *it != '\n') {
        at += 1;
    }
    at
}

/// The text of `a`, `i` and `c`: to the end of a line that is not continued.
fn text_end(characters: &[char], mut at: usize) -> usize {
    while let Some(character) = characters.get(at) {
        match character {
            '\\' => at += 2,
            '\n' => return at,
            _ => at += 1,
        }
    }
    at
}

/// Whether a program of `awk` only computes and prints: no command, no file, no extension.
pub(crate) fn awk_only_prints(program: &str) -> bool {
    let words =
        ["system", "getline", "close", "fflush", "ENVIRON", "PROCINFO", "ARGV", "inplace", "include", "load"];
    let characters: Vec<char> = program.chars().collect();
    let mut code = String::new();
    let mut at = 0;
    // Strings are left out. An expression in slashes is not: it may look like a division.
    while let Some(character) = characters.get(at) {
        at += 1;
        if *character == '"' {
            code.push('"');
            loop {
                match characters.get(at) {
                    None => return false,
                    Some('\\') => at += 2,
                    Some('"') => {
                        at += 1;
                        break;
                    }
                    Some(_) => at += 1,
                }
            }
            continue;
        }
        code.push(*character);
    }
    if code.contains(['@', '\\', '`']) && code.contains("@") || words.iter().any(|word| code.contains(word)) {
        return false;
    }
    // A slash and a quote together could hide where a string begins.
    if code.contains('/') && program.contains('"') && has_quote_in_slashes(program) {
        return false;
    }
    let piped = code.replace("||", "").contains('|');
    let mut prints = false;
    let mut redirected = false;
    let mut word = String::new();
    for character in code.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        prints |= word == "print" || word == "printf";
        word.clear();
        match character {
            ';' | '}' | '{' | '\n' => prints = false,
            '>' => redirected |= prints,
            _ => {}
        }
    }
    !piped && !redirected
}

fn has_quote_in_slashes(program: &str) -> bool {
    let mut inside = false;
    let mut quoted = false;
    let mut before = ' ';
    for character in program.chars() {
        match character {
            '"' if before != '\\' && inside => return true,
            '"' if before != '\\' => quoted = !quoted,
            '/' if !quoted && before != '\\' => inside = !inside,
            '\n' => inside = false,
            _ => {}
        }
        before = character;
    }
    false
}
