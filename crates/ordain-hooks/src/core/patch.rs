//! Patches in the form of `apply_patch`: which files one creates, changes and deletes.

use super::limits::PATCH_FILES_MAX;

/// The change of a patch to one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Create,
    Modify,
    Delete,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Delete => "delete",
        }
    }
}

/// The files of a patch, by the paths it names. Doubt is an error: a line that a host may read as a header and we do
/// not would be a file that nobody judges.
pub(crate) fn operations(patch: &str) -> Result<Vec<(Operation, String)>, &'static str> {
    let mut found: Vec<(Operation, String)> = Vec::new();
    let mut lines = patch.lines().map(str::trim_end).skip_while(|line| line.trim().is_empty());
    if lines.next().map(str::trim) != Some("*** Begin Patch") {
        return Err("the patch does not begin with `*** Begin Patch`");
    }
    let mut ended = false;
    // Inside the changes of an update every line that begins with a space is content, whatever comes after it.
    let (mut updates, mut in_changes) = (false, false);
    for line in lines {
        if ended && !line.trim().is_empty() {
            return Err("the patch goes on after its end");
        }
        // Hosts differ in whether they trim a line before they look at it.
        let trimmed = line.trim_start();
        if line.starts_with("@@") {
            in_changes = updates;
        } else if in_changes && line.starts_with(' ') {
            continue;
        }
        let Some(header) = trimmed.strip_prefix("***") else { continue };
        if line != trimmed {
            return Err("the patch has a header that is indented");
        }
        updates = header.trim_start().starts_with("Update File:")
            || updates && header.trim_start().starts_with("Move to:");
        in_changes = updates;
        let header = header.trim_start();
        let path_after = |prefix: &str| header.strip_prefix(prefix).map(|path| path.trim().to_owned());
        if header == "End Patch" {
            ended = true;
        } else if header == "End of File" || header.starts_with("Environment ID:") {
            // They name no file.
        } else if let Some(path) = path_after("Add File:") {
            found.push((Operation::Create, path));
        } else if let Some(path) = path_after("Update File:") {
            found.push((Operation::Modify, path));
        } else if let Some(path) = path_after("Delete File:") {
            found.push((Operation::Delete, path));
        } else if let Some(path) = path_after("Move to:") {
            match found.last_mut() {
                Some((operation @ Operation::Modify, _)) => *operation = Operation::Delete,
                _ => return Err("the patch moves a file that it does not update"),
            }
            found.push((Operation::Create, path));
        } else {
            return Err("the patch has a header that is not known");
        }
    }
    if !ended {
        return Err("the patch has no end");
    }
    if found.is_empty() {
        return Err("the patch names no file");
    }
    if found.len() > PATCH_FILES_MAX {
        return Err("the patch names too many files");
    }
    if found.iter().any(|(_, path)| path.is_empty()) {
        return Err("the patch names a file without a name");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_headers() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-x\n+y\n\
                     *** Delete File: d.txt\n*** End Patch\n";
        let found = operations(patch).unwrap();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(operation, path)| (operation.name(), path.as_str())).collect();
        assert_eq!(
            found,
            [("create", "a.txt"), ("delete", "b.txt"), ("create", "c.txt"), ("delete", "d.txt")]
        );
    }

    /// A line of Markdown in the middle of an update is content; after anything else it could be a header.
    #[test]
    fn an_indented_line_of_a_change_is_content() {
        let patch = "*** Begin Patch\n*** Update File: a.md\n@@\n *** stars ***\n   *** Delete File: b\n-x\n+y\n*** End Patch\n";
        assert_eq!(operations(patch).unwrap(), [(Operation::Modify, "a.md".to_owned())]);
        let moved = patch.replace("@@", "*** Move to: c.md\n@@");
        assert_eq!(operations(&moved).unwrap().len(), 2);
        for before in
            ["*** Add File: n\n+x", "*** Delete File: n", "*** Update File: n\n@@\n-x\n*** End of File"]
        {
            let patch = format!("*** Begin Patch\n{before}\n *** Delete File: b\n*** End Patch\n");
            assert!(operations(&patch).is_err(), "{patch}");
        }
        let tab = "*** Begin Patch\n*** Update File: a.md\n@@\n\t*** Delete File: b\n*** End Patch\n";
        assert!(operations(tab).is_err());
    }

    #[test]
    fn doubt_is_a_refusal() {
        for patch in [
            "",
            "*** Add File: a\n+x\n",
            "*** Begin Patch\n*** End Patch\n",
            "*** Begin Patch\n*** Add File: a\n+x\n",
            "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Add File: b\n+x\n",
            "*** Begin Patch\n  *** Add File: a\n+x\n*** End Patch\n",
            "*** Begin Patch\n*** Add File:\n+x\n*** End Patch\n",
            "*** Begin Patch\n*** Append File: a\n+x\n*** End Patch\n",
            "*** Begin Patch\n*** Move to: a\n*** End Patch\n",
        ] {
            assert!(operations(patch).is_err(), "{patch:?}");
        }
    }
}
