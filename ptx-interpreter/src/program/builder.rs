//! From a function's statements to a list of instructions.

use std::collections::HashMap;
use std::sync::Arc;

use super::control_flow::{Successors, immediate_postdominators};
use super::error::{LoadError, Problem};
use super::instruction::{Action, Description, Instruction, Predicate, Register};
use super::names::{Label, Named, Scopes};
use super::{DYNAMIC_SHARED_START, Globals, Initial, Kernel, Ranges, Special, at, decode, function, truncate};
use crate::limits::MAX_CALL_DEPTH;
use crate::semantics::Class;
use crate::syntax::{self, Function, Linkage, Location, Module, ScalarType, Space, Statement, Variable};

/// A kernel on its way.
pub(crate) struct Builder<'a> {
    pub(crate) module: &'a Module,
    globals: &'a Globals,
    pub(crate) scopes: Scopes,
    instructions: Vec<Instruction>,
    descriptions: Vec<Description>,
    registers: Vec<Initial>,
    constants: HashMap<Initial, Register>,
    predicates: usize,
    shared: Ranges,
    local: Ranges,
    /// Where each label is.
    labels: Vec<Option<usize>>,
    /// The functions that are being inlined, the outermost first, with the label after each.
    calls: Vec<(String, Label)>,
    location: Option<Location>,
    /// Of the places in functions that were inlined, the place of the call.
    inlined: HashMap<[u32; 3], [u32; 3]>,
    /// How much more the module's calls and branch tables may expand to.
    expansion_left: &'a mut usize,
}

/// Decodes a kernel. The functions that it calls become part of it.
pub(crate) fn build(
    module: &Module,
    globals: &Globals,
    entry: &Function,
    expansion_left: &mut usize,
) -> Result<Kernel, LoadError> {
    let mut builder = Builder {
        module,
        globals,
        scopes: Scopes::default(),
        instructions: Vec::new(),
        descriptions: Vec::new(),
        registers: Vec::new(),
        constants: HashMap::new(),
        predicates: 0,
        shared: Ranges::new(Space::Shared),
        local: Ranges::new(Space::Local),
        labels: Vec::new(),
        calls: Vec::new(),
        location: None,
        inlined: HashMap::new(),
        expansion_left,
    };
    let mut parameters = Ranges::new(Space::Param);
    builder.scopes.enter();
    for parameter in &entry.parameters {
        let bytes = parameter.bytes().expect("the parser refuses a kernel's parameter without a size");
        let problem = |problem| at(parameter.line, &parameter.name, problem);
        let address = parameters.append_packed(&parameter.name, bytes, parameter.align).map_err(problem)?;
        let named = Named::Variable { space: Space::Param, address };
        builder.scopes.declare(&parameter.name, named).map_err(problem)?;
    }
    builder.statements(entry.body.as_deref().unwrap_or_default())?;
    builder.scopes.leave();
    builder.resolve_branches(entry)?;
    Ok(Kernel {
        name: entry.name.as_str().into(),
        parameters,
        instructions: builder.instructions,
        descriptions: builder.descriptions,
        registers: builder.registers,
        predicates: builder.predicates,
        shared: builder.shared,
        local: builder.local,
        max_threads: entry.performance.max_threads,
        required_threads: entry.performance.required_threads,
    })
}

impl Builder<'_> {
    fn statements(&mut self, statements: &[Statement]) -> Result<(), LoadError> {
        self.scopes.enter();
        // A branch may come before its label.
        for statement in statements {
            match statement {
                Statement::Label { name, line } => {
                    let label = self.new_label();
                    self.declare(name, Named::Label(label), *line)?;
                }
                Statement::BranchTargets { name, targets, line } => {
                    self.declare(name, Named::BranchTable(targets.clone()), *line)?;
                }
                _ => {}
            }
        }
        for statement in statements {
            self.statement(statement)?;
        }
        self.scopes.leave();
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), LoadError> {
        self.spend_on(statement)?;
        match statement {
            Statement::Registers { element, vector: 1, names, line } => {
                for name in names {
                    let named = match element {
                        ScalarType::Pred => {
                            self.predicates += 1;
                            Named::Predicate(self.predicates as Predicate - 1)
                        }
                        ScalarType::B128 => {
                            return Err(at(*line, name, Problem::Unsupported("a register of 128 bits")));
                        }
                        _ => {
                            let bits = element.bytes() * 8;
                            Named::Register { register: self.new_register(Initial::Unwritten(bits)), bits }
                        }
                    };
                    self.declare(name, named, *line)?;
                }
                Ok(())
            }
            Statement::Registers { names, line, .. } => {
                let first = names.first().map_or("", String::as_str);
                Err(at(*line, first, Problem::Unsupported("a vector register")))
            }
            Statement::Variable(variable) => self.variable(variable),
            Statement::Label { name, .. } => {
                if let Some(Named::Label(label)) = self.scopes.find(name) {
                    self.labels[*label] = Some(self.instructions.len());
                }
                Ok(())
            }
            Statement::BranchTargets { .. } => Ok(()),
            Statement::Location(location) => {
                self.enter_location(*location);
                Ok(())
            }
            Statement::Block(statements) => self.statements(statements),
            Statement::Instruction(instruction) if instruction.opcode == "call" => {
                if self.scopes.depth() > MAX_CALL_DEPTH {
                    return Err(at(instruction.line, &instruction.text, Problem::TooDeep));
                }
                self.call(instruction)
            }
            Statement::Instruction(instruction) => {
                let decoded = decode::decode(self, instruction);
                let (decoded, class) = decoded.map_err(|problem| at(instruction.line, &instruction.text, problem))?;
                self.push(decoded, class, instruction);
                Ok(())
            }
        }
    }

    /// The following instructions come from there.
    fn enter_location(&mut self, mut location: Location) {
        if location.line == 0 {
            // An instruction made of several lines, as by merging branches: the line before it, of no certain column.
            self.location = self.location.map(|before| Location { column: 0, ..before });
            return;
        }
        if let Some(call) = location.inlined_at {
            self.inlined.insert([location.file, location.line, location.column], call);
            // The call may be of a function that was inlined itself, and so on: the outermost is the kernel's own.
            let mut outermost = call;
            for _ in 0..MAX_CALL_DEPTH {
                match self.inlined.get(&outermost) {
                    Some(outer) if *outer != outermost => outermost = *outer,
                    _ => break,
                }
            }
            location.inlined_at = Some(outermost);
        }
        self.location = Some(location);
    }

    /// Counts a statement that a call copies against what a module may expand to.
    fn spend_on(&mut self, statement: &Statement) -> Result<(), LoadError> {
        if self.calls.is_empty() {
            return Ok(());
        }
        let (cost, line, text) = match statement {
            Statement::Registers { names, line, .. } => (names.len(), *line, names.first().map_or("", String::as_str)),
            Statement::BranchTargets { targets, line, name } => (targets.len(), *line, name.as_str()),
            Statement::Label { name, line } => (0, *line, name.as_str()),
            Statement::Instruction(instruction) => (0, instruction.line, instruction.text.as_str()),
            Statement::Variable(variable) => (0, variable.line, variable.name.as_str()),
            Statement::Location(_) | Statement::Block(_) => (0, 0, ""),
        };
        self.spend(1 + cost).map_err(|problem| at(line, text, problem))
    }

    /// Counts statements or entries of branch tables against what a module may expand to.
    pub(crate) fn spend(&mut self, count: usize) -> Result<(), Problem> {
        *self.expansion_left = self.expansion_left.checked_sub(count).ok_or(Problem::TooMuchExpanded)?;
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), LoadError> {
        let problem = |problem| at(variable.line, &variable.name, problem);
        let named = match (variable.space, variable.bytes()) {
            // What a call passes lies in local memory.
            (Space::Local | Space::Param, Some(bytes)) => {
                let address = self.local.append(&variable.name, bytes, variable.align).map_err(problem)?;
                Named::Variable { space: Space::Local, address }
            }
            (Space::Shared, Some(bytes)) => {
                let address = self.shared.append(&variable.name, bytes, variable.align).map_err(problem)?;
                Named::Variable { space: Space::Shared, address }
            }
            _ => return Err(problem(Problem::Unsupported("a variable of this space in a function"))),
        };
        self.declare(&variable.name, named, variable.line)
    }

    /// Puts the called function's body here.
    fn call(&mut self, call: &syntax::Instruction) -> Result<(), LoadError> {
        let problem = |problem| at(call.line, &call.text, problem);
        let arguments = decode::call(call).map_err(problem)?;
        let callee = function(self.module, arguments.function)
            .ok_or_else(|| problem(Problem::Undeclared(arguments.function.to_owned())))?;
        if self.calls.iter().any(|(name, _)| *name == callee.name) {
            return Err(problem(Problem::Recursion(callee.name.clone())));
        }
        let after = self.new_label();
        if let Some(guard) = &call.guard {
            // Those for which it is false go past it.
            let negated = syntax::Guard { negated: !guard.negated, ..guard.clone() };
            let guard = Some(decode::guard(self, &negated).map_err(problem)?);
            self.push(
                Instruction { guard, action: Action::Branch { target: after, meet: None } },
                Class::Control,
                call,
            );
        }
        let formal: Vec<&Variable> = callee.returns.iter().chain(&callee.parameters).collect();
        let actual: Vec<&str> = arguments.returns.iter().chain(&arguments.parameters).copied().collect();
        if formal.len() != actual.len() {
            return Err(problem(Problem::OperandCount {
                expected: "as many as the function has",
                found: actual.len(),
            }));
        }
        let bound = formal.iter().zip(actual).map(|(formal, actual)| match self.scopes.find(actual) {
            Some(named @ Named::Variable { .. }) => Ok((formal.name.clone(), named.clone())),
            Some(_) => Err(Problem::Unsupported("a register as an argument of a call")),
            None => Err(Problem::Undeclared(actual.to_owned())),
        });
        let bound = bound.collect::<Result<Vec<_>, _>>().map_err(problem)?;

        let (hidden, location) = (self.scopes.hide(), self.location);
        self.scopes.enter();
        for (name, named) in bound {
            self.scopes.declare(&name, named).map_err(problem)?;
        }
        self.calls.push((callee.name.clone(), after));
        self.statements(callee.body.as_deref().unwrap_or_default())?;
        self.calls.pop();
        self.scopes.leave();
        self.scopes.show(hidden);
        self.location = location;
        self.labels[after] = Some(self.instructions.len());
        Ok(())
    }

    /// The label after the function that is being inlined; None in the kernel itself.
    pub(crate) fn return_label(&self) -> Option<Label> {
        self.calls.last().map(|(_, label)| *label)
    }

    fn push(&mut self, instruction: Instruction, class: Class, source: &syntax::Instruction) {
        self.instructions.push(instruction);
        let text: Arc<str> = source.text.as_str().into();
        self.descriptions.push(Description { line: source.line, text, location: self.location, class });
    }

    fn declare(&mut self, name: &str, named: Named, line: u32) -> Result<(), LoadError> {
        self.scopes.declare(name, named).map_err(|problem| at(line, name, problem))
    }

    fn new_label(&mut self) -> Label {
        self.labels.push(None);
        self.labels.len() - 1
    }

    fn new_register(&mut self, initial: Initial) -> Register {
        self.registers.push(initial);
        self.registers.len() as Register - 1
    }

    /// The width of a register that a program can write.
    pub(crate) fn register_bits(&self, register: Register) -> usize {
        match self.registers[register as usize] {
            Initial::Unwritten(bits) => bits,
            Initial::Constant(_) | Initial::Special(_) => 64,
        }
    }

    /// The register that holds this constant in all lanes.
    pub(crate) fn constant(&mut self, value: u64, bits: usize) -> Register {
        self.shared_register(Initial::Constant(truncate(value, bits)))
    }

    /// The lowest bits of a constant.
    pub(crate) fn truncated(&mut self, register: Register, bits: usize) -> Register {
        match self.registers[register as usize] {
            Initial::Constant(value) => self.constant(value, bits),
            Initial::Unwritten(_) | Initial::Special(_) => register,
        }
    }

    /// The register that holds this special register's value.
    pub(crate) fn special(&mut self, special: Special) -> Register {
        self.shared_register(Initial::Special(special))
    }

    fn shared_register(&mut self, initial: Initial) -> Register {
        if let Some(register) = self.constants.get(&initial) {
            return *register;
        }
        let register = self.new_register(initial);
        self.constants.insert(initial, register);
        register
    }

    /// The space and the address of a variable. A shared variable of the module becomes the kernel's when it is first
    /// named, as in the assembler. None if no variable has the name.
    ///
    /// # Errors
    /// If shared memory cannot hold it.
    pub(crate) fn variable_address(&mut self, name: &str) -> Result<Option<(Space, u64)>, Problem> {
        if let Some(named) = self.scopes.find(name) {
            return match named {
                Named::Variable { space, address } => Ok(Some((*space, *address))),
                _ => Ok(None),
            };
        }
        if let Some(found) = self.globals.find(name) {
            return Ok(Some(found));
        }
        let is_named = |variable: &&Variable| variable.space == Space::Shared && variable.name == name;
        let Some(variable) = self.module.variables.iter().find(is_named) else { return Ok(None) };
        let start = match variable.bytes() {
            Some(bytes) if variable.linkage != Linkage::Extern || bytes > 0 => match self.shared.start_of(name) {
                Some(start) => start,
                None => self.shared.append(name, bytes, variable.align)?,
            },
            _ => DYNAMIC_SHARED_START,
        };
        Ok(Some((Space::Shared, start)))
    }

    /// Puts places for labels, and the points where the lanes of a branch come together again.
    fn resolve_branches(&mut self, entry: &Function) -> Result<(), LoadError> {
        let count = self.instructions.len();
        let labels = &self.labels;
        let place = |label: usize| labels[label].unwrap_or(count);
        for instruction in &mut self.instructions {
            match &mut instruction.action {
                Action::Branch { target, .. } => *target = place(*target),
                Action::BranchTable { targets, .. } => targets.iter_mut().for_each(|target| *target = place(*target)),
                _ => {}
            }
        }
        let jumps: Vec<Option<Vec<usize>>> = self.instructions.iter().enumerate().map(jumps).collect();
        let successors: Vec<Successors<'_>> = jumps
            .iter()
            .zip(&self.instructions)
            .map(|(jump, instruction)| match (jump, &instruction.action, instruction.guard) {
                (Some(targets), ..) => Successors::Jump(targets),
                (None, Action::Exit, None) => Successors::Exit,
                // A trap ends the launch: nobody need wait for lanes on their way to one.
                (None, Action::Trap, None) => Successors::Jump(&[]),
                _ => Successors::Next,
            })
            .collect();
        for (index, successors) in successors.iter().enumerate() {
            let past_the_end = match successors {
                Successors::Next => index + 1 >= count,
                Successors::Jump(targets) => targets.iter().any(|&target| target >= count),
                Successors::Exit => false,
            };
            if past_the_end {
                let Description { line, text, .. } = &self.descriptions[index];
                return Err(at(*line, text, Problem::RunsPastTheEnd));
            }
        }
        if count == 0 {
            return Err(at(entry.line, &entry.name, Problem::RunsPastTheEnd));
        }
        let meets = immediate_postdominators(&successors);
        for (instruction, meeting) in self.instructions.iter_mut().zip(meets) {
            if let Action::Branch { meet, .. } | Action::BranchTable { meet, .. } = &mut instruction.action {
                *meet = meeting;
            }
        }
        Ok(())
    }
}

/// Where an instruction that jumps may go to.
fn jumps((index, instruction): (usize, &Instruction)) -> Option<Vec<usize>> {
    let mut targets = match &instruction.action {
        Action::Branch { target, .. } => vec![*target],
        Action::BranchTable { targets, .. } => targets.clone(),
        Action::Exit | Action::Trap if instruction.guard.is_some() => vec![],
        _ => return None,
    };
    if instruction.guard.is_some() {
        targets.push(index + 1);
    }
    Some(targets)
}
