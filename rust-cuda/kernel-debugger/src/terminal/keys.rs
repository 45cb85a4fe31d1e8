//! Keys and their actions.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::Resume;

/// Action of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Action {
    Resume(Resume),
    /// Selects the warp at this offset from the selected one.
    MoveWarp(i32),
    /// Selects the warp with the pressed digit.
    SelectWarp,
    MoveLane(i32),
    NextMemory,
    ShowAccess,
    /// Scrolls by rows and columns.
    ScrollMemory(i32, i32),
    ScrollRegisters(i32),
    MoveCursor(i32),
    ToggleBreakpoint,
    EnterExpression,
    Help,
}

/// Keys with the same meaning.
#[derive(Debug)]
pub struct Binding {
    /// The keys.
    pub keys: &'static [KeyCode],
    /// Their names.
    pub names: &'static str,
    /// Action of the keys.
    pub meaning: &'static str,
    action: Action,
}

const DIGITS: &[KeyCode] = &[
    KeyCode::Char('0'),
    KeyCode::Char('1'),
    KeyCode::Char('2'),
    KeyCode::Char('3'),
    KeyCode::Char('4'),
    KeyCode::Char('5'),
    KeyCode::Char('6'),
    KeyCode::Char('7'),
    KeyCode::Char('8'),
    KeyCode::Char('9'),
];

const fn bind(keys: &'static [KeyCode], names: &'static str, meaning: &'static str, action: Action) -> Binding {
    Binding { keys, names, meaning, action }
}

use Action::{MoveCursor, MoveLane, MoveWarp, ScrollMemory, ScrollRegisters};
use KeyCode::Char;

/// All keys.
pub static BINDINGS: [Binding; 29] = [
    bind(&[Char('s'), KeyCode::Down], "s ↓", "step into the next line", Action::Resume(Resume::StepLine)),
    bind(&[Char('n')], "n", "step over calls", Action::Resume(Resume::StepOver)),
    bind(&[Char('o')], "o", "step out of the function", Action::Resume(Resume::StepOut)),
    bind(&[Char('i')], "i", "step one instruction", Action::Resume(Resume::StepInstruction)),
    bind(&[Char('b')], "b", "go to the next barrier", Action::Resume(Resume::ToBarrier)),
    bind(&[Char('c')], "c", "continue; any key interrupts", Action::Resume(Resume::Continue)),
    bind(&[Char('S'), KeyCode::Up], "S ↑", "step back", Action::Resume(Resume::StepBack)),
    bind(&[Char('C')], "C", "continue back", Action::Resume(Resume::ContinueBack)),
    bind(&[Char('r')], "r", "restart", Action::Resume(Resume::Restart)),
    bind(&[Char('w'), KeyCode::Tab], "w Tab", "next warp", MoveWarp(1)),
    bind(&[Char('W'), KeyCode::BackTab], "W ⇧Tab", "previous warp", MoveWarp(-1)),
    bind(DIGITS, "0-9", "warp of this number", Action::SelectWarp),
    bind(&[Char('l'), KeyCode::Right], "l →", "next lane", MoveLane(1)),
    bind(&[Char('L'), KeyCode::Left], "L ←", "previous lane", MoveLane(-1)),
    bind(&[Char('m')], "m", "next memory", Action::NextMemory),
    bind(&[Char('a')], "a", "memory: the lane's last access", Action::ShowAccess),
    bind(&[Char('}')], "}", "memory: down", ScrollMemory(1, 0)),
    bind(&[Char('{')], "{", "memory: up", ScrollMemory(-1, 0)),
    bind(&[Char(')')], ")", "memory: right", ScrollMemory(0, 1)),
    bind(&[Char('(')], "(", "memory: left", ScrollMemory(0, -1)),
    bind(&[Char(']')], "]", "variables, registers: down", ScrollRegisters(8)),
    bind(&[Char('[')], "[", "variables, registers: up", ScrollRegisters(-8)),
    bind(&[Char('j')], "j", "cursor down", MoveCursor(1)),
    bind(&[Char('k')], "k", "cursor up", MoveCursor(-1)),
    bind(&[KeyCode::PageDown], "PgDn", "cursor down by 10", MoveCursor(10)),
    bind(&[KeyCode::PageUp], "PgUp", "cursor up by 10", MoveCursor(-10)),
    bind(&[Char('p'), KeyCode::F(9)], "p F9", "breakpoint at the cursor", Action::ToggleBreakpoint),
    bind(&[Char(':')], ":", "expression or command", Action::EnterExpression),
    bind(&[Char('?')], "?", "this help", Action::Help),
];

/// Action of a key, if any. Quitting has priority in all modes: see [`is_interrupt`].
pub(super) fn action(key: KeyEvent) -> Option<Action> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return None;
    }
    match key.code {
        Char('q') => Some(Action::Resume(Resume::Quit)),
        code => BINDINGS.iter().find(|binding| binding.keys.contains(&code)).map(|binding| binding.action),
    }
}

/// Whether this is Ctrl-C.
pub(super) fn is_interrupt(key: KeyEvent) -> bool {
    key.code == Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Whether a key is pressed. Some terminals also report releases.
pub(super) fn is_press(key: KeyEvent) -> bool {
    key.kind != KeyEventKind::Release
}
