//! Random kernels that mix float `%` with `/`, `trunc`, `rem_euclid`, constants, signs, branches
//! and loops are compiled and interpreted. They give the same bits as the host.

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use cuda_builder::{Arch, CudaBuilder};
use cuda_launch::LaunchConfig;
use ptx_interpreter::{Machine, Options};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng};
use support::real_toolchain;

/// Number of kernels per type.
const KERNELS: usize = 40;
/// Number of statements per kernel.
const STATEMENTS: usize = 12;
/// Number of threads, each with its own x and y.
const THREADS: usize = 64;
/// Iterations of each loop, unknown to the compiler.
const ROUNDS: u32 = 3;

/// Divisors: some have no exact reciprocal, some are powers of two.
const DIVISORS: [f64; 14] = [3.0, 7.0, 360.0, 0.7, 1e-3, 1.0, -1.0, 2.0, 4.0, 0.5, -0.5, 0.125, -4.0, -2.5];
/// The constant divisors in a kernel's own fused approximation. LLVM would merge the approximation
/// with a `%` of the same operands, which does not compile.
const OWN_DIVISORS: [f64; 3] = [1.7, 5.5, 1000.5];

#[derive(Clone, Copy)]
enum Operand {
    /// A variable by its number, possibly negated.
    Variable(usize, bool),
    Constant(f64),
}

#[derive(Clone, Copy)]
enum Operation {
    Quotient,
    Remainder,
    TruncatedQuotient,
    Euclid,
    Sum,
    Product,
    OwnApproximation,
    OwnFused,
}

#[derive(Clone, Copy)]
struct Expression(Operation, Operand, Operand);

enum Statement {
    Let(Expression),
    /// The first expression if one variable is less than another, otherwise the second.
    If(usize, usize, Expression, Expression),
    /// A new variable that starts as this one. Each iteration combines it with another operand.
    Loop(usize, Operation, Operand),
}

fn operand(random: &mut ChaCha8Rng, variables: usize) -> Operand {
    match random.random_range(0..8) {
        0 => Operand::Constant(DIVISORS[random.random_range(0..DIVISORS.len())]),
        // Often choose from the same few variables, so parts are shared.
        1..=4 => Operand::Variable(random.random_range(0..2), random.random_bool(0.2)),
        _ => Operand::Variable(random.random_range(0..variables), random.random_bool(0.2)),
    }
}

fn operation(random: &mut ChaCha8Rng) -> Operation {
    use Operation::*;
    [Quotient, Remainder, Remainder, Remainder, TruncatedQuotient, Euclid, Sum, Product, OwnApproximation]
        [random.random_range(0..9)]
}

fn expression(random: &mut ChaCha8Rng, variables: usize) -> Expression {
    let x = operand(random, variables);
    if random.random_bool(0.1) {
        let y = match random.random_bool(0.5) {
            true => Operand::Constant(OWN_DIVISORS[random.random_range(0..3)]),
            false => Operand::Variable(random.random_range(0..2), false),
        };
        return Expression(Operation::OwnFused, x, y);
    }
    let y = if random.random_bool(0.4) {
        Operand::Constant(DIVISORS[random.random_range(0..DIVISORS.len())])
    } else {
        operand(random, variables)
    };
    Expression(operation(random), x, y)
}

fn statements(random: &mut ChaCha8Rng) -> Vec<Statement> {
    let statement = |index| {
        let variables = index + 2;
        match random.random_range(0..6) {
            0 => {
                let [a, b] = [0; 2].map(|_| random.random_range(0..variables));
                Statement::If(a, b, expression(random, variables), expression(random, variables))
            }
            1 => Statement::Loop(random.random_range(0..variables), operation(random), operand(random, variables)),
            _ => Statement::Let(expression(random, variables)),
        }
    };
    (0..STATEMENTS).map(statement).collect()
}

/// The source of a kernel.
fn source(name: &str, float: &str, statements: &[Statement]) -> String {
    let operand = |operand: Operand| match operand {
        Operand::Variable(number, false) => format!("v{number}"),
        Operand::Variable(number, true) => format!("(-v{number})"),
        Operand::Constant(value) => format!("({value:?}_{float})"),
    };
    let expression = |Expression(operation, x, y): Expression| {
        let (x, y) = (operand(x), operand(y));
        match operation {
            Operation::Quotient => format!("{x} / {y}"),
            Operation::Remainder => format!("{x} % {y}"),
            Operation::TruncatedQuotient => format!("GpuFloat::trunc({x} / {y})"),
            Operation::Euclid => format!("GpuFloat::rem_euclid({x}, {y})"),
            Operation::Sum => format!("{x} + {y}"),
            Operation::Product => format!("{x} * {y}"),
            Operation::OwnApproximation => format!("{x} - {y} * GpuFloat::trunc({x} / {y})"),
            Operation::OwnFused => format!("GpuFloat::mul_add(GpuFloat::trunc({x} / {y}), -{y}, {x})"),
        }
    };
    let mut text = format!(
        "#[kernel]\npub fn {name}(x: &[{float}], y: &[{float}], n: u32, out: GlobalMut<{float}>) {{\n    \
         let i = thread::index_1d() as usize;\n    let (v0, v1) = (x[i], y[i]);\n"
    );
    for (index, statement) in statements.iter().enumerate() {
        let number = index + 2;
        match statement {
            Statement::Let(value) => writeln!(text, "    let v{number} = {};", expression(*value)),
            Statement::If(a, b, first, second) => writeln!(
                text,
                "    let v{number} = if v{a} < v{b} {{\n        {}\n    }} else {{\n        {}\n    }};",
                expression(*first),
                expression(*second)
            ),
            Statement::Loop(start, operation, other) => writeln!(
                text,
                "    let mut v{number} = v{start};\n    for _ in 0..n {{\n        v{number} = {};\n    }}",
                expression(Expression(*operation, Operand::Variable(number, false), *other))
            ),
        }
        .unwrap();
        writeln!(text, "    out.set({STATEMENTS} * i + {index}, v{number});").unwrap();
    }
    text + "}\n\n"
}

/// The bits of each statement's value for one thread, with the same bits for all NaNs.
macro_rules! evaluate {
    ($name:ident, $float:ident) => {
        fn $name(statements: &[Statement], x: $float, y: $float) -> Vec<u64> {
            fn operand(operand: Operand, variables: &[$float]) -> $float {
                match operand {
                    Operand::Variable(number, false) => variables[number],
                    Operand::Variable(number, true) => -variables[number],
                    Operand::Constant(value) => value as $float,
                }
            }
            fn expression(Expression(operation, x, y): Expression, variables: &[$float]) -> $float {
                let (x, y) = (operand(x, variables), operand(y, variables));
                match operation {
                    Operation::Quotient => x / y,
                    Operation::Remainder => x % y,
                    Operation::TruncatedQuotient => (x / y).trunc(),
                    Operation::Euclid => x.rem_euclid(y),
                    Operation::Sum => x + y,
                    Operation::Product => x * y,
                    Operation::OwnApproximation => x - y * (x / y).trunc(),
                    Operation::OwnFused => (x / y).trunc().mul_add(-y, x),
                }
            }
            let mut variables = vec![x, y];
            for statement in statements {
                let value = match *statement {
                    Statement::Let(value) => expression(value, &variables),
                    Statement::If(a, b, first, second) => {
                        expression(if variables[a] < variables[b] { first } else { second }, &variables)
                    }
                    Statement::Loop(start, operation, other) => {
                        let number = variables.len();
                        let mut with_own = variables.clone();
                        with_own.push(variables[start]);
                        for _ in 0..ROUNDS {
                            let own = Operand::Variable(number, false);
                            with_own[number] = expression(Expression(operation, own, other), &with_own);
                        }
                        with_own[number]
                    }
                };
                variables.push(value);
            }
            let bits = |value: &$float| if value.is_nan() { u64::MAX } else { value.to_bits().into() };
            variables[2..].iter().map(bits).collect()
        }
    };
}

evaluate! { evaluate_f32, f32 }
evaluate! { evaluate_f64, f64 }

/// A value of any sign and many magnitudes, or a special one; the same in f32 and f64.
fn input(random: &mut ChaCha8Rng) -> f64 {
    let value = match random.random_range(0..10) {
        0 => [0.0, -0.0, f32::INFINITY, f32::NAN, f32::MAX, 1e-45, 1.0, -7.0][random.random_range(0..8)],
        1..=4 => random.random_range(-20.0..20.0),
        _ => {
            let sign = if random.random_bool(0.5) { 1.0 } else { -1.0 };
            sign * random.random_range(1.0..2.0_f32) * 2.0_f32.powi(random.random_range(-40..40))
        }
    };
    value.into()
}

/// The values that a kernel stores when it is interpreted.
fn interpreted(machine: &mut Machine, kernel: &str, bytes: usize, inputs: [&[f64]; 2]) -> Vec<u64> {
    let encoded = |values: &[f64]| -> Vec<u8> {
        match bytes {
            4 => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    };
    let mut output = vec![0; THREADS * STATEMENTS * bytes];
    let mut parameters = Vec::new();
    for input in inputs {
        let data = encoded(input);
        let address = machine.allocate(data.len() as u64).unwrap();
        machine.memory().write(address, &data).unwrap();
        parameters.extend([address.to_le_bytes().to_vec(), (THREADS as u64).to_le_bytes().to_vec()]);
    }
    parameters.push(ROUNDS.to_le_bytes().to_vec());
    let address = machine.allocate(output.len() as u64).unwrap();
    parameters.extend([address, (THREADS * STATEMENTS) as u64].map(|value| value.to_le_bytes().to_vec()));
    let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
    machine.launch(Options::default(), kernel, LaunchConfig::new(1, THREADS as u32), &parameters).unwrap();
    machine.memory().read(address, &mut output).unwrap();
    let is_nan = |bits: u64| match bytes {
        4 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    };
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    output.chunks(bytes).map(word).map(|bits| if is_nan(bits) { u64::MAX } else { bits }).collect()
}

#[test]
#[ignore = "compiles kernels and `core` for two architectures, optimized and not"]
fn random_kernels_have_the_hosts_bits() {
    let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(72));
    let folder = tempfile::tempdir().unwrap();
    let kernels: Vec<_> = (0..KERNELS).map(|_| statements(&mut random)).collect();
    let mut text = "#![no_std]\n#![cfg_attr(target_arch = \"nvptx64\", feature(abi_ptx))]\n\
                    use cuda_std::math::GpuFloat;\nuse cuda_std::{GlobalMut, kernel, thread};\n\n"
        .to_owned();
    for (number, statements) in kernels.iter().enumerate() {
        for float in ["f32", "f64"] {
            text += &source(&format!("k{number}_{float}"), float, statements);
        }
    }
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), &text).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifest = format!(
        "[package]\nname = \"remainders\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\ncuda_std = {{ path = {:?} }}\n\n[workspace]\n",
        workspace.join("cuda_std")
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    // The same versions as here, which are already downloaded.
    fs::copy(workspace.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let pruned = Command::new(cargo).args(["update", "--workspace", "--offline"]).current_dir(folder.path()).output();
    let pruned = pruned.unwrap();
    assert!(pruned.status.success(), "{}", String::from_utf8_lossy(&pruned.stderr));

    let [x, y]: [Vec<f64>; 2] = [0; 2].map(|_| (0..THREADS).map(|_| input(&mut random)).collect());
    for (arch, is_optimised) in [(Arch::Sm75, true), (Arch::Sm90, true), (Arch::Sm75, false)] {
        if real_toolchain(arch).is_none() {
            return;
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvptx").join(arch.to_string());
        let builder = CudaBuilder::new(folder.path()).arch(arch).target_dir(target).optimised(is_optimised);
        let ptx =
            builder.rebuild().unwrap_or_else(|error| panic!("{text}\n{arch}, optimized: {is_optimised}: {error}"));
        let mut machine = Machine::new(&ptx.text()).unwrap();
        for (number, statements) in kernels.iter().enumerate() {
            for (float, bytes) in [("f32", 4), ("f64", 8)] {
                let kernel = format!("k{number}_{float}");
                let found = interpreted(&mut machine, &kernel, bytes, [&x, &y]);
                for (thread, found) in found.chunks(STATEMENTS).enumerate() {
                    let (x, y) = (x[thread], y[thread]);
                    let expected = match bytes {
                        4 => evaluate_f32(statements, x as f32, y as f32),
                        _ => evaluate_f64(statements, x, y),
                    };
                    let differs = (0..STATEMENTS).find(|&index| found[index] != expected[index]);
                    if let Some(index) = differs {
                        panic!(
                            "{arch}, optimized: {is_optimised}, x = {x:?}, y = {y:?}: v{} is {:#x}, must be {:#x}\n{}",
                            index + 2,
                            found[index],
                            expected[index],
                            source(&kernel, float, statements)
                        );
                    }
                }
            }
        }
    }
}
