//! Requests and their answers on the host. `learn` tests that the page's module gives the same.

use lab::answer;
use serde_json::{Value, json};

/// Each thread adds its number to an element that all of them share.
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
    assert_eq!(answer["kernels"], json!([{"name": "racy", "parameters": [["out", 8]]}]));
    assert_eq!(answer["refused"][0]["name"], "unknown");
    assert!(
        answer["refused"][0]["reason"].as_str().is_some_and(|reason| reason.starts_with("PTX line 17: ")),
        "{answer}"
    );
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
