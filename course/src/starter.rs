//! `cargo course starter`: a workspace in which a student does the homework. It contains the crates
//! that it is built from. It depends on neither this project's folder nor its repository, which
//! both contain the solutions.
//!
//! The files are in `course/starter`, with solutions. A block between `// write: NAME` and `// end`
//! becomes `not_written!("NAME")`, unless solutions are requested.

mod vendored;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use command_line::{one_of, say};

#[cfg(unix)]
pub(crate) use self::vendored::FOLDER as VENDOR;
use crate::{shell, workspace_root};

/// Options of `cargo course starter`.
#[derive(Args)]
pub struct Options {
    /// Folder of the workspace, which must not exist yet or be empty
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Assignment of the course: all of its parts
    #[arg(
        long,
        default_value = "1",
        conflicts_with = "part",
        value_parser = one_of(&Assignment::ALL, Assignment::name, Assignment::description)
    )]
    assignment: Assignment,
    /// Part of an assignment, instead of all; may be repeated, or a comma-separated list
    #[arg(long, value_delimiter = ',', value_parser = one_of(&Part::ALL, Part::name, Part::description))]
    part: Vec<Part>,
    /// Fill in the solutions
    #[arg(long)]
    solutions: bool,
}

/// An assignment of the course, worth 100 points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Assignment {
    #[default]
    One,
    Two,
    Three,
    /// Practice kernels, in addition to the course's own assignments.
    Learn,
}

impl Assignment {
    pub(crate) const ALL: [Self; 4] = [Self::One, Self::Two, Self::Three, Self::Learn];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Three => "3",
            Self::Learn => "learn",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::One => "The homework's parts 1, 2 and 3, and activation",
            Self::Two => "augmentation and filters",
            Self::Three => "distributed, the all-reduce and training on many ranks",
            Self::Learn => "learn, an extra assignment: ten kernels of docs/learn and twenty puzzles of docs/lab",
        }
    }

    /// Parts of the assignment, in order.
    pub(crate) fn parts(self) -> &'static [Part] {
        match self {
            Self::One => &[Part::One, Part::Two, Part::Three, Part::Activation],
            Self::Two => &[Part::Augmentation, Part::Filters],
            Self::Three => &[Part::Distributed],
            Self::Learn => &[Part::Learn],
        }
    }

    /// Returns the assignment that contains a part.
    #[cfg(unix)]
    pub(crate) fn of(part: Part) -> Option<Self> {
        Self::ALL.into_iter().find(|assignment| assignment.parts().contains(&part))
    }
}

/// A part of an assignment: one crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    One,
    Two,
    Three,
    Activation,
    Augmentation,
    Filters,
    Distributed,
    /// The kernels of `docs/learn` and the puzzles of `docs/lab`.
    Learn,
}

impl Part {
    /// All parts, in the assignments' order.
    pub(crate) const ALL: [Self; 8] = [
        Self::One,
        Self::Two,
        Self::Three,
        Self::Activation,
        Self::Augmentation,
        Self::Filters,
        Self::Distributed,
        Self::Learn,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Three => "3",
            Self::Activation => "activation",
            Self::Augmentation => "augmentation",
            Self::Filters => "filters",
            Self::Distributed => "distributed",
            Self::Learn => "learn",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::One => "The building blocks of a network, utils",
            Self::Two => "The element-wise maximum, max_functions",
            Self::Three => "X·Xᵀ, matmul_functions",
            Self::Activation => "NVIDIA's exercise, activation_functions",
            Self::Augmentation => "Assignment 2: distorted images, workers and their queue, augmentation",
            Self::Filters => "Assignment 2: correlation and edges, filters",
            Self::Distributed => "Assignment 3: all-reduce and training on many ranks, distributed_functions",
            Self::Learn => "Ten kernels of docs/learn and twenty puzzles of docs/lab, learn",
        }
    }

    pub(crate) fn package(self) -> &'static str {
        match self {
            Self::One => "utils",
            Self::Two => "max_functions",
            Self::Three => "matmul_functions",
            Self::Activation => "activation_functions",
            Self::Augmentation => "augmentation",
            Self::Filters => "filters",
            Self::Distributed => "distributed_functions",
            Self::Learn => "learn",
        }
    }

    /// Name of a function that the student writes.
    fn function(self) -> &'static str {
        match self {
            Self::One => "sigmoid",
            Self::Two => "max_cpu",
            Self::Three => "matmul_transpose_trivial",
            Self::Activation => "normalize",
            Self::Augmentation => "rotate",
            Self::Filters => "correlation_trivial",
            Self::Distributed => "naive_allreduce",
            Self::Learn => "double",
        }
    }

    /// The kernels' file without `.rs`, and the name of one kernel; `None` for a part without
    /// kernels graded as PTX.
    pub(crate) fn kernel(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Two => Some(("kernel", "max_kernel")),
            Self::Three => Some(("kernel", "matmul_kernel")),
            Self::Activation => Some(("kernels", "normalize_kernel")),
            Self::Filters => Some(("kernel", "correlation_kernel")),
            Self::One | Self::Augmentation | Self::Distributed | Self::Learn => None,
        }
    }
}

/// Writes the workspace.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let Options { directory, assignment, part, solutions } = options;
    let parts: Vec<Part> = match part.is_empty() {
        true => assignment.parts().to_vec(),
        false => Part::ALL.into_iter().filter(|known| part.contains(known)).collect(),
    };
    let is_free = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !directory.exists(),
    };
    ensure!(is_free, "{} exists and is not an empty folder: choose another one", directory.display());
    write_from(directory, &parts, &tools_for(&parts), *solutions, Source::Workspace)?;
    let names: Vec<&str> = parts.iter().map(|part| part.package()).collect();
    let (shown, folder) = (directory.display(), shell::folder(&directory.to_string_lossy(), cfg!(windows)));
    say!("{shown}: {}. Next: cd {folder} && cargo check-homework", names.join(", "));
    Ok(ExitCode::SUCCESS)
}

/// Packages of the given programs besides the parts: the commands, a training program if part 1 is
/// included, and the kernel commands if a part has kernels.
fn tools_for(parts: &[Part]) -> Vec<&'static str> {
    let trains = parts.contains(&Part::One).then_some("train");
    ["check_homework"].into_iter().chain(trains).chain(have_kernels(parts).then_some("see_kernels")).collect()
}

/// Whether any of the parts has kernels.
fn have_kernels(parts: &[Part]) -> bool {
    parts.iter().any(|part| *part == Part::Learn || part.kernel().is_some())
}

/// Whether any of the parts uses ndarray matrices.
fn have_matrices(parts: &[Part]) -> bool {
    parts.iter().any(|part| *part == Part::One || part.kernel().is_some())
}

/// Writes the workspace of these parts to a new folder, using the crates in this project's folder,
/// and without the students' commands.
#[cfg(unix)]
pub(crate) fn write(directory: &Path, parts: &[Part], solutions: bool) -> Result<()> {
    write_from(directory, parts, &[], solutions, Source::Folder(workspace_root()))
}

fn write_from(directory: &Path, parts: &[Part], tools: &[&str], solutions: bool, source: Source) -> Result<()> {
    let mut files = Vec::new();
    let templates = workspace_root().join("course/starter");
    for tool in tools {
        for (name, file) in files_of_package(tool)? {
            files.push((name, for_parts(&read_text(&file)?, parts)));
        }
    }
    for part in parts {
        for (name, file) in templates_of(*part)? {
            let text = read_text(&file)?;
            let is_rust = file.extension().is_some_and(|extension| extension == "rs");
            let text = if is_rust {
                with_blocks(&name, &text, solutions).with_context(|| name.display().to_string())?
            } else {
                text
            };
            files.push((name, text));
        }
    }
    let manifests = files.iter().filter(|(name, _)| name.ends_with("Cargo.toml")).map(|(_, text)| text.as_str());
    let dependencies = dependencies_in(manifests)?;
    let template = read_text(&templates.join("workspace.toml"))?;
    let (manifest, crates) = manifest(&template, parts, tools, &dependencies, source)?;
    files.push(("Cargo.toml".into(), manifest));
    if matches!(source, Source::Workspace) {
        files.extend(vendored::files(workspace_root(), &crates)?);
    }
    files.push(("README.md".into(), readme(&read_text(&templates.join("README.md"))?, parts)));
    if !tools.is_empty() {
        files.push((".cargo/config.toml".into(), read_text(&templates.join("config.toml"))?));
    }
    let answers = sections_for(&answers_template()?, parts);
    if answers.contains("## ") && !tools.is_empty() {
        files.push(("answers.md".into(), answers));
    }
    if have_matrices(parts) && !tools.is_empty() {
        let name = "docs/numpy-to-ndarray.md";
        files.push((name.into(), read_text(&workspace_root().join(name))?));
    }
    if parts.contains(&Part::Learn) && !tools.is_empty() {
        files.extend(pages_of_learn()?);
    }
    files.push((".gitignore".into(), "/target\n".to_owned()));
    for name in ["Cargo.lock", "rust-toolchain.toml"] {
        files.push((name.into(), read_text(&workspace_root().join(name))?));
    }
    write_all(directory, &files)
}

/// Files of this project's crates and their dependencies for a workspace's folder [`VENDOR`],
/// without solutions.
///
/// # Errors
/// If a file cannot be read.
#[cfg(unix)]
pub(crate) fn vendored(crates: &[&str]) -> Result<Vec<(PathBuf, String)>> {
    vendored::files(workspace_root(), &crates.iter().map(|&name| name.to_owned()).collect())
}

/// The files of a package: their names in the workspace, and their paths in this project.
fn files_of_package(package: &str) -> Result<Vec<(PathBuf, PathBuf)>> {
    let templates = workspace_root().join("course/starter");
    let mut files = Vec::new();
    for file in files_below(&templates.join(package))? {
        files.push((file.strip_prefix(&templates).context("the file is below the templates")?.to_owned(), file));
    }
    Ok(files)
}

/// The files of the crate `learn` that students are given: the steps' checks, and the puzzles'
/// cases.
const GIVEN_OF_LEARN: [&str; 2] = ["checks.rs", "cases.rs"];

/// The files of a part, in the format of [`files_of_package`].
pub(crate) fn templates_of(part: Part) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut files = files_of_package(part.package())?;
    if part == Part::Learn {
        // The kernels, launches and checks come from the crate `learn`.
        let sources = workspace_root().join("learn/src");
        for file in files_below(&sources)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_kernels = file.parent() == Some(&sources) && (name.starts_with("step") || name == "puzzles.rs");
            if is_kernels || GIVEN_OF_LEARN.contains(&&*name) {
                files.push((Path::new("learn/src").join(name), file));
            }
        }
    }
    Ok(files)
}

/// Sources of a part with its solutions, by path in a workspace.
#[cfg(unix)]
pub(crate) fn solutions(part: Part) -> Result<Vec<(PathBuf, String)>> {
    let sources =
        templates_of(part)?.into_iter().filter(|(name, _)| name.starts_with(Path::new(part.package()).join("src")));
    sources.map(|(name, file)| Ok((name.clone(), with_blocks(&name, &read_text(&file)?, true)?))).collect()
}

/// The pages of `docs/learn` and their drawings, without solutions in other languages and without
/// passages that do not apply to students.
fn pages_of_learn() -> Result<Vec<(PathBuf, String)>> {
    let mut pages = Vec::new();
    for file in files_below(&workspace_root().join("docs/learn"))? {
        let text = read_text(&file)?;
        let is_page = file.extension().is_some_and(|extension| extension == "md");
        let name = file.strip_prefix(workspace_root()).context("a page is in this project")?.to_owned();
        pages.push((name, if is_page { page_for_students(&text)? } else { text }));
    }
    Ok(pages)
}

/// A page without the lines between `<!-- not in the starter -->` and `<!-- end -->`, and without
/// links that lead out of its folder.
fn page_for_students(text: &str) -> Result<String> {
    let mut sections = text.split("<!-- not in the starter -->\n\n");
    let mut page = sections.next().unwrap_or_default().to_owned();
    for section in sections {
        let (_, after) = section.split_once("<!-- end -->\n").context("a section that is left out does not end")?;
        page.push_str(after.strip_prefix('\n').unwrap_or(after));
    }
    while let Some(middle) = page.find("](../") {
        let start = page[..middle].rfind('[').context("a link begins with a bracket")?;
        let end = middle + page[middle..].find(')').context("a link ends with a parenthesis")?;
        let words = page[start + 1..middle].to_owned();
        page.replace_range(start..=end, &words);
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// Reads a text file and converts line endings to LF: an editor or an archive may have changed
/// them.
pub(crate) fn read_text(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text.replace("\r\n", "\n"))
}

/// Lists all files below a folder, sorted.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        match path.is_dir() {
            true => files.extend(files_below(&path)?),
            false => files.push(path),
        }
    }
    files.sort();
    Ok(files)
}

/// Writes all files into a new folder next to `directory` and then renames it to `directory`, which
/// is therefore never incomplete. It does not flush the hundreds of files to disk one by one, since
/// the folder can be written again.
fn write_all(directory: &Path, files: &[(PathBuf, String)]) -> Result<()> {
    let directory = std::path::absolute(directory).with_context(|| format!("cannot find {}", directory.display()))?;
    let parent = directory.parent().with_context(|| format!("{} has no parent", directory.display()))?;
    std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let new = tempfile::Builder::new().prefix(".starter-").tempdir_in(parent);
    let new = new.with_context(|| format!("cannot create a folder in {}", parent.display()))?;
    for (name, text) in files {
        let file = new.path().join(name);
        let folder = file.parent().context("a file is in a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if directory.exists() {
        std::fs::remove_dir(&directory).with_context(|| format!("cannot replace {}", directory.display()))?;
    }
    std::fs::rename(new.keep(), &directory).with_context(|| format!("cannot write {}", directory.display()))
}

/// A source file without its markers: with the solutions, or with `not_written!` in their place.
fn with_blocks(file: &Path, text: &str, solutions: bool) -> Result<String> {
    let (mut result, mut block) = (String::new(), None);
    for line in text.lines() {
        let trimmed = line.trim_start();
        match (trimmed.strip_prefix("// write: "), trimmed == "// end", block) {
            (Some(name), _, None) => {
                block = Some(name);
                if !solutions {
                    let indent = &line[..line.len() - trimmed.len()];
                    result.push_str(&format!("{indent}teaching_tests::not_written!(\"{name}\");\n"));
                }
            }
            (None, true, Some(_)) => block = None,
            (Some(name), _, Some(open)) => bail!("the block {name} begins within {open}"),
            (None, true, None) => bail!("a block ends that has not begun"),
            (None, false, block) => {
                if solutions || block.is_none() {
                    result.push_str(line);
                    result.push('\n');
                }
            }
        }
    }
    ensure!(block.is_none(), "the block {} does not end", block.unwrap_or_default());
    // Some arguments and imports are unused until everything is written.
    Ok(match file.ends_with("src/lib.rs") && !solutions {
        true => {
            let end = result.lines().take_while(|line| line.starts_with("//!")).map(|line| line.len() + 1).sum();
            let (documentation, rest) = result.split_at(end);
            format!(
                "{documentation}\n// Until everything is written; then remove this line.\n#![allow(unused, unreachable_code)]\n{rest}"
            )
        }
        false => result,
    })
}

/// Location of this project's crates.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// In the workspace itself ([`vendored`]).
    Workspace,
    /// In this project's folder, for the grader.
    #[cfg_attr(not(unix), allow(dead_code, reason = "the grader needs Unix"))]
    Folder(&'a Path),
}

/// Names of the workspace's dependencies that these manifests use.
fn dependencies_in<'a>(manifests: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for manifest in manifests {
        let manifest: toml::Table = manifest.parse().context("a template's Cargo.toml is wrong")?;
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        names.extend(dependencies.into_iter().flat_map(|dependencies| dependencies.keys().cloned()));
    }
    Ok(names)
}

/// Returns the workspace's Cargo.toml, and the folders of this project's crates that it names.
fn manifest(
    template: &str,
    parts: &[Part],
    tools: &[&str],
    dependencies: &BTreeSet<String>,
    source: Source,
) -> Result<(String, BTreeSet<String>)> {
    let packages: Vec<&str> = parts.iter().map(|part| part.package()).collect();
    let list = |packages: &[&str]| packages.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let members = list(&[&packages, tools].concat());
    let trains = tools.contains(&"train");
    let has_kernels = have_kernels(parts);
    let has_matrices = have_matrices(parts);
    // A profile setting for a package that no member uses causes a warning. Without tools, all
    // members are default members.
    let is_used = |line: &&str| match line.split_once(".opt-level").map(|(name, _)| name) {
        Some("corosensei" | "cuda_std" | "gpu") => has_kernels,
        Some("ndarray" | "matrixmultiply") => has_matrices,
        Some("rayon" | "rayon-core") => has_kernels || has_matrices,
        Some("digits" | "zlib-rs") => trains,
        Some("mpi_driver") => parts.contains(&Part::Distributed),
        _ if *line == "[patch.crates-io]" || line.starts_with("find_cuda_helper = ") => has_kernels,
        _ if line.starts_with("default-members = ") => !tools.is_empty(),
        // The grader adds members with more dependencies.
        _ if line.contains("PROJECT = ") && matches!(source, Source::Workspace) => {
            line.split_once(" = ").is_some_and(|(name, _)| dependencies.contains(name))
        }
        _ => !line.starts_with("utils = ") || trains,
    };
    let (mut lines, mut crates) = (Vec::new(), BTreeSet::new());
    for line in template.lines().filter(is_used) {
        let line = line.replace("MEMBERS", &members).replace("PARTS", &list(&packages));
        lines.push(match line.split_once("PROJECT = \"") {
            None => line,
            Some((before, rest)) => {
                let (path, after) = rest.split_once('"').context("a path ends with a quote")?;
                crates.insert(path.to_owned());
                let path = match source {
                    Source::Workspace => {
                        let name = path.rsplit('/').next().unwrap_or(path);
                        format!("\"{}/{name}\"", vendored::FOLDER)
                    }
                    Source::Folder(root) => {
                        let path = root.join(path);
                        let path = path.to_str().context("this project's path is not UTF-8")?;
                        path_in_toml(path, std::path::MAIN_SEPARATOR)
                    }
                };
                format!("{before}path = {path}{after}")
            }
        });
    }
    let text = lines.join("\n") + "\n";
    Ok((text.replace("\n\n\n", "\n\n"), crates))
}

/// Formats a path as a TOML string. Windows paths get `/` instead of `\`, which Cargo also accepts
/// there.
fn path_in_toml(path: &str, separator: char) -> String {
    let path = if separator == '\\' { path.replace('\\', "/") } else { path.replace('\\', r"\\") };
    format!("\"{}\"", path.replace('"', "\\\""))
}

/// Whether a section is for these parts: for a package, or for any part of a kind.
fn is_for(wanted: &str, parts: &[Part]) -> bool {
    parts.iter().any(|part| match wanted {
        "any" => true,
        "any with kernels" => part.kernel().is_some(),
        "any with questions" => !matches!(part, Part::One | Part::Learn),
        "any with matrices" => have_matrices(&[*part]),
        "any that is timed" => matches!(part, Part::Two | Part::Three | Part::Filters),
        package => part.package() == package,
    })
}

/// A given file without the lines for other parts. Such lines are between `part: PACKAGE` and `end
/// part` in comments.
fn for_parts(text: &str, parts: &[Part]) -> String {
    let (mut result, mut is_wanted) = (String::new(), true);
    for line in text.lines() {
        let comment = line.trim_start().trim_start_matches(['/', '#']).trim_start();
        match (comment.strip_prefix("part: "), comment == "end part") {
            (Some(package), _) => is_wanted = is_for(package, parts),
            (None, true) => is_wanted = true,
            (None, false) if is_wanted => result.extend([line, "\n"]),
            (None, false) => {}
        }
    }
    result
}

/// Keeps the sections for these parts and their kinds in a text. Each section begins with `<!--
/// part: PACKAGE -->`.
fn sections_for(template: &str, parts: &[Part]) -> String {
    let mut sections = template.split("<!-- part: ");
    let mut text = sections.next().unwrap_or_default().to_owned();
    for section in sections {
        let (package, section) = section.split_once(" -->\n").unwrap_or((section, ""));
        if is_for(package, parts) {
            text.push_str(section);
        }
    }
    text
}

/// Returns the section of a package in a text in the format of [`sections_for`], if there is one.
#[cfg(unix)]
pub(crate) fn section_of<'a>(template: &'a str, package: &str) -> Option<&'a str> {
    let sections = template.split("<!-- part: ").skip(1);
    sections
        .filter_map(|section| section.split_once(" -->\n"))
        .find(|(of, _)| *of == package)
        .map(|(_, section)| section)
}

/// The students' answers.md with all parts.
pub(crate) fn answers_template() -> Result<String> {
    read_text(&workspace_root().join("course/homework/src/answers.md"))
}

/// The assignment text with the sections for these parts and their kinds. Its examples use the
/// first part that has kernels, if any.
fn readme(template: &str, parts: &[Part]) -> String {
    let text = sections_for(template, parts);
    let example = parts.iter().find(|part| part.kernel().is_some()).or(parts.first());
    let package = example.map_or("", |part| part.package());
    let (module, kernel) = example.and_then(|part| part.kernel()).unwrap_or_default();
    let function = parts.first().map_or("", |part| part.function());
    let names = [("PACKAGE", package), ("MODULE", module), ("KERNEL", kernel), ("EXAMPLE", function)];
    names.into_iter().fold(text, |text, (name, value)| text.replace(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "max_functions/src/lib.rs";
    const FUNCTION: &str = "//! Homework part 2.\n\nfn f() -> u32 {\n    // write: f\n    7\n    // end\n}\n";

    #[test]
    fn blocks_are_solutions_or_not_written() {
        assert_eq!(
            with_blocks(LIBRARY.as_ref(), FUNCTION, true).unwrap(),
            "//! Homework part 2.\n\nfn f() -> u32 {\n    7\n}\n"
        );
        let skeleton = with_blocks(LIBRARY.as_ref(), FUNCTION, false).unwrap();
        assert!(skeleton.contains("fn f() -> u32 {\n    teaching_tests::not_written!(\"f\");\n}\n"), "{skeleton}");
        assert!(skeleton.starts_with("//! Homework part 2.\n\n// Until"), "{skeleton}");
        for wrong in ["// write: f\n", "// end\n", "// write: f\n// write: g\n// end\n"] {
            assert!(with_blocks(LIBRARY.as_ref(), wrong, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_crates_are_in_the_workspace_or_in_a_folder() {
        let template = "members = [MEMBERS]\ndefault-members = [PARTS]\ngpu = { PROJECT = \"rust-cuda/gpu\" }\n\
            digits = { PROJECT = \"neural-net/digits\" }\n";
        let dependencies =
            dependencies_in(["[dependencies]\ngpu.workspace = true\nanyhow = \"1\"\n"].into_iter()).unwrap();
        let by = |source| manifest(template, &[Part::One, Part::Three], &["train"], &dependencies, source).unwrap();
        let members = "members = [\"utils\", \"matmul_functions\", \"train\"]\n\
            default-members = [\"utils\", \"matmul_functions\"]\n";
        let crates = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let expected = format!("{members}gpu = {{ path = \"vendor/gpu\" }}\n");
        assert_eq!(by(Source::Workspace), (expected, crates(&["rust-cuda/gpu"])));
        let expected = format!(
            "{members}gpu = {{ path = \"/p/rust-cuda/gpu\" }}\ndigits = {{ path = \"/p/neural-net/digits\" }}\n"
        );
        assert_eq!(by(Source::Folder(Path::new("/p"))), (expected, crates(&["neural-net/digits", "rust-cuda/gpu"])));
    }

    #[test]
    fn a_workspace_is_not_written_into_a_folder_that_holds_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("Cargo.toml");
        std::fs::write(&work, "my work").unwrap();
        // Tries a folder that contains a file, another spelling of that folder, and the file
        // itself.
        for directory in [folder.path().to_owned(), folder.path().join("."), work.clone()] {
            let command = Options::augment_args(clap::Command::new("starter"));
            let matches = command.get_matches_from([Path::new("starter"), &directory]);
            let options = <Options as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
            let error = run(&options).unwrap_err().to_string();
            assert!(error.ends_with("exists and is not an empty folder: choose another one"), "{error}");
            assert_eq!(std::fs::read_to_string(&work).unwrap(), "my work");
        }
    }

    #[test]
    fn a_path_is_a_string_of_toml_on_every_system() {
        for (path, separator, written) in [
            (r"C:\Users\Ada Lovelace\hw", '\\', "C:/Users/Ada Lovelace/hw"),
            ("/home/ada/hw", '/', "/home/ada/hw"),
            (r#"/home/a\b "c"/hw"#, '/', r#"/home/a\b "c"/hw"#),
        ] {
            let toml: toml::Table = format!("path = {}", path_in_toml(path, separator)).parse().unwrap();
            assert_eq!(toml["path"].as_str(), Some(written));
        }
    }

    /// An editor or an archive may have changed all of this project's line endings.
    #[test]
    fn a_checkout_with_crlf_gives_the_same_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let templates = workspace_root().join("course/starter");
        for part in Part::ALL {
            for (name, file) in templates_of(part).unwrap() {
                let (text, changed) = (read_text(&file).unwrap(), folder.path().join("changed"));
                std::fs::write(&changed, text.replace('\n', "\r\n")).unwrap();
                assert_eq!(read_text(&changed).unwrap(), text, "{}", name.display());
            }
        }
        let assignment = read_text(&templates.join("README.md")).unwrap();
        std::fs::write(folder.path().join("README.md"), assignment.replace('\n', "\r\n")).unwrap();
        let from_crlf = readme(&read_text(&folder.path().join("README.md")).unwrap(), Assignment::One.parts());
        assert_eq!(from_crlf, readme(&assignment, Assignment::One.parts()));
        assert!(from_crlf.lines().count() > 60, "{from_crlf}");
    }

    #[test]
    fn a_given_file_has_the_lines_of_the_chosen_parts() {
        let text = "a\n  // part: learn\n  b\n  // end part\n# part: any with kernels\nc\n# end part\nd\n";
        assert_eq!(for_parts(text, &[Part::Learn]), "a\n  b\nd\n");
        assert_eq!(for_parts(text, &[Part::Two]), "a\nc\nd\n");
        assert_eq!(for_parts(text, &[Part::One]), "a\nd\n");
        for parts in [vec![Part::One], vec![Part::Learn], Assignment::One.parts().to_vec()] {
            let has_kernels = tools_for(&parts).contains(&"see_kernels");
            assert_eq!(has_kernels, parts != [Part::One], "{parts:?}");
        }
    }

    #[test]
    fn the_assignment_has_the_chosen_parts() {
        let text = readme(&read_text(&workspace_root().join("course/starter/README.md")).unwrap(), &[Part::Two]);
        assert!(text.contains("## Part 2") && !text.contains("## Part 1") && !text.contains("## Part 3"), "{text}");
        assert!(!text.contains("<!--"), "{text}");
    }

    #[test]
    fn every_block_of_the_homework_has_hints() {
        for part in Part::ALL {
            let (mut blocks, mut hints) = (Vec::new(), None);
            for (name, file) in templates_of(part).unwrap() {
                // The puzzles' hints are in the kernel lab.
                if name.ends_with("puzzles.rs") {
                    continue;
                }
                let text = read_text(&file).unwrap();
                let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("// write: "));
                blocks.extend(names.map(str::to_owned));
                if name.ends_with("hints.txt") {
                    hints = Some(text);
                }
            }
            let hints = hints.unwrap_or_else(|| panic!("{part:?} has no hints"));
            let mut with_hints: Vec<&str> =
                homework::parse_hints(&hints).unwrap().iter().map(|(name, _)| *name).collect();
            blocks.sort();
            with_hints.sort_unstable();
            assert_eq!(blocks, with_hints);
        }
    }

    #[test]
    fn a_page_for_students_lacks_what_is_marked_and_links_to_other_folders() {
        let page = "A\n\n<!-- not in the starter -->\n\nB [c](../d.md)\n\n<!-- end -->\n\nSee [five\nversions](../e.md#f) and [g](h.md).\n\n\
            <!-- not in the starter -->\n\ni\n\n<!-- end -->\n";
        assert_eq!(page_for_students(page).unwrap(), "A\n\nSee five\nversions and [g](h.md).\n");
        assert!(page_for_students("<!-- not in the starter -->\n\nB\n").is_err());
    }

    /// The students' files contain nothing of a solution.
    #[test]
    fn every_block_of_the_templates_has_a_solution_that_students_do_not_get() {
        let mut blocks = 0;
        for part in Part::ALL {
            for (name, file) in templates_of(part).unwrap() {
                let text = read_text(&file).unwrap();
                if file.extension().is_some_and(|extension| extension == "rs") {
                    let by = |solutions| with_blocks(&name, &text, solutions).unwrap();
                    let (skeleton, solved) = (by(false), by(true));
                    let written = text.matches("// write: ").count();
                    blocks += written;
                    assert_eq!(skeleton.matches("not_written!(").count(), written);
                    assert!(
                        !solved.contains("not_written!")
                            && !solved.contains("// write")
                            && !skeleton.contains("// write")
                    );
                }
            }
        }
        assert_eq!(blocks, 72);
    }
}
