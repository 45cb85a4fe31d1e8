//! The questions and answers of assignment 3 for fixed figures, and the jobs of its ranks.

use std::num::NonZeroUsize;

use assert_cmd::cargo::cargo_bin;
use distributed_functions::{Measured, bytes_by_formula};
use mpi_driver::{Ranks, ranks_by};
use report::distributed::job::{Done, Job, Mode, TrainJob};
use report::distributed::{AllReduces, Figures, Trained, document};
use test_support::{Need, skip};

use super::figures::without_gpu;
use super::program::run;
use super::{assert_asks, texts_of};

/// Figures like those of a machine with two cores, where two ranks gain only with large batches.
pub(crate) fn figures() -> Figures {
    let run = |ranks: usize, batch: usize, seconds: f64, accuracy: f64| Trained {
        ranks,
        batch,
        epochs: 10,
        seconds,
        accuracy,
        ..Trained::default()
    };
    let by_masters = |masters: usize, workers: usize, accuracy: f64| Trained {
        masters,
        staleness: Some(workers as f64 - 1.0),
        ..run(workers, 16, 15.0, accuracy)
    };
    let measured = |ranks: usize| AllReduces {
        ranks,
        lengths: [4096, 262_144]
            .map(|length| Measured {
                length,
                seconds: [1e-9, 5e-10, 4e-10].map(|of_element| 2e-6 + of_element * (length * ranks) as f64),
                sent: bytes_by_formula(ranks, length),
                mismatches: Vec::new(),
                wrong: 0,
            })
            .into(),
    };
    let machine = without_gpu().machine;
    Figures {
        date: "2026-11-23".to_owned(),
        seconds: 130.0,
        quick: false,
        machine: report::figures::Machine { cores: 2, ..machine },
        library: "Open MPI v4.1.4".to_owned(),
        data: "MNIST".to_owned(),
        is_mnist: true,
        sizes: vec![784, 128, 64, 10],
        bytes: 437_544,
        images: [50_000, 10_000],
        all_reduce: vec![measured(2), measured(4)],
        small_batches: vec![
            run(1, 16, 1.0, 0.9673),
            run(2, 16, 4.0, 0.9673),
            run(4, 16, 12.0, 0.9672),
            run(8, 16, 40.0, 0.9673),
            run(16, 16, 160.0, 0.9673),
        ],
        large_batches: vec![run(1, 512, 0.7, 0.9667), run(2, 512, 0.42, 0.9667), run(4, 512, 0.8, 0.9671)],
        own_batches: vec![run(1, 512, 0.7, 0.9667), run(2, 1024, 0.4, 0.96), run(4, 2048, 0.7, 0.94)],
        asynchronous: vec![
            by_masters(2, 2, 0.9704),
            by_masters(2, 6, 0.969),
            by_masters(2, 14, 0.9666),
            by_masters(4, 4, 0.97),
            by_masters(4, 12, 0.9667),
        ],
        ignoring: vec![by_masters(2, 2, 0.9701), by_masters(2, 6, 0.4), by_masters(2, 14, 0.0958)],
        one_master: Some(by_masters(1, 14, 0.965)),
    }
}

#[test]
fn every_question_is_answered_from_the_figures() {
    let document = document(&figures(), Some("Ada Student"), &[]).unwrap();
    assert_asks(&document, &QUESTIONS);
    assert_eq!(document.charts.len(), 2);
    let text = texts_of(&document);
    for words in [
        "An epoch takes 100.0 ms on one rank, on 2 ranks 400.0 ms (4.00 times as long as on one), on 4 ranks on 2 cores 1.200 s",
        "on 16 ranks on 2 cores 16.00 s",
        "This machine has 2 cores, so more ranks than that share them",
        "more than sharing the computation saves",
        "An epoch takes 70.00 ms on one rank, on 2 ranks 42.00 ms (1.67 times as fast as on one)",
        "On 2 ranks the speed-up is 1.67; the serial fraction of Karp and Flatt is 0.200",
        "a scaled speed-up of 1.75",
        "after 10 epochs the test accuracy is 96.67 % with batches of 512 and 94.00 % with batches of 2048",
        "on 4 cores (2 workers) an epoch takes 1.500 s, and the test accuracy is 97.04 %; on 8 cores (6 workers)",
        "on 8 cores (4 workers) an epoch takes 1.500 s, and the test accuracy is 97.00 %; on 16 cores (12 workers)",
        "The network has 3 layers, so only 3 of 4 masters own any.",
        "the first layer has 92 % of the parameters here",
        "Synchronously it does not: it is 96.72 % to 96.73 % for 1 to 16 ranks",
        "96.66 % to 97.04 % with 2 masters for 2 to 14 workers and 96.67 % to 97.00 % with 4 masters for 4 to 12 workers",
        "If 2 masters ignore the staleness of 14 workers (13.0 on average), the test accuracy is 9.58 %; with the learning rate divided by it, \
         96.66 %: the stale steps are too long",
        "If 2 masters ignore the staleness of 2 workers (1.00 on average), the test accuracy is 97.01 %; with the learning rate divided by it, \
         97.04 %: the stale steps are still short enough",
        "On 16 ranks on 2 cores an epoch takes 16.00 s synchronously and 1.500 s asynchronously with 2 masters, 10.7 times as fast as",
        "On 4 ranks on 2 cores the ring takes",
        "0.502 of the naive one’s time for 262,144 elements",
        "Each process sends (n − 1) L bytes, O(n L), and all send n (n − 1) L",
        "The counted bytes equal the formulas for all lengths.",
    ] {
        assert!(text.contains(words), "{words} is missing in {text}");
    }
}

/// The assignment's questions, in its order.
pub(crate) const QUESTIONS: [&str; 13] = [
    "How does the synchronous network work?",
    "How does the asynchronous network work?",
    "How long does the synchronous network take on 4, 8 and 16 cores, beside the original?",
    "By which law does it gain, Amdahl’s or Gustafson’s?",
    "What does the other law need?",
    "With 2 masters on 4 and 8 cores, how long does the asynchronous network take, and how accurate is it?",
    "And with 4 masters on 8 and 16 cores?",
    "Why are the masters split over machines?",
    "How does the final accuracy depend on the number of workers?",
    "Why does the asynchronous network diverge with many workers?",
    "What are the advantages of each?",
    "How do naive and ring all-reduce compare on 2, 4 and 8 cores?",
    "What is the complexity of both?",
];

/// Missing figures and absurd ones: figures may come from a file.
pub(crate) fn missing_and_extreme_figures() -> [Figures; 2] {
    let mut empty = figures();
    empty.all_reduce.clear();
    for runs in [&mut empty.small_batches, &mut empty.large_batches, &mut empty.own_batches, &mut empty.asynchronous] {
        runs.clear();
    }
    empty.ignoring.clear();
    empty.one_master = None;
    let mut extreme = figures();
    let max = usize::MAX;
    (extreme.machine.cores, extreme.bytes, extreme.images, extreme.sizes) = (max, u64::MAX, [max; 2], vec![max; 3]);
    extreme.all_reduce[0].ranks = max;
    extreme.all_reduce[1].ranks = 0;
    extreme.small_batches[1] = Trained { ranks: 0, seconds: 0.0, ..Trained::default() };
    extreme.large_batches[1] =
        Trained { ranks: max, batch: max, epochs: max, seconds: 1e300, accuracy: 1e300, ..Trained::default() };
    extreme.asynchronous[0] = Trained { ranks: max, masters: max, ..Trained::default() };
    extreme.ignoring[0] = Trained { diverged: true, ..Trained::default() };
    extreme.all_reduce[1].lengths[1].length = max;
    [empty, extreme]
}

#[test]
fn missing_and_extreme_figures_of_assignment_3_cause_no_panic() {
    for figures in missing_and_extreme_figures() {
        assert_asks(&document(&figures, None, &[]).unwrap(), &QUESTIONS);
    }
}

#[test]
fn options_of_other_assignments_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("figures.json"), serde_json::to_string(&figures()).unwrap()).unwrap();
    let (file, out) = (path("figures.json"), path("hw3.pdf"));
    for (arguments, words) in [
        (&["--figures", &file, "--out", &out][..], "is not the output of --assignment 1 --json"),
        (&["--assignment", "2", "--figures", &file, "--out", &out], "is not the output of --assignment 2 --json"),
        (
            &["--assignment", "3", "--python", "python3", "--out", &out],
            "--python and --device are for assignments 1 and 2",
        ),
        (&["--assignment", "4", "--out", &out], "possible values: 1, 2, 3"),
    ] {
        let (code, _, error) = run(arguments);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(words), "{error}");
        assert!(!std::path::Path::new(&out).exists());
    }
}

/// Runs short training runs and all-reduces on ranks of `mpiexec`, started like the report's.
#[test]
fn ranks_do_their_jobs() {
    let mpiexec = match Ranks::find().unwrap() {
        Ranks::ByMpiexec(mpiexec) => mpiexec,
        // Or an mpiexec with a library for another processor.
        other => return skip(Need::Mpi, &format!("{other:?}; {}", mpi_driver::INSTALL)),
    };
    let train =
        |mode: Mode, batch: usize| Job::Train(TrainJob { mode, batch, epochs: 4, images: 6000, seed: 1, data: None });
    let run = |ranks: usize, job: &Job| -> Done {
        let mut command = ranks_by(&mpiexec, ranks);
        let output =
            command.arg(cargo_bin("report")).env("REPORT_JOB", serde_json::to_string(job).unwrap()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let trained = |done: Done| match done {
        Done::Train(trained) => trained,
        Done::AllReduce(_) => panic!("it trains"),
    };
    let [one, two] = [1, 2].map(|ranks| trained(run(ranks, &train(Mode::Homework, 16))));
    assert_eq!((one.ranks, two.ranks, two.batch, two.epochs), (1, 2, 16, 4));
    assert!(one.accuracy > 0.5 && (one.accuracy - two.accuracy).abs() < 0.02, "{one:?}, {two:?}");
    let mode = Mode::Asynchronous { masters: 1, ignores_staleness: false };
    let by_masters = trained(run(3, &train(mode, 16)));
    assert_eq!((by_masters.ranks, by_masters.masters), (2, 1));
    assert!(by_masters.staleness.is_some_and(|staleness| staleness < 2.0) && by_masters.accuracy > 0.5);
    let lengths = vec![100, 5000];
    let job = Job::AllReduce { lengths, repeats: NonZeroUsize::MIN, seed: 1 };
    let Done::AllReduce(measured) = run(2, &job) else { panic!("it measures") };
    assert_eq!(measured.iter().map(|row| (row.length, row.wrong)).collect::<Vec<_>>(), [(100, 0), (5000, 0)]);
    // A job that fails ends all ranks and prints the reason in one line.
    let mut command = ranks_by(&mpiexec, 2);
    let job = Job::Train(TrainJob { mode, batch: 16, epochs: 1, images: 100_000, seed: 1, data: None });
    command.arg(cargo_bin("report")).env("REPORT_JOB", serde_json::to_string(&job).unwrap());
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("100000 are needed"), "{output:?}");
}
