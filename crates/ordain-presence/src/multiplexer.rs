//! Terminal multiplexers. Any process that reaches the server of one, such as any of the same user, types
//! into its terminals.

use crate::sessions::parent_and_program;
use std::path::Path;

/// Programs that own terminals which others can type into.
const MULTIPLEXERS: [&str; 6] = ["tmux", "screen", "zellij", "dtach", "abduco", "byobu"];
/// Variables that they set for the programs inside.
const VARIABLES: [&str; 3] = ["TMUX", "STY", "ZELLIJ"];
/// No machine nests programs this deep.
const DEPTH_MAX: usize = 1_000;

/// The multiplexer that this process runs under, if it can be seen. The environment is asked, and so are the
/// processes above this one: a variable can be removed, an ancestor cannot.
pub fn multiplexer() -> Option<String> {
    by_environment(|name| std::env::var(name).ok()).or_else(|| by_ancestors(std::process::id()))
}

fn by_environment(get: impl Fn(&str) -> Option<String>) -> Option<String> {
    let named = VARIABLES.iter().find(|name| get(name).is_some_and(|value| !value.is_empty()));
    if let Some(name) = named {
        return Some(format!("the variable {name}"));
    }
    let term = get("TERM").unwrap_or_default();
    let is_one = ["tmux", "screen"].iter().any(|name| term.starts_with(name));
    is_one.then(|| format!("TERM={term}"))
}

fn by_ancestors(start: u32) -> Option<String> {
    let mut pid = start;
    for _ in 0..DEPTH_MAX {
        let process = Path::new("/proc").join(pid.to_string());
        let (parent, program) = parent_and_program(&process)?;
        let file = std::fs::read_link(process.join("exe")).ok();
        let file = file.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        if pid != start
            && [Some(program.clone()), file].into_iter().flatten().any(|name| is_multiplexer(&name))
        {
            return Some(format!("process {pid} (`{program}`)"));
        }
        if parent == 0 {
            return None;
        }
        pid = parent;
    }
    Some("too many processes".to_owned())
}

/// `tmux: server` is how tmux calls itself.
fn is_multiplexer(name: &str) -> bool {
    let first = name.split([':', ' ']).next().unwrap_or_default().to_lowercase();
    MULTIPLEXERS.contains(&first.as_str())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn variables_tell() {
        let of = |pairs: &'static [(&str, &str)]| {
            by_environment(move |name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[("TERM", "xterm-256color")]), None);
        assert_eq!(of(&[("TMUX", "")]), None);
        for inside in [
            &[("TMUX", "/tmp/tmux-1000/default,1,0")][..],
            &[("STY", "1.pts")],
            &[("TERM", "screen-256color")],
            &[("TERM", "tmux")],
        ] {
            assert!(of(inside).is_some(), "{inside:?}");
        }
    }

    /// A variable can be removed; the program above cannot.
    #[test]
    fn ancestors_tell() {
        let folder = tempfile::tempdir().unwrap();
        let shell = folder.path().join("tmux");
        std::fs::copy("/bin/sh", &shell).unwrap();
        let script = "sleep 60 & echo $!; wait";
        let mut inside = Command::new(&shell).args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let output = inside.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let sleeper: u32 = line.trim().parse().unwrap();
        let found = by_ancestors(sleeper);
        Command::new("kill").arg(sleeper.to_string()).status().unwrap();
        inside.wait().unwrap();
        assert!(found.clone().is_some_and(|found| found.contains("tmux")), "{found:?}");
        for name in ["tmux: server", "SCREEN", "screen"] {
            assert!(is_multiplexer(name), "{name}");
        }
        assert!(!is_multiplexer("bash") && !is_multiplexer("tmuxinator-ui"));
    }
}
