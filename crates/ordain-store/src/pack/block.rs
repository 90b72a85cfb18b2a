//! Writes LZ4 blocks that refer to a dictionary. The table of the dictionary is computed by the compiler,
//! where a general encoder hashes the whole dictionary again for every block; our blocks are shorter than the
//! dictionary. Blocks are read by `lz4_flex`.

const SLOT_BITS: u32 = 12;
/// The last place of each hash of four bytes.
type Table = [u16; 1 << SLOT_BITS];

const MATCH_MIN: usize = 4;
/// The format wants the last five bytes as they are, and no match that begins in the last twelve.
const LITERALS_LAST: usize = 5;
const MATCH_LAST: usize = 12;
/// A length from here on continues in further bytes.
const LENGTH_MORE: usize = 15;
/// After so many misses in a row, the search skips one byte more.
const MISSES_BEFORE_SKIP: usize = 32;

/// The dictionary and the text after it may have this many bytes together: places are kept in 16 bits, and
/// matches reach no further back.
pub(super) const WINDOW_MAX: usize = u16::MAX as usize;

/// Where each four bytes of a dictionary stand.
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "computed by the compiler")]
pub(super) const fn table_of(dictionary: &[u8]) -> Table {
    let mut table = [0; 1 << SLOT_BITS];
    let mut at = 0;
    while at + MATCH_MIN <= dictionary.len() {
        let four =
            u32::from_le_bytes([dictionary[at], dictionary[at + 1], dictionary[at + 2], dictionary[at + 3]]);
        table[slot_of(four)] = at as u16;
        at += 1;
    }
    table
}

/// Appends the block of `window[start..]`. The bytes before `start` are the dictionary, and `table` is its own.
///
/// A window of more than [`WINDOW_MAX`] bytes is the caller's mistake; its block does not give the text back.
pub(super) fn compress(window: &[u8], start: usize, mut table: Table, block: &mut Vec<u8>) {
    let matches_end = window.len().saturating_sub(MATCH_LAST);
    let mut literals = start;
    let mut at = start;
    let mut misses = 0;
    while at < matches_end {
        let Some(four) = four_at(window, at) else { break };
        let earlier = replace(&mut table, four, at);
        if earlier < at && four_at(window, earlier) == Some(four) {
            let found = Match::around(window, literals, at, earlier);
            push_sequence(block, window.get(literals..found.at).unwrap_or_default(), Some(&found));
            at = found.at + found.length;
            literals = at;
            misses = 0;
            // One place inside the match: what follows it often follows it again.
            if let Some(four) = four_at(window, at - 2) {
                replace(&mut table, four, at - 2);
            }
        } else {
            misses += 1;
            at += 1 + misses / MISSES_BEFORE_SKIP;
        }
    }
    push_sequence(block, window.get(literals..).unwrap_or_default(), None);
}

struct Match {
    at: usize,
    length: usize,
    distance: usize,
}

impl Match {
    /// The longest match that contains these four bytes.
    fn around(window: &[u8], literals: usize, at: usize, earlier: usize) -> Self {
        let before = |place: usize| window.get(..place).unwrap_or_default().iter().rev();
        let back = before(at).zip(before(earlier)).take(at - literals).take_while(|(a, b)| a == b).count();
        let after = window.get(at..window.len() - LITERALS_LAST).unwrap_or_default();
        let length = back + same_bytes(after, window.get(earlier..).unwrap_or_default());
        Self { at: at - back, length, distance: at - earlier }
    }
}

/// How many bytes two texts start with in common.
fn same_bytes(left: &[u8], right: &[u8]) -> usize {
    let (left_eights, left_rest) = left.as_chunks::<8>();
    let (right_eights, _) = right.as_chunks::<8>();
    let mut same = 0;
    for (left, right) in left_eights.iter().zip(right_eights) {
        let different = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if different != 0 {
            return same + (different.trailing_zeros() / 8) as usize;
        }
        same += 8;
    }
    let right_rest = right.get(same..).unwrap_or_default();
    same + left_rest.iter().zip(right_rest).take_while(|(left, right)| left == right).count()
}

/// Literals, and the match after them.
fn push_sequence(block: &mut Vec<u8>, literals: &[u8], found: Option<&Match>) {
    let match_length = found.map_or(0, |found| found.length - MATCH_MIN);
    let nibble = |length: usize| u8::try_from(length.min(LENGTH_MORE)).unwrap_or_default();
    block.push(nibble(literals.len()) << 4 | nibble(match_length));
    push_more(block, literals.len());
    block.extend_from_slice(literals);
    if let Some(found) = found {
        block.extend_from_slice(&u16::try_from(found.distance).unwrap_or_default().to_le_bytes());
        push_more(block, match_length);
    }
}

/// The rest of a length that its four bits cannot hold.
fn push_more(block: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(LENGTH_MORE) else { return };
    while rest >= 255 {
        block.push(255);
        rest -= 255;
    }
    block.push(u8::try_from(rest).unwrap_or_default());
}

fn four_at(window: &[u8], at: usize) -> Option<u32> {
    window.get(at..).and_then(|rest| rest.first_chunk()).map(|four| u32::from_le_bytes(*four))
}

/// Notes the place of four bytes, and gives the place before.
fn replace(table: &mut Table, four: u32, at: usize) -> usize {
    let place = u16::try_from(at).unwrap_or_default();
    table.get_mut(slot_of(four)).map_or(at, |slot| usize::from(std::mem::replace(slot, place)))
}

const fn slot_of(four: u32) -> usize {
    (four.wrapping_mul(2_654_435_761) >> (u32::BITS - SLOT_BITS)) as usize
}
