//! Without PTX, the error lists the toolchains that were tried and how to install one.
#![cfg(unix)]

mod support;

use std::fs;

use cuda_builder::{Arch, BuilderError, Candidate, RejectionReason, find_toolchain};
use support::Sandbox;

#[test]
fn without_a_toolchain_the_error_has_the_commands_that_install_one() {
    let sandbox = Sandbox::new();
    let candidate = Candidate::new("a toolchain", sandbox.path("nowhere/rustc"));
    let error = sandbox.builder().toolchains(vec![candidate]).strict(true).build().unwrap_err().to_string();
    let expected = format!(
        "tiny-kernels: the PTX for sm_75 ({}): the committed file is missing, \
         and no toolchain that can build PTX was found:\n  \
           - a toolchain ({}): it does not exist\n\
         Install one:\n  \
           rustup component add rust-src                    # any system with rustup, in this workspace\n  \
           apt-get install rustc-web cargo-web rust-web-src # Debian, without rustup\n\
         or set the environment variables CUDA_BUILDER_RUSTC and CUDA_BUILDER_CARGO to one, \
         or revert the changes to the kernels.",
        sandbox.path("kernels/ptx/tiny_kernels.sm_75.ptx").display(),
        sandbox.path("nowhere/rustc").display(),
    );
    assert_eq!(error, expected);
}

#[test]
fn the_rejection_of_a_toolchain_has_its_reason() {
    let sandbox = Sandbox::new();
    let result_after = |damage: &dyn Fn(&str)| {
        let name = format!("toolchain-{}", fs::read_dir(sandbox.path("")).unwrap().count());
        let candidate = sandbox.fake_toolchain(&name);
        damage(&name);
        find_toolchain(&[candidate], Arch::Sm75, &sandbox.path("")).map_err(|refusals| refusals[0].reason.clone())
    };
    let write = |name: &str, file: &str, text: &str| sandbox.write(&format!("{name}/{file}"), text);

    assert_eq!(result_after(&|_| ()).unwrap().compiler, "rustc 9.9.9 (fake), LLVM 99.0");
    let old = result_after(&|name| write(name, "version", "rustc 1.63.0\nrelease: 1.63.0\n")).unwrap_err();
    assert_eq!(old.to_string(), "it is too old: 1.95 or later is needed, not \"1.63.0\"");
    assert_eq!(
        result_after(&|name| write(name, "target-list", "x86_64-unknown-linux-gnu\n")),
        Err(RejectionReason::NoTarget)
    );
    let no_back_end = result_after(&|name| write(name, "target-cpus", "    sm_90\n"));
    assert_eq!(no_back_end, Err(RejectionReason::NoBackEnd { arch: Arch::Sm75 }));
    let no_source = result_after(&|name| fs::remove_dir_all(sandbox.path(name).join("lib")).unwrap()).unwrap_err();
    assert!(no_source.to_string().contains("the source of `core` is missing (rust-src; there is no "), "{no_source}");
    let no_cargo = result_after(&|name| fs::remove_file(sandbox.path(name).join("bin/cargo")).unwrap()).unwrap_err();
    assert!(matches!(no_cargo, RejectionReason::NoCargo { .. }), "{no_cargo}");
    let broken = result_after(&|name| fs::remove_file(sandbox.path(name).join("version")).unwrap()).unwrap_err();
    assert!(matches!(broken, RejectionReason::CannotRun { .. }), "{broken}");
}

#[test]
fn the_first_usable_toolchain_is_used() {
    let sandbox = Sandbox::new();
    let candidates = ["first", "second", "third"].map(|name| sandbox.fake_toolchain(name));
    sandbox.write("first/target-list", "");
    let found = find_toolchain(&candidates, Arch::Sm90, &sandbox.path("")).unwrap();
    assert_eq!(found.rustc, candidates[1].rustc);
}

#[test]
fn the_compilers_messages_are_returned() {
    let sandbox = Sandbox::new();
    let builder = sandbox.builder().toolchains(vec![sandbox.fake_toolchain("toolchain")]);
    assert_eq!(builder.rebuild().unwrap().messages, "a word from the compiler");
    sandbox.write("toolchain/fails", "");
    let error = builder.rebuild().unwrap_err().to_string();
    let expected = "tiny-kernels: the kernels do not compile for sm_75 with rustc 9.9.9 (fake), LLVM 99.0:\n\
                    a word from the compiler";
    assert_eq!(error, expected);
}

#[test]
fn a_compiler_that_writes_no_ptx_is_an_error() {
    let sandbox = Sandbox::new();
    let builder = sandbox.builder().toolchains(vec![sandbox.fake_toolchain("toolchain")]);
    builder.rebuild().unwrap();
    fs::remove_file(sandbox.path("toolchain/kernels.ptx")).unwrap();
    // The output of the previous call must not be mistaken for a new one.
    assert!(matches!(builder.rebuild(), Err(BuilderError::NoPtx { file_name, .. }) if file_name == "tiny_kernels.s"));
}
