//! The user of the operating system that runs a program.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use std::io;
use std::path::PathBuf;

/// A user of the operating system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OsUser {
    /// The number that the kernel knows them by.
    pub uid: u32,
    /// Their name in the user database; `uid-N` for a number that it does not have.
    pub name: String,
    /// Their home directory there.
    pub home: Option<PathBuf>,
}

impl OsUser {
    /// The user who started this process, whatever the environment says.
    pub fn current() -> Self {
        Self::of_uid(rustix::process::getuid().as_raw())
    }

    /// The user with this number.
    pub fn of_uid(uid: u32) -> Self {
        let known = uzers::get_user_by_uid(uid);
        let name = known.as_ref().and_then(|user| user.name().to_str()).map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("uid-{uid}"));
        let home = known.map(|user| uzers::os::unix::UserExt::home_dir(&user).to_owned());
        Self { uid, name, home }
    }
}

/// The number of a group, by its name in the group database.
pub fn group_id(name: &str) -> Option<u32> {
    uzers::get_group_by_name(name).map(|group| group.gid())
}

/// Whether a user belongs to a group, by their names.
pub fn is_member(user: &str, group: &str) -> bool {
    let Some(found) = uzers::get_user_by_name(user) else { return false };
    let groups = uzers::get_user_groups(user, found.primary_group_id()).unwrap_or_default();
    groups.iter().any(|of| of.name().to_str() == Some(group))
}

/// The user with this name, if the user database has one.
pub fn user_named(name: &str) -> Option<OsUser> {
    uzers::get_user_by_name(name).map(|user| OsUser::of_uid(user.uid()))
}

/// Keeps other processes of the same user out of this one's memory: no core dumps, no `ptrace`, no `/proc/PID/mem`.
pub fn protect_process() -> io::Result<()> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_name_comes_from_the_user_database() {
        let said = Command::new("id").arg("-run").env("USER", "mallory").output().unwrap().stdout;
        assert_eq!(OsUser::current().name, String::from_utf8(said).unwrap().trim());
        assert_eq!(OsUser::of_uid(0).name, "root");
        assert_eq!(OsUser::of_uid(3_999_999_999).name, "uid-3999999999");
    }
}
