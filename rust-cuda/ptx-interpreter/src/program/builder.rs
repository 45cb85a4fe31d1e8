//! Translates a kernel's statements to a list of decoded instructions, with calls inlined.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::called::{Called, CalledFunction, Stack};
use super::control_flow::{Successors, immediate_postdominators};
use super::decode;
use super::error::{LoadError, Problem, at};
use super::globals::Globals;
use super::instruction::{
    Action, Call, DecodedInstruction, Description, EffectiveAddress, FailAssertion, HeapCall, Load, Predicate, Print,
    Register,
};
use super::kernel::{Kernel, splits_cluster_barriers};
use super::live_registers;
use super::names::{Label, Named};
use super::ranges::Ranges;
use super::symbols::{Resources, Symbols, in_frame};

use crate::limits::{MAX_CALL_DEPTH, STACK_BYTES};
use crate::memory::first_address;
use crate::semantics::Class;
use crate::syntax::{self, Function, Location, Module, Operand, Space, Statement, Variable};

/// State of the translation of one kernel.
struct Builder<'a> {
    module: &'a Module,
    symbols: Symbols<'a>,
    instructions: Vec<DecodedInstruction>,
    descriptions: Vec<Description>,
    /// Instruction index of each label, once known.
    labels: Vec<Option<usize>>,
    location: Option<Location>,
    /// For source locations in functions inlined by the compiler, the location of the call.
    inlined: HashMap<[u32; 3], [u32; 3]>,
    /// The functions that are not inlined because they may call themselves, directly or through
    /// others.
    not_inlined: &'a HashSet<&'a str>,
    /// The functions that the kernel calls, and the one being translated.
    called: Vec<Called<'a>>,
    caller: Option<usize>,
    /// The first instructions of the kernel's functions. Control never falls through to them.
    starts: Vec<usize>,
    /// Number of times that instructions name each register.
    mentions: HashMap<Register, u32>,
}

/// Decodes a kernel and inlines the functions that it calls, except the ones in `not_inlined`.
pub(crate) fn build(
    module: &Module,
    globals: &Globals,
    not_inlined: &HashSet<&str>,
    entry: &Function,
    expansion_left: &mut usize,
) -> Result<Kernel, LoadError> {
    if let Some(error) = &entry.unsupported {
        return Err(error.clone().into());
    }
    let mut builder = Builder {
        module,
        symbols: Symbols::new(module, globals, expansion_left),
        instructions: Vec::new(),
        descriptions: Vec::new(),
        labels: Vec::new(),
        location: None,
        inlined: HashMap::new(),
        not_inlined,
        called: Vec::new(),
        caller: None,
        starts: Vec::new(),
        mentions: HashMap::new(),
    };
    let mut parameters = Ranges::new(Space::Param);
    builder.symbols.scopes.enter();
    for parameter in &entry.parameters {
        let bytes = parameter.bytes().expect("the parser rejects a kernel's parameter without a size");
        let problem = |problem| at(parameter.line, &parameter.name, problem);
        let address = parameters.append_packed(&parameter.name, bytes, parameter.align).map_err(problem)?;
        let indexed_bytes = parameter.indexed_bytes();
        let named = Named::Variable { space: Space::Param, address, indexed_bytes };
        builder.symbols.scopes.declare(&parameter.name, named).map_err(problem)?;
    }
    builder.statements(entry.body.as_deref().unwrap_or_default())?;
    builder.symbols.scopes.leave();
    let functions = builder.called_functions()?;
    builder.resolve_branches(entry)?;
    builder.leave_out_unread_elements();
    let Builder { mut symbols, instructions, descriptions, .. } = builder;
    let register = if functions.is_empty() { None } else { Some(symbols.frame_register()) };
    let Resources { registers, predicates, register_names, shared, has_dynamic_shared, mut local } =
        symbols.into_resources();
    let stack = match register {
        None => None,
        Some(register) => {
            let problem = |problem| at(entry.line, &entry.name, problem);
            let start = local.append("the stack of calls", STACK_BYTES, 16).map_err(problem)?;
            Some(Stack { start, end: start + STACK_BYTES as u64, register, functions })
        }
    };
    Ok(Kernel {
        splits_cluster_barriers: splits_cluster_barriers(&instructions),
        has_no_loops: !instructions.iter().enumerate().any(jumps_back),
        name: entry.name.as_str().into(),
        parameters,
        pointers: entry.parameters.iter().map(|parameter| parameter.is_pointer).collect(),
        instructions,
        descriptions,
        registers,
        predicates,
        register_names,
        shared,
        has_dynamic_shared,
        local,
        stack,
        live_registers: live_registers::estimate(module, entry),
        max_threads: entry.performance.max_threads,
        required_threads: entry.performance.required_threads,
        required_cluster: entry.performance.required_cluster,
        max_cluster_rank: entry.performance.max_cluster_rank,
    })
}

/// Functions provided by a GPU's driver.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

impl<'a> Builder<'a> {
    fn statements(&mut self, statements: &[Statement]) -> Result<(), LoadError> {
        self.symbols.scopes.enter();
        // A branch may precede its label.
        for statement in statements {
            match statement {
                Statement::Label { name, line } => {
                    let label = self.new_label();
                    self.declare(name, Named::Label(label), *line)?;
                }
                Statement::BranchTargets { name, targets, line } => {
                    self.declare(name, Named::BranchTable(targets.clone()), *line)?;
                }
                Statement::CallTargets { name, functions, line } => {
                    self.declare(name, Named::CallTargets(functions.clone()), *line)?;
                }
                Statement::CallPrototype { name, returns, parameters, line } => {
                    self.declare(name, Named::CallPrototype([sizes(returns), sizes(parameters)]), *line)?;
                }
                _ => {}
            }
        }
        for statement in statements {
            self.statement(statement)?;
        }
        self.symbols.scopes.leave();
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), LoadError> {
        self.charge_statement(statement)?;
        if let Statement::Instruction(instruction) = statement {
            self.count_mentions(instruction);
        }
        match statement {
            Statement::Registers { element, vector: 1, names, line } => {
                for name in names {
                    let named = self.symbols.new_named_register(name, *element);
                    let named = named.map_err(|problem| at(*line, name, problem))?;
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
                if let Some(Named::Label(label)) = self.symbols.find(name) {
                    self.labels[*label] = Some(self.instructions.len());
                }
                Ok(())
            }
            Statement::BranchTargets { .. } | Statement::CallTargets { .. } | Statement::CallPrototype { .. } => Ok(()),
            Statement::Location(location) => {
                self.enter_location(*location);
                Ok(())
            }
            Statement::Block(statements) => self.statements(statements),
            Statement::Instruction(instruction) if instruction.opcode == "call" => {
                if self.symbols.scopes.depth() > MAX_CALL_DEPTH {
                    return Err(at(instruction.line, &instruction.text, Problem::TooDeep));
                }
                self.call(instruction)
            }
            Statement::Instruction(instruction) => {
                let decoded = decode::decode(&mut self.symbols, instruction);
                let (decoded, class) = decoded.map_err(|problem| at(instruction.line, &instruction.text, problem))?;
                self.push_before(instruction);
                self.push(decoded, class, instruction);
                Ok(())
            }
        }
    }

    fn count_mentions(&mut self, instruction: &syntax::Instruction) {
        let Self { symbols, mentions, .. } = self;
        for operand in &instruction.operands {
            operand.visit_names(&mut |name| {
                if let Some(Named::Register { register, .. }) = symbols.find(name) {
                    *mentions.entry(*register).or_default() += 1;
                }
            });
        }
    }

    /// Reduces loads of four elements to three if no instruction names the fourth element's
    /// register. NVIDIA's compilers load four where the program loads three. The fourth may be past
    /// the end of an array, or written by another thread.
    fn leave_out_unread_elements(&mut self) {
        for instruction in &mut self.instructions {
            if let Action::Load(Load { destinations, ordering, .. }) = &mut instruction.action
                && let [.., Some(third), fourth] = destinations[..]
                && destinations.len() == 4
                && !ordering.strong
            {
                let is_read = |register: Register| self.mentions.get(&register).is_none_or(|mentions| *mentions > 1);
                if is_read(third) && !fourth.is_some_and(is_read) {
                    destinations.pop();
                }
            }
        }
    }

    /// Sets the source location of the following instructions.
    fn enter_location(&mut self, mut location: Location) {
        if location.line == 0 {
            // An instruction from several lines, for example after tail merging: keep the previous
            // line, without a column.
            self.location = self.location.map(|before| Location { column: 0, ..before });
            return;
        }
        if let Some(call) = location.inlined_at {
            self.inlined.insert([location.file, location.line, location.column], call);
            // The caller may be inlined itself: follow the calls to the outermost one, in the
            // kernel itself.
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

    /// Counts an inlined statement against the module's expansion budget.
    fn charge_statement(&mut self, statement: &Statement) -> Result<(), LoadError> {
        if self.symbols.calls.is_empty() {
            return Ok(());
        }
        let (cost, line, text) = match statement {
            Statement::Registers { names, line, .. } => (names.len(), *line, names.first().map_or("", String::as_str)),
            Statement::BranchTargets { targets: names, line, name }
            | Statement::CallTargets { functions: names, line, name } => (names.len(), *line, name.as_str()),
            Statement::CallPrototype { parameters, line, name, .. } => (parameters.len(), *line, name.as_str()),
            Statement::Label { name, line } => (0, *line, name.as_str()),
            Statement::Instruction(instruction) => (0, instruction.line, instruction.text.as_str()),
            Statement::Variable(variable) => (0, variable.line, variable.name.as_str()),
            Statement::Location(_) | Statement::Block(_) => (0, 0, ""),
        };
        self.symbols.charge_expansion(1 + cost).map_err(|problem| at(line, text, problem))
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), LoadError> {
        let named = self.symbols.new_variable(variable);
        let named = named.map_err(|problem| at(variable.line, &variable.name, problem))?;
        self.declare(&variable.name, named, variable.line)
    }

    /// Inlines the bodies of the functions that a call may reach.
    fn call(&mut self, call: &syntax::Instruction) -> Result<(), LoadError> {
        let problem = |problem| at(call.line, &call.text, problem);
        let arguments = decode::call(call).map_err(problem)?;
        let after = self.new_label();
        if let Some(targets) = arguments.targets {
            let pointer = Operand::Name(arguments.function.to_owned());
            let address = decode::address_of_function(&mut self.symbols, &pointer).map_err(problem)?;
            let callees = self.callees(targets).map_err(problem)?;
            self.skip_call(call, after)?;
            let starts: Vec<(&Function, u64, Label)> =
                callees.into_iter().map(|(callee, address)| (callee, address, self.new_label())).collect();
            let functions = starts.iter().map(|&(_, address, start)| (address, start)).collect();
            let action = Action::BranchToFunction { address, functions, reconvergence: None };
            self.push(DecodedInstruction { guard: None, action }, Class::Control, call);
            for (callee, _, start) in starts {
                self.labels[start] = Some(self.instructions.len());
                match self.not_inlined.contains(&*callee.name) {
                    true => self.push_call(callee, &arguments, None, call)?,
                    false => self.inline(callee, &arguments, after, call)?,
                }
                // The body ends without a return.
                let action = Action::Branch { target: after, reconvergence: None };
                self.push(DecodedInstruction { guard: None, action }, Class::Control, call);
            }
            self.labels[after] = Some(self.instructions.len());
            return Ok(());
        }
        let callee = match function(self.module, arguments.function) {
            Ok(callee) => callee,
            Err(Uncallable::NoBody) if OF_THE_DRIVER.contains(&arguments.function) => {
                return self.driver_call(&arguments, call);
            }
            Err(Uncallable::NoBody) => return Err(problem(Problem::NoBody(arguments.function.to_owned()))),
            Err(Uncallable::Undeclared) => {
                return Err(problem(Problem::Undeclared(arguments.function.to_owned())));
            }
        };
        if self.not_inlined.contains(&*callee.name) {
            let guard = match &call.guard {
                Some(guard) => Some(decode::guard(&self.symbols, guard).map_err(problem)?),
                None => None,
            };
            return self.push_call(callee, &arguments, guard, call);
        }
        self.skip_call(call, after)?;
        self.inline(callee, &arguments, after, call)?;
        self.labels[after] = Some(self.instructions.len());
        Ok(())
    }

    /// Adds a branch over a call for threads with a false guard.
    fn skip_call(&mut self, call: &syntax::Instruction, after: Label) -> Result<(), LoadError> {
        let Some(guard) = &call.guard else { return Ok(()) };
        let negated = syntax::Guard { negated: !guard.negated, ..guard.clone() };
        let guard = decode::guard(&self.symbols, &negated).map_err(|problem| at(call.line, &call.text, problem))?;
        let action = Action::Branch { target: after, reconvergence: None };
        self.push(DecodedInstruction { guard: Some(guard), action }, Class::Control, call);
        Ok(())
    }

    /// The functions that a call through a pointer may reach, with their addresses: the ones listed
    /// in a `.calltargets`, or all with the signature of a `.callprototype`.
    fn callees(&self, targets: &str) -> Result<Vec<(&'a Function, u64)>, Problem> {
        let module = self.module;
        let fits: Box<dyn Fn(&Function) -> bool> = match self.symbols.find(targets) {
            Some(Named::CallTargets(names)) => Box::new(|function| names.contains(&function.name)),
            Some(Named::CallPrototype(signature)) => {
                Box::new(|function| [sizes(&function.returns), sizes(&function.parameters)] == *signature)
            }
            Some(_) => {
                return Err(Problem::Unsupported(
                    "a call through a pointer without `.calltargets` or `.callprototype`",
                ));
            }
            None => return Err(Problem::Undeclared(targets.to_owned())),
        };
        let defined = |function: &&Function| function.body.is_some() || function.unsupported.is_some();
        let functions = module.functions.iter().filter(defined).filter(|function| fits(function));
        Ok(functions.filter_map(|function| Some((function, self.symbols.function_address(&function.name)?))).collect())
    }

    /// Adds a call to a function that is not inlined.
    fn push_call(
        &mut self,
        callee: &'a Function,
        arguments: &decode::Call<'_>,
        guard: Option<(Predicate, bool)>,
        call: &syntax::Instruction,
    ) -> Result<(), LoadError> {
        let problem = |problem| at(call.line, &call.text, problem);
        if let Some(error) = &callee.unsupported {
            return Err(error.clone().into());
        }
        let function = match self.called.iter().position(|called| called.function.name == callee.name) {
            Some(index) => index,
            None => {
                let (mut frame, mut formals) = (Ranges::new(Space::Local), Vec::new());
                for formal in callee.returns.iter().chain(&callee.parameters) {
                    let bytes = formal.bytes().ok_or(problem(Problem::Unsupported("a parameter without a size")))?;
                    let address = frame.append_packed(&formal.name, bytes, formal.align).map_err(problem)?;
                    formals.push((address - first_address(Space::Local), bytes));
                }
                let start = self.new_label();
                self.called.push(Called { function: callee, start, frame, formals });
                self.called.len() - 1
            }
        };
        self.check_arguments(callee, arguments).map_err(problem)?;
        let mut returned = self.called[function].formals.clone();
        let formals = returned.split_off(callee.returns.len());
        let mut places = |names: &[&str], formals: Vec<(u64, usize)>| {
            let actual = names.iter().zip(formals);
            let places = actual.map(|(name, (offset, bytes))| Ok((self.argument(name)?, offset, bytes)));
            places.collect::<Result<Vec<_>, _>>().map_err(problem)
        };
        let results = places(&arguments.returns, returned)?;
        let of_parameters = places(&arguments.parameters, formals)?;
        let action = Action::Call(Box::new(Call {
            function,
            start: self.called[function].start,
            caller: self.caller,
            arguments: of_parameters,
            results,
            reconvergence: None,
        }));
        self.push(DecodedInstruction { guard, action }, Class::Control, call);
        Ok(())
    }

    /// Translates the called functions, and the functions that they call.
    fn called_functions(&mut self) -> Result<Vec<CalledFunction>, LoadError> {
        let mut functions = Vec::new();
        while let Some(called) = self.called.get_mut(functions.len()) {
            let (callee, start, formals) = (called.function, called.start, called.formals.clone());
            let frame = std::mem::replace(&mut called.frame, Ranges::new(Space::Local));
            self.labels[start] = Some(self.instructions.len());
            self.starts.push(self.instructions.len());
            self.caller = Some(functions.len());
            self.symbols.frame = Some(frame);
            let (registers, predicates) = self.symbols.counts();
            let hidden = self.symbols.scopes.hide();
            self.location = None;
            self.symbols.scopes.enter();
            for (formal, (offset, _)) in callee.returns.iter().chain(&callee.parameters).zip(formals) {
                let indexed_bytes = formal.indexed_bytes();
                let named = Named::Variable { space: Space::Local, address: in_frame(offset), indexed_bytes };
                self.declare(&formal.name, named, formal.line)?;
            }
            let end = self.new_label();
            self.symbols.calls.push((callee.name.clone(), end));
            self.statements(callee.body.as_deref().unwrap_or_default())?;
            self.symbols.calls.pop();
            self.symbols.scopes.leave();
            self.symbols.scopes.show(hidden);
            self.labels[end] = Some(self.instructions.len());
            let action = Action::Return { sites: Vec::new(), function: functions.len(), reconvergence: None };
            self.instructions.push(DecodedInstruction { guard: None, action });
            let text = format!("ret; // of {}", callee.name).into();
            let class = Class::Control;
            self.descriptions.push(Description { line: callee.line, text, location: self.location, class });
            let (end_of_registers, end_of_predicates) = self.symbols.counts();
            let frame = self.symbols.frame.take();
            functions.push(CalledFunction {
                name: callee.name.as_str().into(),
                // Not 0, so calls without variables also exhaust the stack eventually.
                frame_bytes: frame.map_or(0, |frame| frame.bytes()).max(1).next_multiple_of(16) as u64,
                registers: registers..end_of_registers,
                predicates: predicates..end_of_predicates,
            });
        }
        self.caller = None;
        Ok(functions)
    }

    /// The address of a call's argument, a variable in local memory.
    fn argument(&mut self, name: &str) -> Result<EffectiveAddress, Problem> {
        match self.symbols.find(name) {
            Some(&Named::Variable { space: Space::Local, address, .. }) => Ok(self.symbols.effective(address, 0)),
            Some(_) => Err(Problem::Unsupported("a register as an argument of a call")),
            None => Err(Problem::Undeclared(name.to_owned())),
        }
    }

    /// Inlines a function's body. A return in it jumps to `after`.
    fn inline(
        &mut self,
        callee: &Function,
        arguments: &decode::Call<'_>,
        after: Label,
        call: &syntax::Instruction,
    ) -> Result<(), LoadError> {
        let problem = |problem| at(call.line, &call.text, problem);
        if let Some(error) = &callee.unsupported {
            return Err(error.clone().into());
        }
        self.check_arguments(callee, arguments).map_err(problem)?;
        let returned = callee.returns.iter().zip(&arguments.returns);
        let pairs = returned.chain(callee.parameters.iter().zip(&arguments.parameters));
        let bound = pairs.map(|(formal, &actual)| match self.symbols.find(actual) {
            Some(&Named::Variable { space, address, .. }) => {
                let indexed_bytes = formal.indexed_bytes();
                Ok((formal.name.clone(), Named::Variable { space, address, indexed_bytes }))
            }
            Some(_) => Err(Problem::Unsupported("a register as an argument of a call")),
            None => Err(Problem::Undeclared(actual.to_owned())),
        });
        let mut bound = bound.collect::<Result<Vec<_>, _>>().map_err(problem)?;
        for ignored in &callee.returns[arguments.returns.len().min(callee.returns.len())..] {
            bound.push((ignored.name.clone(), self.symbols.new_variable(ignored).map_err(problem)?));
        }

        let (hidden, location) = (self.symbols.scopes.hide(), self.location);
        self.symbols.scopes.enter();
        for (name, named) in bound {
            self.symbols.scopes.declare(&name, named).map_err(problem)?;
        }
        self.symbols.calls.push((callee.name.clone(), after));
        self.statements(callee.body.as_deref().unwrap_or_default())?;
        self.symbols.calls.pop();
        self.symbols.scopes.leave();
        self.symbols.scopes.show(hidden);
        self.location = location;
        Ok(())
    }

    /// Checks the number of arguments of a call. A declaration, such as of a linked C function, may
    /// differ from the definition in its return value. If only the declaration has one, it is
    /// uninitialized; if only the definition has one, it is ignored.
    fn check_arguments(&self, callee: &Function, arguments: &decode::Call<'_>) -> Result<(), Problem> {
        let [returns, wanted] = [callee.returns.len(), arguments.returns.len()];
        let declares = |function: &Function| {
            let is_declaration = function.body.is_none() && function.unsupported.is_none();
            is_declaration && function.name == callee.name && function.returns.len() == wanted
        };
        let fits = returns == wanted || returns.min(wanted) == 0 && self.module.functions.iter().any(declares);
        if fits && callee.parameters.len() == arguments.parameters.len() {
            return Ok(());
        }
        let found = wanted + arguments.parameters.len();
        Err(Problem::OperandCount { expected: "one per parameter of the function", found })
    }

    /// Adds a call to a function that a GPU's driver provides.
    fn driver_call(&mut self, arguments: &decode::Call<'_>, call: &syntax::Instruction) -> Result<(), LoadError> {
        let problem = |problem| at(call.line, &call.text, problem);
        let mut address = |name: &&str| self.argument(name).map_err(problem);
        let parameters = arguments.parameters.iter().map(&mut address).collect::<Result<Vec<_>, _>>()?;
        let result = arguments.returns.first().map(address).transpose()?;
        let action = match (arguments.function, &parameters[..]) {
            ("vprintf", &[format, arguments]) => Action::Print(Print { result, format, arguments }),
            ("__assertfail", &[message, file, line, ..]) => {
                Action::FailAssertion(FailAssertion { message, file, line })
            }
            ("malloc", &[bytes]) => Action::Heap(HeapCall::Allocate { result, bytes }),
            ("free", &[pointer]) => Action::Heap(HeapCall::Free(pointer)),
            _ => {
                let expected = "those of vprintf, __assertfail, malloc or free";
                return Err(problem(Problem::OperandCount { expected, found: parameters.len() }));
            }
        };
        let guard = match &call.guard {
            Some(guard) => Some(decode::guard(&self.symbols, guard).map_err(problem)?),
            None => None,
        };
        self.push(DecodedInstruction { guard, action }, Class::Control, call);
        Ok(())
    }

    /// Pushes the computations needed before an instruction.
    fn push_before(&mut self, source: &syntax::Instruction) {
        for action in std::mem::take(&mut self.symbols.before) {
            self.push(DecodedInstruction { guard: None, action }, Class::Move, source);
        }
    }

    fn push(&mut self, instruction: DecodedInstruction, class: Class, source: &syntax::Instruction) {
        self.instructions.push(instruction);
        let text: Arc<str> = source.text.as_str().into();
        self.descriptions.push(Description { line: source.line, text, location: self.location, class });
    }

    fn declare(&mut self, name: &str, named: Named, line: u32) -> Result<(), LoadError> {
        self.symbols.scopes.declare(name, named).map_err(|problem| at(line, name, problem))
    }

    fn new_label(&mut self) -> Label {
        self.labels.push(None);
        self.labels.len() - 1
    }

    /// Replaces labels with instruction indices, and computes the reconvergence point of each
    /// branch.
    fn resolve_branches(&mut self, entry: &Function) -> Result<(), LoadError> {
        let count = self.instructions.len();
        let labels = &self.labels;
        let target_of = |label: usize| labels[label].unwrap_or(count);
        for instruction in &mut self.instructions {
            match &mut instruction.action {
                Action::Branch { target, .. } => *target = target_of(*target),
                Action::BranchTable { targets, .. } => {
                    targets.iter_mut().for_each(|target| *target = target_of(*target));
                }
                Action::BranchToFunction { functions, .. } => {
                    functions.iter_mut().for_each(|(_, start)| *start = target_of(*start));
                }
                Action::Call(call) => call.start = target_of(call.start),
                _ => {}
            }
        }
        let mut sites = vec![Vec::new(); self.called.len()];
        for (index, instruction) in self.instructions.iter().enumerate() {
            if let Action::Call(call) = &instruction.action {
                sites[call.function].push(index + 1);
            }
        }
        for instruction in &mut self.instructions {
            if let Action::Return { function, sites: of_function, .. } = &mut instruction.action {
                of_function.clone_from(&sites[*function]);
            }
        }
        let jumps: Vec<Option<Vec<usize>>> = self.instructions.iter().enumerate().map(jumps).collect();
        let successors: Vec<Successors<'_>> = jumps
            .iter()
            .zip(&self.instructions)
            .map(|(jump, instruction)| match (jump, &instruction.action, instruction.guard) {
                (Some(targets), ..) => Successors::Jump(targets),
                (None, Action::Exit, None) => Successors::Exit,
                // A trap ends the launch, so other lanes need not wait for lanes on a path to one.
                (None, Action::Trap(_) | Action::FailAssertion(_), None) => Successors::Jump(&[]),
                _ => Successors::Next,
            })
            .collect();
        for (index, successors) in successors.iter().enumerate() {
            // The end of the kernel's own instructions, or of all instructions.
            let is_end = |target: usize| target >= count || self.starts.contains(&target);
            let past_the_end = match (successors, &self.instructions[index].action) {
                (_, Action::Call(_)) => is_end(index + 1),
                (Successors::Next, _) => is_end(index + 1),
                (Successors::Jump(targets), _) => targets.iter().any(|&target| is_end(target)),
                (Successors::Exit, _) => false,
            };
            if past_the_end {
                let Description { line, text, .. } = &self.descriptions[index];
                return Err(at(*line, text, Problem::RunsPastTheEnd));
            }
        }
        if count == 0 {
            return Err(at(entry.line, &entry.name, Problem::RunsPastTheEnd));
        }
        let points = immediate_postdominators(&successors);
        for (instruction, point) in self.instructions.iter_mut().zip(points) {
            if let Action::Branch { reconvergence, .. }
            | Action::BranchTable { reconvergence, .. }
            | Action::BranchToFunction { reconvergence, .. }
            | Action::Return { reconvergence, .. } = &mut instruction.action
            {
                *reconvergence = point;
            } else if let Action::Call(call) = &mut instruction.action {
                call.reconvergence = point;
            }
        }
        Ok(())
    }
}

/// Possible successors of a jump instruction. `None` for other instructions.
fn jumps((index, instruction): (usize, &DecodedInstruction)) -> Option<Vec<usize>> {
    let mut targets = match &instruction.action {
        Action::Branch { target, .. } => vec![*target],
        Action::BranchTable { targets, .. } => targets.clone(),
        Action::BranchToFunction { functions, .. } => functions.iter().map(|(_, start)| *start).collect(),
        Action::Call(call) => vec![call.start],
        Action::Return { sites, .. } => sites.clone(),
        Action::Exit | Action::Trap(_) | Action::FailAssertion(_) if instruction.guard.is_some() => vec![],
        _ => return None,
    };
    if instruction.guard.is_some() {
        targets.push(index + 1);
    }
    Some(targets)
}

/// Whether an instruction may jump to itself or to an earlier one.
fn jumps_back((index, instruction): (usize, &DecodedInstruction)) -> bool {
    jumps((index, instruction)).is_some_and(|targets| targets.iter().any(|target| *target <= index))
}

/// Sizes in bytes of return values or parameters.
fn sizes(variables: &[Variable]) -> Vec<Option<usize>> {
    variables.iter().map(Variable::bytes).collect()
}

/// The reason why a function cannot be called.
enum Uncallable {
    Undeclared,
    NoBody,
}

/// The definition of the function with this name.
fn function<'a>(module: &'a Module, name: &str) -> Result<&'a Function, Uncallable> {
    let mut all = module.functions.iter().filter(|function| function.name == name);
    match all.clone().find(|function| function.body.is_some() || function.unsupported.is_some()) {
        Some(function) => Ok(function),
        None if all.next().is_some() => Err(Uncallable::NoBody),
        None => Err(Uncallable::Undeclared),
    }
}
