//! Entered text: expressions, and `break`.

use ptx_interpreter::semantics::LANES;

use super::breakpoint_list::Conditional;
use super::state::State;
use crate::{Breakpoints, Query, Stopped, Value};

/// What an entered text asks for.
pub(super) enum Command {
    /// A breakpoint at a line.
    Break(u32, Conditional),
    /// The value of an expression, with its text.
    Show(String, Query),
}

impl Command {
    /// # Errors
    /// If it is neither an expression nor a command.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let Some(rest) = text.strip_prefix("break").filter(|rest| rest.is_empty() || rest.starts_with(' ')) else {
            let query = text.parse().map_err(|error: crate::QueryError| error.to_string())?;
            return Ok(Self::Show(text.to_owned(), query));
        };
        let (line, condition) = match rest.split_once(" if ") {
            Some((line, condition)) => (line, Some(condition.trim())),
            None => (rest, None),
        };
        let usage = |_| format!("`{text}`: write `break 65` or `break 65 if lane == 5`");
        let line = line.trim().parse().map_err(usage)?;
        let read = |condition: &str| {
            let read = condition.parse().map_err(|error: crate::ConditionError| error.to_string())?;
            Ok::<_, String>((read, condition.to_owned()))
        };
        Ok(Self::Break(line, condition.map(read).transpose()?))
    }

    /// Does what it asks for. Returns what is said about it.
    ///
    /// # Errors
    /// If the expression has no value, or there is no such line.
    pub(super) fn execute(
        self,
        state: &mut State,
        stopped: &Stopped<'_>,
        file: Option<&str>,
        breakpoints: &mut Breakpoints,
    ) -> Result<String, String> {
        match self {
            Self::Break(line, condition) => {
                let file = file.ok_or("the PTX names no source lines")?;
                state.breakpoints.toggle((stopped.lines, breakpoints), (file, line), condition)
            }
            Self::Show(text, query) => show_value(state, stopped, &text, query),
        }
    }
}

/// The value of an expression. That of more than one element is shown in the memory's pane.
fn show_value(state: &mut State, stopped: &Stopped<'_>, text: &str, query: Query) -> Result<String, String> {
    if let Ok(view) = stopped.view(&query)
        && (view.shown_rows.len(), view.shown_columns.len()) != (1, 1)
    {
        state.memory.enter(text, query, stopped);
        return Ok(format!("{text} is shown as memory"));
    }
    let warp = state.selected(stopped).ok_or("the block has no such warp")?;
    let value = stopped.evaluate(&query, &warp, None).map_err(|error| error.to_string())?;
    Ok(format!("{text} = {}", in_words(stopped, &value, state.lane)))
}

fn in_words(stopped: &Stopped<'_>, value: &Value, lane: usize) -> String {
    let in_lanes = |values: Vec<String>| match values.iter().all(|value| *value == values[0]) {
        true => format!("{} in all lanes", values[0]),
        false => format!("{} in lane {lane}; in all: {}", values[lane], values.join(", ")),
    };
    match value {
        Value::Scalar(text) => text.clone(),
        Value::Matrix(matrix) => matrix.rows().collect::<Vec<_>>().join("; "),
        Value::Register(register) => in_lanes((0..LANES).map(|lane| stopped.show_register(register, lane)).collect()),
        Value::Variable(named) => in_lanes((0..LANES).map(|lane| stopped.show(named, lane)).collect()),
    }
}
