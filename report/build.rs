//! Passes the compiler's version and the profile to the program.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version =
        Command::new(rustc).arg("--version").output().ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let built = std::env::var("PROFILE").unwrap_or_default();
    let profile = match &built[..] {
        "debug" => "dev profile, timed code optimised as in release",
        _ => "release profile",
    };
    let version = version.unwrap_or_else(|| "rustc of unknown version".to_owned());
    println!("cargo::rustc-env=BUILT_PROFILE={built}");
    println!("cargo::rustc-env=COMPILER={}, {profile}", version.trim());
}
