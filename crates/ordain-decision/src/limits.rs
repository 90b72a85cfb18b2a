//! Everything from outside has a limit, and the limit has a name.

/// How far in the past an approval may be given.
pub const APPROVAL_MS_MAX: u64 = 24 * 3_600_000;
/// Approvals that a permit may ask for, and that are looked for when a proposal could be held.
pub const APPROVALS_MAX: usize = 16;
/// Uses that `@max_executions` may grant.
pub const EXECUTIONS_MAX: u64 = 1_000_000;
/// How long a permit holds that a standing grant came to.
pub const STANDING_PERMIT_MS: u64 = 5 * 60_000;
/// How long a permit holds when the proposal has no window.
pub const WINDOW_MS_DEFAULT: u64 = 5 * 60_000;
/// Preconditions that are compared.
pub const PRECONDITIONS_MAX: usize = 64;
/// Bytes of a regular expression in a precondition.
pub const PATTERN_BYTES_MAX: usize = 1_024;
/// Classes of characters in one, such as `\w` and `[a-z]`.
pub const PATTERN_CLASSES_MAX: usize = 32;
/// Bytes of memory of a compiled regular expression.
pub(crate) const PATTERN_MEMORY_MAX: usize = 1 << 20;
/// The last millisecond that can be written as a date: the end of the year 9999.
pub const NOW_MS_MAX: u64 = 253_402_300_799_999;
/// Policies that are looked at to find what is nearest to a permission.
pub(crate) const MISSES_LOOKED_AT: usize = 256;
/// Nearest misses that are reported.
pub(crate) const MISSES_TOLD: usize = 3;
/// Operations of a patch set of which the same is said one by one; the others are counted.
pub(crate) const OPERATIONS_TOLD: usize = 16;
/// Bytes of a file of policies, or of a schema.
pub(crate) const POLICY_BYTES_MAX: usize = 4 << 20;
/// Bytes of all files of a policy folder together.
pub(crate) const FOLDER_BYTES_MAX: usize = 8 << 20;
/// Statements in a policy folder: to check very many takes longer than anybody waits.
pub(crate) const POLICIES_MAX: usize = 5_000;
/// How many groups or domains may lie in each other.
pub(crate) const GROUP_CHAIN_MAX: usize = 64;
/// How often one statement may use `if`.
pub(crate) const POLICY_CHOICES_MAX: usize = 64;
/// How deep brackets may go in them.
pub(crate) const POLICY_DEPTH_MAX: usize = 64;
/// Operators in one statement.
pub(crate) const POLICY_OPERATORS_MAX: usize = 1_000;
/// Parts of all declared types together, written out.
pub(crate) const TYPE_PARTS_MAX: usize = 2_000;
/// Bytes of a permit.
pub(crate) const PERMIT_BYTES_MAX: usize = 16 * 1024;
