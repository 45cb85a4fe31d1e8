//! What is wrong, or not known, is refused in one line with its place.

#[allow(dead_code, reason = "this test runs no kernel")]
mod support;

use support::compile;

/// Lines of a kernel's body, of which the second one (line 5 of the file) is refused, and a part of the reason.
const BODIES: [(&str, &str); 68] = [
    ("y[i] = z;", "`z` is not known here"),
    ("y[i] = x[i] + 1;", "this is an integer, where `f32` is needed"),
    ("y[i] = n;", "this is `u32`, where `f32` is needed"),
    ("y[n] = 1.0;", "add `as usize`"),
    ("y[i as u32] = 1.0;", "add `as usize`"),
    ("i += 1;", "`i` is not mutable: declare it as `let mut i`"),
    ("x[i] = 1.0;", "cannot be assigned"),
    ("let a: u32 = i;", "this is `usize`, where `u32` is needed"),
    ("let a = 300_u8;", "300 is no `u8`"),
    ("let a: i8 = 128;", "128 is no `i8`"),
    ("let a = -1_u32;", "-1 is no `u32`"),
    ("let a = -n;", "which has no sign"),
    ("let a = !1.0;", "this operator is not known for a float"),
    ("let a = n / 0;", "divides by zero"),
    ("let a = 4_u32 - 5;", "does not fit its type"),
    ("let a = n << 32;", "shifts by all bits or more"),
    ("let a = n << 1.0;", "this operator is not known"),
    ("let a = x[i] & 1.0;", "this operator is not known"),
    ("if n { }", "this is `u32`, where `bool` is needed"),
    ("if x[i] < n { }", "this is `u32`, where `f32` is needed"),
    ("let a = if n > 1 { 1 } else { 1.0 };", "this is a float, where an integer is needed"),
    ("let a = if n > 1 { 1 };", "this is an integer, where no value is needed"),
    ("let a;", "give it one"),
    ("let (a, b) = (1, 2, 3);", "these are 2 variables"),
    ("let Some(a) = n else { return };", "is not known here"),
    ("let a = match n { 0 => 1, 1 => 2 };", "the last arm of `match`"),
    ("let a = match n { 0 => 1, k => k };", "`k` is not known"),
    ("if let 1 = n { }", "`if let`"),
    ("let a = \"text\";", "texts and characters"),
    ("let a = 'c';", "texts and characters"),
    ("let a = n as char;", "`char` is not known"),
    ("let a = n as bool;", "to numbers only"),
    ("let a = true as f32;", "cannot become"),
    ("let a: u128 = 1;", "`u128` is not known"),
    ("let a = 1_u128;", "8 to 64 bits"),
    ("let a = 99999999999999999999;", "too large"),
    ("let a = u8::from(n);", "write `as`"),
    ("let a = x.get(i, i);", "this takes 1 argument, not 2"),
    ("y.set(i);", "this takes 2 arguments, not 1"),
    ("y.push(1.0);", "`push` of `GlobalMut<f32>` is not known"),
    ("let a = n.sin();", "`sin` of `u32` is not known"),
    ("let a = 1.count_ones();", "write it, as in `1_u32`"),
    ("let a = thread::warp_number();", "`thread::warp_number` is not known"),
    ("let a = warp::sum(n);", "`warp::sum` is not known"),
    ("println!(\"{n}\");", "`println!` is not known"),
    ("assert!(n > 1);", "`assert!` is not known"),
    ("unsafe { };", "`unsafe` is not known"),
    ("let a = vec![1];", "`vec!` is not known"),
    ("for a in x.iter() { }", "`for` is known here over a range"),
    ("for a in [1, 2].iter().rev() { }", "only a range is reversed"),
    ("for (a, b) in [1, 2].iter().zip([1, 2, 3]) { }", "have one length"),
    ("let a: [u32; 2] = core::array::from_fn(|k| { return });", "`return` is not known in this closure"),
    ("let a: [u32; 2] = core::array::from_fn(thread::index_1d);", "takes a closure of one index"),
    ("let [a, b] = [1, 2, 3];", "a pattern of"),
    ("let (a, (b, a)) = (1, (2, 3));", "`a` is in this pattern twice"),
    ("for a in [1, 2] { break 'a; }", "no such loop"),
    ("for a in 0.. { }", "both ends"),
    ("break;", "no such loop"),
    ("while n > 3 { break 'a; }", "no such loop"),
    ("return 1;", "where no value is needed"),
    ("let a = &x[1..3];", "a part of memory"),
    ("let f = |k: u32| { s += k; };", "`s` changes"),
    ("let a = outer(n);", "calls itself"),
    ("kernel(n, x, y);", "a kernel is launched, not called"),
    ("let a = root(x[i]);", "GpuFloat::sqrt(x)"),
    ("let a = [1, 2, 3][3];", "index 3 is outside of the array"),
    ("let a = shared_array![f32; 1 << 20];", "too large"),
    ("let a = y.atomic(i).compare_exchange(1.0, 2.0);", "is not known here"),
];

#[test]
fn bodies_are_refused_at_their_line() {
    let mut wrong = Vec::new();
    for (body, reason) in BODIES {
        let source = format!(
            "#[kernel]\npub fn kernel(n: u32, x: &[f32], y: GlobalMut<f32>) {{\n    let (i, mut s) = (0_usize, 1);\n    \
             {body}\n    s += n;\n    y[i] = x[i] + s as f32;\n}}\nfn outer(n: u32) -> u32 {{ inner(n) }}\n\
             fn inner(n: u32) -> u32 {{ outer(n) }}\nfn root(x: f32) -> f32 {{ x.sqrt() }}\n"
        );
        // The functions are in lines 9 to 11.
        let line = match body {
            "let a = outer(n);" => 10,
            "let a = root(x[i]);" => 11,
            _ => 5,
        };
        match compile(&source) {
            Ok(_) => wrong.push(format!("{body} is not refused")),
            Err(refusal) => {
                let is_it =
                    refusal.line == line && refusal.reason.contains(reason) && !refusal.to_string().contains('\n');
                if !is_it {
                    wrong.push(format!("{body}: {refusal}, not line {line} and {reason}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whole files, with the line and a part of the reason.
const FILES: [(&str, u32, &str); 16] = [
    ("#[kernel]\npub fn other() {}", 0, "there is no kernel `kernel`"),
    ("pub fn kernel() {}", 0, "there is no kernel `kernel`"),
    ("#[kernel]\npub fn kernel( {}", 3, "bracket"),
    ("#[kernel]\npub fn kernel() {\n    let a = 1\n    let b = 2;\n}", 5, "expected `;`"),
    ("#[kernel]\npub fn kernel() {\n    let a = (1;\n}", 0, "bracket"),
    ("#[kernel]\npub fn kernel() {\n    let a = \"\n}", 0, "bracket"),
    ("#[kernel]\npub fn kernel(x: &mut [f32]) {}", 3, "GlobalMut<T>"),
    ("#[kernel]\npub fn kernel(x: &[bool]) {}", 3, "elements in memory"),
    ("#[kernel]\npub fn kernel(x: (u32, u32)) {}", 3, "a kernel's parameter"),
    ("#[kernel]\npub fn kernel() -> u32 { 1 }", 3, "returns nothing"),
    ("#[kernel]\npub fn kernel<T>(x: &[T]) {}", 3, "generic kernel"),
    ("const A: u32 = B;\nconst B: u32 = A;\n#[kernel]\npub fn kernel() { let a = A; }", 3, "defined by itself"),
    ("const A: u8 = 200 + 100;\n#[kernel]\npub fn kernel() { let a = A; }", 2, "does not fit"),
    ("const A: usize = 3 - 4;\n#[kernel]\npub fn kernel() { let a = shared_array![f32; A]; }", 2, "does not fit"),
    ("#[kernel]\npub fn kernel() {}\nfn a() {}\nfn a() {}", 5, "something else"),
    (
        "fn a(x: GlobalMut<f32>) { x[0] = 1.0; }\n#[kernel]\npub fn kernel(x: GlobalMut<f32>) { a(x); }",
        2,
        "x.set(i, value)",
    ),
];

#[test]
fn files_are_refused_at_their_line() {
    let mut wrong = Vec::new();
    for (source, line, reason) in FILES {
        match compile(source) {
            Ok(_) => wrong.push(format!("{source}\nis not refused")),
            Err(refusal) => {
                if (line != 0 && refusal.line != line) || !refusal.reason.contains(reason) {
                    wrong.push(format!("{source}\n{refusal}, not line {line} and {reason}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
