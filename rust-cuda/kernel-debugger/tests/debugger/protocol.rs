//! The program as an editor drives it: messages over its standard input and output.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::session;
use crate::support::{self, TILE_ROWS, x};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An editor with a debugger process.
struct Editor {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    sent: u64,
    /// Events that arrived before the awaited responses.
    events: Vec<Value>,
    directory: TempDir,
}

impl Editor {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_kernel-debugger"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, sent: 0, events: Vec::new(), directory: TempDir::new().unwrap() }
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        // A debugger that has exited closes the pipe.
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    fn read(&mut self) -> Option<Value> {
        let mut header = String::new();
        self.output.read_line(&mut header).unwrap();
        if header.is_empty() {
            return None;
        }
        let length: usize = header.strip_prefix("Content-Length: ").unwrap().trim().parse().unwrap();
        let mut content = vec![0; 2 + length];
        self.output.read_exact(&mut content).unwrap();
        let message: Value = serde_json::from_slice(&content[2..]).unwrap();
        // Writes a trace to check all messages against the protocol's schema.
        if let Some(path) = std::env::var_os("DAP_TRACE") {
            let mut trace = File::options().append(true).create(true).open(path).unwrap();
            trace.write_all(format!("{message}\n").as_bytes()).unwrap();
        }
        Some(message)
    }

    /// The response to a request.
    fn request(&mut self, command: &str, arguments: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"seq": self.sent, "type": "request", "command": command, "arguments": arguments});
        // Some editors omit the arguments of requests that need none.
        if arguments.is_null() {
            message.as_object_mut().unwrap().remove("arguments");
        }
        let message = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{message}", message.len()).as_bytes());
        loop {
            let message = self.read().expect("a response");
            if message["type"] == "response" {
                assert_eq!((&message["request_seq"], &message["command"]), (&json!(self.sent), &json!(command)));
                return message;
            }
            self.events.push(message);
        }
    }

    /// The body of a successful response.
    #[track_caller]
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        let response = self.request(command, arguments);
        assert_eq!(response["success"], true, "{response}");
        response["body"].clone()
    }

    /// The message of an error response.
    #[track_caller]
    fn refusal(&mut self, command: &str, arguments: Value) -> String {
        let response = self.request(command, arguments);
        assert_eq!(response["success"], false, "{response}");
        response["message"].as_str().unwrap().to_owned()
    }

    /// The body of the next event of this kind.
    fn event(&mut self, kind: &str) -> Value {
        loop {
            let event = if self.events.is_empty() { self.read().expect("an event") } else { self.events.remove(0) };
            if event["event"] == kind {
                return event["body"].clone();
            }
        }
    }

    /// Starts a session with a launch file, and stops at the first instruction.
    fn launch(&mut self, ptx: &str, launch: &str) -> i64 {
        let path = support::write(self.directory.path(), ptx, launch);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        self.ask("initialize", json!({"adapterID": "kernel", "linesStartAt1": true}));
        self.ask("launch", json!({"launchFile": path, "sourceRoot": root, "stopOnEntry": true}));
        self.event("initialized");
        // As VS Code does.
        self.ask("setDataBreakpoints", json!({"breakpoints": []}));
        self.ask("configurationDone", json!({}));
        let stopped = self.event("stopped");
        assert_eq!(stopped["reason"], "entry");
        stopped["threadId"].as_i64().unwrap()
    }

    /// The file and the line of a thread's frame.
    fn place(&mut self, thread: i64) -> (String, u64) {
        let frames = self.ask("stackTrace", json!({"threadId": thread}));
        let frame = &frames["stackFrames"][0];
        (frame["source"]["path"].as_str().unwrap().to_owned(), frame["line"].as_u64().unwrap())
    }

    /// The innermost frame of a thread.
    fn frame(&mut self, thread: i64) -> Value {
        self.ask("stackTrace", json!({"threadId": thread}))["stackFrames"][0]["id"].clone()
    }

    /// A session at the first instruction of the homework's product. Returns its thread, the source
    /// and the first barrier's line.
    fn at_the_product() -> (Self, i64, String, usize) {
        let mut editor = Self::start();
        let (ptx, launch) = support::matmul_files();
        let thread = editor.launch(ptx, &launch);
        let (path, _) = editor.place(thread);
        assert!(Path::new(&path).ends_with("rust-cuda/test_kernels/src/stepping.rs"), "{path}");
        let source = std::fs::read_to_string(&path).unwrap();
        let barrier = source.lines().position(|line| line.contains("sync_threads")).unwrap() + 1;
        (editor, thread, path, barrier)
    }

    /// Disconnects. The debugger then exits without output.
    #[track_caller]
    fn leave(mut self) {
        self.ask("disconnect", json!({}));
        assert_eq!(self.end(), (Some(0), String::new()));
    }

    /// The exit code and the debugger's standard error output.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = self.process.wait().unwrap();
        let mut text = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (status.code(), text)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // No effect on a process that has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn what_a_kernel_prints_is_shown_when_it_has_ended() {
    if support::is_stale() {
        return;
    }
    let mut editor = Editor::start();
    let launch = r#"{"ptx": "kernels.ptx", "kernel": "says_too_much", "block": [1, 1, 1],
        "arguments": [{"name": "lines", "type": "u32", "value": 2}]}"#;
    let thread = editor.launch(test_kernels::PTX[0].text(), launch);
    editor.ask("continue", json!({"threadId": thread}));
    let mut lines = Vec::new();
    while lines.len() < 3 {
        let output = editor.event("output");
        lines.push((output["category"].clone(), output["output"].clone()));
    }
    let said = |line: u32| (json!("stdout"), json!(format!("block (0, 0, 0), thread (0, 0, 0): {line}\n")));
    assert_eq!(lines, [said(0), said(1), (json!("console"), json!("the kernel has ended\n"))]);
    editor.event("terminated");
    editor.leave();
}

/// The homework's product in an editor: shows the tile as a matrix, steps over the barrier, goes
/// back and runs to the end.
#[test]
fn a_tile_is_shown_as_a_matrix() {
    if support::is_stale() {
        return;
    }
    let (mut editor, thread, path, barrier) = Editor::at_the_product();
    let set = editor
        .ask("setBreakpoints", json!({"source": {"path": path}, "breakpoints": [{"line": barrier}, {"line": 9999}]}));
    assert_eq!(set["breakpoints"][0], json!({"verified": true, "line": barrier}));
    assert_eq!(set["breakpoints"][1]["verified"], false);
    for warp in 0..32 {
        editor.ask("continue", json!({"threadId": thread}));
        let stopped = editor.event("stopped");
        assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(warp + 1)));
    }
    let threads = editor.ask("threads", json!({}))["threads"].clone();
    assert_eq!(threads.as_array().unwrap().len(), 32);
    let name = threads[31]["name"].as_str().unwrap();
    let file = "test_kernels/src/stepping.rs";
    assert_eq!(name, format!("warp 31, line {barrier}, 32 of 32 lanes, block (0, 0, 0), {file}"));
    let waits = format!("warp 3, line {barrier}, at the barrier, ");
    assert!(threads[3]["name"].as_str().unwrap().starts_with(&waits));

    let frame = editor.frame(32);
    let scopes = editor.ask("scopes", json!({"frameId": frame}))["scopes"].clone();
    let names: Vec<_> = scopes.as_array().unwrap().iter().map(|scope| scope["name"].as_str().unwrap()).collect();
    let registers = ["Registers of lane 0", "Registers of warp 31"];
    assert_eq!(names, [&["Lane 0", "Warp 31", "Shared memory", "Arguments"][..], &registers].concat());
    let shared = editor.ask("variables", json!({"variablesReference": scopes[2]["variablesReference"]}));
    assert_eq!(shared["variables"][1]["name"], "b_tile");
    let arguments = editor.ask("variables", json!({"variablesReference": scopes[3]["variablesReference"]}));
    assert_eq!(arguments["variables"][0]["value"], format!("{TILE_ROWS} × 40 f32"));
    assert_eq!(arguments["variables"][1]["value"], TILE_ROWS.to_string());
    let registers = editor.ask("variables", json!({"variablesReference": scopes[5]["variablesReference"]}));
    assert!(registers["variables"].as_array().unwrap().len() > 50);

    let tile = editor.ask("evaluate", json!({"expression": "shared0 as f32 32x33 [..][..32]"}));
    let row = |row: usize, columns: std::ops::Range<usize>| {
        columns.map(|column| x(row, column).to_string()).collect::<Vec<_>>().join(", ")
    };
    let rows: Vec<String> = (0..32).map(|index| row(index, 0..32)).collect();
    assert_eq!(tile["result"], format!("32 × 32 f32\n{}", rows.join("\n")));
    let children = editor.ask("variables", json!({"variablesReference": tile["variablesReference"]}));
    let fifth = &children["variables"][5];
    assert_eq!((&fifth["name"], &fifth["value"]), (&json!("[5]"), &json!(rows[5])));
    let elements = editor.ask("variables", json!({"variablesReference": fifth["variablesReference"]}));
    let name = "shared0 as f32 32x33[5][31]";
    // Thread 5 · 32 + 31 wrote element (5, 31) of the tile; no thread has written X.
    let writer = format!("written by block (0, 0, 0), thread (191, 0, 0) at {file}:{}", barrier - 2);
    let element = json!({"name": "[31]", "value": x(5, 31).to_string(), "variablesReference": 0, "evaluateName": name,
        "type": format!("f32, {writer}")});
    assert_eq!((elements["variables"].as_array().unwrap().len(), &elements["variables"][31]), (32, &element));
    let one = editor.ask("evaluate", json!({"expression": "shared0 as f32 32x33 [5][31]"}));
    assert_eq!(one["result"], format!("1 × 1 f32\n{}\n{writer}", x(5, 31)));
    let one = editor.ask("evaluate", json!({"expression": "x[5][31]"}));
    assert_eq!(one["result"], format!("1 × 1 f32\n{}", x(5, 31)));
    let part = editor.ask("evaluate", json!({"expression": "x[2..4][38..40]", "frameId": 1}));
    assert_eq!(part["result"], format!("2 × 2 f32\n{}\n{}", row(2, 38..40), row(3, 38..40)));
    assert_eq!(editor.ask("evaluate", json!({"expression": "out[0][..2]"}))["result"], "1 × 2 f32\n–, –");
    assert!(editor.refusal("evaluate", json!({"expression": "y"})).starts_with("nothing is called `y`; there are x, "));
    assert_eq!(editor.refusal("evaluate", json!({"expression": "x[48]"})), "x has no [48]: this dimension is 0..48");

    editor.ask("setBreakpoints", json!({"source": {"path": path}, "breakpoints": []}));
    let mut line_after = |command: &str| {
        editor.ask(command, json!({"threadId": 32}));
        assert_eq!(editor.event("stopped")["reason"], "step");
        editor.place(32).1 as usize
    };
    assert!(line_after("next") > barrier);
    assert_eq!(line_after("stepBack"), barrier);
    editor.ask("continue", json!({"threadId": 32}));
    editor.event("terminated");
    editor.leave();
}

#[test]
fn a_fault_is_an_exception() {
    if support::is_stale() {
        return;
    }
    let mut editor = Editor::start();
    let out = r#"{"name": "out", "type": "u32", "shape": [64], "values": "unwritten"}"#;
    let thread =
        editor.launch(seeded_bugs::PTX[0].text(), &support::seeded_bug_file("missing_second_barrier", 1, [64, 1], out));
    editor.ask("setExceptionBreakpoints", json!({"filters": ["faults"]}));
    editor.ask("continue", json!({"threadId": thread}));
    let output = editor.event("output")["output"].clone();
    let stopped = editor.event("stopped");
    let text = stopped["text"].as_str().unwrap();
    assert_eq!(output, format!("{text}\n"));
    assert_eq!(stopped["reason"], "exception");
    assert!(text.contains("thread (32, 0, 0)") && text.contains("thread (31, 0, 0) writes at"), "{text}");
    let (path, line) = editor.place(stopped["threadId"].as_i64().unwrap());
    assert!(Path::new(&path).ends_with("rust-cuda/seeded_bugs/src/lib.rs"), "{path}");
    assert_eq!(line, u64::from(seeded_bugs::marked_line("missing_second_barrier").unwrap()));
    assert_eq!(editor.ask("exceptionInfo", json!({"threadId": 2}))["description"], text);
    // Without a stop, the fault ends the kernel.
    editor.ask("setExceptionBreakpoints", json!({"filters": []}));
    for command in ["restart", "continue"] {
        editor.ask(command, json!({"threadId": thread}));
    }
    assert_eq!(editor.event("output")["output"], format!("a fault has ended the kernel: {text}\n"));
    editor.event("terminated");
    editor.leave();
}

/// Breakpoints with conditions, at the kernel and on memory elements.
#[test]
fn breakpoints_have_conditions_and_watch_memory() {
    if support::is_stale() {
        return;
    }
    let (mut editor, thread, path, barrier) = Editor::at_the_product();
    let at = |condition: &str| json!({"line": barrier, "condition": condition});
    let set = |breakpoints: &[Value]| json!({"source": {"path": path}, "breakpoints": breakpoints});
    let answers = editor.ask("setBreakpoints", set(&[at("lane ="), at("lane == 5 && thread >= 64")]));
    assert!(
        answers["breakpoints"][0]["message"].as_str().unwrap().starts_with("`lane =`: write a condition as in Rust")
    );
    assert_eq!(answers["breakpoints"][0]["verified"], false);
    assert_eq!(answers["breakpoints"][1], json!({"verified": true, "line": barrier}));
    let functions = json!({"breakpoints": [{"name": "main"}, {"name": "matmul_tiles_f32", "condition": "warp == 1"}]});
    let answers = editor.ask("setFunctionBreakpoints", functions);
    assert_eq!(
        answers["breakpoints"][0]["message"],
        "`main` is not the launch's kernel, which is `matmul_tiles_f32`: break at a line of a function that it calls"
    );
    assert_eq!(answers["breakpoints"][1]["verified"], true);
    // Warp 1 at its first instruction, then warp 2 at the barrier.
    for expected in [2, 3] {
        editor.ask("continue", json!({"threadId": thread}));
        let stopped = editor.event("stopped");
        assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(expected)));
    }
    let frame = editor.frame(3);
    let scopes = editor.ask("scopes", json!({"frameId": frame}))["scopes"].clone();
    assert_eq!(scopes[0]["name"], "Lane 5");
    // Positions, and values computed from them and from variables, in a watch and in conditions.
    for (expression, value) in [
        ("threadIdx.x * 0 + blockDim.x", "all lanes: 1024"),
        ("(rows - 8) % 7 << 1", "all lanes: 10"),
        ("x[0][0 * 2] == x[0][0]", "all lanes: true"),
        ("lane - lane", "all lanes: 0"),
    ] {
        assert_eq!(
            editor.ask("evaluate", json!({"expression": expression, "frameId": frame}))["result"],
            value,
            "{expression}"
        );
    }
    for (condition, lane) in
        [("threadIdx.x % 32 == 0x7 && !(lane < 3)", "Lane 7"), ("(lane as i32 - 9) >= 0 && rows == 48usize", "Lane 9")]
    {
        editor.ask("setBreakpoints", set(&[at(condition)]));
        editor.ask("continue", json!({"threadId": thread}));
        let stopped = editor.event("stopped");
        assert_eq!(stopped["reason"], "breakpoint", "{condition}: {stopped}");
        let frame = editor.frame(stopped["threadId"].as_i64().unwrap());
        let scopes = editor.ask("scopes", json!({"frameId": frame}))["scopes"].clone();
        assert_eq!(scopes[0]["name"], lane, "{condition}");
    }
    editor.ask("setBreakpoints", set(&[at("out[lane + 48][0] == 1")]));
    editor.ask("continue", json!({"threadId": thread}));
    let stopped = editor.event("stopped");
    assert_eq!(stopped["description"], "The condition has no value");
    assert!(stopped["text"].as_str().unwrap().starts_with("out has no [48]"), "{stopped}");

    // A row of the result, as a child of its matrix, and one element.
    editor.ask("setBreakpoints", set(&[]));
    let out = editor.ask("evaluate", json!({"expression": "out[..][3..5]"}));
    let info =
        editor.ask("dataBreakpointInfo", json!({"variablesReference": out["variablesReference"], "name": "[40]"}));
    assert_eq!((&info["dataId"], &info["accessTypes"]), (&json!("out[40][3..5]"), &json!(["write"])));
    for name in ["rows", "%r1"] {
        let info = editor.ask("dataBreakpointInfo", json!({"name": name}));
        assert_eq!(
            (&info["dataId"], &info["description"]),
            (
                &Value::Null,
                &json!(format!(
                    "`{name}` is not in memory: ask for it without a type, a shape and indices, or for an element of a_tile, b_tile, x, out"
                ))
            )
        );
    }
    // An element of a row of the whole matrix, and one of a single row.
    let rows = editor.ask("variables", json!({"variablesReference": out["variablesReference"]}))["variables"].clone();
    let shared = editor.ask("evaluate", json!({"expression": "shared0 as u32"}));
    for (parent, id) in [(&rows[7], "out[7][4]"), (&shared, "shared0 as u32[0][4]")] {
        let reference = parent["variablesReference"].clone();
        let info = editor.ask("dataBreakpointInfo", json!({"variablesReference": reference, "name": "[4]"}));
        assert_eq!(info["dataId"], id);
    }
    let watches = json!({"breakpoints": [{"dataId": "out[48]"}, {"dataId": "out[40][3..5]"}]});
    let answers = editor.ask("setDataBreakpoints", watches);
    assert_eq!(answers["breakpoints"][0]["verified"], false);
    assert_eq!(answers["breakpoints"][1]["verified"], true);
    editor.ask("continue", json!({"threadId": thread}));
    let stopped = editor.event("stopped");
    assert_eq!(stopped["reason"], "data breakpoint");
    let text = stopped["text"].as_str().unwrap();
    assert!(
        text.starts_with("block (0, 0, 0), thread (") && text.contains(" writes out[40][3] at test_kernels/src/"),
        "{text}"
    );
    assert_eq!(stopped["description"], text);
    editor.ask("setDataBreakpoints", json!({"breakpoints": []}));
    for (command, place) in [("restart", "entry"), ("continue", "breakpoint")] {
        editor.ask(command, if command == "restart" { Value::Null } else { json!({"threadId": thread}) });
        if command == "restart" {
            assert_eq!(editor.event("continued")["allThreadsContinued"], true);
        }
        assert_eq!(editor.event("stopped")["reason"], place);
    }
    editor.ask("setFunctionBreakpoints", json!({"breakpoints": []}));
    editor.ask("continue", json!({"threadId": thread}));
    editor.event("terminated");
    for command in ["threads", "disconnect"] {
        editor.request(command, Value::Null);
    }
    assert_eq!(editor.end(), (Some(0), String::new()));
}

/// Rejects out-of-order, unknown and meaningless requests, and the session continues.
#[test]
fn wrong_requests_are_refused() {
    if support::is_stale() {
        return;
    }
    let mut editor = Editor::start();
    assert_eq!(editor.refusal("threads", json!({})), "send `launch` first");
    assert!(editor.refusal("launch", json!({})).contains("missing field `launchFile`"));
    let missing = editor.refusal("launch", json!({"launchFile": "/nowhere/launch.json"}));
    assert!(missing.starts_with("/nowhere/launch.json: "), "{missing}");
    assert!(editor.refusal("shrug", json!({})).starts_with("`shrug` is not supported"));
    let nowhere = editor.refusal("launch", json!({"launchFile": "/nowhere/launch.json", "sourceRoot": "/nowhere"}));
    assert!(nowhere.starts_with("sourceRoot: /nowhere is no directory: name the one"), "{nowhere}");
    let from_0 = editor.refusal("initialize", json!({"adapterID": "kernel", "linesStartAt1": false}));
    assert!(from_0.starts_with("this debugger counts lines from 1"), "{from_0}");
    let (ptx, launch) = support::matmul_files();
    editor.launch(ptx, &launch);
    for (command, arguments) in [
        ("stackTrace", json!({"threadId": 99})),
        ("stackTrace", json!({"threadId": i64::MIN})),
        ("scopes", json!({"frameId": i64::MIN})),
        ("scopes", json!({"frameId": 9999})),
        ("variables", json!({"variablesReference": 0})),
        ("variables", json!({"variablesReference": i64::MIN})),
        ("variables", json!({"variablesReference": "x"})),
        ("evaluate", json!({"expression": "x as 99999999999x99999999999x0"})),
        ("evaluate", json!({"expression": "x as 4096x4096"})),
        ("evaluate", json!({"expression": "x", "frameId": -1})),
        ("exceptionInfo", json!({"threadId": 1})),
        ("writeMemory", json!({"memoryReference": "0", "data": ""})),
        ("initialize", json!(7)),
    ] {
        let response = editor.request(command, arguments.clone());
        let is_empty = response["success"] == true && response["body"]["result"] == "0 × 0 f32";
        assert!(response["success"] == false || is_empty, "{command} {arguments}: {response}");
    }
    editor.ask("terminate", Value::Null);
    editor.event("terminated");
    editor.leave();
}

/// Each request reports an unknown name or number when it is sent.
#[test]
fn unknown_names_and_numbers_are_refused_at_once() {
    if support::is_stale() {
        return;
    }
    let (mut editor, thread, path, barrier) = Editor::at_the_product();
    let mut answer = |path: &str, breakpoint: Value| {
        let set = json!({"source": {"path": path}, "breakpoints": [breakpoint]});
        let answer = editor.ask("setBreakpoints", set)["breakpoints"][0].clone();
        assert_eq!(answer["verified"], false, "{answer}");
        let message = answer["message"].as_str().unwrap().to_owned();
        assert_eq!(message.lines().count(), 1, "{message}");
        message
    };
    let file = "test_kernels/src/stepping.rs";
    let unknown = answer("/home/user/project/main.rs", json!({"line": 3}));
    assert!(unknown.starts_with("the kernel has no instructions from /home/user/project/main.rs: its files are "));
    assert!(unknown.contains(file), "{unknown}");
    let beyond = answer(&path, json!({"line": 9999}));
    let last = beyond.strip_prefix(&format!(
        "the kernel has no instructions at line 9999 of {file} or after it: its last line there is "
    ));
    assert!(last.is_some_and(|last| last.parse::<u32>().is_ok()), "{beyond}");
    assert!(answer(&path, json!({"line": -1})).starts_with("there is no line -1"));
    assert!(answer(&path, json!({"line": barrier, "hitCondition": "3"})).starts_with("this debugger counts no hits"));
    assert!(answer(&path, json!({"line": barrier, "logMessage": "x"})).starts_with("this debugger logs no messages"));
    let mut refused = |condition: &str| answer(&path, json!({"line": barrier, "condition": condition}));
    let unknown = refused("tid == 3");
    assert!(unknown.starts_with("nothing is called `tid`; there are x, rows, columns, out, "), "{unknown}");
    assert!(unknown.ends_with(
        "and the positions lane, warp, block, thread, block.x, block.y, block.z, thread.x, thread.y, thread.z"
    ));
    assert_eq!(refused("lane == 3 && warp == 32"), "the condition never holds: warp is 0 to 31 in this launch");
    assert!(refused("lane + 3").starts_with("a condition is true or false"));
    assert!(refused("x[0][40] == 1").starts_with("x has no [40]"));
    let functions = |condition: &str| json!({"breakpoints": [{"name": "matmul_tiles_f32", "condition": condition}]});
    let set = editor.ask("setFunctionBreakpoints", functions("y == 3"));
    assert!(set["breakpoints"][0]["message"].as_str().unwrap().starts_with("nothing is called `y`"), "{set}");
    let filters = editor.ask("setExceptionBreakpoints", json!({"filters": ["faults", "panics"]}));
    assert_eq!(
        (&filters["breakpoints"][0]["verified"], &filters["breakpoints"][1]["verified"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(filters["breakpoints"][1]["message"], "there is no filter `panics`: the only one is `faults`");
    for command in ["next", "stepIn", "stepOut", "stepBack", "stackTrace"] {
        let unknown = editor.refusal(command, json!({"threadId": 99}));
        let expected = "there is no thread 99: block (0, 0, 0) runs, with threads 1 to 32, one for each warp";
        assert_eq!(unknown, expected, "{command}");
    }
    for command in ["continue", "reverseContinue"] {
        let unknown = editor.refusal(command, json!({"threadId": 99}));
        assert_eq!(unknown, "there is no thread 99: the launch has threads 1 to 32, one for each warp", "{command}");
    }
    let target = editor.refusal("stepIn", json!({"threadId": thread, "targetId": 7}));
    assert_eq!(target, "there is no target 7 to step into: the only one is 1, the next barrier");
    for (command, arguments) in [
        ("stepInTargets", json!({"frameId": 9999})),
        ("scopes", json!({"frameId": 60})),
        ("evaluate", json!({"expression": "x", "frameId": 60})),
    ] {
        let unknown = editor.refusal(command, arguments);
        assert!(unknown.ends_with("at this stop: ask for the stack trace again"), "{command}: {unknown}");
    }
    let watches =
        json!({"breakpoints": [{"dataId": "y"}, {"dataId": "out[48]"}, {"dataId": "out", "accessType": "read"}]});
    let watches = editor.ask("setDataBreakpoints", watches)["breakpoints"].clone();
    for (number, expected) in
        ["nothing is called `y`", "out has no [48]", "a data breakpoint stops at writes only"].iter().enumerate()
    {
        assert_eq!(watches[number]["verified"], false);
        assert!(watches[number]["message"].as_str().unwrap().starts_with(expected), "{watches}");
    }
    assert!(editor.refusal("goto", json!({"threadId": 1, "targetId": 3})).starts_with("`goto` is not supported"));
    // None of these requests has moved the launch.
    editor.ask("continue", json!({"threadId": thread}));
    editor.event("terminated");
    editor.leave();
}

/// A variable that the compiler has removed has no value. A watch, a condition and a data
/// breakpoint tell where it has one.
#[test]
fn a_removed_variable_says_where_it_has_a_value() {
    if support::is_stale() {
        return;
    }
    let (mut editor, thread, path, _) = Editor::at_the_product();
    let frame = editor.frame(thread);
    // A variable of a later scope.
    let watched = editor.refusal("evaluate", json!({"expression": "sum", "frameId": frame}));
    assert!(watched.contains("`sum`") && watched.contains(" of test_kernels/src/stepping.rs"), "{watched}");
    // The first line also has no value of `sum` for a condition; the line of the product does.
    let (_, line) = editor.place(thread);
    let at = |line: u64| json!({"source": {"path": path}, "breakpoints": [{"line": line, "condition": "sum >= 0.0"}]});
    let refused = editor.ask("setBreakpoints", at(line))["breakpoints"][0].clone();
    assert_eq!((&refused["verified"], &refused["message"]), (&json!(false), &json!(watched)));
    let product = session::line_with("test_kernels/src/stepping.rs", "sum = math::fma", 0);
    let set = editor.ask("setBreakpoints", at(product.into()))["breakpoints"][0].clone();
    assert_eq!(set["verified"], true, "{set}");
    editor.ask("setBreakpoints", json!({"source": {"path": path}, "breakpoints": []}));
    // The first step after which the compiler has removed a variable.
    let is_removed = |variable: &&Value| variable["value"] == "optimized out";
    let found = (0..100).find_map(|_| {
        editor.ask("stepIn", json!({"threadId": thread}));
        editor.event("stopped");
        let frame = editor.frame(thread);
        let scopes = editor.ask("scopes", json!({"frameId": frame}))["scopes"].clone();
        let variables = editor.ask("variables", json!({"variablesReference": scopes[0]["variablesReference"]}));
        let name = variables["variables"].as_array().unwrap().iter().find(is_removed)?["name"].clone();
        Some((name.as_str().unwrap().to_owned(), frame))
    });
    let (name, frame) = found.unwrap();
    let watched = editor.refusal("evaluate", json!({"expression": name, "frameId": frame}));
    let (what, way_out) = watched.split_once(": ").unwrap();
    assert!(what.starts_with(&format!("`{name}` is optimized out at ")), "{watched}");
    assert!(
        ["it has a value at line", "the compiler keeps its value nowhere"].iter().any(|it| way_out.starts_with(it))
    );
    let watched = editor.ask("dataBreakpointInfo", json!({"name": name}))["description"].clone();
    assert!(watched.as_str().unwrap().starts_with(what), "{watched}");
    editor.leave();
}

/// An endless kernel can be paused, and ends when its client leaves, whichever way.
#[test]
fn an_endless_kernel_is_paused_and_ends_with_the_client() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry spin() {\n.reg .b32 r;\nL: add.u32 r, r, 1;\nbra L;\n}\n";
    let launch = r#"{"ptx": "kernels.ptx", "kernel": "spin", "block": [32, 1, 1], "arguments": []}"#;
    for (bytes, code) in [(&b""[..], 0), (b"Content-Length: 3\r\n\r\n{]}", 2)] {
        let mut editor = Editor::start();
        let thread = editor.launch(ptx, launch);
        editor.ask("continue", json!({"threadId": thread}));
        assert_eq!(editor.ask("threads", json!({}))["threads"].as_array().unwrap().len(), 1);
        editor.ask("pause", json!({"threadId": thread}));
        assert_eq!(editor.event("stopped")["reason"], "pause");
        editor.ask("continue", json!({"threadId": thread}));
        editor.send_bytes(bytes);
        assert_eq!(editor.end().0, Some(code));
    }
}

/// A client that sends no messages, or leaves, ends the session with at most one line.
#[test]
fn a_broken_client_ends_the_session() {
    for (bytes, expected) in [
        (&b""[..], ""),
        (b"Content-Length: 2\r\n\r\n{}", ""),
        (b"Content-Length: 9\r\n\r\n{}", "Error: the client's messages cannot be read: "),
        (b"Content-Length: 99999999999999\r\n\r\n", "Error: the client sends a message of 99999999999999 bytes; "),
        (b"Content-Length: 3\r\n\r\n{]}", "Error: the client sends a message that is not JSON: "),
        (b"GET / HTTP/1.1\r\n\r\n", "Error: the client sends a header without `Content-Length: N`"),
    ] {
        let mut editor = Editor::start();
        editor.send_bytes(bytes);
        let (code, text) = editor.end();
        assert_eq!(code, Some(if expected.is_empty() { 0 } else { 2 }), "{text}");
        assert!(text.starts_with(expected) && text.lines().count() <= 1, "{text}");
    }
}
