//! Kernels print lines and panic with the same texts as with `cuda_std`.

#[allow(dead_code, reason = "this test has launches of its own")]
mod support;

use cuda_launch::LaunchConfig;
use ptx_interpreter::{Machine, Options, Uninitialised};
use support::compile;

/// Launches two blocks of two threads, with `i` from 0 to 3 and `x` = i · 1.5 − 1. Returns the
/// lines and the error.
fn launched(body: &str) -> (Vec<String>, Option<String>) {
    let source = format!(
        "fn halved(n: u32) -> Option<u32> {{\n    if n % 2 == 0 {{ Some(n / 2) }} else {{ None }}\n}}\n#[kernel]\n\
         pub fn kernel(x: &[f32], y: GlobalMut<f32>) {{\n    let i = thread::index_1d();\n    \
         let x = x[i as usize];\n    {body}\n    y[i as usize] = x;\n}}\n"
    );
    let compiled = compile(&source).unwrap_or_else(|refusal| panic!("{refusal}\n{source}"));
    let mut machine = Machine::new(&compiled.ptx).unwrap_or_else(|error| panic!("{error}\n{}", compiled.ptx));
    assert_eq!(machine.refused().map(|(_, error)| error.to_string()).next(), None, "{}", compiled.ptx);
    let x: Vec<u8> = (0..4).flat_map(|i| (i as f32 * 1.5 - 1.0).to_le_bytes()).collect();
    let [from, to] = [(); 2].map(|()| machine.allocate(16).unwrap());
    machine.memory().write(from, &x).unwrap();
    let parameters = [from, 4, to, 4].map(u64::to_le_bytes);
    let parameters: Vec<&[u8]> = parameters.iter().map(|bytes| &bytes[..]).collect();
    let options = Options { strict: true, uninitialised: Uninitialised::Error, ..Options::default() };
    let fault = machine.launch(options, "kernel", LaunchConfig::new(2, 2), &parameters).err();
    let lines = machine.take_printed().iter().map(ToString::to_string).collect();
    (lines, fault.map(|fault| fault.to_string()))
}

/// The lines of each thread in thread order.
fn lines(line: impl Fn(u32, f32) -> Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    for i in 0..4_u32 {
        let place = format!("block ({}, 0, 0), thread ({}, 0, 0)", i / 2, i % 2);
        all.extend(line(i, i as f32 * 1.5 - 1.0).into_iter().map(|line| format!("{place}: {line}")));
    }
    all
}

#[test]
fn lines_have_the_forms_of_std() {
    let body = r#"
    println!("i = {i}, x = {x:>8.3} {{{0:?}}}, {1:?}, {wide}", x as f64, i as i8 - 3, wide = i as u64 * 5_000_000_000);
    let (big, is_large) = (x as i64 * -3_000_000_000, x > 1.0);
    println!("{big} {is_large} {0:#06x} {0:e} {1:05} {name}", i as u16 + 255, i as i16 - 2, name = i as u8,);
    println!();
    println!("{:?} {:.1?}", [i, 7], [[x, 2.0], [0.5, -x]]);
    if i == 3 { println!("three") }"#;
    let expected = lines(|i, x| {
        let (big, is_large) = (x as i64 * -3_000_000_000, x > 1.0);
        let mut all = vec![
            format!(
                "i = {i}, x = {x:>8.3} {{{0:?}}}, {1:?}, {wide}",
                f64::from(x),
                i as i8 - 3,
                wide = u64::from(i) * 5_000_000_000
            ),
            format!("{big} {is_large} {0:#06x} {0:e} {1:05} {name}", i as u16 + 255, i as i16 - 2, name = i as u8),
            String::new(),
            format!("{:?} {:.1?}", [i, 7], [[x, 2.0], [0.5, -x]]),
        ];
        all.extend((i == 3).then(|| "three".to_owned()));
        all
    });
    let (mut found, fault) = launched(body);
    assert_eq!(fault, None);
    // Threads print in any order, but each thread's own lines are in order.
    found.sort_by_key(|line| line.split_once("): ").map(|(place, _)| place.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn what_fails_stops_its_thread_with_the_text() {
    for (body, text) in [
        ("assert!(i < 3);", "assertion failed: i < 3"),
        ("assert!(i < 3 || x.is_nan(),);", "assertion failed: i < 3 || x.is_nan()"),
        ("assert!(i < 3, \"x[{i}] is {x}\");", "x[3] is 3.5"),
        ("assert!(i < 3, \"too {{large}}\");", "too {large}"),
        ("assert_eq!(i.max(2), 2);", "assertion `left == right` failed\n  left: 3\n right: 2"),
        ("assert_eq!(x.min(3.0) < 3.0, true);", "assertion `left == right` failed\n  left: false\n right: true"),
        ("assert_ne!(x, 3.5);", "assertion `left != right` failed\n  left: 3.5\n right: 3.5"),
        ("assert_ne!(i, 3, \"not {}\", -1_i64);", "not -1"),
        ("if i == 3 { panic!(); }", "explicit panic"),
        ("if i == 3 { panic!(\"element {:.1}\", x); }", "element 3.5"),
        ("let d = 2_u32.checked_sub(i).unwrap();", "called `Option::unwrap()` on a `None` value"),
        ("let d = 2_u32.checked_sub(i).expect(\"less than {3}\");", "less than {3}"),
        ("if i == 3 { let h = halved(i).unwrap(); }", "called `Option::unwrap()` on a `None` value"),
    ] {
        let (_, fault) = launched(body);
        let fault = fault.unwrap_or_else(|| panic!("{body}: no fault"));
        assert!(fault.contains(&format!("panic: {text}")), "{body}: {fault}");
        assert!(fault.contains("block (1, 0, 0)") && fault.contains("thread (1, 0, 0)"), "{body}: {fault}");
        assert!(fault.contains("src/lib.rs:9:"), "{body}: {fault}");
    }
}

#[test]
fn what_holds_stops_nothing() {
    let body =
        "assert!(i < 4); assert_eq!(i, i, \"{x}\"); assert_ne!(i, 4); debug_assert!(i > 9); debug_assert_eq!(x, 9.0);
    debug_assert_ne!(i, i); let h = halved(2 * i).unwrap(); assert_eq!(h, i);";
    assert_eq!(launched(body), (Vec::new(), None));
}

#[test]
fn a_kernel_that_says_nothing_has_no_buffer() {
    let source = |body: &str| format!("#[kernel]\npub fn kernel(n: u32) {{\n    {body}\n}}\n");
    let has_buffer = |body: &str| compile(&source(body)).unwrap().ptx.contains("__cuda_std_messages");
    assert!(has_buffer("println!(\"{n}\");"));
    assert!(!has_buffer("assert!(n > 1);"));
    assert!(!has_buffer("debug_assert_eq!(n, 1);"));
}
