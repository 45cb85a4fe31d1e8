//! `cargo course autograder`: creates what a platform needs to grade each submission with `cargo
//! course grade`.
//!
//! The scripts are in `course/autograder`. They clone this project from a git repository.

use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use command_line::say;
use whole_files::{require_distinct, write_atomically};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::shell::quoted;
use crate::starter::read_text;
use crate::workspace_root;

/// Options of `cargo course autograder`.
#[derive(Args)]
pub struct Options {
    /// The platform
    #[arg(value_enum)]
    platform: Platform,
    /// The file to write: autograder.zip for Gradescope, autograder.py for Classroom 50
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The git repository from which the platform's machine clones this project
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    git: String,
    /// Commit of the git repository
    #[arg(long, value_name = "COMMIT", value_parser = parse_commit)]
    rev: String,
    /// For Gradescope: grace period and factors, as for `grade --late`; a due date in the file
    /// applies if Gradescope has none
    #[arg(long, value_name = "FILE.toml")]
    late: Option<PathBuf>,
    /// For Gradescope: tests and their points, as for `grade --points`
    #[arg(long, value_name = "FILE")]
    points: Option<PathBuf>,
    /// Options of `grade`, after --: -- --seed 4711 --assignment 2
    #[arg(last = true, value_name = "OPTION")]
    grade: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Platform {
    Gradescope,
    #[value(name = "classroom50")]
    Classroom50,
}

/// Writes the file that a platform runs.
///
/// # Errors
/// If the platform does not support an option, or a file cannot be read or written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let Options { platform, file, late, points, .. } = options;
    let inputs: Vec<&PathBuf> = [late, points].into_iter().flatten().collect();
    require_distinct([("the autograder", file.as_path())], &inputs)?;
    let bytes = match platform {
        Platform::Gradescope => gradescope(options)?,
        Platform::Classroom50 => {
            for (option, is_given) in [("--late", late.is_some()), ("--points", points.is_some())] {
                ensure!(
                    !is_given,
                    "{option} is for Gradescope: Classroom 50 marks late submissions itself, and has no other files"
                );
            }
            let list = serde_json::to_string(&options.grade)?;
            filled("autograder.py", options, &list)?.into_bytes()
        }
    };
    write_atomically(file, &bytes).with_context(|| format!("cannot write {}", file.display()))?;
    let next = match platform {
        Platform::Gradescope => "upload it as the assignment's autograder",
        Platform::Classroom50 => "put it into CLASSROOM/autograders/ASSIGNMENT of the classroom50 repository",
    };
    say!("{}: {next}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Returns the ZIP file of Gradescope's autograder.
fn gradescope(options: &Options) -> Result<Vec<u8>> {
    let mut arguments: Vec<String> = options.grade.iter().map(|argument| quoted(argument)).collect();
    let mut files = Vec::new();
    if let Some(points) = &options.points {
        arguments.push("--points \"$root/source/points.toml\"".to_owned());
        files.push(("points.toml", read_text(points)?));
    }
    // The solutions have no metadata, so they count as on time.
    files.push(("setup.sh", filled("setup.sh", options, &arguments.join(" "))?));
    if let Some(late) = &options.late {
        arguments.push("--late \"$root/source/late.toml\" --metadata \"$root/submission_metadata.json\"".to_owned());
        files.push(("late.toml", read_text(late)?));
    }
    files.push(("run_autograder", filled("run_autograder", options, &arguments.join(" "))?));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        let mode = if name.ends_with(".toml") { 0o644 } else { 0o755 };
        archive.start_file(name, SimpleFileOptions::default().unix_permissions(mode))?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Fills in a script: the repository, its commit, and the options of `grade`, in the syntax of the
/// script's language.
fn filled(script: &str, options: &Options, grade: &str) -> Result<String> {
    let text = read_text(&workspace_root().join("course/autograder").join(script))?;
    let text = text.replace("GIT_URL", &options.git).replace("GIT_REV", &options.rev);
    Ok(text.replace("= GRADE_LIST", &format!("= {grade}")).replace(" GRADE_OPTIONS\n", &format!(" {grade}\n")))
}

/// Parses a URL without characters that have a meaning in a shell or in Python.
fn parse_url(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ":/._~@+-".contains(letter);
    let is_url = !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain);
    if is_url { Ok(text.to_owned()) } else { Err("expected a URL such as https://example.org/project.git".to_owned()) }
}

fn parse_commit(text: &str) -> Result<String, String> {
    let is_commit = (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit { Ok(text.to_owned()) } else { Err("expected a commit, 7 or more hexadecimal digits".to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::path::Path;

    use super::*;

    fn options(platform: Platform, folder: &Path, grade: &[&str]) -> Options {
        let late = folder.join("late.toml");
        std::fs::write(&late, "factors = []\n").unwrap();
        Options {
            platform,
            file: folder.join("autograder"),
            git: "https://example.org/project.git".to_owned(),
            rev: "0123abc".to_owned(),
            late: (platform == Platform::Gradescope).then_some(late),
            points: None,
            grade: grade.iter().map(|&option| option.to_owned()).collect(),
        }
    }

    /// Runs on systems where hard links are recognized as the same file.
    #[cfg(unix)]
    #[test]
    fn autograder_is_not_written_over_a_file_that_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(Platform::Gradescope, folder.path(), &[]);
        std::fs::hard_link(folder.path().join("late.toml"), &options.file).unwrap();
        let error = run(&options).unwrap_err().to_string();
        assert!(error.starts_with("the autograder ") && error.contains("late.toml, which is read"), "{error}");
        assert_eq!(std::fs::read_to_string(folder.path().join("late.toml")).unwrap(), "factors = []\n");
    }

    #[test]
    fn autograder_for_gradescope_has_its_scripts_and_files() {
        let folder = tempfile::tempdir().unwrap();
        run(&options(Platform::Gradescope, folder.path(), &["--seed", "4711", "it's"])).unwrap();
        let mut archive = zip::ZipArchive::new(std::fs::File::open(folder.path().join("autograder")).unwrap()).unwrap();
        let mut text = |name: &str| {
            let mut file = archive.by_name(name).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            (text, file.unix_mode().unwrap() & 0o777)
        };
        let (setup, mode) = text("setup.sh");
        assert_eq!(mode, 0o755);
        assert!(setup.contains("git clone https://example.org/project.git \"$root/project\"\n"), "{setup}");
        assert!(setup.contains("git checkout --detach 0123abc\n"), "{setup}");
        assert!(setup.contains("grade \"$root/solved\" '--seed' '4711' 'it'\\''s'\n"), "{setup}");
        let (run, mode) = text("run_autograder");
        assert_eq!(mode, 0o755);
        assert!(run.contains("'4711' 'it'\\''s' --late \"$root/source/late.toml\" --metadata"), "{run}");
        assert_eq!(text("late.toml"), ("factors = []\n".to_owned(), 0o644));
        for script in [setup, run] {
            let is_filled = ["GIT_URL", "GIT_REV", "GRADE_OPTIONS"].iter().all(|name| !script.contains(name));
            assert!(is_filled, "{script}");
        }
    }

    /// Otherwise a changed installer would run on the course's machine.
    #[cfg(unix)]
    #[test]
    fn autograder_runs_no_installer_with_a_wrong_checksum() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let executable = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        run(&options(Platform::Gradescope, folder.path(), &[])).unwrap();
        let mut archive = zip::ZipArchive::new(std::fs::File::open(folder.path().join("autograder")).unwrap()).unwrap();
        let setup = std::io::read_to_string(archive.by_name("setup.sh").unwrap()).unwrap();
        let setup = executable("setup.sh", &setup);
        executable("apt-get", "#!/bin/sh\n");
        // Prints a changed installer, or writes it to the file given with -o.
        executable(
            "curl",
            "#!/bin/sh\nto=/dev/stdout\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && to=$2; shift; done\n\
             echo '#!/bin/sh\necho ran > \"$AUTOGRADER/ran\"' > \"$to\"\n",
        );
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let output = std::process::Command::new(setup)
            .env("PATH", path)
            .env("AUTOGRADER", folder.path())
            .env_remove("PROJECT")
            .output()
            .unwrap();
        assert!(!output.status.success() && !folder.path().join("ran").exists(), "{output:?}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("checksum") && !errors.contains("git"), "{errors}");
    }

    #[test]
    fn autograder_for_classroom_50_is_one_script() {
        let folder = tempfile::tempdir().unwrap();
        run(&options(Platform::Classroom50, folder.path(), &["--seed", "47\"11"])).unwrap();
        let script = std::fs::read_to_string(folder.path().join("autograder")).unwrap();
        assert!(script.contains("GRADE_OPTIONS = [\"--seed\",\"47\\\"11\"]\n"), "{script}");
        assert!(script.contains("\"--quiet\", \"https://example.org/project.git\", project]"), "{script}");
        let with_late = options(Platform::Gradescope, folder.path(), &[]);
        let error = run(&Options { platform: Platform::Classroom50, ..with_late }).unwrap_err();
        assert!(error.to_string().starts_with("--late is for Gradescope"), "{error}");
    }

    #[test]
    fn autograder_takes_plain_urls_and_commits() {
        for url in ["https://example.org/a.git", "git@example.org:a/b-c.git", "ssh://git@example.org/~a/b"] {
            assert!(parse_url(url).is_ok(), "{url}");
        }
        for url in ["", "-x", "https://a b", "a'b", "a;b", "$(a)", "a\nb"] {
            assert!(parse_url(url).is_err(), "{url}");
        }
        assert!(parse_commit("0123abc").is_ok());
        assert!(["main", "012", "0123ab;"].iter().all(|commit| parse_commit(commit).is_err()));
    }
}
