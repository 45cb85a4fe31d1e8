//! Panics: a call to a function that panics becomes a `trap` with the reason as a comment
//! ([`cuda_launch::trap`]).
//!
//! The compiler calls a function for each kind of panic. Its name, arguments and location give the
//! reason. Such a call would be slow: ptxas gives a kernel with calls a stack and fewer registers.
//! A trap costs nothing until it is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cuda_launch::trap::{Bounded, INDEX_OUT_OF_BOUNDS, Piece, TrapReason};

use crate::panic_texts::PanicTexts;
use crate::ptx_items::{Kind, is_in_identifier, items};
use crate::source_lines::{Place, Places, declared_files};
use crate::source_names::SourceNames;

/// The messages for rustc's own checks, `core::panicking::panic_const::panic_const_…`.
const CHECKS: [(&str, &str); 10] = [
    ("add_overflow", "attempt to add with overflow"),
    ("sub_overflow", "attempt to subtract with overflow"),
    ("mul_overflow", "attempt to multiply with overflow"),
    ("div_overflow", "attempt to divide with overflow"),
    ("rem_overflow", "attempt to calculate the remainder with overflow"),
    ("neg_overflow", "attempt to negate with overflow"),
    ("shr_overflow", "attempt to shift right with overflow"),
    ("shl_overflow", "attempt to shift left with overflow"),
    ("div_by_zero", "attempt to divide by zero"),
    ("rem_by_zero", "attempt to calculate the remainder with a divisor of zero"),
];

/// The message of a panic without a known text.
const UNKNOWN: &str = "the kernel panics";

/// The name of a crate's `#[panic_handler]`.
const HANDLER: &str = "rust_begin_unwind";

/// The `cuda_std` file with the memory of buffers.
const BUFFERS: &str = "/cuda_std/src/nvptx/global.rs";

/// Call depth at which the search for a function's own panic stops.
const MAX_DEPTH: usize = 8;

/// Replaces each call to a function that panics with a trap.
pub(crate) fn with_panics(text: &str, names: &SourceNames) -> String {
    let functions = Functions::of(text, names);
    let texts = PanicTexts::default();
    let (mut sites, mut traps) = (functions.sites.iter(), functions.traps.iter());
    let mut result = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if line.trim() == TRAP {
            let reason = traps.next().and_then(|places| reason_at(places, &texts));
            match reason {
                Some(reason) => result.push_str(&trap(&reason)),
                None => result.push_str(line),
            }
            continue;
        }
        if !line.trim_start().starts_with(SEQUENCE) {
            result.push_str(line);
            continue;
        }
        // The sites are in the same order as the text.
        let site = sites.next().filter(|site| functions.panicking.contains(site.callee));
        let mut kept = String::new();
        let mut next = Some(line);
        while let Some(line) = next {
            match site {
                Some(_) if is_of_call(line) => {}
                _ => kept.push_str(line),
            }
            next = if line.trim_start().starts_with('}') { None } else { lines.next() };
        }
        result.push_str(&kept);
        if let Some(site) = site {
            result.push_str(&trap(&functions.reason(site, &texts, 0)));
            // The compiler's own code after a call that does not return.
            while let Some(line) = lines.next_if(|line| ENDS.contains(&line.trim())) {
                if line.trim() == TRAP {
                    traps.next();
                }
            }
        }
    }
    result
}

/// The line of a trap with its reason.
fn trap(reason: &TrapReason) -> String {
    format!("\t{TRAP} {}\n", reason.comment())
}

fn plain(text: &str) -> TrapReason {
    TrapReason::Panic(vec![Piece::Text(text.to_owned())])
}

/// The reason for a trap in `cuda_std`, from the first location that provides one.
fn reason_at(places: &[Place], texts: &PanicTexts) -> Option<TrapReason> {
    let text = places.iter().find_map(|place| texts.text_at(place))?;
    Some(match text.as_str() {
        "an index is outside of a buffer" => TrapReason::OutOfBounds(Bounded::Buffer),
        "an index is outside of the shared array" => TrapReason::OutOfBounds(Bounded::SharedArray),
        text => plain(text),
    })
}

/// The start of a call sequence.
const SEQUENCE: &str = "{ // callseq";

/// The lines after a call that does not return.
const ENDS: [&str; 4] = ["// begin inline asm", "exit;", "// end inline asm", TRAP];

/// The end of unreachable code, and of a kernel that traps.
const TRAP: &str = "trap; exit;";

/// Whether a line between a call's braces belongs only to the call.
fn is_of_call(line: &str) -> bool {
    let code = line.trim_start();
    [SEQUENCE, "}", ".param ", ".param\t", "st.param", "call"].iter().any(|start| code.starts_with(start))
}

/// A call.
#[derive(Debug)]
struct Site<'a> {
    callee: &'a str,
    /// The arguments: registers and numbers.
    arguments: Vec<&'a str>,
    /// The paths, lines and columns of the call and of the calls that it is inlined into, innermost
    /// first.
    places: Rc<[Place]>,
}

/// The functions of a text.
#[derive(Debug)]
struct Functions<'a> {
    /// All calls in text order.
    sites: Vec<Site<'a>>,
    /// The locations of all traps in text order, including those after calls.
    traps: Vec<Rc<[Place]>>,
    /// The index of the first call in each function.
    first: BTreeMap<&'a str, usize>,
    /// The functions that do nothing but panic.
    panicking: BTreeSet<&'a str>,
}

impl<'a> Functions<'a> {
    fn of(text: &'a str, names: &SourceNames) -> Self {
        let declared = declared_files(text);
        let mut places = Places::new(&declared, names);
        let (mut sites, mut traps): (Vec<Site<'a>>, _) = (Vec::new(), Vec::new());
        let (mut first, mut may_panic) = (BTreeMap::new(), BTreeMap::new());
        for item in items(text) {
            let before = sites.len();
            let mut place: Rc<[Place]> = Rc::default();
            let mut open: Option<Site<'a>> = None;
            for line in item.text.lines() {
                let (code, comment) = line.split_once("//").unwrap_or((line, ""));
                let code = code.trim();
                if let Some(operands) = code.strip_prefix(".loc") {
                    place = places.chain(operands, comment.trim());
                } else if code == TRAP && open.is_none() {
                    traps.push(Rc::clone(&place));
                } else if line.trim_start().starts_with(SEQUENCE) {
                    open = Some(Site { callee: "", arguments: Vec::new(), places: Rc::default() });
                } else if let Some(site) = &mut open {
                    site.add_line(code);
                    if line.trim_start().starts_with('}') {
                        site.places = Rc::clone(&place);
                        sites.extend(open.take());
                    }
                }
            }
            if let Some(name) = item.function.filter(|_| item.kind == Kind::Definition) {
                let callees: Vec<&str> = sites[before..].iter().map(|site| site.callee).collect();
                if before < sites.len() {
                    first.insert(name, before);
                }
                if only_ends(name, item.text) {
                    may_panic.insert(name, callees);
                }
            }
        }
        // Exclude functions that call others.
        let mut panicking: BTreeSet<&str> = may_panic.keys().copied().collect();
        while let Some(name) =
            panicking.iter().copied().find(|name| may_panic[name].iter().any(|callee| !panicking.contains(callee)))
        {
            panicking.remove(name);
        }
        Self { sites, traps, first, panicking }
    }

    /// Why a call panics.
    fn reason(&self, site: &Site<'_>, texts: &PanicTexts, depth: usize) -> TrapReason {
        let is = |path: &[&str]| is_path(site.callee, path);
        let value = |index: usize| Piece::Value(site.arguments[index].to_owned());
        let between = |texts: [&str; 3], [first, second]: [usize; 2]| {
            let [start, middle, end] = texts.map(|text| Piece::Text(text.to_owned()));
            TrapReason::Panic(vec![start, value(first), middle, value(second), end])
        };
        if let Some((_, text)) = CHECKS.iter().find(|(name, _)| site.callee.contains(&format!("panic_const_{name}"))) {
            return plain(text);
        }
        // The last argument may be the source location, which is empty.
        match (&site.arguments[..], site.callee) {
            (&[start, end, length] | &[start, end, length, _], _)
                if is(&["core", "slice", "index", "slice_index_fail"]) =>
            {
                let is_range = site.places.iter().any(|(path, ..)| path.ends_with(BUFFERS));
                let of = if is_range { TrapReason::Range } else { TrapReason::Slice };
                return of([start, end, length].map(str::to_owned));
            }
            ([_, _] | [_, _, _], _) if is(&["core", "panicking", "panic_bounds_check"]) => {
                let start = format!("{INDEX_OUT_OF_BOUNDS}: the len is ");
                return between([&start, " but the index is ", ""], [1, 0]);
            }
            ([_, _] | [_, _, _], callee) if callee.contains("17len_mismatch_fail") => {
                return between(
                    ["copy_from_slice: source slice length (", ") does not match destination slice length (", ")"],
                    [1, 0],
                );
            }
            _ if is(&["core", "panicking", "panic_bounds_check"]) => return plain(INDEX_OUT_OF_BOUNDS),
            // From a macro in `core`: its calls have no location of their own.
            (_, callee) if callee.contains("4core3cmp") && callee.contains("5clamp") => return plain("min > max"),
            _ => {}
        }
        let said = site.places.iter().find_map(|place| texts.text_at(place));
        match (said, self.first.get(site.callee)) {
            (Some(said), _) => plain(&said),
            (None, Some(&inner)) if depth < MAX_DEPTH => self.reason(&self.sites[inner], texts, depth + 1),
            _ => plain(UNKNOWN),
        }
    }
}

impl<'a> Site<'a> {
    /// Parses a line of a call sequence: `st.param.b64 [param1], %rd5;` or
    /// `call.uni NAME, (param0, param1);`.
    fn add_line(&mut self, code: &'a str) {
        let words =
            |code: &'a str| code.split(|c: char| !is_in_identifier(c) && c != '-').filter(|word| !word.is_empty());
        if code.starts_with("st.param") {
            let Some((_, operands)) = code.split_once('[') else { return };
            let mut operands = words(operands);
            let number = operands.next().and_then(|name| name.strip_prefix("param")?.parse::<usize>().ok());
            if let (Some(number), Some(value), None) = (number, operands.next(), operands.next()) {
                if self.arguments.len() <= number {
                    self.arguments.resize(number + 1, "");
                }
                self.arguments[number] = value;
            }
        } else if code.starts_with("call") {
            // Returned values are in parentheses in front of the name.
            let operands = code.split_once([' ', '\t']).map_or("", |(_, operands)| operands.trim_start());
            let operands = match operands.strip_prefix('(') {
                Some(returned) => returned.split_once(')').map_or("", |(_, rest)| rest),
                None => operands,
            };
            self.callee = words(operands).next().unwrap_or_default();
        }
    }
}

/// Whether a function only ends the thread, apart from what it calls: it neither returns nor waits,
/// and writes no memory. Anything `core` does before a panic only serves its message.
fn only_ends(name: &str, text: &str) -> bool {
    // The panic handler may also loop.
    let is_of_core = is_path(name, &["core"]) || name.contains(HANDLER);
    let mut ends = is_of_core;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default().trim();
        let opcode = code.split([' ', '\t', ';']).next().unwrap_or_default();
        let changes = match opcode.split('.').next().unwrap_or_default() {
            "ret" => return false,
            "st" => !opcode.starts_with("st.param"),
            "bra" | "atom" | "red" | "bar" | "barrier" | "fence" | "membar" | "nanosleep" | "brx" => true,
            first if first.starts_with('@') => true,
            "call" | "trap" => {
                ends = true;
                false
            }
            _ => false,
        };
        if changes && !is_of_core {
            return false;
        }
    }
    ends
}

/// Whether a mangled name contains these consecutive path components. The first one is a crate's
/// name.
///
/// [Symbol names](https://doc.rust-lang.org/rustc/symbol-mangling/v0.html) put the length in front
/// of each component.
fn is_path(name: &str, path: &[&str]) -> bool {
    let parts: String = path.iter().map(|part| format!("{}{part}", part.len())).collect();
    // A crate's name follows its disambiguator, `Cs…_`.
    name.starts_with("_R") && (name.contains(&format!("_{parts}")) || name.contains(&format!("C{parts}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
.visible .entry kernel()
{
\t.loc\t1 5 9                          // src/lib.rs:5:9
\t{ // callseq 0, 0
\t.param .b64 \tparam0;
\t.param .b64 \tparam1;
\tst.param.b64 \t[param1], %rd5;
\tst.param.b64 \t[param0], -4;
\tcall.uni PANICS, (param0, param1);
\t} // callseq 0
\t// begin inline asm
\texit;
\t// end inline asm
\ttrap; exit;
$L__BB0_1:
\tret;
}
.func PANICS(
\t.param .b64 PANICS_param_0
)
{
\tBODY
\ttrap; exit;
}
";

    fn with(name: &str, body: &str) -> String {
        let names = SourceNames::for_tests("/checkout", &[("/checkout/kernels", "kernels")]);
        with_panics(&KERNEL.replace("PANICS", name).replace("BODY", body), &names)
    }

    /// The kernel with a trap instead of its call.
    fn trapping(reason: &str) -> String {
        let (start, end) = (KERNEL.find("\t{ //").unwrap(), KERNEL.find("$L__BB0_1").unwrap());
        let after = KERNEL[..KERNEL.find(".func").unwrap()].split_at(end).1;
        format!("{}\ttrap; exit; {reason}\n{after}", &KERNEL[..start])
    }

    #[test]
    fn a_call_of_a_function_that_panics_is_a_trap_with_its_reason() {
        let name = "_RNvNtCs6zZYscdT3CL_4core9panicking18panic_bounds_check";
        let expected = "// panics: index out of bounds: the len is {%rd5} but the index is {-4}";
        assert!(with(name, "").starts_with(&trapping(expected)), "{}", with(name, ""));
        let name = "_RNvNtNtC4core9panicking11panic_const23panic_const_div_by_zero";
        assert!(with(name, "").starts_with(&trapping("// panics: attempt to divide by zero")));
        // Anything that `core` does for its message has no effect.
        assert!(with(name, "st.b64 \t[%SP+8], %rd2;").starts_with(&trapping("// panics: attempt to divide by zero")));
        let own = "_RNvCskzi2ggv0WBo_3rk34fail";
        assert!(with(own, "").starts_with(&trapping("// panics: the kernel panics")));
    }

    #[test]
    fn a_call_of_another_function_stays() {
        let own = "_RNvCskzi2ggv0WBo_3rk34fail";
        for body in
            ["ret;", "st.global.b32 \t[%rd1], 1;", "@%p1 bra \t$L__BB1_1;", "atom.global.add.u32 \t%r1, [%rd1], 1;"]
        {
            assert_eq!(with(own, body), KERNEL.replace("PANICS", own).replace("BODY", body));
        }
        // In the form that `remainders` writes.
        let remainder = "{ // callseq remainder 1\n\tcall.uni (retval0), __cuda_std_fmodf, (param0, param1);\n\t}\n\tmov.b32 \t%r1, %r2;";
        assert_eq!(with(own, remainder), KERNEL.replace("PANICS", own).replace("BODY", remainder));
        let calls = "{ // callseq 1, 0\n\tcall.uni (retval0), vprintf, (param0, param1);\n\t} // callseq 1";
        assert_eq!(with(own, calls), KERNEL.replace("PANICS", own).replace("BODY", calls));
    }

    #[test]
    fn paths_are_parts_of_names() {
        let name = "_RINvNtCs6zZYscdT3CL_4core9panicking13assert_failedyyEB4_";
        assert!(is_path(name, &["core", "panicking"]) && is_path(name, &["core"]));
        assert!(!is_path(name, &["panicking"]) && !is_path(name, &["core", "assert_failed"]));
        assert!(is_path("_RNvNtC4core9panicking5panic", &["core", "panicking", "panic"]));
        assert!(!is_path("4core", &["core"]));
    }
}
