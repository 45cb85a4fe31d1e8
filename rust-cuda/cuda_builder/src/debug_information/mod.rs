//! Debug names of functions and variables, in a separate file beside the PTX.
//!
//! The compiler's debug information would make every kernel slower to load, and drivers compile
//! kernels without optimization if the PTX says `debug`. The file keeps what a debugger for the
//! kernels' own crate needs:
//!
//! ```text
//! debug information, format 2
//! type⇥0⇥4⇥float⇥f32
//! type⇥5⇥16⇥struct⇥&[f32]⇥0:6:data_ptr⇥8:7:length
//! function⇥matmul_tiles_f32⇥64 hexadecimal digits
//! frame⇥1⇥0⇥17:5⇥kernels-gpu/src/product/rung3_shared_tiles.rs⇥shared_tiles<f32>
//! lines⇥3:0⇥17:1
//! variable⇥1⇥40-200⇥0⇥sum⇥60-90 %r5⇥92-100 0
//! ```
//!
//! Fields are separated by tabs. Lines are relative to the line with the function's name.
//! - A function has the SHA-256 of its text, from the line with its name to the line with only `}`.
//!   The following lines apply to exactly this code, in whichever file it is.
//! - A type has its number, its size in bytes and its kind. A structure's members have offset, type
//!   and name. An array's elements have a type and a count.
//! - A frame is an inlined call: its number, its caller's number, the line, column and file of the
//!   call, and the function's name. Frame 0 is the function itself. Calls into other crates are not
//!   listed; the caller of a frame is then the nearest listed frame.
//! - `lines` has the frames of the instructions: each applies from its line to the next entry's
//!   line.
//! - A variable has its frame, the lines of its scope, its type and its name, followed by the lines
//!   in which its value is known and the value ([`expression::text_of`]). The end of a range is the
//!   line after its last.

mod dies;
mod expression;
mod frames;
mod sections;
mod types;
mod variables;

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::source_lines::Traced;
use dies::Dies;
use sections::Sections;

/// The first line of the file.
const TITLE: &str = "debug information, format 2";

/// The file's contents for a PTX text. `raw` is the compiler's output, `traced` the same without
/// debug information. If that cannot be read, the file contains the reason: kernels run without it.
/// Empty if the compiler wrote none.
pub(crate) fn contents(raw: &str, traced: &Traced) -> String {
    let labels = traced.labels.iter().map(|(label, line)| (label.as_str(), *line)).collect();
    let described = match Sections::read(raw, &labels) {
        None => Err("its sections have lines of an unknown form".to_owned()),
        Some(sections) if sections.info.is_empty() => return String::new(),
        Some(sections) => Dies::read(&sections).map(|dies| describe(&dies, traced)).map_err(|error| error.to_string()),
    };
    match described {
        Ok(text) => format!("{TITLE}\n{text}"),
        Err(reason) => format!("{TITLE}\nmissing\t{reason}\n"),
    }
}

fn describe(dies: &Dies, traced: &Traced) -> String {
    let mut types = types::Types::new(dies);
    let mut functions = String::new();
    for function in frames::functions(dies, traced) {
        let base = function.first_line;
        let digest = sha256(text_of_function(&traced.text, base));
        let _ = writeln!(functions, "function\t{}\t{digest}", function.name);
        for (number, frame) in function.frames.iter().enumerate().skip(1) {
            let (caller, (file, line, column)) = (frame.caller, &frame.call);
            let _ = writeln!(functions, "frame\t{number}\t{caller}\t{line}:{column}\t{file}\t{}", frame.name);
        }
        let lines = function.lines.iter().map(|(line, frame)| format!("\t{}:{frame}", line - base));
        let _ = writeln!(functions, "lines{}", lines.collect::<String>());
        for variable in variables::of_function(dies, &function, &mut types) {
            let (from, to) = variable.scope;
            let (frame, r#type, name) = (variable.frame, variable.r#type, &variable.name);
            let _ = write!(functions, "variable\t{frame}\t{}-{}\t{type}\t{name}", from - base, to - base);
            for (from, to, value) in &variable.values {
                let _ = write!(functions, "\t{}-{} {value}", from - base, to - base);
            }
            functions.push('\n');
        }
    }
    types.lines() + &functions
}

/// A function's lines, from the line with its name, counted from 1, to its closing brace.
fn text_of_function(text: &str, first_line: u32) -> &str {
    let skipped: usize = text.split_inclusive('\n').take(first_line as usize - 1).map(str::len).sum();
    let rest = &text[skipped..];
    let end = rest.find("\n}\n").map_or(rest.len(), |end| end + 3);
    &rest[..end]
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}
