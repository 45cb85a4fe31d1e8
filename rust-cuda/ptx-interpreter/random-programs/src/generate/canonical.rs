//! Removes the unspecified parts of a result: NaN payloads, the sign of some zeros, and bits beyond a format.

use ptx_interpreter::syntax::ScalarType;

use super::Generator;
use crate::program::{Action, Predicate, Register, Source, Width};
use crate::reference::{Form, Layout};

/// Predicate register for intermediate results.
const SCRATCH_PREDICATE: Predicate = 0;

impl Generator {
    /// Adds instructions that make a result of this form the same on every device.
    pub(super) fn make_canonical(&mut self, form: &Form<'_>, destination: Register) {
        let to = if ["cvt", "set", "slct"].contains(&form.opcode) { form.destination() } else { form.last() };
        let (format, pair) = to.strip_suffix("x2").map_or((to, false), |format| (format, true));
        // tf32 has the exponent of f32, and is stored in the upper bits of an f32.
        let Some(layout) = Layout::of(if format == "tf32" { "f32" } else { format }) else { return };
        let rounded = ["rn", "rz", "rm", "rp"].iter().any(|rounding| form.has(rounding));
        let nan_is_specified = to == "f32" && rounded && ["add", "sub", "mul", "fma", "mad"].contains(&form.opcode);
        if pair {
            let halves = [1, 2].map(|number| Register::scratch(Width::Bits16, number));
            self.push(Action::Unpack { destinations: halves.to_vec(), source: destination });
            halves.iter().for_each(|half| self.canonical_nan(layout, *half));
            self.push(Action::Pack { destination, parts: halves.to_vec() });
        } else if !nan_is_specified {
            self.canonical_nan(layout, destination);
        }
        if form.has("sat") || form.has("relu") {
            let positive = layout.sign() - 1;
            let mask = if pair { positive | positive << 16 } else { positive };
            self.mask(destination, Source::Register(destination), mask);
        }
        if to == "tf32" {
            self.mask(destination, Source::Register(destination), 0xffff_e000);
        }
    }

    /// Adds integer instructions that replace any NaN with the canonical one.
    fn canonical_nan(&mut self, layout: Layout, register: Register) {
        let magnitude = Register::scratch(register.width, 0);
        self.mask(magnitude, Source::Register(register), layout.sign() - 1);
        let (form, scalar_type) = match register.width {
            Width::Bits16 => ("setp.gt.u16", ScalarType::U16),
            Width::Bits32 => ("setp.gt.u32", ScalarType::U32),
            Width::Bits64 => ("setp.gt.u64", ScalarType::U64),
        };
        self.push(Action::Compare {
            form: form.to_owned(),
            destinations: (SCRATCH_PREDICATE, None),
            sources: [Source::Register(magnitude), Source::Immediate(layout.infinity())],
            scalar_type,
            combine: None,
        });
        let sources = [Source::Immediate(layout.nan()), Source::Register(register)];
        self.push(Action::Select { destination: register, sources, predicate: SCRATCH_PREDICATE });
    }
}
