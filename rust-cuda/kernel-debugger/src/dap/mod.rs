//! A server of the Debug Adapter Protocol.

mod breakpoints;
mod front;
mod present;
mod wire;

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use emmy_dap_types::base_message::{BaseMessage, Sendable};
use emmy_dap_types::events::{Event, OutputEventBody};
use emmy_dap_types::prelude::{Command, Request, Response, ResponseBody};
use emmy_dap_types::types::{Capabilities, ExceptionBreakpointsFilter, OutputEventCategory};
use kernel_launch::{Launch, LaunchFile, LaunchFileError};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::{End, Session, parse_source_root};
use front::DapFront;

/// The reason why the server ended before the session did.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The client's messages cannot be read.
    #[error(transparent)]
    Wire(WireProblem),
    /// The client does not accept messages.
    #[error("the client does not take messages: {0}")]
    Output(#[from] io::Error),
    /// The launch cannot begin.
    #[error(transparent)]
    Launch(#[from] ptx_interpreter::LaunchError),
}

/// A problem with the client's messages, as text.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct WireProblem(String);

/// The arguments of the request `launch`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LaunchArguments {
    /// The launch file.
    launch_file: PathBuf,
    /// The directory that the sources' names start at.
    source_root: Option<String>,
    /// Whether to stop at the first instruction.
    #[serde(default)]
    stop_on_entry: bool,
}

/// Serves one client until it disconnects or the kernel ends.
///
/// # Errors
/// If the client's messages cannot be read, or it does not accept any.
pub fn serve(input: impl BufRead + Send + 'static, output: impl Write) -> Result<(), ServeError> {
    let (sender, requests) = mpsc::channel();
    let mut input = input;
    // The thread ends with the input, or when the server no longer listens.
    thread::spawn(move || {
        loop {
            let message = wire::read(&mut input).map_err(|error| WireProblem(error.to_string()));
            let is_last = !matches!(message, Ok(Some(_)));
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
    let mut client = Client { requests, output, sent: 0 };
    let Some((launch, arguments)) = client.configure()? else { return Ok(()) };
    if let Some(reason) = launch.debug_information().missing() {
        client.say(&format!("{reason}\n"))?;
    }
    let mut session = Session::new(&launch);
    let lines = session.lines().clone();
    let mut front = DapFront::new(&mut client, arguments.source_root.map(PathBuf::from), arguments.stop_on_entry);
    if !front.configure(&launch, &lines, session.breakpoints())? {
        return Ok(());
    }
    let end = session.run(&mut front);
    let terminates = front.end()?;
    for printed in launch.machine().take_printed() {
        client.output(OutputEventCategory::Stdout, &format!("{printed}\n"))?;
    }
    match end {
        Ok(End::Quit) if terminates => client.end("the kernel has been ended\n"),
        Ok(End::Quit) => Ok(()),
        Ok(End::Completed) => client.end("the kernel has ended\n"),
        Ok(End::Fault(fault)) => client.end(&format!("a fault has ended the kernel: {fault}\n")),
        Err(error) => {
            client.end(&format!("{error}\n"))?;
            Err(error.into())
        }
    }
}

/// A message from the reading thread.
type Message = Result<Option<Value>, WireProblem>;

/// The client's requests, and the output to the client.
pub(crate) struct Client<W> {
    requests: Receiver<Message>,
    output: W,
    /// Number of messages sent.
    sent: i64,
}

impl<W: Write> Client<W> {
    /// Answers requests until a launch is ready. `None` if the client leaves first.
    fn configure(&mut self) -> Result<Option<(Launch, LaunchArguments)>, ServeError> {
        while let Some(request) = self.next()? {
            let raw = &request.raw;
            match &request.command {
                Command::Initialize(arguments) if arguments.lines_start_at1 == Some(false) => {
                    self.fail(&request, "this debugger counts lines from 1: send `linesStartAt1` as true".to_owned())?;
                }
                Command::Initialize(_) => self.succeed(&request, ResponseBody::Initialize(capabilities()))?,
                Command::Launch(_) | Command::Attach(_) => match open(raw) {
                    Ok(opened) => {
                        let body = if matches!(request.command, Command::Launch(_)) {
                            ResponseBody::Launch
                        } else {
                            ResponseBody::Attach
                        };
                        self.succeed(&request, body)?;
                        self.event(Event::Initialized)?;
                        return Ok(Some(opened));
                    }
                    Err(message) => self.fail(&request, message)?,
                },
                Command::Disconnect(_) => {
                    self.succeed(&request, ResponseBody::Disconnect)?;
                    return Ok(None);
                }
                _ => self.fail(&request, "send `launch` first".to_owned())?,
            }
        }
        Ok(None)
    }

    /// Waits for the next request. `None` once the client has left. Rejects messages that are not
    /// known requests.
    pub(crate) fn next(&mut self) -> Result<Option<Received>, ServeError> {
        loop {
            let message = self.requests.recv().unwrap_or(Ok(None));
            match self.receive(message)? {
                Arrival::Request(request) => return Ok(Some(*request)),
                Arrival::Left => return Ok(None),
                Arrival::Refused => {}
            }
        }
    }

    /// The next request, if one has arrived.
    pub(crate) fn poll(&mut self) -> Result<Option<Received>, ServeError> {
        while let Ok(message) = self.requests.try_recv() {
            match self.receive(message)? {
                Arrival::Request(request) => return Ok(Some(*request)),
                Arrival::Left => return Ok(Some(Received::disconnect())),
                Arrival::Refused => {}
            }
        }
        Ok(None)
    }

    fn receive(&mut self, message: Message) -> Result<Arrival, ServeError> {
        let Some(mut raw) = message.map_err(ServeError::Wire)? else { return Ok(Arrival::Left) };
        // The protocol allows many requests to omit their arguments, but its Rust types require
        // them.
        if let Some(fields) = raw.as_object_mut() {
            fields.entry("arguments").or_insert_with(|| serde_json::json!({}));
        }
        match serde_json::from_value::<Request>(raw.clone()) {
            Ok(Request { seq, command }) => Ok(Arrival::Request(Box::new(Received { seq, command, raw }))),
            Err(error) => {
                // A request of a newer protocol version, or not a request at all. The response
                // needs its number and its name.
                let request_seq = raw.get("seq").and_then(Value::as_i64).unwrap_or(0);
                let command = raw.get("command").and_then(Value::as_str).unwrap_or("unknown");
                self.refuse(request_seq, command, &format!("`{command}` is not supported, or not valid: {error}"))?;
                Ok(Arrival::Refused)
            }
        }
    }

    pub(crate) fn succeed(&mut self, request: &Received, body: ResponseBody) -> Result<(), ServeError> {
        let response =
            Response { request_seq: request.seq, success: true, message: None, body: Some(body), error: None };
        self.send(Sendable::Response(response))
    }

    /// Answers a request with a body that the protocol's Rust types lack.
    pub(crate) fn succeed_with(&mut self, request: &Received, body: &Value) -> Result<(), ServeError> {
        self.sent += 1;
        let response = serde_json::json!({
            "seq": self.sent, "type": "response", "request_seq": request.seq, "success": true,
            "command": request.raw.get("command"), "body": body,
        });
        Ok(wire::write(&mut self.output, &response)?)
    }

    pub(crate) fn fail(&mut self, request: &Received, message: String) -> Result<(), ServeError> {
        self.refuse(request.seq, request.name(), &message)
    }

    /// Answers a request with an error. The protocol's Rust types have no body-less response that
    /// names its command.
    fn refuse(&mut self, request_seq: i64, command: &str, message: &str) -> Result<(), ServeError> {
        self.sent += 1;
        // Editors show an expression's error next to the expression, and they evaluate one wherever
        // the pointer rests.
        let show_user = command != "evaluate";
        let response = serde_json::json!({
            "seq": self.sent, "type": "response", "request_seq": request_seq, "success": false, "command": command,
            "message": message,
            "body": {"error": {"id": 1, "format": "{text}", "variables": {"text": message}, "showUser": show_user}},
        });
        Ok(wire::write(&mut self.output, &response)?)
    }

    pub(crate) fn event(&mut self, event: Event) -> Result<(), ServeError> {
        self.send(Sendable::Event(event))
    }

    fn send(&mut self, message: Sendable) -> Result<(), ServeError> {
        self.sent += 1;
        Ok(wire::write(&mut self.output, &BaseMessage { seq: self.sent, message })?)
    }

    /// Writes text to the client's console.
    pub(crate) fn say(&mut self, text: &str) -> Result<(), ServeError> {
        self.output(OutputEventCategory::Console, text)
    }

    fn output(&mut self, category: OutputEventCategory, text: &str) -> Result<(), ServeError> {
        let (category, output) = (Some(category), text.to_owned());
        self.event(Event::Output(OutputEventBody { category, output, ..Default::default() }))
    }

    /// Tells the client that the session has ended, and why.
    fn end(&mut self, text: &str) -> Result<(), ServeError> {
        self.say(text)?;
        self.event(Event::Terminated(None))?;
        while let Some(request) = self.next()? {
            if let Command::Disconnect(_) = request.command {
                return self.succeed(&request, ResponseBody::Disconnect);
            }
            self.fail(&request, "the kernel has ended".to_owned())?;
        }
        Ok(())
    }
}

/// A request with its JSON.
pub(crate) struct Received {
    pub(crate) seq: i64,
    pub(crate) command: Command,
    raw: Value,
}

impl Received {
    /// The command's name in the protocol.
    pub(crate) fn name(&self) -> &str {
        self.raw.get("command").and_then(Value::as_str).unwrap_or("unknown")
    }

    /// The request that a departed client would have sent.
    fn disconnect() -> Self {
        Self { seq: 0, command: Command::Disconnect(Default::default()), raw: Value::Null }
    }
}

enum Arrival {
    Request(Box<Received>),
    Left,
    /// The message has been answered with an error.
    Refused,
}

fn open(raw: &Value) -> Result<(Launch, LaunchArguments), String> {
    let arguments = raw.get("arguments").cloned().unwrap_or_default();
    let arguments: LaunchArguments =
        serde_json::from_value(arguments).map_err(|error| format!("the launch configuration: {error}"))?;
    if let Some(root) = &arguments.source_root {
        parse_source_root(root).map_err(|error| format!("sourceRoot: {error}"))?;
    }
    let launch = LaunchFile::open(Path::new(&arguments.launch_file));
    let launch = launch.map_err(|error: LaunchFileError| error.to_string())?;
    Ok((launch, arguments))
}

fn capabilities() -> Capabilities {
    Capabilities {
        supports_configuration_done_request: Some(true),
        supports_conditional_breakpoints: Some(true),
        supports_function_breakpoints: Some(true),
        supports_data_breakpoints: Some(true),
        exception_breakpoint_filters: Some(vec![ExceptionBreakpointsFilter {
            filter: breakpoints::FAULTS.to_owned(),
            label: "Faults".to_owned(),
            description: Some("Races, accesses out of bounds, uninitialised reads, deadlocks, traps".to_owned()),
            default: Some(true),
            ..Default::default()
        }]),
        supports_step_back: Some(true),
        supports_restart_request: Some(true),
        supports_evaluate_for_hovers: Some(true),
        supports_exception_info_request: Some(true),
        supports_stepping_granularity: Some(true),
        supports_step_in_targets_request: Some(true),
        supports_terminate_request: Some(true),
        ..Default::default()
    }
}
