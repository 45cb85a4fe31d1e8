//! What the page says about digits and other drawings. docs/network.md has the figures.

use std::f32::consts::PI;

use digits::builtin_digits;
use draw::drawing::PIXELS;
use draw::network::{Activations, Network, Weights};
use draw::reading::{Nearest, Verdict, nearest, verdict};
use draw::redrawn::redraw;

use crate::images::image_of;
use crate::strokes::{self, Strokes, hundred_digits};
use crate::{mnist, require_documented};

/// How many images get each verdict, and which digits are predicted.
#[derive(Debug, Default)]
struct Verdicts {
    no_digit: usize,
    not_sure: usize,
    /// Number of images for which the network has an output of 0.5 or more.
    sure_alone: usize,
    /// The digit that each image looks most like, in the images' order.
    digits: Vec<Option<usize>>,
}

fn verdicts(images: impl IntoIterator<Item = [u8; PIXELS]>) -> Verdicts {
    let network = Network::new(Weights::Trained);
    let mut verdicts = Verdicts::default();
    for image in images {
        let activations = network.predict(&image);
        let verdict = verdict(&activations, &nearest(&image));
        verdicts.no_digit += usize::from(verdict == Verdict::NoDigit);
        verdicts.sure_alone += usize::from(activations.outputs[activations.digit()] >= 0.5);
        verdicts.not_sure += usize::from(verdict == Verdict::NotSure);
        verdicts.digits.push((verdict == Verdict::Digit).then(|| activations.digit()));
    }
    verdicts
}

impl Verdicts {
    fn percent(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.digits.len() as f64
    }

    /// A row of the table in docs/network.md.
    fn row(&self, name: &str) -> String {
        let sure = self.digits.iter().flatten().count();
        let counts = [self.sure_alone, self.no_digit, self.not_sure, sure];
        let shares = counts.map(|count| format!("{:.1} %", self.percent(count)));
        format!("| {name} | {} |", shares.join(" | "))
    }
}

fn arc(middle: [f32; 2], radii: [f32; 2], from: f32, to: f32) -> Vec<[f32; 2]> {
    let point = |step: u8| {
        let angle = (from + (to - from) * f32::from(step) / 24.0) * PI / 180.0;
        [middle[0] + radii[0] * libm::cosf(angle), middle[1] + radii[1] * libm::sinf(angle)]
    };
    (0..=24).map(point).collect()
}

fn smiley() -> Strokes {
    let eyes = [0.35, 0.65].map(|x| vec![[x, 0.38]]);
    let lines = [arc([0.5, 0.5], [0.48, 0.48], -90.0, 270.0), arc([0.5, 0.55], [0.25, 0.22], 20.0, 160.0)];
    eyes.into_iter().chain(lines).collect()
}

fn letter_a() -> Strokes {
    vec![vec![[0.1, 1.0], [0.5, 0.0], [0.9, 1.0]], vec![[0.25, 0.62], [0.75, 0.62]]]
}

fn twelve() -> Strokes {
    let shape = |digit: usize, right: f32| strokes::map(&builtin_digits::strokes(digit)[0], |[x, y]| [x + right, y]);
    [shape(1, -0.3), shape(2, 0.3)].concat()
}

fn scribble() -> Strokes {
    vec![(0_u8..13).map(|line| [0.1 + 0.8 * f32::from(line % 2), 0.1 + 0.8 * f32::from(line) / 12.0]).collect()]
}

/// The drawing in a hundred handwriting variants: five slants, five widths and four rotations.
fn by_a_hundred_hands(drawing: &Strokes) -> impl Iterator<Item = [u8; PIXELS]> {
    let hands = (0..100_u8).map(|hand| [hand % 5, hand / 5 % 5, hand / 25].map(f32::from));
    hands.map(|[slant, width, rotation]| {
        let (slant, width) = (0.15 * (slant - 2.0), 1.0 + 0.1 * (width - 2.0));
        let (sine, cosine) = libm::sincosf(0.1 * (rotation - 1.5));
        image_of(&strokes::map(drawing, |[x, y]| {
            let [x, y] = [width * (x - 0.5) + slant * (0.5 - y), y - 0.5];
            [0.5 + cosine * x - sine * y, 0.5 + sine * x + cosine * y]
        }))
    })
}

#[test]
fn a_hundredth_of_mnists_test_images_drawn_with_the_pages_pen_looks_like_no_digit() {
    let Some((images, labels)) = mnist() else { return };
    let redrawn = images.as_chunks::<PIXELS>().0.iter().map(redraw);
    let verdicts = verdicts(redrawn);
    let sure: Vec<bool> =
        verdicts.digits.iter().zip(labels).filter_map(|(digit, label)| Some((*digit)? == usize::from(label))).collect();
    let right = 100.0 * sure.iter().filter(|right| **right).count() as f64 / sure.len() as f64;
    assert!((0.5..1.5).contains(&verdicts.percent(verdicts.no_digit)));
    require_documented(&verdicts.row("MNIST’s 10,000 test images"));
    require_documented(&format!("right for {right:.1} %"));
}

#[test]
fn drawn_digits_look_like_digits() {
    let (digits, drawings): (Vec<usize>, Vec<Strokes>) = hundred_digits().into_iter().unzip();
    let verdicts = verdicts(drawings.iter().map(image_of));
    assert_eq!(verdicts.no_digit, 0);
    let wrong = verdicts.digits.iter().zip(digits).filter(|(read, drawn)| read.is_some_and(|read| read != *drawn));
    assert_eq!(wrong.count(), 0);
    assert!(verdicts.not_sure <= 10, "{}", verdicts.not_sure);
    require_documented(&verdicts.row("100 digits as the built-in ones"));
}

#[test]
fn other_drawings_do_not_look_like_digits() {
    let drawings = [
        ("A smiley", smiley()),
        ("The letter A", letter_a()),
        ("12 in one field", twelve()),
        ("A scribble", scribble()),
    ];
    for (name, drawing) in drawings {
        let verdicts = verdicts(by_a_hundred_hands(&drawing));
        require_documented(&verdicts.row(name));
        assert!(verdicts.no_digit > 50, "{name}: {}", verdicts.no_digit);
    }
}

#[test]
fn the_verdict_depends_on_the_distance_then_on_the_nearest_digit_and_the_output() {
    let of = |output: f32, digit: usize, distance: f32| {
        let mut activations = Activations { first: [0.0; 128], second: [0.0; 64], outputs: [0.01; 10] };
        activations.outputs[4] = output;
        verdict(&activations, &Nearest { digit, distance })
    };
    assert_eq!([of(0.9, 4, 1.01), of(0.1, 9, 2.0)], [Verdict::NoDigit; 2]);
    assert_eq!([of(0.9, 9, 0.99), of(0.49, 4, 0.5), of(0.49, 9, 0.5)], [Verdict::NotSure; 3]);
    assert_eq!([of(0.5, 4, 1.0), of(1.0, 4, 0.0)], [Verdict::Digit; 2]);
}
