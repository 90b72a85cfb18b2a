//! Policy profiles: what a run may do.

mod rules;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

pub use rules::RULES;

/// The limits of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    #[schemars(extend("x-rule" = "PF1"))]
    pub name: String,
    /// Whether commands may reach a network.
    #[schemars(extend("x-rule" = "PF2"))]
    pub allow_network: bool,
    /// How long each command may run.
    #[schemars(range(min = 1_000, max = 600_000), extend("x-rule" = "PF3"))]
    pub timeout_ms: u64,
    /// How many files commands may leave behind.
    #[schemars(range(min = 1, max = 10_000), extend("x-rule" = "PF4"))]
    pub max_output_files: u64,
    /// How many bytes patches and commands may write.
    #[schemars(range(min = 1_024, max = 1_073_741_824), extend("x-rule" = "PF5"))]
    pub max_total_output_bytes: u64,
    /// The commands that may run: names, `["*"]` for all, `[]` for none.
    #[schemars(extend("x-rule" = "PF6"))]
    pub allowed_commands: Vec<String>,
    /// Where commands may leave files: folders, `["*"]` for everywhere, `[]` for nowhere.
    #[schemars(extend("x-rule" = "PF7"))]
    pub allowed_write_roots: Vec<String>,
}

const STRICT_COMMANDS: &[&str] =
    &["cat", "cmp", "diff", "find", "grep", "head", "ls", "sha256sum", "sort", "tail", "test", "true", "wc"];
const BUILD_COMMANDS: &[&str] =
    &["cargo", "git", "go", "make", "node", "npm", "npx", "pytest", "python3", "rustc"];
const STRICT_ROOTS: &[&str] = &["build", "dist", "out", "target"];
const BUILD_ROOTS: &[&str] = &["coverage", "tmp"];

impl Profile {
    /// The names of the built-in profiles.
    pub const BUILT_IN: [&'static str; 3] = ["strict", "default", "dev"];

    /// A built-in profile.
    pub fn built_in(name: &str) -> Option<Self> {
        let all = || vec!["*".to_owned()];
        let list = |parts: &[&[&str]]| parts.concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (timeout_ms, max_output_files, max_total_output_bytes, allowed_commands, allowed_write_roots) =
            match name {
                "strict" => (30_000, 200, 10_485_760, list(&[STRICT_COMMANDS]), list(&[STRICT_ROOTS])),
                "default" => (
                    60_000,
                    500,
                    52_428_800,
                    list(&[STRICT_COMMANDS, BUILD_COMMANDS]),
                    list(&[STRICT_ROOTS, BUILD_ROOTS]),
                ),
                "dev" => (300_000, 1_000, 104_857_600, all(), all()),
                _ => return None,
            };
        Some(Self {
            name: name.to_owned(),
            allow_network: false,
            timeout_ms,
            max_output_files,
            max_total_output_bytes,
            allowed_commands,
            allowed_write_roots,
        })
    }

    /// The profile that holds when nobody says otherwise.
    pub fn default_profile() -> &'static Self {
        #[expect(clippy::expect_used, reason = "the table above has it")]
        static DEFAULT: LazyLock<Profile> =
            LazyLock::new(|| Profile::built_in("default").expect("`default` is built in"));
        &DEFAULT
    }
}
