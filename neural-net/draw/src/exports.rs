//! The functions that the page calls: `begin`, `line` for each line, and `end` draw an image, and `predict` reads it.

#![allow(unsafe_code, reason = "exported names, and one instance's only state")]

use core::cell::UnsafeCell;
use core::panic::PanicInfo;

use crate::drawing::{Drawing, PIXELS};
use crate::network::{self, Activations};

struct State {
    drawing: Drawing,
    image: [u8; PIXELS],
    activations: Activations,
}

struct Page(UnsafeCell<State>);

// SAFETY: The module's memory is not shared, so that only one thread runs its code.
unsafe impl Sync for Page {}

static PAGE: Page = Page(UnsafeCell::new(State {
    drawing: Drawing::within([0.0; 2], [1.0; 2]),
    image: [0; PIXELS],
    activations: Activations { first: [0.0; _], second: [0.0; _], outputs: [0.0; _] },
}));

fn with_state<R>(action: impl FnOnce(&mut State) -> R) -> R {
    // SAFETY: One thread runs this code, and no action calls another exported function: there is no other reference.
    action(unsafe { &mut *PAGE.0.get() })
}

#[unsafe(no_mangle)]
extern "C" fn begin(left: f32, top: f32, right: f32, bottom: f32) {
    with_state(|state| state.drawing = Drawing::within([left, top], [right, bottom]));
}

#[unsafe(no_mangle)]
extern "C" fn line(from_x: f32, from_y: f32, to_x: f32, to_y: f32) {
    with_state(|state| state.drawing.line([from_x, from_y], [to_x, to_y]));
}

#[unsafe(no_mangle)]
extern "C" fn end() {
    with_state(|state| state.image = state.drawing.image());
}

/// The digit in the image.
#[unsafe(no_mangle)]
extern "C" fn predict() -> usize {
    with_state(|state| {
        state.activations = network::predict(&state.image);
        state.activations.digit()
    })
}

/// The address of the image's bytes.
#[unsafe(no_mangle)]
extern "C" fn image() -> *const u8 {
    with_state(|state| state.image.as_ptr())
}

/// The address of the activations: 128 values of the first hidden layer, 64 of the second, 10 outputs.
#[unsafe(no_mangle)]
extern "C" fn activations() -> *const Activations {
    with_state(|state| &raw const state.activations)
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
