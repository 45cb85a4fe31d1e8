//! Chooses the PTX variant that a device loads, and parses the properties of each entry in its
//! text.

use cuda_launch::message::BUFFER;
use std::ops::Range;

use cuda_driver::DriverVersion;
use cuda_std::{PtxVariant, signature};

use crate::OpenError;

/// Checks that the variant was compiled from the current kernels.
///
/// # Errors
/// If it is stale.
pub(crate) fn require_fresh(variant: &PtxVariant) -> Result<(), OpenError> {
    variant.staleness().map_or(Ok(()), |reason| Err(OpenError::StalePtx { reason }))
}

/// The variant for a device of this compute capability: the highest at or below it that the driver
/// can read. If the driver can read none, it is the highest at or below it, and loading it fails
/// with the driver's reason.
pub(crate) fn choose(
    variants: &'static [PtxVariant],
    device: (u32, u32),
    driver: DriverVersion,
) -> Option<&'static PtxVariant> {
    let suitable = variants.iter().filter(|variant| variant.compute_capability() <= device);
    suitable.max_by_key(|variant| (needed_driver(variant.text()) <= Some(driver), variant.compute_capability()))
}

/// The oldest driver that can read the text. From PTX ISA 7.0 (CUDA 11.0) to 8.4 (CUDA 12.4) both
/// have the same minor versions (PTX ISA, table "PTX release history"). Later minor versions of PTX
/// are at most CUDA's.
fn needed_driver(text: &str) -> Option<DriverVersion> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".version"))?;
    let (major, minor) = line.trim().split_once('.')?;
    Some(DriverVersion { major: major.parse::<u32>().ok()? + 4, minor: minor.parse().ok()? })
}

/// PTX text that can be loaded kernel by kernel.
#[derive(Debug)]
pub(crate) struct Kernels<'a> {
    text: &'a str,
    /// The name of each entry and its lines without line feeds; empty if entries cannot be
    /// separated.
    entries: Vec<(&'a str, Range<usize>)>,
}

impl<'a> Kernels<'a> {
    /// Separates the entries of `text`. It does not if the text has a variable in global memory,
    /// which entries may share: each module would have its own. Nor does it separate text that is
    /// not laid out like a compiler's output, with one directive per line.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, entries: separate_entries(text).unwrap_or_default() }
    }

    /// The name of the entry with the fewest lines; None if entries cannot be separated.
    pub(crate) fn shortest(&self) -> Option<&'a str> {
        self.entries.iter().min_by_key(|(_, lines)| lines.len()).map(|(name, _)| *name)
    }

    /// Whether the entry of `kernel` calls functions, such as those for messages and panics; true
    /// if entries cannot be separated.
    pub(crate) fn calls(&self, kernel: &str) -> bool {
        let Some((_, lines)) = self.entries.iter().find(|(name, _)| *name == kernel) else { return true };
        self.text.lines().skip(lines.start).take(lines.len()).any(|line| line.contains("call"))
    }

    /// The text of a module with `kernel` as its only entry, without comments. Omitted lines are
    /// left empty to preserve the line numbers.
    pub(crate) fn module_of(&self, kernel: &str) -> Option<String> {
        self.entries.iter().find(|(name, _)| *name == kernel)?;
        let mut others = self.entries.iter().filter(|(name, _)| *name != kernel).map(|(_, lines)| lines).peekable();
        let mut module = String::with_capacity(self.text.len() / 4);
        for (index, line) in self.text.lines().enumerate() {
            while others.next_if(|lines| lines.end <= index).is_some() {}
            if !line.starts_with("//") && others.peek().is_none_or(|lines| !lines.contains(&index)) {
                module.push_str(line);
            }
            module.push('\n');
        }
        Some(module)
    }
}

/// The line ranges of the entries; None if they cannot be separated.
fn separate_entries(text: &str) -> Option<Vec<(&str, Range<usize>)>> {
    let mut entries = Vec::new();
    // The current entry: its name, its first line, whether its body has begun, and the number of
    // open braces.
    let mut open: Option<(&str, usize, bool)> = None;
    let mut depth = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        if code.contains("/*") {
            return None;
        }
        if open.is_none() && depth == 0 {
            let declaration = [".visible ", ".weak ", ".common ", ".extern "]
                .iter()
                .fold(code.trim_start(), |rest, linkage| rest.strip_prefix(linkage).unwrap_or(rest).trim_start());
            // The device sets this variable in each module to the address of its single message
            // buffer.
            let is_shared = !declaration.contains("__signature[") && !declaration.contains(BUFFER);
            if declaration.starts_with(".global") && is_shared {
                return None;
            }
            if let Some(rest) = declaration.strip_prefix(".entry ") {
                let name = &rest[..rest.find(|next| !is_part_of_name(next)).unwrap_or(rest.len())];
                open = Some((name, index, false));
            }
        }
        for letter in code.bytes() {
            match letter {
                b'{' => depth += 1,
                b'}' => depth = depth.checked_sub(1)?,
                _ => {}
            }
        }
        if let Some((name, first, has_body)) = &mut open {
            *has_body |= code.contains('{');
            if *has_body && depth == 0 {
                entries.push((*name, *first..index + 1));
                open = None;
            }
        }
    }
    (open.is_none() && depth == 0).then_some(entries)
}

/// The properties of a `.entry` in PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The types of its parameters ([`cuda_std::signature`]); empty if the text has no signature.
    pub(crate) signature: Vec<u8>,
    /// The number of its parameters, where a buffer counts as two.
    pub(crate) parameters: usize,
    /// Whether it reaches a grid-wide barrier, which requires a cooperative launch.
    pub(crate) has_grid_barrier: bool,
    /// Blocks per cluster that it was compiled for; 1 without clusters.
    pub(crate) cluster: u32,
    /// Whether its launch may start before the previous launch has finished; the kernel then waits
    /// for it.
    pub(crate) is_dependent: bool,
}

/// The instructions with which a kernel waits for the previous launch before it accesses any memory
/// (`CudaBuilder::dependent_launch`).
const DEPENDENT_LAUNCH: &str = "griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;\n";

/// The comment that `grid::sync` leaves in the text.
const GRID_BARRIER: &str = "// grid barrier";

impl Entry {
    /// The entry `kernel` of `text`, if there is one.
    pub(crate) fn find(text: &str, kernel: &str) -> Option<Self> {
        let functions = functions(text);
        let entry = functions.iter().find(|function| function.is_entry && function.name == kernel)?;
        Some(Self {
            signature: signature_of(text, kernel),
            parameters: entry.body.split('{').next().unwrap_or_default().matches(".param ").count(),
            has_grid_barrier: reaches_grid_barrier(entry, &functions),
            cluster: cluster_of(entry),
            is_dependent: entry.body.contains(DEPENDENT_LAUNCH),
        })
    }
}

/// A `.entry` or `.func` in PTX text.
struct PtxFunction<'a> {
    name: &'a str,
    is_entry: bool,
    /// The text from its name to the next function.
    body: &'a str,
}

fn functions(text: &str) -> Vec<PtxFunction<'_>> {
    let directives = [(".entry ", true), (".func ", false)];
    let mut starts: Vec<(usize, bool)> = directives
        .iter()
        .flat_map(|&(directive, is_entry)| {
            text.match_indices(directive).map(move |(start, _)| (start + directive.len(), is_entry))
        })
        .collect();
    starts.sort_unstable();
    let ends = starts.iter().skip(1).map(|&(start, _)| start).chain([text.len()]);
    let function = |(&(start, is_entry), end): (&(usize, bool), usize)| {
        let mut body = &text[start..end];
        // A function may have its result in front of its name: (.param .b32 result) name(…).
        if !is_entry && body.trim_start().starts_with('(') {
            body = body.split_once(')').map_or("", |(_, rest)| rest);
        }
        let body = body.trim_start();
        let name = &body[..body.find(|next| !is_part_of_name(next)).unwrap_or(body.len())];
        PtxFunction { name, is_entry, body: &body[name.len()..] }
    };
    starts.iter().zip(ends).map(function).collect()
}

fn is_part_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '$'
}

/// Number of blocks in the entry's clusters: `.reqnctapercluster 16, 1, 1`.
fn cluster_of(entry: &PtxFunction<'_>) -> u32 {
    let directives = entry.body.split_once('{').map_or("", |(directives, _)| directives);
    let size = directives.split_once(".reqnctapercluster").map_or("", |(_, size)| size.trim_start());
    let digits = &size[..size.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(size.len())];
    digits.parse().unwrap_or(1)
}

/// Whether the entry, or a function that it calls directly or indirectly, has a grid-wide barrier.
fn reaches_grid_barrier<'a>(entry: &'a PtxFunction<'a>, functions: &'a [PtxFunction<'a>]) -> bool {
    let mut reached = vec![entry];
    let mut next = 0;
    while let Some(&function) = reached.get(next) {
        next += 1;
        if function.body.contains(GRID_BARRIER) {
            return true;
        }
        // Compilers inline most functions, so few are left to search.
        for other in functions.iter().filter(|other| !other.is_entry) {
            let is_new = reached.iter().all(|known| known.name != other.name);
            if is_new && function.body.split(|letter| !is_part_of_name(letter)).any(|name| name == other.name) {
                reached.push(other);
            }
        }
    }
    false
}

/// The bytes of the constant `NAME__signature`: `.b8 NAME__signature[4] = {40, 114, 105, 41};`.
fn signature_of(text: &str, kernel: &str) -> Vec<u8> {
    let name = format!(" {kernel}__signature[");
    let found = text.split_once(&name).and_then(|(_, rest)| rest.split_once('{')?.1.split_once('}'));
    let values = found.map_or("", |(values, _)| values).split(',');
    let mut bytes: Vec<u8> = values.map_while(|value| value.trim().parse().ok()).collect();
    // Zeros may follow the end marker. Without the marker it is not a signature.
    let end = bytes.iter().position(|&byte| byte == signature::END);
    bytes.truncate(end.map_or(0, |end| end + 1));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn variant(major: u32, minor: u32, text: &'static str) -> PtxVariant {
        // SAFETY: no code is launched.
        #[allow(unsafe_code)]
        unsafe {
            PtxVariant::new((major, minor), text)
        }
    }

    static VARIANTS: &[PtxVariant] = &[
        variant(9, 0, "// kernels\n.version 8.1\n"),
        variant(7, 5, ".version 7.0"),
        variant(8, 6, ".version 7.1"),
        variant(10, 0, ".version 8.6"),
    ];

    #[test]
    fn chooses_the_highest_variant_that_the_device_can_run_and_the_driver_can_read() {
        let by = |device, (major, minor)| {
            choose(VARIANTS, device, DriverVersion { major, minor }).map(|variant| variant.compute_capability())
        };
        let chosen = |device| by(device, (13, 0));
        assert_eq!(chosen((7, 0)), None);
        assert_eq!(chosen((7, 5)), Some((7, 5)));
        assert_eq!(chosen((8, 0)), Some((7, 5)));
        assert_eq!(chosen((8, 9)), Some((8, 6)));
        assert_eq!(chosen((9, 0)), Some((9, 0)));
        assert_eq!(chosen((12, 1)), Some((10, 0)));
        assert_eq!(by((9, 0), (12, 1)), Some((9, 0)));
        assert_eq!(by((9, 0), (12, 0)), Some((8, 6)));
        assert_eq!(by((12, 1), (11, 0)), Some((7, 5)));
        // The driver's own error explains the rejection.
        assert_eq!(by((9, 0), (10, 2)), Some((9, 0)));
        assert_eq!(choose(&[], (12, 1), DriverVersion { major: 13, minor: 0 }), None);
    }

    const TEXT: &str = "\
.visible .global .align 1 .b8 scale__signature[6] = {40, 119, 102, 115, 102, 41};
.func (.param .b32 result) waits(.param .b32 x) { // grid barrier
ret; }
.func calls_it() { call (result), waits, (x); }
.visible .entry scale_all(.param .u64 x) {
\tgriddepcontrol.launch_dependents;
\tgriddepcontrol.wait;
\tret; }
.visible .entry scale(
\t.param .u64 scale_param_0
)
.reqnctapercluster 16, 1, 1
{ call calls_it; }
.visible .entry waits_itself() { // grid barrier
}";

    #[test]
    fn finds_the_signature_and_barriers_of_entries() {
        let entry = |name| Entry::find(TEXT, name);
        let expected = Entry {
            signature: b"(wfsf)".to_vec(),
            parameters: 1,
            has_grid_barrier: true,
            cluster: 16,
            is_dependent: false,
        };
        assert_eq!(entry("scale"), Some(expected));
        let expected =
            Entry { signature: vec![], parameters: 1, has_grid_barrier: false, cluster: 1, is_dependent: true };
        assert_eq!(entry("scale_all"), Some(expected));
        assert!(entry("waits_itself").unwrap().has_grid_barrier);
        assert_eq!((entry("scal"), entry("waits")), (None, None));
    }

    #[test]
    fn a_module_of_one_kernel_has_its_entry_and_all_that_is_no_entry() {
        let text = "\
.version 7.0
// a comment
.shared .b8 tile[64];
.visible .global .align 1 .b8 a__signature[1] = {41};
.func helper(.param .u64 x)
{ ret; }
.visible .entry a(
\t.param .u64 x // {
)
{
\t{ // callseq 0
\tcall helper, (x);
\t}
\tret;
}
.entry aa() .maxntid 32, 1, 1 { ret; }
.visible .entry empty()
{
}
// debug information
";
        let kernels = Kernels::of(text);
        assert_eq!(kernels.shortest(), Some("aa"));
        let module = kernels.module_of("a").unwrap();
        assert_eq!(module.lines().count(), text.lines().count());
        for (line, original) in module.lines().zip(text.lines()) {
            let is_left_out = original.starts_with("//") || original.contains("entry aa");
            let is_kept = line == original && !is_left_out;
            assert!(is_kept || line.is_empty(), "{line} in place of {original}");
        }
        assert!(module.contains("call helper") && !module.contains("empty") && module.contains(".func helper"));
        assert!(kernels.module_of("aa").unwrap().contains(".entry aa() .maxntid 32, 1, 1 { ret; }"));
        assert_eq!((kernels.module_of("helper"), kernels.module_of("b")), (None, None));
        for common in [
            format!("{text}.visible .global .align 4 .u32 counter;\n"),
            format!("{text}.global .u32 counter = 3;\n"),
            format!("{text}/* a comment */\n"),
            format!("{text}}}\n"),
            format!("{text}.entry b() {{\n"),
        ] {
            assert_eq!(Kernels::of(&common).shortest(), None, "{common}");
        }
    }

    #[test]
    fn each_compiled_kernel_is_a_module_that_the_interpreter_loads() {
        if !gpu_testing::require_ptx(&seeded_bugs::PTX) {
            return;
        }
        for variant in seeded_bugs::PTX {
            let all = ptx_interpreter::Machine::new(variant.text()).unwrap();
            assert_eq!(all.refused().next(), None);
            let kernels = Kernels::of(variant.text());
            for name in all.kernels() {
                let module = kernels.module_of(name).unwrap();
                let alone = ptx_interpreter::Machine::new(&module).unwrap();
                assert_eq!(alone.kernels().collect::<Vec<_>>(), [name]);
                assert!(Entry::find(&module, name).is_some());
            }
        }
    }

    #[test]
    fn detects_which_compiled_kernels_need_a_cooperative_launch() {
        if !gpu_testing::require_ptx(&test_kernels::PTX) {
            return;
        }
        for variant in test_kernels::PTX {
            let entry = |name| Entry::find(variant.text(), name).unwrap();
            assert!(entry("grid_sums").has_grid_barrier && !entry("block_sum").has_grid_barrier);
            assert_eq!(signature::display(&entry("vector_max").signature), "(&[f32], &[f32], GlobalMut<f32>)");
        }
    }
}
