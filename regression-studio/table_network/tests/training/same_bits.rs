use crate::rows::{options, start, table, train};

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Compares weights, moments and predictions, for sizes that threads cannot share evenly.
#[test]
fn are_the_same_on_one_two_and_three_threads() {
    let (rows, validation) = (table(211, 1), table(53, 2));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut training = start(options(), &rows);
            let errors = train(&mut training, &validation);
            let predictions = training.best().predict(validation.inputs.view()).unwrap();
            let tensors: Vec<_> = training.state().tensors.iter().map(|tensor| bits(&tensor.values)).collect();
            (errors, tensors, bits(&predictions))
        })
    };
    let one = run(1);
    assert!(one == run(2), "two threads");
    assert!(one == run(3), "three threads");
}

#[test]
fn follow_from_the_seed() {
    let (rows, validation) = (table(90, 1), table(30, 2));
    let run = |seed| {
        let mut training = start(table_network::Options { seed, ..options() }, &rows);
        train(&mut training, &validation);
        bits(&training.best().predict(validation.inputs.view()).unwrap())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn of_a_prediction_do_not_depend_on_the_other_rows() {
    let (rows, validation) = (table(90, 1), table(70, 2));
    let mut training = start(options(), &rows);
    train(&mut training, &validation);
    let network = training.best();
    let all = network.predict(validation.inputs.view()).unwrap();
    for row in 0..70 {
        let alone = network.predict(validation.inputs.slice(ndarray::s![row..=row, ..])).unwrap();
        assert_eq!(bits(&alone), bits(&all[row..=row]), "row {row}");
    }
}
