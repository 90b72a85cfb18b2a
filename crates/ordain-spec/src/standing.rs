//! Standing grants: approvals that hold for more than one action, as far as their scope goes.
//!
//! A scope is part of what its approver signs: the statement of the approval names its hash.

use crate::approval::Approval;
use crate::limits::{STANDING_MS_MAX, STANDING_USES_MAX};
use crate::schema::Sha256;
use ordain_canon::{Canonicalizer, ContentHash, WriteError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of grants that is written.
pub const STANDING_SCHEMA_VERSION: &str = "0.1.0";

/// The calls that a scope covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Covers {
    /// Calls with exactly the same deed.
    Deed,
}

/// How far an approval goes beyond the action that it is about. The narrowest of several counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StandingScope {
    /// The calls that it covers.
    #[schemars(extend("x-rule" = "AP13"))]
    pub covers: Covers,
    /// The deed of the action.
    #[schemars(extend("x-rule" = "AP13"))]
    pub deed: Sha256,
    /// How many later calls it covers.
    #[schemars(extend("x-rule" = "AP13"))]
    pub max_uses: u64,
    /// The permits whose approvals it stands for, and the hash of each one's text.
    #[schemars(extend("x-rule" = "AP13"))]
    pub permits: BTreeMap<String, Sha256>,
    /// When it ends, in milliseconds since 1970.
    #[schemars(extend("x-rule" = "AP13"))]
    pub until_ms: u64,
}

impl StandingScope {
    /// The hash that a statement names.
    pub fn hash(&self) -> Result<ContentHash, WriteError> {
        Ok(ContentHash::of(Canonicalizer::new().value(self)?))
    }

    /// Why it cannot be the scope of an approval given at that time.
    pub fn violation(&self, at_ms: u64) -> Option<String> {
        if self.max_uses == 0 || self.max_uses > STANDING_USES_MAX {
            return Some(format!("covers {} uses; 1 to {STANDING_USES_MAX} are allowed", self.max_uses));
        }
        if self.until_ms <= at_ms {
            return Some("ends before the approval was given".to_owned());
        }
        let holds_ms = self.until_ms - at_ms;
        if holds_ms > STANDING_MS_MAX {
            return Some(format!("holds for {holds_ms} ms; at most {STANDING_MS_MAX} ms are allowed"));
        }
        self.permits.is_empty().then(|| "names no permit".to_owned())
    }

    /// The common part of two scopes; `None` where they are about different deeds.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Option<Self> {
        if self.deed != other.deed || self.covers != other.covers {
            return None;
        }
        let named_twice = |(id, text): (&String, &Sha256)| {
            (other.permits.get(id) == Some(text)).then(|| (id.clone(), text.clone()))
        };
        Some(Self {
            covers: self.covers,
            deed: self.deed.clone(),
            max_uses: self.max_uses.min(other.max_uses),
            permits: self.permits.iter().filter_map(named_twice).collect(),
            until_ms: self.until_ms.min(other.until_ms),
        })
    }
}

/// The scope that several approvals have in common. `None` if there is none, or one of them is for one action alone.
pub fn common_scope<'a>(approvals: impl IntoIterator<Item = &'a Approval>) -> Option<StandingScope> {
    let mut common: Option<StandingScope> = None;
    for approval in approvals {
        let scope = approval.scope.as_ref()?;
        common = Some(match common {
            None => scope.clone(),
            Some(before) => before.narrowed(scope)?,
        });
    }
    common
}
