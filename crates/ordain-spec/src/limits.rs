//! Everything from outside has a limit, and the limit has a name.

/// Characters of an intent's goal.
pub const GOAL_CHARS_MAX: usize = 10_000;
/// Constraints of an intent.
pub const CONSTRAINTS_MAX: usize = 1_000;
/// Characters of one constraint.
pub const CONSTRAINT_CHARS_MAX: usize = 4_000;
/// Bytes of an intent's text.
pub const INTENT_BYTES_MAX: usize = 1 << 20;

/// Paths that an intent deletes.
pub const DELETES_MAX: usize = 1_000;

/// Files of one diff.
pub const DIFF_FILES_MAX: usize = 10_000;
/// Bytes of a line of a diff that a message shows.
pub const DIFF_LINE_BYTES_SHOWN: usize = 80;

/// Canonical bytes of an action's `parameters`, and of its `target.constraints`.
pub const OPEN_OBJECT_BYTES_MAX: usize = 64 * 1024;
/// Levels of an action's `parameters`, and of its `target.constraints`.
pub const OPEN_OBJECT_DEPTH_MAX: usize = 32;

/// How far ahead of now an evidence packet may have been observed: clocks differ.
pub const CLOCK_SKEW_MS: i64 = 5_000;
/// How old an evidence packet may be when neither binding nor policy says.
pub const FRESHNESS_MS_DEFAULT: i64 = 3_600_000;

/// Tags of a note.
pub const NOTE_TAGS_MAX: usize = 24;
/// Aliases of a note.
pub const NOTE_ALIASES_MAX: usize = 8;
/// Characters of a note's title at least.
pub const NOTE_TITLE_CHARS_MIN: usize = 3;
/// Characters of a note's id at least.
pub const NOTE_ID_CHARS_MIN: usize = 8;

/// Bytes of a signed statement.
pub const STATEMENT_BYTES_MAX: usize = 8 * 1024;
/// How long a signed statement may hold, from its signing on.
pub const STATEMENT_MS_MAX: u64 = 3_600_000;
/// How long after it was unlocked a key still signs `recent`.
pub const SESSION_MS_MAX: u64 = 15 * 60 * 1_000;
/// How many signatures a key makes after it was unlocked once.
pub const SESSION_SIGNATURES_MAX: u64 = 20;
/// How long an approval may stand for later calls.
pub const STANDING_MS_MAX: u64 = 24 * 3_600_000;
/// How many later calls an approval may stand for.
pub const STANDING_USES_MAX: u64 = 20;
/// The largest number that every JSON can hold.
pub const WHOLE_MAX: u64 = (1 << 53) - 1;
