use std::collections::{BTreeMap, BTreeSet};

use crate::ptx_items::{Item, Kind, is_in_identifier, items, mentions, reached_from};

/// A generic load or store, which names no state space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenericAccess {
    /// The kernel that executes it; if there are several, the first by name.
    pub kernel: String,
    /// The line in the PTX, counted from 1.
    pub line: usize,
    /// The instruction with its predicate, without the semicolon.
    pub text: String,
}

/// The generic loads and stores in kernels that use a shared array, directly or in a function that
/// they call.
///
/// A generic access determines the state space (shared, local or global) from the address at run
/// time, and is slower than an access with a state space. In a kernel with shared arrays it shows
/// that the compiler could not infer the state space of a pointer into such an array.
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
    let items = items(ptx);
    let (mentions, shared) = (mentions(&items), shared_arrays(ptx));
    let bodies: BTreeMap<&str, Body<'_>> = bodies(ptx, &items);
    let mut found = BTreeMap::new();
    let mut kernels: Vec<&str> =
        items.iter().filter(|item| item.kind == Kind::Entry).filter_map(|item| item.function).collect();
    kernels.sort_unstable();
    for kernel in kernels {
        let reached: Vec<&Body<'_>> =
            reached_from([kernel], &mentions).iter().filter_map(|name| bodies.get(name)).collect();
        if reached.iter().all(|body| body.words.is_disjoint(&shared)) {
            continue;
        }
        for &(line, text) in reached.iter().flat_map(|body| &body.accesses) {
            // An access in a function called by several kernels is reported once.
            let access = GenericAccess { kernel: kernel.to_owned(), line, text: text.to_owned() };
            found.entry((line, text)).or_insert(access);
        }
    }
    found.into_values().collect()
}

/// The body of a function.
struct Body<'a> {
    words: BTreeSet<&'a str>,
    /// The generic loads and stores, each with its line.
    accesses: Vec<(usize, &'a str)>,
}

fn bodies<'a>(ptx: &'a str, items: &[Item<'a>]) -> BTreeMap<&'a str, Body<'a>> {
    let mut bodies = BTreeMap::new();
    let mut first_line = 1;
    for item in items {
        if let (Kind::Entry | Kind::Definition, Some(name)) = (item.kind, item.function) {
            let mut accesses = Vec::new();
            for (index, line) in item.text.lines().enumerate() {
                let instructions = without_comment(line).split(';');
                let instructions = instructions.map(|text| text.trim_start_matches(['{', '}', ' ', '\t']).trim_end());
                accesses
                    .extend(instructions.filter(|text| is_generic_access(text)).map(|text| (first_line + index, text)));
            }
            bodies.insert(name, Body { words: item.words().collect(), accesses });
        }
        first_line += item.text.matches('\n').count();
    }
    debug_assert_eq!(first_line, 1 + ptx.matches('\n').count());
    bodies
}

/// The names of all shared memory arrays, static and dynamic.
fn shared_arrays(ptx: &str) -> BTreeSet<&str> {
    let declarations = ptx.lines().map(without_comment).flat_map(|line| line.split(';'));
    let declared = declarations.filter(|text| text.split_whitespace().any(|word| word == ".shared"));
    let names = declared.filter_map(|text| {
        let name = text.split('[').next()?.split('=').next()?.split_whitespace().last()?;
        Some(name.trim_matches(|letter| !is_in_identifier(letter)))
    });
    names.collect()
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
