//! Assignment 2: distorted images of digits, made by workers that take their jobs from a queue.

mod distort;
mod drive;
mod image;
mod queue;
mod worker;

pub use distort::{add_noise, process_image, rotate, shift, skew};
pub use drive::{full_queue, noisy, passed, processed, served};
pub use image::{Distortion, Image, PIXELS, SIDE, rng_of};
pub use queue::{Closed, Queue};
pub use worker::{Job, Worker, augmented};
