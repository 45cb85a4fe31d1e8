//! The errors of floats' functions in kernels are those of the table in docs/floats.md. The functions are Rust's arithmetic on every
//! system, so the figures are too.

mod wide;

use std::fmt::Write;
use std::path::Path;

use cuda_launch::SplitMix;
use cuda_std::math::{self, GpuFloat};
use wide::{Format, ONE, Wide};

/// Number of arguments of each function and format.
const COUNT: usize = 30_000;

const F32: Format = Format { precision: 24, smallest: -149, largest: 127 };
const F64: Format = Format { precision: 53, smallest: -1074, largest: 1023 };

/// A function of one or two floats, and its exact values.
struct Function {
    name: &'static str,
    /// Arguments are between these, without them.
    ranges: [[f64; 2]; 2],
    of_f32: fn(f32, f32) -> f32,
    of_f64: Option<fn(f64, f64) -> f64>,
    exact: fn(Wide, Wide) -> Wide,
}

const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
const POSITIVE: [f64; 2] = [0.0, f64::INFINITY];
const UNIT: [f64; 2] = [-1.0, 1.0];

/// Declares methods of `GpuFloat`, with the ranges of the number and of an argument.
macro_rules! methods {
    ($($method:ident($x:ident in $x_range:expr $(, $y:ident in $y_range:expr)?) = $exact:expr;)*) => {
        [$({
            #[allow(unused_mut, unused_assignments)]
            let mut ranges = [$x_range, ALL];
            $(ranges[1] = $y_range;)?
            Function {
                name: stringify!($method),
                ranges,
                of_f32: |x, _other| GpuFloat::$method(x $(, { let $y = _other; $y })?),
                of_f64: Some(|x, _other| GpuFloat::$method(x $(, { let $y = _other; $y })?)),
                exact: |$x, _other| {
                    $(let $y = _other;)?
                    $exact
                },
            }
        }),*]
    };
}

/// Declares functions of `math`.
macro_rules! functions {
    ($($function:ident($x:ident in $range:expr) = $exact:expr;)*) => {
        [$(Function {
            name: concat!("math::", stringify!($function)),
            ranges: [$range, ALL],
            of_f32: |x, _| math::$function(x),
            of_f64: None,
            exact: |$x, _| $exact,
        }),*]
    };
}

fn all() -> Vec<Function> {
    let methods = methods! {
        sin(x in ALL) = x.sin_cos().0;
        cos(x in ALL) = x.sin_cos().1;
        tan(x in ALL) = x.sin_cos().0 / x.sin_cos().1;
        asin(x in UNIT) = x.asin();
        acos(x in UNIT) = x.acos();
        atan(x in ALL) = x.atan();
        atan2(y in ALL, x in ALL) = y.atan2(x);
        sinh(x in ALL) = x.sinh();
        cosh(x in ALL) = x.cosh();
        tanh(x in ALL) = x.tanh();
        asinh(x in ALL) = x.asinh();
        acosh(x in [1.0, f64::INFINITY]) = x.acosh();
        atanh(x in UNIT) = x.atanh();
        powf(x in POSITIVE, y in ALL) = x.pow(y);
        exp(x in ALL) = x.exp();
        exp2(x in ALL) = x.exp2();
        exp_m1(x in ALL) = x.exp_m1();
        ln(x in POSITIVE) = x.ln();
        ln_1p(x in [-1.0, f64::INFINITY]) = x.ln_1p();
        log(x in POSITIVE, base in POSITIVE) = x.ln() / base.ln();
        log2(x in POSITIVE) = x.log2();
        log10(x in POSITIVE) = x.log10();
        cbrt(x in ALL) = x.cbrt();
        hypot(x in ALL, y in ALL) = (x * x + y * y).sqrt();
    };
    let powi = Function {
        name: "powi",
        ranges: [[0.25, 4.0], [-60.0, 60.0]],
        of_f32: |x, n| GpuFloat::powi(x, n as i32),
        of_f64: Some(|x, n| GpuFloat::powi(x, n as i32)),
        exact: |x, n| x.pow(Wide::from(n.approximated().trunc())),
    };
    let functions = functions! {
        exp(x in ALL) = x.exp();
        ln(x in POSITIVE) = x.ln();
        tanh(x in ALL) = x.tanh();
        sigmoid(x in ALL) = ONE / (ONE + (-x).exp());
    };
    methods.into_iter().chain([powi]).chain(functions).collect()
}

/// Random arguments.
struct Random(SplitMix);

impl Random {
    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        (self.0.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// An argument in a range: random bits, a number up to 30, or one near where functions change.
    fn argument(&mut self, [low, high]: [f64; 2], is_f32: bool) -> f64 {
        const SPECIAL: [f64; 9] = [0.0, 1.0, 2.0, 0.5, std::f64::consts::FRAC_PI_2, 10.0, 88.0, 300.0, 709.0];
        loop {
            let sign = [1.0, -1.0][self.0.number() as usize % 2];
            let x = match self.0.number() % 4 {
                0 if is_f32 => f32::from_bits(self.0.number() as u32).into(),
                0 => f64::from_bits(self.0.number()),
                1 => low.max(-30.0) + self.fraction() * (high.min(30.0) - low.max(-30.0)),
                2 => sign * self.fraction() * 4.0,
                _ => {
                    let distance = self.fraction() / 2_f64.powi((self.0.number() % 54) as i32);
                    let special = SPECIAL[self.0.number() as usize % SPECIAL.len()];
                    sign * (special + [distance, -distance][self.0.number() as usize % 2])
                }
            };
            let x = if is_f32 { f64::from(x as f32) } else { x };
            if x > low && x < high && x.is_finite() && x != 0.0 {
                return x;
            }
        }
    }
}

/// The largest error of a function, and its arguments.
fn largest_error(function: &Function, format: Format, compute: impl Fn(f64, f64) -> f64) -> (f64, [f64; 2]) {
    let mut random = Random(SplitMix(0));
    let is_f32 = format.precision == F32.precision;
    let mut largest = (0.0, [0.0; 2]);
    for _ in 0..COUNT {
        let [x, y] = function.ranges.map(|range| random.argument(range, is_f32));
        let exact = (function.exact)(Wide::from(x), Wide::from(y));
        // A logarithm to base 1 has no value.
        if !exact.is_finite() {
            continue;
        }
        let found = compute(x, y);
        let error = if found.is_nan() { f64::INFINITY } else { exact.error_of(found, format) };
        if error > largest.0 {
            largest = (error, [x, y]);
        }
    }
    largest
}

/// The table's rows, and a report of the arguments with the largest errors.
fn measured() -> (String, String) {
    let (mut rows, mut report) = (String::new(), String::new());
    for function in all() {
        let of_f32 = largest_error(&function, F32, |x, y| (function.of_f32)(x as f32, y as f32).into());
        let of_f64 = function.of_f64.map(|of_f64| largest_error(&function, F64, of_f64));
        let shown = |(error, _)| format!("{:.2}", f64::ceil(error * 100.0) / 100.0);
        let name = function.name;
        writeln!(rows, "| `{name}` | {} | {} |", shown(of_f32), of_f64.map_or("–".to_owned(), shown)).unwrap();
        writeln!(report, "{name}: f32 {of_f32:?}, f64 {of_f64:?}").unwrap();
    }
    (rows, report)
}

#[test]
fn the_table_has_the_errors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/floats.md");
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let (rows, report) = measured();
    assert!(
        page.contains(&rows),
        "{}: the table's rows must be:\n{rows}\nwith these arguments:\n{report}",
        path.display()
    );
}

/// Where a function has no value, is infinite or zero, and its sign there are those of `std`.
#[test]
fn special_values_are_those_of_std() {
    macro_rules! same {
        ($($method:ident($($y:ident)?))*) => {
            for (x, y) in SPECIAL.iter().flat_map(|&x| SPECIAL.map(|y| (x, y))) {
                let (narrow_x, narrow_other) = (x as f32, y as f32);
                $(
                    let _other = y;
                    let own = GpuFloat::$method(x $(, { let $y = _other; $y })?);
                    let of_std = x.$method($({ let $y = _other; $y })?);
                    assert_eq!(kind(own), kind(of_std), "{} of {x:e} and {y:e}: {own}, of std {of_std}", stringify!($method));
                    let _other = narrow_other;
                    let own = GpuFloat::$method(narrow_x $(, { let $y = _other; $y })?).into();
                    let of_std = narrow_x.$method($({ let $y = _other; $y })?).into();
                    assert_eq!(kind(own), kind(of_std), "f32: {} of {x:e} and {y:e}: {own}, of std {of_std}", stringify!($method));
                )*
            }
        };
    }
    /// NaN, or the sign and whether it is zero or infinite.
    fn kind(x: f64) -> Option<(bool, bool, bool)> {
        (!x.is_nan()).then(|| (x.is_sign_negative(), x == 0.0, x.is_infinite()))
    }
    const SPECIAL: [f64; 31] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.9999999,
        1.0000001,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        -3.0,
        -35.85115,
        1e3,
        -1e3,
        1e5,
        -1e5,
        -5e7,
        9007199254740993.0,
        -9007199254740991.0,
        1e30,
        -1e30,
        1e-45,
        -1e-45,
        1e-320,
        1e300,
        f64::MAX / 4.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::MIN_POSITIVE,
    ];
    same! {
        sin() cos() tan() asin() acos() atan() atan2(y) sinh() cosh() tanh() asinh() acosh() atanh() powf(y) exp() exp2() exp_m1()
        ln() ln_1p() log(y) log2() log10() cbrt() hypot(y)
    }
}

/// Values by mpmath 1.3 with 200 bits, rounded to f64: what measures the functions is right itself.
#[test]
fn the_exact_values_are_those_of_mpmath() {
    let wide = Wide::from;
    for (name, found, expected) in [
        ("wide(5.319372648326541e+255).sin_cos().0", wide(5.319372648326541e+255).sin_cos().0, 1.0),
        ("wide(5.319372648326541e+255).sin_cos().1", wide(5.319372648326541e+255).sin_cos().1, -4.687165924254628e-19),
        ("wide(1e+22).sin_cos().0", wide(1e+22).sin_cos().0, -0.8522008497671888),
        ("wide(1e+22).sin_cos().1", wide(1e+22).sin_cos().1, 0.523214785395139),
        ("wide(0.76).sin_cos().0", wide(0.76).sin_cos().0, 0.6889214451105513),
        ("wide(0.76).sin_cos().1", wide(0.76).sin_cos().1, 0.7248360107409052),
        ("wide(3.0).sin_cos().0", wide(3.0).sin_cos().0, 0.1411200080598672),
        ("wide(3.0).sin_cos().1", wide(3.0).sin_cos().1, -0.9899924966004454),
        ("wide(-1e+300).sin_cos().0", wide(-1e+300).sin_cos().0, 0.8178819121159085),
        ("wide(-1e+300).sin_cos().1", wide(-1e+300).sin_cos().1, -0.5753861119575491),
        ("wide(4.71238898038469).sin_cos().0", wide(4.71238898038469).sin_cos().0, -1.0),
        ("wide(4.71238898038469).sin_cos().1", wide(4.71238898038469).sin_cos().1, -1.8369701987210297e-16),
        ("wide(1e-300).sin_cos().0", wide(1e-300).sin_cos().0, 1e-300),
        ("wide(1e-300).sin_cos().1", wide(1e-300).sin_cos().1, 1.0),
        ("wide(0.375).asin()", wide(0.375).asin(), 0.3843967744956391),
        ("wide(0.375).acos()", wide(0.375).acos(), 1.1863995522992576),
        ("wide(0.5).atanh()", wide(0.5).atanh(), 0.5493061443340549),
        ("wide(-0.99999999).asin()", wide(-0.99999999).asin(), -1.5706549054381862),
        ("wide(-0.99999999).acos()", wide(-0.99999999).acos(), 3.141451232233083),
        ("wide(-0.99999999).atanh()", wide(-0.99999999).atanh(), -9.556913957243776),
        ("wide(1e-09).asin()", wide(1e-09).asin(), 1e-09),
        ("wide(1e-09).acos()", wide(1e-09).acos(), 1.5707963257948967),
        ("wide(1e-09).atanh()", wide(1e-09).atanh(), 1e-09),
        ("wide(0.3).atan()", wide(0.3).atan(), 0.2914567944778671),
        ("wide(0.3).asinh()", wide(0.3).asinh(), 0.29567304756342244),
        ("wide(0.3).cbrt()", wide(0.3).cbrt(), 0.6694329500821695),
        ("wide(-20.0).atan()", wide(-20.0).atan(), -1.5208379310729538),
        ("wide(-20.0).asinh()", wide(-20.0).asinh(), -3.6895038689889055),
        ("wide(-20.0).cbrt()", wide(-20.0).cbrt(), -2.7144176165949068),
        ("wide(1e-12).atan()", wide(1e-12).atan(), 1e-12),
        ("wide(1e-12).asinh()", wide(1e-12).asinh(), 1e-12),
        ("wide(1e-12).cbrt()", wide(1e-12).cbrt(), 0.0001),
        ("wide(40.0).atan()", wide(40.0).atan(), 1.5458015331759765),
        ("wide(1e+200).asinh()", wide(1e+200).asinh(), 461.2101657793691),
        ("wide(1e+200).cbrt()", wide(1e+200).cbrt(), 4.641588833612779e+66),
        ("wide(1.0).atan2(wide(-3.0))", wide(1.0).atan2(wide(-3.0)), 2.819842099193151),
        ("wide(-2.0).atan2(wide(-1e-05))", wide(-2.0).atan2(wide(-1e-05)), -1.5708013267948966),
        ("wide(0.7).exp()", wide(0.7).exp(), 2.0137527074704766),
        ("wide(0.7).exp_m1()", wide(0.7).exp_m1(), 1.0137527074704764),
        ("wide(0.7).exp2()", wide(0.7).exp2(), 1.624504792712471),
        ("wide(0.7).sinh()", wide(0.7).sinh(), 0.7585837018395335),
        ("wide(0.7).cosh()", wide(0.7).cosh(), 1.255169005630943),
        ("wide(-3.25).exp()", wide(-3.25).exp(), 0.03877420783172201),
        ("wide(-3.25).exp_m1()", wide(-3.25).exp_m1(), -0.961225792168278),
        ("wide(-3.25).exp2()", wide(-3.25).exp2(), 0.10511205190671431),
        ("wide(-3.25).sinh()", wide(-3.25).sinh(), -12.87578285468067),
        ("wide(-3.25).cosh()", wide(-3.25).cosh(), 12.914557062512392),
        ("wide(1e-11).exp()", wide(1e-11).exp(), 1.00000000001),
        ("wide(1e-11).exp_m1()", wide(1e-11).exp_m1(), 1.000000000005e-11),
        ("wide(1e-11).exp2()", wide(1e-11).exp2(), 1.0000000000069316),
        ("wide(1e-11).sinh()", wide(1e-11).sinh(), 1e-11),
        ("wide(1e-11).cosh()", wide(1e-11).cosh(), 1.0),
        ("wide(700.5).exp()", wide(700.5).exp(), 1.6721859620674984e+304),
        ("wide(700.5).exp_m1()", wide(700.5).exp_m1(), 1.6721859620674984e+304),
        ("wide(700.5).tanh()", wide(700.5).tanh(), 1.0),
        ("wide(700.5).sinh()", wide(700.5).sinh(), 8.360929810337492e+303),
        ("wide(700.5).cosh()", wide(700.5).cosh(), 8.360929810337492e+303),
        ("wide(-740.0).exp()", wide(-740.0).exp(), 4.2e-322),
        ("wide(-740.0).exp_m1()", wide(-740.0).exp_m1(), -1.0),
        ("wide(-740.0).tanh()", wide(-740.0).tanh(), -1.0),
        ("wide(-740.0).sinh()", wide(-740.0).sinh(), f64::NEG_INFINITY),
        ("wide(-740.0).cosh()", wide(-740.0).cosh(), f64::INFINITY),
        ("wide(1.0000000000000002).ln()", wide(1.0000000000000002).ln(), 2.2204460492503128e-16),
        ("wide(1.0000000000000002).log2()", wide(1.0000000000000002).log2(), 3.203426503814917e-16),
        ("wide(1.0000000000000002).log10()", wide(1.0000000000000002).log10(), 9.64327466553287e-17),
        ("wide(1.0000000000000002).acosh()", wide(1.0000000000000002).acosh(), 2.1073424255447014e-08),
        ("wide(1.0000000000000002).ln_1p()", wide(1.0000000000000002).ln_1p(), 0.6931471805599454),
        ("wide(2.5e-310).ln()", wide(2.5e-310).ln(), -712.88508809628),
        ("wide(2.5e-310).log2()", wide(2.5e-310).log2(), -1028.475781320195),
        ("wide(2.5e-310).log10()", wide(2.5e-310).log10(), -309.60205999132796),
        ("wide(2.5e-310).ln_1p()", wide(2.5e-310).ln_1p(), 2.5e-310),
        ("wide(1e+300).ln()", wide(1e+300).ln(), 690.7755278982137),
        ("wide(1e+300).log2()", wide(1e+300).log2(), 996.5784284662087),
        ("wide(1e+300).log10()", wide(1e+300).log10(), 300.0),
        ("wide(1e+300).acosh()", wide(1e+300).acosh(), 691.4686750787737),
        ("wide(1e+300).ln_1p()", wide(1e+300).ln_1p(), 690.7755278982137),
        ("wide(1.75).ln()", wide(1.75).ln(), 0.5596157879354227),
        ("wide(1.75).log2()", wide(1.75).log2(), 0.8073549220576041),
        ("wide(1.75).log10()", wide(1.75).log10(), 0.24303804868629444),
        ("wide(1.75).acosh()", wide(1.75).acosh(), 1.158810360429947),
        ("wide(1.75).ln_1p()", wide(1.75).ln_1p(), 1.0116009116784799),
        ("wide(1.7).pow(wide(300.25))", wide(1.7).pow(wide(300.25)), 1.5570001120660758e+69),
        ("wide(1e-10).pow(wide(-3.5))", wide(1e-10).pow(wide(-3.5)), 9.999999999999998e+34),
    ] {
        let error = found.error_of(expected, F64);
        assert!((error - 0.25).abs() <= 0.2501, "{name}: {error} ulp from the nearest f64");
    }
}
