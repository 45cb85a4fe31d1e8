//! A session's front that asks the client at each stop.

use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;

use emmy_dap_types::events::{ContinuedEventBody, Event, StoppedEventBody};
use emmy_dap_types::prelude::{Command, ResponseBody};
use emmy_dap_types::requests::{
    ContinueArguments, ReverseContinueArguments, SetBreakpointsArguments, SetDataBreakpointsArguments,
    SetExceptionBreakpointsArguments, SetFunctionBreakpointsArguments, StepInArguments,
};
use emmy_dap_types::responses::{
    ContinueResponse, DataBreakpointInfoResponse, EvaluateResponse, ExceptionInfoResponse, ScopesResponse,
    SetBreakpointsResponse, SetDataBreakpointsResponse, SetExceptionBreakpointsResponse,
    SetFunctionBreakpointsResponse, StackTraceResponse, ThreadsResponse, VariablesResponse,
};
use emmy_dap_types::types::{
    Breakpoint, DataBreakpoint, DataBreakpointAccessType, ExceptionBreakMode, FunctionBreakpoint, SourceBreakpoint,
    SteppingGranularity, StoppedEventReason,
};
use kernel_launch::Launch;

use super::present::Presenter;
use super::{Client, Received, ServeError};
use crate::{Breakpoints, Condition, Front, Lines, Resume, StopReason, Stopped};

/// The filter of exception breakpoints that selects all faults.
pub(super) const FAULTS: &str = "faults";

/// The target of a step into it that is the warp's next barrier.
const NEXT_BARRIER: i64 = 1;

/// The client of a session.
pub(crate) struct DapFront<'c, W> {
    client: &'c mut Client<W>,
    source_root: PathBuf,
    /// Whether to pass the launch's first instruction without a stop.
    passes_entry: bool,
    /// Requests that came while the launch ran, other than `pause`.
    waiting: VecDeque<Received>,
    /// Whether the client has asked for the pause.
    pauses: bool,
    /// Whether the client has ended the kernel, and is to be told so.
    terminates: bool,
    /// The warp that the client steps; None for the one that has stopped.
    warp: Option<u32>,
    /// Why the client is no longer served.
    error: Option<ServeError>,
}

impl<'c, W: Write> DapFront<'c, W> {
    pub(crate) fn new(client: &'c mut Client<W>, source_root: Option<PathBuf>, stop_on_entry: bool) -> Self {
        Self {
            client,
            source_root: source_root.unwrap_or_default(),
            passes_entry: !stop_on_entry,
            waiting: VecDeque::new(),
            pauses: false,
            terminates: false,
            warp: None,
            error: None,
        }
    }

    /// Whether the client has asked for the kernel's end.
    ///
    /// # Errors
    /// Why the client is no longer served.
    pub(crate) fn end(self) -> Result<bool, ServeError> {
        self.error.map_or(Ok(self.terminates), Err)
    }

    /// Answers requests until the client has set its breakpoints. Returns false if it leaves before.
    pub(crate) fn configure(
        &mut self,
        launch: &Launch,
        lines: &Lines,
        breakpoints: &mut Breakpoints,
    ) -> Result<bool, ServeError> {
        while let Some(request) = self.client.next()? {
            match &request.command {
                Command::SetBreakpoints(arguments) => {
                    self.set_breakpoints(&request, arguments, (launch, lines), breakpoints)?;
                }
                Command::SetFunctionBreakpoints(arguments) => {
                    self.set_function_breakpoints(&request, arguments, (launch, lines), breakpoints)?;
                }
                Command::SetExceptionBreakpoints(arguments) => {
                    self.client.succeed(&request, set_exception_breakpoints(arguments, breakpoints))?;
                }
                Command::SetDataBreakpoints(arguments) => {
                    let early = |_: &DataBreakpoint| refused("set it again once the kernel has stopped".to_owned());
                    let body =
                        SetDataBreakpointsResponse { breakpoints: arguments.breakpoints.iter().map(early).collect() };
                    self.client.succeed(&request, ResponseBody::SetDataBreakpoints(body))?;
                }
                Command::Threads => {
                    let none = ThreadsResponse { threads: Vec::new() };
                    self.client.succeed(&request, ResponseBody::Threads(none))?;
                }
                Command::ConfigurationDone => {
                    self.client.succeed(&request, ResponseBody::ConfigurationDone)?;
                    return Ok(true);
                }
                Command::Disconnect(_) => {
                    self.client.succeed(&request, ResponseBody::Disconnect)?;
                    return Ok(false);
                }
                _ => self.client.fail(&request, "send `configurationDone` first".to_owned())?,
            }
        }
        Ok(false)
    }

    fn set_breakpoints(
        &mut self,
        request: &Received,
        arguments: &SetBreakpointsArguments,
        (launch, lines): (&Launch, &Lines),
        breakpoints: &mut Breakpoints,
    ) -> Result<(), ServeError> {
        let path = arguments.source.path.as_deref().or(arguments.source.name.as_deref()).unwrap_or_default();
        let wanted = arguments.breakpoints.as_deref().unwrap_or_default();
        let read: Vec<_> = wanted.iter().map(line_and_condition).collect();
        let mut set = breakpoints.set_lines((launch, lines), path, read.iter().flatten().cloned()).into_iter();
        let answer = |read: &Result<_, String>| match read {
            Err(error) => refused(error.clone()),
            Ok(_) => match set.next().expect("each valid breakpoint has an answer") {
                Ok(line) => Breakpoint { verified: true, line: Some(line.into()), ..Default::default() },
                Err(error) => refused(error.to_string()),
            },
        };
        let body = SetBreakpointsResponse { breakpoints: read.iter().map(answer).collect() };
        self.client.succeed(request, ResponseBody::SetBreakpoints(body))
    }

    /// A function is the launch's kernel, all others being inlined into it.
    fn set_function_breakpoints(
        &mut self,
        request: &Received,
        arguments: &SetFunctionBreakpointsArguments,
        (launch, lines): (&Launch, &Lines),
        breakpoints: &mut Breakpoints,
    ) -> Result<(), ServeError> {
        // Without a condition it cannot fail.
        let _ = breakpoints.set_entry((launch, lines), None);
        let set = |wanted: &FunctionBreakpoint| {
            let kernel = launch.kernel();
            if wanted.name != kernel {
                let name = &wanted.name;
                let way_out = "break at a line of a function that it calls";
                return Err(format!("`{name}` is not the launch's kernel, which is `{kernel}`: {way_out}"));
            }
            without_hits(wanted.hit_condition.as_deref())?;
            let condition = condition(wanted.condition.as_deref())?;
            let entry = Some(crate::Breakpoint { condition });
            breakpoints.set_entry((launch, lines), entry).map_err(|error| error.to_string())
        };
        let body = SetFunctionBreakpointsResponse {
            breakpoints: arguments.breakpoints.iter().map(set).map(verified).collect(),
        };
        self.client.succeed(request, ResponseBody::SetFunctionBreakpoints(body))
    }

    /// Data breakpoints are known by the expressions whose memory they watch.
    fn set_data_breakpoints(
        &mut self,
        request: &Received,
        arguments: &SetDataBreakpointsArguments,
        presenter: &Presenter<'_>,
        breakpoints: &mut Breakpoints,
    ) -> Result<(), ServeError> {
        let mut watches = Vec::new();
        let set = |wanted: &DataBreakpoint| {
            if wanted.condition.as_deref().is_some_and(|condition| !condition.trim().is_empty()) {
                return Err(
                    "a data breakpoint has no condition: set a breakpoint with one at the line that writes".to_owned()
                );
            }
            without_hits(wanted.hit_condition.as_deref())?;
            if !matches!(wanted.access_type, None | Some(DataBreakpointAccessType::Write)) {
                return Err("a data breakpoint stops at writes only: choose the access type `write`".to_owned());
            }
            watches.extend(presenter.addresses(&wanted.data_id)?);
            Ok(())
        };
        let body =
            SetDataBreakpointsResponse { breakpoints: arguments.breakpoints.iter().map(set).map(verified).collect() };
        breakpoints.set_watches(&watches);
        self.client.succeed(request, ResponseBody::SetDataBreakpoints(body))
    }

    /// Announces a stop, unless only waiting requests are to be answered.
    fn announce(&mut self, stopped: &Stopped<'_>, thread: i64) -> Result<(), ServeError> {
        let (reason, text) = match &stopped.stop.reason {
            StopReason::Entry => (StoppedEventReason::Entry, None),
            StopReason::Breakpoint => (StoppedEventReason::Breakpoint, None),
            StopReason::Step => (StoppedEventReason::Step, None),
            StopReason::BadCondition(error) => (StoppedEventReason::Breakpoint, Some(error.clone())),
            StopReason::Write(write) => {
                (StoppedEventReason::String("data breakpoint".to_owned()), Some(stopped.describe(write)))
            }
            StopReason::Pause => (StoppedEventReason::Pause, None),
            StopReason::Fault(fault) => (StoppedEventReason::Exception, Some(fault.to_string())),
        };
        // Editors show the text of exceptions only.
        if matches!(stopped.stop.reason, StopReason::Write(_) | StopReason::BadCondition(_) | StopReason::Fault(_)) {
            self.client.say(&format!("{}\n", text.as_deref().unwrap_or_default()))?;
        }
        self.client.event(Event::Stopped(StoppedEventBody {
            reason,
            description: match &stopped.stop.reason {
                StopReason::Fault(_) => Some("The kernel's fault".to_owned()),
                StopReason::BadCondition(_) => Some("The condition has no value".to_owned()),
                StopReason::Write(_) => text.clone(),
                _ => None,
            },
            thread_id: Some(thread),
            preserve_focus_hint: None,
            text,
            all_threads_stopped: Some(true),
            hit_breakpoint_ids: None,
        }))
    }

    /// Answers requests at a stop until one says how to go on.
    fn ask(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Result<Resume, ServeError> {
        let is_pause = stopped.stop.reason == StopReason::Pause;
        let only_waiting = is_pause && !std::mem::take(&mut self.pauses);
        let mut presenter = Presenter::new(stopped, self.source_root.clone());
        if !only_waiting {
            self.announce(stopped, presenter.current_thread())?;
        }
        loop {
            let request = match self.waiting.pop_front() {
                Some(request) => request,
                None if only_waiting => return Ok(Resume::Continue),
                None => match self.client.next()? {
                    Some(request) => request,
                    None => return Ok(Resume::Quit),
                },
            };
            if let Some(resume) = self.answer(&request, stopped, breakpoints, &mut presenter)? {
                return Ok(resume);
            }
        }
    }

    /// Answers a request. How to go on, if it says so.
    fn answer(
        &mut self,
        request: &Received,
        stopped: &Stopped<'_>,
        breakpoints: &mut Breakpoints,
        presenter: &mut Presenter<'_>,
    ) -> Result<Option<Resume>, ServeError> {
        if let Err(message) = check_thread(&request.command, presenter) {
            self.client.fail(request, message)?;
            return Ok(None);
        }
        let by = |granularity: &Option<SteppingGranularity>, step| match granularity {
            Some(SteppingGranularity::Instruction) => Resume::StepInstruction,
            _ => step,
        };
        let (body, resume) = match &request.command {
            Command::Continue(_) => {
                let body = ContinueResponse { all_threads_continued: Some(true) };
                (Ok(ResponseBody::Continue(body)), Some(Resume::Continue))
            }
            Command::Next(arguments) => (Ok(ResponseBody::Next), Some(by(&arguments.granularity, Resume::StepOver))),
            Command::StepIn(arguments) if arguments.target_id == Some(NEXT_BARRIER) => {
                (Ok(ResponseBody::StepIn), Some(Resume::ToBarrier))
            }
            Command::StepIn(arguments) => {
                (Ok(ResponseBody::StepIn), Some(by(&arguments.granularity, Resume::StepLine)))
            }
            Command::StepOut(arguments) => {
                (Ok(ResponseBody::StepOut), Some(by(&arguments.granularity, Resume::StepOut)))
            }
            Command::StepInTargets(arguments) => {
                if let Err(message) = presenter.scopes(arguments.frame_id) {
                    self.client.fail(request, message)?;
                    return Ok(None);
                }
                let targets = serde_json::json!({"targets": [{"id": NEXT_BARRIER, "label": "the next barrier"}]});
                self.client.succeed_with(request, &targets)?;
                return Ok(None);
            }
            Command::StepBack(_) => (Ok(ResponseBody::StepBack), Some(Resume::StepBack)),
            Command::ReverseContinue(_) => (Ok(ResponseBody::ReverseContinue), Some(Resume::ContinueBack)),
            Command::Restart(_) => (Ok(ResponseBody::Restart), Some(Resume::Restart)),
            Command::Disconnect(_) => (Ok(ResponseBody::Disconnect), Some(Resume::Quit)),
            Command::Terminate(_) => {
                self.terminates = true;
                (Ok(ResponseBody::Terminate), Some(Resume::Quit))
            }
            Command::Pause(_) => (Ok(ResponseBody::Pause), None),
            Command::SetBreakpoints(arguments) => {
                self.set_breakpoints(request, arguments, (stopped.launch, stopped.lines), breakpoints)?;
                return Ok(None);
            }
            Command::SetFunctionBreakpoints(arguments) => {
                self.set_function_breakpoints(request, arguments, (stopped.launch, stopped.lines), breakpoints)?;
                return Ok(None);
            }
            Command::SetDataBreakpoints(arguments) => {
                self.set_data_breakpoints(request, arguments, presenter, breakpoints)?;
                return Ok(None);
            }
            Command::DataBreakpointInfo(arguments) => {
                let expression = presenter.expression(arguments.variables_reference, &arguments.name);
                let (data_id, description) = match presenter.addresses(&expression) {
                    Ok(_) => (Some(expression.clone()), format!("{expression} is written")),
                    Err(error) => (None, error),
                };
                let access_types = data_id.is_some().then(|| vec![DataBreakpointAccessType::Write]);
                let info = DataBreakpointInfoResponse { data_id, description, access_types, can_persist: Some(false) };
                (Ok(ResponseBody::DataBreakpointInfo(info)), None)
            }
            Command::SetExceptionBreakpoints(arguments) => {
                (Ok(set_exception_breakpoints(arguments, breakpoints)), None)
            }
            Command::Threads => {
                let threads = presenter.threads();
                (Ok(ResponseBody::Threads(ThreadsResponse { threads })), None)
            }
            Command::StackTrace(arguments) => {
                let frames = presenter.frames(arguments.thread_id).map(|stack_frames| {
                    let total_frames = Some(stack_frames.len() as i64);
                    ResponseBody::StackTrace(StackTraceResponse { stack_frames, total_frames })
                });
                (frames, None)
            }
            Command::Scopes(arguments) => {
                let scopes = presenter.scopes(arguments.frame_id);
                (scopes.map(|scopes| ResponseBody::Scopes(ScopesResponse { scopes })), None)
            }
            Command::Variables(arguments) => {
                let variables = presenter.variables(arguments.variables_reference);
                (variables.map(|variables| ResponseBody::Variables(VariablesResponse { variables })), None)
            }
            Command::Evaluate(arguments) => {
                let value = presenter.evaluate(&arguments.expression, arguments.frame_id);
                let body = value.map(|(result, variables_reference)| {
                    ResponseBody::Evaluate(EvaluateResponse { result, variables_reference, ..Default::default() })
                });
                (body, None)
            }
            Command::ExceptionInfo(_) => match &stopped.stop.reason {
                StopReason::Fault(fault) => {
                    let info = ExceptionInfoResponse {
                        exception_id: "fault".to_owned(),
                        description: Some(fault.to_string()),
                        break_mode: ExceptionBreakMode::Always,
                        details: None,
                    };
                    (Ok(ResponseBody::ExceptionInfo(info)), None)
                }
                _ => (Err("the kernel has stopped without a fault".to_owned()), None),
            },
            _ => {
                let command = request.name();
                (Err(format!("`{command}` is not supported by this debugger, which does not announce it either")), None)
            }
        };
        self.warp = stepped_thread(&request.command).and_then(|thread| presenter.warp_of(thread).ok());
        match body {
            Ok(body) => self.client.succeed(request, body)?,
            Err(message) => self.client.fail(request, message)?,
        }
        if resume == Some(Resume::Restart) {
            // Without it editors keep showing the stop before.
            let thread_id = presenter.current_thread();
            let all_threads_continued = Some(true);
            self.client.event(Event::Continued(ContinuedEventBody { thread_id, all_threads_continued }))?;
        }
        Ok(resume)
    }
}

/// The thread that a request steps.
fn stepped_thread(command: &Command) -> Option<i64> {
    match command {
        Command::Next(arguments) => Some(arguments.thread_id),
        Command::StepIn(arguments) => Some(arguments.thread_id),
        Command::StepOut(arguments) => Some(arguments.thread_id),
        Command::StepBack(arguments) => Some(arguments.thread_id),
        _ => None,
    }
}

/// # Errors
/// If a request resumes a thread that cannot be resumed, or steps into a target that does not exist.
fn check_thread(command: &Command, presenter: &Presenter<'_>) -> Result<(), String> {
    match command {
        Command::StepIn(StepInArguments { target_id: Some(target), .. }) if *target != NEXT_BARRIER => {
            Err(format!("there is no target {target} to step into: the only one is {NEXT_BARRIER}, the next barrier"))
        }
        Command::StepBack(arguments) => presenter.warp_of(arguments.thread_id).map(drop),
        Command::Continue(ContinueArguments { thread_id, .. })
        | Command::ReverseContinue(ReverseContinueArguments { thread_id, .. }) => presenter.check_exists(*thread_id),
        _ => stepped_thread(command).map_or(Ok(()), |thread| presenter.check_runs(thread)),
    }
}

/// The condition of a breakpoint; editors send an empty one where there is none.
fn condition(text: Option<&str>) -> Result<Option<Condition>, String> {
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(str::parse).transpose().map_err(|error: crate::ConditionError| error.to_string())
}

/// The line of a breakpoint and its condition.
///
/// # Errors
/// If it asks for what no breakpoint of this debugger does.
fn line_and_condition(wanted: &SourceBreakpoint) -> Result<(u32, Option<Condition>), String> {
    let line = u32::try_from(wanted.line).ok().filter(|line| *line > 0);
    let line = line.ok_or_else(|| format!("there is no line {}: lines are counted from 1", wanted.line))?;
    without_hits(wanted.hit_condition.as_deref())?;
    if wanted.log_message.as_deref().is_some_and(|message| !message.is_empty()) {
        return Err("this debugger logs no messages: stop at the breakpoint, and watch the expression".to_owned());
    }
    Ok((line, condition(wanted.condition.as_deref())?))
}

/// # Errors
/// If a breakpoint is to stop only after a number of hits.
fn without_hits(hit_condition: Option<&str>) -> Result<(), String> {
    match hit_condition.filter(|text| !text.trim().is_empty()) {
        None => Ok(()),
        Some(_) => Err("this debugger counts no hits: write a condition, such as `block.x == 3`".to_owned()),
    }
}

/// The answer for a breakpoint that has been set, or cannot be.
fn verified(set: Result<(), String>) -> Breakpoint {
    match set {
        Ok(()) => Breakpoint { verified: true, ..Default::default() },
        Err(message) => refused(message),
    }
}

/// A breakpoint that cannot be set.
fn refused(message: String) -> Breakpoint {
    Breakpoint { message: Some(message), ..Default::default() }
}

fn set_exception_breakpoints(
    arguments: &SetExceptionBreakpointsArguments,
    breakpoints: &mut Breakpoints,
) -> ResponseBody {
    breakpoints.set_stops_at_faults(arguments.filters.iter().any(|filter| filter == FAULTS));
    let answer = |filter: &String| match filter == FAULTS {
        true => verified(Ok(())),
        false => refused(format!("there is no filter `{filter}`: the only one is `{FAULTS}`")),
    };
    let breakpoints = Some(arguments.filters.iter().map(answer).collect());
    ResponseBody::SetExceptionBreakpoints(SetExceptionBreakpointsResponse { breakpoints })
}

impl<W: Write> Front for DapFront<'_, W> {
    fn stopped(&mut self, stopped: &Stopped<'_>, breakpoints: &mut Breakpoints) -> Resume {
        if std::mem::take(&mut self.passes_entry) {
            return Resume::Continue;
        }
        // The client's messages could not be read while the launch ran.
        if self.error.is_some() {
            return Resume::Quit;
        }
        self.ask(stopped, breakpoints).unwrap_or_else(|error| {
            self.error = Some(error);
            Resume::Quit
        })
    }

    fn completed(&mut self) -> Resume {
        Resume::Quit
    }

    fn warp(&self) -> Option<u32> {
        self.warp
    }

    fn is_interrupted(&mut self) -> bool {
        loop {
            match self.client.poll() {
                Ok(None) => return self.pauses || !self.waiting.is_empty(),
                Ok(Some(request)) => {
                    self.pauses |= matches!(request.command, Command::Pause(_));
                    self.waiting.push_back(request);
                }
                Err(error) => {
                    self.error = Some(error);
                    return true;
                }
            }
        }
    }
}
