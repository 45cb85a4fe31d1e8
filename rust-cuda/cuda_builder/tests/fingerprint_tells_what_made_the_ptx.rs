//! The fingerprint changes with all that goes into the PTX, and with nothing else.

mod support;

use std::fs::File;
use std::time::{Duration, SystemTime};

use cuda_builder::{Arch, CudaBuilder};
use support::Place;

fn fingerprint(builder: &CudaBuilder) -> String {
    builder.fingerprint().unwrap().to_string()
}

#[test]
fn one_character_a_new_file_or_a_new_name_changes_it() {
    let place = Place::new();
    let first = fingerprint(&place.builder());
    place.change("kernels/src/scaling.rs", "*= factor", "/= factor");
    let changed = fingerprint(&place.builder());
    place.change("kernels/src/scaling.rs", "/= factor", "*= factor");
    assert_eq!(fingerprint(&place.builder()), first);
    place.write("kernels/src/more.rs", "");
    let added = fingerprint(&place.builder());
    std::fs::rename(place.path("kernels/src/more.rs"), place.path("kernels/src/most.rs")).unwrap();
    let renamed = fingerprint(&place.builder());
    let mut all = vec![first, changed, added, renamed];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}

#[test]
fn the_architecture_and_every_setting_of_the_compilation_change_it() {
    let place = Place::new();
    let builder = place.builder();
    let mut all = vec![
        fingerprint(&builder),
        fingerprint(&builder.clone().arch(Arch::Sm90)),
        fingerprint(&builder.clone().ptx_version(7, 8)),
        fingerprint(&builder.clone().launch_bounds("scale", 256, 0)),
        fingerprint(&builder.clone().launch_bounds("scale", 256, 2)),
        fingerprint(&builder.clone().fingerprint_also(place.path("kernels/Cargo.toml"))),
        fingerprint(&builder.clone().fingerprint_also(place.path("kernels/src"))),
    ];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 7);
}

#[test]
fn manifests_count_by_what_they_say_to_the_compiler() {
    let place = Place::new();
    let first = fingerprint(&place.builder());
    place.change("kernels/Cargo.toml", "[lib]", "description = \"Small ones\" # and few\n[lib]");
    place.change("kernels/Cargo.toml", "0.1.0", "0.2.0");
    assert_eq!(fingerprint(&place.builder()), first);
    place.change("kernels/Cargo.toml", "\"2024\"", "\"2021\"");
    assert_ne!(fingerprint(&place.builder()), first);
}

#[test]
fn the_sources_of_path_dependencies_count() {
    let place = Place::new();
    place.write("std/Cargo.toml", "[package]\nname = \"gpu_std\"\n[dependencies]\nmacros = { path = \"macros\" }\n");
    place.write("std/src/lib.rs", "// one");
    place.write("std/src/simulator.rs", "// one");
    place.write("std/macros/Cargo.toml", "[package]\nname = \"macros\"\n");
    place.write("std/macros/src/lib.rs", "// one");
    let alone = fingerprint(&place.builder());
    place.change("kernels/Cargo.toml", "[workspace]", "[dependencies]\ngpu_std = { path = \"../std\" }\n[workspace]");
    let builder = place.builder().host_only(place.path("std/src/simulator.rs"));
    let with_std = fingerprint(&builder);
    assert_ne!(with_std, alone);
    place.write("std/macros/src/lib.rs", "// two");
    let with_other_macros = fingerprint(&builder);
    assert_ne!(with_other_macros, with_std);
    place.write("std/src/simulator.rs", "// two");
    assert_eq!(fingerprint(&builder), with_other_macros);
}

#[test]
fn line_endings_times_and_the_place_do_not_count() {
    let place = Place::new();
    let first = fingerprint(&place.builder());
    for file in ["kernels/src/lib.rs", "kernels/src/scaling.rs", "kernels/Cargo.toml"] {
        place.change(file, "\n", "\r\n");
        let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().append(true).open(place.path(file)).unwrap().set_modified(an_hour_ago).unwrap();
    }
    place.write("kernels/src/.lib.rs.swp", "what an editor keeps");
    place.write("kernels/README.md", "for readers");
    place.write("kernels/tests/scale.rs", "// a test of the host");
    assert_eq!(fingerprint(&place.builder()), first);

    let elsewhere = Place::new();
    elsewhere.copy_kernels_to("some where/else");
    assert_eq!(fingerprint(&CudaBuilder::new(elsewhere.path("some where/else"))), first);
}
