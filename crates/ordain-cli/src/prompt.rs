//! Text and questions on the terminal of this process, broken between words.

use crate::display;
use crate::exit::Failure;
use crate::page::wrapped;
use crate::signing::terminal_failure;
use ordain_presence::Terminal;

/// Shows a text in lines that fit.
pub(crate) fn say(terminal: &mut Terminal, text: &str) -> Result<(), Failure> {
    let text = fitted(text, terminal.size().columns);
    terminal.say(&display::for_terminal(&text)).map_err(terminal_failure)
}

/// Asks for a line.
pub(crate) fn ask(terminal: &mut Terminal, question: &str) -> Result<String, Failure> {
    let question = fitted(question, terminal.size().columns);
    terminal.ask(&question).map_err(terminal_failure)
}

/// Whether somebody answers a question with a yes.
pub(crate) fn agrees(terminal: &mut Terminal, question: &str) -> Result<bool, Failure> {
    let answer = ask(terminal, &format!("{question} [y/N] "))?;
    Ok(matches!(answer.as_str(), "y" | "Y" | "yes"))
}

/// The lines of a text, each broken between its words. The last column stays free for the cursor.
fn fitted(text: &str, columns: usize) -> String {
    let body = text.trim_end_matches(' ');
    let lines = body.split('\n').flat_map(|line| {
        let start = line.len() - line.trim_start_matches(' ').len();
        let (indent, line) = line.split_at(start);
        let room = columns.saturating_sub(start + 1).max(1);
        wrapped(line, room).into_iter().map(move |part| format!("{indent}{part}"))
    });
    let mut fitted = lines.collect::<Vec<_>>().join("\n");
    // The answer is typed behind it.
    fitted.push_str(text.get(body.len()..).unwrap_or_default());
    fitted
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn a_question_is_broken_between_words() {
        assert_eq!(fitted("Is this the key? [y/N] ", 80), "Is this the key? [y/N] ");
        assert_eq!(fitted("Is this the key? [y/N] ", 12), "Is this the\nkey? [y/N] ");
        assert_eq!(fitted("\n  one two three\nfour\n", 10), "\n  one two\n  three\nfour\n");
    }
}
