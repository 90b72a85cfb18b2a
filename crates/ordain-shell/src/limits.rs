//! How much of a command is looked at. Above a limit the whole command is opaque.

/// Bytes of a command.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// How deep constructs may lie in each other, and commands in the arguments of others.
pub const DEPTH_MAX: usize = 16;
/// Effects of a command.
pub const EFFECTS_MAX: usize = 128;
/// Words that the braces of one word make.
pub const BRACE_WORDS_MAX: usize = 64;
/// Words of a command, after braces.
pub const WORDS_MAX: usize = 8 * 1024;
/// Folders that a command can be in at one place, because a `cd` before it may have failed.
pub const FOLDERS_MAX: usize = 4;
/// Characters of the arguments that an effect shows.
pub const SHOWN_CHARS_MAX: usize = 400;
/// Arguments that an effect shows.
pub const SHOWN_ARGS_MAX: usize = 32;
/// Characters read, with those of texts that are commands themselves. Each level can read its text once.
pub(crate) const STEPS_MAX: usize = 4 * COMMAND_BYTES_MAX;
