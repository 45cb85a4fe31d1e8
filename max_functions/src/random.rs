use kernels_cpu::memory;
use ndarray::Array2;
use rand::{Rng, RngExt};

/// The homework's input: a matrix of random integers 0…255. Like NumPy's, large matrices are in
/// huge pages ([`kernels_cpu::memory`]).
///
/// # Panics
/// If there are more elements than an array can have.
pub fn random_matrix(rows: usize, columns: usize, rng: &mut impl Rng) -> Array2<i32> {
    let elements = rows.saturating_mul(columns);
    let mut values = memory::vec_with_capacity(elements);
    values.extend((0..elements).map(|_| rng.random_range(0..=255)));
    match Array2::from_shape_vec((rows, columns), values) {
        Ok(matrix) => matrix,
        Err(error) => panic!("a matrix of {rows} × {columns}: {error}"),
    }
}
