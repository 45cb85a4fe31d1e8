//! Solves positive semidefinite systems, which occur in least squares.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, s};

/// Pivots up to this fraction of the largest diagonal element are rounding errors: the unknown
/// depends on others.
const RANK_TOLERANCE: f64 = 1e-12;

/// Number of columns to factorize before they update the rest of the matrix all at once.
const BLOCK: usize = 64;

/// Solves the positive semidefinite system G·x = h with a blocked Cholesky decomposition with
/// complete pivoting. If G is rank-deficient, the undetermined elements are 0 (Higham, "Accuracy
/// and Stability of Numerical Algorithms", 2002, section 10.3). G is size × size, and its lower
/// triangle is read. h has `size` elements.
pub fn solve_semidefinite(mut g: Array2<f64>, mut h: Vec<f64>) -> Vec<f64> {
    let size = g.nrows();
    // Keep the part that is not factorized yet symmetric, which simplifies swaps and updates.
    for row in 0..size {
        for column in row + 1..size {
            g[[row, column]] = g[[column, row]];
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    let mut diagonal = g.diag().to_vec();
    let tolerance = RANK_TOLERANCE * diagonal.iter().copied().fold(0.0, f64::max);
    let (mut rank, mut first) = (0, 0);
    while rank < size {
        let pivot = (rank..size).max_by(|&a, &b| diagonal[a].total_cmp(&diagonal[b])).unwrap_or(rank);
        if diagonal[pivot].is_nan() || diagonal[pivot] <= tolerance {
            break;
        }
        swap(&mut g, rank, pivot);
        diagonal.swap(rank, pivot);
        order.swap(rank, pivot);
        h.swap(rank, pivot);
        // Column `rank` of L. The block's earlier columns have not been subtracted from it yet.
        let root = diagonal[rank].sqrt();
        let products = g.slice(s![rank + 1.., first..rank]).dot(&g.slice(s![rank, first..rank]));
        g[[rank, rank]] = root;
        for (row, product) in (rank + 1..size).zip(products) {
            let value = (g[[row, rank]] - product) / root;
            g[[row, rank]] = value;
            diagonal[row] -= value * value;
        }
        rank += 1;
        if rank - first == BLOCK {
            let block = g.slice(s![rank.., first..rank]).to_owned();
            general_mat_mul(-1.0, &block, &block.t(), 1.0, &mut g.slice_mut(s![rank.., rank..]));
            first = rank;
        }
    }
    // L·y = h, then Lᵀ·x = y.
    let mut x = vec![0.0; size];
    for row in 0..rank {
        let known: f64 = (0..row).map(|column| g[[row, column]] * h[column]).sum();
        h[row] = (h[row] - known) / g[[row, row]];
    }
    for row in (0..rank).rev() {
        let known: f64 = (row + 1..rank).map(|column| g[[column, row]] * x[order[column]]).sum();
        x[order[row]] = (h[row] - known) / g[[row, row]];
    }
    x
}

/// Swaps rows and columns a ≤ b of a matrix that is symmetric from row a on. The columns before a
/// belong to L.
fn swap(g: &mut Array2<f64>, a: usize, b: usize) {
    if a == b {
        return;
    }
    for column in 0..g.nrows() {
        g.swap([a, column], [b, column]);
    }
    for row in a..g.nrows() {
        g.swap([row, a], [row, b]);
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn systems_of_any_size_and_rank_are_solved() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (size, rank) in
            [(1, 1), (2, 1), (63, 63), (64, 64), (65, 65), (130, 64), (130, 65), (200, 7), (150, 150), (9, 0)]
        {
            let factor = Array2::from_shape_simple_fn((size, rank), || rng.random_range(-1.0..1.0));
            let g = factor.dot(&factor.t());
            let h = g.dot(&ndarray::Array1::from_shape_simple_fn(size, || rng.random_range(-1.0..1.0)));
            let mut lower = g.clone();
            lower.indexed_iter_mut().filter(|((row, column), _)| column > row).for_each(|(_, value)| *value = f64::NAN);
            let x = solve_semidefinite(lower, h.to_vec());
            assert_eq!(x.iter().filter(|value| **value != 0.0).count(), rank, "{size} {rank}");
            let residual = (g.dot(&ndarray::aview1(&x)) - &h).fold(0.0_f64, |largest, value| largest.max(value.abs()));
            assert!(residual < 1e-8, "{size} {rank}: {residual}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_end_the_decomposition() {
        let x = solve_semidefinite(ndarray::array![[f64::NAN, 0.0], [0.0, 1.0]], vec![1.0, 1.0]);
        assert_eq!(x, [0.0, 0.0]);
    }
}
