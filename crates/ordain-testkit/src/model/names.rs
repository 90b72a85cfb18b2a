//! Names that are what they look like (G3).

use super::folder::ModelFolder;
use ordain_spec::path_faults;
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::skeleton;

/// Default_Ignorable_Code_Point of Unicode, its category Cf, and the separators of lines and paragraphs: what
/// a person does not see.
const INVISIBLE: [(u32, u32); 27] = [
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x2029),
    (0x202a, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfff8),
    (0xfff9, 0xfffb),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

fn invisible(c: char) -> bool {
    INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)))
}

/// Whether a text is the path of a file of the workspace, written plainly (G9).
pub(super) fn is_plain_path(text: &str) -> bool {
    path_faults(text).is_empty() && !text.chars().any(invisible) && text.nfc().eq(text.chars())
}

/// Whether a name may not stand for an entity of that type.
pub(super) fn misleads(folder: &ModelFolder, entity_type: &str, name: &str) -> bool {
    let unseen = name.chars().any(|c| c.is_control() || invisible(c));
    if unseen || name.trim() != name || name.chars().count() > 256 {
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
