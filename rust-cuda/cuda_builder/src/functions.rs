//! Functions of the compiler's PTX: `%` of floats becomes a call of the exact function, functions that no kernel reaches are left
//! out, and a function that nothing defines is an error, since a driver would refuse the module with all its kernels.

use std::collections::{BTreeSet, HashMap};

use crate::BuilderError;
use crate::ptx_items::{Item, Kind, is_in_identifier, items, mentions, reached_from};

/// Functions that a driver provides, which kernels may call without a definition.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// The exact remainders that `cuda_std` defines.
const REMAINDERS: [(&str, &str); 2] = [("f32", "__cuda_std_fmodf"), ("f64", "__cuda_std_fmod")];

/// The text with exact remainders and without functions that no kernel reaches. `name_of_file` names a source file in errors.
///
/// # Errors
/// [`BuilderError::Unresolved`] if a kernel reaches a function without a definition.
pub(crate) fn with_functions(text: &str, name_of_file: &dyn Fn(&str) -> String) -> Result<String, BuilderError> {
    let text = with_exact_remainders(text);
    let items = items(&text);
    let reached = reached(&items);
    check_resolved(&items, &reached, &text, name_of_file)?;
    let is_kept = |item: &Item<'_>| item.function.is_none_or(|name| reached.contains(name));
    Ok(items.iter().filter(|item| is_kept(item)).map(|item| item.text).collect())
}

/// The text with a trap in place of each call of a function that does nothing but trap, as those of panics: a panic is then in the line
/// that panics. An optimised text has such traps already.
pub(crate) fn with_traps_in_place(text: &str) -> String {
    let only_traps = |item: &&Item<'_>| {
        item.kind == Kind::Definition && item.text.contains("\n.noreturn") && !item.text.contains("\tcall")
    };
    let items = items(text);
    let trapping: BTreeSet<&str> = items.iter().filter(only_traps).filter_map(|item| item.function).collect();
    let is_panic = |line: &str| {
        line.trim_start().starts_with("call.uni")
            && line.split(|c: char| !is_in_identifier(c)).any(|word| trapping.contains(word))
    };
    text.split_inclusive('\n').map(|line| if is_panic(line) { "\ttrap;\n" } else { line }).collect()
}

/// The functions that entries and variables mention, and those that these mention, and so on.
fn reached<'a>(items: &[Item<'a>]) -> BTreeSet<&'a str> {
    let mentions = mentions(items);
    let entries = items.iter().filter(|item| item.kind == Kind::Entry).filter_map(|item| item.function);
    let between = items.iter().filter(|item| item.kind == Kind::Other).flat_map(|item| item.words());
    // What no function's name is has no mentions.
    let names: BTreeSet<&str> = items.iter().filter_map(|item| item.function).collect();
    reached_from(entries.chain(between.filter(|word| names.contains(word))), &mentions)
}

fn check_resolved(
    items: &[Item<'_>],
    reached: &BTreeSet<&str>,
    text: &str,
    name_of_file: &dyn Fn(&str) -> String,
) -> Result<(), BuilderError> {
    let of_kind = |kind: &[Kind]| -> BTreeSet<&str> {
        items.iter().filter(|item| kind.contains(&item.kind)).filter_map(|item| item.function).collect()
    };
    let (defined, declared) = (of_kind(&[Kind::Entry, Kind::Definition]), of_kind(&[Kind::Declaration]));
    let missing =
        |name: &&&str| reached.contains(**name) && !defined.contains(**name) && !OF_THE_DRIVER.contains(*name);
    let Some(function) = declared.iter().find(missing) else { return Ok(()) };
    let caller = items
        .iter()
        .find(|item| item.kind != Kind::Declaration && item.function.is_some() && calls(item.text, function));
    Err(BuilderError::Unresolved {
        function: (*function).to_owned(),
        kernel: caller.and_then(|item| item.function).unwrap_or_default().to_owned(),
        place: caller.and_then(|item| place_of_call(item.text, function, text, name_of_file)).unwrap_or_default(),
    })
}

fn calls(body: &str, function: &str) -> bool {
    body.lines().any(|line| is_call_of(line, function))
}

fn is_call_of(line: &str, function: &str) -> bool {
    let line = line.trim_start();
    line.contains("call") && line.split(|c: char| !is_in_identifier(c)).any(|word| word == function)
}

/// `, at FILE:LINE`, from the last `.loc` before the first call of a function.
fn place_of_call(body: &str, function: &str, text: &str, name_of_file: &dyn Fn(&str) -> String) -> Option<String> {
    let call = body.lines().position(|line| is_call_of(line, function))?;
    let location = body.lines().take(call).filter_map(|line| line.trim_start().strip_prefix(".loc")).last()?;
    let mut numbers = location.split_whitespace();
    let (file, line) = (numbers.next()?, numbers.next()?);
    let prefix = format!(".file\t{file} ");
    let name = text.lines().find_map(|line| line.trim_start().strip_prefix(&prefix))?;
    Some(format!(", at {}:{line}", name_of_file(name.trim().trim_matches('"'))))
}

/// The text with each remainder of floats as LLVM approximates it, x − y·trunc(x/y), replaced by a call of the exact function.
///
/// LLVM 22 emits, for an infinite y too, `div.rn`, `cvt.rzi`, `neg`, `fma.rn`, `testp.infinite` and `selp`, all of one source
/// location; without the last two if y is a finite constant, whose negative the `fma.rn` then has.
fn with_exact_remainders(text: &str) -> String {
    if !text.contains("\tcvt.rzi.f32.f32") && !text.contains("\tcvt.rzi.f64.f64") {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    let mut calls = 0;
    for item in items(text) {
        let is_body = matches!(item.kind, Kind::Entry | Kind::Definition);
        let (calls_before, body) = (calls, if is_body { in_body(item.text, &mut calls) } else { item.text.to_owned() });
        if calls_before == 0 && calls > 0 {
            // PTX names only what it has declared, and the definitions may come later.
            for (t, function) in REMAINDERS {
                let bits = &t[1..];
                result += &format!(
                    ".visible .func  (.param .b{bits} func_retval0) {function}\n(\n\t.param .b{bits} {function}_param_0,\n\
                     \t.param .b{bits} {function}_param_1\n)\n;\n"
                );
            }
        }
        result += &body;
    }
    result
}

/// An instruction's line, split into its name and operands, with the source location that it has.
#[derive(Clone, Debug)]
struct Instruction<'a> {
    line: usize,
    name: &'a str,
    operands: Vec<&'a str>,
    location: &'a str,
}

fn in_body(body: &str, calls: &mut usize) -> String {
    let mut lines: Vec<String> = body.split_inclusive('\n').map(str::to_owned).collect();
    let texts: Vec<&str> = body.lines().collect();
    let mut location = "";
    let mut definitions: HashMap<&str, Instruction<'_>> = HashMap::new();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::new();
    for (line, text) in texts.iter().enumerate() {
        let text = text.trim();
        if text.starts_with(".loc") {
            location = text;
        }
        let Some(instruction) = instruction(text, line, location) else { continue };
        for operand in &instruction.operands {
            *uses.entry(*operand).or_default() += 1;
        }
        if let Some(&destination) = instruction.operands.first() {
            definitions.insert(destination, instruction.clone());
        }
        all.push(instruction);
    }
    for fma in &all {
        for (t, function) in REMAINDERS {
            let Some(found) = remainder(fma, t, &definitions, &all) else { continue };
            let Remainder { x, y, result, parts } = found;
            *calls += 1;
            let bits = &t[1..];
            let call = format!(
                "\t{{ // callseq remainder {calls}\n\t.param .b{bits} param0;\n\t.param .b{bits} param1;\n\t.param .b{bits} retval0;\n\
                 \tst.param.{t} \t[param0], {x};\n\tst.param.{t} \t[param1], {y};\n\
                 \tcall.uni (retval0), {function}, (param0, param1);\n\tld.param.{t} \t{}, [retval0];\n\t}}\n",
                result.operands[0]
            );
            lines[result.line] = call;
            // What computed the approximation, unless something else uses a part of it.
            let is_used_once = |part: &Instruction<'_>| uses.get(part.operands[0]).copied().unwrap_or(0) <= 2;
            if parts.iter().all(is_used_once) {
                parts.iter().for_each(|part| lines[part.line].clear());
            }
        }
    }
    lines.concat()
}

/// The remainder x % y, which `result` writes, and the instructions that only it needs.
struct Remainder<'a> {
    x: &'a str,
    y: String,
    result: Instruction<'a>,
    parts: Vec<Instruction<'a>>,
}

fn remainder<'a>(
    fma: &Instruction<'a>,
    t: &str,
    definitions: &HashMap<&str, Instruction<'a>>,
    all: &[Instruction<'a>],
) -> Option<Remainder<'a>> {
    let is = |instruction: &Instruction<'_>, name: &str| {
        instruction.name.strip_suffix(t).is_some_and(|rest| rest.trim_end_matches('.') == name)
            && instruction.location == fma.location
    };
    if !is(fma, "fma.rn") {
        return None;
    }
    let &[_, quotient, factor, x] = &fma.operands[..] else { return None };
    let mut parts = Vec::new();
    let mut whole = definitions.get(quotient)?;
    let negative = if is(whole, "neg") { Some(whole) } else { None };
    if let Some(negative) = negative {
        parts.push(negative.clone());
        whole = definitions.get(negative.operands[1])?;
    }
    let is_whole = whole.name.strip_suffix(t).is_some_and(|rest| rest.trim_end_matches('.') == format!("cvt.rzi.{t}"))
        && whole.location == fma.location;
    let division = definitions.get(whole.operands.get(1)?)?;
    if !is_whole || !is(division, "div.rn") {
        return None;
    }
    let &[_, dividend, divisor] = &division.operands[..] else { return None };
    // A constant is in a register for the division only.
    let is_copy = |register: &str| {
        definitions.get(register).is_some_and(|copy| copy.name.starts_with("mov.") && copy.operands.get(1) == Some(&x))
    };
    if dividend != x && !is_copy(dividend) {
        return None;
    }
    parts.extend([whole.clone(), division.clone()]);
    if negative.is_none() {
        // −y is a constant.
        return (negated_constant(factor)? == divisor).then(|| Remainder {
            x,
            y: divisor.to_owned(),
            result: fma.clone(),
            parts,
        });
    }
    if factor != divisor {
        return None;
    }
    let select = all.iter().find(|select| {
        is(select, "selp") && select.operands.get(1) == Some(&x) && select.operands.get(2) == Some(&fma.operands[0])
    })?;
    // Another remainder by the same divisor may share the test.
    let test = definitions.get(select.operands.get(3)?)?;
    if test.name != format!("testp.infinite.{t}") || test.operands.get(1) != Some(&divisor) {
        return None;
    }
    parts.push(fma.clone());
    Some(Remainder { x, y: divisor.to_owned(), result: select.clone(), parts })
}

/// −y of a constant such as `0f40E00000`.
fn negated_constant(constant: &str) -> Option<String> {
    let (prefix, digits) = constant.split_at_checked(2).filter(|(prefix, _)| matches!(*prefix, "0f" | "0d"))?;
    let (bits, width) = (u64::from_str_radix(digits, 16).ok()?, digits.len());
    Some(format!("{prefix}{:0width$X}", bits ^ 1 << (4 * width - 1)))
}

fn instruction<'a>(text: &'a str, line: usize, location: &'a str) -> Option<Instruction<'a>> {
    let text = text.split_once("//").map_or(text, |(code, _)| code).trim();
    let code = text.strip_suffix(';')?;
    if code.starts_with(['.', '@', '{', '}', '$']) || code.contains(['{', '[']) {
        // Operands of addresses and vectors count as uses, by their own text.
        let name = code.split_whitespace().next()?;
        let operands = code[name.len()..].split([',', '[', ']', '{', '}', ' ', '\t', '+', '|', '!']);
        let operands = operands.filter(|operand| operand.starts_with('%')).collect();
        return Some(Instruction { line, name: "", operands, location });
    }
    let name = code.split_whitespace().next()?;
    let operands = code[name.len()..].split(',').map(str::trim).collect();
    Some(Instruction { line, name, operands, location })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_functions(text: &str) -> Result<String, BuilderError> {
        super::with_functions(text, &str::to_owned)
    }

    const REMAINDER: &str = "\
.version 6.3
.visible .global .align 1 .b8 wrap__signature[1] = {40};
\t// .globl\twrap
.visible .entry wrap(
\t.param .u64 p
)
{
\t.loc\t1 5 1
\tld.global.b32 \t%r5, [%rd1];
\t.loc\t1 6 9
\tdiv.rn.f32 \t%r7, %r5, %r6;
\tcvt.rzi.f32.f32 \t%r8, %r7;
\tneg.f32 \t%r9, %r8;
\tadd.s64 \t%rd14, %rd3, %rd11;
\tfma.rn.f32 \t%r10, %r9, %r6, %r5;
\ttestp.infinite.f32 \t%p4, %r6;
\tselp.f32 \t%r11, %r5, %r10, %p4;
\tst.global.b32 \t[%rd14], %r11;
\tret;
}
\t// .globl\t__cuda_std_fmodf
.visible .func  (.param .b32 func_retval0) __cuda_std_fmodf(
\t.param .b32 a,
\t.param .b32 b
)
{
\tret;
}
";

    #[test]
    fn a_call_of_a_function_that_only_traps_is_a_trap() {
        let text = "\
.func panic(
\t.param .b64 panic_param_0
)
.noreturn
{
\tst.b8 \t[%SP+1], 1;
\ttrap;
}
.func says()
.noreturn
{
\tcall.uni (retval0), vprintf, (param0, param1);
\ttrap;
}
.visible .entry kernel()
{
\tcall.uni panic, (param0);
\tcall.uni says, ();
\tcall.uni panics, ();
\tret;
}
";
        assert_eq!(with_traps_in_place(text), text.replace("\tcall.uni panic, (param0);\n", "\ttrap;\n"));
    }

    #[test]
    fn a_remainder_becomes_a_call() {
        let text = with_functions(REMAINDER).unwrap();
        assert!(text.contains("call.uni (retval0), __cuda_std_fmodf, (param0, param1);"), "{text}");
        assert!(text.contains("st.param.f32 \t[param0], %r5;") && text.contains("[param1], %r6;"), "{text}");
        assert!(text.contains("ld.param.f32 \t%r11, [retval0];"), "{text}");
        for gone in ["div.rn", "cvt.rzi", "neg.f32", "fma.rn", "selp"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        // It is declared before the kernel, and defined after it; the other remainder is not there.
        assert!(text.find("__cuda_std_fmodf\n(") < text.find("call.uni"), "{text}");
        assert!(text.contains("__cuda_std_fmodf(\n") && !text.contains("__cuda_std_fmod\n"), "{text}");
    }

    #[test]
    fn the_remainder_of_a_constant_becomes_a_call_with_a_shared_test() {
        let constant = REMAINDER
            .replace("\tdiv.rn.f32 \t%r7, %r5, %r6", "\tmov.b32 \t%r4, 0f40A00000;\n\tdiv.rn.f32 \t%r7, %r4, %r6")
            .replace("%r10, %r9, %r6, %r5", "%r10, %r9, %r6, 0f40A00000")
            .replace("%r11, %r5, %r10, %p4", "%r11, 0f40A00000, %r10, %p4")
            .replace("\ttestp.infinite.f32 \t%p4, %r6;\n", "")
            .replace("\t.loc\t1 6 9\n", "\ttestp.infinite.f32 \t%p4, %r6;\n\t.loc\t1 6 9\n");
        let text = with_functions(&constant).unwrap();
        assert!(text.contains("[param0], 0f40A00000;") && !text.contains("div.rn"), "{text}");
    }

    #[test]
    fn a_remainder_by_a_constant_becomes_a_call() {
        let constant = REMAINDER
            .replace("%r7, %r5, %r6", "%r7, %r5, 0f40E00000")
            .replace("\tneg.f32 \t%r9, %r8;\n", "")
            .replace("fma.rn.f32 \t%r10, %r9, %r6, %r5", "fma.rn.f32 \t%r11, %r8, 0fC0E00000, %r5")
            .replace("\ttestp.infinite.f32 \t%p4, %r6;\n\tselp.f32 \t%r11, %r5, %r10, %p4;\n", "");
        let text = with_functions(&constant).unwrap();
        assert!(text.contains("[param1], 0f40E00000;") && !text.contains("div.rn"), "{text}");
    }

    #[test]
    fn what_a_kernel_computes_itself_stays() {
        for (from, to) in [
            // Another location: not one expression of the source.
            ("\tfma.rn", "\t.loc\t1 7 2\n\tfma.rn"),
            ("fma.rn.f32 \t%r10, %r9, %r6, %r5", "fma.rn.f32 \t%r10, %r9, %r6, %r4"),
            ("fma.rn.f32 \t%r10, %r9, %r6, %r5", "fma.rn.f32 \t%r10, %r9, %r3, %r5"),
            ("cvt.rzi", "cvt.rmi"),
            ("div.rn", "div.approx"),
            ("testp.infinite.f32 \t%p4, %r6", "testp.infinite.f32 \t%p4, %r5"),
        ] {
            let text = with_functions(&REMAINDER.replace(from, to)).unwrap();
            assert!(!text.contains("call"), "{to}: {text}");
            assert!(text.contains("selp"), "{to}: {text}");
        }
        // A value of the approximation that is used elsewhere is still computed.
        let text = with_functions(&REMAINDER.replace("[%rd14], %r11", "[%rd14], %r8")).unwrap();
        assert!(text.contains("cvt.rzi.f32.f32 \t%r8, %r7") && text.contains("div.rn"), "{text}");
    }

    #[test]
    fn inline_assembly_is_part_of_the_body() {
        let assembly = "\t// begin inline asm\nmov.u64 %rd1, __shared_1;\n\t// end inline asm\n\tselp";
        let text = with_functions(&REMAINDER.replace("div.rn", "div.approx").replace("\tselp", assembly)).unwrap();
        assert!(text.contains(assembly), "{text}");
    }

    #[test]
    fn functions_that_no_kernel_reaches_are_left_out() {
        let text = REMAINDER.replace("div.rn", "div.approx");
        let kept = with_functions(&text).unwrap();
        assert!(!kept.contains("fmod") && kept.contains(".entry wrap("), "{kept}");
        assert!(kept.ends_with("\tret;\n}\n"), "{kept}");
    }

    #[test]
    fn a_function_that_nothing_defines_is_an_error_with_its_place() {
        let call = "\t{ // callseq 0, 0\n\tcall.uni (retval0), strlen, (param0);\n\t}\n\tret;\n}\n\t// .globl\t__cuda";
        let declared =
            ".file\t1 \"kernels/src/lib.rs\"\n.extern .func  (.param .b32 r) strlen\n(\n\t.param .b64 a\n)\n;\n";
        let text = REMAINDER
            .replace(".version 6.3\n", &format!(".version 6.3\n{declared}"))
            .replace("\tret;\n}\n\t// .globl\t__cuda", call);
        let error = with_functions(&text).unwrap_err().to_string();
        assert_eq!(
            error,
            "the kernel wrap calls strlen, at kernels/src/lib.rs:6, which nothing defines: a GPU has no such function"
        );
        // The driver provides some.
        with_functions(&text.replace("strlen", "vprintf")).unwrap();
    }
}
