//! Breakpoints as clients set them.

use emmy_dap_types::prelude::{Command, ResponseBody};
use emmy_dap_types::requests::{
    SetBreakpointsArguments, SetDataBreakpointsArguments, SetExceptionBreakpointsArguments,
    SetFunctionBreakpointsArguments,
};
use emmy_dap_types::responses::{
    SetBreakpointsResponse, SetDataBreakpointsResponse, SetExceptionBreakpointsResponse, SetFunctionBreakpointsResponse,
};
use emmy_dap_types::types::{
    Breakpoint, DataBreakpoint, DataBreakpointAccessType, FunctionBreakpoint, SourceBreakpoint,
};
use kernel_launch::Launch;

use super::present::Presenter;
use crate::{Breakpoints, Condition, Lines};

/// The filter of exception breakpoints that selects all faults.
pub(super) const FAULTS: &str = "faults";

/// The response to a request that sets breakpoints other than data breakpoints. `None` for all
/// other requests.
pub(super) fn set_breakpoints(
    command: &Command,
    source: (&Launch, &Lines),
    breakpoints: &mut Breakpoints,
) -> Option<ResponseBody> {
    Some(match command {
        Command::SetBreakpoints(arguments) => set_lines(arguments, source, breakpoints),
        Command::SetFunctionBreakpoints(arguments) => set_functions(arguments, source, breakpoints),
        Command::SetExceptionBreakpoints(arguments) => set_exceptions(arguments, breakpoints),
        _ => return None,
    })
}

fn set_lines(
    arguments: &SetBreakpointsArguments,
    source: (&Launch, &Lines),
    breakpoints: &mut Breakpoints,
) -> ResponseBody {
    let path = arguments.source.path.as_deref().or(arguments.source.name.as_deref()).unwrap_or_default();
    let wanted = arguments.breakpoints.as_deref().unwrap_or_default();
    let read: Vec<_> = wanted.iter().map(line_and_condition).collect();
    let mut set = breakpoints.set_lines(source, path, read.iter().flatten().cloned()).into_iter();
    let answer = |read: &Result<_, String>| match read {
        Err(error) => refused(error.clone()),
        Ok(_) => match set.next().expect("each valid breakpoint has an answer") {
            Ok(line) => Breakpoint { verified: true, line: Some(line.into()), ..Default::default() },
            Err(error) => refused(error.to_string()),
        },
    };
    ResponseBody::SetBreakpoints(SetBreakpointsResponse { breakpoints: read.iter().map(answer).collect() })
}

/// Sets function breakpoints. Only the launch's kernel counts as a function; all others are inlined
/// into it.
fn set_functions(
    arguments: &SetFunctionBreakpointsArguments,
    source: (&Launch, &Lines),
    breakpoints: &mut Breakpoints,
) -> ResponseBody {
    // Without a condition it cannot fail.
    let _ = breakpoints.set_entry(source, None);
    let set = |wanted: &FunctionBreakpoint| {
        let kernel = source.0.kernel();
        if wanted.name != kernel {
            let name = &wanted.name;
            let way_out = "break at a line of a function that it calls";
            return Err(format!("`{name}` is not the launch's kernel, which is `{kernel}`: {way_out}"));
        }
        without_hits(wanted.hit_condition.as_deref())?;
        let condition = condition(wanted.condition.as_deref())?;
        let entry = Some(crate::Breakpoint { condition });
        breakpoints.set_entry(source, entry).map_err(|error| error.to_string())
    };
    let breakpoints = arguments.breakpoints.iter().map(set).map(verified).collect();
    ResponseBody::SetFunctionBreakpoints(SetFunctionBreakpointsResponse { breakpoints })
}

fn set_exceptions(arguments: &SetExceptionBreakpointsArguments, breakpoints: &mut Breakpoints) -> ResponseBody {
    breakpoints.set_stops_at_faults(arguments.filters.iter().any(|filter| filter == FAULTS));
    let answer = |filter: &String| match filter == FAULTS {
        true => verified(Ok(())),
        false => refused(format!("there is no filter `{filter}`: the only one is `{FAULTS}`")),
    };
    let breakpoints = Some(arguments.filters.iter().map(answer).collect());
    ResponseBody::SetExceptionBreakpoints(SetExceptionBreakpointsResponse { breakpoints })
}

/// Sets data breakpoints. Each one is identified by the expression for the memory it watches.
pub(super) fn set_data_breakpoints(
    arguments: &SetDataBreakpointsArguments,
    presenter: &Presenter<'_>,
    breakpoints: &mut Breakpoints,
) -> ResponseBody {
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
    let answers = arguments.breakpoints.iter().map(set).map(verified).collect();
    breakpoints.set_watches(&watches);
    ResponseBody::SetDataBreakpoints(SetDataBreakpointsResponse { breakpoints: answers })
}

/// The condition of a breakpoint. Editors send an empty string for none.
fn condition(text: Option<&str>) -> Result<Option<Condition>, String> {
    let text = text.filter(|text| !text.trim().is_empty());
    text.map(str::parse).transpose().map_err(|error: crate::ConditionError| error.to_string())
}

/// The line of a breakpoint and its condition.
///
/// # Errors
/// If the request uses a feature that this debugger's breakpoints lack.
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
/// If a breakpoint should stop only after a number of hits.
fn without_hits(hit_condition: Option<&str>) -> Result<(), String> {
    match hit_condition.filter(|text| !text.trim().is_empty()) {
        None => Ok(()),
        Some(_) => Err("this debugger counts no hits: write a condition, such as `block.x == 3`".to_owned()),
    }
}

/// The response for a breakpoint, verified or with the reason why it cannot be set.
fn verified(set: Result<(), String>) -> Breakpoint {
    match set {
        Ok(()) => Breakpoint { verified: true, ..Default::default() },
        Err(message) => refused(message),
    }
}

/// A breakpoint that cannot be set.
pub(super) fn refused(message: String) -> Breakpoint {
    Breakpoint { message: Some(message), ..Default::default() }
}
