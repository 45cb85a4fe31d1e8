//! Library calls in functions that must be written with loops, traced through the submission's own
//! functions.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// A function of the submission, a macro (its name ends in `!`), or a constant.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// Names that the body may call, in order.
    pub(super) mentions: Vec<Mention>,
}

/// A name in a function's body.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) name: String,
    /// The name itself, and the names it is an alias of.
    pub(super) meanings: BTreeSet<String>,
    pub(super) place: Place,
}

/// Position of a name in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `.name(…)`.
    Method,
    /// `before::name`; empty if the qualifier is not a single name, as in `<i32 as Ord>::name`.
    Path(String),
    /// `name(…)` or `name!(…)`, or the imported `name` as an argument.
    Call,
    /// Another name that may refer to a function or a constant.
    Value,
}

/// Functions that must be written with loops, and library calls that would do their work.
const TRIVIAL: [(&str, &[&str]); 3] = [
    (
        "max_cpu",
        &[
            "max",
            "max_by",
            "max_by_key",
            "fold",
            "clamp",
            "for_each",
            "par_for_each",
            "zip_mut_with",
            "map_collect",
            "par_map_collect",
            "map_inplace",
            "par_map_inplace",
            "mapv",
            "mapv_inplace",
            "mapv_into",
        ],
    ),
    (
        "matmul_transpose_trivial",
        &[
            "dot",
            "sum",
            "general_mat_mul",
            "general_mat_vec_mul",
            "fold",
            "for_each",
            "par_for_each",
            "try_fold",
            "reduce",
        ],
    ),
    (
        "correlation_trivial",
        &[
            "dot",
            "fold",
            "for_each",
            "par_for_each",
            "reduce",
            "scaled_add",
            "sum",
            "try_fold",
            "windows",
            "zip_mut_with",
        ],
    ),
];

/// Library types and modules with functions of the names above, as in `i32::max`.
const LIBRARIES: [&str; 14] = [
    "",
    "cmp",
    "Ord",
    "Iterator",
    "ParallelIterator",
    "Zip",
    "linalg",
    "Dot",
    "i32",
    "i64",
    "f32",
    "f64",
    "usize",
    "u32",
];

/// Returns the library calls in functions that must be written with loops, each with the call path
/// that leads to it.
pub(super) fn where_loops_were_asked_for(functions: &[Function]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, calls) in TRIVIAL {
        let mut paths: Vec<Vec<usize>> =
            (0..functions.len()).filter(|&i| functions[i].name == name).map(|i| vec![i]).collect();
        let (mut visited, mut next): (BTreeSet<usize>, usize) = (paths.iter().flatten().copied().collect(), 0);
        let mut known = BTreeSet::new();
        // Breadth-first search finds the shortest path to each call.
        while let Some(path) = paths.get(next).cloned() {
            next += 1;
            let Some(&last) = path.last() else { continue };
            for mention in &functions[last].mentions {
                if let Some(call) = library_call(mention, calls, functions).filter(|call| known.insert(call.clone())) {
                    found.push(finding(&path, &call, mention, functions));
                }
                for (i, _) in
                    functions.iter().enumerate().filter(|(_, function)| mention.meanings.contains(&function.name))
                {
                    if visited.insert(i) {
                        paths.push([&path[..], &[i]].concat());
                    }
                }
            }
        }
    }
    found
}

/// Returns the library function called by `mention` if it is one of `calls` and not the
/// submission's own function of the same name.
fn library_call(mention: &Mention, calls: &[&str], functions: &[Function]) -> Option<String> {
    let call = mention.meanings.iter().find(|name| calls.contains(&name.as_str()))?;
    let is_own = match &mention.place {
        Place::Value => return None,
        Place::Method => false,
        Place::Path(before) => !LIBRARIES.contains(&before.as_str()) && functions.iter().any(|own| own.name == *call),
        Place::Call => functions.iter().any(|own| own.name == *call),
    };
    (!is_own).then(|| call.clone())
}

fn finding(path: &[usize], call: &str, mention: &Mention, functions: &[Function]) -> String {
    let call = match mention.name == call {
        true => call.to_owned(),
        false => format!("{call} (as {})", mention.name),
    };
    let [first, others @ ..] = path else { return String::new() };
    let Function { name, file, .. } = &functions[*first];
    if others.is_empty() {
        return format!("{}, {name}: it calls {call}, where loops were asked for", file.display());
    }
    let through: String = others
        .iter()
        .map(|&i| {
            let file = &functions[i].file;
            let names: Vec<_> = file.iter().skip_while(|name| *name != "src").skip(1).collect();
            format!("{} ({}), which calls ", functions[i].name, names.iter().collect::<PathBuf>().display())
        })
        .collect();
    format!("{}: {name} calls {through}{call}, where loops were asked for", file.display())
}
