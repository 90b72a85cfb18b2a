//! Any bytes as a diff: reading and applying never panic, no path leaves the root, and the same diff gives
//! the same files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ordain_spec::patch::{PatchSource, parse_diff, patch_of_changes};
use ordain_spec::{NonEmpty, path_problem};

fuzz_target!(|text: &[u8]| {
    let Ok(diff) = parse_diff(text) else { return };
    // A file of a few lines stands at every second path.
    let content = |path: &str| path.len().is_multiple_of(2).then(|| b"1\n2\n3\n".to_vec());
    let Ok(changes) = diff.changes(|path| Ok(content(path))) else { return };
    assert_eq!(diff.changes(|path| Ok(content(path))).as_ref(), Ok(&changes));
    for change in &changes {
        assert_eq!(path_problem(&change.path), None);
        assert_eq!(change.was_there, content(&change.path).is_some());
    }
    let hash = ordain_canon::ContentHash::of(text).into();
    let source = PatchSource { id: NonEmpty::of("diff".to_owned()), hash, bundle: None };
    let _ = patch_of_changes(source, changes);
});
