//! Maps each instruction to its Rust source line by rewriting LLVM's `.loc` directives.
//!
//! LLVM emits `.loc FILE LINE COLUMN` for the innermost inlined function, which is often in `core`,
//! and a comment with the inlined-at chain:
//! `core/…:470:18 @[ cuda_std/…:57:32 @[ kernels/src/lib.rs:28:18 ] ]`. A profile or an error
//! should point to the kernel's line, so the innermost frame in the kernels' own crate is used.

use std::collections::HashMap;
use std::rc::Rc;

use cuda_launch::trap::TrapReason;

use crate::source_names::SourceNames;

/// Rewrites the `.loc` directives in PTX that was compiled with debug information and
/// `-Zverbose-asm`. Each directive names a line in the kernels' own crate if its inlined-at chain
/// has one. The file name is the same on every machine.
///
/// All other debug information is removed, and so are the comments from `-Zverbose-asm` and around
/// inline assembly. Except for `.loc`, `.file` and the marks, which [`Marked::trace`] removes, the
/// text equals a build without either.
///
/// Line 0 marks instructions that belong to no single source line, such as those shared by two
/// branches.
pub(crate) fn with_source_lines(text: &str, names: &SourceNames) -> Marked {
    let declared = declared_files(text);
    let mut calls = HashMap::new();
    let mut files = Files::default();
    let mut shown: Option<Position> = None;
    let mut chains: Vec<Vec<Position>> = Vec::new();
    let mut paths = Paths { names, declared: &declared, known: HashMap::new(), wholes: HashMap::new() };
    let mut kept = Vec::new();
    let mut lines = text.lines();
    let mut in_assembly = false;
    while let Some(line) = lines.next() {
        let (code, comment) = line.split_once("//").unwrap_or((line, ""));
        let (code, comment) = (code.trim_end(), comment.trim());
        match comment {
            "begin inline asm" | "end inline asm" => {
                in_assembly = comment.starts_with("begin");
                continue;
            }
            // Comments within inline assembly are kept.
            _ if in_assembly => {
                kept.push(line.to_owned());
                continue;
            }
            _ => {}
        }
        if let Some(operands) =
            code.trim_start().strip_prefix(".loc\t").or_else(|| code.trim_start().strip_prefix(".loc "))
        {
            let frames = frames_of(operands, comment, &mut calls, &mut paths);
            if chains.last() != Some(&frames) {
                kept.push(format!("{CHAIN}{}:", chains.len()));
                chains.push(frames.clone());
            }
            let Some(mut frame) = frame_to_show(&frames) else { continue };
            if let (0, Some(Position { file, .. })) = (frame.line, &shown) {
                // Line 0 has no file, even if LLVM names one, so the current file stays.
                frame.file.clone_from(file);
            }
            if shown.as_ref() != Some(&frame) {
                kept.push(files.directive(&frame));
                shown = Some(frame);
            }
        } else if is_debug_section(code) {
            // Skips the section up to its closing brace.
            let _ = code.contains('}') || lines.any(|line| line.contains('}'));
        } else if is_file(code) {
        } else if is_debug_label(code) {
            kept.push(code.to_owned());
        } else if let Some(target) = debugged_target(code) {
            kept.push(target.to_owned());
        } else if code.is_empty() && !line.is_empty() {
            kept.extend(kept_comment(line, comment));
        } else {
            // The next function must begin with its own `.loc`.
            if code == "}" {
                shown = None;
            }
            let has_meaning = comment.starts_with("callseq") || TrapReason::parse(&line[code.len()..]).is_some();
            kept.push(if has_meaning { line.to_owned() } else { code.to_owned() });
        }
    }
    files.insert_into(&mut kept);
    let mut text = kept.join("\n");
    text.push('\n');
    let files = declared.into_iter().map(|(number, path)| (number, names.stable(&path))).collect();
    Marked { text, chains, files }
}

/// Prefix of the labels that mark where the inlined-at chain changes.
const CHAIN: &str = "$L__chain";

/// PTX with source lines, and with labels for debug information.
#[derive(Debug)]
pub(crate) struct Marked {
    /// The PTX, with the label `$L__chainN:` in front of the instructions of chain N.
    pub(crate) text: String,
    chains: Vec<Vec<Position>>,
    files: HashMap<u32, String>,
}

impl Marked {
    /// Replaces the marks with their positions.
    pub(crate) fn trace(self) -> Traced {
        let mut traced = Traced { files: self.files, ..Traced::default() };
        let mut chains = self.chains.into_iter();
        let mut line = 1;
        for text in self.text.split_inclusive('\n') {
            if text.starts_with(CHAIN) {
                // They are in numerical order.
                traced.chains.extend(chains.next().map(|chain| (line, chain)));
            } else if is_debug_label(text.trim_end()) {
                traced.labels.insert(text.trim_end().trim_end_matches(':').to_owned(), line);
            } else {
                traced.text.push_str(text);
                line += 1;
            }
        }
        traced
    }
}

/// PTX with source lines, and the debug information about its lines, which count from 1.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    pub(crate) text: String,
    /// Lines from which on instructions have another inlined-at chain, innermost function first.
    pub(crate) chains: Vec<(u32, Vec<Position>)>,
    /// The line after each label that is used only by debug information.
    pub(crate) labels: HashMap<String, u32>,
    /// The stable names of the source files, by the compiler's file numbers.
    pub(crate) files: HashMap<u32, String>,
}

/// A position in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    /// The file's stable name.
    pub(crate) file: Rc<str>,
    /// Whether it is in the kernels' own crate.
    pub(crate) is_own: bool,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The stable names of the compiler's paths. Each path occurs many times.
struct Paths<'n> {
    names: &'n SourceNames,
    /// The full paths by the compiler's file numbers.
    declared: &'n HashMap<u32, String>,
    known: HashMap<String, (Rc<str>, bool)>,
    /// The absolute paths by stable name.
    wholes: HashMap<Rc<str>, Rc<str>>,
}

impl<'n> Paths<'n> {
    fn position(&mut self, path: &str, line: u32, column: u32) -> Position {
        if !self.known.contains_key(path) {
            let whole = self.whole(path);
            let known: (Rc<str>, bool) = (self.names.stable(whole).into(), self.names.is_own(whole));
            self.wholes.insert(Rc::clone(&known.0), self.names.absolute(whole).into());
            self.known.insert(path.to_owned(), known);
        }
        let (file, is_own) = &self.known[path];
        Position { file: Rc::clone(file), is_own: *is_own, line, column }
    }

    /// The full path of a file named in a comment. The compiler names a file relative to the
    /// directory in which it compiled the file's crate: the workspace's directory, or that of a
    /// crate outside the workspace. A file in the kernels' own crate takes precedence, then one in
    /// its path dependencies.
    fn whole<'p>(&self, path: &'p str) -> &'p str
    where
        'n: 'p,
    {
        let ends_alike = |whole: &&String| {
            let start = whole.len().checked_sub(path.len());
            start.is_some_and(|start| start > 0 && whole.ends_with(path) && whole[..start].ends_with(['/', '\\']))
        };
        let declared = self.declared.values().filter(ends_alike);
        // Not simply the map's first entry, because its order is random. `core` has files with such
        // names too.
        let names = self.names;
        declared.min_by_key(|whole| (!names.is_own(whole), !names.is_known(whole), *whole)).map_or(path, String::as_str)
    }
}

/// The absolute path of a source file, a line and a column.
pub(crate) type Place = (Rc<str>, u32, u32);

/// The locations that a text's `.loc` directives point to.
pub(crate) struct Places<'n> {
    calls: HashMap<Position, Position>,
    paths: Paths<'n>,
}

impl<'n> Places<'n> {
    /// The locations for a text with these [`declared_files`].
    pub(crate) fn new(declared: &'n HashMap<u32, String>, names: &'n SourceNames) -> Self {
        Self { calls: HashMap::new(), paths: Paths { names, declared, known: HashMap::new(), wholes: HashMap::new() } }
    }

    /// The inlined-at chain of a directive, innermost function first. Directives must be passed in
    /// order.
    pub(crate) fn chain(&mut self, operands: &str, comment: &str) -> Rc<[Place]> {
        let frames = frames_of(operands, comment, &mut self.calls, &mut self.paths);
        let wholes = &self.paths.wholes;
        frames.iter().map(|frame| (Rc::clone(&wholes[&frame.file]), frame.line, frame.column)).collect()
    }
}

/// The inlined-at chain of an instruction, innermost function first. `calls` maps each inlined
/// frame to its call site.
fn frames_of(
    operands: &str,
    comment: &str,
    calls: &mut HashMap<Position, Position>,
    paths: &mut Paths<'_>,
) -> Vec<Position> {
    let frames = comment.trim_end_matches([' ', ']']).split(" @[ ");
    let commented: Option<Vec<_>> = frames.map(|frame| commented_frame(frame, paths)).collect();
    let number_of = |operands: &str| operands.split_whitespace().next()?.parse().ok();
    if let Some(mut frames) = commented {
        // Several files may share a name. The directive's number determines which one the innermost
        // frame is in.
        if let Some(path) = number_of(operands).and_then(|number| paths.declared.get(&number)) {
            frames[0] = paths.position(path, frames[0].line, frames[0].column);
        }
        return frames;
    }
    // Without the comment, the directive itself names the call site since PTX 7.2:
    // `.loc 1 10 5, function_name NAME, inlined_at 2 20 3`. If the call site was inlined too, an
    // earlier directive names its call site.
    let mut parse_frame = |operands: &str| -> Option<Position> {
        let mut values = operands.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(|word| word.parse().ok());
        let path = paths.declared.get(&values.next()??)?;
        Some(paths.position(path, values.next()??, values.next()??))
    };
    let (own, caller) = operands.split_once("inlined_at").unwrap_or((operands, ""));
    let Some(own) = parse_frame(own) else { return Vec::new() };
    if let Some(caller) = parse_frame(caller) {
        calls.insert(own.clone(), caller);
    }
    let mut frames = vec![own];
    // Inlined recursion makes `calls` cyclic: the chain ends before a frame repeats.
    while let Some(caller) = calls.get(&frames[frames.len() - 1]).filter(|caller| !frames.contains(caller)) {
        frames.push(caller.clone());
    }
    frames
}

fn commented_frame(text: &str, paths: &mut Paths<'_>) -> Option<Position> {
    let mut parts = text.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(paths.position(parts.next()?, line, column))
}

/// The frame for the `.loc` directive: the innermost frame with a line in the kernels' crate,
/// otherwise the innermost with a line, otherwise the innermost.
fn frame_to_show(frames: &[Position]) -> Option<Position> {
    let has_line = |frame: &&Position| frame.line != 0;
    let mut own = frames.iter().filter(|frame| frame.is_own);
    let frame = own.find(has_line).or_else(|| frames.iter().find(has_line)).or_else(|| frames.first())?;
    Some(Position { column: if frame.line == 0 { 0 } else { frame.column }, ..frame.clone() })
}

/// The files in the rewritten directives, numbered from 1 in order of appearance.
#[derive(Default)]
struct Files(Vec<Rc<str>>);

impl Files {
    fn directive(&mut self, Position { file, line, column, .. }: &Position) -> String {
        let known = self.0.iter().position(|name| name == file);
        let index = known.unwrap_or_else(|| {
            self.0.push(Rc::clone(file));
            self.0.len() - 1
        });
        format!("\t.loc\t{} {line} {column}", index + 1)
    }

    /// Inserts the `.file` directives at the top, after `.address_size`.
    fn insert_into(self, lines: &mut Vec<String>) {
        let after = lines.iter().position(|line| line.starts_with(".address_size")).map_or(0, |index| index + 1);
        let numbered = self.0.iter().zip(1..);
        let directives: Vec<_> = numbered.map(|(name, number)| format!(".file\t{number} \"{name}\"")).collect();
        lines.splice(after..after, directives);
    }
}

/// The paths of source files by the compiler's file numbers.
pub(crate) fn declared_files(text: &str) -> HashMap<u32, String> {
    let directives = text.lines().filter_map(|line| line.trim_start().strip_prefix(".file"));
    let declared = directives.filter_map(|operands| {
        let (number, path) = operands.trim_start().split_once([' ', '\t'])?;
        // The name may be preceded by its directory and followed by its time stamp and size.
        let mut quoted = path.split('"').skip(1).step_by(2);
        let first = quoted.next()?;
        let path = quoted.next().map_or(first.to_owned(), |file| format!("{first}/{file}"));
        Some((number.parse().ok()?, path))
    });
    declared.collect()
}

fn is_file(code: &str) -> bool {
    code.trim_start().starts_with(".file")
}

fn is_debug_section(code: &str) -> bool {
    let section = code.trim_start().strip_prefix(".section");
    section.is_some_and(|section| section.trim_start().starts_with(".debug"))
}

/// Returns `.target sm_75` for `.target sm_75, debug`, with which drivers would compile the kernels
/// without optimization.
fn debugged_target(code: &str) -> Option<&str> {
    code.strip_suffix(", debug").filter(|code| code.starts_with(".target"))
}

/// Whether it is a label used only by debug information. Branches use labels of basic blocks,
/// `$L__BB`.
fn is_debug_label(code: &str) -> bool {
    const STARTS: [&str; 4] = ["$L__tmp", "$L__func_begin", "$L__func_end", "$L__sec_end"];
    let number = STARTS.iter().find_map(|start| code.strip_prefix(start)).and_then(|rest| rest.strip_suffix(':'));
    number.is_some_and(|number| number.chars().all(|letter| letter.is_ascii_digit()))
}

/// A line with only a comment, in the form of a build without `-Zverbose-asm`; None if such a build
/// omits it.
fn kept_comment(line: &str, comment: &str) -> Option<String> {
    if let Some(global) = comment.strip_prefix(".globl") {
        let name = global.split("//").next().unwrap_or_default().trim();
        return Some(format!("\t// .globl\t{name}"));
    }
    let kept = line == "//" || comment.starts_with("Generated by");
    kept.then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> SourceNames {
        SourceNames::for_tests("/checkout", &[("/checkout/my kernels", "my-kernels"), ("/checkout/std", "gpu_std")])
    }

    fn plain(text: &str) -> String {
        with_source_lines(text, &names()).trace().text
    }

    const VERBOSE: &str = "\
//
// Generated by LLVM NVPTX Back-End
//

.version 7.8
.target sm_90, debug
.address_size 64

                                        // Start of file scope inline assembly
.shared .b8 tile[64];
                                        // End of file scope inline assembly
\t// .globl\tscale                   // -- Begin function scale
                                        // @scale
.visible .entry scale(
\t.param .u64 scale_param_0
)
{
\t.reg .b32 \t%r<4>;
$L__func_begin0:
\t.loc\t1 25 0                          // my kernels/src/lib.rs:25:0

// %bb.0:
\tld.param.b64 \t%rd1, [scale_param_0];
$L__tmp0:
\t.loc\t3 470 18                        // /lib/rust/library/core/src/ptr/mut_ptr.rs:470:18 @[ /checkout/std/src/shared.rs:41:12 @[ my kernels/src/lib.rs:28:18 @[ my kernels/src/lib.rs:25:1 ] ] ]
\t// begin inline asm
\tmov.u64 %rd2, tile; // the author's
\t// end inline asm
$L__tmp1:
\t.loc\t2 57 32                         // /checkout/std/src/shared.rs:57:32 @[ my kernels/src/lib.rs:28:18 @[ my kernels/src/lib.rs:25:1 ] ]
\t{ // callseq 0, 0
\t} // callseq 0
$L__BB0_1:                              // =>This Inner Loop Header: Depth=1
\t.loc\t2 0 18                          // /checkout/std/src/shared.rs:0:18
\tbra \t$L__BB0_1;
$L__tmp2:
$L__func_end0:
                                        // -- End function
}
.func outside()
{
\t.loc\t3 9 1                           // /lib/rust/library/core/src/ptr/mut_ptr.rs:9:1
\tret;
}
$L__sec_end0:
\t.section\t.debug_abbrev
\t{
.b8 1
\t}
\t.section\t.debug_macinfo\t{\t}
\t.file\t1 \"/checkout/my kernels/src/lib.rs\"
\t.file\t2 \"/checkout/std/src/shared.rs\"
\t.file\t3 \"/lib/rust/library/core/src/ptr/mut_ptr.rs\"
";

    const PLAIN: &str = "\
//
// Generated by LLVM NVPTX Back-End
//

.version 7.8
.target sm_90
.address_size 64
.file\t1 \"my-kernels/src/lib.rs\"
.file\t2 \"core/src/ptr/mut_ptr.rs\"

.shared .b8 tile[64];
\t// .globl\tscale
.visible .entry scale(
\t.param .u64 scale_param_0
)
{
\t.reg .b32 \t%r<4>;
\t.loc\t1 25 0

\tld.param.b64 \t%rd1, [scale_param_0];
\t.loc\t1 28 18
\tmov.u64 %rd2, tile; // the author's
\t{ // callseq 0, 0
\t} // callseq 0
$L__BB0_1:
\t.loc\t1 0 0
\tbra \t$L__BB0_1;
}
.func outside()
{
\t.loc\t2 9 1
\tret;
}
";

    #[test]
    fn directives_name_the_innermost_frame_in_the_kernels_own_crate() {
        assert_eq!(plain(VERBOSE), PLAIN);
    }

    #[test]
    fn labels_and_chains_are_traced_to_lines() {
        let traced = with_source_lines(VERBOSE, &names()).trace();
        let line_with = |text: &str| traced.text.lines().position(|line| line.contains(text)).unwrap() as u32 + 1;
        assert_eq!(traced.labels["$L__func_begin0"], line_with("25 0"));
        assert_eq!(traced.labels["$L__tmp0"], line_with("28 18"));
        assert_eq!(traced.labels["$L__tmp1"], line_with("callseq 0, 0"));
        let (line, chain) = &traced.chains[1];
        assert_eq!(*line, line_with("28 18"));
        let positions: Vec<_> = chain.iter().map(|at| (&*at.file, at.is_own, at.line, at.column)).collect();
        let expected = [
            ("core/src/ptr/mut_ptr.rs", false, 470, 18),
            ("gpu_std/src/shared.rs", false, 41, 12),
            ("my-kernels/src/lib.rs", true, 28, 18),
            ("my-kernels/src/lib.rs", true, 25, 1),
        ];
        assert_eq!(positions, expected);
        assert_eq!(traced.files[&2], "gpu_std/src/shared.rs");
    }

    #[test]
    fn text_without_directives_and_rewritten_text_are_unchanged() {
        let without: String =
            PLAIN.split_inclusive('\n').filter(|line| !line.contains(".loc") && !line.contains(".file")).collect();
        // Only the compiler's text says where inline assembly begins.
        let unchanged = |text: &str| assert_eq!(plain(text), text.replace(" // the author's", ""));
        unchanged(&without);
        unchanged(PLAIN);
    }

    #[test]
    fn without_comments_the_chain_is_read_from_inlined_at() {
        let text = "\
{
\t.loc\t2 57 32, function_name $L__info_string1, inlined_at 1 28 18
\tadd;
\t.loc 3 470 18, function_name $L__info_string2+8, inlined_at 2 57 32
\tsub;
\t.loc 1 30 2
\tret;
\t.loc 9 1 1
}
\t.file\t1 \"/checkout/my kernels\" \"src/lib.rs\"
\t.file\t2 \"/checkout/std/src/shared.rs\", 1700000000, 512
\t.file\t3 \"/lib/rust/library/core/src/ptr/mut_ptr.rs\"
";
        let expected = "\
.file\t1 \"my-kernels/src/lib.rs\"
{
\t.loc\t1 28 18
\tadd;
\tsub;
\t.loc\t1 30 2
\tret;
}
";
        assert_eq!(plain(text), expected);
    }

    /// A crate that is its own workspace, beside another one that is outside of it.
    #[test]
    fn names_relative_to_two_crates_are_told_apart() {
        let names = SourceNames::for_tests("/kernels", &[("/kernels", "my-kernels"), ("/checkout/std", "gpu_std")]);
        let text = "\
{
\t.loc\t2 470 18 // src/element.rs:470:18 @[ src/shared.rs:41:12 @[ src/lib.rs:28:18 @[ src/lib.rs:25:1 ] ] ]
\tadd;
\t.loc\t4 9 1 // src/lib.rs:9:1 @[ src/lib.rs:30:1 ]
\tsub;
\t.loc\t5 3 1 // src/exp.rs:3:1 @[ src/lib.rs:31:1 ]
\tret;
}
\t.file\t1 \"/kernels/src/lib.rs\"
\t.file\t2 \"/checkout/std/src/element.rs\"
\t.file\t3 \"/checkout/std/src/shared.rs\"
\t.file\t4 \"/checkout/std/src/lib.rs\"
\t.file\t5 \"/packages/registry/src/an-index/libm-0.2.15/src/exp.rs\"
";
        let traced = with_source_lines(text, &names).trace();
        let chains: Vec<Vec<_>> =
            traced.chains.iter().map(|(_, chain)| chain.iter().map(|at| &*at.file).collect()).collect();
        assert_eq!(
            chains,
            [
                vec![
                    "gpu_std/src/element.rs",
                    "gpu_std/src/shared.rs",
                    "my-kernels/src/lib.rs",
                    "my-kernels/src/lib.rs"
                ],
                vec!["gpu_std/src/lib.rs", "my-kernels/src/lib.rs"],
                vec!["libm-0.2.15/src/exp.rs", "my-kernels/src/lib.rs"],
            ]
        );
        let lines: Vec<_> = traced.text.lines().filter_map(|line| line.trim().strip_prefix(".loc")).collect();
        assert_eq!(lines, ["\t1 28 18", "\t1 30 1", "\t1 31 1"]);
    }

    #[test]
    fn a_frame_with_line_0_is_replaced_by_its_call_site() {
        let text = "\t.loc\t1 0 5 // std/src/a.rs:0:5 @[ my kernels/src/lib.rs:0:3 @[ my kernels/src/lib.rs:7:1 ] ]\n";
        assert_eq!(plain(text), ".file\t1 \"my-kernels/src/lib.rs\"\n\t.loc\t1 7 1\n");
    }
}
