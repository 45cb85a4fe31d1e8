//! Each pair in docs/numpy-to-ndarray.md has the same result in both languages.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use ndarray::{Array1, Array2, ArrayBase, Axis, Data, Ix1, Ix2, Zip, array, concatenate, s};
use serde_json::{Value, json};

/// A row of the page, and its results with ndarray and NumPy.
struct Pair {
    numpy: &'static str,
    /// The code without spaces.
    ndarray: String,
    found: Value,
    /// NumPy's result.
    expected: Value,
    /// Whether both expressions change `a`.
    is_change: bool,
}

/// A result as JSON.
trait Shown {
    fn shown(&self) -> Value;
}

macro_rules! shown {
    ($($number:ty),*) => { $(impl Shown for $number { fn shown(&self) -> Value { json!(self) } })* };
}
shown!(f64, f32, i32, i64, usize, bool, (usize, usize), Vec<f64>);

impl<T: Shown, S: Data<Elem = T>> Shown for ArrayBase<S, Ix1> {
    fn shown(&self) -> Value {
        self.iter().map(Shown::shown).collect()
    }
}

impl<T: Shown, S: Data<Elem = T>> Shown for ArrayBase<S, Ix2> {
    fn shown(&self) -> Value {
        self.rows().into_iter().map(|row| row.shown()).collect()
    }
}

fn without_spaces(code: &str) -> String {
    code.split_whitespace().collect()
}

macro_rules! values {
    ($($numpy:literal, $ndarray:expr => $expected:tt;)*) => {
        vec![$(Pair {
            numpy: $numpy,
            ndarray: without_spaces(stringify!($ndarray)),
            found: Shown::shown(&$ndarray),
            expected: json!($expected),
            is_change: false,
        }),*]
    };
}

macro_rules! changes {
    ($a:ident: $($numpy:literal, { $($ndarray:tt)* } => $expected:tt;)*) => {
        vec![$({
            let mut $a = $a.clone();
            $($ndarray)*;
            Pair {
                numpy: $numpy,
                ndarray: without_spaces(stringify!($($ndarray)*)),
                found: Shown::shown(&$a),
                expected: json!($expected),
                is_change: true,
            }
        }),*]
    };
}

/// The pairs with NumPy's results.
fn pairs() -> Vec<Pair> {
    let (a, b) = (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]]);
    let (v, n) = (array![10.0, 20.0, 30.0], array![7, -7]);
    let mut pairs = values! {
        "np.zeros((2, 3))", Array2::<f64>::zeros((2, 3)) => [[0, 0, 0], [0, 0, 0]];
        "np.ones(3)", Array1::<f64>::ones(3) => [1, 1, 1];
        "np.full((2, 3), 7.0)", Array2::from_elem((2, 3), 7.0) => [[7, 7, 7], [7, 7, 7]];
        "np.zeros_like(a)", Array2::<f64>::zeros(a.dim()) => [[0, 0, 0], [0, 0, 0]];
        "np.eye(3)", Array2::<f64>::eye(3) => [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
        "np.arange(6)", Array1::from_iter(0..6) => [0, 1, 2, 3, 4, 5];
        "np.linspace(0, 1, 5)", Array1::linspace(0.0, 1.0, 5) => [0, 0.25, 0.5, 0.75, 1];
        "np.fromfunction(lambda i, j: 10 * i + j, (2, 3))", Array2::from_shape_fn((2, 3), |(i, j)| 10 * i + j)
            => [[0, 1, 2], [10, 11, 12]];
        "a.astype(np.float32)", a.mapv(|x| x as f32) => [[1, 2, 3], [4, 5, 6]];
        "a.copy()", a.to_owned() => [[1, 2, 3], [4, 5, 6]];
        "a.shape", a.dim() => [2, 3];
        "a.shape[0]", a.nrows() => 2;
        "a.size", a.len() => 6;
        "a.T", a.t() => [[1, 4], [2, 5], [3, 6]];
        "a.reshape(3, 2)", a.to_shape((3, 2)).unwrap() => [[1, 2], [3, 4], [5, 6]];
        "a.ravel()", a.flatten() => [1, 2, 3, 4, 5, 6];
        "v[:, np.newaxis]", v.view().insert_axis(Axis(1)) => [[10], [20], [30]];
        "np.concatenate([a, b], axis=0)", concatenate![Axis(0), a, b] => [[1, 2, 3], [4, 5, 6], [6, 5, 4], [3, 2, 1]];
        "a[1, 2]", a[[1, 2]] => 6;
        "a[1]", a.row(1) => [4, 5, 6];
        "a[:, 1]", a.column(1) => [2, 5];
        "a[-1]", a.row(a.nrows() - 1) => [4, 5, 6];
        "a[:, 1:3]", a.slice(s![.., 1..3]) => [[2, 3], [5, 6]];
        "v[::2]", v.slice(s![..;2]) => [10, 30];
        "v[::-1]", v.slice(s![..;-1]) => [30, 20, 10];
        "a[[1, 0, 1]]", a.select(Axis(0), &[1, 0, 1]) => [[4, 5, 6], [1, 2, 3], [4, 5, 6]];
        "[row.sum() for row in a]", a.rows().into_iter().map(|row| row.sum()).collect::<Vec<_>>() => [6, 15];
        "a + b", &a + &b => [[7, 7, 7], [7, 7, 7]];
        "2 * a", 2.0 * &a => [[2, 4, 6], [8, 10, 12]];
        "a + v", &a + &v => [[11, 22, 33], [14, 25, 36]];
        "a * b", &a * &b => [[6, 10, 12], [12, 10, 6]];
        "a @ v", a.dot(&v) => [140, 320];
        "a @ b.T", a.dot(&b.t()) => [[28, 10], [73, 28]];
        "np.exp(-v)", (-&v).mapv(f64::exp) => [4.5399929762484854e-05, 2.061153622438558e-09, 9.357622968840175e-14];
        "np.where(a > 2, a, 0)", a.mapv(|x| if x > 2.0 { x } else { 0.0 }) => [[0, 0, 3], [4, 5, 6]];
        "np.hypot(a, b)", Zip::from(&a).and(&b).map_collect(|x, y| x.hypot(*y)) => [
            [6.082762530298219, 5.385164807134504, 5], [5, 5.385164807134504, 6.082762530298219]
        ];
        "a > 2", a.mapv(|x| x > 2.0) => [[false, false, true], [true, true, true]];
        "n // 2", n.mapv(|x| i64::div_euclid(x, 2)) => [3, -4];
        "a.sum()", a.sum() => 21;
        "a.sum(axis=0)", a.sum_axis(Axis(0)) => [5, 7, 9];
        "a.mean(axis=1)", a.mean_axis(Axis(1)).unwrap() => [2, 5];
        "a.std()", a.std(0.0) => 1.707825127659933;
        "a.max()", a.iter().copied().fold(f64::NEG_INFINITY, f64::max) => 6;
        "(a > 2).sum()", a.iter().filter(|x| **x > 2.0).count() => 4;
        "np.allclose(a, b)", Zip::from(&a).and(&b).all(|x, y| (x - y).abs() <= 1e-8 + 1e-5 * y.abs()) => false;
    };
    pairs.extend(changes());
    pairs
}

/// The pairs that change `a`.
fn changes() -> Vec<Pair> {
    let (a, b) = (array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], array![[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]]);
    let v = array![10.0, 20.0, 30.0];
    changes! { a:
        "a += b", { a += &b } => [[7, 7, 7], [7, 7, 7]];
        "a *= 2", { a *= 2.0 } => [[2, 4, 6], [8, 10, 12]];
        "a[0, 1] = 7", { a[[0, 1]] = 7.0 } => [[1, 7, 3], [4, 5, 6]];
        "a[1] = 0", { a.row_mut(1).fill(0.0) } => [[1, 2, 3], [0, 0, 0]];
        "a[1] = v", { a.row_mut(1).assign(&v) } => [[1, 2, 3], [10, 20, 30]];
        "a[:, 0] -= 0.5", { a.column_mut(0).mapv_inplace(|x| x - 0.5) } => [[0.5, 2, 3], [3.5, 5, 6]];
        "a -= 0.1 * b", { a.scaled_add(-0.1, &b) } => [[0.4, 1.5, 2.6], [3.7, 4.8, 5.9]];
    }
}

/// Whether two results are equal up to rounding; 1 equals 1.0.
fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b)),
        (Value::Number(a), Value::Number(b)) => {
            let [a, b] = [a, b].map(|number| number.as_f64().unwrap());
            (a - b).abs() <= 1e-14 * a.abs()
        }
        _ => a == b,
    }
}

/// The rows of the page's tables: NumPy's code, and ndarray's without spaces.
fn rows() -> BTreeSet<(String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/numpy-to-ndarray.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `"));
    rows.map(|(numpy, ndarray)| (numpy.to_owned(), without_spaces(&ndarray.replace("\\|", "|")))).collect()
}

#[test]
fn each_pair_of_the_page_has_one_result() {
    let pairs = pairs();
    let tested: BTreeSet<_> = pairs.iter().map(|pair| (pair.numpy.to_owned(), pair.ndarray.clone())).collect();
    assert_eq!(rows(), tested);
    for Pair { numpy, ndarray, found, expected, .. } in &pairs {
        assert!(are_equal(found, expected), "{ndarray} is {found}, and {numpy} is {expected}");
    }
}

#[test]
fn numpy_has_the_results_that_ndarray_is_compared_with() {
    let Some(python) = test_support::python_with_numpy() else { return };
    const START: &str = "import json, numpy as np\n\
        def shown(code, is_change):\n    \
            a, b = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]])\n    \
            v, n = np.array([10.0, 20.0, 30.0]), np.array([7, -7])\n    \
            names = dict(np=np, a=a, b=b, v=v, n=n)\n    \
            value = exec(code, names) or names['a'] if is_change else eval(code, names)\n    \
            print(json.dumps(np.asarray(value).tolist()))\n";
    let pairs = pairs();
    let mut script = START.to_owned();
    for Pair { numpy, is_change, .. } in &pairs {
        script.push_str(&format!("shown({numpy:?}, {})\n", if *is_change { "True" } else { "False" }));
    }
    let output = Command::new(python).args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let results: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(results.len(), pairs.len());
    for (Pair { numpy, expected, .. }, result) in pairs.iter().zip(results) {
        assert!(are_equal(&result, expected), "{numpy} is {result}, expected {expected}");
    }
}
