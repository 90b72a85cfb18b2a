//! The same test program again, as a process of its own that can be killed or watched.

use std::process::{Command, Stdio};

/// Says which test started it and with what.
const ARGUMENTS: &str = "ORDAIN_STORE_TEST_CHILD";

/// Runs the ignored test `child` of this test program, by itself or under another program.
pub fn command(under: &[&str], arguments: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let words: Vec<&str> =
        [under, &[program, "child", "--exact", "--ignored", "--nocapture", "--test-threads=1"]].concat();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env(ARGUMENTS, arguments.join("\n"))
        .stdout(Stdio::piped())
        .stdin(Stdio::piped());
    command
}

/// The arguments that the child was started with.
pub fn arguments() -> Vec<String> {
    let text = std::env::var(ARGUMENTS).expect("only other tests start this one");
    text.split('\n').map(str::to_owned).collect()
}

/// The lines that the child meant for us.
pub fn lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    // A line that a killed child did not finish was not said.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(|line| line.split_once("> ")).map(|(_, said)| said.to_owned()).collect()
}

/// Says something to the parent.
pub fn say(words: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "> {words}").unwrap();
    out.flush().unwrap();
}
