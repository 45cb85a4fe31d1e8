//! Teaching kernels, each as a learner would write it. Together with those in other modules they are the kernels that
//! courses and textbooks teach.
//!
//! | kernel | where |
//! |---|---|
//! | vector addition; a·x + y by a grid-stride loop | [`vectors`] |
//! | transposition, naive and by tiles | [`transposition`] |
//! | reduction in six forms | [`reductions`] |
//! | inclusive scan: Hillis and Steele, Blelloch | [`scans`] |
//! | inclusive scan by decoupled look-back | [`scans_by_look_back`](crate::language::scans_by_look_back) |
//! | histogram in shared memory | [`byte_histogram`](histogram::byte_histogram) |
//! | 2-D blur, game of life, Mandelbrot set | [`images`] |
//! | convolution in one and two dimensions | [`convolutions`] |
//! | softmax of rows, layer normalisation | [`rows`] |
//! | product of a sparse matrix and a vector: a thread, or a warp, for each row | [`sparse`] |
//! | breadth-first search by levels | [`breadth_first_level`](graphs::breadth_first_level) |
//! | bitonic sort, a pass of radix sort, top-k | [`sorting`] |
//! | π by Monte Carlo with a counter-based generator, n-body | [`simulations`] |
//! | attention of one head, with online softmax | [`attention`](attention::attention) |
//! | hash table, lock, queue, sum in the last block | [`language`](crate::language) |
//! | product on tensor cores | [`tensor_cores`](crate::tensor_cores) |

pub mod attention;
pub mod convolutions;
pub mod graphs;
pub mod histogram;
pub mod images;
pub mod reductions;
pub mod rows;
pub mod scans;
pub mod simulations;
pub mod sorting;
pub mod sparse;
pub mod transposition;
pub mod vectors;
