//! Saved networks and runs: named tensors and integers.

use kernels_cpu::product::PaddedMatrix;
use ndarray::ArrayView2;

use crate::bins::Bins;
use crate::encoder::Encoder;
use crate::linear::Linear;
use crate::network::TableNetwork;
use crate::parameters::Layout;
use crate::scale::RobustScale;
use crate::training::{Best, Training};
use crate::{Error, InputKind, Options};

/// A named tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The tensor's name, unique in the state.
    pub name: String,
    /// The size of each dimension.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub values: Vec<f32>,
}

/// All learned values. For a run, also everything it needs, besides its options and rows, to
/// continue with the same bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The tensors, in ascending order of their names.
    pub tensors: Vec<Tensor>,
    /// Integers, each with a unique name. If the name ends in `_bits`, they are the bits of an f64.
    pub integers: Vec<(String, u64)>,
}

impl State {
    fn add(&mut self, name: impl Into<String>, shape: &[usize], values: Vec<f32>) {
        self.tensors.push(Tensor { name: name.into(), shape: shape.to_vec(), values });
    }

    fn add_vector(&mut self, name: &str, values: Vec<f32>) {
        self.add(name, &[values.len()], values);
    }

    fn count(&mut self, name: &str, value: u64) {
        self.integers.push((name.to_owned(), value));
    }

    /// Adds matrices in the layout's order. `prefix` precedes each one's name.
    fn add_parameters(&mut self, prefix: &str, layout: &Layout, matrices: &[PaddedMatrix<f32>]) {
        for ((name, rows, columns), matrix) in layout.shapes().into_iter().zip(matrices) {
            let values = (0..rows).flat_map(|row| matrix.row(row).iter().copied()).collect();
            self.add(format!("{prefix}.{name}"), &[rows, columns], values);
        }
    }

    fn sorted(mut self) -> Self {
        self.tensors.sort_by(|one, other| one.name.cmp(&other.name));
        self
    }

    fn tensor(&self, name: &str) -> Result<&Tensor, Error> {
        let tensor = self.tensors.iter().find(|tensor| tensor.name == name);
        let tensor = tensor.ok_or_else(|| Error::State(format!("it has no tensor {name}")))?;
        let size = tensor.shape.iter().try_fold(1_usize, |size, &of| size.checked_mul(of));
        if size != Some(tensor.values.len()) {
            return Err(Error::State(format!("tensor {name} has not the size of its shape")));
        }
        Ok(tensor)
    }

    fn integer(&self, name: &str) -> Result<u64, Error> {
        let value = self.integers.iter().find(|(of, _)| of == name).map(|&(_, value)| value);
        value.ok_or_else(|| Error::State(format!("it has no integer {name}")))
    }

    /// An integer that is a size, at most 2²⁴.
    fn size(&self, name: &str) -> Result<usize, Error> {
        let value = self.integer(name)?;
        let size = usize::try_from(value).ok().filter(|&size| size <= 1 << 24);
        size.ok_or_else(|| Error::State(format!("{name} is {value}, more than 16,777,216")))
    }

    fn parameters(&self, prefix: &str, layout: &Layout) -> Result<Vec<PaddedMatrix<f32>>, Error> {
        let matrix = |(name, rows, columns): (String, usize, usize)| {
            let name = format!("{prefix}.{name}");
            let tensor = self.tensor(&name)?;
            if tensor.shape != [rows, columns] {
                return Err(Error::State(format!("tensor {name} is {:?}, not {rows} × {columns}", tensor.shape)));
            }
            let mut matrix = PaddedMatrix::zeros(rows, columns);
            for (row, values) in tensor.values.chunks_exact(columns.max(1)).enumerate() {
                matrix.row_mut(row).copy_from_slice(values);
            }
            Ok(matrix)
        };
        layout.shapes().into_iter().map(matrix).collect()
    }

    fn encoder(&self) -> Result<Encoder, Error> {
        let is_indicator = &self.tensor("kinds")?.values;
        let kind = |&is: &f32| if is == 0.0 { InputKind::Number } else { InputKind::Indicator };
        let kinds: Vec<InputKind> = is_indicator.iter().map(kind).collect();
        let values = |name| self.tensor(name).map(|tensor| &tensor.values);
        let (centres, factors) = (values("centres")?, values("factors")?);
        let (mut edges, counts) = (values("edges")?.as_slice(), values("edge_counts")?);
        let scales = centres.iter().zip(factors).map(|(&centre, &factor)| RobustScale { centre, factor }).collect();
        let mut bins = vec![];
        for &count in counts {
            let (first, rest) = edges.split_at_checked(count as usize).ok_or_else(|| misfit("edge_counts"))?;
            if first.len() == 1 || !first.is_sorted_by(|a, b| a < b) {
                return Err(misfit("edges"));
            }
            bins.push(Bins { edges: first.to_vec() });
            edges = rest;
        }
        let encoder = Encoder { kinds, scales, bins, thresholds: values("thresholds")?.clone() };
        let indicators = encoder.kinds.iter().filter(|kind| **kind == InputKind::Indicator).count();
        let numbers = encoder.kinds.len() - indicators;
        let fits = [centres.len(), factors.len(), counts.len()] == [numbers; 3];
        match fits && encoder.thresholds.len() == indicators && numbers + indicators > 0 && edges.is_empty() {
            true => Ok(encoder),
            false => Err(misfit("kinds")),
        }
    }
}

fn misfit(name: &str) -> Error {
    Error::State(format!("{name} does not fit the other tensors"))
}

impl PartialEq for TableNetwork {
    fn eq(&self, other: &Self) -> bool {
        self.state() == other.state()
    }
}

impl TableNetwork {
    /// The network's state, for saving.
    pub fn state(&self) -> State {
        let Self { encoder, layout, parameters, linear } = self;
        let mut state = State::default();
        state.count("members", layout.members as u64);
        state.count("embedding", layout.embedding as u64);
        state.count("indicator_embedding", layout.indicator_width as u64);
        state.count("layers", layout.hidden.len() as u64);
        for (layer, &units) in layout.hidden.iter().enumerate() {
            state.count(&format!("units.{layer}"), units as u64);
        }
        let is_indicator = |kind: &InputKind| f32::from(u8::from(*kind == InputKind::Indicator));
        state.add_vector("kinds", encoder.kinds.iter().map(is_indicator).collect());
        state.add_vector("centres", encoder.scales.iter().map(|scale| scale.centre).collect());
        state.add_vector("factors", encoder.scales.iter().map(|scale| scale.factor).collect());
        state.add_vector("edge_counts", encoder.bins.iter().map(|bins| bins.edges.len() as f32).collect());
        state.add_vector("edges", encoder.bins.iter().flat_map(|bins| bins.edges.iter().copied()).collect());
        state.add_vector("thresholds", encoder.thresholds.clone());
        state.add_vector("linear", linear.coefficients.clone());
        state.add_vector("linear_range", linear.range.to_vec());
        state.add_vector("linear_share", vec![linear.share]);
        state.add_parameters("network", layout, parameters);
        state.sorted()
    }

    /// Restores the network from [`Self::state`].
    ///
    /// # Errors
    /// If something is missing, or a shape does not match the rest.
    pub fn from_state(state: &State) -> Result<Self, Error> {
        let encoder = state.encoder()?;
        let layers = state.size("layers")?;
        let hidden: Vec<usize> =
            (0..layers).map(|layer| state.size(&format!("units.{layer}"))).collect::<Result<_, _>>()?;
        let (members, embedding) = (state.size("members")?, state.size("embedding")?);
        if [members, embedding, layers].contains(&0) || hidden.contains(&0) {
            return Err(Error::State("a size is 0".to_owned()));
        }
        let layout = Layout::new(members, embedding, state.size("indicator_embedding")?, &hidden, &encoder);
        let parameters = state.parameters("network", &layout)?;
        let coefficients = state.tensor("linear")?.values.clone();
        let &[share] = state.tensor("linear_share")?.values.as_slice() else { return Err(misfit("linear_share")) };
        let &[least, most] = state.tensor("linear_range")?.values.as_slice() else {
            return Err(misfit("linear_range"));
        };
        if coefficients.len() != encoder.kinds.len() + 1 || least.is_nan() || most.is_nan() || least > most {
            return Err(misfit("linear"));
        }
        Ok(Self { encoder, layout, parameters, linear: Linear { coefficients, range: [least, most], share } })
    }
}

impl Training {
    /// The run's state, for saving.
    pub fn state(&self) -> State {
        let layout = &self.network.layout;
        let mut state = self.network.state();
        state.add_parameters("best", layout, &self.best.parameters);
        state.add_parameters("means", layout, &self.moments.means);
        state.add_parameters("squares", layout, &self.moments.squares);
        state.add_parameters("averages", layout, &self.moments.averages);
        state.count("epoch", self.epoch as u64);
        state.count("step", self.step as u64);
        state.count("best_epoch", self.best.epoch as u64);
        state.count("loss_bits", self.loss.to_bits());
        state.count("best_rmse_bits", self.best.rmse.to_bits());
        state.sorted()
    }

    /// Resumes a run from a saved state, with its original options and rows. It continues with the
    /// same bits. The number of epochs may differ.
    ///
    /// # Errors
    /// As for [`Training::new`], or if the state has other shapes or was learned from other rows.
    pub fn resume(
        options: Options,
        kinds: &[InputKind],
        inputs: ArrayView2<f32>,
        targets: ArrayView2<f32>,
        state: &State,
    ) -> Result<Self, Error> {
        let mut training = Self::new(options, kinds, inputs, targets)?;
        let network = TableNetwork::from_state(state)?;
        if network.encoder != training.network.encoder {
            return Err(Error::State("it was learnt from other rows".to_owned()));
        }
        if network.layout != training.network.layout {
            return Err(Error::State("it has other members, embeddings or layers".to_owned()));
        }
        let layout = &network.layout;
        let best = state.parameters("best", layout)?;
        training.moments.means = state.parameters("means", layout)?;
        training.moments.squares = state.parameters("squares", layout)?;
        training.moments.averages = state.parameters("averages", layout)?;
        let (epoch, step, best_epoch) = (state.size("epoch")?, state.size("step")?, state.size("best_epoch")?);
        if step > training.steps_per_epoch() || best_epoch > epoch {
            return Err(Error::State(format!("it has step {step} of epoch {epoch}, and {best_epoch} as the best")));
        }
        (training.epoch, training.step) = (epoch, step);
        training.loss = f64::from_bits(state.integer("loss_bits")?);
        let rmse = f64::from_bits(state.integer("best_rmse_bits")?);
        training.best = Best { epoch: best_epoch, rmse, parameters: best };
        training.network = network;
        training.derive();
        Ok(training)
    }
}
