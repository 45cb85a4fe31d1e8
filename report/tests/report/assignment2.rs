//! The questions and answers of assignment 2 for fixed figures.

use report::Times;
use report::assignment2::{Augmentation, Correlation, Figures, KernelTimes, document, noise};
use report::figures::{Exercise, MeasurementInfo, OnThreads, PeerTime, Peers};

use super::figures::{around, recorded, without_gpu};
use super::{assert_asks, texts_of};

/// Figures like those of a machine with two cores.
pub(crate) fn figures() -> Figures {
    let on = |(threads, median): (usize, f64)| OnThreads { threads, times: around(median) };
    let kernel = |size: usize, trivial: f64, rayon: f64| KernelTimes {
        size,
        trivial: around(trivial),
        rayon: vec![on((1, rayon)), on((2, 0.55 * rayon))],
        gpu: None,
    };
    let peer = |label: &str, median: f64| PeerTime {
        exercise: Exercise::Correlation,
        label: label.to_owned(),
        threads: 1,
        times: recorded(median),
    };
    let machine = without_gpu().machine;
    Figures {
        made: MeasurementInfo {
            date: "2026-11-26".to_owned(),
            seconds: 88.0,
            quick: false,
            rounds: 15,
            checked_on: "simulator".to_owned(),
        },
        machine: report::figures::Machine { cores: 2, ..machine },
        augmentation: Augmentation {
            data: "MNIST".to_owned(),
            is_mnist: true,
            sizes: vec![784, 128, 64, 10],
            batch: 16,
            images: [50_000, 10_000],
            plain: around(0.1),
            alone: around(0.7),
            workers: [(1, 0.62), (2, 0.4), (8, 0.41), (16, 0.45), (32, 0.5)].map(on).to_vec(),
            plain_accuracies: vec![0.92, 0.95, 0.96, 0.97],
            augmented_accuracies: vec![0.85, 0.92, 0.95, 0.965],
            same_bits: true,
            one_by_one: around(20e-6),
            one_map: around(8e-6),
            serving: [(1, 20e-6), (2, 11e-6), (8, 12e-6)].map(on).to_vec(),
            queue: around(0.5e-6),
            pipe: around(5e-6),
        },
        correlation: Correlation {
            size: [1000, 1000],
            kernels: vec![
                kernel(3, 9e-3, 0.3e-3),
                kernel(5, 25e-3, 0.6e-3),
                kernel(7, 49e-3, 1.2e-3),
                kernel(15, 225e-3, 6e-3),
            ],
            separable: around(0.4e-3),
        },
        peers: Peers {
            names: vec!["NumPy 2.4".to_owned(), "SciPy 1.17".to_owned()],
            times: vec![peer("SciPy, 3 × 3", 15e-3), peer("SciPy, 5 × 5", 30e-3), peer("SciPy, 7 × 7", 60e-3)],
            missing: vec!["Numba was not measured: the package numba is not installed".to_owned()],
        },
    }
}

/// The assignment's questions, in its order.
pub(crate) const QUESTIONS: [&str; 12] = [
    "How long does training with augmentation take with 8, 16 and 32 cores?",
    "Why is that so?",
    "How does the accuracy of both networks develop by epoch?",
    "Why processes and not threads?",
    "Which two ideas would accelerate it further?",
    "How does the queue work?",
    "How does the correlation on the processor work?",
    "How does the correlation on the GPU work?",
    "What are the speed-ups?",
    "What happens with a larger kernel?",
    "What do the filters make of the image?",
    "Why do their images differ?",
];

#[test]
fn every_question_of_assignment_2_is_answered_from_the_figures() {
    let document = document(&figures(), Some("Ada Student"), &[]).unwrap();
    assert_asks(&document, &QUESTIONS);
    assert_eq!((document.charts.len(), document.pictures.len()), (1, 6));
    let text = texts_of(&document);
    for words in [
        "An epoch takes 410.0 ms with 8 workers, 450.0 ms with 16 workers and 500.0 ms with 32 workers, by the medians; without augmentation 100.0 ms",
        "This machine has 2 cores: more workers share them",
        "On one thread an epoch’s training takes 100.0 ms, and its distortions 600.0 ms",
        "at least 350.0 ms: all work, shared by 2 cores",
        "With 1 worker it takes 620.0 ms, 1.77 times that bound, 1.13 times as fast as that of the training thread alone",
        "After 4 epochs the network reads 97.00 % of the test images without augmentation, and 96.50 % with it, 0.500 points less",
        "for every number of workers the weights had the same bits",
        "Measured: 2 threads that serve a queue take 11.00 µs for an image, 1.82 times as fast as 1 thread at 20.00 µs",
        "an image takes 8.000 µs that way, 2.50 times as fast as the assignment’s functions one after another at 20.00 µs",
        "falls from 350.0 ms to 200.0 ms, computed, not measured",
        "an image takes 500.0 ns through the queue, 10.0 times as fast as a pipe of the system with encoded images at 5.000 µs",
        "With 3 × 3 correlation_rayon on 1 thread takes 300.0 µs: 30.0 times as fast as correlation_trivial and 50.0 times as fast as SciPy",
        "On 2 threads it is 1.82 times as fast as on one",
        "No GPU times are stated, since none were measured: no CUDA driver",
        "Numba was not measured: the package numba is not installed",
        "From 3 × 3 to 15 × 15 there are 25.0 times as many coefficients; correlation_trivial takes 25.0 times as long",
        "correlation_rayon takes 400.0 µs for it, 1.50 times as fast as one of 5 × 5 random coefficients at 600.0 µs",
        "4 by sobel, 16 by scharr, 7 by sobel_5x3 and 7 by sobel_5x5",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
}

/// Figures for the longest report: all peers, and a GPU.
pub(crate) fn figures_with_a_gpu_and_all_peers() -> Figures {
    let mut figures = figures();
    for size in [3, 5, 7] {
        for label in ["OpenCV", "Numba"] {
            let scipy =
                figures.peers.times.iter().find(|peer| peer.label == format!("SciPy, {size} × {size}")).unwrap();
            let peer = PeerTime { label: format!("{label}, {size} × {size}"), ..scipy.clone() };
            figures.peers.times.push(peer);
        }
    }
    figures.correlation.kernels.iter_mut().for_each(|kernel| kernel.gpu = Some([around(9e-6), around(2e-3)]));
    figures
}

#[test]
fn a_gpu_and_all_peers_are_compared() {
    let text = texts_of(&document(&figures_with_a_gpu_and_all_peers(), None, &[]).unwrap());
    for words in [
        "The GPU’s kernel alone takes 9.000 µs, 1,000 times as fast as correlation_trivial; with copies 2.000 ms, 4.50 times as fast as it",
        "correlation_gpu (kernel alone)",
        "50.0 times as fast as OpenCV (1 thread)",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
    assert!(!text.contains("No GPU times are stated"));
}

/// Figures of a machine that also did other work.
pub(crate) fn noisy_figures() -> Figures {
    let mut figures = figures();
    let wide = Times { quartiles: Some([1e-3, 3e-3]), ..around(1e-3) };
    figures.correlation.kernels.iter_mut().for_each(|kernel| (kernel.trivial, kernel.rayon[0].times) = (wide, wide));
    figures
}

#[test]
fn a_noisy_machine_is_reported_in_hw2() {
    assert_eq!(noise(&figures()), None);
    let noise = noise(&noisy_figures()).unwrap();
    assert!(noise.contains("in 8 of 18 measurements") && noise.contains("in one it is 200 %"), "{noise}");
    assert_eq!(document(&noisy_figures(), None, &[]).unwrap().value["noise"], noise);
}

/// Without SciPy, the report states only that it was not measured, and no figures for it.
#[test]
fn peers_that_were_not_measured_have_no_figures() {
    let missing = "SciPy was not measured: the package scipy is not installed".to_owned();
    let peers = Peers { missing: vec![missing.clone()], ..Peers::default() };
    let text = texts_of(&document(&Figures { peers, ..figures() }, None, &[]).unwrap());
    assert!(text.contains(&missing) && text.matches("SciPy").count() == 1, "{text}");
}

/// Missing figures and absurd ones: figures may come from a file.
pub(crate) fn missing_and_extreme_figures() -> [Figures; 2] {
    let mut empty = figures();
    empty.correlation.kernels.clear();
    let augmentation = &mut empty.augmentation;
    for on in [&mut augmentation.workers, &mut augmentation.serving] {
        on.clear();
    }
    augmentation.plain_accuracies.clear();
    augmentation.augmented_accuracies.clear();
    augmentation.same_bits = false;
    let (mut extreme, max) = (figures(), usize::MAX);
    (extreme.machine.cores, extreme.made.rounds) = (max, max);
    extreme.augmentation.workers.iter_mut().for_each(|on| on.threads = max);
    extreme.augmentation.serving.iter_mut().for_each(|on| on.threads = max);
    extreme.augmentation.plain_accuracies = vec![1e300, -1e300];
    (extreme.augmentation.images, extreme.augmentation.sizes) = ([max; 2], vec![max; 3]);
    extreme.correlation.size = [max; 2];
    extreme.correlation.kernels.iter_mut().for_each(|kernel| kernel.size = max);
    extreme.machine.cores = 0;
    [empty, extreme]
}

#[test]
fn missing_and_extreme_figures_of_assignment_2_cause_no_panic() {
    for figures in missing_and_extreme_figures() {
        assert_asks(&document(&figures, None, &[]).unwrap(), &QUESTIONS);
    }
}
