//! Git's diffs: real ones give what git gives, and hostile ones name their line.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and this one asks git"
)]

use ordain_spec::patch::{FileChange, parse_diff};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

type Tree = BTreeMap<String, Vec<u8>>;

/// The files that a diff makes of these, or the line at which it is refused.
fn applied(files: &Tree, diff: &[u8]) -> Result<Tree, String> {
    let diff = parse_diff(diff).map_err(|error| error.to_string())?;
    let changes = diff.changes(|path| Ok(files.get(path).cloned())).map_err(|error| error.to_string())?;
    let mut tree = files.clone();
    for FileChange { path, was_there, after } in changes {
        assert_eq!(was_there, files.contains_key(&path), "{path}");
        match after {
            Some(content) => drop(tree.insert(path, content)),
            None => drop(tree.remove(&path)),
        }
    }
    Ok(tree)
}

fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(folder)
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "core.autocrlf=false",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .env_remove("GIT_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn write(folder: &Path, tree: &Tree) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|it| it.file_name() != ".git") {
        match entry.file_type().unwrap().is_dir() {
            true => fs::remove_dir_all(entry.path()).unwrap(),
            false => fs::remove_file(entry.path()).unwrap(),
        }
    }
    for (path, content) in tree {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line =
        prop_oneof!["[a-d]{0,3}", "[a-d]\r", Just(String::new()), Just("--- a/x".to_owned()), "é[+ -]?"];
    (prop::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text = lines.join("\n");
        if ended && !text.is_empty() {
            text.push('\n');
        }
        text.into_bytes()
    })
}

/// Names that git has to quote, and some that it need not; none is a folder of another.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]\\.txt",
        "d/[a-c]",
        Just("with blank".to_owned()),
        Just("e/q\"uote".to_owned()),
        Just("ümlaut.md".to_owned()),
        Just("f/b/deep".to_owned()),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::btree_map(name(), content(), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The diff that git writes of two trees, applied here, gives the second tree; with renames, copies and
    /// context or without.
    #[test]
    fn a_diff_of_git_gives_the_tree_of_git(before in tree(), after in tree(), moved in any::<bool>()) {
        let mut after = after;
        if moved && let Some((path, content)) = before.iter().next() {
            after.remove(path);
            after.insert("moved here".to_owned(), [content.as_slice(), b"one more\n"].concat());
        }
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q"]);
        write(folder.path(), &before);
        git(folder.path(), &["add", "-A"]);
        git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "before"]);
        write(folder.path(), &after);
        git(folder.path(), &["add", "-A"]);
        for options in [&["-M"][..], &["-M", "-C", "--find-copies-harder"], &["--no-renames", "-U0"], &["-U10"]] {
            let diff = git(folder.path(), &[&["diff", "--cached", "--text", "HEAD"], options].concat());
            if diff.is_empty() {
                prop_assert_eq!(&before, &after);
                continue;
            }
            let found = applied(&before, &diff);
            prop_assert_eq!(found.as_ref(), Ok(&after), "{}", String::from_utf8_lossy(&diff));
        }
        git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "after"]);
        // With the message, the statistics and the signature of a mail around it.
        if before != after {
            let mail = git(folder.path(), &["format-patch", "-1", "--stdout", "--text"]);
            let found = applied(&before, &mail);
            prop_assert_eq!(found.as_ref(), Ok(&after), "{}", String::from_utf8_lossy(&mail));
        }
    }

    /// Whatever a diff says, no path that comes out of it leaves the root.
    #[test]
    fn no_path_leaves_the_root(name in "[a./\\\\\" ]{0,8}|\\.\\./x|/etc/x|a/\\.git/x", quoted in any::<bool>()) {
        let name = if quoted { format!("\"a/{name}\"") } else { format!("a/{name}") };
        let text = format!("diff --git {name} {}\nnew file mode 100644\n--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+x\n",
            name.replacen("a/", "b/", 1), name.replacen("a/", "b/", 1));
        if let Ok(tree) = applied(&Tree::new(), text.as_bytes()) {
            for path in tree.keys() {
                prop_assert!(ordain_spec::path_problem(path).is_none(), "{}", path);
            }
        }
    }
}

fn files() -> Tree {
    [("a", "1\n2\n3\n"), ("crlf", "x\r\ny\r\n"), ("open", "1\n2")]
        .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
        .into()
}

const HUNK: &str = "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";

fn change(name: &str, hunks: &str) -> String {
    format!("diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n{hunks}")
}

#[test]
fn what_a_diff_can_say() {
    let ok =
        |diff: &str| applied(&files(), diff.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{diff}"));
    assert_eq!(ok(&change("a", HUNK))["a"], b"1\ntwo\n3\n");
    assert_eq!(ok(&change("crlf", "@@ -2 +2 @@\n-y\r\n+z\r\n"))["crlf"], b"x\r\nz\r\n");
    let open = "@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n";
    assert_eq!(ok(&change("open", open))["open"], b"1\n2\n");
    let closes = "@@ -3 +3 @@\n-3\n+3\n\\ No newline at end of file\n";
    assert_eq!(ok(&change("a", closes))["a"], b"1\n2\n3");
    let renamed = "diff --git a/a b/b c\nsimilarity index 100%\nrename from a\nrename to b c\n";
    let tree = ok(renamed);
    assert!(!tree.contains_key("a") && tree["b c"] == b"1\n2\n3\n");
    let empty = "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n";
    assert_eq!(ok(empty)["n"], b"");
    let mode = "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n";
    assert_eq!(ok(mode), files());
    assert!(parse_diff(mode.as_bytes()).unwrap().files[0].mode.is_some());
    let octal = "diff --git \"a/\\303\\274\" \"b/\\303\\274\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\274\"\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(ok(octal)["ü"], b"x\n");
}

#[test]
fn what_is_refused_names_its_line() {
    let create = |name: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    for (diff, expected) in [
        (String::new(), "line 1 of the diff: it has no line `diff --git`"),
        (format!("--- a/a\n+++ b/a\n{HUNK}"), "line 1 of the diff: no line `diff --git` comes before"),
        (create("../x"), "line 1 of the diff: path `../x` contains `..`"),
        (create("/etc/passwd"), "starts with `/`"),
        (create("x//y"), "contains `//`"),
        (
            change("a", &HUNK.replace("-2", "-two")),
            "line 7 of the diff: line 2 of `a` is not as the diff says",
        ),
        (
            change("a", &HUNK.replace("-1,3 +1,3", "-2,3 +2,3")),
            "line 6 of the diff: line 2 of `a` is not as the diff says",
        ),
        (change("a", &HUNK.replace("+1,3", "+2,3")), "not counted right"),
        (change("a", &HUNK.replace("-1,3 +1,3", "-1,2 +1,2")), "more lines than the hunk"),
        (change("a", &HUNK.replace("-1,3 +1,3", "-1,9 +1,9")), "the diff ends within the hunk"),
        (change("a", "@@ -1 +1 @@\n 1\n"), "changes nothing"),
        (change("a", "@@ x @@\n"), "not a hunk"),
        (change("none", HUNK), "`none` is not there"),
        (create("a"), "`a` is to be made and is there already"),
        (create("x") + &create("x"), "line 7 of the diff: `x` is changed a second time; line 1 changes it"),
        (
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
                .to_owned(),
            "line 2 of the diff: the file is a symbolic link",
        ),
        ("diff --git a/a b/a\nindex 1..2 120000\n".to_owned(), "symbolic link"),
        ("diff --git a/s b/s\nnew file mode 160000\n".to_owned(), "submodule"),
        (
            "diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 1\n".to_owned(),
            "line 3 of the diff: the file is binary",
        ),
        (
            "diff --git a/b b/b\nindex 1..2\nBinary files a/b and b/b differ\n".to_owned(),
            "line 3 of the diff: the file is binary",
        ),
        ("diff --git a b\nnew file mode 100644\n".to_owned(), "line 1 of the diff"),
        ("diff --git a/a b/a\r\n".to_owned(), "CR LF"),
        ("diff --cc a\n".to_owned(), "combined diff"),
        (
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
                .to_owned(),
            "has more in it",
        ),
        ("diff --git a/a b/a\n--- a/a\n+++ b/crlf\n@@ -1 +1 @@\n-1\n+2\n".to_owned(), "different files"),
        // Without prefixes, as `diff.noprefix` of a repository writes it: the file is `a/x`, and not `x`.
        (
            change("a", HUNK).replace("b/a", "a/a"),
            "line 1 of the diff: both names begin with the same prefix",
        ),
        (
            "diff --git a/x a/x\nnew file mode 100644\n--- /dev/null\n+++ a/x\n@@ -0,0 +1 @@\n+x\n"
                .to_owned(),
            "the same prefix",
        ),
        (change("a", HUNK).replace("+++ b/a", "+++ a/a"), "the same prefix"),
        // Two lines of one header that name different files.
        (
            "diff --git a/a b/b c\nsimilarity index 100%\nrename from crlf\nrename from a\nrename to b c\n"
                .to_owned(),
            "line 4 of the diff: its header says this a second time",
        ),
        (
            "diff --git a/a b/a\nold mode 100644\nnew mode 100644\nnew mode 100755\n".to_owned(),
            "line 4 of the diff: its header says this a second time",
        ),
        ("diff --git \"a/\\q\" \"b/\\q\"\n".to_owned(), "unknown escape"),
        ("diff --git \"a/x b/x\n".to_owned(), "does not end"),
        ("diff --git \"a/\\377\" \"b/\\377\"\nnew file mode 100644\n".to_owned(), "not UTF-8"),
    ] {
        let error = applied(&files(), diff.as_bytes()).unwrap_err();
        assert!(error.contains(expected), "{error}\nexpected: {expected}\n{diff}");
    }
    let guarded =
        parse_diff(create("x").as_bytes()).unwrap().changes(|_| Err("is guarded".to_owned())).unwrap_err();
    assert_eq!(guarded.to_string(), "line 1 of the diff: `x` is guarded");
}
