//! Ids in records, each a type of its own.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(String);

        impl $name {
            pub(crate) fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub(crate) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

id_type! {
    /// An action: the id of its proposal.
    ActionId
}
id_type! {
    /// A permit. Its text names the entry that decided on it: `permit_INDEX_DIGITS`.
    PermitId
}

impl PermitId {
    /// The entry that decided on it.
    pub(crate) fn decided_index(&self) -> Option<u64> {
        let (index, _) = self.0.strip_prefix("permit_")?.split_once('_')?;
        index.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_names_its_entry() {
        let index = |text: &str| PermitId::new(text).decided_index();
        assert_eq!(index("permit_12_00ff"), Some(12));
        for text in ["permit_00ff", "permit_x_00ff", "12_00ff", "", "permit_99999999999999999999_0"] {
            assert_eq!(index(text), None, "{text}");
        }
    }
}
