//! The repository's kernels compile, and their PTX can be launched.

use std::collections::BTreeMap;
use std::path::Path;

use ptx_interpreter::Machine;

/// The sources below a folder of this workspace.
fn sources(folder: &str) -> BTreeMap<String, String> {
    gpu_testing::kernel_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder), folder)
}

/// The number of kernels, and those that are rejected with the reason.
fn refused(folder: &str) -> (usize, Vec<String>) {
    let files = sources(folder);
    let (mut count, mut refused) = (0, Vec::new());
    for text in files.values() {
        for part in text.split("#[kernel]").skip(1) {
            let Some((name, _)) = part.split_once("fn ").and_then(|(_, name)| name.split_once('(')) else { continue };
            count += 1;
            match kernel_language::compile(&files, name) {
                Err(refusal) => refused.push(format!("{name}: {refusal}")),
                Ok(compiled) => {
                    let machine = Machine::new(&compiled.ptx).unwrap_or_else(|error| panic!("{name}: {error}"));
                    let reason = machine.refused().next().map(|(_, error)| error.to_string());
                    assert_eq!((reason, machine.kernels().next()), (None, Some(name)));
                }
            }
        }
    }
    (count, refused)
}

#[test]
fn every_seeded_bug_compiles() {
    assert_eq!(refused("seeded_bugs/src"), (26, Vec::new()));
}

/// The rejected one has elements of four floats. `gpu`'s tests compare the results of the others.
#[test]
fn the_teaching_kernels_compile() {
    let (count, refused) = refused("test_kernels/src/teaching");
    let names: Vec<&str> = refused.iter().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let known = ["n_body"];
    assert_eq!((count, &names[..]), (31, &known[..]), "{refused:#?}");
}
