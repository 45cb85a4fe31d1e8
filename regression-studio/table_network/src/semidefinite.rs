//! Positive semidefinite systems, which least squares lead to.

use ndarray::Array2;

/// Pivots up to this fraction of the largest diagonal element are rounding: the unknown depends on others.
const RANK_TOLERANCE: f64 = 1e-12;

/// A solution x of the positive semidefinite system G·x = h by the Cholesky decomposition with complete pivoting; if G
/// is rank-deficient, the undetermined elements are 0 (Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
/// section 10.3). G is size × size, of which the lower triangle is read, and h has as many elements.
pub fn solve_semidefinite(mut g: Array2<f64>, mut h: Vec<f64>) -> Vec<f64> {
    let size = g.nrows();
    let mut order: Vec<usize> = (0..size).collect();
    let largest = g.diag().iter().copied().fold(0.0, f64::max);
    let mut rank = 0;
    while rank < size {
        let pivot = (rank..size).max_by(|&a, &b| g[[a, a]].total_cmp(&g[[b, b]])).unwrap_or(rank);
        if g[[pivot, pivot]].is_nan() || g[[pivot, pivot]] <= RANK_TOLERANCE * largest {
            break;
        }
        swap(&mut g, rank, pivot);
        order.swap(rank, pivot);
        h.swap(rank, pivot);
        // Column `rank` of L, then the Schur complement of G.
        let root = g[[rank, rank]].sqrt();
        g[[rank, rank]] = root;
        for row in rank + 1..size {
            g[[row, rank]] /= root;
        }
        for row in rank + 1..size {
            for column in rank + 1..=row {
                let product = g[[row, rank]] * g[[column, rank]];
                g[[row, column]] -= product;
            }
        }
        rank += 1;
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

/// Swaps rows and columns a < b of a symmetric matrix stored in the lower triangle; the columns before a belong to L.
fn swap(g: &mut Array2<f64>, a: usize, b: usize) {
    if a == b {
        return;
    }
    // Mirrors the lower triangle from row a on, so that whole rows and columns can be swapped.
    let size = g.nrows();
    for row in a..size {
        for column in row + 1..size {
            g[[row, column]] = g[[column, row]];
        }
    }
    for column in 0..size {
        g.swap([a, column], [b, column]);
    }
    for row in a..size {
        g.swap([row, a], [row, b]);
    }
}
