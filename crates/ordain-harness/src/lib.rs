#![doc = include_str!("../README.md")]

pub mod apply;
pub mod sandbox;

#[cfg(target_os = "linux")]
mod beneath;
