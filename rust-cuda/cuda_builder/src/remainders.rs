//! Replaces float `%` with a call of an exact function. LLVM approximates it as x − y·trunc(x/y)
//! with a rounded quotient.

mod written;

use std::collections::{BTreeSet, HashMap};

use crate::BuilderError;
use crate::llvm_ir::Place;
use crate::ptx_items::{Kind, items};
use written::{Divisor, Written};

/// The exact remainder functions in `cuda_std`.
const FUNCTIONS: [(&str, &str); 2] = [("f32", "__cuda_std_fmodf"), ("f64", "__cuda_std_fmod")];

/// Whether the compiler's output may contain a float remainder.
pub(crate) fn may_have_remainders(ptx: &str) -> bool {
    FUNCTIONS.iter().any(|(t, _)| ptx.contains(&format!("\tcvt.rzi.{t}.{t}")))
}

/// Replaces each float remainder in the PTX with a call of the exact function. `ir` is the
/// compiler's last LLVM IR for the same kernels. It distinguishes a remainder from a kernel's own
/// approximation, and shows how many remainders there are.
///
/// LLVM 22 expands a remainder during instruction selection into three parts. The quotient is
/// computed by `div.rn`, `rcp.rn` of y, `mul.rn` with the reciprocal of a power of two, or `add.rn`
/// of x to itself. After `cvt.rzi`, `fma.rn` multiplies by −y and adds x; if y is 1, this is
/// `sub.rn`. Unless y is a finite constant, x is selected if `testp.infinite` finds that y is
/// infinite. LLVM shares parts between expansions and with the kernel's own expressions, even in
/// other blocks, and moves signs. So an expansion is identified by its operands, on whatever lines
/// they are computed.
///
/// # Errors
/// [`BuilderError::Remainder`] if a remainder in the IR is not found. `name_of_file` names its
/// file.
pub(crate) fn with_exact_remainders(
    ptx: &str,
    ir: &str,
    name_of_file: &dyn Fn(&str) -> String,
) -> Result<String, BuilderError> {
    let written = written::remainders(ir);
    if written.is_empty() {
        return Ok(ptx.to_owned());
    }
    let mut result = String::with_capacity(ptx.len());
    let (mut calls, mut seen) = (0, 0);
    for item in items(ptx) {
        if !matches!(item.kind, Kind::Entry | Kind::Definition) {
            result += item.text;
            continue;
        }
        let own: Vec<&Written> = written.iter().filter(|written| item.function == Some(&written.function)).collect();
        let calls_before = calls;
        let (body, found) = in_body(item.text, &own, &mut calls);
        let shared = own.iter().find(|written| written.is_shared).copied();
        if let Some(missing) = shared.or_else(|| missing(&own, &found)) {
            return Err(missing.error(ir, name_of_file));
        }
        if calls_before == 0 && calls > 0 {
            // PTX names must be declared before use, and the definitions may come later.
            for (t, function) in FUNCTIONS {
                let bits = &t[1..];
                result += &format!(
                    ".visible .func  (.param .b{bits} func_retval0) {function}\n(\n\t.param .b{bits} {function}_param_0,\n\
                     \t.param .b{bits} {function}_param_1\n)\n;\n"
                );
            }
        }
        result += &body;
        seen += own.len();
    }
    // The PTX uses another name for the function.
    if seen < written.len() {
        return Err(written[0].error(ir, name_of_file));
    }
    Ok(result)
}

/// A remainder in a function that does not correspond to any of the expansions found.
fn missing<'a>(written: &[&'a Written], found: &[Place]) -> Option<&'a Written> {
    // The compiler merges equal operations.
    let distinct: BTreeSet<&str> = written.iter().map(|written| written.operands.as_str()).collect();
    let has_no_place = |written: &&&Written| written.place.is_some_and(|place| !found.contains(&place));
    (found.len() < distinct.len()).then(|| *written.iter().find(has_no_place).unwrap_or(&written[0]))
}

/// An instruction's line, split into its name and operands, with its source location.
#[derive(Clone, Debug)]
struct Instruction<'a> {
    line: usize,
    name: &'a str,
    operands: Vec<&'a str>,
    place: Place,
}

/// An operand without its sign.
#[derive(Clone, Debug)]
struct Magnitude {
    /// A register, or a constant without its sign such as `0f40E00000`.
    name: String,
    is_negated: bool,
    /// The index of the instruction that reads it.
    at: usize,
}

impl Magnitude {
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.is_negated == other.is_negated
    }
}

/// The instructions of a body, by what they define.
struct Body<'a> {
    all: Vec<Instruction<'a>>,
    /// The indices of the instructions that may write a register, in order.
    definitions: HashMap<&'a str, Vec<usize>>,
    /// The number of operands that read a register.
    uses: HashMap<&'a str, usize>,
}

/// The operands of an expansion of x % y.
struct Expansion<'a> {
    x: &'a str,
    y: String,
    /// The other factor in the product with ±y, which only the approximation needs.
    whole: &'a str,
    /// The instruction that selects x if y is infinite; not needed for a finite constant.
    select: Option<usize>,
    /// Whether the approximation is exact, as is a quotient by a power of two that is at least 1.
    /// The compiler then copies the sign of x to the result if that can make a difference.
    is_exact: bool,
}

/// The sum whole·y + x.
struct Sum<'a, 'b> {
    whole: &'a str,
    y: &'b str,
    x: &'a str,
    /// Whether one of the two terms is subtracted.
    has_other_sign: bool,
}

/// Replaces the expansions in a body with calls, and returns the locations of those that were
/// found.
fn in_body(text: &str, written: &[&Written], calls: &mut usize) -> (String, Vec<Place>) {
    let mut found = Vec::new();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let mut body = Body::of(text);
    for index in 0..body.all.len() {
        for (t, function) in FUNCTIONS {
            let Some(expansion) = body.expansion(index, t) else { continue };
            let sum = body.all[index].clone();
            if !written.iter().any(|written| written.may_be(&expansion, sum.place)) {
                continue;
            }
            found.push(sum.place);
            if expansion.is_exact {
                continue;
            }
            *calls += 1;
            let (bits, result) = (&t[1..], sum.operands[0]);
            let call = |result: &str| {
                format!(
                    "\t{{ // callseq remainder {calls}\n\t.param .b{bits} param0;\n\t.param .b{bits} param1;\n\t.param .b{bits} retval0;\n\
                     \tst.param.{t} \t[param0], {};\n\tst.param.{t} \t[param1], {};\n\
                     \tcall.uni (retval0), {function}, (param0, param1);\n\tld.param.{t} \t{result}, [retval0];\n\t}}\n",
                    expansion.x, expansion.y
                )
            };
            match expansion.select.map(|select| body.all[select].clone()) {
                // The sum is also used by the kernel itself.
                Some(select) if body.uses.get(result) != Some(&1) => {
                    lines[select.line] = call(select.operands[0]);
                    body.forget(select.operands[3], &mut lines);
                }
                select => {
                    lines[sum.line] = call(result);
                    body.forget(expansion.whole, &mut lines);
                    if let Some(select) = select {
                        // The function's result is x if y is infinite, and NaN if x is infinite.
                        lines[select.line] = format!("\tmov.b{bits} \t{}, {result};\n", select.operands[0]);
                        body.forget(select.operands[3], &mut lines);
                    }
                }
            }
        }
    }
    (lines.concat(), found)
}

impl<'a> Body<'a> {
    fn of(text: &'a str) -> Self {
        // Instructions that write no register.
        const WITHOUT_RESULT: [&str; 3] = ["st.", "red.", "@"];
        let mut place = (0, 0);
        let mut body = Self { all: Vec::new(), definitions: HashMap::new(), uses: HashMap::new() };
        for (line, text) in text.lines().enumerate() {
            let text = text.trim();
            if let Some(location) = text.strip_prefix(".loc") {
                let mut numbers = location.split_whitespace().skip(1).map_while(|number| number.parse().ok());
                place = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            }
            let Some(instruction) = instruction(text, line, place) else { continue };
            let is_arithmetic = !instruction.name.is_empty();
            for operand in &instruction.operands[usize::from(is_arithmetic)..] {
                *body.uses.entry(operand).or_default() += 1;
            }
            // Any register named by another kind of instruction may be a result.
            for &result in &instruction.operands[..if is_arithmetic { 1 } else { instruction.operands.len() }] {
                if is_arithmetic || !WITHOUT_RESULT.iter().any(|name| text.starts_with(name)) {
                    body.definitions.entry(result).or_default().push(body.all.len());
                }
            }
            body.all.push(instruction);
        }
        body
    }

    /// The instruction that wrote the register read by the instruction at the index `at`: the last
    /// one before it. An instruction after it in a loop counts only if it is the only one.
    fn definition_of(&self, register: &str, at: usize) -> Option<usize> {
        let all = self.definitions.get(register)?;
        let last = all.iter().rev().find(|&&index| index < at);
        last.or(all.first().filter(|_| all.len() == 1)).copied()
    }

    /// Like `definition_of`, if the instruction's name is `name` with the type `t`.
    fn definition(&self, register: &str, at: usize, name: &str, t: &str) -> Option<usize> {
        self.definition_of(register, at).filter(|&index| is(&self.all[index], name, t))
    }

    /// An operand of the instruction at an index, traced through copies and sign changes.
    fn magnitude(&self, operand: &str, at: usize, t: &str) -> Magnitude {
        let (mut operand, mut at, mut is_negated) = (operand, at, false);
        // Copies in a loop may refer to each other if one is read before it is written.
        for _ in 0..self.all.len() {
            let Some(index) = self.definition_of(operand, at) else { break };
            let definition = &self.all[index];
            match definition.name {
                name if name.starts_with("mov.") && definition.operands.len() == 2 => {}
                _ if is(definition, "neg", t) => is_negated = !is_negated,
                _ => break,
            }
            (operand, at) = (definition.operands[1], index);
        }
        match constant(operand) {
            Some(value) => {
                Magnitude { name: magnitude_of(value, t), is_negated: is_negated != value.is_sign_negative(), at }
            }
            None => Magnitude { name: operand.to_owned(), is_negated, at },
        }
    }

    /// The expansion of a remainder with its sum in this instruction.
    fn expansion(&self, index: usize, t: &str) -> Option<Expansion<'a>> {
        let sum = &self.all[index];
        let [one, minus_one, minus_zero] = match t {
            "f32" => ["0f3F800000", "0fBF800000", "0f80000000"],
            _ => ["0d3FF0000000000000", "0dBFF0000000000000", "0d8000000000000000"],
        };
        let candidates = match sum.operands[..] {
            [_, a, b, x] if is(sum, "fma.rn", t) => vec![(a, b, x, false), (b, a, x, false)],
            // The second form is −x + trunc(x), for a divisor of 1, which is never replaced.
            [_, a, b] if is(sum, "sub.rn", t) || is(sum, "sub", t) => {
                vec![(b, minus_one, a, false), (a, one, b, true)]
            }
            [_, a, b] if is(sum, "add.rn", t) || is(sum, "add", t) => vec![(a, one, b, false), (b, one, a, false)],
            // Adding −0 is omitted, and a product may be negated afterwards.
            [_, a, b] if self.is_product(index, t) => vec![(a, b, minus_zero, false), (b, a, minus_zero, false)],
            [_, product] if is(sum, "neg", t) => {
                let product = self.definition_of(product, index).filter(|&product| self.is_product(product, t))?;
                let &[_, a, b] = &self.all[product].operands[..] else { return None };
                let found = [(a, b), (b, a)].into_iter().find_map(|(whole, y)| {
                    self.expansion_of(index, Sum { whole, y, x: minus_zero, has_other_sign: true }, t)
                });
                return found.map(|found| Expansion { whole: sum.operands[1], ..found });
            }
            _ => return None,
        };
        let sums = candidates.into_iter().map(|(whole, y, x, has_other_sign)| Sum { whole, y, x, has_other_sign });
        sums.into_iter().find_map(|sum| self.expansion_of(index, sum, t))
    }

    fn is_product(&self, index: usize, t: &str) -> bool {
        is(&self.all[index], "mul.rn", t) || is(&self.all[index], "mul", t)
    }

    /// Like `expansion`, for a sum with the value that the instruction computes.
    fn expansion_of(
        &self,
        sum: usize,
        Sum { whole, y, x, has_other_sign }: Sum<'a, '_>,
        t: &str,
    ) -> Option<Expansion<'a>> {
        let truncated = self.magnitude(whole, sum, t);
        let conversion = self.definition(&truncated.name, truncated.at, &format!("cvt.rzi.{t}"), t)?;
        let quotient = self.magnitude(self.all[conversion].operands.get(1)?, conversion, t);
        let (factor, addend) = (self.magnitude(y, sum, t), self.magnitude(x, sum, t));
        let is_of = |(dividend, divisor): &(Magnitude, Magnitude)| {
            let signs = [&truncated, &quotient, dividend, divisor, &factor, &addend];
            // The product must have the opposite sign of x.
            let is_difference = (signs.iter().filter(|sign| sign.is_negated).count() % 2 == 1) != has_other_sign;
            is_difference && factor.name == divisor.name && dividend.name == addend.name
        };
        let (_, divisor) = self.quotients(&quotient, t).into_iter().flatten().find(is_of)?;
        let result = self.all[sum].operands[0];
        let Some(value) = constant(&factor.name) else {
            let is_select = |(index, select): (usize, &Instruction<'_>)| {
                is(select, "selp", t)
                    && select.operands.get(2) == Some(&result)
                    && self.definition_of(result, index) == Some(sum)
                    && self.magnitude(select.operands[1], index, t).is_same(&addend)
            };
            let select = self.all.iter().enumerate().position(is_select)?;
            // Another remainder with the same divisor may share the test.
            let test = self.definition(self.all[select].operands.get(3)?, select, "testp.infinite", t)?;
            let tested = self.magnitude(self.all[test].operands.get(1)?, test, t);
            let is_unchanged = |operand| self.definition_of(operand, sum) == self.definition_of(operand, select);
            return (tested.name == divisor.name && is_unchanged(x) && is_unchanged(y)).then(|| Expansion {
                x,
                y: y.to_owned(),
                whole,
                select: Some(select),
                is_exact: false,
            });
        };
        let is_exact = value >= 1.0 && is_power_of_two(value);
        Some(Expansion { x, y: factor.name, whole, select: None, is_exact })
    }

    /// Dividend and divisor of a quotient computed by a division, a reciprocal, a product with a
    /// power of two, a sum with itself, or unchanged.
    fn quotients(&self, quotient: &Magnitude, t: &str) -> [Option<(Magnitude, Magnitude)>; 5] {
        let operands = |name: &str| {
            let index = self.definition(&quotient.name, quotient.at, name, t)?;
            let &[_, a, b] = &self.all[index].operands[..] else { return None };
            Some((self.magnitude(a, index, t), self.magnitude(b, index, t)))
        };
        let multiplied = operands("mul.rn").and_then(|(dividend, factor)| {
            let value = constant(&factor.name).filter(|&value| is_power_of_two(value))?;
            Some((dividend, Magnitude { name: magnitude_of(1.0 / value, t), ..factor }))
        });
        let by = |value| Magnitude { name: magnitude_of(value, t), is_negated: false, at: quotient.at };
        let sum = operands("add.rn").or_else(|| operands("add"));
        let doubled = sum.filter(|(a, b)| a.is_same(b)).map(|(dividend, _)| (dividend, by(0.5)));
        let whole = (Magnitude { is_negated: false, ..quotient.clone() }, by(1.0));
        let reciprocal = self.definition(&quotient.name, quotient.at, "rcp.rn", t).and_then(|index| {
            let divisor = self.all[index].operands.get(1)?;
            Some((by(1.0), self.magnitude(divisor, index, t)))
        });
        [operands("div.rn"), reciprocal, multiplied, doubled, Some(whole)]
    }

    /// Removes one use of a register. If it was the last, also deletes the instruction that
    /// computes it. `lines` are the body's lines.
    fn forget(&mut self, register: &'a str, lines: &mut [String]) {
        let Some(uses) = self.uses.get_mut(register) else { return };
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        let Some(&[index]) = self.definitions.get(register).map(Vec::as_slice) else { return };
        let definition = self.all[index].clone();
        let is_pure = ["mov", "neg", "cvt", "div", "rcp", "mul", "add", "testp"]
            .contains(&definition.name.split('.').next().unwrap_or(""));
        if is_pure {
            lines[definition.line].clear();
            definition.operands[1..].iter().for_each(|operand| self.forget(operand, lines));
        }
    }
}

impl Written {
    /// Whether an expansion at a location may belong to this remainder. With a variable divisor it
    /// does, because the selection of x cannot occur by chance. With a constant divisor it has the
    /// remainder's location, if the compiler kept both.
    fn may_be(&self, expansion: &Expansion<'_>, place: Place) -> bool {
        let Some(divisor) = constant(&expansion.y) else { return self.divisor == Divisor::Register };
        let has_divisor = match self.divisor {
            Divisor::Register => false,
            Divisor::Constant(own) => own == divisor,
            Divisor::Unknown => true,
        };
        has_divisor && (place.0 == 0 || self.place.is_none_or(|own| own == place))
    }
}

/// Whether an instruction's name is `name` with the type `t`.
fn is(instruction: &Instruction<'_>, name: &str, t: &str) -> bool {
    instruction.name.strip_suffix(t).and_then(|rest| rest.strip_suffix('.')) == Some(name)
}

/// The value of a constant such as `0f40E00000`.
fn constant(operand: &str) -> Option<f64> {
    let (prefix, digits) = operand.split_at_checked(2)?;
    match prefix {
        "0f" => Some(f32::from_bits(u32::from_str_radix(digits, 16).ok()?).into()),
        "0d" => Some(f64::from_bits(u64::from_str_radix(digits, 16).ok()?)),
        _ => None,
    }
}

/// The text of a constant without its sign, as in PTX.
fn magnitude_of(value: f64, t: &str) -> String {
    match t {
        "f32" => format!("0f{:08X}", (value.abs() as f32).to_bits()),
        _ => format!("0d{:016X}", value.abs().to_bits()),
    }
}

fn is_power_of_two(value: f64) -> bool {
    value.is_normal() && value.to_bits() << 12 == 0
}

fn instruction(text: &str, line: usize, place: Place) -> Option<Instruction<'_>> {
    let text = text.split_once("//").map_or(text, |(code, _)| code).trim();
    let code = text.strip_suffix(';')?;
    let name = code.split_whitespace().next()?;
    if code.starts_with(['.', '@', '{', '}', '$']) || code.contains(['{', '[', '|']) {
        // Anything but plain arithmetic is represented by the registers that it names.
        let operands = code[name.len()..].split([',', '[', ']', '{', '}', ' ', '\t', '+', '|', '!', '(', ')']);
        let operands = operands.filter(|operand| operand.starts_with('%')).collect();
        return Some(Instruction { line, name: "", operands, place });
    }
    let operands = code[name.len()..].split(',').map(str::trim).collect();
    Some(Instruction { line, name, operands, place })
}

#[cfg(test)]
mod tests;
