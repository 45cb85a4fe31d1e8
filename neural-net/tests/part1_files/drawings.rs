//! The digit in a drawing is found whatever surrounds it. Each kind of drawing is made from all ten
//! digits.

use draw::network::{Network, Weights};
use ndarray::{Array2, s};
use neural_net::data::drawing::{Background, Digit, NoDigit, find_digit};
use neural_net::data::{LabelledImages, builtin_digits, idx};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Gray values 0 … 255. In a digit, 0 is the background and 255 ink.
type Image = Array2<u8>;

/// Width and height in pixels of MNIST's images.
const SIDE: usize = 28;
/// Side of a drawing's square, in pixels, for one pixel of a digit.
const SCALE: usize = 7;

/// Four built-in digits of each class in MNIST's format.
fn digits() -> Vec<(u8, Image)> {
    let (pixels, labels) = builtin_digits::draw(40, 3);
    let images = pixels.chunks(SIDE * SIDE).map(|pixels| Image::from_shape_vec((SIDE, SIDE), pixels.to_vec()).unwrap());
    labels.into_iter().zip(images.map(|image| find_digit(image, SIDE, Background::Dark).unwrap().pixels)).collect()
}

/// The first two digits of each class in MNIST's test images.
fn mnist_digits() -> Option<Vec<(u8, Image)>> {
    let LabelledImages { pixels, labels, .. } =
        idx::read_labelled_images(&crate::support::mnist_directory()?, "t10k").unwrap();
    let image = |index: usize| Image::from_shape_vec((SIDE, SIDE), pixels.row(index).to_vec()).unwrap();
    let images = labels.iter().enumerate().map(|(index, &digit)| (digit, image(index)));
    let mut found = [0; 10];
    let mut is_early = |&(digit, _): &(u8, Image)| {
        found[usize::from(digit)] += 1;
        found[usize::from(digit)] <= 2
    };
    Some(images.take(400).filter(|labelled| is_early(labelled)).collect())
}

/// Ink on paper, with `SCALE` × `SCALE` pixels per pixel of the digit. `paper` gives the brightness
/// by row and column.
fn on_paper(digit: &Image, paper: impl Fn(usize, usize) -> f64, ink: f64) -> Image {
    let (height, width) = digit.dim();
    Image::from_shape_fn((height * SCALE, width * SCALE), |(row, column)| {
        let covered = f64::from(digit[[row / SCALE, column / SCALE]]) / 255.0;
        let paper = paper(row, column);
        (paper * (1.0 - covered) + ink.min(paper) * covered) as u8
    })
}

fn inverted(image: &Image) -> Image {
    image.mapv(|pixel| 255 - pixel)
}

/// The image with this number of rows added above and below it, and of columns added left and right.
fn padded(image: &Image, [rows, columns]: [usize; 2], margin: u8) -> Image {
    let (height, width) = image.dim();
    let mut padded = Image::from_elem((height + 2 * rows, width + 2 * columns), margin);
    padded.slice_mut(s![rows..rows + height, columns..columns + width]).assign(image);
    padded
}

/// The image moved down and to the right. Ink that leaves it is lost.
fn moved(image: &Image, [down, right]: [isize; 2]) -> Image {
    Image::from_shape_fn(image.dim(), |(row, column)| {
        let from = row.checked_add_signed(-down).zip(column.checked_add_signed(-right));
        from.and_then(|place| image.get(place)).copied().unwrap_or(0)
    })
}

/// Draws a line of this width around the image.
fn framed(image: &Image, width: usize, ink: u8) -> Image {
    padded(image, [width, width], ink)
}

/// The means of all 2 × 2 pixels, in the middle of the image.
fn half_size(digit: &Image) -> Image {
    let half = Image::from_shape_fn((SIDE / 2, SIDE / 2), |(row, column)| {
        let block = digit.slice(s![2 * row..2 * row + 2, 2 * column..2 * column + 2]);
        (block.iter().map(|&pixel| u32::from(pixel)).sum::<u32>() / 4) as u8
    });
    padded(&half, [SIDE / 4, SIDE / 4], 0)
}

/// The digit without its margin.
fn cropped(digit: &Image) -> Image {
    let inked = || digit.indexed_iter().filter(|(_, pixel)| **pixel > 0).map(|(place, _)| place);
    let rows = inked().map(|(row, _)| row).min().unwrap()..=inked().map(|(row, _)| row).max().unwrap();
    let columns = inked().map(|(_, column)| column).min().unwrap()..=inked().map(|(_, column)| column).max().unwrap();
    digit.slice(s![rows, columns]).to_owned()
}

/// Adds squares of ink around the digit, far from it.
fn with_specks(mut image: Image, count: usize, ink: u8) -> Image {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(7));
    let (height, width) = image.dim();
    for _ in 0..count {
        let (row, column) = (rng.random_range(0..height - 4), rng.random_range(0..20));
        let column = if rng.random() { column } else { width - 4 - column };
        image.slice_mut(s![row..row + 4, column..column + 4]).fill(ink);
    }
    image
}

/// Adds lines with these slopes (rows per column, columns per row), 31 pixels apart.
fn with_lines(mut image: Image, slopes: &[(bool, f64)], ink: u8) -> Image {
    let (height, width) = image.dim();
    for &(is_horizontal, slope) in slopes {
        for ((row, column), pixel) in image.indexed_iter_mut() {
            let (across, along) = if is_horizontal { (row, column) } else { (column, row) };
            let offset = across as f64 + slope * along as f64;
            if offset.round() as usize % 31 < 2 && across < height.max(width) {
                *pixel = ink.min(*pixel);
            }
        }
    }
    image
}

/// A kind of drawing: its name, and how to draw a digit.
type Kind = (&'static str, Box<dyn Fn(&Image) -> Image>);

/// Kinds that keep the digit's pixels nearly unchanged.
fn clear_kinds() -> Vec<Kind> {
    let white = |_: usize, _: usize| 250.0;
    let mut kinds: Vec<Kind> = vec![
        ("light on dark", Box::new(move |digit| inverted(&on_paper(digit, white, 10.0)))),
        ("dark on light", Box::new(move |digit| on_paper(digit, white, 10.0))),
        ("pencil", Box::new(|digit| on_paper(digit, |_, _| 230.0, 180.0))),
        ("a page", Box::new(move |digit| padded(&on_paper(digit, white, 30.0), [80, 300], 250))),
        ("without a margin", Box::new(move |digit| on_paper(&cropped(digit), white, 10.0))),
        ("2 specks", Box::new(move |digit| with_specks(padded(&on_paper(digit, white, 30.0), [40, 60], 250), 2, 40))),
        ("20 specks", Box::new(move |digit| with_specks(padded(&on_paper(digit, white, 30.0), [40, 60], 250), 20, 40))),
        ("a frame inside", Box::new(move |digit| framed(&framed(&on_paper(digit, white, 10.0), 2, 0), 5, 250))),
        (
            "a scan's edge",
            Box::new(move |digit| {
                let mut image = padded(&on_paper(digit, white, 10.0), [12, 12], 250);
                image.slice_mut(s![.., ..8]).fill(20);
                image
            }),
        ),
    ];
    for width in [1, 2, 4, 10] {
        kinds.push(("a frame", Box::new(move |digit| framed(&on_paper(digit, white, 10.0), width, 0))));
        kinds
            .push(("a light frame", Box::new(move |digit| inverted(&framed(&on_paper(digit, white, 10.0), width, 0)))));
    }
    let shadows: [Light; 4] = [
        |_, column| 1.0 - 0.53 * column,
        |_, column| 0.9 - 0.65 * column,
        |row, column| 1.0 - 0.3 * (row + column),
        |row, column| 1.0 - 0.6 * ((row - 0.5).powi(2) + (column - 0.5).powi(2)),
    ];
    kinds.extend(shadows.map(|light| -> Kind { ("a shadow", Box::new(move |digit| shaded(digit, light))) }));
    kinds
}

/// The fraction of light that reaches each point of a sheet of height and width 1.
type Light = fn(f64, f64) -> f64;

/// Dark ink on light paper, both in a shadow.
fn shaded(digit: &Image, light: Light) -> Image {
    let image = on_paper(digit, |_, _| 250.0, 50.0);
    let (height, width) = image.dim();
    let light = |row: usize, column: usize| light(row as f64 / height as f64, column as f64 / width as f64);
    Image::from_shape_fn(image.dim(), |(row, column)| (f64::from(image[[row, column]]) * light(row, column)) as u8)
}

/// Kinds that change the digit's strokes.
fn hard_kinds() -> Vec<Kind> {
    let mut kinds: Vec<Kind> = vec![
        ("small", Box::new(half_size)),
        (
            "the edge of a shadow",
            Box::new(|digit| shaded(digit, |row, column| if column + 0.3 * row > 0.6 { 0.5 } else { 1.0 })),
        ),
        ("faint lines", Box::new(|digit| on_paper(digit, |row, _| if row % 28 < 2 { 180.0 } else { 243.0 }, 60.0))),
    ];
    for ink in [0, 60, 120] {
        let lines = |slopes: &'static [(bool, f64)]| -> Box<dyn Fn(&Image) -> Image> {
            Box::new(move |digit| with_lines(on_paper(digit, |_, _| 245.0, 15.0), slopes, ink))
        };
        kinds.push(("lines", lines(&[(true, 0.0)])));
        kinds.push(("inclined lines", lines(&[(true, 0.03)])));
        kinds.push(("squares", lines(&[(true, 0.0), (false, 0.0)])));
    }
    kinds
}

/// The ink in only one of two images, relative to the ink in both. One image may be moved by a
/// pixel, since the center of mass is rounded to whole pixels.
fn difference(a: &Image, b: &Image) -> f64 {
    let sum =
        |b: &Image, pair: fn(f64, f64) -> f64| a.iter().zip(b).map(|(&a, &b)| pair(a.into(), b.into())).sum::<f64>();
    let moves = (-1..=1).flat_map(|down| (-1..=1).map(move |right| [down, right]));
    let differences = moves.map(|by| sum(&moved(b, by), |a, b| (a - b).abs()) / sum(b, |a, b| a + b));
    differences.fold(f64::INFINITY, f64::min)
}

fn read_auto(image: Image) -> Digit {
    find_digit(image, SIDE, Background::Auto).unwrap()
}

#[test]
fn part1_a_drawing_of_each_clear_kind_is_read_as_the_digit_alone() {
    for (digit, image) in digits() {
        let alone = read_auto(on_paper(&image, |_, _| 250.0, 10.0)).pixels;
        for (kind, draw) in clear_kinds() {
            let found = read_auto(draw(&image));
            let difference = difference(&found.pixels, &alone);
            assert!(difference < 0.3, "a {digit}, {kind}: {difference}");
            assert_eq!(found.other_objects, 0, "a {digit}, {kind}");
        }
    }
}

#[test]
fn part1_a_digit_in_mnists_format_keeps_its_pixels_and_any_other_is_centred() {
    for (digit, image) in digits() {
        for image in [image.clone(), inverted(&image)] {
            let found = read_auto(image.clone());
            let expected = if found.is_inverted { inverted(&image) } else { image };
            assert!(!found.is_centred && found.pixels == expected, "a {digit}");
        }
        let ink = |image: &Image| image.iter().map(|&pixel| u64::from(pixel)).sum::<u64>();
        for down in -4..=4 {
            for right in -4..=4_isize {
                let other = moved(&image, [down, right]);
                if down.abs().max(right.abs()) < 2 || ink(&other) < ink(&image) {
                    continue;
                }
                for other in [inverted(&other), other] {
                    let found = read_auto(other);
                    assert!(found.is_centred, "a {digit} moved by {down}, {right}");
                    let difference = difference(&found.pixels, &image);
                    assert!(difference < 0.25, "a {digit} moved by {down}, {right}: {difference}");
                }
            }
        }
    }
}

#[test]
fn part1_mnists_images_keep_their_pixels() {
    let Some(directory) = crate::support::mnist_directory() else { return };
    let LabelledImages { pixels, .. } = idx::read_labelled_images(&directory, "t10k").unwrap();
    let is_kept = |pixels: ndarray::ArrayView1<u8>| {
        let image = Image::from_shape_vec((SIDE, SIDE), pixels.to_vec()).unwrap();
        find_digit(image.clone(), SIDE, Background::Auto).is_ok_and(|found| found.pixels == image)
    };
    let kept = pixels.rows().into_iter().filter(|pixels| is_kept(*pixels)).count();
    println!("{kept} of {}", pixels.nrows());
    assert!(kept as f64 > 0.995 * pixels.nrows() as f64, "{kept} of {}", pixels.nrows());
}

/// The number of digits that a network predicts correctly for each kind. From the 20 original
/// images, the page's network gets 19.
#[test]
fn part1_a_network_reads_mnists_digits_in_drawings_of_each_kind() {
    let Some(digits) = mnist_digits() else { return };
    let network = Network::new(Weights::Trained);
    let is_read = |digit: u8, image: Image| {
        let pixels: Vec<u8> = read_auto(image).pixels.into_iter().collect();
        network.predict(pixels.as_slice().try_into().unwrap()).digit() == usize::from(digit)
    };
    let moves = [[-4, 0], [4, 0], [0, -4], [0, 4], [4, 4], [-4, -4]];
    let moves = moves.map(|by| -> Kind { ("moved by 4", Box::new(move |digit| moved(digit, by))) });
    for (kind, draw) in clear_kinds().into_iter().chain(hard_kinds()).chain(moves) {
        let right = digits.iter().filter(|(digit, image)| is_read(*digit, draw(image))).count();
        println!("{kind}: {right} of {}", digits.len());
        assert!(right >= 18, "{kind}: {right} of {}", digits.len());
    }
}

#[test]
fn part1_of_two_digits_one_is_read_and_the_other_counted() {
    let digits = digits();
    for (index, (digit, image)) in digits.iter().enumerate() {
        let (other, beside) = &digits[(index + 1) % digits.len()];
        let [image, beside] = [image, beside].map(|image| on_paper(image, |_, _| 250.0, 10.0));
        let found = read_auto(ndarray::concatenate![ndarray::Axis(1), image, beside]);
        assert_eq!(found.other_objects, 1, "a {digit} and a {other}");
        let differences = [&image, &beside].map(|one| difference(&found.pixels, &read_auto(one.clone()).pixels));
        assert!(differences[0].min(differences[1]) < 0.15, "a {digit} and a {other}: {differences:?}");
        let five = ndarray::concatenate![ndarray::Axis(1), image, image, image, image, image];
        let many = find_digit(five, SIDE, Background::Auto);
        assert!(matches!(many, Err(NoDigit::Many { objects: 5.. })), "five times {digit}: {many:?}");
    }
}

#[test]
fn part1_a_sheet_without_a_digit_is_blank() {
    let mut rng = ChaCha8Rng::seed_from_u64(test_support::seed(1));
    let mut noise =
        |spread: i32| Image::from_shape_simple_fn((196, 196), || (200 + rng.random_range(-spread..=spread)) as u8);
    let page = Image::from_elem((196, 196), 250);
    let shadow = Image::from_shape_fn((196, 196), |(row, column)| (240 - row / 4 - column / 2) as u8);
    let mut dot = page.clone();
    dot.slice_mut(s![50..53, 50..53]).fill(0);
    let mut pixel = Image::from_elem((SIDE, SIDE), 255);
    pixel[[14, 14]] = 0;
    let sheets = [
        ("noise", noise(3)),
        ("more noise", noise(12)),
        ("much noise", noise(50)),
        ("a shadow", shadow),
        ("a frame", framed(&page, 3, 0)),
        ("lines", with_lines(page.clone(), &[(true, 0.0)], 120)),
        ("squares", with_lines(page, &[(true, 0.0), (false, 0.0)], 120)),
        ("a dot", dot),
        ("a pixel", pixel),
        ("one pixel", Image::zeros((1, 1))),
    ];
    let blank = [0, 100, 255].map(|grey| ("nothing", Image::from_elem((SIDE, SIDE), grey)));
    for (kind, sheet) in sheets.into_iter().chain(blank) {
        for sheet in [inverted(&sheet), sheet] {
            assert_eq!(find_digit(sheet, SIDE, Background::Auto), Err(NoDigit::Blank), "{kind}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any image, even a single row or column, is read or rejected without a panic.
    #[test]
    fn part1_any_image_is_read_to_all_pixels_or_rejected(
        height in 1..40_usize,
        width in 1..40_usize,
        side in 1..30_usize,
        levels in 2..=256_u32,
        seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let image = Image::from_shape_simple_fn((height, width), || (rng.random_range(0..levels) * 255 / (levels - 1)) as u8);
        for background in [Background::Auto, Background::Dark, Background::Light] {
            if let Ok(digit) = find_digit(image.clone(), side, background) {
                prop_assert_eq!(digit.pixels.dim(), (side, side));
            }
        }
    }
}
