//! Faults, notes and counts as text.

use crate::support::{CLEAN, DESCENDING, EARLY, Folder, RACY, SAME_VALUE, VOLATILE, WAITS};

#[test]
fn a_clean_kernel_has_counts_and_no_fault() {
    let run = Folder::of(&[CLEAN]).check("clean", ("1", "64"), "--buffer u32:64");
    assert_eq!((run.code, &*run.stderr), (0, ""), "{run:?}");
    assert_eq!(
        run.stdout.lines().collect::<Vec<_>>(),
        [
            "instructions: 448 of threads, 14 of warps",
            "global memory: 0 loads, 64 stores, 0 atomics of threads",
            "branches: 2 of warps, 0 divergent",
            "no fault in 2 orders",
        ]
    );
    let run = Folder::of(&[CLEAN]).check("clean", ("1", "64"), "--buffer u32:64 --orders 5");
    assert!(run.stdout.ends_with("no fault in 5 orders\n"), "{run:?}");
    let run = Folder::of(&[CLEAN]).check("clean", ("1", "64"), "--buffer u32:64 --fidelity");
    let exact = run.stdout.lines().find(|line| line.starts_with("exact: ")).unwrap_or_default();
    let counts: Vec<&str> = exact.split(' ').collect();
    assert!(counts[1] == counts[3] && exact.ends_with(" instructions of threads"), "{run:?}");
    let run = Folder::of(&[CLEAN]).check("clean", ("1", "64"), "--buffer u32:64 --order descending");
    assert!(run.stdout.ends_with("no fault in 1 order\n"), "{run:?}");
}

#[test]
fn a_race_names_the_source_line_of_both_threads() {
    let run = Folder::of(&[RACY]).check("racy", ("1", "64"), "--buffer out=u32:1");
    assert_eq!(run.code, 1, "{run:?}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let [fault, replay] = lines[..] else { panic!("{run:?}") };
    assert!(fault.starts_with("src/sum.cu:4:9: error: kernel racy, block (0, 0, 0), thread (1, 0, 0), "), "{fault}");
    assert!(fault.contains("race: writes `out[0]`, which block (0, 0, 0), thread (0, 0, 0) writes at "), "{fault}");
    assert!(fault.ends_with("(src/sum.cu:4:9); 63 in all [race]"), "{fault}");
    assert_eq!(replay, "fault: race; replay it with --order ascending");
}

#[test]
fn without_line_information_the_line_is_that_of_the_ptx() {
    let run = Folder::of(&[CLEAN]).check("clean", ("1", "64"), "--buffer u32:63");
    assert_eq!(run.code, 1, "{run:?}");
    let fault = run.stdout.lines().next().unwrap();
    assert!(fault.starts_with("kernels.ptx:14: error: kernel clean, block (0, 0, 0), thread (63, 0, 0), "), "{fault}");
    assert!(fault.contains("arg1") && fault.ends_with("[out-of-bounds]"), "{fault}");
}

#[test]
fn a_race_of_one_order_is_found_and_replayed() {
    let folder = Folder::of(&[DESCENDING]);
    let buffers = "--buffer data=u32:1=zeros --buffer flag=u32:1=0";
    let run = folder.check("publish", ("2", "1"), buffers);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("race: writes `data[0]`, "), "{run:?}");
    assert!(run.stdout.contains(" (order: descending) [race]\n"), "{run:?}");
    assert!(run.stdout.ends_with("fault: race; replay it with --order descending\n"), "{run:?}");
    assert_eq!(folder.check("publish", ("2", "1"), &format!("{buffers} --orders 1")).code, 0);
    let replayed = folder.check("publish", ("2", "1"), &format!("{buffers} --order descending"));
    assert_eq!(replayed.stdout, run.stdout);
}

#[test]
fn a_loop_that_nothing_ends_is_a_fault() {
    let run = Folder::of(&[WAITS]).check("waits", ("1", "1"), "--buffer flag=u32:1=zeros");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("waits forever: ") && run.stdout.contains("`flag[0]`"), "{run:?}");
    assert!(run.stdout.contains(" [waits-forever]\n"), "{run:?}");
    assert_eq!(Folder::of(&[WAITS]).check("waits", ("1", "1"), "--buffer flag=u32:1=1").code, 0);
}

#[test]
fn same_value_races_are_notes_or_faults() {
    let folder = Folder::of(&[SAME_VALUE]);
    let run = folder.check("same_value", ("1", "64"), "--buffer u32:1");
    assert_eq!(run.code, 0, "{run:?}");
    let note = run.stdout.lines().next().unwrap();
    assert!(
        note.starts_with("kernels.ptx:9: note: kernel same_value, block (0, 0, 0), thread (1, 0, 0), PTX line 9 `st.global.u32 [%rd1], 1`: ")
            && note.contains(": same-value race: writes `arg1[0]`")
            && note.contains(" with the same value; 63 in all "),
        "{note}"
    );
    assert!(note.ends_with("[same-value-race]"), "{note}");
    assert!(run.stdout.ends_with("no fault in 2 orders\n"), "{run:?}");
    let run = folder.check("same_value", ("1", "64"), "--buffer out=u32:1 --same-value-faults");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("error: ") && run.stdout.contains("[same-value-race]\n"), "{run:?}");
}

#[test]
fn what_gpus_run_and_authors_should_know_is_a_note_or_a_fault() {
    let folder = Folder::of(&[EARLY]);
    let check = |count: u32, factor: u32, options: &str| {
        let run = folder.check(
            "early",
            ("1", "64"),
            &format!("--buffer u32:1 --value u32:{count} --value u32:{factor} {options}"),
        );
        let ids = |severity: &str| -> Vec<String> {
            let lines = run.stdout.lines().filter(|line| line.contains(&format!(": {severity}: ")));
            lines.map(|line| line.rsplit_once('[').unwrap().1.trim_end_matches(']').to_owned()).collect()
        };
        assert!(run.stdout.contains("\nhint: the PTX names no source lines: "), "{run:?}");
        (run.code, ids("note"), ids("error"))
    };
    let of = |ids: &[&str]| -> Vec<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
    // A whole warp has exited, and an unwritten word is copied.
    assert_eq!(check(32, 1, ""), (0, of(&["uninitialised-read"]), of(&[])));
    assert_eq!(check(40, 1, ""), (0, of(&["barrier-of-some-lanes", "uninitialised-read"]), of(&[])));
    assert_eq!(check(40, 1, "--uninitialised off"), (0, of(&["barrier-of-some-lanes"]), of(&[])));
    assert_eq!(check(32, 3, ""), (1, of(&[]), of(&["uninitialised-read"])));
    assert_eq!(check(32, 1, "--uninitialised error"), (1, of(&[]), of(&["uninitialised-read"])));
    assert_eq!(check(32, 1, "--strict"), (1, of(&[]), of(&["barrier-divergence"])));
}

#[test]
fn volatile_accesses_may_poll_unless_they_are_plain() {
    let folder = Folder::of(&[VOLATILE]);
    assert_eq!(folder.check("poll", ("2", "1"), "--buffer u32:1=zeros").code, 0);
    let run = folder.check("poll", ("2", "1"), "--buffer u32:1=zeros --volatile-is-plain");
    assert!(run.code == 1 && run.stdout.contains("[race]"), "{run:?}");
}

#[test]
fn arguments_are_those_of_the_command_line_in_its_order() {
    let ptx = "
.visible .entry scale(.param .u64 x, .param .u64 x_length, .param .f32 factor, .param .u64 count, .param .u16 short)
{
    .reg .pred %p<6>;
    .reg .b16 %h<2>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [x_length];
    ld.param.f32 %f1, [factor];
    ld.param.u64 %rd3, [count];
    ld.param.u16 %h1, [short];
    ld.global.f32 %f2, [%rd1+8];
    setp.ne.u64 %p1, %rd2, 3;
    setp.ne.f32 %p2, %f1, 0f3F000000;
    setp.ne.u64 %p3, %rd3, 5;
    setp.ne.f32 %p4, %f2, 0f40400000;
    setp.ne.u16 %p5, %h1, 9;
    @%p1 trap;
    @%p2 trap;
    @%p3 trap;
    @%p4 trap;
    @%p5 trap;
    ret;
}
";
    let folder = Folder::of(&[ptx]);
    let run = folder.check(
        "scale",
        ("1", "1"),
        "--slice x=f32:3=1,2,3 --value factor=f32:0.5 --value u64:5 --value short=u32:9",
    );
    assert_eq!(run.code, 0, "{run:?}");
    folder.write("x.bin", "\0\0\u{0}\0\0\0\0\0\0\0@@");
    let rest = "--value f32:0.5 --value u64:5 --value u32:9";
    assert_eq!(folder.check("scale", ("1", "1"), &format!("--slice f32:3=@x.bin {rest}")).code, 0);
    assert_eq!(folder.check("scale", ("1", "1"), &format!("--slice f32:3=3 {rest}")).code, 0);
    let run = folder.check("scale", ("1", "1"), &format!("--slice f32:3=index {rest}"));
    assert!(run.code == 1 && run.stdout.contains("[trap]"), "{run:?}");
    let run = folder.check("scale", ("1", "1"), &format!("--slice f32:3 {rest}"));
    assert!(run.code == 1 && run.stdout.contains("[uninitialised-read]"), "{run:?}");
}

#[test]
fn a_launch_file_is_the_debuggers() {
    let folder = Folder::of(&[DESCENDING]);
    folder.write(
        "launch.json",
        r#"{"ptx": "kernels.ptx", "kernel": "publish", "grid": [2, 1, 1], "block": [1, 1, 1], "arguments": [
            {"name": "data", "type": "u32", "shape": [1], "values": "zeros", "length": false},
            {"name": "flag", "type": "u32", "shape": [1], "values": 0, "length": false}]}"#,
    );
    let run = folder.run(&["--launch", "launch.json"]);
    assert!(run.code == 1 && run.stdout.contains("order: descending) [race]"), "{run:?}");
    assert_eq!(folder.run(&["--launch", "launch.json", "--orders", "1"]).code, 0);
}

#[test]
fn the_first_fault_of_each_line_is_listed() {
    let two = RACY.replace("    ret;\n", "    .loc 1 5 9\n    st.global.u32 [%rd1+4], %r1;\n    .loc 1 6 9\n    ld.global.u32 %r1, [%rd1+8];\n    ret;\n");
    let run = Folder::of(&[&two]).check("racy", ("1", "64"), "--buffer out=u32:2");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!((run.code, lines.len()), (1, 4), "{run:?}");
    for (line, (start, end)) in lines.iter().zip([
        ("src/sum.cu:4:9: error: ", " [race]"),
        ("src/sum.cu:5:9: error: ", " [race]"),
        ("src/sum.cu:6:9: error: ", " [out-of-bounds]"),
    ]) {
        assert!(line.starts_with(start) && line.ends_with(end), "{line}");
    }
    assert!(lines[1].contains("race: writes `out[1]`, "), "{run:?}");
    assert_eq!(lines[3], "3 faults; replay them with --order ascending");
}
