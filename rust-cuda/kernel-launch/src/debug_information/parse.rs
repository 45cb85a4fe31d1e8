//! Parses the file with debug names. `cuda_builder` defines its format.

use std::path::Path;

use sha2::{Digest, Sha256};

use super::{DebugInformation, Frame, Kind, NoNames, Operation, Piece, Type, Variable, Word};

const TITLE: &str = "debug information, format 2";

/// The debug names of a kernel in the PTX `text`, from `names`, the contents of the file at `path`.
pub(super) fn parse(text: &str, names: &str, kernel: &str, path: &Path) -> Result<DebugInformation, NoNames> {
    let mut information = DebugInformation::default();
    let Some((base, entry)) = entry(text, kernel) else { return Ok(information) };
    let of_other_ptx = || NoNames::OfOtherPtx { path: path.to_owned(), kernel: kernel.to_owned() };
    let mut is_of_kernel = false;
    for (line, text) in names.lines().enumerate() {
        let wrong = || NoNames::Form { path: path.to_owned(), line: line + 1, text: text.chars().take(40).collect() };
        if line == 0 {
            (text == TITLE).then_some(()).ok_or_else(wrong)?;
            continue;
        }
        let (kind, fields) = text.split_once('\t').ok_or_else(wrong)?;
        let mut fields = fields.split('\t');
        match kind {
            "missing" => return Err(NoNames::Compiler(fields.collect())),
            "type" => information.types.push(r#type(&mut fields, information.types.len()).ok_or_else(wrong)?),
            "function" => {
                is_of_kernel = fields.next() == Some(kernel);
                if is_of_kernel {
                    let digest = hex::encode(Sha256::digest(entry));
                    (fields.next() == Some(&*digest)).then_some(()).ok_or_else(of_other_ptx)?;
                    let call = (String::new(), 0, 0);
                    information.frames = vec![Frame { function: kernel.to_owned(), caller: 0, call }];
                }
            }
            "frame" | "lines" | "variable" if !is_of_kernel => {}
            "frame" => information.frames.push(frame(&mut fields, information.frames.len()).ok_or_else(wrong)?),
            "lines" => {
                let frames = information.frames.len();
                let place = |field: &str| {
                    let (line, frame) = field.split_once(':')?;
                    let frame = frame.parse().ok().filter(|frame| *frame < frames)?;
                    Some((base.checked_add(line.parse().ok()?)?, frame))
                };
                information.lines = fields.map(place).collect::<Option<_>>().ok_or_else(wrong)?;
            }
            "variable" => information.variables.push(variable(&mut fields, base).ok_or_else(wrong)?),
            _ => return Err(wrong()),
        }
    }
    if information.frames.is_empty() {
        return Err(of_other_ptx());
    }
    let types = information.types.len();
    let is_known = |index: usize| index < types;
    let parts_are_known = |of: &Type| match &of.kind {
        Kind::Struct(members) => members.iter().all(|(_, part, _)| is_known(*part)),
        Kind::Array(element, _) => is_known(*element),
        _ => true,
    };
    let frames = information.frames.len();
    let variables = information.variables.iter();
    let is_consistent = information.types.iter().all(parts_are_known)
        && variables.clone().all(|variable| is_known(variable.r#type) && variable.frame < frames);
    if !is_consistent {
        let text = "a type or a frame that is missing".to_owned();
        return Err(NoNames::Form { path: path.to_owned(), line: names.lines().count(), text });
    }
    Ok(information)
}

/// The line of a kernel's name in the PTX, starting at 1, and its text from there up to the line
/// with only `}`. The file contains the text's digest.
fn entry<'t>(text: &'t str, kernel: &str) -> Option<(u32, &'t str)> {
    let is_entry = |line: &str| {
        let name = line.split_once(".entry ").map(|(_, after)| after.trim_start());
        name.is_some_and(|name| name.split(['(', ' ', '\t']).next() == Some(kernel))
    };
    let lines = || text.split_inclusive('\n');
    let index = lines().position(is_entry)?;
    let rest = &text[lines().take(index).map(str::len).sum()..];
    let end = rest.find("\n}\n").map_or(rest.len(), |end| end + 3);
    Some((index as u32 + 1, &rest[..end]))
}

type Fields<'f> = std::str::Split<'f, char>;

fn r#type(fields: &mut Fields<'_>, expected: usize) -> Option<Type> {
    let mut next = || fields.next();
    let number: usize = next()?.parse().ok()?;
    let bytes = next()?.parse().ok()?;
    let kind = next()?;
    let name = next()?.to_owned();
    let kind = match kind {
        "float" => Kind::Float,
        "signed" => Kind::Signed,
        "unsigned" => Kind::Unsigned,
        "bool" => Kind::Bool,
        "pointer" => Kind::Pointer,
        "other" => Kind::Other,
        "array" => Kind::Array(next()?.parse().ok()?, next()?.parse().ok()?),
        "struct" => {
            let member = |field: &str| {
                let mut parts = field.splitn(3, ':');
                let (offset, part) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
                Some((offset, part, parts.next()?.to_owned()))
            };
            Kind::Struct(fields.map(member).collect::<Option<_>>()?)
        }
        _ => return None,
    };
    (number == expected).then_some(Type { bytes, name, kind })
}

fn frame(fields: &mut Fields<'_>, expected: usize) -> Option<Frame> {
    let number: usize = fields.next()?.parse().ok()?;
    let caller = fields.next()?.parse().ok().filter(|caller| *caller < number)?;
    let (line, column) = fields.next()?.split_once(':')?;
    let call = (fields.next()?.to_owned(), line.parse().ok()?, column.parse().ok()?);
    (number == expected).then_some(Frame { function: fields.next()?.to_owned(), caller, call })
}

fn variable(fields: &mut Fields<'_>, base: u32) -> Option<Variable> {
    let range = |text: &str| {
        let (from, to) = text.split_once('-')?;
        let line = |text: &str| base.checked_add(text.parse().ok()?);
        Some((line(from)?, line(to)?))
    };
    let frame = fields.next()?.parse().ok()?;
    let scope = range(fields.next()?)?;
    let r#type = fields.next()?.parse().ok()?;
    let name = fields.next()?.to_owned();
    let value = |field: &str| {
        let (lines, value) = field.split_once(' ')?;
        let (from, to) = range(lines)?;
        Some((from, to, pieces(value)?))
    };
    Some(Variable { frame, scope, r#type, name, values: fields.map(value).collect::<Option<_>>()? })
}

fn pieces(text: &str) -> Option<Vec<Piece>> {
    let mut bytes = None;
    let mut piece = |text: &str| {
        let words = match text.split_once(':') {
            Some((size, words)) => {
                bytes = Some(size.parse().ok()?);
                words
            }
            None => text,
        };
        let words = words.split(',').filter(|word| !word.is_empty()).map(word).collect::<Option<_>>()?;
        Some(Piece { bytes, words })
    };
    text.split('|').map(&mut piece).collect()
}

fn word(text: &str) -> Option<Word> {
    if text.starts_with('%') {
        return Some(Word::Register(text.to_owned()));
    }
    let unsigned = || text.parse::<u64>().ok();
    let signed = || text.parse::<i64>().ok().map(i64::cast_unsigned);
    if let Some(constant) = unsigned().or_else(signed) {
        return Some(Word::Constant(constant));
    }
    Some(Word::Operation(match text {
        "and" => Operation::And,
        "minus" => Operation::Minus,
        "mul" => Operation::Mul,
        "neg" => Operation::Neg,
        "not" => Operation::Not,
        "or" => Operation::Or,
        "plus" => Operation::Plus,
        "shl" => Operation::Shl,
        "shr" => Operation::Shr,
        "shra" => Operation::Shra,
        "xor" => Operation::Xor,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.visible .entry other()
{
}
.visible .entry scale(
\t.param .u64 scale_param_0
)
{
\tret;
}
";

    const NAMES: &str = "\
debug information, format 2
type\t0\t4\tfloat\tf32
type\t1\t8\tstruct\tPair<f32>\t0:0:left\t4:0:right: odd
function\tother\t0123
lines\t1:0
function\tscale\tDIGEST
frame\t1\t0\t3:5\tsrc/lib.rs\tinner<f32>
lines\t2:0\t4:1
variable\t0\t2-6\t1\tpair\t3-4 4:%f1|\t4-5 4:|7,neg
variable\t1\t4-5\t0\tfactor
";

    /// printf '.visible .entry scale(\n\t.param .u64 scale_param_0\n)\n{\n\tret;\n}\n' | sha256sum
    const DIGEST: &str = "7ce223dd4d7b4745b548e744219aa0ba21d7a6bdfc1c50abc2fcbb1b7c54bc3f";

    fn read(names: &str) -> Result<DebugInformation, String> {
        let names = names.replace("DIGEST", DIGEST);
        parse(PTX, &names, "scale", Path::new("kernels.debug")).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_read() {
        let information = read(NAMES).unwrap();
        assert_eq!(information.frames.len(), 2);
        assert_eq!(information.frames[1].call, ("src/lib.rs".to_owned(), 3, 5));
        // The kernel's name is on line 5.
        assert_eq!([6, 7, 8, 9, 20].map(|line| information.frame_at(line)), [None, Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(information.with_callers(1).collect::<Vec<_>>(), [1, 0]);
        let names = |frame, line| {
            let variables = information.variables(frame, line).into_iter();
            variables.map(|variable| variable.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!((names(0, 7), names(1, 9), names(1, 10)), (vec!["pair"], vec!["factor"], vec![]));
        let pair = information.variables(0, 8)[0];
        let register = Word::Register("%f1".to_owned());
        let missing = Piece { bytes: Some(4), words: Vec::new() };
        assert_eq!(pair.pieces_at(7), None);
        assert_eq!(pair.pieces_at(8).unwrap(), [Piece { bytes: Some(4), words: vec![register] }, missing.clone()]);
        let words = vec![Word::Constant(7), Word::Operation(Operation::Neg)];
        assert_eq!(pair.pieces_at(9).unwrap(), [missing, Piece { bytes: Some(4), words }]);
        assert_eq!(
            information.type_of(1).kind,
            Kind::Struct(vec![(0, 0, "left".to_owned()), (4, 0, "right: odd".to_owned())])
        );
    }

    #[test]
    fn names_of_other_ptx_are_refused() {
        let reason = "kernels.debug is of other PTX than scale's; build both again";
        assert_eq!(read(&NAMES.replace("DIGEST", &"0".repeat(64))).unwrap_err(), reason);
        assert_eq!(read(&NAMES.replace("function\tscale", "function\tscale_all")).unwrap_err(), reason);
        let failed = "debug information, format 2\nmissing\tits form is new\n";
        assert_eq!(read(failed).unwrap_err(), "the compiler's debug information cannot be read: its form is new");
    }

    #[test]
    fn other_forms_are_refused() {
        for (text, other) in [
            ("format 2", "format 1"),
            ("function\tscale", "module\tscale"),
            ("\t4:1\n", "\t4:2\n"),
            ("frame\t1\t0", "frame\t1\t1"),
            ("frame\t1\t0", "frame\t2\t0"),
            ("type\t0", "type\t1"),
            ("float", "real"),
            ("0:0:left", "0:9:left"),
            ("variable\t1", "variable\t5"),
            ("4:%f1|", "4:f1|"),
            ("2-6", "2-99999999999"),
            ("lines\t2:0", "// lines\t2:0"),
        ] {
            assert!(NAMES.contains(text));
            let message = read(&NAMES.replacen(text, other, 1)).unwrap_err();
            assert!(message.starts_with("kernels.debug, line "), "{message}");
        }
    }
}
