//! Compares both functions with a sum in rank order.

use distributed_functions::{
    AllReduce, Mismatch, Rings, Sent, buffer_of, chain_allreduce, naive_allreduce, ring_allreduce, verify,
};
use mpi_driver::{Communicator, Datatype, Error, threads};
use proptest::prelude::*;

/// Runs both functions on every rank. Returns their results on each rank, and what it has sent.
fn reduced<T: Datatype>(
    ranks: usize,
    buffers: &[Vec<T>],
    operation: impl Fn(T, T) -> T + Sync,
) -> Vec<[(Vec<T>, Sent); 2]> {
    let on_rank = |world: &Communicator| -> Result<[(Vec<T>, Sent); 2], Error> {
        let send = &buffers[world.rank()];
        let (mut naive, mut ring) = (vec![T::zeroed(); send.len()], vec![T::zeroed(); send.len()]);
        let by_naive = naive_allreduce(send, &mut naive, world, &operation)?;
        let by_ring = ring_allreduce(send, &mut ring, world, &operation)?;
        Ok([(naive, by_naive), (ring, by_ring)])
    };
    threads(ranks, on_rank).into_iter().collect::<Result<_, _>>().unwrap()
}

/// The combination in rank order.
fn in_order<T: Datatype>(buffers: &[Vec<T>], operation: impl Fn(T, T) -> T) -> Vec<T> {
    let combine = |total: Vec<T>, other: &Vec<T>| total.iter().zip(other).map(|(&a, &b)| operation(a, b)).collect();
    buffers[1..].iter().fold(buffers[0].clone(), combine)
}

/// Buffers for up to nine ranks, sometimes with fewer elements than ranks.
fn buffers<T: Clone + std::fmt::Debug + 'static>(
    element: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Vec<Vec<T>>> {
    let element = element.boxed();
    (1_usize..10, prop_oneof![0_usize..12, 0_usize..700]).prop_flat_map(move |(ranks, length)| {
        prop::collection::vec(prop::collection::vec(element.clone(), length), ranks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn integers_are_combined_exactly(buffers in buffers(any::<i32>())) {
        for operation in [i32::wrapping_add, i32::wrapping_mul, i32::min, i32::max, |a, b| a ^ b] {
            let expected = in_order(&buffers, operation);
            for of_rank in reduced(buffers.len(), &buffers, operation) {
                prop_assert!(of_rank.iter().all(|(result, _)| *result == expected));
            }
        }
    }

    #[test]
    fn floats_are_summed_up_to_rounding_with_the_same_bits_on_every_rank(buffers in buffers(-1.0_f32..1.0)) {
        let (expected, ranks) = (in_order(&buffers, |a, b| a + b), buffers.len());
        let absolute = in_order(&buffers.iter().map(|buffer| buffer.iter().map(|x| x.abs()).collect()).collect::<Vec<_>>(), |a, b| a + b);
        let results = reduced(ranks, &buffers, |a, b| a + b);
        for of_rank in &results {
            prop_assert!(of_rank[0].0 == results[0][0].0 && of_rank[1].0 == results[0][1].0);
            prop_assert!(of_rank[0].0 == expected, "the naive one adds in the order of the ranks");
            for ((got, expected), absolute) in of_rank[1].0.iter().zip(&expected).zip(&absolute) {
                prop_assert!((got - expected).abs() <= 2.0 * ranks as f32 * f32::EPSILON * absolute);
            }
        }
    }

    #[test]
    fn the_bytes_that_are_sent_follow_the_formulas(ranks in 1_u64..10, length in 0_u64..300) {
        let buffers: Vec<Vec<f64>> = (0..ranks).map(|rank| buffer_of(rank as usize, length as usize, 1)).collect();
        let sent = reduced(ranks as usize, &buffers, f64::max);
        let total = |function: usize| sent.iter().map(|of_rank| of_rank[function].1.bytes).sum::<u64>();
        prop_assert_eq!(total(0), ranks * (ranks - 1) * 8 * length);
        prop_assert_eq!(total(1), 2 * (ranks - 1) * 8 * length);
        for of_rank in &sent {
            prop_assert_eq!(of_rank[0].1.messages, ranks - 1);
            prop_assert!(of_rank[1].1.messages <= 2 * (ranks - 1));
        }
    }
}

/// Several buffers of different lengths on rings at the same time.
#[test]
fn buffers_that_are_filled_one_after_the_other_have_their_own_sums() {
    for ranks in 1..6 {
        let lengths = [1000, 0, 3, 70_000, 1];
        let of_rank = |rank: usize, index: usize| -> Vec<f32> {
            (0..lengths[index]).map(|i| ((rank + 1) * (index + 2) + i % 5) as f32).collect()
        };
        for all_reduce in AllReduce::ALL {
            threads(ranks, |world| {
                let mut rings = Rings::new();
                for _ in 0..2 {
                    let mut buffers = lengths.map(|length| vec![f32::NAN; length]);
                    let mut slices: Vec<&mut [f32]> = buffers.iter_mut().map(Vec::as_mut_slice).collect();
                    let mut filled = Vec::new();
                    let mut fill = |index: usize, buffer: &mut [f32]| {
                        filled.push(index);
                        buffer.copy_from_slice(&of_rank(world.rank(), index));
                    };
                    all_reduce.sum_each(&mut rings, &mut slices, world, &mut fill).unwrap();
                    assert_eq!(filled, [0, 1, 2, 3, 4]);
                    for (index, buffer) in buffers.iter().enumerate() {
                        let all: Vec<Vec<f32>> = (0..ranks).map(|rank| of_rank(rank, index)).collect();
                        assert_eq!(*buffer, in_order(&all, |a, b| a + b), "{all_reduce}, buffer {index}");
                    }
                }
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The bits equal those of the sum in order, however the parts are distributed, even if some
    /// ranks have none.
    #[test]
    fn a_chain_has_the_bits_of_the_sum_in_order(
        parts in (1_usize..20, prop_oneof![0_usize..9, 0_usize..20_000]).prop_flat_map(|(parts, length)| {
            prop::collection::vec(any::<u64>().prop_map(move |seed| buffer_of(0, length, seed)), parts)
        }),
        ranks in 1_usize..10,
    ) {
        let expected = in_order(&parts, |a, b| a + b);
        let count = parts.len();
        let totals = threads(ranks, |world| {
            let (first, end) = (count * world.rank() / ranks, count * (world.rank() + 1) / ranks);
            let own: Vec<&[f64]> = parts[first..end].iter().map(Vec::as_slice).collect();
            let mut total = vec![f64::NAN; expected.len()];
            chain_allreduce(&own, &mut total, world, |a, b| a + b).map(|_| total)
        });
        for total in totals {
            prop_assert!(total.unwrap() == expected);
        }
    }
}

#[test]
fn different_lengths_are_an_error() {
    let errors = threads(1, |world| {
        let naive = naive_allreduce(&[1.0_f64], &mut [], world, |a, b| a + b).unwrap_err();
        let ring = ring_allreduce(&[1.0_f64], &mut [], world, |a, b| a + b).unwrap_err();
        [naive, ring].map(|error| error.to_string())
    });
    let [naive, ring] = &errors[0];
    assert_eq!(naive, "naive_allreduce: 1 elements are sent, but 0 received");
    assert_eq!(ring, "ring_allreduce: 1 elements are sent, but 0 received");
}

#[test]
fn a_wrong_sum_is_found() {
    let (ranks, seed) = (3, 5);
    let mut sum = in_order(&[0, 1, 2].map(|rank| buffer_of(rank, 100, seed)), |a, b| a + b);
    assert_eq!(verify(&sum, ranks, seed), Ok(()));
    sum[70] += 1e-12;
    let Err(Mismatch { index, found, .. }) = verify(&sum, ranks, seed) else { panic!("it is wrong") };
    assert_eq!((index, found), (70, sum[70]));
    sum[3] = f64::NAN;
    assert_eq!(verify(&sum, ranks, seed).unwrap_err().index, 3);
    assert!(verify(&sum[..0], ranks, seed).is_ok());
}
