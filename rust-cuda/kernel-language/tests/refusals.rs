//! Invalid or unsupported code is rejected with a one-line error at its place.

#[allow(dead_code, reason = "this test runs no kernel")]
mod support;

use std::collections::BTreeMap;

use support::compile;

/// A kernel with these lines in its body, starting at line 5 of the file, and functions in lines 9
/// to 11.
fn with_body(body: &str) -> String {
    format!(
        "#[kernel]\npub fn kernel(n: u32, x: &[f32], y: GlobalMut<f32>) {{\n    let (i, mut s) = (0_usize, 1);\n    \
         {body}\n    s += n;\n    y[i] = x[i] + s as f32;\n}}\nfn outer(n: u32) -> u32 {{ inner(n) }}\n\
         fn inner(n: u32) -> u32 {{ outer(n) }}\nfn root(x: f32) -> f32 {{ x.sqrt() }}\n"
    )
}

/// Describes how a rejection differs from the expected place and reason, if it does.
fn difference(source: &str, place: (u32, u32), reason: &str) -> Option<String> {
    let Err(refusal) = compile(source) else { return Some("is not refused".to_owned()) };
    let found = (refusal.line, refusal.column);
    let file = if found == (0, 0) { "" } else { "src/lib.rs" };
    let is_it = found == place && refusal.reason.contains(reason) && refusal.file == file;
    let is_line = !refusal.to_string().contains('\n');
    (!is_it || !is_line).then(|| format!("{refusal} in {found:?}, not {reason} in {place:?}"))
}

/// Invalid lines for the second line of a kernel's body, with the column of the error and a part of
/// the reason.
const BODIES: [(&str, u32, &str); 206] = [
    ("y[i] = z;", 12, "`z` is not known here"),
    ("y[i] = x[i] + 1;", 19, "`x[i]` is `f32`, and `1` is an integer: write `x[i] + 1.0`"),
    ("y[i] = n;", 12, "this is `u32`, where `f32` is needed"),
    ("y[n] = 1.0;", 7, "an index is `usize`, and this is `u32`: write `n as usize`"),
    ("y[i as u32] = 1.0;", 7, "an index is `usize`, and this is `u32`: write `i as u32 as usize`"),
    ("i += 1;", 5, "`i` is not mutable: declare it as `let mut i`"),
    ("x[i] = 1.0;", 5, "`x` is only read: write `x: GlobalMut<f32>` in the kernel's parameters"),
    ("let a: u32 = i;", 18, "this is `usize`, where `u32` is needed"),
    ("let a = 300_u8;", 13, "300 is no `u8`"),
    ("let a: i8 = 128;", 17, "128 is no `i8`"),
    ("let a = -1_u32;", 13, "-1 is no `u32`"),
    ("let a = -n;", 14, "which has no sign"),
    ("let a = !1.0;", 13, "this operator is not known for a float"),
    ("let a = n / 0;", 13, "divides by zero"),
    ("let a = 4_u32 - 5;", 13, "does not fit its type"),
    ("let a = n << 32;", 13, "shifts by all bits or more"),
    ("let a = n << 1.0;", 13, "this operator is not known"),
    ("let a = x[i] & 1.0;", 13, "this operator is not known"),
    ("if n { }", 8, "this is `u32`, where `bool` is needed"),
    ("if x[i] < n { }", 15, "`x[i]` is `f32`, and `n` is `u32`: write `x[i] < n as f32`"),
    ("let a = if n > 1 { 1 } else { 1.0 };", 35, "this is a float, where an integer is needed"),
    ("let a = if n > 1 { 1 };", 24, "an `if` without `else` has no value: add `else { … }`"),
    ("let a;", 5, "a variable has a value here: write `let mut name = 0;`"),
    ("let (a, b) = (1, 2, 3);", 9, "these are 2 variables"),
    ("let a = match n { 0 => 1, 1 => 2 };", 13, "the last arm of `match`"),
    ("let a = \"text\";", 13, "texts and characters"),
    ("let a = 'c';", 13, "texts and characters"),
    ("let a = n as char;", 18, "`char` is not known"),
    ("let a = n as bool;", 13, "to numbers only"),
    ("let a = true as f32;", 13, "cannot become"),
    ("let a: u128 = 1;", 12, "`u128` is not known"),
    ("let a = 1_u128;", 13, "8 to 64 bits"),
    ("let a = 99999999999999999999;", 13, "too large"),
    ("let a = u8::from(n);", 13, "`u32` may not fit `u8`, so `from` is not known: write `n as u8`"),
    ("let a = x.get(i, i);", 15, "`get(usize)` takes 1 argument, not 2"),
    ("y.set(i);", 7, "`set(usize, f32)` takes 2 arguments, not 1"),
    ("y.push(1.0);", 7, "`push` of `GlobalMut<f32>` is not known"),
    ("let a = n.sin();", 15, "`sin` is a method of floats, and this is `u32`: write `(value as f32).sin(…)`"),
    ("let a = 1.count_ones();", 13, "write it, as in `1_u32`"),
    ("let a = thread::warp_number();", 13, "`thread::warp_number` is not known"),
    ("let a = warp::sum(n);", 13, "`warp::sum` is not known"),
    ("unsafe { };", 5, "`unsafe` is not known"),
    ("let a = vec![1];", 13, "a kernel has no `vec!`: write an array, `[0.0; 4]`"),
    ("for a in x.iter() { }", 14, "`for` is known here over a range"),
    ("for a in [1, 2].iter().rev() { }", 14, "only a range is reversed"),
    ("for (a, b) in [1, 2].iter().zip([1, 2, 3]) { }", 19, "have one length"),
    ("let a: [u32; 2] = core::array::from_fn(|k| { return });", 23, "`return` is not known in this closure"),
    ("let a: [u32; 2] = core::array::from_fn(thread::index_1d);", 23, "takes a closure of one index"),
    ("let [a, b] = [1, 2, 3];", 9, "a pattern of"),
    ("let (a, (b, a)) = (1, (2, 3));", 9, "`a` is in this pattern twice"),
    ("for a in [1, 2] { break 'a; }", 23, "no such loop"),
    ("for a in 0.. { }", 14, "both ends"),
    ("break;", 5, "no such loop"),
    ("while n > 3 { break 'a; }", 19, "no such loop"),
    ("return 1;", 12, "a kernel returns nothing: write the value to memory, then `return;`"),
    ("let a = &x[1..3];", 14, "a part of memory"),
    ("let f = |k: u32| { s += k; };", 24, "`s` changes"),
    ("let a = outer(n);", 27, "calls itself"),
    ("kernel(n, x, y);", 5, "a kernel is launched, not called"),
    ("let a = root(x[i]);", 28, "GpuFloat::sqrt(x)"),
    ("let a = [1, 2, 3][3];", 13, "index 3 is outside of the array"),
    ("let a = shared_array![f32; 1 << 20];", 13, "too large"),
    ("let a = 2 * x.get(i);", 13, "`2` is an integer, and `x.get(i)` is `f32`: write `2.0 * x.get(i)`"),
    ("let a = x.get(i) * 2;", 24, "`x.get(i)` is `f32`, and `2` is an integer: write `x.get(i) * 2.0`"),
    ("let a = x[i] * -2;", 20, "`x[i]` is `f32`, and `-2` is an integer: write `x[i] * -2.0`"),
    ("let a = 2.0 * n;", 19, "`2.0` is a float, and `n` is `u32`: write `2.0 * n as f32`"),
    ("let a = n * 2.5;", 13, "`n` is `u32`, and `2.5` is a float: write `n as f32 * 2.5`"),
    ("let a = 1 + 2.0;", 13, "`1` is an integer, and `2.0` is a float: write `1.0 + 2.0`"),
    ("if n < x.len() { }", 8, "`n` is `u32`, and `x.len()` is `usize`: write `(n as usize) < x.len()`"),
    ("if x.len() > n { }", 18, "`x.len()` is `usize`, and `n` is `u32`: write `x.len() > n as usize`"),
    ("if n + 1 < x.len() { }", 8, "`n + 1` is `u32`, and `x.len()` is `usize`: write `((n + 1) as usize) < x.len()`"),
    ("if i < n { }", 12, "`i` is `usize`, and `n` is `u32`: write `i < n as usize`"),
    ("let a = 1_i32 + n;", 13, "`1_i32` is `i32`, and `n` is `u32`: write `1_u32 + n`"),
    ("let mut t = 0.0; t += n;", 27, "`t` is a float, and `n` is `u32`: write `n as f32`"),
    ("y[i] += 1;", 13, "`y[i]` is `f32`, and `1` is an integer: write `1.0`"),
    ("y[i] += n;", 13, "`y[i]` is `f32`, and `n` is `u32`: write `n as f32`"),
    ("y[i] = n + 1;", 12, "this is `u32`, where `f32` is needed: write `(n + 1) as f32`"),
    ("y[n + 1] = 1.0;", 7, "an index is `usize`, and this is `u32`: write `(n + 1) as usize`"),
    ("let a: i32 = n;", 18, "this is `u32`, where `i32` is needed: write `n as i32`"),
    ("let a: f32 = 3;", 18, "this is an integer, where `f32` is needed: write `3.0`"),
    ("let a: u32 = 2.0;", 18, "this is a float, where `u32` is needed: write `2`"),
    ("let a: u32 = n > 3;", 18, "this is `bool`, where `u32` is needed: write `(n > 3) as u32`"),
    ("if n = 3 { }", 10, "`=` changes a variable: write `==` to compare"),
    ("while (n = 3) { }", 14, "`=` changes a variable: write `==` to compare"),
    ("a = 3;", 5, "`a` is not declared: write `let a = 3;`, or `let mut a` if it changes"),
    ("let total = 0; let a = totl + 1;", 28, "`totl` is not known here: did you mean `total`?"),
    ("let a = 0; a = 1;", 16, "`a` is not mutable: declare it as `let mut a` in line 5"),
    ("let f = |k: u32| { k = 1; k };", 24, "`k` is not mutable: write `mut k` where it is declared"),
    ("x.set(i, 1.0);", 7, "`x` is only read: write `x: GlobalMut<f32>` in the kernel's parameters"),
    ("let a = x.length();", 15, "`length` of `Global<f32>` is not known here: did you mean `x.len()`?"),
    ("let a = x.length;", 13, "`Global<f32>` has no such field: write `x.len()`"),
    ("let a = x.shape[0];", 13, "`Global<f32>` has no such field: write `x.len()`"),
    (
        "let a = y.atomic(0).add(1.0);",
        25,
        "`add` of `Atomic<f32>` is not known here: did you mean `y.atomic(0).fetch_add(…)`?",
    ),
    ("let a = n.mim(3);", 15, "`mim` of `u32` is not known here: did you mean `min`?"),
    ("let a = x[i].exp();", 18, "`exp` is not a method here: write `math::exp(x)` of an `f32`"),
    ("let a = x[i].sin();", 18, "`sin` is not known on this page: kernels that `cargo` builds have it"),
    ("let a = 1.0 + x;", 19, "`x` is memory: write one of its elements, as in `x[i]`"),
    ("let a = root(1.0, 2.0);", 13, "`root(x: f32)` takes 1 argument, not 2"),
    ("let a = thread::thread_idx_x(0);", 13, "`thread::thread_idx_x()` takes 0 arguments, not 1"),
    ("thread::synch_threads();", 5, "`thread::synch_threads` is not known here: did you mean `thread::sync_threads`?"),
    ("threads::sync_threads();", 5, "`threads` is not known here: did you mean `thread`?"),
    ("sync_threads();", 5, "`sync_threads` is not known here: write `thread::sync_threads`"),
    ("let a: int = 3;", 12, "`int` is no type of Rust: write `i32`, as in `let value: i32 = …;`"),
    ("let a: u23 = 3;", 12, "`u23` is not known here: did you mean `u32`?"),
    ("let a = [0; TILE];", 17, "`TILE` is not known here: declare it as `const TILE: usize = …;`"),
    ("let a = 1.0f;", 13, "`1.0f` is C: write `1.0` or `1.0_f32`"),
    ("let a = 1u;", 13, "`1u` is no number of Rust: write `1`, or `1_u32`"),
    ("let a = threadIdx.x;", 13, "`threadIdx.x` is CUDA C: write `thread::thread_idx_x()`"),
    ("y[threadIdx.x] = 1.0;", 5, "`y[threadIdx.x] = 1.0` is CUDA C: write `y[thread::thread_idx_x() as usize] = 1.0`"),
    ("__syncthreads();", 5, "`__syncthreads()` is CUDA C: write `thread::sync_threads()`"),
    ("atomicAdd(&y[i], 1.0);", 5, "`atomicAdd(&y[i], 1.0)` is CUDA C: write `y.atomic(i).fetch_add(1.0)`"),
    ("let a = max(n, 3);", 13, "`max(n, 3)` is CUDA C: write `n.max(3)`"),
    ("let a = sqrtf(x[i]);", 13, "`sqrtf(x[i])` is CUDA C: write `x[i].sqrt()`"),
    ("let a = cuda.grid(1);", 13, "`cuda.grid(1)` is Python: write `thread::index_1d() as usize`"),
    ("cuda.syncthreads();", 5, "`cuda.syncthreads()` is Python: write `thread::sync_threads()`"),
    ("cuda.atomic.add(y, i, 1.0);", 5, "`cuda.atomic.add(y, i, 1.0)` is Python: write `y.atomic(i).fetch_add(1.0)`"),
    ("let a = len(x);", 13, "`len(x)` is Python: write `x.len()`"),
    ("let a = True;", 13, "`True` is Python: write `true`"),
    ("if not (n > 1) { }", 8, "`not (n > 1)` is Python: write `!(n > 1)`"),
    ("let a = x[i] ** 2;", 18, "`**` is Python: write `x[i].powi(2)`"),
    ("float a = 1.0f;", 5, "`float a = …` is C: write `let a: f32 = 1.0;`, or `let mut a` if it changes"),
    ("float* p = x;", 5, "`float` is no type of Rust: write `f32`, as in `let value: f32 = …;`"),
    (
        "int a = threadIdx.x;",
        5,
        "`int a = …` is C: write `let a = thread::thread_idx_x() as usize;`, or `let mut a` if it changes",
    ),
    ("double a;", 5, "`double a` is C: write `let mut a: f64 = 0 as f64;`"),
    ("float a[4];", 5, "`float a[…]` is C: write `let mut a = [0 as f32; 4];`"),
    ("__shared__ float tile[4];", 5, "`__shared__` is CUDA C: write `let tile = shared_array![f32; 4];`"),
    ("__shared__ float tile[4][5];", 5, "`__shared__` is CUDA C: write `let tile = shared_array![[f32; 5]; 4];`"),
    ("extern __shared__ float tile[];", 5, "`__shared__` is CUDA C: write `let tile = dynamic_shared::<f32>();`"),
    ("for (int k = 0; k < n; k++) { }", 5, "`for (…; …; …)` is C: write `for k in 0..n { … }`"),
    ("for k in range(1, n): s += 1;", 5, "`range` is Python: write `for k in 1..n { … }`"),
    ("s++;", 5, "`++` is C: write `s += 1;`"),
    ("++s;", 5, "`++` is C: write `s += 1;`"),
    ("y[i]--;", 5, "`--` is C: write `y[i] -= 1;`"),
    ("let a = n > 2 ? 1 : 3;", 19, "`?` is CUDA C: write `if n > 2 { 1 } else { 3 }`"),
    ("let a = x[i] if n > 2 else 0.0;", 18, "`if` is Python: write `if n > 2 { x[i] } else { 0.0 }`"),
    ("if n > 1 and n < 3 { }", 14, "`and` is Python: write `n > 1 && n < 3`"),
    ("if n > 1 or n < 3 { }", 14, "`or` is Python: write `n > 1 || n < 3`"),
    ("if n > 1: s += 1;", 5, "a block is in braces: write `if n > 1 { … }`"),
    ("if (n > 1) s += 1;", 15, "the body of `if` is in braces: write `{` here, and `}` behind it"),
    ("elif n > 1 { }", 5, "`elif` is Python: write `else if condition { … }`, behind the `}` before"),
    ("let a = (float) n;", 13, "`(float)` is C: write `n as f32`"),
    ("if n as usize < x.len() { }", 8, "behind `as usize`, `<` begins a list of types: write `(n as usize) < …`"),
    ("let a = 1", 14, "`;` is missing at the end of this line: write `let a = 1;`"),
    ("y[i] = 1.0", 15, "`;` is missing at the end of this line: write `y[i] = 1.0;`"),
    ("y.set(i, 1.0)", 18, "`;` is missing at the end of this line: write `y.set(i, 1.0);`"),
    ("thread::sync_threads()", 27, "`;` is missing at the end of this line: write `thread::sync_threads();`"),
    ("s += 1 // one more", 11, "`;` is missing at the end of this line: write `s += 1;`"),
    ("return", 11, "`;` is missing at the end of this line"),
    ("let a = n.max(1) n;", 21, "`;` or an operator is missing between `)` and `n`"),
    ("let a: i32 = 3, b = 4;", 19, "write a `let` of its own for each variable, with `;` between them"),
    ("let a = ;", 13, "a value is missing between `=` and `;`"),
    ("let a = 1 + ;", 17, "a value is missing between `+` and `;`"),
    ("let = 3;", 9, "a name is missing behind `let`"),
    ("let in = 3;", 9, "`in` is a word of Rust: choose another name"),
    ("let a := 3;", 11, "write one `=` in place of `:=`"),
    ("return n;", 12, "a kernel returns nothing: write the value to memory, then `return;`"),
    ("pass", 5, "`pass` is Python: an empty block is `{}`"),
    ("println!(\"{} {}\", n);", 14, "the text has more `{}` than values behind it"),
    ("println!(\"{}\", n, i);", 23, "the text has no `{}` for this value"),
    ("println!(n);", 14, "the text is first, in quotes: write `\"{}\"` to show a value"),
    ("println!(\"{x[0]}\");", 14, "`{x[0]}` is no name: write `{}`, and `x[0]` behind the text"),
    ("println!(\"{\", n);", 14, "a brace without its pair: write `{{` or `}}` for a brace of the text"),
    ("println!(\"{k}\");", 14, "`k` is not known here: is it declared, or in a `use`?"),
    ("println!(\"{:1$}\", n);", 14, "widths and precisions of a kernel's message are constant: `{:8.3}`"),
    ("print!(\"{}\", n);", 5, "`print!` is not known in a kernel: write `println!(\"{}\", value)`"),
    ("let a = format!(\"{}\", n);", 13, "a kernel has no `format!`: print the values by `println!`"),
    ("assert!(n = 1);", 15, "`=` changes a variable: write `==` to compare"),
    ("assert!(n);", 13, "this is `u32`, where `bool` is needed: write `n != 0`"),
    ("assert_eq!(n);", 17, "two values are compared: write `,` and the second"),
    ("assert_eq!(n, 1.0);", 19, "this is a float, where `u32` is needed: write `1`"),
    ("unreachable!();", 5, "`unreachable!` is not known here: write `panic!(\"unreachable\")`"),
    ("if let Some(k) = n { }", 12, "this is a pattern of an `Option`, and the value is `u32`: it is always there"),
    ("let a = n.checked_sub(1)?;", 13, "`?` is not known here: write `let Some(value) = … else { return };`"),
    ("let a: Option<u32> = n;", 26, "this is `u32`, where `Option<u32>` is needed: write `Some(n)`"),
    ("let a = match n { 1 | k => 2 };", 27, "a pattern with `|` has no variables here: write two arms"),
    ("let a = match x { _ if n > 3 => 1 };", 13, "some values have no arm: write `_ => …` as the last arm of `match`"),
    ("let a = None;", 5, "the type of `a` is not known: write it, as in `let a: u32 = …;`"),
    (
        "let a = n.checked_sub(1).unwarp();",
        30,
        "`unwarp` of `Option<u32>` is not known here: did you mean `n.checked_sub(1).unwrap()`?",
    ),
    ("let a = Some(1, 2);", 13, "`Some(_)` takes 1 argument, not 2"),
    ("let a = x[i].pow(2);", 18, "`pow` of `f32` is not known here: did you mean `powi`?"),
    ("let a = outer_root(x[i]);", 13, "`outer_root` is not known here: is it declared, or in a `use`?"),
    (
        "let a = x[i] as f64 * x[i];",
        27,
        "`x[i] as f64` is `f64`, and `x[i]` is `f32`: write `x[i] as f64 * x[i] as f64`",
    ),
    (
        "let mut t = 0; t += x[i];",
        20,
        "`t` is an integer, and `x[i]` is `f32`: declare it with a float, as in `let mut t = 0.0;`",
    ),
    (
        "j = cuda.grid(1);",
        5,
        "`j` is not declared: write `let j = thread::index_1d() as usize;`, or `let mut j` if it changes",
    ),
    (
        "let a = y.atomic_add(0, 1.0);",
        15,
        "`atomic_add` of `GlobalMut<f32>` is not known here: did you mean `y.atomic(i).fetch_add(…)`?",
    ),
    (
        "let a: Vec<f32> = 3;",
        12,
        "a kernel has no `Vec`: write `[0.0; 4]` for a thread's own values, `&[f32]` or `GlobalMut<f32>` for buffers",
    ),
    (
        "let a = blockIdx.x * blockDim.x + threadIdx.x;",
        13,
        "`blockIdx.x * blockDim.x + threadIdx.x` is CUDA C: write `thread::index_1d() as usize`",
    ),
    (
        "let a = blockDim.y * blockIdx.y + threadIdx.y;",
        13,
        "`blockDim.y * blockIdx.y + threadIdx.y` is CUDA C: write `thread::index_2d().y as usize`",
    ),
    (
        "let a = __shfl_down_sync(0xffffffff, n, 16);",
        13,
        "`__shfl_down_sync(0xffffffff, n, 16)` is CUDA C: write `warp::shuffle_down(n, 16)`",
    ),
    (
        "printf(\"%d %f\\n\", n, x[i]);",
        5,
        "`printf(\"%d %f\\n\", n, x[i])` is CUDA C: write `println!(\"{} {}\", n, x[i])`",
    ),
    (
        "let a = cuda.shared.array(4, float32);",
        13,
        "`cuda.shared.array(4, float32)` is Python: write `shared_array![f32; 4]`",
    ),
    (
        "int a = blockIdx.x * blockDim.x + threadIdx.x;",
        5,
        "`int a = …` is C: write `let a = thread::index_1d() as usize;`, or `let mut a` if it changes",
    ),
    (
        "const unsigned int a = 3;",
        5,
        "`unsigned int a = …` is C: write `let a: u32 = 3;`, or `let mut a` if it changes",
    ),
    (
        "for (int k = threadIdx.x; k <= n; k += blockDim.x) { }",
        5,
        "`for (…; …; …)` is C: write `for k in (thread::thread_idx_x()..=n).step_by(thread::block_dim_x() as usize) { … }`",
    ),
    (
        "println!(\"{}\", x);",
        20,
        "a kernel prints numbers, bools and arrays of them, and this is `Global<f32>`: print its parts one by one",
    ),
    (
        "if let Some(k) = n.checked_sub(1) && n > 3 { }",
        8,
        "`let` is known here in `if let`: write one `if` in the other",
    ),
    (
        "while let Some(k) = n.checked_sub(1) { }",
        5,
        "`while let` is not known here: write `loop { let Some(value) = … else { break }; … }`",
    ),
    (
        "let Some(k) = n.checked_sub(1) else { s = 1; };",
        50,
        "the block of `else` must leave: end it with `return;`, `break;` or `continue;`",
    ),
    (
        "let a = n.checked_sub(1).map(|k| k + 1);",
        30,
        "`map` is not known here: write `match … { Some(value) => …, None => … }`",
    ),
    (
        "let a = n.checked_sub(1) + 3;",
        15,
        "this is `Option<u32>`, where `u32` is needed: write `n.checked_sub(1).unwrap_or(0)`",
    ),
    (
        "let a = 3 + n.checked_sub(1);",
        19,
        "this is `Option<u32>`, where `u32` is needed: write `n.checked_sub(1).unwrap_or(0)`",
    ),
    (
        "s = n.checked_sub(1);",
        11,
        "this is `Option<u32>`, where an integer is needed: write `n.checked_sub(1).unwrap_or(0)`",
    ),
    (
        "let a = match n.checked_sub(1) { Some(k) => k };",
        13,
        "some values have no arm: write arms for `Some(value)` and `None`, without `if`",
    ),
    (
        "let a = match n.checked_sub(1) { Some(3) => 1, None => 2 };",
        13,
        "some values have no arm: write arms for `Some(value)` and `None`, without `if`",
    ),
    (
        "let a = match n.checked_sub(1) { Some(k) if k > 1 => 1, None => 2 };",
        13,
        "some values have no arm: write arms for `Some(value)` and `None`, without `if`",
    ),
    (
        "let a = match (n > 1, n > 2) { (true, _) => 1, (_, true) => 2 };",
        13,
        "some values have no arm: write `_ => …` as the last arm of `match`",
    ),
];

#[test]
fn bodies_are_refused_at_their_place() {
    let mut wrong = Vec::new();
    for (body, column, reason) in BODIES {
        let line = match body {
            "let a = outer(n);" => 10,
            "let a = root(x[i]);" => 11,
            _ => 5,
        };
        wrong.extend(difference(&with_body(body), (line, column), reason).map(|found| format!("{body}: {found}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The suggested code in a reason, if it is a whole statement or the value of a body's
/// `let a = …;`.
fn code_to_write(body: &str, column: u32, reason: &str) -> Option<String> {
    let code = reason.split_once("write `")?.1.split_once('`')?.0;
    if code.contains('…') {
        return None;
    }
    match (code.ends_with(';'), body.starts_with("let a = ") && column == 13) {
        (true, _) => Some(code.to_owned()),
        (false, true) => Some(format!("let a = {code};")),
        _ => None,
    }
}

/// Suggested code that is rejected for another reason: a float has no step of 1.
const INCOMPLETE: [&str; 1] = ["y[i] -= 1;"];

#[test]
fn what_messages_say_to_write_compiles() {
    let written =
        BODIES.iter().filter_map(|(body, column, reason)| Some((body, code_to_write(body, *column, reason)?)));
    let (mut count, mut wrong) = (0, Vec::new());
    for (body, code) in written.filter(|(_, code)| !INCOMPLETE.contains(&&**code)) {
        count += 1;
        wrong.extend(compile(&with_body(&code)).err().map(|refusal| format!("{body}: {code}: {refusal}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 30, "{count}");
}

/// Whole files, each with the line, the column and a part of the reason.
const FILES: [(&str, u32, u32, &str); 42] = [
    ("#[kernel]\npub fn other() {}", 3, 8, "the kernel must be called `kernel`: write `pub fn kernel(…)` in this line"),
    ("#[kernel]\npub fn kernl() {}\n#[kernel]\npub fn other() {}", 3, 8, "the kernel must be called `kernel`"),
    (
        "#[kernel]\npub fn other() {\n    // write: kernel\n    // end\n}\n#[kernel]\npub fn kernal() {}",
        3,
        8,
        "the kernel must be called `kernel`",
    ),
    (
        "#[kernel]\npub fn a() {}\n    // write: kernel\n    // end\n#[kernel]\npub fn b() {}",
        4,
        5,
        "write `#[kernel]`, and `pub fn kernel(…) {` in the next line, above this one",
    ),
    ("#[kernel]\npub fn a() {}\n#[kernel]\npub fn b() {}", 0, 0, "there is no kernel `kernel`: write `#[kernel]`"),
    ("pub fn kernel() {}", 2, 8, "`kernel` is not marked as a kernel: write `#[kernel]` in the line above this one"),
    ("#[kernel]\npub fn kernel( {}", 3, 14, "this `(` is not closed: write `)` at its end"),
    (
        "#[kernel]\npub fn kernel() {\n    let a = 1\n    let b = 2;\n}",
        4,
        14,
        "`;` is missing at the end of this line: write `let a = 1;`",
    ),
    (
        "#[kernel]\npub fn kernel() {\n    let a = (1;\n}",
        4,
        13,
        "this `(` is not closed: write `)`, before the `}` in line 5",
    ),
    (
        "#[kernel]\npub fn kernel() {\n    let a = [1, (2];\n}",
        4,
        17,
        "this `(` is not closed: write `)` before the `]` in column 19",
    ),
    (
        "#[kernel]\npub fn kernel() {\n    if true {\n        let a = 1;\n}\n#[kernel]\npub fn b() {}",
        4,
        13,
        "this `{` is not closed: write `}` at its end",
    ),
    ("#[kernel]\npub fn kernel() {\n    let a = 1;\n    }\n}", 5, 5, "this `}` closes nothing: remove it"),
    ("#[kernel]\npub fn kernel()\n    let a = 1;\n}", 3, 16, "`{` is missing here, before the function's body"),
    ("#[kernel]\npub fn kernel() {\n    let a = \"\n}", 4, 13, "this text is not closed: write `\"` at its end"),
    ("#[kernel]\npub fn kernel() {\n    let a = \"}\n    let b = \"{\";\n}", 4, 13, "this text is not closed"),
    ("#[kernel]\npub fn kernel() {\n    let a = r#\"a\"\n}", 4, 13, "this text is not closed: write `\"` and its `#`"),
    ("#[kernel]\npub fn kernel() {\n    /* a /* b */\n}", 4, 5, "this comment is not closed: write `*/`"),
    (
        "#[kernel]\npub fn kernel() {\n    let a = ('(', '\\'', \"(\", 1 /* ( */); // (\n    'a: loop { break 'a; }\n    let b = [1;\n}",
        6,
        13,
        "this `[` is not closed",
    ),
    ("#[kernel]\npub fn kernel() {\n    let a = 'abc';\n}", 4, 13, "`'…'` is one character: write `\"…\"` for a text"),
    ("#[kernel]\npub fn kernel() {\n    let a = 2 × 3;\n}", 4, 15, "`×` is no character of Rust: write `*`"),
    ("#[kernel]\npub fn kernel() {\n    let a = 2 ` 3;\n}", 4, 15, "``` is not known here: remove it"),
    ("#[kernel]\npub fn kernel(x: &mut [f32]) {}", 3, 18, "GlobalMut<T>"),
    ("#[kernel]\npub fn kernel(x: &[bool]) {}", 3, 20, "elements in memory"),
    ("#[kernel]\npub fn kernel(x: (u32, u32)) {}", 3, 18, "a kernel's parameter"),
    ("#[kernel]\npub fn kernel(x: &[float]) {}", 3, 20, "`float` is no type of Rust: write `f32`"),
    (
        "#[kernel]\npub fn kernel(n: u32, float* x) {}",
        3,
        23,
        "`float* x` is C: write `x: &[f32]`, or `x: GlobalMut<f32>` if the kernel writes it",
    ),
    ("#[kernel]\npub fn kernel(int n) {}", 3, 15, "`int n` is C: write `n: i32`"),
    ("#[kernel]\npub fn kernel(x: &[f32] n: u32) {}", 3, 24, "`,` is missing between `]` and `n`"),
    ("#[kernel]\npub fn kernel(x &[f32]) {}", 3, 16, "`:` is missing between `x` and `&`"),
    ("#[kernel]\npub kernel() {}", 3, 5, "`fn` is missing: write `pub fn kernel(…)`"),
    ("#[kernel]\ndef kernel(x):\n    x[0] = 1", 3, 1, "`def` is not Rust: write `pub fn name("),
    ("__global__ void kernel(float* x) {}", 2, 1, "a function of CUDA C is here: write `#[kernel]`"),
    ("#[kernel]\npub fn kernel() -> u32 { 1 }", 3, 8, "returns nothing"),
    ("#[kernel]\npub fn kernel<T>(x: &[T]) {}", 3, 8, "generic kernel"),
    ("const A: u32 = B;\nconst B: u32 = A;\n#[kernel]\npub fn kernel() { let a = A; }", 3, 16, "defined by itself"),
    ("const A: u8 = 200 + 100;\n#[kernel]\npub fn kernel() { let a = A; }", 2, 15, "does not fit"),
    ("const A: usize = 3 - 4;\n#[kernel]\npub fn kernel() { let a = shared_array![f32; A]; }", 2, 18, "does not fit"),
    ("#[kernel]\npub fn kernel() {}\nfn a() {}\nfn a() {}", 5, 4, "something else"),
    (
        "fn a(x: GlobalMut<f32>) { x[0] = 1.0; }\n#[kernel]\npub fn kernel(x: GlobalMut<f32>) { a(x); }",
        2,
        27,
        "x.set(i, value)",
    ),
    (
        "fn two(a: u32, b: u32) -> u32 { a + b }\n#[kernel]\npub fn kernel(x: GlobalMut<u32>) { x[0] = two(1); }",
        4,
        43,
        "`two(a: u32, b: u32)` takes 2 arguments, not 1",
    ),
    (
        "#[kernel]\npub fn kernel(x: GlobalMut<u32>) {\n    let a = x\n    (1);\n}",
        4,
        14,
        "`;` is missing at the end of this line",
    ),
    (
        "#[kernel]\npub fn kernel(x: GlobalMut<u32>) {\n    return\n    x.set(0, 1);\n}",
        4,
        11,
        "`;` is missing at the end of this line",
    ),
];

#[test]
fn files_are_refused_at_their_place() {
    let mut wrong = Vec::new();
    for (source, line, column, reason) in FILES {
        wrong.extend(difference(source, (line, column), reason).map(|found| format!("{source}\n{found}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_import_of_all_names_hides_no_mistake() {
    let compiled = |parameter: &str, body: &str| {
        let source =
            format!("use cuda_std::prelude::*;\n#[kernel]\npub fn kernel(x: {parameter}) {{\n    {body}\n}}\n");
        let files = BTreeMap::from([("src/lib.rs".to_owned(), source)]);
        kernel_language::compile(&files, "kernel").map(|_| ()).map_err(|refusal| refusal.reason)
    };
    let body =
        "let Some(i) = thread::index_1d().checked_sub(1) else { return };\n    x.set(i as usize, warp::lane_id());";
    assert_eq!(compiled("GlobalMut<u32>", body), Ok(()));
    for (parameter, body, reason) in [
        ("GlobalMut<u32>", "let a = threadIdx.x;", "`threadIdx.x` is CUDA C: write `thread::thread_idx_x()`"),
        ("GlobalMut<u32>", "a = 3;", "`a` is not declared: write `let a = 3;`, or `let mut a` if it changes"),
        ("GlobalMut<u32>", "let total = 1; x.set(0, totl);", "`totl` is not known here: did you mean `total`?"),
        ("GlobalMut<u32>", "sync_threads();", "`sync_threads` is not known here: write `thread::sync_threads`"),
        ("GlobalMutt<u32>", "", "`GlobalMutt` is not known here: did you mean `GlobalMut`?"),
    ] {
        assert_eq!(compiled(parameter, body), Err(reason.to_owned()));
    }
}
