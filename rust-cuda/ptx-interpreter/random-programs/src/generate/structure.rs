//! Instructions outside the semantics' tables: moves, selections, predicate logic, and warp-wide operations.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::Generator;
use crate::program::{Action, Logic, Register, Source, Step, Width};
use crate::target::Target;

impl Generator {
    /// Adds one of these instructions.
    pub(super) fn structure(&mut self) {
        match self.random.random_range(0..14) {
            0..2 => self.select(),
            2..4 => self.logic(),
            4 => self.move_or_special(),
            5 | 6 => self.pack(),
            7 | 8 => self.unpack(),
            9 | 10 => self.shuffle(),
            11 => self.vote(),
            12 => self.match_lanes(),
            _ if self.target >= Target::Sm90 => self.reduce(),
            _ => self.vote(),
        }
    }

    fn any_width(&mut self) -> Width {
        *Width::ALL.choose(&mut self.random).expect("three widths")
    }

    fn select(&mut self) {
        let width = self.any_width();
        let sources = [self.pick(width), self.pick(width)].map(Source::Register);
        let predicate = self.pick_predicate();
        let guard = self.guard();
        let destination = self.destination(width, guard.is_some());
        self.steps.push(Step { guard, action: Action::Select { destination, sources, predicate } });
    }

    fn logic(&mut self) {
        let logics = [None, Some(Logic::And), Some(Logic::Or), Some(Logic::Xor)];
        let logic = *logics.choose(&mut self.random).expect("four");
        let sources = [self.pick_predicate(), self.pick_predicate()];
        let guard = self.guard();
        let destination = self.predicate_destination(guard.is_some());
        self.steps.push(Step { guard, action: Action::Logic { logic, destination, sources } });
    }

    fn move_or_special(&mut self) {
        const NAMES: [&str; 6] =
            ["%laneid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"];
        let special: bool = self.random.random();
        let width = if special { Width::Bits32 } else { self.any_width() };
        let source = Source::Register(self.pick(width));
        let guard = self.guard();
        let destination = self.destination(width, guard.is_some());
        let name = *NAMES.choose(&mut self.random).expect("six");
        let action = if special { Action::Special { name, destination } } else { Action::Move { destination, source } };
        self.steps.push(Step { guard, action });
    }

    /// The widths of a packed register and of its parts, and the number of parts.
    fn parts(&mut self) -> (Width, Width, usize) {
        let shapes =
            [(Width::Bits32, Width::Bits16, 2), (Width::Bits64, Width::Bits32, 2), (Width::Bits64, Width::Bits16, 4)];
        *shapes.choose(&mut self.random).expect("three")
    }

    fn pack(&mut self) {
        let (whole, part, count) = self.parts();
        let parts = (0..count).map(|_| self.pick(part)).collect();
        let guard = self.guard();
        let destination = self.destination(whole, guard.is_some());
        self.steps.push(Step { guard, action: Action::Pack { destination, parts } });
    }

    fn unpack(&mut self) {
        let (whole, part, count) = self.parts();
        let source = self.pick(whole);
        let destinations = (0..count).map(|_| self.fresh(part)).collect();
        self.push(Action::Unpack { destinations, source });
    }

    fn shuffle(&mut self) {
        let mode = *["up", "down", "bfly", "idx"].choose(&mut self.random).expect("four");
        let source = self.pick(Width::Bits32);
        let lane = match self.random.random() {
            true => Source::Immediate(self.random.random_range(0..32)),
            false if mode == "idx" => Source::Register(self.pick(Width::Bits32)),
            false => {
                let distance = Register::scratch(Width::Bits32, 0);
                let any = Source::Register(self.pick(Width::Bits32));
                self.mask(distance, any, 31);
                Source::Register(distance)
            }
        };
        // A whole warp, a warp in segments, or any valid clamp and segment mask.
        let clamp = match self.random.random_range(0..3) {
            0 => {
                if mode == "up" {
                    0
                } else {
                    0x1f
                }
            }
            1 => {
                (if mode == "up" { 0 } else { 0x1f }) | [0x1000, 0x1800, 0x1c00, 0x1e00][self.random.random_range(0..4)]
            }
            _ => self.random.random_range(0..0x2000) & 0x1f1f,
        };
        let (destination, in_range) = (self.fresh(Width::Bits32), self.fresh_predicate());
        self.push(Action::Shuffle { mode, destination, in_range, source, lane, clamp });
    }

    fn vote(&mut self) {
        let (source, negated) = (self.pick_predicate(), self.random.random());
        if self.random.random() {
            let destination = self.fresh(Width::Bits32);
            return self.push(Action::Ballot { destination, source, negated });
        }
        let mode = *["all", "any", "uni"].choose(&mut self.random).expect("three");
        let destination = self.fresh_predicate();
        self.push(Action::Vote { mode, destination, source, negated });
    }

    fn match_lanes(&mut self) {
        let width = *[Width::Bits32, Width::Bits64].choose(&mut self.random).expect("two");
        let source = self.pick(width);
        let all = self.random.random::<bool>().then(|| self.fresh_predicate());
        let destination = self.fresh(Width::Bits32);
        self.push(Action::Match { destination, all, source });
    }

    fn reduce(&mut self) {
        const OPERATIONS: [&str; 9] =
            ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"];
        let operation = *OPERATIONS.choose(&mut self.random).expect("nine");
        let source = self.pick(Width::Bits32);
        let destination = self.fresh(Width::Bits32);
        self.push(Action::Reduce { operation, destination, source });
    }
}
