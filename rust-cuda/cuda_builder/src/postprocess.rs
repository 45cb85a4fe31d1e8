//! Postprocesses the compiler's PTX: LF line endings, exact remainders, source lines, names that do
//! not depend on the build, launch bounds, the last barrier of a cluster, and the first
//! instructions of dependent launches.

use crate::BuilderError;
use crate::debug_information;
use crate::functions::with_functions;
use crate::messages::with_messages;
use crate::panics::with_panics;
use crate::remainders::with_exact_remainders;
use crate::source_lines::with_source_lines;
use crate::source_names::SourceNames;

/// A kernel's launch bounds, like CUDA's `__launch_bounds__(max_threads, min_blocks)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchBounds {
    pub(crate) kernel: String,
    pub(crate) max_threads: u32,
    pub(crate) min_blocks: u32,
}

/// A kernel's cluster size, like CUDA's `__cluster_dims__(blocks)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) kernel: String,
    pub(crate) blocks: u32,
}

impl LaunchBounds {
    fn check(&self) -> Result<(), BuilderError> {
        match self.max_threads {
            1..=1024 => Ok(()),
            max_threads => Err(BuilderError::LaunchBounds { kernel: self.kernel.clone(), max_threads }),
        }
    }

    fn directives(&self) -> String {
        let min_blocks =
            if self.min_blocks == 0 { String::new() } else { format!("\n.minnctapersm {}", self.min_blocks) };
        format!("\n.maxntid {}, 1, 1{min_blocks}", self.max_threads)
    }
}

/// The part of the compiler's output that is committed.
pub(crate) struct Postprocessed {
    /// The PTX, except the header.
    pub(crate) ptx: String,
    /// The debug names ([`debug_information`]).
    pub(crate) debug: String,
}

/// Converts the compiler's output to the files that are committed. `ir` is the LLVM IR, if the text
/// may have float remainders.
pub(crate) fn postprocess(
    text: &str,
    ir: Option<&str>,
    names: &SourceNames,
    bounds: &[LaunchBounds],
    clusters: &[Cluster],
    dependent: &[String],
) -> Result<Postprocessed, BuilderError> {
    let raw = text.replace("\r\n", "\n");
    let name_of_file = |path: &str| names.stable(path);
    let exact = ir.map(|ir| with_exact_remainders(&raw, ir, &name_of_file)).transpose()?;
    let panicking = with_panics(exact.as_ref().unwrap_or(&raw), names);
    let functions = with_functions(&with_shared_arrays(&panicking), &name_of_file)?;
    let mut marked = with_source_lines(&functions, names);
    let mut text = with_messages(&with_stable_names(&marked.text), &name_of_file);
    for bounds in bounds {
        bounds.check()?;
        text = with_directives(&text, &bounds.kernel, &bounds.directives())?;
    }
    for Cluster { kernel, blocks } in clusters {
        text = with_directives(&text, kernel, &format!("\n.reqnctapercluster {blocks}, 1, 1"))?;
    }
    for kernel in dependent {
        text = with_dependent_launch(&text, kernel)?;
    }
    marked.text = with_last_cluster_barriers(&text);
    let traced = marked.trace();
    let debug = debug_information::contents(&raw, &traced);
    Ok(Postprocessed { ptx: traced.text, debug })
}

/// Moves the variables of `shared_array!` to shared memory. The macro declares them as statics,
/// which allows lengths that depend on constants of the function. Rust has no state space for
/// statics.
fn with_shared_arrays(text: &str) -> String {
    if !text.contains(SHARED_ARRAY) {
        return text.to_owned();
    }
    let moved = |line: &str| {
        let declared = line.strip_prefix(".visible .global ").filter(|rest| rest.contains(SHARED_ARRAY))?;
        // Shared memory has no initial values.
        let (name, _) = declared.split_once(']')?;
        Some(format!(".shared {name}];\n"))
    };
    text.split_inclusive('\n').map(|line| moved(line).unwrap_or_else(|| line.to_owned())).collect()
}

/// Prefix of the names that `shared_array!` gives its statics.
const SHARED_ARRAY: &str = "__shared_";

/// Inserts the directives between the kernel's parameters and its body, where PTX requires them.
fn with_directives(text: &str, kernel: &str, directives: &str) -> Result<String, BuilderError> {
    let (before, after) = text.split_at(end_of_parameters(text, kernel)?);
    Ok(format!("{before}{directives}{after}"))
}

/// The first instructions of a kernel that may start before the previous launch has finished.
const DEPENDENT_LAUNCH: &str = "\tgriddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;\n";

/// Inserts [`DEPENDENT_LAUNCH`] after the declarations in the kernel's body.
fn with_dependent_launch(text: &str, kernel: &str) -> Result<String, BuilderError> {
    let parameters = end_of_parameters(text, kernel)?;
    let body = text[parameters..].find("{\n").map_or(text.len(), |brace| parameters + brace + 2);
    let is_declaration = |line: &&str| {
        let code = line.trim_start();
        [".reg ", ".local ", ".shared "].iter().any(|directive| code.starts_with(directive))
    };
    let declarations: usize = text[body..].split_inclusive('\n').take_while(is_declaration).map(str::len).sum();
    let (before, after) = text.split_at(body + declarations);
    Ok(format!("{before}{DEPENDENT_LAUNCH}{after}"))
}

/// The end of the kernel's parameters.
fn end_of_parameters(text: &str, kernel: &str) -> Result<usize, BuilderError> {
    let after_name = |(start, _): (usize, &str)| {
        let name = &text[start + ENTRY.len()..];
        let rest = name.strip_prefix(kernel)?.trim_start();
        rest.starts_with('(').then_some(text.len() - rest.len())
    };
    let parameters = text.match_indices(ENTRY).find_map(after_name);
    let end = parameters.and_then(|start| Some(start + text[start..].find(')')? + 1));
    end.ok_or_else(|| BuilderError::UnknownKernel { kernel: kernel.to_owned(), kernels: kernels_of(text) })
}

const ENTRY: &str = ".entry ";

/// The instruction that maps an address to another block's shared memory in the cluster.
const MAP: &str = "mapa.";

/// The barrier and the end of an entry that maps other blocks' shared memory. It is not `.aligned`,
/// since the threads of a warp may arrive from different places.
const LAST_BARRIER: &str = "\tbarrier.cluster.arrive;\n\tbarrier.cluster.wait;\n\tret;\n";

/// Makes the threads of an entry that maps other blocks' shared memory wait for the whole cluster
/// before they exit. In PTX, an access to the shared memory of an exited block is undefined, so no
/// block may exit before the last accesses of the others. An entry that returns at several places
/// gets a single end for all of them, where a warp's threads reconverge.
fn with_last_cluster_barriers(text: &str) -> String {
    if !text.contains(MAP) {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let end_of = |start: usize| lines[start..].iter().position(|&line| line == "}").map_or(lines.len(), |n| start + n);
    let maps = |start: usize| lines[start..end_of(start)].iter().any(|line| line.contains(MAP));
    let is_function = |line: &str| !line.contains(ENTRY) && line.contains(".func ");
    let called_maps = (0..lines.len()).any(|index| is_function(lines[index]) && maps(index));
    let mut result = String::with_capacity(text.len() + 100);
    // The end of the entry that waits, its number, and whether its only return is at its end.
    let mut waiting: Option<(usize, usize, bool)> = None;
    let mut entries = 0;
    for (index, &line) in lines.iter().enumerate() {
        if line.contains(ENTRY) {
            let body = &lines[index..end_of(index)];
            let calls = || body.iter().any(|line| line.trim_start().starts_with("call"));
            if maps(index) || called_maps && calls() {
                entries += 1;
                let returns: Vec<&str> =
                    body.iter().map(|line| line.trim()).filter(|line| line.ends_with("ret;")).collect();
                waiting = Some((end_of(index), entries, returns == ["ret;"]));
            }
        }
        match waiting {
            Some((_, _, true)) if line.trim() == "ret;" => result.push_str(LAST_BARRIER),
            Some((end, number, false)) if index == end => {
                result.push_str(&format!("$L__last_cluster_barrier_{number}:\n{LAST_BARRIER}{line}\n"));
            }
            Some((_, number, false)) if line.trim().ends_with("ret;") => {
                let guard = line.trim().trim_end_matches("ret;");
                result.push_str(&format!("\t{guard}bra $L__last_cluster_barrier_{number};\n"));
            }
            _ => result.push_str(&format!("{line}\n")),
        }
        waiting = waiting.filter(|(end, ..)| *end != index);
    }
    result
}

fn kernels_of(text: &str) -> Vec<String> {
    let names = text.match_indices(ENTRY).map(|(start, _)| text[start + ENTRY.len()..].split('(').next());
    names.flatten().map(|name| name.trim().to_owned()).collect()
}

/// Makes generated names depend only on the kernels. A name's hash also depends on the compiler and
/// the crate's version. Without it, the same kernels compile to the same text everywhere.
///
/// - Crate disambiguators are removed from mangled names: `_RNvCsfM6ixFXcHuo_4core…` becomes
///   `_RNvC4core…` ([RFC
///   2603](https://rust-lang.github.io/rfcs/2603-rust-symbol-name-mangling-v0.html)). If the
///   kernels link two crates of the same name, ptxas reports a duplicate definition.
/// - Anonymous constants, `anon_$_HASH_$_0`, are numbered in order of appearance.
fn with_stable_names(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    let mut constants = Vec::new();
    let mut stable = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, from_name) = rest.split_at(start);
        let (name, after) = from_name.split_at(from_name.find(|letter| !is_part(letter)).unwrap_or(from_name.len()));
        stable.push_str(before);
        if name.starts_with("_R") {
            shorten_name(name, &mut stable);
        } else if name.starts_with("anon_$_") {
            let known = constants.iter().position(|&constant| constant == name);
            let number = known.unwrap_or_else(|| {
                constants.push(name);
                constants.len() - 1
            });
            stable.push_str(&format!("anon_$_{number}"));
        } else {
            stable.push_str(name);
        }
        rest = after;
    }
    stable.push_str(rest);
    stable
}

fn shorten_name(name: &str, shortened: &mut String) {
    let mut rest = name;
    while let Some(start) = rest.find("Cs") {
        let (before, from_hash) = rest.split_at(start + 1);
        shortened.push_str(before);
        let hash = from_hash.find('_').filter(|&end| from_hash[..end].chars().all(|c| c.is_ascii_alphanumeric()));
        // A crate's disambiguator is followed by the length of its name.
        let after =
            hash.map(|end| &from_hash[end + 1..]).filter(|after| after.starts_with(|c: char| c.is_ascii_digit()));
        rest = after.unwrap_or(from_hash);
    }
    shortened.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.visible .entry scale_all(
\t.param .u64 .ptr .align 1 scale_all_param_0
)
{
\tret;
}
.visible .entry scale(
\t.param .u64 .ptr .align 1 scale_param_0,
\t.param .u64 scale_param_1
)
{
\tret;
}
.visible .entry nothing()
{
\tret;
}
";

    fn names() -> SourceNames {
        SourceNames::for_tests("/checkout", &[("/checkout/kernels", "kernels")])
    }

    fn postprocess(
        text: &str,
        names: &SourceNames,
        bounds: &[LaunchBounds],
        clusters: &[Cluster],
    ) -> Result<String, BuilderError> {
        super::postprocess(text, None, names, bounds, clusters, &[]).map(|processed| processed.ptx)
    }

    fn bounds(kernel: &str, max_threads: u32, min_blocks: u32) -> LaunchBounds {
        LaunchBounds { kernel: kernel.to_owned(), max_threads, min_blocks }
    }

    #[test]
    fn launch_bounds_follow_the_parameters_of_their_kernel() {
        let text = postprocess(PTX, &names(), &[bounds("scale", 256, 2), bounds("nothing", 1024, 0)], &[]).unwrap();
        assert!(text.contains("scale_param_1\n)\n.maxntid 256, 1, 1\n.minnctapersm 2\n{"));
        assert!(text.contains(".entry nothing()\n.maxntid 1024, 1, 1\n{"));
        let clusters = [Cluster { kernel: "scale".to_owned(), blocks: 16 }];
        let text = postprocess(PTX, &names(), &[bounds("scale", 256, 1)], &clusters).unwrap();
        assert!(text.contains("\n)\n.reqnctapercluster 16, 1, 1\n.maxntid 256, 1, 1\n.minnctapersm 1\n{"));
        assert!(text.contains("scale_all_param_0\n)\n{"));
    }

    #[test]
    fn a_dependent_launch_waits_behind_the_declarations_of_its_kernel() {
        let declared =
            PTX.replace("scale_param_1\n)\n{\n", "scale_param_1\n)\n{\n\t.reg .b32 \t%r<3>;\n\t.local .b8 a[4];\n\n");
        for (ptx, before) in [(PTX, "{\n"), (&declared, "\t.local .b8 a[4];\n")] {
            let text = with_dependent_launch(ptx, "scale").unwrap();
            assert!(text.contains(&format!("{before}\tgriddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;\n")));
            assert_eq!((text.matches("griddepcontrol").count(), text.len()), (2, ptx.len() + DEPENDENT_LAUNCH.len()));
            assert!(text.starts_with(&ptx[..ptx.find("scale_param_1").unwrap()]));
        }
        let error = with_dependent_launch(PTX, "scal").unwrap_err();
        assert!(matches!(error, BuilderError::UnknownKernel { .. }), "{error}");
    }

    #[test]
    fn bounds_for_an_unknown_kernel_or_outside_cudas_limits_are_errors() {
        let error = postprocess(PTX, &names(), &[bounds("scal", 256, 0)], &[]).unwrap_err().to_string();
        assert_eq!(error, "launch bounds for the kernel \"scal\": no such kernel; there are scale_all, scale, nothing");
        for threads in [0, 1025] {
            let error = postprocess(PTX, &names(), &[bounds("scale", threads, 0)], &[]).unwrap_err();
            assert!(matches!(error, BuilderError::LaunchBounds { max_threads, .. } if max_threads == threads));
        }
    }

    #[test]
    fn a_kernel_that_maps_other_blocks_memory_waits_for_them_at_its_end() {
        let text = "\
.func helper()
{
\tmapa.shared::cluster.u32 %r1, %r1, %r2;
\tret;
}
.visible .entry maps()
{
\t@%p1 ret;
\tmapa.shared::cluster.u32 %r1, %r1, %r2;
\tret;
}
.visible .entry calls()
{
\tcall.uni helper, ();
\tret;
$L__BB1_2:
\ttrap;
}
.visible .entry other()
{
\tret;
}
";
        let expected = "\
.func helper()
{
\tmapa.shared::cluster.u32 %r1, %r1, %r2;
\tret;
}
.visible .entry maps()
{
\t@%p1 bra $L__last_cluster_barrier_1;
\tmapa.shared::cluster.u32 %r1, %r1, %r2;
\tbra $L__last_cluster_barrier_1;
$L__last_cluster_barrier_1:
\tbarrier.cluster.arrive;
\tbarrier.cluster.wait;
\tret;
}
.visible .entry calls()
{
\tcall.uni helper, ();
\tbarrier.cluster.arrive;
\tbarrier.cluster.wait;
\tret;
$L__BB1_2:
\ttrap;
}
.visible .entry other()
{
\tret;
}
";
        assert_eq!(with_last_cluster_barriers(text), expected);
        assert_eq!(with_last_cluster_barriers(PTX), PTX);
    }

    #[test]
    fn crate_disambiguators_are_removed_from_names() {
        let text = ".func _RNvCsfM6ixFXcHuo_12tiny_kernels5twice(\n\
                    call _RINvNtCs1a_4core3ptr4Csum3abcE, (p);\n\
                    .b8 anon_Csx_4core; .b8 my_RCsx_4core; Cs5_4x";
        let expected = ".func _RNvC12tiny_kernels5twice(\n\
                        call _RINvNtC4core3ptr4Csum3abcE, (p);\n\
                        .b8 anon_Csx_4core; .b8 my_RCsx_4core; Cs5_4x";
        assert_eq!(with_stable_names(text), expected);
    }

    #[test]
    fn constants_are_numbered_in_order_of_appearance() {
        let text = ".b8 anon_$_af0a_$_1[4]; .b8 anon_$_af0a_$_0[4]; ld [anon_$_af0a_$_1+2];";
        assert_eq!(with_stable_names(text), ".b8 anon_$_0[4]; .b8 anon_$_1[4]; ld [anon_$_0+2];");
    }
}
