//! The three cases of a build: the committed PTX is fresh; it is stale and there is a toolchain; it
//! is stale and there is none.
#![cfg(unix)]

mod support;

use std::fs;

use cuda_builder::{Arch, BuilderError, Comparison, CudaBuilder, Header, Origin, Staleness};
use support::{PTX, Sandbox};

const COMMITTED: &str = "kernels/ptx/tiny_kernels.sm_75.ptx";

/// A sandbox with fresh committed PTX, and a builder with a fake toolchain.
fn committed() -> (Sandbox, CudaBuilder) {
    let sandbox = Sandbox::new();
    let builder = sandbox.builder().toolchains(vec![sandbox.fake_toolchain("toolchain")]);
    builder.rebuild().unwrap().write_to(sandbox.path(COMMITTED)).unwrap();
    fs::remove_file(sandbox.path("toolchain/called-with-arguments")).unwrap();
    (sandbox, builder)
}

#[test]
fn fresh_ptx_is_used_unchanged_without_a_toolchain() {
    let (sandbox, _) = committed();
    let without_toolchain = sandbox.builder();
    let ptx = without_toolchain.clone().build().unwrap();
    assert_eq!((ptx.path, ptx.arch, ptx.origin), (sandbox.path(COMMITTED), Arch::Sm75, Origin::Committed));
    let copied = without_toolchain.copy_to(sandbox.path("out/copy.ptx")).build().unwrap();
    assert_eq!(copied.path, sandbox.path("out/copy.ptx"));
    assert_eq!(sandbox.read("out/copy.ptx"), sandbox.read(COMMITTED));
}

#[test]
fn fresh_ptx_stays_fresh_on_a_checkout_with_crlf() {
    let (sandbox, _) = committed();
    let text = sandbox.read(COMMITTED);
    sandbox.change(COMMITTED, "\n", "\r\n");
    let ptx = sandbox.builder().copy_to(sandbox.path("out/copy.ptx")).build().unwrap();
    assert_eq!(ptx.origin, Origin::Committed);
    assert_eq!(sandbox.read("out/copy.ptx"), text);
}

#[test]
fn stale_ptx_is_rebuilt_if_there_is_a_toolchain() {
    let (sandbox, builder) = committed();
    sandbox.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    sandbox.change("toolchain/kernels.ptx", "ret;", "trap; ret;");
    let ptx = builder.copy_to(sandbox.path("out/copy.ptx")).build().unwrap();
    let compiler = "rustc 9.9.9 (fake), LLVM 99.0".to_owned();
    assert_eq!(ptx.origin, Origin::Built { staleness: Staleness::Sources, compiler: compiler.clone() });
    let (header, body) = Header::split(&sandbox.read("out/copy.ptx")).unwrap();
    assert_eq!((header.package.as_str(), header.arch.as_str(), header.compiler), ("tiny-kernels", "sm_75", compiler));
    assert_eq!(body, PTX.replace("ret;", "trap; ret;"));
    assert!(sandbox.read(COMMITTED).ends_with(PTX), "a build must not write into the sources");
}

#[test]
fn a_build_writes_the_committed_ptx_if_it_is_told_to() {
    let (sandbox, builder) = committed();
    let before = sandbox.read(COMMITTED);
    assert_eq!(builder.clone().update(true).build().unwrap().origin, Origin::Committed);
    sandbox.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    assert!(matches!(builder.clone().update(true).build().unwrap().origin, Origin::Built { .. }));
    assert_ne!(sandbox.read(COMMITTED), before);
    assert_eq!(sandbox.builder().staleness().unwrap(), None);
    fs::remove_file(sandbox.path(COMMITTED)).unwrap();
    builder.update(true).build().unwrap();
    assert_eq!(sandbox.builder().build().unwrap().origin, Origin::Committed);
}

#[test]
fn built_ptx_is_below_the_target_directory_by_default() {
    let sandbox = Sandbox::new();
    let ptx = sandbox.builder().toolchains(vec![sandbox.fake_toolchain("toolchain")]).build().unwrap();
    assert_eq!(ptx.path, sandbox.path("target/tiny_kernels.sm_75.ptx"));
    assert!(sandbox.read("target/tiny_kernels.sm_75.ptx").ends_with(PTX));
}

#[test]
fn stale_ptx_without_a_toolchain_is_marked() {
    let (sandbox, _) = committed();
    let builder = || sandbox.builder().copy_to(sandbox.path("out/copy.ptx"));
    assert_eq!(builder().strict(false).build().unwrap().origin, Origin::Committed);
    sandbox.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    let ptx = builder().strict(false).build().unwrap();
    assert_eq!(ptx.origin, Origin::Stale { staleness: Staleness::Sources });
    assert_eq!(ptx.path, sandbox.path("out/copy.ptx"));
    let text = sandbox.read("out/copy.ptx");
    assert_eq!(text, format!("{}{}\n", cuda_builder::STALE, Staleness::Sources));
    assert!(sandbox.read(COMMITTED).ends_with(PTX), "a build must not write into the sources");
}

#[test]
fn stale_or_missing_ptx_fails_a_strict_build_without_a_toolchain() {
    let (sandbox, _) = committed();
    let staleness = || match sandbox.builder().strict(true).build().unwrap_err() {
        BuilderError::NoToolchain { staleness, .. } => staleness.unwrap(),
        other => panic!("{other}"),
    };
    sandbox.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    assert_eq!(staleness(), Staleness::Sources);
    sandbox.change("kernels/src/scaling.rs", "/= factor", "*= factor");
    sandbox.change(COMMITTED, "ret;", "trap;");
    assert_eq!(staleness(), Staleness::Edited);
    sandbox.write(COMMITTED, PTX);
    assert!(matches!(staleness(), Staleness::Header(_)));
    fs::remove_file(sandbox.path(COMMITTED)).unwrap();
    assert_eq!(staleness(), Staleness::Missing);
}

#[test]
fn ptx_for_another_architecture_is_not_fresh() {
    let (sandbox, _) = committed();
    let builder = sandbox.builder().arch(Arch::Sm90).committed(sandbox.path(COMMITTED));
    assert_eq!(builder.staleness().unwrap(), Some(Staleness::Sources));
}

#[test]
fn a_check_ignores_only_the_compilers_version() {
    let (sandbox, builder) = committed();
    sandbox.change("toolchain/version", "rustc 9.9.9", "rustc 9.9.10");
    assert_eq!(builder.check().unwrap(), Comparison::Same);

    sandbox.change("toolchain/kernels.ptx", "\tret;", "\ttrap;");
    let Comparison::Differs { line, committed, rebuilt, committed_compiler, compiler } = builder.check().unwrap()
    else {
        panic!("the text differs");
    };
    assert_eq!((line, committed.as_str(), rebuilt.as_str()), (13, "\tret;", "\ttrap;"));
    assert_eq!(committed_compiler.as_deref(), Some("rustc 9.9.9 (fake), LLVM 99.0"));
    assert_eq!(compiler, "rustc 9.9.10 (fake), LLVM 99.0");

    sandbox.change("toolchain/kernels.ptx", "\ttrap;", "\tret;");
    sandbox.change("kernels/src/scaling.rs", "*= factor", "*= factor + 0.0");
    assert_eq!(builder.check().unwrap(), Comparison::HeaderDiffers { staleness: Staleness::Sources });
    fs::remove_file(sandbox.path(COMMITTED)).unwrap();
    assert_eq!(builder.check().unwrap(), Comparison::Missing);
}

#[test]
fn launch_bounds_are_in_the_committed_text() {
    let sandbox = Sandbox::new();
    let builder = sandbox.builder().toolchains(vec![sandbox.fake_toolchain("toolchain")]);
    let text = builder.launch_bounds("scale", 128, 4).rebuild().unwrap().text();
    assert!(text.contains(")\n.maxntid 128, 1, 1\n.minnctapersm 4\n{"), "{text}");
}
