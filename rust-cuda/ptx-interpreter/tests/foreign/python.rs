//! Kernels written in Python: their modules, and a reference for each kernel.

use crate::cases::{Case, floats, fractions, integers, ints};
use crate::compilers::{self, Compiled};
use crate::run::Argument::{self, Buffer, Float, Int, Output};
use crate::run::Elements::{self, Floats, Ints};
use crate::run::{Calling, difference, launch};
use cuda_launch::{Dim3, LaunchConfig};
use ptx_interpreter::memory::AccessError;
use ptx_interpreter::{FaultKind, LaunchError, Machine, Options};

/// Separates the modules of a text.
const SEPARATOR: &str = "\n//#####\n";

/// The module that contains the kernel, found by its mangled name.
fn module<'t>(text: &'t str, kernel: &str) -> (&'t str, Machine, String) {
    let named = |module: &&str| {
        let entry = module.split_once(".visible .entry ").map_or("", |(_, rest)| rest);
        let name = entry.split('(').next().unwrap_or("");
        name == kernel || name.contains(&format!("{}{kernel}", kernel.len()))
    };
    let module = text.split(SEPARATOR).find(named).unwrap_or_else(|| panic!("no kernel {kernel}"));
    let machine = Machine::new(module).unwrap_or_else(|error| panic!("{kernel}: {error}"));
    let name = machine.kernels().next().unwrap().to_owned();
    (module, machine, name)
}

fn case(
    kernel: &'static str,
    (grid, block): (impl Into<Dim3>, impl Into<Dim3>),
    arguments: Vec<Argument>,
    reference: fn(&mut [Elements]),
) -> Case {
    Case { kernel, config: LaunchConfig::new(grid, block), arguments, reference }
}

fn product(e: &mut [Elements], n: usize) {
    let (a, b) = (floats(&e[0]), floats(&e[1]));
    let cell = |i: usize| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum();
    e[2] = Floats((0..n * n).map(cell).collect());
}

fn of_numba() -> Vec<Case> {
    let x = |count| Buffer(Ints(integers(count, -1000, 1000)));
    let f = |count| Buffer(Floats(fractions(count)));
    vec![
        case("saxpy", (3, 64), vec![Float(0.5), f(150), f(150), Int(150)], |e| {
            let x = floats(&e[1]);
            e[2] = Floats(floats(&e[2]).iter().zip(x).map(|(y, x)| 0.5 * x + y).collect());
        }),
        case("sum_of_blocks", (3, 128), vec![x(1000), Output(Ints(vec![0; 3])), Int(1000)], |e| {
            let x = ints(&e[0]);
            let of_block = |block| (0..1000).filter(|i| i / 128 % 3 == block).map(|i| x[i]).sum();
            e[1] = Ints((0..3).map(of_block).collect());
        }),
        case("largest", (4, 32), vec![x(100), Buffer(Ints(vec![-5000])), Int(100)], |e| {
            e[1] = Ints(vec![*ints(&e[0]).iter().max().unwrap()]);
        }),
        case("matrix_product", ((3, 3), (8, 8)), vec![f(400), f(400), Output(Floats(vec![0.0; 400])), Int(20)], |e| {
            product(e, 20);
        }),
        case("collatz", (2, 40), vec![Output(Ints(vec![0; 77])), Int(77)], |e| {
            let steps = |start: u64| {
                let next = |value: &u64| {
                    (*value != 1).then(|| if value.is_multiple_of(2) { value / 2 } else { 3 * value + 1 })
                };
                std::iter::successors(Some(start), next).count() as i32 - 1
            };
            e[0] = Ints((1..78).map(steps).collect());
        }),
        case("sort_of_each", (1, 32), vec![x(160), Output(Ints(vec![0; 160])), Int(20)], |e| {
            let mut x = ints(&e[0]);
            x.chunks_mut(8).for_each(<[i32]>::sort_unstable);
            e[1] = Ints(x);
        }),
    ]
}

fn of_triton() -> Vec<Case> {
    let x = |count| Buffer(Ints(integers(count, -1000, 1000)));
    let f = |count| Buffer(Floats(fractions(count)));
    let out = |count| Output(Floats(vec![0.0; count]));
    vec![
        case("add", (3, 128), vec![f(300), f(300), out(300), Int(300)], |e| {
            let y = floats(&e[1]);
            e[2] = Floats(floats(&e[0]).iter().zip(y).map(|(x, y)| x + y).collect());
        }),
        case("sum_of_all", (4, 128), vec![x(1000), Buffer(Ints(vec![0])), Int(1000)], |e| {
            e[1] = Ints(vec![ints(&e[0]).iter().sum()]);
        }),
        case("softmax", (3, 128), vec![f(300), out(300), Int(100)], |e| {
            let row = |row: &[f32]| {
                let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
                row.iter().map(move |x| (f64::from(*x).exp() / sum) as f32).collect::<Vec<_>>()
            };
            e[1] = Floats(floats(&e[0]).chunks(100).flat_map(row).collect());
        }),
        case("transpose", ((3, 2), 128), vec![f(40 * 25), out(40 * 25), Int(40), Int(25)], |e| {
            let x = floats(&e[0]);
            e[1] = Floats((0..1000).map(|i| x[i % 40 * 25 + i / 40]).collect());
        }),
        case("prefix_sums", (1, 128), vec![x(100), Output(Ints(vec![0; 100])), Int(100)], |e| {
            let sums = ints(&e[0]).into_iter().scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            });
            e[1] = Ints(sums.collect());
        }),
        case("matrix_product", ((2, 2), 128), vec![f(400), f(400), out(400), Int(20)], |e| product(e, 20)),
    ]
}

fn problems(compiled: &[Compiled], cases: Vec<Case>, calling: Calling) -> Vec<String> {
    let mut problems = Vec::new();
    for Compiled { name, ptx } in compiled {
        for case in &cases {
            let (text, mut machine, kernel) = module(ptx, case.kernel);
            let mut config = case.config;
            if let Some((_, bytes)) = text.rsplit_once("// shared memory: ") {
                config.dynamic_shared_bytes = bytes.lines().next().unwrap().parse().unwrap();
            }
            let launched = launch(&mut machine, Options::default(), &kernel, (config, calling), &case.arguments);
            let problem = match launched {
                Err(error) => Some(error.to_string()),
                Ok((found, _)) => difference(&found, &case.expected()),
            };
            problems.extend(problem.map(|problem| format!("{name}, {}: {problem}", case.kernel)));
        }
    }
    problems
}

#[test]
fn kernels_of_numba() {
    let problems = problems(&compilers::numba(), of_numba(), Calling::Numba);
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn kernels_of_triton() {
    let problems = problems(&compilers::triton(), of_triton(), Calling::Triton);
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn committed_kernels_of_triton() {
    for (kernel, text) in [
        ("sum_of_all", include_str!("ptx/sum_of_all.triton.sm_90.ptx")),
        ("softmax", include_str!("ptx/softmax.triton.sm_90.ptx")),
    ] {
        let cases = of_triton().into_iter().filter(|case| case.kernel == kernel).collect();
        let problems = problems(&compilers::committed("Triton", text), cases, Calling::Triton);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

#[test]
fn committed_kernels_of_numba() {
    for (kernel, text) in [
        ("largest", include_str!("ptx/largest.numba.sm_75.ptx")),
        ("sort_of_each", include_str!("ptx/sort_of_each.numba.sm_75.ptx")),
    ] {
        let cases = of_numba().into_iter().filter(|case| case.kernel == kernel).collect();
        let problems = problems(&compilers::committed("Numba", text), cases, Calling::Numba);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}

#[test]
fn bugs_of_numba() {
    let arguments =
        |count| vec![Buffer(Ints(integers(count, -1000, 1000))), Output(Ints(vec![0; count])), Int(count as i32)];
    let source = include_str!("kernels_numba.py");
    for Compiled { name, ptx } in compilers::numba() {
        for (bug, blocks, count) in [("missing_barrier", 1, 64), ("past_the_end", 2, 100)] {
            let (_, mut machine, kernel) = module(&ptx, bug);
            let shape = (LaunchConfig::new(blocks, 64), Calling::Numba);
            let error = launch(&mut machine, Options::default(), &kernel, shape, &arguments(count)).unwrap_err();
            let LaunchError::Fault(fault) = error else { panic!("{name}: {error}") };
            let line = source.lines().position(|line| line.ends_with(&format!("# BUG {bug}"))).unwrap() as u32 + 1;
            assert_eq!(fault.place.source.as_ref().map(|place| place.line), Some(line), "{name}: {fault}");
            let is_expected = matches!(
                (&fault.kind, bug),
                (FaultKind::Access { error: AccessError::Uninitialised { .. }, .. }, "missing_barrier")
                    | (FaultKind::Access { error: AccessError::OutOfBounds { .. }, .. }, "past_the_end")
            );
            assert!(is_expected, "{name}: {fault}");
        }
    }
}
