use std::collections::{BTreeMap, BTreeSet};

/// A generic load or store: one without a state space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenericAccess {
    /// The kernel that executes it; if several do, the first by name.
    pub kernel: String,
    /// The line in the PTX, counted from 1.
    pub line: usize,
    /// The instruction with its predicate, without the semicolon.
    pub text: String,
}

/// The generic loads and stores of those kernels that use a shared array, directly or in a function that they call.
///
/// A generic access determines the state space (shared, local or global) from the address at run time, and is slower
/// than an access with a state space. In a kernel with shared arrays it is a sign that the compiler could not infer the
/// space of a pointer into one.
///
/// ```
/// let ptx = ".shared .align 4 .b8 tile[64];
/// .visible .entry sum(.param .u64 sum_param_0)
/// {
///     mov.u64 %rd1, tile;
///     ld.shared.b32 %r1, [%rd1];
///     ld.b32 %r2, [%rd1];
/// }";
/// let accesses = cuda_builder::generic_accesses(ptx);
/// assert_eq!((accesses[0].line, accesses[0].text.as_str()), (6, "ld.b32 %r2, [%rd1]"));
/// assert_eq!(accesses.len(), 1);
/// ```
pub fn generic_accesses(ptx: &str) -> Vec<GenericAccess> {
    let functions = functions_of(ptx);
    let shared = shared_arrays(ptx);
    let mut found = BTreeMap::new();
    for (kernel, _) in functions.iter().filter(|(_, function)| function.is_kernel) {
        let reached = reachable(&functions, kernel);
        let uses_shared = reached.iter().any(|name| !functions[name].words.is_disjoint(&shared));
        if !uses_shared {
            continue;
        }
        for &(line, text) in reached.iter().flat_map(|name| &functions[name].accesses) {
            // An access in a function that several kernels call is reported once.
            let access = GenericAccess { kernel: (*kernel).to_owned(), line, text: text.to_owned() };
            found.entry((line, text)).or_insert(access);
        }
    }
    found.into_values().collect()
}

#[derive(Default)]
struct Function<'a> {
    is_kernel: bool,
    /// All identifiers in its body.
    words: BTreeSet<&'a str>,
    /// The generic loads and stores in its body, each with its line.
    accesses: Vec<(usize, &'a str)>,
}

fn functions_of(ptx: &str) -> BTreeMap<&str, Function<'_>> {
    let mut functions = BTreeMap::new();
    let mut current: Option<(&str, Function)> = None;
    let mut depth = 0;
    for (index, line) in ptx.lines().enumerate() {
        let code = without_comment(line);
        if depth == 0 {
            if let Some((name, is_kernel)) = function_name(code) {
                current = Some((name, Function { is_kernel, ..Function::default() }));
            }
        } else if let Some((_, function)) = &mut current {
            function.words.extend(code.split(|letter: char| !is_name_part(letter)));
            let instructions = code.split(';').map(|text| text.trim_start_matches(['{', '}', ' ', '\t']).trim_end());
            function.accesses.extend(instructions.filter(|text| is_generic_access(text)).map(|text| (index + 1, text)));
        }
        for letter in code.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                // A declaration without a body.
                ';' if depth == 0 => current = None,
                _ => {}
            }
            if letter == '}' && depth == 0 {
                functions.extend(current.take());
            }
        }
    }
    functions
}

fn function_name(code: &str) -> Option<(&str, bool)> {
    let (after, is_kernel) = match (code.split_once(".entry "), code.split_once(".func ")) {
        (Some((_, after)), _) => (after, true),
        (_, Some((_, after))) => (after, false),
        _ => return None,
    };
    // A function's return parameters are in brackets before its name.
    let after = after.trim_start();
    let name = if after.starts_with('(') { after.split_once(')')?.1 } else { after }.trim_start();
    let end = name.find(|letter| !is_name_part(letter)).unwrap_or(name.len());
    Some((&name[..end], is_kernel))
}

/// The names of all arrays in shared memory, static and dynamic.
fn shared_arrays(ptx: &str) -> BTreeSet<&str> {
    let declarations = ptx.lines().map(without_comment).flat_map(|line| line.split(';'));
    let declared = declarations.filter(|text| text.split_whitespace().any(|word| word == ".shared"));
    let names = declared.filter_map(|text| {
        let name = text.split('[').next()?.split('=').next()?.split_whitespace().last()?;
        Some(name.trim_matches(|letter| !is_name_part(letter)))
    });
    names.collect()
}

/// The function and all functions that it calls, directly or indirectly.
fn reachable<'a>(functions: &BTreeMap<&'a str, Function<'a>>, start: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::from([start]);
    let mut pending = vec![start];
    while let Some(name) = pending.pop() {
        let called = functions[name].words.iter().filter(|word| functions.contains_key(**word));
        pending.extend(called.filter(|word| reached.insert(**word)));
    }
    reached
}

fn is_generic_access(instruction: &str) -> bool {
    const SPACES: [&str; 5] = ["const", "global", "local", "param", "shared"];
    // A label and a predicate may precede the instruction.
    let instruction = instruction.rsplit(": ").next().unwrap_or_default().trim_start();
    let instruction = match instruction.strip_prefix('@') {
        Some(predicated) => predicated.split_once(char::is_whitespace).map_or("", |(_, after)| after).trim_start(),
        None => instruction,
    };
    let name = instruction.split_whitespace().next().unwrap_or_default();
    let mut parts = name.split('.');
    let is_access = matches!(parts.next(), Some("ld" | "st"));
    let space = |part: &str| SPACES.contains(&part.split("::").next().unwrap_or_default());
    is_access && name.contains('.') && !parts.any(space)
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn is_name_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.8
.shared .align 16 .b8 tile[4096];
.extern .shared .align 16 .b8 dynamic[];
.extern .func outside(.param .b64 p);
.func  (.param .b32 func_retval0) load(
\t.param .b64 load_param_0
)
{
\tld.param.b64 \t%rd1, [load_param_0];
\tld.b32 \t%r1, [%rd1];
\tret;
}
.visible .entry without_shared(
\t.param .u64 without_shared_param_0
)
{
\tld.b32 \t%r1, [%rd1]; // tile
\tst.v4.b32 \t[%rd1], {%r1, %r2, %r3, %r4};
\tret;
}
.visible .entry with_tile(
\t.param .u64 with_tile_param_0
)
.maxntid 256, 1, 1
{
\t.reg .b32 \t%r<4>;
\t// begin inline asm
\tmov.u64 %rd2, tile; cvta.shared.u64 %rd2, %rd2;
\t// end inline asm
$L__BB1_2:
\tld.global.nc.b32 \t%r1, [%rd1];
\tst.shared::cta.b32 \t[%rd2], %r1;
\t@%p1 st.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4};
\t{ // callseq 0, 0
\tst.param.b64 \t[param0], %rd2;
\tcall.uni (retval0), load, (param0);
\t} // callseq 0
\tld.volatile.b32 %r3, [%rd2]; ld.local.b32 %r4, [%rd3];
\tret;
}
.visible .entry with_dynamic()
{
\tmov.u64 %rd2, dynamic;
\tcall.uni load, (param0);
\tret;
}
";

    #[test]
    fn generic_accesses_are_found_in_kernels_that_use_shared_arrays() {
        let found = generic_accesses(PTX);
        let lines: Vec<_> = found.iter().map(|access| (access.kernel.as_str(), access.line)).collect();
        assert_eq!(lines, [("with_dynamic", 10), ("with_tile", 33), ("with_tile", 38)]);
        assert_eq!(found[0].text, "ld.b32 \t%r1, [%rd1]");
        assert_eq!(found[1].text, "@%p1 st.v4.b32 \t[%rd2], {%r1, %r2, %r3, %r4}");
    }

    #[test]
    fn without_shared_arrays_nothing_is_found() {
        let start = PTX.find(".visible .entry with_tile").unwrap();
        assert_eq!(generic_accesses(&PTX[..start]), []);
        assert_eq!(generic_accesses(""), []);
    }
}
