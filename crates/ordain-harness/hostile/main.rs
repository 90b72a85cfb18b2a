//! One hostile behaviour for each name, to be tried with and without the sandbox: prints `DID` where the behaviour
//! had its way, and `STOPPED` with the reason where it had not. Used by the tests only.

#![allow(unsafe_code, reason = "hostile programs make raw system calls")]
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]
#![cfg_attr(not(target_os = "linux"), allow(unused, reason = "there is no sandbox to try"))]

#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod evasions;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod processes;

#[cfg(not(target_os = "linux"))]
fn main() {}

/// Why a behaviour did not have its way.
#[cfg(target_os = "linux")]
type Tried = Result<(), String>;

#[cfg(target_os = "linux")]
fn main() {
    ordain_harness::sandbox::enter_if_asked();
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.remove(0);
    let rest: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The surroundings of a behaviour, rather than a behaviour.
    match name.as_str() {
        "drive" => return hosts::drive(&rest),
        "plant" => return hosts::plant(&rest),
        "hidden" => return hosts::hidden(&rest),
        "without" => return hosts::without(&rest),
        "probe" => {
            return println!("{}", serde_json::to_string(&ordain_harness::sandbox::probe()).unwrap());
        }
        "deaf" => return hosts::deaf(&rest),
        "terminal" => return hosts::terminal(&rest),
        _ => {}
    }
    let tried = files::try_one(&name, &rest)
        .or_else(|| processes::try_one(&name, &rest))
        .or_else(|| calls::try_one(&name, &rest))
        .or_else(|| evasions::try_one(&name))
        .or_else(|| alone::try_one(&name, &rest))
        .unwrap_or_else(|| panic!("unknown behaviour `{name}`"));
    match tried {
        Ok(()) => println!("DID {name}"),
        Err(reason) => println!("STOPPED {name}: {reason}"),
    }
}

/// The result of a system call.
#[cfg(target_os = "linux")]
fn called(result: libc::c_long) -> Tried {
    if result < 0 { Err(std::io::Error::last_os_error().to_string()) } else { Ok(()) }
}

#[cfg(target_os = "linux")]
fn done<T>(result: std::io::Result<T>) -> Tried {
    result.map(drop).map_err(|error| error.to_string())
}
