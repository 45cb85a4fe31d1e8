//! Messages of the Debug Adapter Protocol, from the client to the debugger.

use std::fs;
use std::io::Cursor;

use kernel_debugger::dap;
use serde_json::{Value, json};

use crate::cases::{Answer, scratch};
use crate::edits::{Input, edit_bytes, edit_parts, edit_words};
use crate::launch::{of_this_folder, write_ptx};

const LAUNCH: &str = include_str!("../../../rust-cuda/kernel-debugger/launches/missing_second_barrier.json");

/// A session whose messages are damaged ends, with or without an error. Each message of the
/// debugger is JSON with its length.
pub(crate) fn reader() -> impl Fn(&Input) -> Answer {
    let folder = scratch();
    write_ptx(folder.path());
    let launch = folder.path().join("launch.json");
    fs::write(&launch, of_this_folder(LAUNCH)).unwrap();
    let session = requests(&launch.display().to_string());
    move |input| {
        let _exists = &folder;
        let mut messages: Vec<Vec<u8>> = session.iter().map(|request| request.to_string().into_bytes()).collect();
        // Edit some messages but keep the launch: without it there is nothing to debug.
        let which = usize::from(input.file) % messages.len();
        edit_words(&input.words, &mut messages[which]);
        if input.choice.is_multiple_of(4) {
            let mut tail = messages.split_off(2);
            edit_parts(&input.parts, &mut tail, &[b"{\"seq\":", b"[", b"{}"]);
            messages.extend(tail);
        }
        let mut wire: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
        if input.choice.is_multiple_of(16) {
            edit_bytes(&input.bytes, &mut wire);
        }
        let mut output = Vec::new();
        let ended = dap::serve(Cursor::new(wire), &mut output);
        require_messages(&output);
        match ended {
            Ok(()) => Answer::Accepted,
            Err(error) => {
                assert!(!error.to_string().trim().is_empty(), "an error says something");
                Answer::Rejected
            }
        }
    }
}

/// A session with each kind of request.
fn requests(launch: &str) -> Vec<Value> {
    let source = json!({"path": "rust-cuda/seeded_bugs/src/lib.rs", "name": "lib.rs"});
    let requests = [
        ("initialize", json!({"adapterID": "kernel", "linesStartAt1": true})),
        ("launch", json!({"launchFile": launch, "stopOnEntry": true})),
        ("setBreakpoints", json!({"source": source, "breakpoints": [{"line": 30, "condition": "thread == 33"}]})),
        ("setExceptionBreakpoints", json!({"filters": []})),
        ("configurationDone", json!({})),
        ("threads", json!({})),
        ("stackTrace", json!({"threadId": 1, "startFrame": 0, "levels": 20})),
        ("scopes", json!({"frameId": 1})),
        ("variables", json!({"variablesReference": 1, "start": 0, "count": 16})),
        ("evaluate", json!({"expression": "out[3]", "frameId": 1, "context": "repl"})),
        ("next", json!({"threadId": 1})),
        ("stepIn", json!({"threadId": 1})),
        ("stepBack", json!({"threadId": 1})),
        ("dataBreakpointInfo", json!({"variablesReference": 1, "name": "out"})),
        ("continue", json!({"threadId": 1})),
        ("reverseContinue", json!({"threadId": 1})),
        ("disconnect", json!({})),
    ];
    let number = |(index, (command, arguments)): (usize, (&str, Value))| json!({"seq": index + 1, "type": "request", "command": command, "arguments": arguments});
    requests.into_iter().enumerate().map(number).collect()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes(), message].concat()
}

fn require_messages(mut output: &[u8]) {
    while !output.is_empty() {
        let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a header ends");
        let header = std::str::from_utf8(&output[..end]).expect("a header is text");
        let length: usize = header.strip_prefix("Content-Length: ").expect("a header states a length").parse().unwrap();
        let (message, rest) = output[end + 4..].split_at(length);
        serde_json::from_slice::<Value>(message).expect("a message is JSON");
        output = rest;
    }
}
