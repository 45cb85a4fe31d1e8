//! Unusable input is rejected in one line with exit code 2.

use std::fs;

use crate::support::{CLEAN, DESCENDING, Folder, RACY, REFUSED, Run};

/// The line that reports a rejection.
fn line(run: &Run) -> &str {
    assert_eq!((run.code, &*run.stdout), (2, ""), "{run:?}");
    let line = run.stderr.strip_suffix('\n').unwrap().strip_prefix("error: ").unwrap();
    assert!(!line.contains(char::is_control), "{line:?}");
    line
}

#[track_caller]
fn rejects(folder: &Folder, words: &str, expected: &[&str]) {
    let run = folder.run(&words.split_whitespace().collect::<Vec<_>>());
    for expected in expected {
        assert!(line(&run).contains(expected), "{words}: no `{expected}` in: {}", line(&run));
    }
}

#[test]
fn the_ptx_and_its_kernels() {
    let folder = Folder::of(&[CLEAN, RACY, REFUSED]);
    let shapes = "--grid 1 --block 64 --buffer u32:64";
    rejects(&folder, &format!("none.ptx --kernel clean {shapes}"), &["none.ptx: "]);
    rejects(
        &folder,
        &format!("kernels.ptx --kernel max {shapes}"),
        &["kernels.ptx has no kernel max; it has clean, racy"],
    );
    rejects(
        &folder,
        &format!("kernels.ptx --kernel refused {shapes}"),
        &["kernels.ptx: PTX line ", "`bogus.u32 %r1, %r1`"],
    );
    folder.write("wrong.ptx", ".version 8.0\n.target sm_80\n.address_size 64\nwrong");
    rejects(&folder, &format!("wrong.ptx --kernel clean {shapes}"), &["wrong.ptx: line 4: "]);
    folder.write("empty.ptx", "");
    rejects(&folder, &format!("empty.ptx --kernel clean {shapes}"), &["empty.ptx"]);
    fs::write(folder.path().join("binary.ptx"), [0x7f, b'E', b'L', b'F', 0xff]).unwrap();
    rejects(&folder, &format!("binary.ptx --kernel clean {shapes}"), &["binary.ptx: ", "UTF-8"]);
}

#[test]
fn shapes() {
    let folder = Folder::of(&[CLEAN]);
    for shape in ["0", "1,0", "1,2,3,4", "x", "-1", "1,,2", "4294967296", "1x1"] {
        rejects(
            &folder,
            &format!("kernels.ptx --kernel clean --grid={shape} --block 1"),
            &["--grid", "write one to three positive numbers"],
        );
        rejects(&folder, &format!("kernels.ptx --kernel clean --grid 1 --block={shape}"), &["--block", shape]);
    }
    let buffer = "--buffer u32:64";
    rejects(
        &folder,
        &format!("kernels.ptx --kernel clean --grid 1 --block 1025 {buffer}"),
        &["kernel clean: the block (1025, 1, 1) "],
    );
    rejects(
        &folder,
        &format!("kernels.ptx --kernel clean --grid 1 --block 1 --shared 300000 {buffer}"),
        &["kernel clean: 300000 bytes of "],
    );
    rejects(
        &folder,
        &format!("kernels.ptx --kernel clean --grid 3 --block 1 --cluster 2 {buffer}"),
        &["clusters of 2 blocks"],
    );
}

#[test]
fn arguments() {
    let folder = Folder::of(&[DESCENDING]);
    let rejects = |arguments: &str, expected: &[&str]| {
        rejects(&folder, &format!("kernels.ptx --kernel publish --grid 1 --block 1 {arguments}"), expected);
    };
    rejects("--buffer f16:3", &["'f16:3'", "no type `f16`; the types are u8, u16, u32, u64, i8, i16, "]);
    rejects("--buffer u32", &["'u32'", "no colon"]);
    rejects("--buffer u32:many", &["`many` is no number of elements"]);
    rejects("--buffer u32:-1", &["`-1` is no number of elements"]);
    rejects("--buffer u32:2=ones", &["`ones` is no number", "unwritten, zeros, index or @FILE"]);
    rejects("--value u32:ten", &["`ten` is no number"]);
    rejects("--value u32:-1 --buffer u32:1", &["command line: argument arg1: -1 is no u32"]);
    rejects("--buffer x=u32:3=1,2 --buffer u32:1", &["argument x: 2 values for 3 elements"]);
    rejects("--buffer u32:3=@x.bin --buffer u32:1", &["x.bin: "]);
    rejects("--buffer u8:300000000 --buffer u32:1", &["argument arg1: all buffers together have more than 256 MiB"]);
    let takes = "kernel publish takes 2 parameters: publish_data (8 bytes), publish_flag (8 bytes); ";
    rejects("", &[takes, "the launch passes 0: none"]);
    rejects("--buffer u32:1", &[takes, "the launch passes 1: arg1 (8 bytes)", "--buffer", "--slice"]);
    rejects("--slice x=u32:1 --value n=u32:1", &[takes, "passes 3: x (8 bytes), length of x (8 bytes), n (4 bytes)"]);
    rejects(
        "--buffer u32:1 --value n=u32:1",
        &["parameter publish_flag of kernel publish has 8 bytes, and n has 4; pass "],
    );
}

#[test]
fn options() {
    let folder = Folder::of(&[CLEAN]);
    let launch = "kernels.ptx --kernel clean --grid 1 --block 64 --buffer u32:64";
    rejects(&folder, "", &["not provided: ", "--kernel <NAME>", "FILE.ptx"]);
    rejects(&folder, "kernels.ptx --grid 1 --block 1", &["not provided: --kernel <NAME>"]);
    rejects(&folder, &format!("{launch} --bufer u32:1"), &["--bufer", "'--buffer'", "--help"]);
    rejects(&folder, &format!("{launch} --order upwards"), &["`upwards` is no order: write ascending, "]);
    rejects(&folder, &format!("{launch} --order descending --orders 3"), &["--order <ORDER>", "cannot be used with"]);
    rejects(&folder, &format!("{launch} --orders 0"), &["--orders"]);
    rejects(&folder, &format!("{launch} --json - --sarif -"), &["both write to stdout"]);
    rejects(&folder, &format!("{launch} --json none/out.json"), &["out.json cannot be written: "]);
    rejects(&folder, &format!("{launch} --launch launch.json"), &["--launch <FILE.json>", "cannot be used with"]);
}

#[test]
fn launch_files() {
    let folder = Folder::of(&[CLEAN]);
    rejects(&folder, "--launch none.json", &["none.json: "]);
    let with = |grid: &str, arguments: &str| {
        let text = format!(
            r#"{{"ptx": "kernels.ptx", "kernel": "clean", "grid": {grid}, "block": [1, 1, 1], "arguments": [{arguments}]}}"#
        );
        folder.write("launch.json", &text);
    };
    let buffer = r#"{"name": "out", "type": "u32", "shape": [1], "values": "zeros", "length": false}"#;
    with("[0, 1, 1]", buffer);
    rejects(&folder, "--launch launch.json", &["launch.json: kernel clean: the grid (0, 1, 1) has no blocks"]);
    with("[1, 1, 1]", "");
    rejects(&folder, "--launch launch.json", &["launch.json: kernel clean takes 1 parameter: clean_out (8 bytes); "]);
    with("[1, 1, 1]", r#"{"name": "n", "type": "u32", "value": 1, "length": true}"#);
    rejects(&folder, "--launch launch.json", &["launch.json: argument n: \"length\" is for buffers"]);
    with("[1, 1]", buffer);
    rejects(&folder, "--launch launch.json", &["launch.json: invalid length 2"]);
}

#[test]
fn outputs_that_are_read() {
    let folder = Folder::of(&[CLEAN]);
    folder.write("values.bin", "1234");
    let launch = "kernels.ptx --kernel clean --grid 1 --block 1 --buffer u32:1=@values.bin";
    let same = |flag: &str, output: &str, input: &str| {
        format!("{flag} {output} would overwrite {input}, which is read: choose another place")
    };
    rejects(&folder, &format!("{launch} --json ./kernels.ptx"), &[&same("--json", "./kernels.ptx", "kernels.ptx")]);
    rejects(&folder, &format!("{launch} --sarif values.bin"), &[&same("--sarif", "values.bin", "values.bin")]);
    let text = r#"{"ptx": "kernels.ptx", "kernel": "clean", "grid": [1, 1, 1], "block": [1, 1, 1], "arguments": []}"#;
    folder.write("launch.json", text);
    rejects(&folder, "--launch launch.json --json launch.json", &[&same("--json", "launch.json", "launch.json")]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = Folder::of(&[&RACY.replace("sum.cu", "s\u{1b}[31mum\u{202e}.cu")]);
    let escape = "\u{1b}[31m\n";
    let racy = ["--kernel", "racy", "--grid", "1", "--block", "2", "--buffer"];
    let name = format!("o{escape}=u32:1");
    let run = folder.run(&[&["kernels.ptx"], &racy[..], &[&*name]].concat());
    assert_eq!((run.code, run.stdout.lines().count()), (1, 2), "{run:?}");
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{run:?}");
    for output in ["--json", "--sarif"] {
        let run = folder.run(&[&["kernels.ptx"], &racy[..], &[&*name, output, "-"]].concat());
        assert!(run.code == 1 && !run.stdout.contains('\u{1b}'), "{run:?}");
    }
    for arguments in [
        [&[escape], &racy[..], &["u32:1"]].concat(),
        [&["kernels.ptx"], &racy[..], &["u32:1", "--value", escape]].concat(),
        [&["kernels.ptx"], &racy[..], &["u32:1", "--order", escape]].concat(),
        ["kernels.ptx", "--kernel", escape, "--grid", "1", "--block", "2"].to_vec(),
        ["--launch", escape].to_vec(),
        [escape, "b", "c"].to_vec(),
    ] {
        line(&folder.run(&arguments));
    }
}
