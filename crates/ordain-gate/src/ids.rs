//! Ids in records, each a type of its own.

use ordain_canon::ContentHash;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
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

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

id_type! {
    /// An action: the id of its proposal.
    ActionId
}
id_type! {
    /// A permit. Its text names the action that it allows: `permit_DIGITS_ACTION`.
    PermitId
}

id_type! {
    /// A token: the part between its two underscores.
    TokenId
}
id_type! {
    /// A key that permits and checkpoints are signed with.
    KeyId
}
id_type! {
    /// An evidence packet.
    EvidenceId
}

id_type! {
    /// A standing grant.
    GrantId
}

impl GrantId {
    /// The id of the grant with this document.
    pub(crate) fn of(document: &ContentHash) -> Self {
        const DIGITS: usize = 16;
        let hash = document.to_string();
        let digits = hash.strip_prefix("sha256:").and_then(|digits| digits.get(..DIGITS));
        Self(format!("grant_{}", digits.unwrap_or_default()))
    }
}

impl PermitId {
    /// The action that it allows.
    pub(crate) fn action_id(&self) -> Option<&str> {
        let (_, action_id) = self.0.strip_prefix("permit_")?.split_once('_')?;
        Some(action_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_names_its_action() {
        let action = |text: &str| PermitId::new(text).action_id().map(str::to_owned);
        assert_eq!(action("permit_00ff_p-1_x").as_deref(), Some("p-1_x"));
        for text in ["permit_00ff", "00ff_p-1", ""] {
            assert_eq!(action(text), None, "{text}");
        }
    }
}
