//! Names that are what they look like (G3).

use super::folder::ModelFolder;
use unicode_security::skeleton;

/// Default_Ignorable_Code_Point of Unicode: what a person does not see.
const INVISIBLE: [(u32, u32); 17] = [
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x202a, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfff8),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// Whether a name may not stand for an entity of that type.
pub(super) fn misleads(folder: &ModelFolder, entity_type: &str, name: &str) -> bool {
    let invisible = |c: char| INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)));
    if name.chars().any(|c| c.is_control() || invisible(c)) || name.trim() != name {
        return true;
    }
    let Some(known) = folder.known.get(entity_type) else { return false };
    let looks = |name: &str| {
        let text = |name: &str| skeleton(name).collect::<String>();
        [text(&name.to_lowercase()), text(name).to_lowercase()]
    };
    let alike = |other: &str| looks(other).iter().zip(looks(name)).any(|(left, right)| *left == right);
    !known.contains(name) && known.iter().any(|other| alike(other))
}
