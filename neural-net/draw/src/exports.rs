//! The functions that the page calls. First comes `load`. Then `begin`, `line` for each line, and
//! `end` draw an image, `predict` classifies it, and `step` trains the network on it.

#![allow(unsafe_code, reason = "exported names, and one instance's only state")]

use core::cell::UnsafeCell;
use core::panic::PanicInfo;

use crate::drawing::{Drawing, PIXELS};
use crate::network::{Activations, Network, Weights};
use crate::reading::{self, Nearest, Verdict};

struct State {
    drawing: Drawing,
    image: [u8; PIXELS],
    activations: Activations,
    nearest: Nearest,
    pattern: [f32; PIXELS],
}

struct Networks {
    now: Network,
    /// The network before the steps.
    start: Network,
}

struct Page<T>(UnsafeCell<T>);

// SAFETY: The module's memory is not shared, so only one thread runs its code.
unsafe impl<T> Sync for Page<T> {}

static STATE: Page<State> = Page(UnsafeCell::new(State {
    drawing: Drawing::within([0.0; 2], [1.0; 2]),
    image: [0; PIXELS],
    activations: Activations { first: [0.0; _], second: [0.0; _], outputs: [0.0; _] },
    nearest: Nearest { digit: 0, distance: 0.0 },
    pattern: [0.0; PIXELS],
}));

/// Separate from the state, since zeros take no space in the module.
static NETWORKS: Page<Networks> = Page(UnsafeCell::new(Networks { now: Network::zeros(), start: Network::zeros() }));

fn with_state<R>(action: impl FnOnce(&mut State, &mut Networks) -> R) -> R {
    // SAFETY: One thread runs this code, and no action calls another exported function: there are no other references.
    action(unsafe { &mut *STATE.0.get() }, unsafe { &mut *NETWORKS.0.get() })
}

#[unsafe(no_mangle)]
extern "C" fn begin(left: f32, top: f32, right: f32, bottom: f32) {
    with_state(|state, _| state.drawing = Drawing::within([left, top], [right, bottom]));
}

#[unsafe(no_mangle)]
extern "C" fn line(from_x: f32, from_y: f32, to_x: f32, to_y: f32) {
    with_state(|state, _| state.drawing.line([from_x, from_y], [to_x, to_y]));
}

#[unsafe(no_mangle)]
extern "C" fn end() {
    with_state(|state, _| state.image = state.drawing.image());
}

/// Restarts from the trained weights, or from the weights before training.
#[unsafe(no_mangle)]
extern "C" fn load(is_trained: bool) {
    let weights = if is_trained { Weights::Trained } else { Weights::Untrained };
    with_state(|_, networks| {
        networks.now.load(weights);
        networks.start.load(weights);
    });
}

/// The digit in the image.
#[unsafe(no_mangle)]
extern "C" fn predict() -> usize {
    with_state(|state, networks| {
        state.activations = networks.now.predict(&state.image);
        state.nearest = reading::nearest(&state.image);
        state.activations.digit()
    })
}

/// The verdict on the last predicted image: 0, it looks like no digit; 1, not sure; 2, it looks
/// like the digit.
#[unsafe(no_mangle)]
extern "C" fn verdict() -> usize {
    with_state(|state, _| match reading::verdict(&state.activations, &state.nearest) {
        Verdict::NoDigit => 0,
        Verdict::NotSure => 1,
        Verdict::Digit => 2,
    })
}

/// The digit of the prototype nearest to the last predicted image.
#[unsafe(no_mangle)]
extern "C" fn nearest() -> usize {
    with_state(|state, _| state.nearest.digit)
}

/// The distance to that prototype. Beyond 1, the image looks like no digit.
#[unsafe(no_mangle)]
extern "C" fn distance() -> f32 {
    with_state(|state, _| state.nearest.distance)
}

/// Trains the network by one step on the image, labeled with this digit.
#[unsafe(no_mangle)]
extern "C" fn step(digit: usize) {
    with_state(|state, networks| networks.now.step(&state.image, digit));
}

/// The address of a unit's pattern, 784 values.
#[unsafe(no_mangle)]
extern "C" fn pattern(layer: usize, unit: usize) -> *const f32 {
    with_state(|state, networks| {
        state.pattern = networks.now.pattern(layer, unit);
        state.pattern.as_ptr()
    })
}

/// The address of the change that the steps made to a unit's pattern, 784 values.
#[unsafe(no_mangle)]
extern "C" fn change(layer: usize, unit: usize) -> *const f32 {
    with_state(|state, networks| {
        let (now, before) = (networks.now.pattern(layer, unit), networks.start.pattern(layer, unit));
        state.pattern = core::array::from_fn(|at| now[at] - before[at]);
        state.pattern.as_ptr()
    })
}

/// The address of the image's bytes.
#[unsafe(no_mangle)]
extern "C" fn image() -> *const u8 {
    with_state(|state, _| state.image.as_ptr())
}

/// The address of the activations: 128 values of the first hidden layer, 64 of the second, 10 outputs.
#[unsafe(no_mangle)]
extern "C" fn activations() -> *const Activations {
    with_state(|state, _| &raw const state.activations)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
