//! Untrusted sources are compiled or rejected, and the compiler always terminates.

#[allow(dead_code, reason = "this test runs no kernel")]
mod support;

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use support::compile;

/// Sources to mutate, with their kernels.
const SOURCES: [&str; 4] = [
    include_str!("../../seeded_bugs/src/lib.rs"),
    include_str!("../../test_kernels/src/teaching/reductions.rs"),
    include_str!("../../test_kernels/src/teaching/sorting.rs"),
    SPEAKING,
];

/// Patterns, messages and options.
const SPEAKING: &str = "use cuda_std::{GlobalMut, kernel, thread};
fn part(a: u32, b: u32) -> Option<(u32, bool)> {
    if a > b { Some((a, true)) } else { None }
}
#[kernel]
pub fn says(n: u32, x: &[f32], y: GlobalMut<f32>) {
    let i = thread::index_1d() as usize;
    let Some((a, is_large)) = part(n, 3) else { return };
    println!(\"{a} {:.3} {{{is_large}}} {:?}\", x[i], [1, 2, a]);
    assert!(i < x.len(), \"{i} {a}\");
    assert_eq!(a, n);
    y[i] = match (n.checked_sub(a), is_large) {
        (Some(0), _) => 1.0,
        (Some(1..=5), true) => x[i].powi(2),
        (Some(k), false) if k > 7 => k as f32,
        (Some(_), _) => 2.0,
        (None, large) => if large { 3.0 } else { panic!(\"{large}\") },
    };
    if let Some(d) = a.checked_rem(7) { y[i] += d as f32; }
}
";

/// After this time, a compilation counts as endless. Each takes less than a second.
const LIMIT: Duration = Duration::from_secs(120);

fn kernels(source: &str) -> Vec<String> {
    let after = source.split("#[kernel]\npub fn ").skip(1);
    after.filter_map(|text| Some(text.split_once('(')?.0.to_owned())).collect()
}

/// The words, numbers and punctuation in a text, with the spaces between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let end = match is_word(first) {
            true => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        parts.push(token);
        rest = after;
    }
    parts
}

/// Mutated texts: tokens are deleted, duplicated, swapped or replaced by others.
fn changed(source: &str, random: &mut ChaCha8Rng) -> String {
    let mut parts = tokens(source);
    for _ in 0..random.random_range(1..4) {
        let [at, other] = [(); 2].map(|()| random.random_range(0..parts.len()));
        match random.random_range(0..4) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts[other]),
            2 => parts.swap(at, other),
            _ => parts[at] = parts[other],
        }
    }
    parts.concat()
}

#[test]
fn changed_kernels_never_panic() {
    let count: usize = std::env::var("CHANGED_KERNELS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let mut random = ChaCha8Rng::seed_from_u64(test_support::seed(7));
    let (mut compiled, mut refused) = (0, 0);
    for index in 0..count {
        let source = SOURCES[index % SOURCES.len()];
        let kernels = kernels(source);
        let kernel = &kernels[random.random_range(0..kernels.len())];
        let files = BTreeMap::from([("src/lib.rs".to_owned(), changed(source, &mut random))]);
        match kernel_language::compile(&files, kernel) {
            Ok(_) => compiled += 1,
            Err(refusal) => {
                refused += 1;
                assert!(!refusal.to_string().contains('\n'), "{refusal}");
            }
        }
    }
    assert!(compiled > count / 10 && refused > count / 10, "{compiled} compiled, {refused} refused");
}

#[test]
fn deep_and_large_sources_are_refused() {
    let body = |text: &str| format!("#[kernel]\npub fn kernel(x: GlobalMut<u32>) {{\n{text}\n}}\n");
    let n = 20_000;
    let functions = |count: usize| {
        let calls = (1..count).map(|index| format!("fn f{index}() {{ f{0}(); f{0}(); }}\n", index - 1));
        format!("fn f0() {{}}\n{}", calls.collect::<String>())
    };
    let flags = |text: &str| vec![text; 40].join(", ");
    let tuples: String = (1..40).map(|index| format!("let a{index} = (a{0}, a{0});\n", index - 1)).collect();
    let constants: String = (1..40).map(|index| format!("const C{index}: u32 = C{0} ^ C{0};\n", index - 1)).collect();
    let sources = [
        body(&"(".repeat(n)),
        body(&format!("let a = {}1{};", "(".repeat(n), ")".repeat(n))),
        body(&format!("let a = {}1;", "!".repeat(n))),
        body(&format!("let a = {}1;", "-".repeat(n))),
        body(&format!("let a = {}1;", "&".repeat(n))),
        body(&format!("let a = 1{};", " + 1".repeat(n))),
        body(&format!("let a = x{};", ".y".repeat(n))),
        body(&format!("let a = x{};", "[0]".repeat(n))),
        body(&format!("let a = 1{};", " as u32".repeat(n))),
        body(&format!("{}{}", "{".repeat(n), "}".repeat(n))),
        body(&format!("{} {{ }}", "if true { } else ".repeat(n))),
        body(&format!("let a: {}u32 = 1;", "&".repeat(n))),
        body(&format!("let a = {}1;", "|| ".repeat(n))),
        body(&format!("let a = {}1;", "return ".repeat(n))),
        body(&format!("match 1_u32 {{ {} _ => 1 }};", "1 => 2, ".repeat(n))),
        body(&format!("let a = [0_u32; {}];", u64::MAX)),
        body("let a = [[[0_u64; 60000]; 60000]; 60000];"),
        body("let a = shared_array![[f32; 4294967296]; 4294967296];"),
        body(&format!("let a0 = 1;\n{tuples}")),
        format!("{}{}", functions(40), body("f39();")),
        format!("{}{}", functions(40), body("return; f39();")),
        format!("{}{}", functions(20), body("f19();")),
        body(&format!("let a = match ({}) {{ ({}) => 1, ({}) => 2 }};", flags("true"), flags("true"), flags("false"))),
        body(&format!("match 1_u32 {{ {}5 => 1, _ => 2 }};", "1 | ".repeat(n))),
        body(&format!("println!(\"{}\");", "{".repeat(n + 1))),
        body("println!(\"{:?}\", [0_u32; 1 << 18]);"),
        body(&format!("assert!({}1 > 2);", "!".repeat(n))),
        body(&format!("let a = {}1{};", "Some(".repeat(n), ")".repeat(n))),
        "x".repeat(1 << 21),
    ];
    for source in sources {
        let start = source[..source.len().min(100)].to_owned();
        let (sender, compiled) = mpsc::channel();
        // A compiler that does not terminate is abandoned with its thread.
        thread::spawn(move || sender.send(compile(&source).map(|_| ())));
        let refusal = compiled.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no end within {LIMIT:?}: {start}"));
        let refusal = refusal.expect_err(&start);
        assert!(!refusal.reason.is_empty() && !refusal.reason.contains('\n'), "{refusal}");
    }
    let source = format!("const C0: u32 = 1;\n{constants}{}", body("x[0] = C39;"));
    compile(&source).expect("each constant is computed once");
}
