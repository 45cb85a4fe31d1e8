//! The result as JSON and SARIF.

use serde_json::{Value, json};

use crate::support::{CLEAN, DESCENDING, Folder, PRINTS, RACY, SAME_VALUE};

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn json_has_both_places_of_a_race() {
    let run = Folder::of(&[RACY]).check("racy", ("1", "64"), "--buffer out=u32:1 --json -");
    assert_eq!(run.code, 1, "{run:?}");
    let document = parse(&run.stdout);
    assert_eq!(document["tool"], "kernel-check");
    assert_eq!(document["kernel"], "racy");
    assert_eq!(document["config"]["block"], json!([64, 1, 1]));
    assert_eq!((&document["orders"], &document["counts"]), (&Value::Null, &Value::Null));
    let [fault] = &document["faults"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(fault["kind"], "race");
    assert_eq!((&fault["block"], &fault["thread"]), (&json!([0, 0, 0]), &json!([1, 0, 0])));
    assert_eq!(fault["order"], "ascending");
    let source = json!({"file": "src/sum.cu", "line": 4, "column": 9, "inlined_at": null});
    let place = json!({"ptx_line": 14, "ptx_text": "st.global.u32 [%rd1], %r1", "source": source});
    assert_eq!(fault["place"], place);
    assert_eq!(fault["other"], json!({"block": [0, 0, 0], "thread": [0, 0, 0], "place": place}));
    let memory = &fault["memory"];
    assert_eq!((&memory["name"], &memory["space"], &memory["bytes"]), (&json!("out"), &json!("global"), &json!(4)));
    assert_eq!(memory["address"], memory["start"]);
    assert!(fault["message"].as_str().unwrap().starts_with("race: writes `out[0]`, "), "{fault}");
}

#[test]
fn json_of_a_clean_launch_has_counts_and_notes() {
    let folder = Folder::of(&[SAME_VALUE]);
    let run = folder.check("same_value", ("1", "64"), "--buffer u32:1 --json out.json --orders 3");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.ends_with("no fault in 3 orders\n"), "{run:?}");
    let document = parse(&folder.read("out.json"));
    assert_eq!((&document["orders"], &document["max_orders"]), (&json!(3), &json!(3)));
    assert_eq!(document["faults"], json!([]));
    assert_eq!(document["notes"][0]["kind"], "same-value-race");
    assert_eq!(document["notes"][0]["place"]["ptx_line"], 9);
    assert_eq!(document["counts"]["threads"], 64);
    assert_eq!(document["counts"]["global"], json!({"loads": 0, "stores": 64, "atomics": 0}));
}

#[test]
fn what_threads_print_is_in_the_text_and_in_json() {
    let folder = Folder::of(&[PRINTS]);
    let run = folder.check("prints", ("2", "1"), "--json out.json --orders 3");
    assert_eq!(run.code, 0, "{run:?}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let expected = [0, 1].map(|block| format!("block ({block}, 0, 0), thread (0, 0, 0): a\\u{{1b}}b"));
    assert_eq!(lines[..2], expected, "{run:?}");
    assert!(run.stdout.ends_with("no fault in 3 orders\n"), "{run:?}");
    let printed = |block: u32| json!({"block": [block, 0, 0], "thread": [0, 0, 0], "text": "a\u{1b}b\n"});
    assert_eq!(parse(&folder.read("out.json"))["printed"], json!([printed(0), printed(1)]));
    let run = folder.check("prints", ("1", "1"), "--json -");
    assert_eq!(parse(&run.stdout)["printed"], json!([printed(0)]));
}

/// The only run of a SARIF log, after checking what SARIF 2.1.0 requires.
fn run_of(text: &str) -> Value {
    let log = parse(text);
    assert_eq!(log["$schema"], "https://json.schemastore.org/sarif-2.1.0.json");
    assert_eq!(log["version"], "2.1.0");
    let [run] = &log["runs"].as_array().unwrap()[..] else { panic!("{log}") };
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "kernel-check");
    assert!(driver["version"].as_str().is_some_and(|version| !version.is_empty()));
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        assert!(rule["shortDescription"]["text"].as_str().is_some_and(|text| text.ends_with('.')), "{rule}");
    }
    for result in run["results"].as_array().unwrap() {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let related = result["relatedLocations"].as_array().into_iter().flatten();
        for location in result["locations"].as_array().unwrap().iter().chain(related) {
            let physical = &location["physicalLocation"];
            assert!(!physical["artifactLocation"]["uri"].as_str().unwrap().contains([' ', '\\', '\u{1b}']));
            assert!(physical["region"]["startLine"].as_u64().is_some_and(|line| line >= 1));
            assert!(physical["region"].get("startColumn").is_none_or(|column| column.as_u64() >= Some(1)));
        }
    }
    run.clone()
}

#[test]
fn sarif_marks_both_lines_of_a_race() {
    let run = Folder::of(&[RACY]).check("racy", ("1", "64"), "--buffer out=u32:1 --sarif -");
    assert_eq!(run.code, 1, "{run:?}");
    let run = run_of(&run.stdout);
    let [result] = &run["results"].as_array().unwrap()[..] else { panic!("{run}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("race"), &json!("error")));
    let line = json!({"artifactLocation": {"uri": "src/sum.cu"}, "region": {"startLine": 4, "startColumn": 9}});
    assert_eq!(result["locations"][0]["physicalLocation"], line);
    assert_eq!(result["relatedLocations"][0]["physicalLocation"], line);
    assert!(result["message"]["text"].as_str().unwrap().ends_with("Replay it with --order ascending"), "{result}");
}

/// In a message, `[text](target)` is a link.
#[test]
fn sarif_has_no_link_of_a_files_name() {
    let kernel = RACY.replace("src/sum.cu", "[sum](https://example.org).cu");
    let run = Folder::of(&[&kernel]).check("racy", ("1", "64"), "--buffer out=u32:1 --sarif -");
    let run = run_of(&run.stdout);
    let result = &run["results"][0];
    for message in [&result["message"], &result["relatedLocations"][0]["message"]] {
        let text = message["text"].as_str().unwrap();
        assert!(text.contains(r"\[sum\](https://example.org).cu:4:9"), "{text}");
        assert!(!text.replace(r"\[", "").replace(r"\]", "").contains(['[', ']']), "{text}");
    }
}

#[test]
fn sarif_marks_the_ptx_where_there_is_no_source() {
    let folder = Folder::of(&[DESCENDING, CLEAN, SAME_VALUE]);
    let buffers = "--buffer u32:1=zeros --buffer u32:1=zeros --sarif a.sarif";
    assert_eq!(folder.check("publish", ("2", "1"), buffers).code, 1);
    let run = run_of(&folder.read("a.sarif"));
    let physical = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "kernels.ptx");
    assert!(physical["region"].get("startColumn").is_none());
    assert!(run["results"][0]["message"]["text"].as_str().unwrap().contains("--order descending"));

    assert_eq!(folder.check("clean", ("1", "64"), "--buffer u32:64 --sarif b.sarif").code, 0);
    assert_eq!(run_of(&folder.read("b.sarif"))["results"], json!([]));

    assert_eq!(folder.check("same_value", ("1", "64"), "--buffer u32:64 --sarif c.sarif --json c.json").code, 0);
    assert_eq!(run_of(&folder.read("c.sarif"))["results"][0]["level"], "note");
    assert_eq!(parse(&folder.read("c.json"))["notes"].as_array().unwrap().len(), 1);
}
