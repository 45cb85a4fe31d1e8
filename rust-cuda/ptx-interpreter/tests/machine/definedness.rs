//! Bits of a value that come from unwritten memory: random kernels agree with a bit-by-bit model.

use crate::support::kernel::Kernel;
use ptx_interpreter::{FaultKind, Uninitialised, memory::AccessError};
use rand::{RngExt, SeedableRng, rngs::SmallRng};

/// A bit: its value, whether it is a copy of an unwritten bit, and whether it is computed from
/// unwritten bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bit {
    value: bool,
    is_copied: bool,
    is_computed: bool,
}

impl Bit {
    fn of(value: bool) -> Self {
        Self { value, ..Self::default() }
    }

    fn is_unwritten(self) -> bool {
        self.is_copied || self.is_computed
    }

    /// The unwritten marks of `self`, if `depends` holds.
    fn marks_if(self, depends: bool) -> (bool, bool) {
        (self.is_copied && depends, self.is_computed && depends)
    }
}

type Word = [Bit; 32];

fn word(value: u32) -> Word {
    std::array::from_fn(|bit| Bit::of(value >> bit & 1 == 1))
}

fn value(word: &Word) -> u32 {
    (0..32).fold(0, |value, bit| value | u32::from(word[bit].value) << bit)
}

fn is_any_unwritten(bits: &[Bit]) -> bool {
    bits.iter().any(|bit| bit.is_unwritten())
}

/// A word with bits copied from `of`, or constant bits.
fn moved(value: u32, of: impl Fn(usize) -> Option<Bit>) -> Word {
    std::array::from_fn(|index| {
        let marks = of(index).map_or((false, false), |bit| bit.marks_if(true));
        Bit { value: value >> index & 1 == 1, is_copied: marks.0, is_computed: marks.1 }
    })
}

/// A word. Bit i is computed from unwritten bits if `is_unwritten(i)`.
fn computed(value: u32, is_unwritten: impl Fn(usize) -> bool) -> Word {
    std::array::from_fn(|index| Bit {
        value: value >> index & 1 == 1,
        is_copied: false,
        is_computed: is_unwritten(index),
    })
}

/// The model's registers, the same as the kernel's: `r10` to `r15`, and `p0` to `p3`.
#[derive(Debug)]
struct Model {
    words: [Word; 6],
    predicates: [Bit; 4],
}

const SIGN: usize = 31;

/// A random instruction, and its effect on the model.
fn step(random: &mut SmallRng, model: &mut Model) -> String {
    let to = random.random_range(0..6_usize);
    let [a, b, c] = [(); 3].map(|()| random.random_range(0..6_usize));
    let [p, q, s] = [(); 3].map(|()| random.random_range(0..4_usize));
    let (x, y, z) = (model.words[a], model.words[b], model.words[c]);
    let [vx, vy, vz] = [&x, &y, &z].map(value);
    let (r, ra, rb, rc) = (to + 10, a + 10, b + 10, c + 10);
    let amount = random.random_range(0..36_usize);
    let (position, length) = (random.random_range(0..34_usize), random.random_range(0..34_usize));
    let at = |word: Word, index: usize| move |offset: usize| word.get(index + offset).copied();
    let (text, result) = match random.random_range(0..24) {
        kind @ (0 | 1) => {
            let is_and = kind == 0;
            // A bit of one source matters unless the other one decides the result.
            let decides = |other: Bit| !other.is_unwritten() && other.value != is_and;
            let result = if is_and { vx & vy } else { vx | vy };
            let bits = std::array::from_fn(|index| {
                let (of_x, of_y) = (x[index].marks_if(!decides(y[index])), y[index].marks_if(!decides(x[index])));
                Bit { value: result >> index & 1 == 1, is_copied: of_x.0 || of_y.0, is_computed: of_x.1 || of_y.1 }
            });
            (format!("{}.b32 r{r}, r{ra}, r{rb};", if is_and { "and" } else { "or" }), bits)
        }
        2 => {
            let is_unwritten = |index: usize| is_any_unwritten(&[x[index], y[index]]);
            (format!("xor.b32 r{r}, r{ra}, r{rb};"), computed(vx ^ vy, is_unwritten))
        }
        3 => (format!("not.b32 r{r}, r{ra};"), computed(!vx, |index| x[index].is_unwritten())),
        4 => {
            let result = if amount < 32 { vx << amount } else { 0 };
            let of = |index: usize| index.checked_sub(amount).map(|from| x[from]);
            (format!("shl.b32 r{r}, r{ra}, {amount};"), moved(result, of))
        }
        5 => {
            let result = if amount < 32 { vx >> amount } else { 0 };
            (format!("shr.u32 r{r}, r{ra}, {amount};"), moved(result, at(x, amount)))
        }
        6 => {
            let result = (vx as i32 >> amount.min(SIGN)) as u32;
            (format!("shr.s32 r{r}, r{ra}, {amount};"), moved(result, |index| Some(x[(index + amount).min(SIGN)])))
        }
        // Shifts by a register. An unwritten amount decides everything.
        7 => {
            let amount = vy as usize;
            let result = if amount < 32 { vx << amount } else { 0 };
            let is_unwritten = is_any_unwritten(&y);
            let result = match is_unwritten {
                true => computed(result, |_| true),
                false => moved(result, |index| index.checked_sub(amount).map(|from| x[from])),
            };
            (format!("shl.b32 r{r}, r{ra}, r{rb};"), result)
        }
        kind @ 8..=11 => {
            let (text, result) = match kind {
                8 => (format!("add.u32 r{r}, r{ra}, r{rb};"), vx.wrapping_add(vy)),
                9 => (format!("sub.s32 r{r}, r{ra}, r{rb};"), vx.wrapping_sub(vy)),
                10 => (format!("mul.lo.u32 r{r}, r{ra}, r{rb};"), vx.wrapping_mul(vy)),
                _ => (format!("mad.lo.u32 r{r}, r{ra}, r{rb}, r{rc};"), vx.wrapping_mul(vy).wrapping_add(vz)),
            };
            let sources = if kind == 11 { vec![x, y, z] } else { vec![x, y] };
            let is_unwritten = |index: usize| sources.iter().any(|source| is_any_unwritten(&source[..=index]));
            (text, computed(result, is_unwritten))
        }
        kind @ 12..=14 => {
            let (text, result) = match kind {
                12 => (format!("mul.hi.u32 r{r}, r{ra}, r{rb};"), ((u64::from(vx) * u64::from(vy)) >> 32) as u32),
                13 => (format!("min.u32 r{r}, r{ra}, r{rb};"), vx.min(vy)),
                _ => (format!("popc.b32 r{r}, r{ra};"), vx.count_ones()),
            };
            let is_unwritten = is_any_unwritten(&x) || kind != 14 && is_any_unwritten(&y);
            (text, computed(result, |_| is_unwritten))
        }
        kind @ (15 | 16) => {
            let is_signed = kind == 16;
            let last = (position + length).checked_sub(1).map_or(0, |last| last.min(SIGN));
            let of = |index: usize| match (index < length && position + index < 32, is_signed) {
                (true, _) => Some(x[position + index]),
                (false, true) if length > 0 => Some(x[last]),
                _ => None,
            };
            let result =
                (0..32).fold(0, |bits, index| bits | u32::from(of(index).is_some_and(|bit| bit.value)) << index);
            let scalar = if is_signed { "s32" } else { "u32" };
            (format!("bfe.{scalar} r{r}, r{ra}, {position}, {length};"), moved(result, of))
        }
        17 => {
            let of = |index: usize| match index.checked_sub(position).filter(|from| *from < length) {
                Some(from) => x[from],
                None => y[index],
            };
            let result = (0..32).fold(0, |bits, index| bits | u32::from(of(index).value) << index);
            (format!("bfi.b32 r{r}, r{ra}, r{rb}, {position}, {length};"), moved(result, |index| Some(of(index))))
        }
        18 => {
            let selector: u32 = random.random_range(0..=0xffff);
            let of = |index: usize| {
                let chosen = selector >> (index / 8 * 4) & 0xf;
                let (word, byte) = (if chosen & 4 == 0 { x } else { y }, (chosen & 3) as usize);
                word[byte * 8 + if chosen & 8 == 0 { index % 8 } else { 7 }]
            };
            let result = (0..32).fold(0, |bits, index| bits | u32::from(of(index).value) << index);
            (format!("prmt.b32 r{r}, r{ra}, r{rb}, {selector};"), moved(result, |index| Some(of(index))))
        }
        19 => match random.random_range(0..3) {
            0 => {
                let of = |index: usize| if index < 8 { Some(x[index]) } else { None };
                (format!("cvt.u32.u8 r{r}, r{ra};"), moved(vx & 0xff, of))
            }
            1 => {
                let of = |index: usize| Some(x[index.min(15)]);
                (format!("cvt.s32.s16 r{r}, r{ra};"), moved(vx as i16 as u32, of))
            }
            _ => (format!("mov.b32 r{r}, r{ra};"), x),
        },
        20 => {
            let condition = model.predicates[p];
            let chosen = if condition.value { x } else { y };
            let bits = std::array::from_fn(|index| {
                let (of_x, of_y) = (x[index], y[index]);
                if !condition.is_unwritten() {
                    return chosen[index];
                }
                Bit {
                    value: chosen[index].value,
                    is_copied: of_x.is_copied || of_y.is_copied,
                    is_computed: of_x.is_computed || of_y.is_computed || of_x.value != of_y.value,
                }
            });
            (format!("selp.b32 r{r}, r{ra}, r{rb}, p{p};"), bits)
        }
        21 | 22 => {
            let is_unwritten = is_any_unwritten(&x) || is_any_unwritten(&y);
            let own = Bit { value: vx < vy, is_copied: false, is_computed: is_unwritten };
            let other = model.predicates[q];
            let (logic, result) = match random.random_range(0..3) {
                0 => ("and", joined(own, other, true)),
                1 => ("or", joined(own, other, false)),
                _ => ("xor", either(own, other)),
            };
            model.predicates[p] = result;
            return format!("setp.lt.{logic}.u32 p{p}, r{ra}, r{rb}, p{q};");
        }
        _ => {
            let (one, other) = (model.predicates[q], model.predicates[s]);
            let (text, result) = match random.random_range(0..3) {
                0 => (format!("and.pred p{p}, p{q}, p{s};"), joined(one, other, true)),
                1 => (format!("or.pred p{p}, p{q}, p{s};"), joined(one, other, false)),
                _ => (format!("not.pred p{p}, p{q};"), Bit { value: !one.value, ..one }),
            };
            model.predicates[p] = result;
            return text;
        }
    };
    model.words[to] = result;
    text
}

/// The conjunction of two predicates, otherwise the disjunction.
fn joined(one: Bit, other: Bit, is_and: bool) -> Bit {
    let decides = |bit: Bit| !bit.is_unwritten() && bit.value != is_and;
    let value = if is_and { one.value && other.value } else { one.value || other.value };
    let is_unwritten = one.is_unwritten() || other.is_unwritten();
    Bit { value, is_copied: false, is_computed: is_unwritten && !decides(one) && !decides(other) }
}

fn either(one: Bit, other: Bit) -> Bit {
    let is_computed = one.is_unwritten() || other.is_unwritten();
    Bit { value: one.value != other.value, is_copied: false, is_computed }
}

/// A kernel's text after the loads, the model after it, and the part of the model that the kernel
/// uses at its end.
fn kernel(random: &mut SmallRng) -> (String, bool) {
    let mut text = "mov.u32 r9, room;\n".to_owned();
    let mut memory = [word(u32::MAX); 4];
    for bit in memory.iter_mut().flatten() {
        bit.is_copied = true;
    }
    for byte in 0..16_usize {
        let stored: u8 = random.random();
        if random.random_range(0..3) == 0 {
            continue;
        }
        text += &format!("st.shared.u8 [room+{byte}], {stored};\n");
        memory[byte / 4][byte % 4 * 8..byte % 4 * 8 + 8].copy_from_slice(&word(stored.into())[..8]);
    }
    let mut model = Model { words: [word(0); 6], predicates: [Bit::of(false); 4] };
    for register in 0..6 {
        let (size, place) = (random.random_range(0..4), random.random_range(0..4_usize));
        let loaded = memory[place];
        let (load, bits) = match size {
            0 => ("s8", std::array::from_fn(|index| loaded[index.min(7)])),
            1 => ("u16", std::array::from_fn(|index| if index < 16 { loaded[index] } else { Bit::default() })),
            _ => ("u32", loaded),
        };
        text += &format!("ld.shared.{load} r{}, [room+{}];\n", register + 10, 4 * place);
        model.words[register] = bits;
    }
    for predicate in 0..4 {
        let value = random.random_range(0..2);
        text += &format!("setp.eq.u32 p{predicate}, {value}, 1;\n");
        model.predicates[predicate] = Bit::of(value == 1);
    }
    for _ in 0..random.random_range(1..20) {
        text += &step(random, &mut model);
        text.push('\n');
    }
    let which = random.random_range(0..6_usize);
    let matters = match random.random_range(0..3) {
        0 => {
            let predicate = which % 4;
            text += &format!("@p{predicate} bra DONE; DONE: ret;");
            model.predicates[predicate].is_unwritten()
        }
        1 => {
            // A copied value is not reported, and for the low byte the bits above it do not matter.
            text += &format!("st.global.u8 [cell], r{}; ret;", which + 10);
            model.words[which][..8].iter().any(|bit| bit.is_computed)
        }
        _ => {
            text += &format!("st.global.u32 [cell], r{}; ret;", which + 10);
            model.words[which].iter().any(|bit| bit.is_computed)
        }
    };
    (text, matters)
}

#[test]
fn random_kernels_agree_with_a_model_of_bits() {
    let mut random = SmallRng::seed_from_u64(test_support::seed(11));
    let mut faults = 0;
    let runs = 3000;
    for run in 0..runs {
        let (text, matters) = kernel(&mut random);
        let kernel = Kernel::new(text.clone()).declare(".shared .align 4 .b8 room[16];\n").shape(1, 1).by_gpu_rules();
        let found = match kernel.with_uninitialised(Uninitialised::Note).launched() {
            Ok(_) => false,
            Err(error) => {
                let kind = &error.fault().unwrap_or_else(|| panic!("{error}")).kind;
                let expected = matches!(kind, FaultKind::Access { error: AccessError::Uninitialised { .. }, .. });
                assert!(expected, "{error}");
                true
            }
        };
        assert_eq!(found, matters, "run {run}:\n{text}");
        faults += usize::from(found);
    }
    assert!((runs / 10..runs * 9 / 10).contains(&faults), "{faults} of {runs}");
}
