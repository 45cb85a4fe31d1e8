use std::ops::ControlFlow;

use table_network::{Error, State, TableNetwork, Training};

use crate::rows::{Table, options, start, table, train, train_epoch};

fn resume(table: &Table, state: &State) -> Result<Training, Error> {
    Training::resume(options(), &table.kinds, table.inputs.view(), table.targets.view(), state)
}

/// At every step, including between an epoch's last step and its end.
#[test]
fn go_on_to_the_same_bits() {
    let (rows, validation) = (table(130, 1), table(40, 2));
    let mut whole = start(options(), &rows);
    let errors = train(&mut whole, &validation);
    for stop in 1..=12 {
        let (mut training, mut steps, mut before) = (start(options(), &rows), 0, vec![]);
        while steps < stop {
            training.train(usize::MAX, &mut |_| {
                steps += 1;
                if steps == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if steps < stop {
                train_epoch(&mut training, &validation, &mut before);
            }
        }
        let mut training = resume(&rows, &training.state()).unwrap();
        while training.epoch() < training.options().epochs {
            train_epoch(&mut training, &validation, &mut before);
        }
        assert_eq!(before, errors, "stopped after step {stop}");
        assert!(training.state() == whole.state(), "stopped after step {stop}");
    }
}

#[test]
fn of_a_network_give_its_predictions() {
    let (rows, validation) = (table(60, 1), table(20, 2));
    let mut training = start(options(), &rows);
    train(&mut training, &validation);
    let network = training.best();
    let loaded = TableNetwork::from_state(&network.state()).unwrap();
    assert_eq!(loaded.state(), network.state());
    let predictions = [&network, &loaded].map(|network| network.predict_members(validation.inputs.view()).unwrap());
    assert_eq!(predictions[0], predictions[1]);
}

#[test]
fn that_are_damaged_are_errors() {
    let rows = table(60, 1);
    let training = start(options(), &rows);
    let state = training.state();
    for index in 0..state.tensors.len() {
        let name = &state.tensors[index].name;
        let mut missing = state.clone();
        missing.tensors.remove(index);
        assert!(matches!(resume(&rows, &missing), Err(Error::State(_))), "without {name}");
        let mut short = state.clone();
        short.tensors[index].values.push(1.0);
        assert!(matches!(resume(&rows, &short), Err(Error::State(_))), "{name} is too long");
        let last = short.tensors[index].shape.len() - 1;
        short.tensors[index].shape[last] += 1;
        assert!(resume(&rows, &short).is_err(), "{name} has another shape");
    }
    for index in 0..state.integers.len() {
        let name = &state.integers[index].0;
        let mut missing = state.clone();
        missing.integers.remove(index);
        assert!(matches!(resume(&rows, &missing), Err(Error::State(_))), "without {name}");
        let mut large = state.clone();
        large.integers[index].1 = u64::MAX;
        assert!(name.ends_with("_bits") || resume(&rows, &large).is_err(), "{name} is large");
    }
}

#[test]
fn of_other_rows_or_options_are_errors() {
    let rows = table(60, 1);
    let state = start(options(), &rows).state();
    let other = resume(&table(60, 2), &state).unwrap_err().to_string();
    assert_eq!(other, "the saved state does not fit: it was learnt from other rows");
    let other_options = table_network::Options { members: 5, ..options() };
    let other = Training::resume(other_options, &rows.kinds, rows.inputs.view(), rows.targets.view(), &state);
    assert_eq!(
        other.unwrap_err().to_string(),
        "the saved state does not fit: it has other members, embeddings or layers"
    );
}
