//! The fingerprint depends on every input of the PTX, and on nothing else.

mod support;

use std::fs::File;
use std::time::{Duration, SystemTime};

use cuda_builder::{Arch, CudaBuilder};
use support::Sandbox;

fn fingerprint(builder: &CudaBuilder) -> String {
    builder.fingerprint().unwrap().to_string()
}

#[test]
fn an_edit_a_new_file_or_a_new_name_changes_it() {
    let sandbox = Sandbox::new();
    let first = fingerprint(&sandbox.builder());
    sandbox.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    let changed = fingerprint(&sandbox.builder());
    sandbox.change("kernels/src/scaling.rs", "/= factor", "*= factor");
    assert_eq!(fingerprint(&sandbox.builder()), first);
    sandbox.write("kernels/src/more.rs", "");
    let added = fingerprint(&sandbox.builder());
    std::fs::rename(sandbox.path("kernels/src/more.rs"), sandbox.path("kernels/src/other.rs")).unwrap();
    let renamed = fingerprint(&sandbox.builder());
    let mut all = vec![first, changed, added, renamed];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}

#[test]
fn the_architecture_and_every_setting_of_the_compilation_change_it() {
    let sandbox = Sandbox::new();
    let builder = sandbox.builder();
    let mut all = vec![
        fingerprint(&builder),
        fingerprint(&builder.clone().arch(Arch::Sm90)),
        fingerprint(&builder.clone().ptx_version(7, 8)),
        fingerprint(&builder.clone().fma_contraction(true)),
        fingerprint(&builder.clone().optimised(false)),
        fingerprint(&builder.clone().features(["a"])),
        fingerprint(&builder.clone().features(["a", "b"])),
        fingerprint(&builder.clone().launch_bounds("scale", 256, 0)),
        fingerprint(&builder.clone().launch_bounds("scale", 256, 2)),
        fingerprint(&builder.clone().add_to_fingerprint(sandbox.path("kernels/Cargo.toml"))),
        fingerprint(&builder.clone().add_to_fingerprint(sandbox.path("kernels/src"))),
    ];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 11);
}

#[test]
fn manifest_keys_count_only_if_they_affect_the_compiler() {
    let sandbox = Sandbox::new();
    let first = fingerprint(&sandbox.builder());
    sandbox.change("kernels/Cargo.toml", "[lib]", "description = \"Small ones\" # and few\n[lib]");
    sandbox.change("kernels/Cargo.toml", "0.1.0", "0.2.0");
    assert_eq!(fingerprint(&sandbox.builder()), first);
    sandbox.change("kernels/Cargo.toml", "\"2024\"", "\"2021\"");
    assert_ne!(fingerprint(&sandbox.builder()), first);
}

#[test]
fn the_sources_of_path_dependencies_count() {
    let sandbox = Sandbox::new();
    let host_only = "[package.metadata.cuda_builder]\nhost_only = [\"src/simulator.rs\"]";
    let dependencies = "[dependencies]\nmacros = { path = \"macros\" }";
    sandbox.write("std/Cargo.toml", &format!("[package]\nname = \"gpu_std\"\n{host_only}\n{dependencies}\n"));
    sandbox.write("std/src/lib.rs", "// one");
    sandbox.write("std/src/simulator.rs", "// one");
    sandbox.write("std/macros/Cargo.toml", "[package]\nname = \"macros\"\n");
    sandbox.write("std/macros/src/lib.rs", "// one");
    let alone = fingerprint(&sandbox.builder());
    sandbox.change("kernels/Cargo.toml", "[workspace]", "[dependencies]\ngpu_std = { path = \"../std\" }\n[workspace]");
    let builder = sandbox.builder();
    let with_std = fingerprint(&builder);
    assert_ne!(with_std, alone);
    sandbox.write("std/macros/src/lib.rs", "// two");
    let with_other_macros = fingerprint(&builder);
    assert_ne!(with_other_macros, with_std);
    sandbox.write("std/src/simulator.rs", "// two");
    assert_eq!(fingerprint(&builder), with_other_macros);
}

#[test]
fn the_sources_of_programs_do_not_count() {
    let sandbox = Sandbox::new();
    let first = fingerprint(&sandbox.builder());
    sandbox.write("kernels/src/main.rs", "mod arguments;\nmod scaling;\nfn main() {}");
    sandbox.write("kernels/src/arguments.rs", "");
    sandbox.write("kernels/src/bin/tool.rs", "fn main() {}");
    sandbox.write("kernels/src/bin/other/main.rs", "fn main() {}");
    assert_eq!(fingerprint(&sandbox.builder()), first);
    // The library also includes this file.
    sandbox.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    let changed = fingerprint(&sandbox.builder());
    assert_ne!(changed, first);
    sandbox.change("kernels/src/lib.rs", "mod scaling;", "mod scaling;\n#[path = \"arguments.rs\"]\nmod more;");
    let more = fingerprint(&sandbox.builder());
    sandbox.write("kernels/src/arguments.rs", "// Changed.");
    let all = [first, changed, more, fingerprint(&sandbox.builder())];
    assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])), "{all:?}");
}

#[test]
fn line_endings_times_and_the_path_do_not_count() {
    let sandbox = Sandbox::new();
    let first = fingerprint(&sandbox.builder());
    for file in ["kernels/src/lib.rs", "kernels/src/scaling.rs", "kernels/Cargo.toml"] {
        sandbox.change(file, "\n", "\r\n");
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().append(true).open(sandbox.path(file)).unwrap().set_modified(an_hour_ago).unwrap();
    }
    sandbox.write("kernels/src/.lib.rs.swp", "an editor's temporary file");
    sandbox.write("kernels/README.md", "for readers");
    sandbox.write("kernels/tests/scale.rs", "// a test of the host");
    assert_eq!(fingerprint(&sandbox.builder()), first);

    let elsewhere = Sandbox::new();
    elsewhere.copy_kernels_to("some where/else");
    assert_eq!(fingerprint(&CudaBuilder::new(elsewhere.path("some where/else"))), first);
}
