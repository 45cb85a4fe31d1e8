//! Adds source text to errors in PTX.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use ptx_interpreter::syntax::Space;
use ptx_interpreter::{Code, Fault};

/// Maximum size of a source file in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Adds the text of the error's source line, if the file is found below the current directory or
/// one of its parents. PTX for a changed source is not loaded, so the line matches the instruction.
/// A shared array gets the name and the elements from its declaration in the source. `code` is the
/// kernel's code.
pub(crate) fn add_to(fault: &mut Fault, code: Option<Code<'_>>) {
    name_shared_array(fault, code);
    fault.set_source_line(text_of);
}

fn name_shared_array(fault: &mut Fault, code: Option<Code<'_>>) -> Option<()> {
    let memory = fault.kind.memory_mut().filter(|memory| memory.space == Space::Shared)?;
    let (_, place) = code?.shared().find(|(variable, _)| variable.start == memory.start)?;
    let source = place?.source?;
    let declaration = source.line_of(&text_of(&source.file)?)?;
    let (name, element) = shared_array(&declaration)?;
    memory.name = name.into();
    memory.element = element.or(memory.element);
    Some(())
}

/// The name and the element size of the array in a declaration such as
/// `let tile = shared_array![f32; 64];`. The size is None for types other than numbers.
fn shared_array(line: &str) -> Option<(&str, Option<NonZeroU32>)> {
    let (before, after) = line.split_once("shared_array![")?;
    let pattern = before.rsplit_once("let ")?.1.split(['=', ':']).next()?.trim();
    let name = pattern.strip_prefix("mut ").unwrap_or(pattern).trim();
    let is_name = !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_');
    let element = match after.trim_start_matches('[').split(';').next()?.trim() {
        "u8" | "i8" => Some(1),
        "u16" | "i16" => Some(2),
        "u32" | "i32" | "f32" => Some(4),
        "u64" | "i64" | "f64" | "usize" | "isize" => Some(8),
        _ => None,
    };
    is_name.then_some((name, element.and_then(NonZeroU32::new)))
}

/// The text of a source file by its name in the PTX.
fn text_of(file: &str) -> Option<String> {
    fs::read_to_string(find(Path::new(file))?).ok()
}

/// The path of a source file by its name in the PTX. Names are relative to the root of the project
/// or, for the crates in `rust-cuda`, to that folder.
fn find(file: &Path) -> Option<PathBuf> {
    let directory = std::env::current_dir().ok()?;
    let candidates = directory.ancestors().flat_map(|root| [root.join(file), root.join("rust-cuda").join(file)]);
    let is_source = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    candidates.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).find(is_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_names_an_array_in_shared_memory() {
        let size = NonZeroU32::new;
        for (line, expected) in [
            ("let tile = shared_array![f32; 64];", Some(("tile", size(4)))),
            ("let tile = shared_array![[f64; 33]; 32];", Some(("tile", size(8)))),
            (
                "let mut sums: SharedArray<f64, 64> = cuda_std::shared_array![f64; N * (N + 1)];",
                Some(("sums", size(8))),
            ),
            ("let (a, flags) = (1, shared_array![u8; 4]);", None),
            ("{ let quads = shared_array![F32x4; 4];", Some(("quads", None))),
            ("shared_array![f32; 64].set(0, 1.0);", None),
            ("let t = thread::thread_idx_x();", None),
        ] {
            assert_eq!(shared_array(line), expected, "{line}");
        }
    }
}
