//! Given: the puzzles' launches, inputs and expected results.
//!
//! The tests check each kernel with them, and `cargo xtask lab` writes them into the page `docs/lab`.

use cuda_std::host_std::any::type_name;
use cuda_std::host_std::fmt;
use cuda_std::host_std::format;
use cuda_std::host_std::string::{String, ToString};
use cuda_std::host_std::vec;
use cuda_std::host_std::vec::Vec;
use gpu::{Buffer, Device, Element, Error, LaunchConfig};

/// Threads of a block, where a puzzle does not say otherwise.
const THREADS: usize = 4;
/// Threads of a block of `tree` and `prefix_sum`.
const TREE: usize = 8;
/// Different values of `histogram`, and weights of `convolve`.
const BINS: usize = 4;
const WEIGHTS: usize = 3;
/// Rows and columns of a tile of `transpose`, and of the matrix products.
const SIDE: usize = 4;
const TILE: usize = 2;
/// Maximum number of columns of `softmax`.
const ROW: usize = 8;

/// What a launch returns: the elements of the buffer that the kernel writes.
type Launch = fn(&Device, &Case) -> Result<Vec<f64>, Error>;

/// A kernel that can be launched with the cases of its puzzle.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    launch: Launch,
}

/// An input with its launch and the expected result. All numbers are exact in the arguments' types.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Blocks of the grid: x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block: x, y and z.
    pub block: [u32; 3],
    /// The kernel's arguments.
    pub arguments: Vec<Argument>,
    /// Name of the buffer that is compared with `expected`, the only one that the kernel writes.
    pub out: &'static str,
    /// Its elements after the launch.
    pub expected: Vec<f64>,
    /// Maximum difference between an element and the expected one.
    pub tolerance: f64,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name.
    pub name: &'static str,
    /// The type of the value or of the elements: "i32", "u32" or "f32".
    pub r#type: &'static str,
    /// The value, or the elements.
    pub contents: Contents,
}

/// What an argument holds before the launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// A number.
    Value(f64),
    /// A buffer: rows and columns of a matrix, or the length, and the elements; None if they are not written yet.
    Buffer {
        /// Number of elements in each dimension.
        shape: Vec<usize>,
        /// The elements, row by row.
        values: Option<Vec<f64>>,
    },
}

impl Kernel {
    /// The kernel of this name, which `launch` launches.
    pub(crate) const fn new(name: &'static str, launch: Launch) -> Self {
        Self { name, launch }
    }

    /// Launches the kernel and compares the result.
    ///
    /// # Errors
    /// What the device reports, or the first element that differs from the expected one.
    pub fn check(&self, device: &Device, case: &Case) -> Result<Vec<f64>, String> {
        let found = (self.launch)(device, case).map_err(|error| error.to_string())?;
        for (i, (&value, &expected)) in found.iter().zip(&case.expected).enumerate() {
            // Not `difference > tolerance`: a NaN must not agree.
            let agrees = (value - expected).abs() <= case.tolerance;
            if !agrees {
                return Err(format!("{}[{i}] is {value}, expected {expected}", case.out));
            }
        }
        Ok(found)
    }
}

impl Case {
    /// The launch configuration.
    pub fn config(&self) -> LaunchConfig {
        let ([x, y, z], [tx, ty, tz]) = (self.grid, self.block);
        LaunchConfig::new((x, y, z), (tx, ty, tz))
    }

    /// The contents of an argument.
    fn contents(&self, name: &str) -> &Contents {
        let argument = self.arguments.iter().find(|argument| argument.name == name);
        &argument.unwrap_or_else(|| panic!("a case has the argument {name}")).contents
    }

    /// The value that an argument is.
    pub(crate) fn value<T: Number>(&self, name: &str) -> T {
        match self.contents(name) {
            Contents::Value(value) => T::from_f64(*value),
            Contents::Buffer { .. } => panic!("{name} is a buffer"),
        }
    }

    /// The buffer that an argument is, on a device.
    ///
    /// # Errors
    /// If the device has no memory for it, or has failed.
    pub(crate) fn buffer<T: Number>(&self, device: &Device, name: &str) -> Result<Buffer<T>, Error> {
        match self.contents(name) {
            Contents::Buffer { shape, values: None } => device.uninitialized(shape.iter().product()),
            Contents::Buffer { values: Some(values), .. } => {
                let values: Vec<T> = values.iter().map(|&value| T::from_f64(value)).collect();
                device.buffer_from_slice(&values)
            }
            Contents::Value(_) => panic!("{name} is no buffer"),
        }
    }
}

/// A case in JSON, with the grid, block and arguments of a launch file. Whole numbers have no fraction there.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { grid, block, arguments, out, expected, tolerance } = self;
        let arguments: Vec<String> = arguments.iter().map(Argument::to_string).collect();
        write!(f, r#"{{"grid": {grid:?}, "block": {block:?}, "arguments": [{}], "#, arguments.join(", "))?;
        write!(f, r#""out": "{out}", "expected": {}, "tolerance": {tolerance:?}}}"#, json_array(expected))
    }
}

/// An argument in JSON, as in a launch file.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"name": "{}", "type": "{}", "#, self.name, self.r#type)?;
        match &self.contents {
            Contents::Value(value) => write!(f, r#""value": {value}}}"#),
            Contents::Buffer { shape, values } => {
                let values = values.as_deref().map_or_else(|| r#""unwritten""#.to_string(), json_array);
                write!(f, r#""shape": {shape:?}, "values": {values}}}"#)
            }
        }
    }
}

fn json_array(values: &[f64]) -> String {
    format!("[{}]", values.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))
}

/// A type of a case's arguments.
pub(crate) trait Number: Element + Into<f64> {
    fn from_f64(value: f64) -> Self;
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Number for $number {
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

numbers! { i32 u32 f32 }

/// A kernel with its parameters: each is a `value`, or a buffer that it reads or writes.
macro_rules! kernel {
    ($module:ident :: $kernel:ident ($($name:ident: $use:ident $type:ident),*)) => {
        Kernel::new(stringify!($kernel), |device, case| {
            $(kernel!(@let $use $name: $type, device, case);)*
            device.launch(&$module::$kernel, case.config(), ($(kernel!(@pass $use $name),)*))?;
            let mut found = cuda_std::host_std::vec::Vec::new();
            $(kernel!(@result $use $name, found);)*
            Ok(found)
        })
    };
    (@let value $name:ident: $type:ident, $device:ident, $case:ident) => {
        let $name: $type = $case.value(stringify!($name));
    };
    (@let read $name:ident: $type:ident, $device:ident, $case:ident) => {
        let $name = $case.buffer::<$type>($device, stringify!($name))?;
    };
    (@let write $name:ident: $type:ident, $device:ident, $case:ident) => {
        let mut $name = $case.buffer::<$type>($device, stringify!($name))?;
    };
    (@pass value $name:ident) => { $name };
    (@pass read $name:ident) => { &$name };
    (@pass write $name:ident) => { &mut $name };
    (@result write $name:ident, $found:ident) => {
        $found.extend($name.to_vec()?.into_iter().map(|value| -> f64 { value.into() }));
    };
    (@result $use:ident $name:ident, $found:ident) => {};
}

pub(crate) use kernel;

/// Calls a macro with the puzzles: each with its parameters, its sizes, and the kinds of its wrong versions' errors.
macro_rules! for_each_puzzle {
    ($callback:ident) => {
        $callback! {
            map(x: read i32, out: write i32),
                [12, 4, 8, 48], [map_bug_1: "wrong result"];
            double(x: write i32),
                [10, 0, 1, 3, 4, 5, 50], [double_bug_1: "out of bounds", double_bug_2: "out of bounds"];
            zip(a: read i32, b: read i32, out: write i32),
                [10, 0, 1, 3, 4, 5, 50], [zip_bug_1: "out of bounds"];
            saxpy(a: value i32, x: read i32, y: write i32),
                [12, 0, 1, 7, 8, 9, 50], [saxpy_bug_1: "race", saxpy_bug_2: "out of bounds"];
            broadcast(a: read i32, b: read i32, out: write i32),
                [5, 0, 1, 2, 3, 4, 9], [broadcast_bug_1: "wrong result"];
            add_row(x: write i32, b: read i32, rows: value u32, columns: value u32),
                [5, 0, 1, 2, 3, 4, 9], [add_row_bug_1: "out of bounds"];
            pool(x: read i32, out: write i32),
                [9, 0, 1, 2, 7, 8, 10, 50], [pool_bug_1: "out of bounds", pool_bug_2: "wrong result"];
            histogram(values: read u32, counts: write u32),
                [10, 0, 1, 3, 4, 5, 50], [histogram_bug_1: "race", histogram_bug_2: "race", histogram_bug_3: "race"];
            neighbors(x: read i32, out: write i32),
                [10, 0, 1, 3, 4, 5, 50], [neighbors_bug_1: "uninitialized read"];
            dot(x: read i32, y: read i32, out: write i32),
                [10, 0, 1, 3, 4, 5, 50], [dot_bug_1: "race", dot_bug_2: "uninitialized read"];
            convolve(x: read i32, w: read i32, out: write i32),
                [10, 0, 1, 2, 3, 4, 5, 50], [convolve_bug_1: "barrier divergence", convolve_bug_2: "out of bounds"];
            tree(x: read i32, out: write i32),
                [13, 0, 1, 7, 8, 9, 50], [tree_bug_1: "barrier divergence", tree_bug_2: "race"];
            prefix_sum(x: read i32, out: write i32),
                [8, 0, 1, 7, 9, 50], [prefix_sum_bug_1: "race"];
            row_sums(x: read i32, out: write i32, columns: value u32),
                [6, 0, 1, 3, 4, 5, 50], [row_sums_bug_1: "wrong result"];
            shuffle_sum(x: read i32, out: write i32),
                [40, 0, 1, 31, 32, 33, 100], [shuffle_sum_bug_1: "missing lanes"];
            transpose(x: read i32, out: write i32, rows: value u32, columns: value u32),
                [5, 0, 1, 3, 4, 9], [transpose_bug_1: "race", transpose_bug_2: "out of bounds"];
            product(a: read i32, b: read i32, out: write i32, rows: value u32, inner: value u32, columns: value u32),
                [3, 0, 1, 2, 4, 5, 9], [product_bug_1: "wrong result"];
            product_by_tiles(x: read i32, out: write i32, rows: value u32, columns: value u32),
                [3, 0, 1, 2, 4, 5, 9], [product_by_tiles_bug_1: "race", product_by_tiles_bug_2: "barrier divergence"];
            product_double_buffered(x: read i32, out: write i32, rows: value u32, columns: value u32),
                [3, 0, 1, 2, 4, 5, 9], [product_double_buffered_bug_1: "race"];
            softmax(x: read f32, out: write f32, columns: value u32),
                [5, 1, 3, 4, 7, 8], [softmax_bug_1: "race"];
        }
    };
}
pub(crate) use for_each_puzzle;

/// Decimal digits of π, e and √2.
const DIGITS: [&str; 3] = [
    "3141592653589793238462643383279502884197",
    "2718281828459045235360287471352662497757",
    "1414213562373095048801688724209698078569",
];

/// Digits of one of three numbers, and beyond them values from −9 to 9 without a pattern.
fn list(which: usize, count: usize) -> Vec<i32> {
    let digits = DIGITS[which].bytes().map(|digit| i32::from(digit - b'0'));
    let mixed = |i: usize| ((i + 100 * which) as u32).wrapping_mul(2_654_435_761) >> 8;
    digits.chain((DIGITS[which].len()..).map(|i| (mixed(i) % 19) as i32 - 9)).take(count).collect()
}

fn f64s<T: Number>(values: &[T]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// A buffer with these elements.
fn buffer<T: Number>(name: &'static str, shape: &[usize], values: &[T]) -> Argument {
    let contents = Contents::Buffer { shape: shape.to_vec(), values: Some(f64s(values)) };
    Argument { name, r#type: type_name::<T>(), contents }
}

/// A buffer `out` whose elements are not written yet.
fn out<T: Number>(shape: &[usize]) -> Argument {
    let contents = Contents::Buffer { shape: shape.to_vec(), values: None };
    Argument { name: "out", r#type: type_name::<T>(), contents }
}

/// A size, such as a number of rows.
fn length(name: &'static str, value: usize) -> Argument {
    Argument { name, r#type: "u32", contents: Contents::Value(value as f64) }
}

/// A case of integers in a grid of this many blocks.
fn case(grid: [usize; 2], block: [usize; 2], arguments: Vec<Argument>, out: &'static str, expected: &[i32]) -> Case {
    let three = |[x, y]: [usize; 2]| [x.max(1) as u32, y.max(1) as u32, 1];
    Case { grid: three(grid), block: three(block), arguments, out, expected: f64s(expected), tolerance: 0.0 }
}

/// A case in blocks of 4 threads with a thread for each of `count` elements.
fn line(count: usize, arguments: Vec<Argument>, out: &'static str, expected: &[i32]) -> Case {
    case([count.div_ceil(THREADS), 1], [THREADS, 1], arguments, out, expected)
}

/// A case in blocks of `side` × `side` threads with a thread for each element of a matrix.
fn plane((rows, columns): (usize, usize), side: usize, arguments: Vec<Argument>, expected: &[i32]) -> Case {
    case([columns.div_ceil(side), rows.div_ceil(side)], [side, side], arguments, "out", expected)
}

/// Sums of each `chunk` elements; one sum if there are none.
fn sums(x: &[i32], chunk: usize) -> Vec<i32> {
    if x.is_empty() { vec![0] } else { x.chunks(chunk).map(|chunk| chunk.iter().sum()).collect() }
}

pub(crate) fn map(size: usize) -> Case {
    let x = list(0, size);
    let expected: Vec<i32> = x.iter().map(|x| x + 10).collect();
    line(size, vec![buffer("x", &[size], &x), out::<i32>(&[size])], "out", &expected)
}

pub(crate) fn double(size: usize) -> Case {
    let x = list(0, size);
    let expected: Vec<i32> = x.iter().map(|x| 2 * x).collect();
    line(size, vec![buffer("x", &[size], &x)], "x", &expected)
}

pub(crate) fn zip(size: usize) -> Case {
    let (a, b) = (list(0, size), list(1, size));
    let expected: Vec<i32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    line(size, vec![buffer("a", &[size], &a), buffer("b", &[size], &b), out::<i32>(&[size])], "out", &expected)
}

pub(crate) fn saxpy(size: usize) -> Case {
    let (x, y) = (list(0, size), list(1, size));
    let expected: Vec<i32> = x.iter().zip(&y).map(|(x, y)| 2 * x + y).collect();
    let a = Argument { name: "a", r#type: "i32", contents: Contents::Value(2.0) };
    line(2 * THREADS, vec![a, buffer("x", &[size], &x), buffer("y", &[size], &y)], "y", &expected)
}

pub(crate) fn broadcast(size: usize) -> Case {
    let (rows, columns) = (size, size / 2 + 1);
    let (a, b) = (list(0, rows), list(1, columns));
    let expected: Vec<i32> = a.iter().flat_map(|a| b.iter().map(move |b| a + b)).collect();
    let arguments = vec![buffer("a", &[rows], &a), buffer("b", &[columns], &b), out::<i32>(&[rows, columns])];
    plane((rows, columns), TILE, arguments, &expected)
}

pub(crate) fn add_row(size: usize) -> Case {
    let (rows, columns) = (size, size / 2 + 1);
    let (x, b) = (list(0, rows * columns), list(1, columns));
    let expected: Vec<i32> = x.iter().zip(b.iter().cycle()).map(|(x, b)| x + b).collect();
    let matrices = [buffer("x", &[rows, columns], &x), buffer("b", &[columns], &b)];
    let arguments = matrices.into_iter().chain([length("rows", rows), length("columns", columns)]);
    line(rows * columns, arguments.collect(), "x", &expected)
}

pub(crate) fn pool(size: usize) -> Case {
    let x = list(0, size);
    let expected: Vec<i32> =
        x.chunks(2).map(|pair| if pair.len() == 2 { pair[0].max(pair[1]) } else { pair[0] }).collect();
    line(expected.len(), vec![buffer("x", &[size], &x), out::<i32>(&[expected.len()])], "out", &expected)
}

pub(crate) fn histogram(size: usize) -> Case {
    let values: Vec<u32> = list(0, size).into_iter().map(|value| value.unsigned_abs() % BINS as u32).collect();
    let mut expected = vec![0; BINS];
    values.iter().for_each(|&value| expected[value as usize] += 1);
    line(size, vec![buffer("values", &[size], &values), buffer("counts", &[BINS], &[0_u32; BINS])], "counts", &expected)
}

pub(crate) fn neighbors(size: usize) -> Case {
    let x = list(0, size);
    let expected: Vec<i32> = (0..size).map(|i| x[i.saturating_sub(1)..size.min(i + 2)].iter().sum()).collect();
    line(size, vec![buffer("x", &[size], &x), out::<i32>(&[size])], "out", &expected)
}

pub(crate) fn dot(size: usize) -> Case {
    let (x, y) = (list(0, size), list(1, size));
    let products: Vec<i32> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
    let expected = sums(&products, THREADS);
    let arguments = vec![buffer("x", &[size], &x), buffer("y", &[size], &y), out::<i32>(&[expected.len()])];
    line(size, arguments, "out", &expected)
}

pub(crate) fn convolve(size: usize) -> Case {
    let (x, w) = (list(0, size), [1, 2, -1]);
    let window = |i: usize| (0..WEIGHTS.min(size - i)).map(|k| w[k] * x[i + k]).sum();
    let expected: Vec<i32> = (0..size).map(window).collect();
    line(size, vec![buffer("x", &[size], &x), buffer("w", &[WEIGHTS], &w), out::<i32>(&[size])], "out", &expected)
}

pub(crate) fn tree(size: usize) -> Case {
    let x = list(0, size);
    let expected = sums(&x, TREE);
    let arguments = vec![buffer("x", &[size], &x), out::<i32>(&[expected.len()])];
    case([expected.len(), 1], [TREE, 1], arguments, "out", &expected)
}

pub(crate) fn prefix_sum(size: usize) -> Case {
    let x = list(0, size);
    let expected: Vec<i32> = (0..size).map(|i| x[i / TREE * TREE..=i].iter().sum()).collect();
    let arguments = vec![buffer("x", &[size], &x), out::<i32>(&[size])];
    case([size.div_ceil(TREE), 1], [TREE, 1], arguments, "out", &expected)
}

/// Rows of `row_sums` and `softmax`.
const ROWS: usize = 3;

pub(crate) fn row_sums(size: usize) -> Case {
    let x = list(0, ROWS * size);
    let expected: Vec<i32> = (0..ROWS).map(|row| x[row * size..(row + 1) * size].iter().sum()).collect();
    let arguments = vec![buffer("x", &[ROWS, size], &x), out::<i32>(&[ROWS]), length("columns", size)];
    case([ROWS, 1], [THREADS, 1], arguments, "out", &expected)
}

pub(crate) fn shuffle_sum(size: usize) -> Case {
    let x = list(0, size);
    let expected = sums(&x, 32);
    let arguments = vec![buffer("x", &[size], &x), out::<i32>(&[expected.len()])];
    case([expected.len(), 1], [32, 1], arguments, "out", &expected)
}

pub(crate) fn transpose(size: usize) -> Case {
    let (rows, columns) = (size, size / 2 + 1);
    let x = list(0, rows * columns);
    let expected: Vec<i32> =
        (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| x[i * columns + j]).collect();
    let matrices = [buffer("x", &[rows, columns], &x), out::<i32>(&[columns, rows])];
    let arguments = matrices.into_iter().chain([length("rows", rows), length("columns", columns)]);
    plane((rows, columns), SIDE, arguments.collect(), &expected)
}

pub(crate) fn product(size: usize) -> Case {
    let (rows, inner, columns) = (size, size + 1, size / 2 + 1);
    let (a, b) = (list(0, rows * inner), list(1, inner * columns));
    let element = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum::<i32>();
    let expected: Vec<i32> = (0..rows * columns).map(|cell| element(cell / columns, cell % columns)).collect();
    let arguments = vec![
        buffer("a", &[rows, inner], &a),
        buffer("b", &[inner, columns], &b),
        out::<i32>(&[rows, columns]),
        length("rows", rows),
        length("inner", inner),
        length("columns", columns),
    ];
    plane((rows, columns), TILE, arguments, &expected)
}

pub(crate) fn product_by_tiles(size: usize) -> Case {
    let (rows, columns) = (size, size + 1);
    let x = list(0, rows * columns);
    let element = |i: usize, j: usize| (0..columns).map(|k| x[i * columns + k] * x[j * columns + k]).sum::<i32>();
    let expected: Vec<i32> = (0..rows * rows).map(|cell| element(cell / rows, cell % rows)).collect();
    let matrices = [buffer("x", &[rows, columns], &x), out::<i32>(&[rows, rows])];
    let arguments = matrices.into_iter().chain([length("rows", rows), length("columns", columns)]);
    plane((rows, rows), TILE, arguments.collect(), &expected)
}

pub(crate) fn product_double_buffered(size: usize) -> Case {
    product_by_tiles(size)
}

pub(crate) fn softmax(size: usize) -> Case {
    assert!((1..=ROW).contains(&size), "softmax has 1 to {ROW} columns, got {size}");
    let x: Vec<f32> = list(0, ROWS * size).into_iter().map(|value| value as f32).collect();
    let mut expected = Vec::new();
    for row in x.chunks(size) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> = row.iter().map(|&value| f64::from(value - largest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        expected.extend(powers.iter().map(|power| power / sum));
    }
    let arguments = vec![buffer("x", &[ROWS, size], &x), out::<f32>(&[ROWS, size]), length("columns", size)];
    Case { expected, tolerance: 1e-6, ..case([ROWS, 1], [THREADS, 1], arguments, "out", &[]) }
}
