//! The front end that asks the client at each stop of a session.

use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;

use emmy_dap_types::events::{ContinuedEventBody, Event, StoppedEventBody};
use emmy_dap_types::prelude::{Command, ResponseBody};
use emmy_dap_types::requests::{ContinueArguments, ReverseContinueArguments, StepInArguments};
use emmy_dap_types::responses::{
    ContinueResponse, DataBreakpointInfoResponse, EvaluateResponse, ExceptionInfoResponse, ScopesResponse,
    SetDataBreakpointsResponse, StackTraceResponse, ThreadsResponse, VariablesResponse,
};
use emmy_dap_types::types::{
    DataBreakpoint, DataBreakpointAccessType, ExceptionBreakMode, SteppingGranularity, StoppedEventReason,
};
use kernel_launch::Launch;

use super::breakpoints::{refused, set_breakpoints, set_data_breakpoints};
use super::present::Presenter;
use super::{Client, Received, ServeError};
use crate::{Breakpoints, Front, Lines, Resume, StopReason, Stopped};

/// Step-in target for the warp's next barrier.
const NEXT_BARRIER: i64 = 1;

/// The client of a session.
pub(crate) struct DapFront<'c, W> {
    client: &'c mut Client<W>,
    source_root: PathBuf,
    /// Whether to run past the launch's first instruction without stopping.
    passes_entry: bool,
    /// Requests that arrived while the launch ran, other than `pause`.
    waiting: VecDeque<Received>,
    /// Whether the client has requested a pause.
    pauses: bool,
    /// Whether the client has ended the kernel and must be told so.
    terminates: bool,
    /// The warp that the client steps. `None` for the warp that stopped.
    warp: Option<u32>,
    /// The reason why the client is no longer served.
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

    /// Whether the client has asked to end the kernel.
    ///
    /// # Errors
    /// The reason why the client is no longer served.
    pub(crate) fn end(self) -> Result<bool, ServeError> {
        self.error.map_or(Ok(self.terminates), Err)
    }

    /// Answers requests until the client has set its breakpoints. Returns false if the client
    /// leaves first.
    pub(crate) fn configure(
        &mut self,
        launch: &Launch,
        lines: &Lines,
        breakpoints: &mut Breakpoints,
    ) -> Result<bool, ServeError> {
        while let Some(request) = self.client.next()? {
            if let Some(body) = set_breakpoints(&request.command, (launch, lines), breakpoints) {
                self.client.succeed(&request, body)?;
                continue;
            }
            match &request.command {
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

    /// Announces a stop, unless only waiting requests need answers.
    fn announce(&mut self, stopped: &Stopped<'_>, thread: i64) -> Result<(), ServeError> {
        let (reason, description, text) = match &stopped.stop.reason {
            StopReason::Entry => (StoppedEventReason::Entry, None, None),
            StopReason::Breakpoint => (StoppedEventReason::Breakpoint, None, None),
            StopReason::Step => (StoppedEventReason::Step, None, None),
            StopReason::Pause => (StoppedEventReason::Pause, None, None),
            StopReason::BadCondition(error) => {
                let description = "The condition has no value".to_owned();
                (StoppedEventReason::Breakpoint, Some(description), Some(error.clone()))
            }
            StopReason::Write(write) => {
                let text = stopped.describe(write);
                (StoppedEventReason::String("data breakpoint".to_owned()), Some(text.clone()), Some(text))
            }
            StopReason::Fault(fault) => {
                let description = "The kernel's fault".to_owned();
                (StoppedEventReason::Exception, Some(description), Some(fault.to_string()))
            }
        };
        // Editors show this text only for exceptions.
        if let Some(text) = &text {
            self.client.say(&format!("{text}\n"))?;
        }
        self.client.event(Event::Stopped(StoppedEventBody {
            reason,
            description,
            thread_id: Some(thread),
            preserve_focus_hint: None,
            text,
            all_threads_stopped: Some(true),
            hit_breakpoint_ids: None,
        }))
    }

    /// Answers requests at a stop until one resumes the launch.
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

    /// Answers a request. Returns how to resume, if the request says so.
    fn answer(
        &mut self,
        request: &Received,
        stopped: &Stopped<'_>,
        breakpoints: &mut Breakpoints,
        presenter: &mut Presenter<'_>,
    ) -> Result<Option<Resume>, ServeError> {
        let command = &request.command;
        if let Err(message) = check_thread(command, presenter) {
            self.client.fail(request, message)?;
            return Ok(None);
        }
        self.warp = stepped_thread(command).and_then(|thread| presenter.warp_of(thread).ok());
        if let Some((resume, body)) = resumed(command) {
            self.terminates |= matches!(command, Command::Terminate(_));
            self.client.succeed(request, body)?;
            if resume == Resume::Restart {
                // Without this event, editors keep showing the previous stop.
                let thread_id = presenter.current_thread();
                let all_threads_continued = Some(true);
                self.client.event(Event::Continued(ContinuedEventBody { thread_id, all_threads_continued }))?;
            }
            return Ok(Some(resume));
        }
        let body = match command {
            Command::StepInTargets(arguments) => match presenter.scopes(arguments.frame_id) {
                Ok(_) => {
                    let targets = serde_json::json!({"targets": [{"id": NEXT_BARRIER, "label": "the next barrier"}]});
                    self.client.succeed_with(request, &targets)?;
                    return Ok(None);
                }
                Err(message) => Err(message),
            },
            Command::SetDataBreakpoints(arguments) => Ok(set_data_breakpoints(arguments, presenter, breakpoints)),
            _ => match set_breakpoints(command, (stopped.launch, stopped.lines), breakpoints) {
                Some(body) => Ok(body),
                None => show(request, stopped, presenter),
            },
        };
        match body {
            Ok(body) => self.client.succeed(request, body)?,
            Err(message) => self.client.fail(request, message)?,
        }
        Ok(None)
    }
}

/// How a request resumes the kernel, and its response. `None` for all others.
fn resumed(command: &Command) -> Option<(Resume, ResponseBody)> {
    let by = |granularity: &Option<SteppingGranularity>, step| match granularity {
        Some(SteppingGranularity::Instruction) => Resume::StepInstruction,
        _ => step,
    };
    Some(match command {
        Command::Continue(_) => {
            let body = ContinueResponse { all_threads_continued: Some(true) };
            (Resume::Continue, ResponseBody::Continue(body))
        }
        Command::Next(arguments) => (by(&arguments.granularity, Resume::StepOver), ResponseBody::Next),
        Command::StepIn(arguments) if arguments.target_id == Some(NEXT_BARRIER) => {
            (Resume::ToBarrier, ResponseBody::StepIn)
        }
        Command::StepIn(arguments) => (by(&arguments.granularity, Resume::StepLine), ResponseBody::StepIn),
        Command::StepOut(arguments) => (by(&arguments.granularity, Resume::StepOut), ResponseBody::StepOut),
        Command::StepBack(_) => (Resume::StepBack, ResponseBody::StepBack),
        Command::ReverseContinue(_) => (Resume::ContinueBack, ResponseBody::ReverseContinue),
        Command::Restart(_) => (Resume::Restart, ResponseBody::Restart),
        Command::Disconnect(_) => (Resume::Quit, ResponseBody::Disconnect),
        Command::Terminate(_) => (Resume::Quit, ResponseBody::Terminate),
        _ => return None,
    })
}

/// Answers a request about the stop.
///
/// # Errors
/// The reason why there is no answer.
fn show(request: &Received, stopped: &Stopped<'_>, presenter: &mut Presenter<'_>) -> Result<ResponseBody, String> {
    Ok(match &request.command {
        Command::Pause(_) => ResponseBody::Pause,
        Command::Threads => ResponseBody::Threads(ThreadsResponse { threads: presenter.threads() }),
        Command::StackTrace(arguments) => {
            let stack_frames = presenter.frames(arguments.thread_id)?;
            let total_frames = Some(stack_frames.len() as i64);
            ResponseBody::StackTrace(StackTraceResponse { stack_frames, total_frames })
        }
        Command::Scopes(arguments) => {
            ResponseBody::Scopes(ScopesResponse { scopes: presenter.scopes(arguments.frame_id)? })
        }
        Command::Variables(arguments) => {
            let variables = presenter.variables(arguments.variables_reference)?;
            ResponseBody::Variables(VariablesResponse { variables })
        }
        Command::Evaluate(arguments) => {
            let (result, variables_reference) = presenter.evaluate(&arguments.expression, arguments.frame_id)?;
            ResponseBody::Evaluate(EvaluateResponse { result, variables_reference, ..Default::default() })
        }
        Command::DataBreakpointInfo(arguments) => {
            let expression = presenter.expression(arguments.variables_reference, &arguments.name);
            let (data_id, description) = match presenter.addresses(&expression) {
                Ok(_) => (Some(expression.clone()), format!("{expression} is written")),
                Err(error) => (None, error),
            };
            let access_types = data_id.is_some().then(|| vec![DataBreakpointAccessType::Write]);
            let info = DataBreakpointInfoResponse { data_id, description, access_types, can_persist: Some(false) };
            ResponseBody::DataBreakpointInfo(info)
        }
        Command::ExceptionInfo(_) => match &stopped.stop.reason {
            StopReason::Fault(fault) => ResponseBody::ExceptionInfo(ExceptionInfoResponse {
                exception_id: "fault".to_owned(),
                description: Some(fault.to_string()),
                break_mode: ExceptionBreakMode::Always,
                details: None,
            }),
            _ => return Err("the kernel has stopped without a fault".to_owned()),
        },
        _ => {
            let command = request.name();
            return Err(format!("`{command}` is not supported by this debugger, which does not announce it either"));
        }
    })
}

/// The thread that a request steps or resumes.
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
