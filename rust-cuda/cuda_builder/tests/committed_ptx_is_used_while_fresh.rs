//! The three cases of a build: fresh; stale with a toolchain; stale without one.
#![cfg(unix)]

mod support;

use std::fs;

use cuda_builder::{Arch, BuilderError, Comparison, CudaBuilder, Header, Origin, Staleness};
use support::{PTX, Place};

const COMMITTED: &str = "kernels/ptx/tiny_kernels.sm_75.ptx";

/// A place with fresh committed PTX, and its builder, which has a toolchain.
fn committed() -> (Place, CudaBuilder) {
    let place = Place::new();
    let builder = place.builder().toolchains(vec![place.fake_toolchain("toolchain")]);
    builder.rebuild().unwrap().write_to(place.path(COMMITTED)).unwrap();
    fs::remove_file(place.path("toolchain/called-with-arguments")).unwrap();
    (place, builder)
}

#[test]
fn fresh_ptx_is_used_as_it_is_and_no_toolchain_is_looked_for() {
    let (place, _) = committed();
    let without_toolchain = place.builder();
    let ptx = without_toolchain.clone().build().unwrap();
    assert_eq!((ptx.path, ptx.arch, ptx.origin), (place.path(COMMITTED), Arch::Sm75, Origin::Committed));
    let copied = without_toolchain.copy_to(place.path("out/copy.ptx")).build().unwrap();
    assert_eq!(copied.path, place.path("out/copy.ptx"));
    assert_eq!(place.read("out/copy.ptx"), place.read(COMMITTED));
}

#[test]
fn fresh_ptx_stays_so_on_a_checkout_with_other_line_endings() {
    let (place, _) = committed();
    let text = place.read(COMMITTED);
    place.change(COMMITTED, "\n", "\r\n");
    let ptx = place.builder().copy_to(place.path("out/copy.ptx")).build().unwrap();
    assert_eq!(ptx.origin, Origin::Committed);
    assert_eq!(place.read("out/copy.ptx"), text);
}

#[test]
fn stale_ptx_is_built_where_there_is_a_toolchain() {
    let (place, builder) = committed();
    place.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    place.change("toolchain/kernels.ptx", "ret;", "trap; ret;");
    let ptx = builder.copy_to(place.path("out/copy.ptx")).build().unwrap();
    let compiler = "rustc 9.9.9 (fake), LLVM 99.0".to_owned();
    assert_eq!(ptx.origin, Origin::Built { staleness: Staleness::Sources, compiler: compiler.clone() });
    let (header, body) = Header::split(&place.read("out/copy.ptx")).unwrap();
    assert_eq!((header.package.as_str(), header.arch.as_str(), header.compiler), ("tiny-kernels", "sm_75", compiler));
    assert_eq!(body, PTX.replace("ret;", "trap; ret;"));
    assert!(place.read(COMMITTED).ends_with(PTX), "a build must not write into the sources");
}

#[test]
fn what_was_built_lies_below_the_target_directory_unless_it_is_copied() {
    let place = Place::new();
    let ptx = place.builder().toolchains(vec![place.fake_toolchain("toolchain")]).build().unwrap();
    assert_eq!(ptx.path, place.path("target/tiny_kernels.sm_75.ptx"));
    assert!(place.read("target/tiny_kernels.sm_75.ptx").ends_with(PTX));
}

#[test]
fn stale_or_missing_ptx_stops_the_build_where_there_is_no_toolchain() {
    let (place, _) = committed();
    let staleness = || match place.builder().build().unwrap_err() {
        BuilderError::NoToolchain { staleness, .. } => staleness.unwrap(),
        other => panic!("{other}"),
    };
    place.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    assert_eq!(staleness(), Staleness::Sources);
    place.change("kernels/src/scaling.rs", "/= factor", "*= factor");
    place.change(COMMITTED, "ret;", "trap;");
    assert_eq!(staleness(), Staleness::Edited);
    place.write(COMMITTED, PTX);
    assert!(matches!(staleness(), Staleness::Header(_)));
    fs::remove_file(place.path(COMMITTED)).unwrap();
    assert_eq!(staleness(), Staleness::Missing);
}

#[test]
fn ptx_for_another_architecture_is_not_fresh() {
    let (place, _) = committed();
    let builder = place.builder().arch(Arch::Sm90).committed(place.path(COMMITTED));
    assert_eq!(builder.staleness().unwrap(), Some(Staleness::Sources));
}

#[test]
fn a_check_compares_all_but_the_compilers_version() {
    let (place, builder) = committed();
    place.change("toolchain/version", "rustc 9.9.9", "rustc 9.9.10");
    assert_eq!(builder.check().unwrap(), Comparison::Same);

    place.change("toolchain/kernels.ptx", "\tret;", "\ttrap;");
    let Comparison::Differs { line, committed, rebuilt, committed_compiler, compiler } = builder.check().unwrap()
    else {
        panic!("the text differs");
    };
    assert_eq!((line, committed.as_str(), rebuilt.as_str()), (13, "\tret;", "\ttrap;"));
    assert_eq!(committed_compiler.as_deref(), Some("rustc 9.9.9 (fake), LLVM 99.0"));
    assert_eq!(compiler, "rustc 9.9.10 (fake), LLVM 99.0");

    place.change("toolchain/kernels.ptx", "\ttrap;", "\tret;");
    place.change("kernels/src/scaling.rs", "*= factor", "*= factor + 0.0");
    assert_eq!(builder.check().unwrap(), Comparison::HeaderDiffers { staleness: Staleness::Sources });
    fs::remove_file(place.path(COMMITTED)).unwrap();
    assert_eq!(builder.check().unwrap(), Comparison::Missing);
}

#[test]
fn launch_bounds_are_in_the_committed_text() {
    let place = Place::new();
    let builder = place.builder().toolchains(vec![place.fake_toolchain("toolchain")]);
    let text = builder.launch_bounds("scale", 128, 4).rebuild().unwrap().text();
    assert!(text.contains(")\n.maxntid 128, 1, 1\n.minnctapersm 4\n{"), "{text}");
}
