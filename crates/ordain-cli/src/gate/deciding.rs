//! Asking a person about one action, on the terminal of this process.
//!
//! The whole view has a pager of its own: a variable that a project's file sets must not run a program here.

use super::repeat::Reach;
use super::screen::Screen;
use crate::display;
use crate::exit::Failure;
use crate::signing::terminal_failure;
use ordain_presence::Terminal;

/// The answer of a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Approve(Reach),
    Reject(String),
    Skip,
    /// Nothing more is to be asked.
    Leave,
}

/// Asks for a line; nothing if the time for it is over.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&mut Terminal, &str) -> Result<Option<String>, Failure>;

/// The question below the screen.
const PROMPT: &str = "[a]pprove [r]eject [v]iew all [s]kip [q]uit: ";
/// The same where exact repetitions may be approved too.
const PROMPT_WITH_GRANT: &str = "[a]pprove [g]rant [r]eject [v]iew all [s]kip [q]uit: ";
/// The same where no approval can count.
const PROMPT_WITHOUT_APPROVAL: &str = "[r]eject [v]iew all [s]kip [q]uit: ";
/// Before everything is shown, to somebody who answers without it.
pub(crate) const LONGER: &str = "\nThis is longer than the screen. Read all of it, then answer again.\n\n";
const REASON: &str = "Why? The agent reads it: ";

/// Waits for a line as long as it takes.
pub(crate) fn patiently(terminal: &mut Terminal, prompt: &str) -> Result<Option<String>, Failure> {
    terminal.ask(prompt).map(Some).map_err(terminal_failure)
}

/// Shows an action until somebody decides about it. Nobody approves more than they were shown: if it is longer than the
/// screen, an approval shows all of it first and asks again.
pub(crate) fn decide(terminal: &mut Terminal, screen: &Screen, ask: Ask<'_>) -> Result<Answer, Failure> {
    let mut seen_all = false;
    loop {
        let shown = screen.fitted(terminal.size());
        say(terminal, &format!("\n{}", shown.text))?;
        let prompt = match (screen.can_be_approved, screen.offers_repeat) {
            (false, _) => PROMPT_WITHOUT_APPROVAL,
            (true, false) => PROMPT,
            (true, true) => PROMPT_WITH_GRANT,
        };
        let Some(answer) = ask(terminal, prompt)? else { return Ok(Answer::Leave) };
        match answer.to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" | "g" | "grant" if !screen.can_be_approved => {
                say(terminal, "Nobody owns this gate, so nobody can sign an approval.\n")?;
            }
            "a" | "approve" | "y" | "yes" if shown.is_whole || seen_all => {
                return Ok(Answer::Approve(Reach::Once));
            }
            "g" | "grant" if screen.offers_repeat && (shown.is_whole || seen_all) => {
                return Ok(Answer::Approve(Reach::Repeat));
            }
            "g" | "grant" if !screen.offers_repeat => {
                say(terminal, "Its policies do not let it be repeated. Nothing was approved.\n")?;
            }
            "a" | "approve" | "y" | "yes" | "g" | "grant" => {
                say(terminal, LONGER)?;
                seen_all = page(terminal, screen, ask)?;
            }
            "v" | "view" => seen_all |= page(terminal, screen, ask)?,
            "r" | "reject" => match ask(terminal, REASON)? {
                Some(reason) if !reason.is_empty() => return Ok(Answer::Reject(reason)),
                Some(_) => say(terminal, "A rejection needs a reason. Nothing was rejected.\n")?,
                None => return Ok(Answer::Leave),
            },
            "q" | "quit" => return Ok(Answer::Leave),
            "" | "s" | "skip" | "n" | "no" => return Ok(Answer::Skip),
            _ => say(terminal, "Type one of the letters in brackets.\n")?,
        }
    }
}

/// Shows everything, a screen at a time; says whether the end was reached.
fn page(terminal: &mut Terminal, screen: &Screen, ask: Ask<'_>) -> Result<bool, Failure> {
    show_pages(terminal, |columns| screen.whole(columns), ask)
}

/// Shows a text, a screen at a time; says whether the end was reached.
pub(crate) fn show_pages(
    terminal: &mut Terminal,
    text: impl Fn(usize) -> String,
    ask: Ask<'_>,
) -> Result<bool, Failure> {
    let size = terminal.size();
    let text = text(size.columns);
    let lines: Vec<&str> = text.lines().collect();
    let room = size.rows.saturating_sub(1).max(1);
    let mut shown = 0;
    for part in lines.chunks(room) {
        shown += part.len();
        say(terminal, &format!("{}\n", part.join("\n")))?;
        let end = shown == lines.len();
        let prompt = if end {
            format!("-- all {shown} lines; Enter to answer -- ")
        } else {
            format!("-- {shown} of {} lines; Enter for more, q to answer -- ", lines.len())
        };
        match ask(terminal, &prompt)? {
            Some(answer) if !end && answer.starts_with('q') => return Ok(false),
            Some(_) => {}
            None => return Ok(false),
        }
    }
    Ok(true)
}

pub(crate) fn say(terminal: &mut Terminal, text: &str) -> Result<(), Failure> {
    terminal.say(&display::for_terminal(text)).map_err(terminal_failure)
}
