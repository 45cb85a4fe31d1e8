//! Sparse matrices and graphs.

use std::collections::VecDeque;

use cuda_std::LaunchConfig;
use test_kernels::teaching::graphs::{UNREACHED, breadth_first_level};
use test_kernels::teaching::sparse::{csr_product_by_threads, csr_product_by_warps};

use super::{bits, floats, sum_error, words};
use crate::interpreters::same_everywhere;

/// The start offsets of lists with random lengths below `max`, and the end of the last list.
fn random_offsets(lists: usize, max: u32, seed: u64) -> Vec<u32> {
    let mut offsets = vec![0];
    for word in words(lists, seed) {
        offsets.push(offsets[offsets.len() - 1] + word % max);
    }
    offsets
}

#[test]
fn products_of_sparse_rows() {
    for (rows, columns, max_length) in [(0, 0, 1), (1, 1, 2), (33, 10, 5), (70, 200, 80)] {
        let offsets = random_offsets(rows, max_length, 20);
        let elements = offsets[rows] as usize;
        let indices: Vec<u32> = words(elements, 21).iter().map(|word| word % columns).collect();
        let (values, x) = (floats(elements, 22), floats(columns as usize, 23));
        let by_threads = same_everywhere(&csr_product_by_threads, |device| {
            let (offsets, indices) =
                (device.buffer_from_slice(&offsets).unwrap(), device.buffer_from_slice(&indices).unwrap());
            let (values, x) = (device.buffer_from_slice(&values).unwrap(), device.buffer_from_slice(&x).unwrap());
            let mut y = device.uninitialized(rows).unwrap();
            let config = LaunchConfig::for_elements(rows, 64);
            device.launch(&csr_product_by_threads, config, (&offsets, &indices, &values, &x, &mut y)).unwrap();
            bits(&y.to_vec().unwrap())
        });
        let by_warps = same_everywhere(&csr_product_by_warps, |device| {
            let (offsets, indices) =
                (device.buffer_from_slice(&offsets).unwrap(), device.buffer_from_slice(&indices).unwrap());
            let (values, x) = (device.buffer_from_slice(&values).unwrap(), device.buffer_from_slice(&x).unwrap());
            let mut y = device.uninitialized(rows).unwrap();
            let config = LaunchConfig::for_elements(32 * rows, 64);
            device.launch(&csr_product_by_warps, config, (&offsets, &indices, &values, &x, &mut y)).unwrap();
            y.to_vec().unwrap()
        });
        for row in 0..rows {
            let elements = offsets[row] as usize..offsets[row + 1] as usize;
            let products: Vec<f32> = elements.map(|k| values[k] * x[indices[k] as usize]).collect();
            let expected = products.iter().fold(0.0f32, |sum, product| sum + product);
            assert_eq!(by_threads[row], expected.to_bits(), "row {row} of {rows}, by a thread");
            let terms = || products.iter().map(|&product| f64::from(product));
            let difference = f64::from(by_warps[row]) - terms().sum::<f64>();
            assert!(difference.abs() <= sum_error(terms()), "row {row} of {rows}, by a warp: {}", by_warps[row]);
        }
    }
}

#[test]
fn breadth_first_search() {
    for (vertices, max_edges) in [(1, 1), (2, 2), (100, 3), (300, 6)] {
        let offsets = random_offsets(vertices, max_edges, 24);
        let edges = offsets[vertices] as usize;
        let neighbours: Vec<u32> = words(edges, 25).iter().map(|word| word % vertices as u32).collect();
        let start = vertices / 2;
        let found = same_everywhere(&breadth_first_level, |device| {
            let (offsets, neighbours) =
                (device.buffer_from_slice(&offsets).unwrap(), device.buffer_from_slice(&neighbours).unwrap());
            let mut first = vec![UNREACHED; vertices];
            first[start] = 0;
            let mut distances = device.buffer_from_slice(&first).unwrap();
            let mut of_levels = Vec::new();
            for level in 0.. {
                let (mut found, config) = (device.zeroed(1).unwrap(), LaunchConfig::for_elements(vertices, 64));
                let arguments = (&offsets, &neighbours, level, &mut distances, &mut found);
                device.launch(&breadth_first_level, config, arguments).unwrap();
                of_levels.push(found.to_vec().unwrap()[0]);
                if of_levels.ends_with(&[0]) {
                    break;
                }
            }
            (distances.to_vec().unwrap(), of_levels)
        });
        let mut distances = vec![UNREACHED; vertices];
        distances[start] = 0;
        let mut queue = VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for &neighbour in &neighbours[offsets[vertex] as usize..offsets[vertex + 1] as usize] {
                if distances[neighbour as usize] == UNREACHED {
                    distances[neighbour as usize] = distances[vertex] + 1;
                    queue.push_back(neighbour as usize);
                }
            }
        }
        let at = |distance: usize| distances.iter().filter(|&&d| d as usize == distance).count() as u32;
        let of_levels: Vec<u32> = (1..=found.1.len()).map(at).collect();
        assert_eq!(found, (distances, of_levels), "{vertices} vertices, {edges} edges");
    }
}
