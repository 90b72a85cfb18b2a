//! By what right a workspace is changed.

use super::ApplyError;
use ordain_decision::VerifiedPermit;
use ordain_state::Home;
#[cfg(target_os = "linux")]
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file with the settings of a project.
pub const PROJECT_FILE: &str = "ordain.toml";

/// By what right a workspace is changed. The change consumes it, and there is no copy of it.
///
/// [`Authority::spent`] and [`Authority::local_operator`] are the only ways to get one. It cannot be written down:
///
/// ```compile_fail,E0451
/// # use ordain_harness::apply::Authority;
/// let authority = Authority { right: todo!() };
/// ```
///
/// It cannot be read from a document:
///
/// ```compile_fail,E0277
/// # use ordain_harness::apply::Authority;
/// let authority: Authority = serde_json::from_str(r#"{"kind":"local_operator"}"#).unwrap();
/// ```
///
/// And it cannot be copied:
///
/// ```compile_fail,E0308
/// # use ordain_harness::apply::Authority;
/// fn copy(authority: &Authority) -> Authority {
///     authority.clone()
/// }
/// ```
#[derive(Debug)]
pub struct Authority {
    right: Right,
}

#[derive(Debug)]
enum Right {
    /// The person at this machine, in this folder, for which no gate is registered.
    LocalOperator { folder: PathBuf },
    /// A use of a permit, which the gate has spent for this change.
    Permit { permit_id: String, number: u64 },
}

/// A use of a permit, as the gate's receipt names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpentUse<'a> {
    /// The permit.
    pub permit_id: &'a str,
    /// Which use of it, counted from 1.
    pub number: u64,
}

impl Authority {
    /// The right that a spent use of a permit gives. The receipt must be about this permit.
    pub fn spent(permit: &VerifiedPermit, used: SpentUse<'_>) -> Result<Self, ApplyError> {
        let claims = permit.claims();
        if used.permit_id != claims.jti {
            let problem = format!("the receipt names `{}`", used.permit_id);
            return Err(ApplyError::Permit { permit_id: claims.jti.clone(), problem });
        }
        if !(1..=claims.max_executions).contains(&used.number) {
            let problem = format!("use {} of {}", used.number, claims.max_executions);
            return Err(ApplyError::Permit { permit_id: claims.jti.clone(), problem });
        }
        Ok(Self { right: Right::Permit { permit_id: claims.jti.clone(), number: used.number } })
    }

    /// The right of the person at this machine. It fails if a gate is registered for the workspace: that gate decides.
    pub fn local_operator(home: &Home, workspace: &Path) -> Result<Self, ApplyError> {
        let folder = canonical(workspace)?;
        if let Some(belongs) = home.project_of(&folder)? {
            let path = workspace.display().to_string();
            return Err(ApplyError::Gated { path, gate: belongs.gate.id().to_string() });
        }
        Ok(Self { right: Right::LocalOperator { folder } })
    }

    /// The record of it, for a change of this workspace.
    #[cfg(target_os = "linux")]
    pub(crate) fn into_record(self, workspace: &Path) -> Result<AuthorityRecord, ApplyError> {
        match self.right {
            Right::Permit { permit_id, number } => Ok(AuthorityRecord::Permit { permit_id, number }),
            Right::LocalOperator { folder } if folder == canonical(workspace)? => {
                Ok(AuthorityRecord::LocalOperator)
            }
            Right::LocalOperator { folder } => Err(ApplyError::OtherWorkspace {
                path: workspace.display().to_string(),
                authorized: folder.display().to_string(),
            }),
        }
    }
}

fn canonical(workspace: &Path) -> Result<PathBuf, ApplyError> {
    let path = || workspace.display().to_string();
    workspace.canonicalize().map_err(|error| ApplyError::Workspace { path: path(), error })
}

/// By what right a change was made, as its journal says. It gives no right to another change.
#[cfg(target_os = "linux")]
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum AuthorityRecord {
    /// The person at this machine, in a project without a gate.
    LocalOperator,
    /// A use of a permit.
    Permit {
        /// The permit.
        permit_id: String,
        /// Which use of it.
        #[serde(rename = "use")]
        number: u64,
    },
}
