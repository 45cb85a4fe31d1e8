//! The homework's functions of part 1.

mod batches;
mod lists;
mod random_weights;
mod sigmoid;
mod sigmoid_prime;
mod zeros;
