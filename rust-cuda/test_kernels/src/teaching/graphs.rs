//! Breadth-first search.

use cuda_std::{GlobalMut, kernel, thread};

/// Distance of a vertex that no level has reached.
pub const UNREACHED: u32 = u32::MAX;

/// A level of breadth-first search: the neighbours of the vertices at distance `level` that no level has reached are at
/// distance `level` + 1; their number is added to `found[0]`.
///
/// Vertex v has edges to `neighbours[k]`, for k from `offsets[v]` to `offsets[v + 1]`. At first `distances` has 0 for
/// the start and [`UNREACHED`] elsewhere; the host launches one level after the other until none finds a vertex.
/// Several threads may reach the same vertex: the exchange succeeds for one of them. Launch: at least one thread for
/// each vertex.
#[kernel]
pub fn breadth_first_level(
    offsets: &[u32],
    neighbours: &[u32],
    level: u32,
    distances: GlobalMut<u32>,
    found: GlobalMut<u32>,
) {
    let vertex = thread::index_1d() as usize;
    if vertex < distances.len() && distances.atomic(vertex).load() == level {
        for k in offsets[vertex] as usize..offsets[vertex + 1] as usize {
            let neighbour = distances.atomic(neighbours[k] as usize);
            if neighbour.compare_exchange(UNREACHED, level + 1).is_ok() {
                found.atomic(0).fetch_add(1);
            }
        }
    }
}
