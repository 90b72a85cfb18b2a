//! Hostile commands: whatever they are, the analysis ends, soon, with an answer.

use ordain_shell::limits::{COMMAND_BYTES_MAX, EFFECTS_MAX};
use ordain_shell::{Analysis, EffectKind, Place, analyse};
use proptest::prelude::*;

const PLACE: Place<'static> = Place { workspace: Some("/w"), cwd: ".", home: None };

fn look(command: &str) -> Analysis {
    let analysis = analyse(command, &PLACE);
    assert!(!analysis.effects.is_empty());
    assert!(analysis.effects.len() <= 2 * EFFECTS_MAX, "{} effects", analysis.effects.len());
    analysis
}

fn is_opaque(command: &str) -> bool {
    look(command).effects.iter().any(|effect| effect.effect == EffectKind::Opaque)
}

#[test]
fn too_much_is_opaque() {
    assert!(is_opaque(&"a".repeat(COMMAND_BYTES_MAX + 1)));
    assert!(is_opaque(&"rm a; ".repeat(9_000)));
    let many: Vec<String> = (0..1_000).map(|number| format!("rm f{number}")).collect();
    assert!(is_opaque(&many.join("; ")));
    for (open, close) in
        [("(", ")"), ("$(", ")"), ("{ ", "; }"), ("if ", "; then a; fi"), ("${a:-", "}"), ("\"$(", ")\"")]
    {
        for depth in [30, 1_000, 10_000] {
            let command = format!("{}echo a{}", open.repeat(depth), close.repeat(depth));
            assert!(is_opaque(command.get(..COMMAND_BYTES_MAX).unwrap_or(&command)), "{open}");
        }
    }
    assert!(is_opaque(&format!("rm {}", "{a,b}".repeat(20))));
}

#[test]
fn inputs_that_break_other_readers_are_opaque() {
    for command in
        ["<<E$[\t\t", "cat <<A", "cat <<A\nA", "$'", "${", "((", "[[ a =~ (", "a=(", "case x in", "`", "\\"]
    {
        assert!(is_opaque(command) || command == "cat <<A\nA", "{command:?}");
    }
}

/// Twice the command is at most twice the work.
#[test]
fn work_grows_with_the_command() {
    let shapes = [
        "echo a; ",
        "a$(b)c ",
        "\"$(echo \"x\")\" ",
        "x=$((1+2)); ",
        "{a,b} ",
        "cat <<E\n$(x)\nE\n",
        "`echo a` ",
        "if a; then b; fi; ",
        "a && b || c; ",
        "'quoted' \"too\" ",
        "${a:-b} ",
        "echo a | cat; ",
        "f() { a; }; ",
        "sed s/a/b/ ; ",
        "awk '{print \"/\"}'; ",
    ];
    for shape in shapes {
        let steps = |count: usize| analyse(&shape.repeat(count), &PLACE).steps;
        let (once, twice) = (steps(200), steps(400));
        assert!(once > 0 && twice <= 2 * once + 64, "{shape:?}: {once} and {twice}");
    }
}

proptest! {
    #[test]
    fn any_text_has_an_answer(command in "[ -~\n\t]{0,200}") {
        look(&command);
    }

    #[test]
    fn any_mixture_of_syntax_has_an_answer(parts in prop::collection::vec(prop::sample::select(vec![
        "rm", "-rf", " ", "$(", ")", "(", "{", "}", "'", "\"", "`", "\\", "\n", "<<E", "E", ";", "&&", "||", "|", "&", "<", ">", "$", "${",
        "if", "then", "fi", "for", "in", "do", "done", "case", "esac", ";;", "[[", "]]", "((", "))", "x=", "git", "push", "find", "-exec",
        "{}", "*", "~", "#", "!", "=", "sed", "s/a/b/", "awk", "xargs", "bash", "-c", "eval", "é", "\u{200b}",
    ]), 0..40)) {
        look(&parts.concat());
        look(&parts.join(" "));
    }

    /// A command that is cut off does nothing less than opaque, or is a whole command of its own.
    #[test]
    fn a_broken_quote_is_opaque(command in "[a-z ./;|&-]{0,40}", quote in prop::sample::select(vec!["'", "\"", "`", "$(", "${x", "<(", "(("])) {
        let command = format!("{command} {quote}");
        prop_assert!(is_opaque(&command), "{}", command);
    }
}
