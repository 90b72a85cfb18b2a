//! The user and the group of the service, and who belongs to it.

use super::steps::Steps;
use crate::exit::Failure;
use crate::service::{ACCOUNT, STATE_BASE};
use ordain_presence::{OsUser, group_id, is_member, user_named};

/// The first number of people's accounts; smaller ones are the system's.
const PEOPLE_FROM: u32 = 1_000;

/// Makes the user and the group of the service, and lets the owner connect. The user must be nobody's account: whoever
/// logs in as it has the gate.
pub(super) fn make(steps: &mut Steps, owner: &OsUser) -> Result<(), Failure> {
    if let Some(user) = user_named(ACCOUNT).filter(|user| user.uid == 0 || user.uid >= PEOPLE_FROM) {
        let problem =
            format!("the user `{ACCOUNT}` ({}) is somebody's account, and would have the gate", user.uid);
        return Err(Failure::Usage(problem).with_hint("give that account another name"));
    }
    steps.program(&["groupadd", "--system", ACCOUNT], group_id(ACCOUNT).is_some())?;
    let home = format!("{STATE_BASE}/{ACCOUNT}");
    let shell = "/usr/sbin/nologin";
    let user = [
        "useradd",
        "--system",
        "--gid",
        ACCOUNT,
        "--home-dir",
        &home,
        "--no-create-home",
        "--shell",
        shell,
        ACCOUNT,
    ];
    steps.program(&user, user_named(ACCOUNT).is_some())?;
    let joins = ["usermod", "--append", "--groups", ACCOUNT, &owner.name];
    steps.program(&joins, is_member(&owner.name, ACCOUNT))
}

/// The user who is to own the gate.
pub(super) fn owner(name: &str) -> Result<OsUser, Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let found = user_named(name).filter(|_| name.bytes().all(plain) && !name.starts_with('-'));
    let Some(user) = found else {
        let failure = Failure::Usage(format!("this machine has no user `{name}`"));
        return Err(failure.with_hint("name the person who will own the gate, by their login name"));
    };
    if name == ACCOUNT {
        let problem = format!("`{ACCOUNT}` is the user of the service itself");
        return Err(Failure::Usage(problem).with_hint("name the person who will own the gate"));
    }
    Ok(user)
}

/// The numbers of the service's user and group, once they are made.
pub(super) fn numbers() -> Result<(u32, u32), Failure> {
    let missing = || Failure::Server(format!("the user `{ACCOUNT}` is missing"));
    let user = user_named(ACCOUNT).ok_or_else(missing)?;
    if user.uid == 0 {
        return Err(Failure::Usage(format!("the user `{ACCOUNT}` is root, which protects nothing")));
    }
    Ok((user.uid, group_id(ACCOUNT).ok_or_else(missing)?))
}
