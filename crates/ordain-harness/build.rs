//! Links the unwinder into the program instead of loading it.
//!
//! The sandbox starts this program again for every run, and loading `libgcc_s` takes an eighth of that start: in a
//! virtual machine its questions to the processor are answered by the hypervisor. Where the compiler has no static
//! unwinder, nothing changes.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    let is_cross = env::var("HOST").ok() != env::var("TARGET").ok();
    if is_cross || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    let asked = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let Some(file) = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok()) else { return };
    let file = Path::new(file.trim());
    if let Some(folder) = file.parent().filter(|_| file.is_absolute() && file.is_file()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=gcc_eh");
    }
}
