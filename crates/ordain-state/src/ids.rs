//! Names of gates and projects: 16 hexadecimal digits.

use crate::error::StateError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Defines an id of 16 hexadecimal digits.
macro_rules! hex_id {
    ($name:ident, $what:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Reads the text of an id.
            pub fn parse(text: &str) -> Option<Self> {
                is_hex(text).then(|| Self(text.to_owned()))
            }

            /// A new one.
            pub fn random() -> Result<Self, StateError> {
                Ok(Self(random_hex()?))
            }

            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                Self::parse(&text).ok_or_else(|| format!("`{text}` is not the id of a {}", $what))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

hex_id!(GateId, "gate", "The name of a gate on this machine: 16 hexadecimal digits.");
hex_id!(
    ProjectId,
    "project",
    "The name of a project of a gate, whatever its folder is called: 16 hexadecimal digits."
);

fn is_hex(text: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 16 && text.bytes().all(digit)
}

pub(crate) fn random_hex() -> Result<String, StateError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        StateError::new(Path::new("random bytes"), format!("the machine gives none: {error}"))
    })?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}
