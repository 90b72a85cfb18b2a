//! Limits of the strict reader (docs/contracts/canonical.md).

/// Containers inside containers: the 129th level is refused.
pub const DEPTH_MAX: usize = 128;

/// Bytes of one object key, counted after its escapes are decoded.
pub const KEY_BYTES_MAX: usize = 1024;

/// Bytes of one document. Offsets are kept in 32 bits.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 29;

/// Integers from here up to [`INTEGER_REFUSED_END`] are refused: RFC 8785 prints them as digits that another
/// reader rounds.
pub(crate) const INTEGER_REFUSED_START: f64 = 9_007_199_254_740_992.0;

/// From here on RFC 8785 prints an exponent, which nobody takes for an exact integer.
pub(crate) const INTEGER_REFUSED_END: f64 = 1e21;
