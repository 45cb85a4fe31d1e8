//! The students' files contain no line of a solution, from the starter or from this project's
//! crates that do the same.

#[path = "support/files.rs"]
mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use files::files_below;

/// This project's crates that solve an assignment or nearly solve it.
const SOLVED: [&str; 9] = [
    "utils/src",
    "max_functions/src",
    "matmul_functions/src",
    "activation_functions/src",
    "augmentation/src",
    "filters/src",
    "distributed_functions/src",
    "kernels-gpu/src",
    "crates/kernels-cpu/src",
];
/// Files in these crates that students get because the given code needs them.
const GIVEN: [&str; 2] = ["crates/kernels-cpu/src/dispatch.rs", "crates/kernels-cpu/src/memory.rs"];
/// Minimum number of letters of a line that reveals something.
const LEAST: usize = 25;
/// Lines that many programs have, and lines with calls or parts of the given crates' functions.
const COMMON: [&str; 10] = [
    "ControlFlow::Continue(())",
    "command: Option<Command>,",
    "const ROUND: f32 = 12_582_912.0;",
    "for set in InstructionSet::available() {",
    "homework: HomeworkOptions,",
    "let mut i = thread::index_1d() as usize;",
    "let mut outcome = Ok(());",
    "let numerator = if x < 0.0 { e } else { 1.0 };",
    "let path = PathBuf::from(text);",
    "receive.copy_from_slice(send);",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the lines of a file, with whitespace collapsed to single spaces.
fn lines_of(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Whether a line of a solution reveals how something is done, unlike a comment, import, attribute
/// or signature.
fn tells(line: &str) -> bool {
    const STARTS: [&str; 9] =
        ["//", "#", "use ", "pub use ", "fn ", "pub fn ", "pub(super) fn ", "pub(crate) fn ", "impl"];
    line.len() >= LEAST && !STARTS.iter().any(|start| line.starts_with(start)) && !COMMON.contains(&line)
}

struct Solutions {
    /// Lines of the starter's solution blocks.
    blocks: BTreeSet<String>,
    /// Those lines and the lines of the project's own crates, each with a file that contains it.
    all: BTreeMap<String, PathBuf>,
}

/// Lines of all solutions, except lines that the templates also have outside the solution blocks.
fn solutions() -> Solutions {
    let templates = root().join("course/starter");
    let learn = files_below(&root().join("learn/src")).into_iter();
    let learn = learn.filter(|file| file.parent().is_some_and(|folder| folder.ends_with("src")));
    let is_kernels = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.starts_with("step") || name == "puzzles.rs"
    };
    let (mut blocks, mut all, mut given) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    for file in files_below(&templates).into_iter().chain(learn.filter(is_kernels)) {
        let mut is_solution = false;
        for line in lines_of(&file) {
            match line.as_str() {
                "// end" => is_solution = false,
                start if start.starts_with("// write: ") => is_solution = true,
                _ if is_solution => {
                    blocks.insert(line.clone());
                    all.insert(line, file.clone());
                }
                _ if file.extension().is_some_and(|extension| extension == "rs") => drop(given.insert(line)),
                _ => {}
            }
        }
    }
    for file in SOLVED.iter().flat_map(|folder| files_below(&root().join(folder))) {
        if !GIVEN.iter().any(|given| file.ends_with(given))
            && file.extension().is_some_and(|extension| extension == "rs")
        {
            all.extend(lines_of(&file).into_iter().map(|line| (line, file.clone())));
        }
    }
    let is_told = |line: &str| tells(line) && !given.contains(line);
    all.retain(|line, _| is_told(line));
    blocks.retain(|line| is_told(line) && !given.iter().any(|given| given.contains(line)));
    assert!(blocks.len() > 200 && all.len() > 3000, "{} lines of blocks, {} in all", blocks.len(), all.len());
    Solutions { blocks, all }
}

/// Writes the starter of an assignment.
fn starter(folder: &Path, options: &[&str]) {
    let written = Command::new(env!("CARGO_BIN_EXE_course")).arg("starter").args(options).arg(folder).output().unwrap();
    assert!(written.status.success(), "{written:?}");
}

/// Locations of solution lines in a workspace: whole lines, and lines of blocks also within another
/// line.
fn found(workspace: &Path, solutions: &Solutions) -> Vec<String> {
    let mut found = Vec::new();
    for file in files_below(workspace).into_iter().filter(|file| !file.ends_with("Cargo.lock")) {
        let name = file.strip_prefix(workspace).unwrap().display().to_string();
        for (index, line) in lines_of(&file).into_iter().enumerate().filter(|(_, line)| line.len() >= LEAST) {
            let block = solutions.blocks.iter().find(|block| line.contains(*block));
            let place = format!("{name}:{}", index + 1);
            found.extend(block.map(|block| format!("{place} has a block's {block}")));
            found.extend(solutions.all.get(&line).map(|file| format!("{place} has {line} of {}", file.display())));
        }
    }
    found
}

#[test]
fn a_starter_has_no_line_of_a_solution() {
    let (folder, solutions) = (tempfile::tempdir().unwrap(), solutions());
    for assignment in ["1", "2", "3", "learn"] {
        let workspace = folder.path().join(assignment);
        starter(&workspace, &["--assignment", assignment]);
        let found = found(&workspace, &solutions);
        assert!(found.is_empty(), "assignment {assignment}:\n{}", found.join("\n"));
        // Verifies that the test finds the lines where they exist.
        let solved = folder.path().join(format!("{assignment}-solved"));
        starter(&solved, &["--assignment", assignment, "--solutions"]);
        let found = self::found(&solved, &solutions);
        assert!(found.len() > 20, "assignment {assignment}: {found:?}");
    }
}

/// Students get the questions of answers.md, but not the key.
#[test]
fn a_starter_has_the_questions_and_not_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = lines_of(&root().join("course/grading/answers.toml"));
    let key: Vec<&String> = key.iter().filter(|line| line.len() >= LEAST).collect();
    assert!(key.len() > 40);
    for (assignment, blanks) in [("1", 3), ("2", 2), ("3", 1), ("learn", 0)] {
        let workspace = folder.path().join(assignment);
        starter(&workspace, &["--assignment", assignment]);
        let answers = std::fs::read_to_string(workspace.join("answers.md")).unwrap_or_default();
        assert_eq!(answers.matches("(your explanation)").count(), blanks, "{answers}");
        assert!(!answers.contains("<!-- part"), "{answers}");
        let has_matrices = assignment == "1" || assignment == "2";
        assert_eq!(workspace.join("docs/numpy-to-ndarray.md").is_file(), has_matrices, "assignment {assignment}");
        let readme = std::fs::read_to_string(workspace.join("README.md")).unwrap();
        assert_eq!(readme.contains("numpy-to-ndarray"), has_matrices, "{readme}");
        for file in files_below(&workspace) {
            let lines = lines_of(&file).into_iter().filter(|line| line.len() >= LEAST);
            let found = lines.into_iter().find(|line| key.iter().any(|of_key| line.contains(*of_key)));
            assert_eq!(found, None, "{}", file.display());
        }
    }
}

/// The pages come with the kernels, without the same kernels in other languages, and their links
/// point to existing files.
#[test]
fn the_starter_of_the_kernels_has_their_pages() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("learn");
    starter(&workspace, &["--assignment", "learn"]);
    let pages = files_below(&workspace.join("docs/learn"));
    assert_eq!(pages.len(), files_below(&root().join("docs/learn")).len(), "{pages:?}");
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(page).unwrap();
        for absent in ["```cuda", "```python", "<!--", "kernel lab"] {
            assert!(!text.contains(absent), "{} has {absent}", page.display());
        }
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap();
            assert!(page.parent().unwrap().join(target).is_file(), "{}: {target}", page.display());
        }
        let is_of_step = !page.ends_with("README.md");
        assert_eq!(text.contains("    // write this\n"), is_of_step, "{}", page.display());
    }
}

/// A starter needs neither the repository nor its folder, which both contain the solutions.
#[test]
fn a_starter_names_no_place_outside_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    for assignment in ["1", "2", "3", "learn"] {
        let workspace = folder.path().join(assignment);
        starter(&workspace, &["--assignment", assignment]);
        let project = root().to_str().unwrap();
        for file in files_below(&workspace) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains(project), "{} names {project}", file.display());
            if !file.ends_with("Cargo.toml") {
                continue;
            }
            let manifest: toml::Table = text.parse().unwrap();
            for path in paths_in(&toml::Value::Table(manifest)) {
                let target = file.parent().unwrap().join(&path).canonicalize();
                let target = target.unwrap_or_else(|error| panic!("{}: {path}: {error}", file.display()));
                assert!(target.starts_with(workspace.canonicalize().unwrap()), "{}: {path}", file.display());
            }
            assert!(!text.contains("git = "), "{}", file.display());
            let inherits = text.contains("workspace = true");
            assert!(!inherits || !file.starts_with(workspace.join("vendor")), "{}", file.display());
        }
    }
}

/// The paths of dependencies in a manifest.
fn paths_in(value: &toml::Value) -> Vec<String> {
    let toml::Value::Table(table) = value else { return Vec::new() };
    let own = table.iter().filter(|(key, value)| *key == "path" && value.is_str());
    let own = own.filter_map(|(_, path)| path.as_str()).filter(|path| !path.ends_with(".rs")).map(str::to_owned);
    own.chain(table.values().flat_map(paths_in)).collect()
}
