#![doc = include_str!("../README.md")]

pub mod apply;
pub mod sandbox;

mod run_folder;

pub use run_folder::{RUNS, RunFolderError, prepare_run_folder, write_run_folder};

#[cfg(target_os = "linux")]
mod beneath;
