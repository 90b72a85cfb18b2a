//! Whether two effects are the same, however their commands are spelled.

use crate::effect::{Effect, EffectKind};

/// The thing that an effect is about, in one spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Where it is: as the effect says, and for a push to an address its host.
    pub domain: String,
    /// The resource; for a push the remote, and the ref there.
    pub resource_id: String,
    /// Whether it is another thing in another workspace.
    pub of_workspace: bool,
}

impl Effect {
    /// The thing that this effect is about. `None` where the effect can be anything: then nothing less than the whole
    /// command says what it is.
    ///
    /// ```
    /// use ordain_shell::{Place, analyse};
    /// let place = Place { workspace: None, cwd: ".", home: None };
    /// let push = |command: &str| analyse(command, &place).effects[0].identity();
    /// assert_eq!(push("git push origin main"), push("env git  push -f origin HEAD:refs/heads/main"));
    /// assert_ne!(push("git push origin main"), push("git push origin next"));
    /// ```
    pub fn identity(&self) -> Option<Identity> {
        if !self.known {
            return None;
        }
        // A place that only the folder tells.
        let is_local = self.domain == "workspace" || self.resource_id.split(' ').any(|part| part == "*");
        let pushed =
            (self.effect == EffectKind::GitPush).then(|| self.resource_id.rsplit_once(' ')).flatten();
        let (mut domain, mut resource_id, mut of_workspace) =
            (self.domain.clone(), self.resource_id.clone(), is_local);
        if let Some((remote, reference)) = pushed {
            let place = match address(remote) {
                Some((host, path)) => {
                    domain.clone_from(&host);
                    format!("{host}/{path}")
                }
                None => {
                    of_workspace = true;
                    remote.to_owned()
                }
            };
            resource_id = format!("{place} {}", target(reference));
        }
        Some(Identity { domain, resource_id, of_workspace })
    }
}

/// Host and path of a repository, whichever way it is reached. `None` for the name of a remote and for a path.
fn address(remote: &str) -> Option<(String, &str)> {
    let (host, path) = match remote.split_once("://") {
        Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
        None => remote.split_once(':').filter(|(host, _)| !host.is_empty() && !host.contains('/'))?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
    let path = path.trim_matches('/');
    Some((host, path.strip_suffix(".git").unwrap_or(path)))
}

/// The ref that a push changes. The one that is sent, and force, make no other.
fn target(reference: &str) -> &str {
    let reference = reference.trim_start_matches('+');
    let target = match reference.rsplit_once(':') {
        Some((source, "")) => source,
        Some((_, target)) => target,
        None => reference,
    };
    let fronts = ["refs/heads/", "refs/tags/", "heads/", "tags/"];
    match fronts.iter().find_map(|front| target.strip_prefix(front)) {
        Some(name) => name,
        None if target == "@" => "HEAD",
        None => target,
    }
}
