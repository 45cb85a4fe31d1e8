//! Edits of the puzzles' kernels, by the page's compiler and by rustc: both refuse an edit, or its results and faults are the same.
//!
//! rustc compiles many edits at once, as modules of one crate; those that it refuses are taken out, and the others are
//! compiled again. `EDITS` sets the number of edits, `TEST_SEED` which ones.
//!
//! The faults are those of rustc without optimisation, in which each access of the source is an instruction. LLVM removes
//! an access that has no effect on the result, such as a read that nothing uses, moves others, and joins the panics of
//! several lines: the optimised PTX of an edit without faults has none either, and the same results, but that of an edit
//! with faults may have fewer, or others.

mod change;
#[path = "../lab/faults.rs"]
mod faults;
#[path = "../support/launch.rs"]
mod launch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cuda_builder::{Arch, BuilderError, CudaBuilder};
use learn::host::puzzles::PUZZLES;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::{Value, json};
use test_support::{Need, skip};

use change::changed;
use faults::{lines_of, sentences_of};
use launch::{launch, only, sources};

/// A kernel with its file, without `.rs`, and a launch.
struct Original {
    name: &'static str,
    file: &'static str,
    launch: Value,
}

/// The puzzles' kernels and their wrong versions, with the launches that the page shows.
fn originals() -> Vec<Original> {
    let mut all = Vec::new();
    for puzzle in &PUZZLES {
        let bugs = puzzle.bugs.iter().map(|bug| ("bugs", bug.kernel.name));
        for (file, name) in [("puzzles", puzzle.kernel.name)].into_iter().chain(bugs) {
            all.push(Original { name, file, launch: launch(name, &(puzzle.case)(puzzle.sizes[0])) });
        }
    }
    all
}

/// An edited kernel: its module is a copy of the kernel's file without the other kernels.
struct Edit {
    kernel: String,
    module: String,
    source: String,
    launch: Value,
}

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn learn() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// First and last line of a function and what is above it, from its name on.
fn function(lines: &[&str], name: &str) -> (usize, usize) {
    let at = lines.iter().position(|line| line.starts_with(&format!("pub fn {name}("))).expect(name);
    let first = (0..at).rev().take_while(|&line| lines[line].starts_with("///") || lines[line].starts_with('#')).last();
    let last = (at..lines.len()).find(|&line| lines[line] == "}").expect("a function ends");
    (first.unwrap_or(at), last)
}

fn edit(index: usize, original: &Original, random: &mut ChaCha8Rng) -> Edit {
    let text = &sources()[&format!("learn/src/{}.rs", original.file)];
    let mut lines: Vec<&str> = text.lines().collect();
    let kernel = format!("{}_e{index}", original.name);
    let (first, last) = function(&lines, original.name);
    let own = lines[first..=last].join("\n").replace(&format!("fn {}(", original.name), &format!("fn {kernel}("));
    let own = changed(&own, random);
    let others = lines.iter().filter_map(|line| line.strip_prefix("pub fn ")?.split('(').next().map(str::to_owned));
    let mut removed: Vec<(usize, usize)> = others.map(|name| function(&lines, &name)).collect();
    removed.sort_unstable();
    for (from, to) in removed.into_iter().rev() {
        lines.drain(from..=to);
    }
    let source = format!("{}\n{own}\n", lines.join("\n"));
    let mut launch = original.launch.clone();
    launch["kernel"] = kernel.clone().into();
    launch["block_instructions"] = (1 << 17).into();
    launch["instructions_without_progress"] = (1 << 16).into();
    Edit { kernel, module: format!("e{index}"), source, launch }
}

/// The crate of the edits that are left, which is its own workspace.
fn write_crate(folder: &Path, edits: &[&Edit]) {
    let sources = folder.join("src");
    let _ = fs::remove_dir_all(&sources);
    let _ = fs::remove_file(folder.join("Cargo.lock"));
    fs::create_dir_all(&sources).expect("a folder");
    let mut library = "#![no_std]\n#![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx, asm_experimental_arch))]\n\
                       #![allow(warnings)]\n"
        .to_owned();
    fs::write(sources.join("puzzles.rs"), base()).expect("a file");
    library += "pub mod puzzles;\n";
    for edit in edits {
        fs::write(sources.join(format!("{}.rs", edit.module)), &edit.source).expect("a file");
        library += &format!("pub mod {};\n", edit.module);
    }
    fs::write(sources.join("lib.rs"), library).expect("a file");
    let cuda_std = learn().join("../rust-cuda/cuda_std");
    let manifest = format!(
        "[package]\nname = \"edits\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\ncuda_std = {{ path = {:?} }}\n\n[workspace]\n",
        cuda_std.canonicalize().expect("cuda_std is there")
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
}

/// The puzzles' constants and functions without their kernels, which the wrong versions use.
fn base() -> String {
    let sources = sources();
    let given = sources["learn/src/puzzles.rs"].split("#[kernel]").next().unwrap_or_default();
    given.rsplit_once("\n\n").map_or(String::new(), |(given, _)| given.to_owned())
}

/// The texts of the PTX of the edits that rustc compiles and of its names, and the modules that it refuses besides `refused`.
fn compile(
    folder: &Path,
    edits: &[Edit],
    is_optimised: bool,
    refused: &mut BTreeSet<String>,
) -> Result<[String; 2], BuilderError> {
    loop {
        let left: Vec<&Edit> = edits.iter().filter(|edit| !refused.contains(&edit.module)).collect();
        write_crate(folder, &left);
        let builder = CudaBuilder::new(folder).arch(Arch::Sm75).ptx_version(7, 0).target_dir(folder.join("target"));
        match builder.strict(true).optimised(is_optimised).build() {
            Ok(ptx) => {
                return Ok([ptx.path.clone(), ptx.debug_file()]
                    .map(|path| fs::read_to_string(path).expect("it has been built")));
            }
            Err(BuilderError::Compile { messages, package, arch, compiler }) => {
                let before = refused.len();
                for part in messages.split("\nerror").skip(1).chain(messages.strip_prefix("error")) {
                    let module = part.split("--> src/").nth(1).and_then(|place| place.split(".rs:").next());
                    refused.extend(module.map(str::to_owned));
                }
                if refused.len() == before {
                    return Err(BuilderError::Compile { messages, package, arch, compiler });
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn answer(request: &Value) -> Value {
    serde_json::from_str(&lab::answer(&request.to_string())).expect("an answer is JSON")
}

/// The answer, if there is one in time: the interpreter may not notice that a loop has no end.
fn answer_in_time(request: Value) -> Option<Value> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(answer(&request)));
    receiver.recv_timeout(Duration::from_secs(120)).ok()
}

/// The lines of reads that are not in the source: without optimisation a variable is in the thread's stack, and one with a value
/// that has never been written is a second fault where it is read. A line has one fault: what else is wrong there is not said.
fn reads_of_variables(answer: &Value) -> Vec<String> {
    let faults = answer["check"]["faults"].as_array().into_iter().flatten();
    let of_stack = faults.filter(|fault| fault["message"].to_string().contains(" of __local_depot")).cloned();
    lines_of(&json!({"check": {"faults": of_stack.collect::<Vec<_>>()}}))
}

/// The lines of an answer's faults without those of indices out of bounds.
fn lines_of_others(answer: &Value) -> Vec<String> {
    let faults = answer["check"]["faults"].as_array().into_iter().flatten();
    let others = lines_of(answer).into_iter().zip(faults).filter(|(_, fault)| fault["kind"] != "out-of-bounds");
    others.map(|(line, _)| line).collect()
}

/// How the faults and results of the page's code differ from those of rustc's; None if they are the same.
fn difference(of_rustc: &Value, of_page: &Value) -> Option<String> {
    let [of_rustc_says, of_page_says] = [of_rustc, of_page].map(sentences_of);
    if of_rustc_says.is_empty() && of_page_says.is_empty() {
        return (of_rustc["buffers"] != of_page["buffers"]).then(|| "another result".to_owned());
    }
    let hidden = reads_of_variables(of_rustc);
    // Without optimisation an index out of bounds panics in a function of `core`, whose caller the PTX does not name.
    let has_lines = lines_of(of_rustc).iter().all(|line| line.starts_with("edits/"));
    let is_missed = of_page_says.is_empty() || of_rustc_says.is_empty();
    let [of_rustc, of_page] = [of_rustc, of_page].map(|answer| {
        let lines = if has_lines { lines_of(answer) } else { lines_of_others(answer) };
        lines.into_iter().filter(|line| !hidden.contains(line)).collect::<Vec<_>>()
    });
    (is_missed || of_rustc != of_page).then(|| format!("rustc: {of_rustc_says:?}\n    page: {of_page_says:?}"))
}

#[test]
#[ignore = "rustc compiles the edits to PTX, which takes minutes"]
fn edits_are_refused_by_both_or_equal() {
    let originals = originals();
    let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let count = variable("EDITS", 200) as usize;
    let edits: Vec<Edit> =
        (0..count).map(|index| edit(index, &originals[index % originals.len()], &mut random)).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("edits");
    let mut refused = BTreeSet::new();
    let mut compiled = Vec::new();
    for is_optimised in [true, false] {
        match compile(&folder, &edits, is_optimised, &mut refused) {
            Ok(texts) => compiled.push(texts),
            Err(error @ BuilderError::NoToolchain { .. }) => return skip(Need::Ptx, &error.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
    let base = BTreeMap::from([("edits/src/puzzles.rs".to_owned(), base())]);
    let (mut equal, mut endless, mut by_both, mut changed_by_optimisation) = (0, 0, 0, 0);
    let (mut by_page, mut by_rustc, mut differ) = (Vec::new(), Vec::new(), Vec::new());
    for edit in &edits {
        let mut files = base.clone();
        files.insert(format!("edits/src/{}.rs", edit.module), edit.source.clone());
        let request = json!({"task": "check", "files": files, "launch": edit.launch, "orders": 1, "seed": 0});
        let Some(of_page) = answer_in_time(request) else {
            endless += 1;
            continue;
        };
        let error = of_page["error"].as_str();
        match (refused.contains(&edit.module), error) {
            (true, Some(_)) => by_both += 1,
            (true, None) => by_rustc.push(edit.module.clone()),
            (false, Some(error)) => by_page.push(error.to_owned()),
            // A loop without an end is noticed at any of its lines, and rustc may leave nothing in it that can be counted.
            (false, None) if sentences_of(&of_page).iter().any(|sentence| sentence.contains("does not end")) => {
                endless += 1;
            }
            (false, None) => {
                let request = |[ptx, names]: &[String; 2], more: u64| {
                    let mut launch = edit.launch.clone();
                    for limit in ["block_instructions", "instructions_without_progress"] {
                        launch[limit] = (launch[limit].as_u64().expect("it is set") * more).into();
                    }
                    let ptx = only(ptx, &edit.kernel);
                    json!({"task": "check", "ptx": ptx, "names": names, "launch": launch, "orders": 1, "seed": 0})
                };
                let of_optimised = answer_in_time(request(&compiled[0], 1));
                // Without optimisation the same loops have more instructions.
                let of_rustc = answer_in_time(request(&compiled[1], 16));
                let (Some(of_optimised), Some(of_rustc)) = (of_optimised, of_rustc) else {
                    differ.push(format!("{}: rustc's does not end", edit.kernel));
                    continue;
                };
                for error in [&of_optimised, &of_rustc].iter().filter_map(|answer| answer["error"].as_str()) {
                    differ.push(format!("{}: rustc's is not launched: {error}", edit.kernel));
                }
                let text = difference(&of_rustc, &of_page);
                let optimised = difference(&of_optimised, &of_page);
                changed_by_optimisation += usize::from(optimised.is_some());
                let has_faults = !sentences_of(&of_page).is_empty();
                match text.or_else(|| optimised.filter(|_| !has_faults).map(|text| format!("optimised, {text}"))) {
                    None => equal += 1,
                    Some(text) => differ.push(format!("{}: {text}", edit.kernel)),
                }
            }
        }
    }
    eprintln!(
        "{count} edits: {equal} equal, of which rustc's optimiser changes the faults of {changed_by_optimisation}, {endless} without an \
         end, {by_both} refused by both, {} by the page alone, {} by rustc alone, {} differ",
        by_page.len(),
        by_rustc.len(),
        differ.len()
    );
    let list = |title: &str, all: &[String]| eprintln!("{title}\n  {}", all.join("\n  "));
    list("by the page alone:", &by_page);
    list("by rustc alone:", &by_rustc);
    list("differ:", &differ);
    assert!(by_page.is_empty() && by_rustc.is_empty() && differ.is_empty(), "see above");
}
