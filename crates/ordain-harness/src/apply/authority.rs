//! By what right a workspace is changed.

use serde::{Deserialize, Serialize};

/// By what right a workspace is changed. It is used up by the change, so there is no copy of it.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Authority {
    /// The person at this machine, in a project without a policy.
    LocalOperator,
    /// A use of a permit, which the gate has spent for this change.
    Permit {
        /// The permit.
        permit_id: String,
        /// Which use of it.
        #[serde(rename = "use")]
        number: u64,
    },
}
