//! Gradient-boosted trees as a baseline without a network (J. H. Friedman, "Greedy Function
//! Approximation: A Gradient Boosting Machine", Annals of Statistics 29, 2001), fitted by the crate
//! [`forust_ml`].
//!
//! They are fitted only on request: on large tables that takes longer than training an MLP.

use forust_ml::gradientbooster::GrowPolicy;
use forust_ml::metric::Metric;
use forust_ml::objective::ObjectiveType;
use forust_ml::{GradientBooster, Matrix};

use crate::prepared::{Part, Prepared, prepare};
use crate::results::metrics;
use crate::saved_run::SavedRun;
use crate::{Results, Table};

/// Maximum number of rows of the training and of the validation part. From a larger part, up to
/// that many rows are taken at even intervals.
pub const MAX_ROWS: usize = 50_000;
/// Maximum number of trees.
const MAX_TREES: usize = 500;
/// Number of trees without a smaller validation error before no more are added.
const PATIENCE: usize = 20;
/// Maximum number of leaves of a tree, and minimum number of training rows in each.
const LEAVES: usize = 31;
const LEAF_ROWS: f32 = 20.0;
/// Greater than the depth of any tree with this number of leaves.
const MAX_DEPTH: usize = LEAVES + 1;
const LEARNING_RATE: f32 = 0.1;

/// A part's standardized inputs, one column after the other, and its targets. Only every `every`-th
/// row.
struct Columns {
    inputs: Vec<f64>,
    targets: Vec<f64>,
}

impl Columns {
    fn of(part: &Part, every: usize) -> Self {
        let rows = || (0..part.samples.len()).step_by(every);
        let column = |column: ndarray::ArrayView1<f32>| rows().map(|row| f64::from(column[row])).collect::<Vec<f64>>();
        let inputs = part.samples.inputs().columns().into_iter().flat_map(column).collect();
        Self { inputs, targets: rows().map(|row| f64::from(part.samples.target(row)[0])).collect() }
    }

    fn matrix(&self) -> Matrix<'_, f64> {
        Matrix::new(&self.inputs, self.targets.len(), self.inputs.len() / self.targets.len().max(1))
    }
}

/// Fits the trees. Returns their standardized outputs for the rows of the training, validation and
/// test part.
///
/// # Errors
/// If the trees cannot be fitted. The message is one line.
pub fn outputs(prepared: &Prepared) -> Result<[Vec<f64>; 3], String> {
    let some = |part: &Part| Columns::of(part, part.samples.len().div_ceil(MAX_ROWS).max(1));
    let (train, validation) = (some(&prepared.train), some(&prepared.validation));
    let [of_train, of_validation] = [&train, &validation].map(|part| vec![1.0; part.targets.len()]);
    let mut trees = GradientBooster::default()
        .set_objective_type(ObjectiveType::SquaredLoss)
        .set_initialize_base_score(true)
        .set_iterations(MAX_TREES)
        .set_learning_rate(LEARNING_RATE)
        .set_max_depth(MAX_DEPTH)
        .set_max_leaves(LEAVES)
        .set_min_leaf_weight(LEAF_ROWS)
        // The default is the error of logarithms, which are undefined for values below −1.
        .set_evaluation_metric(Some(Metric::RootMeanSquaredError))
        .set_early_stopping_rounds(Some(PATIENCE));
    trees.grow_policy = GrowPolicy::LossGuide;
    let watched = vec![(validation.matrix(), &*validation.targets, &*of_validation)];
    trees
        .fit(&train.matrix(), &train.targets, &of_train, Some(watched))
        .map_err(|error| format!("the boosted trees cannot be fitted: {error}"))?;
    Ok(prepared.parts().map(|(_, part)| trees.predict(&Columns::of(part, 1).matrix(), true)))
}

/// Adds the metrics of boosted trees to the results of a run on this table.
///
/// # Errors
/// If the run has not ended, the table is a different one, or the trees cannot be fitted. The
/// message is one line.
pub fn add(table: &Table, run: &SavedRun) -> Result<SavedRun, String> {
    let Some((ending, results)) = &run.ended else {
        return Err("the run has not ended: train it to its end".to_owned());
    };
    let prepared = prepare(table, &run.settings).map_err(|error| error.to_string())?;
    if prepared.checksum() != run.checkpoint.data_checksum {
        return Err("the data differ from those of the run: open its data, or start a new run".to_owned());
    }
    let (scale, mut results): (_, Results) = (prepared.transform.target_scale, results.clone());
    for (((_, part), outputs), result) in prepared.parts().iter().zip(outputs(&prepared)?).zip(&mut results.parts) {
        let predicted: Vec<f64> = outputs.into_iter().map(|output| scale.original(output)).collect();
        result.trees = Some(metrics(&part.truth, &predicted, scale.log));
    }
    Ok(SavedRun { ended: Some((*ending, results)), ..run.clone() })
}
