//! Entered text: expressions, and `break`.

use ptx_interpreter::semantics::LANES;

use super::breakpoint_list::Conditional;
use super::state::State;
use crate::presentation::Asked;
use crate::{Breakpoints, Query, Stopped, Value};

/// A parsed entry.
pub(super) enum Command {
    /// A breakpoint at a line, in the shown file unless another is given.
    Break(Option<String>, u32, Conditional),
    /// The value of an expression.
    Show(String),
}

/// Commands of other debuggers, and their equivalents here.
const OTHERS: [(&[&str], &str); 13] = [
    (&["b", "br", "brk", "stop"], "enter `break 65` or `break 65 if lane == 5`"),
    (&["print", "p", "display", "inspect", "output"], "enter the expression alone, such as `x[0..4]`"),
    (&["watch", "rwatch", "awatch"], "enter the name of a memory, which each stop shows; an editor can stop at writes"),
    (
        &["delete", "d", "del", "clear", "disable"],
        "enter `break 65` again, or press p at the line, to remove a breakpoint",
    ),
    (&["tbreak", "until", "u", "advance", "jump"], "enter `break 65`, then press c"),
    (&["list", "l"], "press j and k to move through the source"),
    (&["next", "n", "nexti"], "press n, or i for an instruction"),
    (&["step", "s", "stepi"], "press s, or i for an instruction"),
    (&["finish", "fin", "up", "return"], "press o"),
    (&["continue", "c", "cont"], "press c"),
    (&["thread", "warp", "lane", "block", "cuda", "t"], "press w or a digit to select a warp, l to select a lane"),
    (&["run", "start", "restart"], "press r"),
    (&["info", "help", "h", "frame", "bt", "quit", "exit"], "press ? for all keys, q to quit"),
];

impl Command {
    /// # Errors
    /// If it is `break` without a line, or with something that is not a condition.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some(rest) = text.strip_prefix("break").filter(|rest| rest.is_empty() || rest.starts_with(' ')) else {
            return Ok(Self::Show(text.to_owned()));
        };
        let (place, condition) = match rest.split_once(" if ") {
            Some((place, condition)) => (place.trim(), Some(condition.trim())),
            None => (rest.trim(), None),
        };
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) => (Some(file.trim().to_owned()), line),
            None => (None, place),
        };
        let line = line.trim().parse().ok().filter(|line| *line > 0);
        let usage = || format!("`{text}`: write `break 65`, `break lib.rs:65` or `break 65 if lane == 5`");
        let read = |condition: &str| {
            let read = condition.parse().map_err(|error: crate::ConditionError| error.to_string())?;
            Ok::<_, String>((read, condition.to_owned()))
        };
        Ok(Self::Break(file, line.ok_or_else(usage)?, condition.map(read).transpose()?))
    }

    /// Executes the command. Returns its message.
    ///
    /// # Errors
    /// If the expression has no value, or such a breakpoint is impossible.
    pub(super) fn execute(
        self,
        state: &mut State,
        stopped: &Stopped<'_>,
        shown: Option<&str>,
        breakpoints: &mut Breakpoints,
    ) -> Result<String, String> {
        match self {
            Self::Break(file, line, condition) => {
                let file = file.as_deref().or(shown).unwrap_or_default();
                state.breakpoints.toggle(stopped, breakpoints, (file, line), condition)
            }
            Self::Show(text) => show_value(state, stopped, &text).map_err(|error| or_other_command(&text, error)),
        }
    }
}

/// A hint with the equivalent here, if the text is a command of another debugger. Otherwise the
/// error.
fn or_other_command(text: &str, error: String) -> String {
    let (first, arguments) = text.split_once(' ').unwrap_or((text, ""));
    // In an expression, a name is followed by an operator or indices.
    let is_command = arguments.is_empty() || arguments.starts_with(|c: char| c.is_alphanumeric() || "_%*/".contains(c));
    let other = OTHERS.iter().find(|(names, _)| is_command && names.contains(&first));
    other.map_or(error, |(_, way_out)| format!("there is no command `{first}`: {way_out}"))
}

/// The value of an expression. The memory pane shows a value with more than one element.
fn show_value(state: &mut State, stopped: &Stopped<'_>, text: &str) -> Result<String, String> {
    if let Ok(query) = text.parse::<Query>()
        && let Ok(view) = stopped.view(&query)
        && (view.shown_rows.len(), view.shown_columns.len()) != (1, 1)
    {
        state.memory.enter(text, query, stopped);
        return Ok(format!("{text} is shown as memory"));
    }
    let warp = state.selected(stopped).ok_or("the block has no such warp")?;
    let value = match stopped.ask(text, &warp, None)? {
        Asked::Value(Value::Variable(named)) if stopped.is_removed(&named) => {
            return Err(stopped.scope(&warp, None).removed(&named.name).to_string());
        }
        Asked::Value(value) => in_words(stopped, &value, state.lane),
        Asked::Lanes(values) => in_lanes(&values, state.lane),
    };
    Ok(format!("{text} = {value}"))
}

/// The values in a warp's lanes, the selected one first.
fn in_lanes(values: &[String], lane: usize) -> String {
    match values.iter().all(|value| *value == values[0]) {
        true => format!("{} in all lanes", values[0]),
        false => format!("{} in lane {lane}; in all: {}", values[lane], values.join(", ")),
    }
}

fn in_words(stopped: &Stopped<'_>, value: &Value, lane: usize) -> String {
    let of_all = |show: &dyn Fn(usize) -> String| in_lanes(&(0..LANES).map(show).collect::<Vec<_>>(), lane);
    match value {
        Value::Scalar(text) => text.clone(),
        Value::Matrix(matrix) => matrix.rows().collect::<Vec<_>>().join("; "),
        Value::Register(register) => of_all(&|lane| stopped.show_register(register, lane)),
        Value::Variable(named) => of_all(&|lane| stopped.show(named, lane)),
    }
}
