//! Generates a program from a seed.

mod canonical;
mod structure;

use ptx_interpreter::semantics::{self, Compute};
use ptx_interpreter::syntax::ScalarType;
use rand::rngs::ChaCha8Rng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

use crate::is_packed;
use crate::program::{Action, INPUTS, Live, Logic, Predicate, Program, Register, Source, Step, Width};
use crate::reference::{self, Form};
use crate::target::Target;

/// Number of forms of a program.
const FORMS: usize = 40;

/// All forms of a target with bit-exact results, in the order of the tables.
fn exact_forms(target: Target) -> Vec<String> {
    let is_exact = |form: &Form<'_>| !form.has("approx") && !form.has("full");
    // ptxas omits the flush for these forms, so a subnormal becomes the smallest subnormal of half
    // precision.
    let keeps_subnormals = |form: &Form<'_>| {
        let is_directed = form.has("rm") || form.has("rp");
        form.opcode == "cvt" && is_directed && form.has("ftz") && form.has("f16") && form.last() == "f32"
    };
    // ptxas accepts these only with 8-bit registers, which the programs do not have.
    let is_of_bytes = |form: &Form<'_>| form.opcode == "cvt" && form.has("bf16") && (form.has("u8") || form.has("s8"));
    let forms = semantics::forms().filter(|name| {
        let form = Form::parse(name);
        is_exact(&form) && !keeps_subnormals(&form) && !is_of_bytes(&form) && target.has(&form)
    });
    forms.map(str::to_owned).collect()
}

pub(crate) fn programs_per_round(target: Target) -> u64 {
    exact_forms(target).len().div_ceil(FORMS) as u64
}

/// The forms of a program. Each round of programs reshuffles all forms, and a program takes the
/// next [`FORMS`] of them.
fn forms_of(seed: u64, target: Target) -> Vec<String> {
    let mut forms = exact_forms(target);
    let round = forms.len().div_ceil(FORMS) as u64;
    forms.shuffle(&mut ChaCha8Rng::seed_from_u64(seed / round));
    forms.into_iter().skip((seed % round) as usize * FORMS).take(FORMS).collect()
}

pub(crate) fn program(seed: u64, target: Target) -> Program {
    let mut generator = Generator {
        random: ChaCha8Rng::seed_from_u64(seed),
        target,
        steps: Vec::new(),
        live: [vec![], vec![], vec![]],
        counts: [Register::SCRATCH; 3],
        live_predicates: Vec::new(),
        predicates: 1,
    };
    for width in INPUTS {
        generator.fresh(width);
    }
    generator.first_predicates();
    let forms = forms_of(seed, target);
    for form in &forms {
        generator.form(form);
        if generator.random.random() {
            generator.structure();
        }
    }
    let Generator { steps, live, counts, live_predicates, predicates, .. } = generator;
    let live = live.into_iter().flatten().map(Live::Register);
    let live = live.chain(live_predicates.into_iter().map(Live::Predicate)).collect();
    Program { seed, target, steps, live, registers: counts, predicates, forms }
}

struct Generator {
    random: ChaCha8Rng,
    target: Target,
    steps: Vec<Step>,
    /// The registers of each width that hold a value, in the order of their first write.
    live: [Vec<Register>; 3],
    counts: [usize; 3],
    live_predicates: Vec<Predicate>,
    predicates: usize,
}

impl Generator {
    /// A new register, live from now on. Pick an instruction's sources before its destination.
    fn fresh(&mut self, width: Width) -> Register {
        let count = &mut self.counts[width as usize];
        let register = Register { width, number: *count };
        *count += 1;
        self.live[width as usize].push(register);
        register
    }

    fn fresh_predicate(&mut self) -> Predicate {
        self.predicates += 1;
        self.live_predicates.push(self.predicates - 1);
        self.predicates - 1
    }

    /// A live register: an input, a recent one, or any.
    fn pick(&mut self, width: Width) -> Register {
        let live = &self.live[width as usize];
        let inputs = INPUTS.iter().filter(|input| **input == width).count();
        let among = match self.random.random_range(0..3) {
            0 => &live[..inputs],
            1 => &live[live.len().saturating_sub(4)..],
            _ => &live[..],
        };
        *among.choose(&mut self.random).expect("the inputs are live")
    }

    fn pick_predicate(&mut self) -> Predicate {
        *self.live_predicates.choose(&mut self.random).expect("first_predicates makes predicates")
    }

    fn push(&mut self, action: Action) {
        self.steps.push(Step { guard: None, action });
    }

    /// The guard of a form's instruction. `set` and `testp` have none.
    fn guard_of(&mut self, form: &Form<'_>) -> Option<(Predicate, bool)> {
        if ["set", "testp"].contains(&form.opcode) { None } else { self.guard() }
    }

    /// A guard, with probability 1/6.
    fn guard(&mut self) -> Option<(Predicate, bool)> {
        let guarded = self.random.random_ratio(1, 6);
        guarded.then(|| (self.pick_predicate(), self.random.random()))
    }

    /// The destination of a result. A guarded instruction writes a live register, so the register
    /// holds a value in all lanes.
    fn destination(&mut self, width: Width, guarded: bool) -> Register {
        if guarded { self.pick(width) } else { self.fresh(width) }
    }

    fn predicate_destination(&mut self, guarded: bool) -> Predicate {
        if guarded { self.pick_predicate() } else { self.fresh_predicate() }
    }

    /// Predicates from the signs of four inputs.
    fn first_predicates(&mut self) {
        for number in 0..4 {
            let input = self.live[Width::Bits32 as usize][2 * number];
            let destination = self.fresh_predicate();
            self.push(Action::Compare {
                form: "setp.lt.s32".to_owned(),
                destinations: (destination, None),
                sources: [Source::Register(input), Source::Immediate(0)],
                scalar_type: ScalarType::S32,
                combine: None,
            });
        }
    }

    /// Adds an instruction of this form, with the instructions that it needs before and after it.
    fn form(&mut self, name: &str) {
        let form = Form::parse(name);
        let operation = semantics::operation(form.opcode, &form.modifiers).expect("the form is in the tables");
        match operation.compute {
            Compute::Value(_) => self.value(name, &form, operation.destination, operation.sources),
            Compute::Carry(_) => self.carry_chain(name, &form, operation.destination),
            Compute::Predicate(_) if form.opcode == "setp" => self.comparison(name, operation.sources[0]),
            Compute::Predicate(_) => {
                let source = self.pick(Width::of(operation.sources[0]));
                let guard = self.guard_of(&form);
                let destination = self.predicate_destination(guard.is_some());
                self.steps.push(Step { guard, action: Action::Test { form: name.to_owned(), destination, source } });
            }
        }
    }

    fn value(&mut self, name: &str, form: &Form<'_>, to: ScalarType, from: &'static [ScalarType]) {
        let mut sources: Vec<Source> =
            from.iter().enumerate().map(|(index, one)| self.source(form, index, *one)).collect();
        match form.opcode {
            "div" | "rem" if is_integer(from[1]) => self.make_divisible(from[0], &mut sources),
            "fns" => {
                let base = Register::scratch(Width::Bits32, 0);
                self.mask(base, sources[1], 31);
                sources[1] = Source::Register(base);
            }
            "bfe" => self.make_bytes(&mut sources[1..]),
            "bfi" => self.make_bytes(&mut sources[2..]),
            _ => {}
        }
        let guard = self.guard_of(form);
        let width = self.width(form, to);
        let destination = self.destination(width, guard.is_some());
        let action = Action::Value { form: name.to_owned(), destination, to, sources, from };
        self.steps.push(Step { guard, action });
        self.make_canonical(form, destination);
    }

    fn source(&mut self, form: &Form<'_>, index: usize, scalar_type: ScalarType) -> Source {
        if form.opcode == "lop3" && index == 3 {
            return Source::Immediate(self.random.random_range(0..256));
        }
        // ptxas does not accept an immediate for a pair of integers.
        let may_be_immediate = index > 0 && form.opcode != "cvt" && !form.last().ends_with("x2");
        if may_be_immediate
            && self.random.random_ratio(1, 8)
            && let Some(immediate) = self.immediate(scalar_type)
        {
            return match immediate {
                // A field's position and length must fit in a byte.
                Source::Immediate(bits) if form.opcode.starts_with("bf") => Source::Immediate(bits & 0xff),
                immediate => immediate,
            };
        }
        let width = self.width(form, scalar_type);
        Source::Register(self.pick(width))
    }

    /// An immediate, if the type has a notation for it.
    fn immediate(&mut self, scalar_type: ScalarType) -> Option<Source> {
        let has_notation = is_integer(scalar_type) || matches!(scalar_type, ScalarType::F32 | ScalarType::F64);
        has_notation.then(|| {
            Source::Immediate(match self.random.random() {
                true => *reference::edges(scalar_type).choose(&mut self.random).expect("every type has edges"),
                false => reference::random(scalar_type, &mut self.random),
            })
        })
    }

    /// The width of an operand's register. A conversion's integer register may be wider than the type, unless the other
    /// type is bf16, tf32 or a pair.
    fn width(&mut self, form: &Form<'_>, scalar_type: ScalarType) -> Width {
        let narrowest = Width::of(scalar_type);
        let newer = ["bf16", "bf16x2", "f16x2", "tf32", "e4m3x2", "e5m2x2"].iter().any(|name| form.has(name));
        let may_be_wider = form.opcode == "cvt" && is_integer(scalar_type) && !newer;
        match may_be_wider && self.random.random_ratio(1, 3) {
            true => Width::ALL[self.random.random_range(narrowest as usize..3)],
            false => narrowest,
        }
    }

    /// Makes the divisor odd, and clears the sign bit of the divisor or of the dividend.
    fn make_divisible(&mut self, scalar_type: ScalarType, sources: &mut [Source]) {
        let width = Width::of(scalar_type);
        let (dividend, divisor) = (Register::scratch(width, 0), Register::scratch(width, 1));
        self.combine("or", divisor, sources[1], 1);
        if scalar_type.is_signed() {
            let positive = width.mask() >> 1;
            if self.random.random() {
                self.mask(divisor, Source::Register(divisor), positive);
            } else {
                self.mask(dividend, sources[0], positive);
                sources[0] = Source::Register(dividend);
            }
        }
        sources[1] = Source::Register(divisor);
    }

    /// Reduces a field's position and length to a byte.
    fn make_bytes(&mut self, sources: &mut [Source]) {
        for (number, source) in sources.iter_mut().enumerate() {
            let byte = Register::scratch(Width::Bits32, number);
            self.mask(byte, *source, 0xff);
            *source = Source::Register(byte);
        }
    }

    fn mask(&mut self, destination: Register, source: Source, mask: u64) {
        self.combine("and", destination, source, mask);
    }

    fn combine(&mut self, opcode: &str, destination: Register, source: Source, with: u64) {
        let (name, to, from): (_, _, &[ScalarType]) = match destination.width {
            Width::Bits16 => ("b16", ScalarType::B16, &[ScalarType::B16; 2]),
            Width::Bits32 => ("b32", ScalarType::B32, &[ScalarType::B32; 2]),
            Width::Bits64 => ("b64", ScalarType::B64, &[ScalarType::B64; 2]),
        };
        let sources = vec![source, Source::Immediate(with)];
        self.push(Action::Value { form: format!("{opcode}.{name}"), destination, to, sources, from });
    }

    fn comparison(&mut self, name: &str, scalar_type: ScalarType) {
        let a = Source::Register(self.pick(Width::of(scalar_type)));
        let b = match self.random.random_ratio(1, 8) {
            true => self.immediate(scalar_type),
            false => None,
        };
        let b = b.unwrap_or_else(|| Source::Register(self.pick(Width::of(scalar_type))));
        let combine = self.random.random::<bool>().then(|| {
            let logic = *[Logic::And, Logic::Or, Logic::Xor].choose(&mut self.random).expect("three");
            (logic, self.pick_predicate(), self.random.random())
        });
        let needs_two = is_packed(scalar_type);
        let guard = if needs_two { None } else { self.guard() };
        let first = self.predicate_destination(guard.is_some());
        // Two destinations must differ. A comparison of f16 or bf16 has only one destination; a
        // comparison of packed halves has two.
        let may_have_two = guard.is_none() && !matches!(scalar_type, ScalarType::F16 | ScalarType::Bf16);
        let second = (needs_two || may_have_two && self.random.random()).then(|| self.fresh_predicate());
        let destinations = (first, second);
        let action = Action::Compare { form: name.to_owned(), destinations, sources: [a, b], scalar_type, combine };
        self.steps.push(Step { guard, action });
    }

    /// Adds the instruction. If it reads the carry flag, an instruction that writes the flag comes
    /// before it. If it writes the flag, one that reads the flag follows. None of them is guarded,
    /// because the flag of a lane that skips an instruction is unspecified.
    fn carry_chain(&mut self, name: &str, form: &Form<'_>, element: ScalarType) {
        let family = if form.opcode.starts_with("sub") { "sub" } else { "add" };
        let scalar_type = form.last();
        if form.opcode.ends_with('c') {
            self.carry(&format!("{family}.cc.{scalar_type}"), element, 2);
        }
        self.carry(name, element, if form.opcode.starts_with("mad") { 3 } else { 2 });
        if form.has("cc") {
            self.carry(&format!("{family}c.{scalar_type}"), element, 2);
        }
    }

    fn carry(&mut self, form: &str, element: ScalarType, sources: usize) {
        let width = Width::of(element);
        let sources = (0..sources).map(|_| self.pick(width)).collect();
        let destination = self.fresh(width);
        self.push(Action::Carry { form: form.to_owned(), destination, sources });
    }
}

fn is_integer(scalar_type: ScalarType) -> bool {
    use ScalarType::{B8, B16, B32, B64, S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(scalar_type, B8 | B16 | B32 | B64 | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64)
}

/// Whether an instruction writes this register or predicate.
pub(crate) fn writes(action: &Action, live: Live) -> bool {
    let register = |register: &Register| live == Live::Register(*register);
    let predicate = |predicate: &Predicate| live == Live::Predicate(*predicate);
    match action {
        Action::Value { destination, .. }
        | Action::Carry { destination, .. }
        | Action::Select { destination, .. }
        | Action::Move { destination, .. }
        | Action::Pack { destination, .. }
        | Action::Ballot { destination, .. }
        | Action::Reduce { destination, .. }
        | Action::Special { destination, .. } => register(destination),
        Action::Unpack { destinations, .. } => destinations.iter().any(register),
        Action::Test { destination, .. } | Action::Logic { destination, .. } | Action::Vote { destination, .. } => {
            predicate(destination)
        }
        Action::Compare { destinations: (first, second), .. } => predicate(first) || second.iter().any(predicate),
        Action::Shuffle { destination, in_range, .. } => register(destination) || predicate(in_range),
        Action::Match { destination, all, .. } => register(destination) || all.iter().any(predicate),
    }
}
