//! Where there is no PTX, the error says what was tried and what to do.
#![cfg(unix)]

mod support;

use std::fs;

use cuda_builder::{Arch, BuilderError, Candidate, RefusalReason, find_toolchain};
use support::Place;

#[test]
fn without_a_toolchain_the_commands_that_install_one_are_named() {
    let place = Place::new();
    let candidate = Candidate::new("a toolchain", place.path("nowhere/rustc"));
    let error = place.builder().toolchains(vec![candidate]).build().unwrap_err().to_string();
    let expected = format!(
        "tiny-kernels: the PTX for sm_75 ({}): the committed file is missing, \
         and no toolchain that can build PTX was found:\n  \
           - a toolchain ({}): it is not there\n\
         Install one:\n  \
           rustup component add rust-src                    # any system with rustup, in this workspace\n  \
           apt-get install rustc-web cargo-web rust-web-src # Debian, without rustup\n\
         or name one by the environment variables CUDA_BUILDER_RUSTC and CUDA_BUILDER_CARGO, \
         or take back what changed the kernels.",
        place.path("kernels/ptx/tiny_kernels.sm_75.ptx").display(),
        place.path("nowhere/rustc").display(),
    );
    assert_eq!(error, expected);
}

#[test]
fn a_toolchain_is_refused_for_what_it_lacks() {
    let place = Place::new();
    let refusal = |spoil: &dyn Fn(&str)| {
        let name = format!("toolchain-{}", fs::read_dir(place.path("")).unwrap().count());
        let candidate = place.fake_toolchain(&name);
        spoil(&name);
        find_toolchain(&[candidate], Arch::Sm75, &place.path("")).map_err(|refusals| refusals[0].reason.clone())
    };
    let write = |name: &str, file: &str, text: &str| place.write(&format!("{name}/{file}"), text);

    assert_eq!(refusal(&|_| ()).unwrap().compiler, "rustc 9.9.9 (fake), LLVM 99.0");
    let old = refusal(&|name| write(name, "version", "rustc 1.63.0\nrelease: 1.63.0\n")).unwrap_err();
    assert_eq!(old.to_string(), "it is too old: 1.95 or later is needed, not \"1.63.0\"");
    assert_eq!(refusal(&|name| write(name, "target-list", "x86_64-unknown-linux-gnu\n")), Err(RefusalReason::NoTarget));
    let no_back_end = refusal(&|name| write(name, "target-cpus", "    sm_90\n"));
    assert_eq!(no_back_end, Err(RefusalReason::NoBackEnd { arch: Arch::Sm75 }));
    let no_source = refusal(&|name| fs::remove_dir_all(place.path(name).join("lib")).unwrap()).unwrap_err();
    assert!(no_source.to_string().contains("the source of `core` is missing (rust-src; there is no "), "{no_source}");
    let no_cargo = refusal(&|name| fs::remove_file(place.path(name).join("bin/cargo")).unwrap()).unwrap_err();
    assert!(matches!(no_cargo, RefusalReason::NoCargo { .. }), "{no_cargo}");
    let broken = refusal(&|name| fs::remove_file(place.path(name).join("version")).unwrap()).unwrap_err();
    assert!(matches!(broken, RefusalReason::CannotRun { .. }), "{broken}");
}

#[test]
fn the_first_toolchain_that_can_build_is_taken() {
    let place = Place::new();
    let candidates = ["first", "second", "third"].map(|name| place.fake_toolchain(name));
    place.write("first/target-list", "");
    let found = find_toolchain(&candidates, Arch::Sm90, &place.path("")).unwrap();
    assert_eq!(found.rustc, candidates[1].rustc);
}

#[test]
fn what_the_compiler_says_is_passed_on() {
    let place = Place::new();
    let builder = place.builder().toolchains(vec![place.fake_toolchain("toolchain")]);
    assert_eq!(builder.rebuild().unwrap().messages, "a word from the compiler");
    place.write("toolchain/fails", "");
    let error = builder.rebuild().unwrap_err().to_string();
    let expected = "tiny-kernels: the kernels do not compile for sm_75 with rustc 9.9.9 (fake), LLVM 99.0:\n\
                    a word from the compiler";
    assert_eq!(error, expected);
}

#[test]
fn a_compiler_that_leaves_no_ptx_is_an_error() {
    let place = Place::new();
    let builder = place.builder().toolchains(vec![place.fake_toolchain("toolchain")]);
    builder.rebuild().unwrap();
    fs::remove_file(place.path("toolchain/kernels.ptx")).unwrap();
    // What the call before left must not be taken for the new one's.
    assert!(matches!(builder.rebuild(), Err(BuilderError::NoPtx { file_name, .. }) if file_name == "tiny_kernels.s"));
}
