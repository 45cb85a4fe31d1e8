//! Functions in the compiler's PTX. Functions that no kernel reaches are removed. A call to an
//! undefined function is an error, since a driver would reject the module with all its kernels.

use std::collections::{BTreeMap, BTreeSet};

use crate::BuilderError;
use crate::ptx_items::{Item, Kind, is_in_identifier, items, reached_from};

/// Functions provided by the driver, which kernels may call without a definition.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// The text without the functions and private variables that no kernel reaches. `name_of_file`
/// names a source file in errors.
///
/// # Errors
/// [`BuilderError::Unresolved`] if a kernel reaches an undefined function.
pub(crate) fn with_functions(text: &str, name_of_file: &dyn Fn(&str) -> String) -> Result<String, BuilderError> {
    let items = items(text);
    let reached = reached(&items);
    check_resolved(&items, &reached, text, name_of_file)?;
    let mut result = String::with_capacity(text.len());
    for item in &items {
        match item.function {
            Some(name) if reached.contains(name) => result.push_str(item.text),
            Some(_) => {}
            None => {
                let is_kept = |line: &&str| private_variable(line).is_none_or(|name| reached.contains(name));
                result.extend(item.text.split_inclusive('\n').filter(is_kept));
            }
        }
    }
    Ok(result)
}

/// The name of the private variable that a line declares.
fn private_variable(line: &str) -> Option<&str> {
    let declared = line.strip_prefix(".global ")?.split(['=', '[', ';']).next()?;
    declared.split_whitespace().next_back()
}

/// The functions and private variables that entries and other variables mention, directly or
/// indirectly.
fn reached<'a>(items: &[Item<'a>]) -> BTreeSet<&'a str> {
    let between = || {
        items
            .iter()
            .filter(|item| item.kind == Kind::Other)
            .flat_map(|item| item.text.lines().map(|line| Item { text: line, ..*item }))
    };
    let variables = between().filter_map(|line| Some((private_variable(line.text)?, line)));
    let functions = items.iter().filter_map(|item| Some((item.function?, *item)));
    // Words that are not declared here mention nothing, and no item has such a name.
    let mut mentions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, item) in functions.chain(variables) {
        mentions.entry(name).or_default().extend(item.words());
    }
    let entries = items.iter().filter(|item| item.kind == Kind::Entry).filter_map(|item| item.function);
    // Debug information also names variables, in lines of its sections.
    let is_of_section = |line: &str| line.starts_with(".b8") || line.starts_with(".b32") || line.starts_with(".b64");
    let is_other = |line: &Item<'_>| private_variable(line.text).is_none() && !is_of_section(line.text);
    let others = between().filter(is_other).flat_map(Item::words);
    reached_from(entries.chain(others), &mentions)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn with_functions(text: &str) -> Result<String, BuilderError> {
        super::with_functions(text, &str::to_owned)
    }

    const KERNEL: &str = "\
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
\tst.global.b32 \t[%rd2], %r5;
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
    fn inline_assembly_is_part_of_the_body() {
        let assembly = "\t// begin inline asm\nmov.u64 %rd1, __shared_1;\n\t// end inline asm\n\tst";
        let text = with_functions(&KERNEL.replace("\tst", assembly)).unwrap();
        assert!(text.contains(assembly), "{text}");
    }

    #[test]
    fn functions_that_no_kernel_reaches_are_left_out() {
        let kept = with_functions(KERNEL).unwrap();
        assert!(!kept.contains("fmod") && kept.contains(".entry wrap("), "{kept}");
        assert!(kept.ends_with("\tret;\n}\n"), "{kept}");
    }

    #[test]
    fn private_variables_that_no_kernel_reaches_are_left_out() {
        let variables = "\
.global .align 8 .u64 vtable_$_1[2] = {0, __cuda_std_fmodf};
.global .align 8 .u64 table[2] = {1, inner};
.global .align 4 .u32 inner;
.visible .global .align 8 .u64 shown[1] = {0};
.section .debug_info
{
.b64 vtable_$_1
}
";
        let text = KERNEL.replace(".version 6.3\n", &format!(".version 6.3\n{variables}"));
        let text = text.replace("\tld.global.b32 \t%r5, [%rd1];", "\tld.global.b32 \t%r5, [table];");
        let kept = with_functions(&text).unwrap();
        assert!(!kept.contains("u64 vtable") && !kept.contains("fmodf"), "{kept}");
        assert!(kept.contains("table[2]") && kept.contains(".u32 inner;") && kept.contains("shown[1]"), "{kept}");
    }

    #[test]
    fn a_function_that_nothing_defines_is_an_error_with_its_place() {
        let call = "\t{ // callseq 0, 0\n\tcall.uni (retval0), strlen, (param0);\n\t}\n\tret;\n}\n\t// .globl\t__cuda";
        let declared =
            ".file\t1 \"kernels/src/lib.rs\"\n.extern .func  (.param .b32 r) strlen\n(\n\t.param .b64 a\n)\n;\n";
        let text = KERNEL
            .replace(".version 6.3\n", &format!(".version 6.3\n{declared}"))
            .replace("\tret;\n}\n\t// .globl\t__cuda", call);
        let error = with_functions(&text).unwrap_err().to_string();
        assert_eq!(
            error,
            "the kernel wrap calls strlen, at kernels/src/lib.rs:6, which nothing defines: a GPU has no such function"
        );
        // The driver provides some functions.
        with_functions(&text.replace("strlen", "vprintf")).unwrap();
    }
}
