//! The training thread.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use neural_net::device::{OpenedDevice, TrainingDevice};
use neural_net::training::PartOfEpoch;
use rayon::prelude::*;

use super::control::Shared;
use super::learner::{Current, Learner, learner, open_device};
use super::snapshot::{Snapshot, State};
use super::{Measured, RunDevice, Start};
use crate::background::Background;
use crate::intervals::{self, Intervals};
use crate::prepared::{self, Part, Prepared, prepare};
use crate::results::{self, Ending, EpochErrors, Evaluation, Predicted};
use crate::saved_run::{Checkpoint, RunProgress, SavedRun};
use crate::settings::{Fold, SplitOrder};
use crate::trained::Trained;
use crate::{Model, Settings, Table};

/// Interval between snapshots during an epoch.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of training rows on which the error in the target's unit is measured.
const MAX_MEASURED_ROWS: usize = 20_000;

/// Prepares the table, trains and measures, publishing snapshots up to the final one.
///
/// # Errors
/// The final state of a run that failed or diverged.
pub(super) fn run(
    table: Arc<Table>,
    settings: Settings,
    Start { run, device, measured, .. }: Start,
    shared: &Arc<Shared>,
) -> Result<(), State> {
    pool(settings.training.threads)?.install(|| {
        let prepared = prepare(&table, &settings).map_err(|error| State::Failed(error.to_string()))?;
        let rows: usize = prepared.parts().iter().map(|(_, part)| part.rows.len()).sum();
        // What comes before a block of time says nothing of its errors by what comes after it.
        let is_cross = rows < intervals::MAX_CROSS_ROWS && settings.split.order == SplitOrder::Shuffled;
        // The samples are copies, so the table, which may be large, is freed.
        let table = is_cross.then_some(table);
        let device = device.map_or_else(|| open_device(&settings), Ok)?;
        let mut trainer = Trainer::new(settings, &device, &prepared, run, shared)?;
        let ending = trainer.train()?;
        if measured == Measured::Validation {
            return trainer.publish(State::Finished(ending));
        }
        let errors = match &table {
            Some(table) if ending != Ending::Stopped => trainer.errors_of_folds(table)?,
            _ => None,
        };
        trainer.end(ending, errors.as_ref())
    })
}

/// A pool of this many threads, or one for each core.
///
/// # Errors
/// The final state of the run, if the threads cannot be started.
fn pool(threads: Option<usize>) -> Result<rayon::ThreadPool, State> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.map_err(|error| State::Failed(format!("the threads cannot be started ({error}): choose fewer threads")))
}

/// The errors of networks in the fold that each was trained without, in the unit of the standardised target.
struct FoldErrors {
    /// The table's rows.
    rows: Vec<u32>,
    residuals: Vec<f64>,
    /// The group of each row, if some belong together.
    groups: Option<Vec<u32>>,
    /// The standard deviations of the members' outputs, of networks with members, as multiples of their mean over the fold:
    /// one network's members may differ less than another's, up to those of which linear least squares has all the share.
    deviations: Option<Vec<f64>>,
}

impl FoldErrors {
    /// Trains a network without a fold of the training and validation part, and measures it there. `None` if the run is stopped meanwhile, or
    /// it diverges, or a part would be empty.
    ///
    /// # Errors
    /// The final state of the run, if the device fails.
    fn without(
        fold: Fold,
        table: &Table,
        (settings, opened): (&Settings, &RunDevice),
        whole: &Prepared,
        shared: &Arc<Shared>,
    ) -> Result<Option<Self>, State> {
        let Ok(prepared) = prepared::without_fold(table, settings, whole, fold) else { return Ok(None) };
        let shared = Shared::part_of(shared);
        let mut trainer = Trainer::new(settings.clone(), opened, &prepared, None, &shared)?;
        if !matches!(trainer.train(), Ok(Ending::AllEpochs | Ending::EarlyStopped)) {
            return Ok(None);
        }
        let (unit, scale, test) = (whole.transform.target_scale, prepared.transform.target_scale, &prepared.test);
        let residual = |(&output, &truth): (&f32, &f64)| {
            unit.in_deviations(truth) - (scale.learned(f64::from(output)) - unit.mean) / unit.deviation
        };
        let deviations = trainer.best.predictor().deviations(test.samples.inputs().view()).map(|of_fold| {
            let mean = mean(&of_fold);
            of_fold.into_iter().map(|deviation| if mean > 0.0 { deviation / mean } else { 1.0 }).collect()
        });
        Ok(Some(Self {
            rows: test.rows.to_vec(),
            residuals: trainer.outputs_of_best(test).iter().zip(&*test.truth).map(residual).collect(),
            groups: test.groups.as_ref().map(|groups| groups.to_vec()),
            deviations,
        }))
    }

    /// The errors in both folds.
    fn and(mut self, next: Self) -> Self {
        fn append<T>(to: &mut Option<Vec<T>>, from: Option<Vec<T>>) {
            if let Some(from) = from {
                to.get_or_insert_default().extend(from);
            }
        }
        self.rows.extend(next.rows);
        self.residuals.extend(next.residuals);
        append(&mut self.groups, next.groups);
        append(&mut self.deviations, next.deviations);
        self
    }

    /// The intervals of a network with these residuals and deviations of its members on the validation part, whose rows
    /// ascend. If it errs more there than the networks of the folds on the same rows, their errors are too small for it:
    /// they grow by the ratio.
    fn intervals(&self, validation: &[u32], residuals: &[f64], deviations: Option<&[f64]>) -> Intervals {
        let sum = |residuals: &mut dyn Iterator<Item = &f64>| residuals.map(|residual| residual.abs()).sum::<f64>();
        let rows = self.rows.iter().zip(&self.residuals).filter(|(row, _)| validation.binary_search(row).is_ok());
        let ratio = sum(&mut residuals.iter()) / sum(&mut rows.map(|(_, residual)| residual));
        let factor = if ratio.is_finite() { ratio.max(1.0) } else { 1.0 };
        let scaled: Vec<f64> = self.residuals.iter().map(|residual| factor * residual).collect();
        let in_unit = self.deviations.as_ref().zip(deviations).map(|(multiples, of_network)| {
            let mean = mean(of_network);
            multiples.iter().map(|multiple| multiple * mean).collect::<Vec<f64>>()
        });
        Intervals::of_members(&scaled, in_unit.as_deref(), self.groups.as_deref()).by_folds(intervals::FOLDS)
    }
}

/// The root mean square of the outputs' errors, which `error` computes from an output and a true value. The threads sum chunks of a fixed
/// size, so that the result does not depend on their number.
fn rmse<T: Copy + Sync>(outputs: &[f32], truth: &[T], error: impl Fn(f32, T) -> f64 + Sync) -> f64 {
    const CHUNK: usize = 8192;
    let of_chunk = |(outputs, truth): (&[f32], &[T])| -> f64 {
        outputs.iter().zip(truth).map(|(&output, &truth)| error(output, truth).powi(2)).sum()
    };
    let sums: Vec<f64> = outputs.par_chunks(CHUNK).zip(truth.par_chunks(CHUNK)).map(of_chunk).collect();
    (sums.into_iter().sum::<f64>() / outputs.len().max(1) as f64).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

struct Trainer<'a> {
    shared: &'a Arc<Shared>,
    settings: Settings,
    opened: &'a RunDevice,
    prepared: &'a Prepared,
    learner: Box<dyn Learner + 'a>,
    device: String,
    checksum: u32,
    progress: RunProgress,
    history: Vec<EpochErrors>,
    /// The network of the best epoch, and its predictions.
    best: Trained,
    predicted: Arc<Predicted>,
    published: Instant,
    /// Start of this thread's training.
    started: Instant,
    /// Samples trained since, and the training time in seconds.
    seen: (usize, f64),
}

impl<'a> Trainer<'a> {
    fn new(
        settings: Settings,
        opened: &'a RunDevice,
        prepared: &'a Prepared,
        run: Option<SavedRun>,
        shared: &'a Arc<Shared>,
    ) -> Result<Self, State> {
        let checksum = prepared.checksum();
        let (learner, progress, history, best) = match run {
            Some(SavedRun { checkpoint: Checkpoint { state, progress, data_checksum }, history, model, .. }) => {
                let is_same = data_checksum == checksum && model.network.inputs() == prepared.transform.inputs.len();
                if !is_same {
                    let reason = "the data differ from those of the run: start a new run";
                    return Err(State::Failed(reason.to_owned()));
                }
                let learner = learner(&settings, prepared, Some((state, progress)), opened)?;
                let (step, steps) = (progress.step, learner.steps());
                if step >= steps {
                    return Err(State::Failed(format!(
                        "the run cannot be resumed at step {step} of an epoch of {steps} steps: start a new run"
                    )));
                }
                (learner, progress, history, model.network)
            }
            None => {
                let learner = learner(&settings, prepared, None, opened)?;
                let initial = learner.current()?.trained;
                (learner, RunProgress::default(), vec![], initial)
            }
        };
        let device = learner.device();
        let mut trainer = Self {
            shared,
            predicted: Arc::default(),
            settings,
            opened,
            prepared,
            learner,
            device,
            checksum,
            progress,
            history,
            best,
            published: Instant::now(),
            started: Instant::now(),
            seen: (0, 0.0),
        };
        trainer.predicted =
            Arc::new(trainer.pairs("validation", &prepared.validation, &trainer.outputs_of_best(&prepared.validation)));
        Ok(trainer)
    }

    /// Trains to the end of the run.
    fn train(&mut self) -> Result<Ending, State> {
        self.publish(State::Running)?;
        loop {
            let training = &self.settings.training;
            let since_best = self.progress.epoch - self.progress.best_epoch;
            if training.patience.is_some_and(|patience| since_best >= patience) {
                return Ok(Ending::EarlyStopped);
            }
            if self.progress.epoch >= training.epochs {
                return Ok(Ending::AllEpochs);
            }
            let mut published = Ok(());
            let shared = self.shared;
            let may_continue = shared.wait_while_paused(|| published = self.publish(State::Paused));
            published?;
            if !may_continue {
                return Ok(Ending::Stopped);
            }
            self.train_until_interrupted()?;
        }
    }

    /// Trains a network without each of the folds of the training and validation part, with the same settings, and
    /// measures it there. `None` if the run is stopped meanwhile, or a fold cannot be trained without.
    ///
    /// # Errors
    /// The final state of the run, if the device fails.
    fn errors_of_folds(&mut self, table: &Table) -> Result<Option<FoldErrors>, State> {
        self.publish(State::Calibrating)?;
        let mut settings = self.settings.clone();
        settings.training.device = self.learner.same_device(settings.training.device);
        let at_once = match self.opened {
            OpenedDevice::Gpu(_) if settings.training.device != TrainingDevice::Cpu => intervals::FOLDS,
            _ => rayon::current_num_threads().min(intervals::FOLDS),
        };
        let (prepared, shared, opened) = (self.prepared, self.shared, self.opened);
        let of_fold = |index: usize| {
            let fold = Fold { index, count: intervals::FOLDS };
            let measure = || FoldErrors::without(fold, table, (&settings, opened), prepared, shared);
            match at_once {
                1 => measure(),
                _ => pool(Some((rayon::current_num_threads() / at_once).max(1)))?.install(measure),
            }
        };
        let of_folds = crate::at_once::run(intervals::FOLDS, at_once, of_fold, |_, of_fold| match of_fold {
            Ok(Some(_)) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        });
        let of_folds: Option<Vec<FoldErrors>> = of_folds.into_iter().collect::<Result<_, State>>()?;
        Ok(of_folds.and_then(|of_folds| of_folds.into_iter().reduce(FoldErrors::and)))
    }

    /// Trains to the end of the epoch or until a request to pause or stop, publishing snapshots.
    fn train_until_interrupted(&mut self) -> Result<(), State> {
        let (epoch, steps) = (self.progress.epoch, self.learner.steps());
        while self.progress.step < steps {
            let (before, start, shared) = (self.progress.part_of_epoch(), Instant::now(), self.shared);
            let mut part = before;
            let mut is_due = || shared.is_interrupted() || start.elapsed() >= PUBLISH_INTERVAL;
            let trained = self.learner.train(epoch, &mut part, &mut is_due);
            let PartOfEpoch { step, loss, seconds } = part;
            self.progress = RunProgress { step, loss, seconds, ..self.progress };
            self.seen.0 += self.learner.seen(step) - self.learner.seen(before.step);
            self.seen.1 += seconds - before.seconds;
            trained?;
            if step < steps && self.shared.is_interrupted() {
                return Ok(());
            }
            if step < steps {
                self.publish(State::Running)?;
            }
        }
        self.end_epoch()?;
        self.shared.epoch_done();
        if self.published.elapsed() >= PUBLISH_INTERVAL {
            self.publish(State::Running)?;
        }
        Ok(())
    }

    /// Measures the network, records the epoch, and keeps the weights if they are the best so far.
    fn end_epoch(&mut self) -> Result<(), State> {
        let Prepared { train, validation, transform, .. } = self.prepared;
        let outputs = self.learner.end_epoch(validation)?;
        let targets = validation.samples.targets().as_slice().expect("samples are stored row by row");
        let validation_rmse = rmse(&outputs, targets, |output, target| f64::from(output) - f64::from(target));
        let epoch = self.progress.epoch + 1;
        if !validation_rmse.is_finite() {
            return Err(State::Diverged(format!("training diverged in epoch {epoch}: choose a smaller learning rate")));
        }
        let is_best = self.best_record().is_none_or(|best| validation_rmse < best.validation_rmse);
        if is_best {
            self.learner.keep_best();
        }
        let Current { trained, predictor } = self.learner.current()?;
        let in_unit =
            |outputs: &[f32], truth: &[f64]| rmse(outputs, truth, |output, truth| transform.target_of(output) - truth);
        let every = train.rows.len().div_ceil(MAX_MEASURED_ROWS).max(1);
        let measured = train.samples.inputs().slice(ndarray::s![..;every, ..]);
        let train_outputs: Vec<f32> = predictor.predict_all(measured).into_raw_vec_and_offset().0;
        let measured_truth: Vec<f64> = train.truth.iter().copied().step_by(every).collect();
        let record = EpochErrors {
            epoch,
            seconds: self.progress.seconds,
            train_rmse: (2.0 * self.progress.loss / train.samples.len() as f64).sqrt(),
            validation_rmse,
            train_rmse_in_unit: in_unit(&train_outputs, &measured_truth),
            validation_rmse_in_unit: in_unit(&outputs, &validation.truth),
        };
        self.history.push(record);
        self.progress = RunProgress { epoch, best_epoch: self.progress.best_epoch, ..RunProgress::default() };
        if is_best {
            self.progress.best_epoch = epoch;
            self.best = trained;
            self.predicted = Arc::new(self.pairs("validation", validation, &outputs));
        }
        Ok(())
    }

    fn best_record(&self) -> Option<&EpochErrors> {
        self.history.get(self.progress.best_epoch.checked_sub(1)?)
    }

    /// Evaluates the best network on all parts and publishes the final snapshot. Intervals are calibrated by `errors`, or
    /// by the validation part.
    fn end(&mut self, ending: Ending, errors: Option<&FoldErrors>) -> Result<(), State> {
        if self.progress.best_epoch == 0 {
            // Stopped in the first epoch: the current network is the only one.
            self.best = self.learner.current()?.trained;
        }
        let outputs = self.prepared.parts().map(|(_, part)| self.outputs_of_best(part));
        let [_, of_validation, of_test] = &outputs;
        let (model, best_epoch) = (self.ended_model(of_validation, errors), self.progress.best_epoch);
        let spreads = model.spreads(self.prepared.test.samples.inputs().view());
        let spreads = spreads.as_deref();
        let device = self.device.clone();
        let evaluation = Evaluation { prepared: self.prepared, model: &model, outputs: &outputs, spreads };
        let results = evaluation.results(&self.history, best_epoch, device);
        self.predicted = Arc::new(self.pairs("test", &self.prepared.test, of_test));
        let rows = Arc::new(evaluation.rows());
        let mut snapshot = self.snapshot(State::Finished(ending))?;
        let run = snapshot.run.take().map(|run| SavedRun {
            ended: Some((ending, results.clone())),
            rows: Some(rows),
            model,
            ..(*run).clone()
        });
        snapshot.run = run.map(Arc::new);
        snapshot.results = Some(Arc::new(results));
        self.shared.publish(snapshot);
        Ok(())
    }

    fn model(&self) -> Model {
        Model {
            network: self.best.clone(),
            transform: self.prepared.transform.clone(),
            intervals: None,
            background: None,
        }
    }

    /// The model with its prediction intervals, calibrated by the errors of folds or by the outputs for the validation
    /// part, and the rows that explain predictions.
    fn ended_model(&self, outputs: &[f32], errors: Option<&FoldErrors>) -> Model {
        let Prepared { train, validation, transform, .. } = self.prepared;
        let of_validation = intervals::residuals(validation, outputs, &transform.target_scale);
        let deviations = self.best.predictor().deviations(validation.samples.inputs().view());
        let intervals = match errors {
            Some(errors) => errors.intervals(&validation.rows, &of_validation, deviations.as_deref()),
            None => Intervals::of_members(&of_validation, deviations.as_deref(), validation.groups.as_deref()),
        };
        Model {
            intervals: Some(intervals),
            background: Background::sample(train.samples.inputs().view()),
            ..self.model()
        }
    }

    fn outputs_of_best(&self, part: &Part) -> Vec<f32> {
        self.best.predictor().predict_all(part.samples.inputs().view()).into_raw_vec_and_offset().0
    }

    fn pairs(&self, name: &str, part: &Part, outputs: &[f32]) -> Predicted {
        results::pairs(name, part, outputs, &self.prepared.transform)
    }

    fn publish(&mut self, state: State) -> Result<(), State> {
        let snapshot = self.snapshot(state)?;
        self.shared.publish(snapshot);
        self.published = Instant::now();
        Ok(())
    }

    fn snapshot(&self, state: State) -> Result<Snapshot, State> {
        let (state_to_resume, drawn) = self.learner.state()?;
        let (RunProgress { epoch, step, best_epoch, .. }, steps) = (self.progress, self.learner.steps());
        let training = &self.settings.training;
        let (samples, seconds) = self.seen;
        // Wall-clock time, including evaluation, since it estimates the time until the end.
        let steps_done = samples.div_ceil(training.batch_size.max(1));
        let steps_left = (training.epochs.saturating_sub(epoch) * steps).saturating_sub(step);
        let seconds_left = self.started.elapsed().as_secs_f64() / steps_done as f64 * steps_left as f64;
        let history = Arc::new(self.history.clone());
        Ok(Snapshot {
            state,
            epoch,
            epochs: training.epochs,
            step,
            steps,
            best_epoch,
            samples_per_second: if seconds > 0.0 { samples as f64 / seconds } else { 0.0 },
            seconds_left: (steps_done > 0).then_some(seconds_left),
            device: self.device.clone(),
            same_device: Some(self.learner.same_device(training.device)),
            inputs: self.prepared.transform.inputs.iter().map(|input| input.label()).collect(),
            network: drawn.map(Arc::new),
            predicted: Some(Arc::clone(&self.predicted)),
            findings: self.prepared.findings.clone().into(),
            notes: self.prepared.notes.clone().into(),
            results: None,
            run: Some(Arc::new(SavedRun {
                settings: self.settings.clone(),
                history: self.history.clone(),
                model: self.model(),
                predicted: (*self.predicted).clone(),
                ended: None,
                rows: None,
                checkpoint: Checkpoint {
                    state: state_to_resume,
                    progress: self.progress,
                    data_checksum: self.checksum,
                },
            })),
            history,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DataSettings;

    #[test]
    fn folds_have_the_device_of_their_run() {
        let mut settings = Settings { data: DataSettings::market(200, 1), ..Settings::default() };
        let prepared = prepare(&settings.data.table().unwrap(), &settings).unwrap();
        for choice in [TrainingDevice::Auto, TrainingDevice::Cpu, TrainingDevice::Simulator] {
            settings.training.device = choice;
            let shared = Arc::default();
            let opened = open_device(&settings).unwrap();
            let trainer = Trainer::new(settings.clone(), &opened, &prepared, None, &shared).unwrap();
            let is_of_run = match trainer.learner.same_device(choice) {
                TrainingDevice::Auto => false,
                TrainingDevice::Cpu => trainer.device.starts_with("CPU"),
                TrainingDevice::Cuda => trainer.device.starts_with("CUDA"),
                device => device == choice,
            };
            assert!(is_of_run, "{choice:?}: {}", trainer.device);
        }
    }

    #[test]
    fn an_epoch_permutes_its_rows_once() {
        // Enough for the next epoch's permutation to be computed while an epoch trains.
        let mut settings = Settings { data: DataSettings::market(30_000, 1), ..Settings::default() };
        settings.network.hidden = vec![2];
        (settings.training.epochs, settings.training.device) = (3, TrainingDevice::Cpu);
        let prepared = prepare(&settings.data.table().unwrap(), &settings).unwrap();
        for threads in [1, 2] {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let shared = Arc::default();
                let opened = open_device(&settings).unwrap();
                let mut trainer = Trainer::new(settings.clone(), &opened, &prepared, None, &shared).unwrap();
                // Interrupted after each step, as by a pause.
                let mut part = PartOfEpoch::default();
                while part.step < 5 {
                    trainer.learner.train(0, &mut part, &mut || true).unwrap();
                }
                assert_eq!(trainer.train().unwrap(), Ending::AllEpochs);
                assert_eq!(trainer.learner.permutations(), 3, "{threads} threads");
            });
        }
    }
}
