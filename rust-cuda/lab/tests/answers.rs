//! Requests and their answers on the host. `learn` tests that the page's module gives the same
//! answers.

use lab::answer;
use serde_json::{Value, json};

/// Each thread adds its number to an element shared by all threads.
const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry racy(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r2, %r2, %r1;
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry unknown()
{
    bogus.u32 %r1;
}
";

fn answer_to(request: &Value) -> Value {
    serde_json::from_str(&answer(&request.to_string())).expect("an answer is JSON")
}

fn launch(block: u32) -> Value {
    let out = json!({"name": "out", "type": "u32", "shape": [2], "values": [7, 9], "length": false});
    json!({"ptx": "racy.ptx", "kernel": "racy", "block": [block, 1, 1], "arguments": [out]})
}

#[test]
fn kernels_are_listed_and_refused_ones_named() {
    let answer = answer_to(&json!({"task": "kernels", "ptx": PTX}));
    let out = json!({"name": "out", "bytes": 8, "is_pointer": false});
    let racy = json!({
        "name": "racy", "demangled": "racy", "parameters": [out], "required_block": null, "max_block": null,
        "static_shared_bytes": 0, "has_dynamic_shared": false,
    });
    assert_eq!(answer["kernels"], json!([racy]));
    assert_eq!(answer["refused"][0]["name"], "unknown");
    assert!(
        answer["refused"][0]["reason"].as_str().is_some_and(|reason| reason.starts_with("PTX line 17: ")),
        "{answer}"
    );
}

#[test]
fn a_kernel_has_its_block_sizes_pointers_and_shared_memory() {
    let ptx = ".version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 any_size[];
.visible .entry required(.param .u64 .ptr .global .align 4 x, .param .u64 n)
.reqntid 128
{
    .shared .align 4 .b8 tile[96];
    .reg .b32 %r<2>;
    ld.shared.u32 %r1, [tile];
    st.shared.u32 [any_size], %r1;
    ret;
}
.visible .entry limited()
.maxntid 16, 8
{
    ret;
}
";
    let answer = answer_to(&json!({"task": "kernels", "ptx": ptx}));
    let [required, limited] = &answer["kernels"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert_eq!(
        required["parameters"],
        json!([{"name": "x", "bytes": 8, "is_pointer": true}, {"name": "n", "bytes": 8, "is_pointer": false}])
    );
    assert_eq!((&required["required_block"], &required["max_block"]), (&json!([128, 1, 1]), &Value::Null));
    assert_eq!((&required["static_shared_bytes"], &required["has_dynamic_shared"]), (&json!(96), &json!(true)));
    assert_eq!((&limited["required_block"], &limited["max_block"]), (&Value::Null, &json!([16, 8, 1])));
    assert_eq!(limited["has_dynamic_shared"], json!(false));
}

#[test]
fn names_of_cpp_rust_and_numba_are_demangled() {
    const NUMBA: &str = "_ZN6cudapy8__main__10max_kernelB2v1B94cw51cXTLSUwv1sCUt9Uw1VEw0NRRQPKzLTg4gaGKFsG2oMQGEYakJSQB1PQBk0Bynm21OiwU1a0UoLGhDpQE8oxrNQE_3dE5ArrayIiLi1E1C7mutable7alignedE5ArrayIxLi2E1A7mutable7alignedEdb";
    const INNER: &str = "_ZN8__main__5outer12_3clocals_3e5innerB2v1B2cwEj12HypotheticalIifE";
    for (mangled, name) in [
        ("max_kernel", "max_kernel"),
        ("_Z6squarePfi", "square(float*, int)"),
        ("_Z6squareIdEvPT_i", "square<double>(double*, int)"),
        ("_ZN4nets5layer7forwardEPf", "nets::layer::forward(float*)"),
        ("_ZN4nets4nameB5cxx11Ev", "nets::name[abi:cxx11]()"),
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("_ZN7kernels6square17h05af221e174051e9E", "kernels::square"),
        (NUMBA, "cudapy.__main__.max_kernel(array(int32, 1d, C), array(int64, 2d, A), float64, bool)"),
        (INNER, "__main__.outer.<locals>.inner(uint32, Hypothetical<int, float>)"),
        ("_Z99short", "_Z99short"),
        ("_R99", "_R99"),
        ("_ZN5", "_ZN5"),
    ] {
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {mangled}()\n{{\n    ret;\n}}\n\
             .visible .entry {mangled}_2()\n{{\n    bogus;\n}}\n"
        );
        let answer = answer_to(&json!({"task": "kernels", "ptx": ptx}));
        assert_eq!(
            (&answer["kernels"][0]["name"], &answer["kernels"][0]["demangled"]),
            (&json!(mangled), &json!(name))
        );
        assert!(answer["refused"][0]["demangled"].as_str().is_some_and(|name| !name.is_empty()), "{answer}");
    }
}

#[test]
fn a_race_has_its_sentence_and_both_lines() {
    let answer = answer_to(&json!({"task": "check", "ptx": PTX, "launch": launch(32), "orders": 2, "seed": 0}));
    let [fault] = &answer["check"]["faults"].as_array().unwrap()[..] else { panic!("{answer}") };
    assert_eq!((&fault["place"]["ptx_line"], &fault["other"]["place"]["ptx_line"]), (&json!(12), &json!(10)));
    let sentence = answer["sentences"][0].as_str().unwrap();
    assert!(sentence.starts_with("kernel racy, block (0, 0, 0)") && sentence.contains("`out[0]`"), "{sentence}");
    assert_eq!(answer["check"]["counts"], Value::Null);
}

#[test]
fn a_clean_run_has_counts_and_buffers() {
    let answer = answer_to(&json!({"task": "check", "ptx": PTX, "launch": launch(1), "orders": 2, "seed": 0}));
    let counts = &answer["check"]["counts"];
    assert_eq!((&counts["warp_instructions"], &counts["global_sectors"]), (&json!(6), &json!(2)));
    let out = json!({"name": "out", "type": "u32", "shape": [2], "bytes": "BwAAAAkAAAA=", "unwritten": []});
    assert_eq!(answer["buffers"], json!([out]));
}

/// Each thread writes the tile and reads its neighbor's element.
const SHIFT: &str = "use cuda_std::{GlobalMut, kernel, shared_array, thread};
#[kernel]
pub fn shift(x: &[i32], out: GlobalMut<i32>) {
    let tile = shared_array![i32; 32];
    let t = thread::thread_idx_x() as usize;
    tile.set(t, x[t]);
    thread::sync_threads();
    out.set(t, tile.get((t + 1) % 4));
}
";

/// The answer for a source and the events in its trace.
fn traced(source: &str, kernel: &str, count: u32, schedule: Option<&str>) -> (Value, Vec<Value>) {
    let values: Vec<u32> = (1..=count).map(|value| 10 * value).collect();
    let x = json!({"name": "x", "type": "i32", "shape": [count], "values": values});
    let out = json!({"name": "out", "type": "i32", "shape": [count], "values": "unwritten"});
    let launch = json!({"ptx": "p", "kernel": kernel, "block": [count, 1, 1], "arguments": [x, out]});
    let files = json!({"learn/src/puzzles.rs": source});
    let answer = answer_to(
        &json!({"task": "trace", "files": files, "launch": launch, "orders": 4, "seed": 0, "schedule": schedule}),
    );
    let events = answer["trace"]["events"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    (answer, events)
}

#[test]
fn a_trace_has_each_threads_accesses_between_barriers() {
    let (answer, events) = traced(SHIFT, "shift", 4, None);
    assert_eq!((&answer["schedule"], &answer["faults"]), (&json!("ascending"), &json!([])));
    let names: Vec<&Value> = answer["trace"]["arrays"].as_array().unwrap().iter().map(|array| &array["name"]).collect();
    assert_eq!(names, ["x", "out", "tile"]);
    let expected: Vec<Value> = (0..4)
        .flat_map(|t| {
            let value = (10 * (t + 1)).to_string();
            [
                json!([0, t, "r", 0, t, value, 6]),
                json!([0, t, "w", 2, t, value, 6]),
                json!([0, t, "b", null, null, null, 7]),
            ]
        })
        .chain((0..4).flat_map(|t| {
            let (from, value) = ((t + 1) % 4, (10 * ((t + 1) % 4 + 1)).to_string());
            [json!([0, t, "r", 2, from, value, 8]), json!([0, t, "w", 1, t, value, 8])]
        }))
        .collect();
    assert_eq!(events, expected);
}

/// Without the barrier, threads of one warp race. The schedule determines what they read.
#[test]
fn a_schedule_changes_what_threads_of_a_warp_read() {
    let source = SHIFT.replace("    thread::sync_threads();\n", "");
    let read = |schedule| {
        let (answer, events) = traced(&source, "shift", 4, Some(schedule));
        assert_eq!(answer["schedule"], schedule);
        let sentence = "Thread 0 reads `tile[1]` and thread 1 writes it, and nothing orders them.";
        let lines = json!([{"file": "learn/src/puzzles.rs", "line": 7, "column": 21}, {"file": "learn/src/puzzles.rs", "line": 6, "column": 10}]);
        let fault = json!({"class": "data race", "sentence": sentence, "lines": lines, "threads": [[0, 0], [0, 1]], "element": ["tile", 1]});
        assert_eq!(answer["faults"], json!([fault]));
        let is_read = |event: &&Value| event[2] == "r" && event[3] == 2;
        let mut read: Vec<(u64, Value)> =
            events.iter().filter(is_read).map(|event| (event[1].as_u64().unwrap(), event[5].clone())).collect();
        read.sort_by_key(|(thread, _)| *thread);
        read.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(read("ascending"), [json!(null), json!(null), json!(null), json!("10")]);
    assert_eq!(read("descending"), [json!("20"), json!("30"), json!("40"), json!(null)]);
}

#[test]
fn faults_are_told_in_one_plain_sentence() {
    let cases = [
        ("x[t + 1]", "Thread 3 uses `x[4]`, but `x` has 4 elements: indices 0 to 3."),
        (
            "{ if t < 3 { thread::sync_threads(); } 1 }",
            "Only 3 of the 4 threads wait at this barrier: the other one never arrives.",
        ),
        (
            "{ let other = shared_array![i32; 4]; other.get(t) }",
            "Thread 0 reads `other[0]` before any thread wrote it.",
        ),
        ("{ tile.set(0, x[t]); 1 }", "Thread 1 and thread 0 both write `tile[0]`, and nothing orders them."),
    ];
    for (value, sentence) in cases {
        let source = SHIFT.replace("tile.get((t + 1) % 4)", value);
        let (answer, _) = traced(&source, "shift", 4, None);
        assert_eq!(answer["faults"][0]["sentence"], sentence, "{value}: {answer}");
    }
}

#[test]
fn a_trace_has_the_lanes_of_a_shuffle() {
    let source =
        SHIFT.replace("tile.get((t + 1) % 4)", "warp::shuffle_down(x[t], 2)").replace("{GlobalMut", "{warp, GlobalMut");
    let (_, events) = traced(&source, "shift", 32, None);
    let shuffles: Vec<(u64, u64)> = events
        .iter()
        .filter(|event| event[2] == "s")
        .map(|event| (event[1].as_u64().unwrap(), event[3].as_u64().unwrap()))
        .collect();
    let expected: Vec<(u64, u64)> = (0..32).map(|lane| (lane, if lane < 30 { lane + 2 } else { lane })).collect();
    assert_eq!(shuffles, expected);
}

#[test]
fn a_recording_is_a_page() {
    let sources = json!({});
    let answer = answer_to(
        &json!({"task": "record", "ptx": PTX, "launch": launch(32), "sources": sources, "instructions": 100}),
    );
    assert!(answer["html"].as_str().is_some_and(|html| html.starts_with("<!DOCTYPE html>")), "{}", answer["error"]);
}

#[test]
fn what_is_wrong_is_one_line() {
    let too_many =
        json!({"task": "check", "ptx": PTX, "launch": launch(1), "orders": 1_000_000, "seed": 0}).to_string();
    for request in [&*too_many, "", "{}", r#"{"task": "erase"}"#, r#"{"task": "kernels", "ptx": ".entry"}"#] {
        let answer: Value = serde_json::from_str(&answer(request)).expect("an answer is JSON");
        assert!(answer["error"].as_str().is_some_and(|error| !error.contains('\n')), "{request}: {answer}");
    }
}

#[test]
fn a_refused_source_has_its_place() {
    let request = |text: &str| json!({"task": "check", "files": {"src/lib.rs": text}, "launch": launch(1), "orders": 2, "seed": 0});
    let answer = answer_to(&request("use cuda_std::kernel;\n#[kernel]\npub fn racy() {\n    let a = b;\n}\n"));
    let text = "`b` is not known here: is it declared, or in a `use`?";
    assert_eq!(answer["place"], json!({"file": "src/lib.rs", "line": 4, "column": 13, "text": text}));
    assert_eq!(answer["error"], json!(format!("src/lib.rs, line 4: {text}")));
    let answer = answer_to(&request(""));
    assert_eq!(
        (&answer["place"], answer["error"].as_str().map(|error| error.contains("line 0"))),
        (&Value::Null, Some(false))
    );
}
