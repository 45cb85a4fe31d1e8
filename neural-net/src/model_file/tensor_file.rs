//! Strict reading of safetensors files: damaged, missing, surplus and non-finite data cause errors
//! that name them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensors};
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Loaded, ModelFileError, NamedTensor, Unverified, io_error};
use crate::checksum::{self, Seal};
use crate::engine::{LayerArrays, Parameters};
use crate::training::Optimizer;
use crate::{Architecture, Network};

/// A program's file format: the identification and metadata keys of one kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The program that writes them.
    pub program: &'static str,
    /// The value of their metadata key `format`.
    pub name: &'static str,
    /// Whether they have a checksum.
    ///
    /// Flipped bits cannot turn a file with a checksum into one without. The format's name differs
    /// by at least two bits. The checksum's key would also have to be missing, and any other key in
    /// its place is rejected.
    /// bits, and the checksum's key would have to be missing, while any other key in its place is rejected.
    pub has_checksum: bool,
    /// Their other metadata keys.
    pub keys: &'static [&'static str],
    /// Optional metadata keys.
    pub optional: &'static [&'static str],
}

/// A safetensors file in memory.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    program: &'static str,
    bytes: Vec<u8>,
    metadata: HashMap<String, String>,
    is_verified: bool,
}

impl TensorFile {
    /// Reads a file in one of a program's formats. The program writes the first of these.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or has another format.
    pub fn read(path: &Path, formats: &[Format]) -> Result<Self, ModelFileError> {
        Self::parse(path, std::fs::read(path).map_err(io_error(path, "read"))?, formats)
    }

    /// Parses a file's bytes. Errors name `path`.
    ///
    /// # Errors
    /// If it is damaged, or has another format.
    pub fn parse(path: &Path, bytes: Vec<u8>, formats: &[Format]) -> Result<Self, ModelFileError> {
        let damaged = |reason| ModelFileError::Damaged { path: path.to_path_buf(), reason };
        let not_safetensors = |source| ModelFileError::NotSafetensors { path: path.to_path_buf(), source };
        let seal = checksum::check(&bytes);
        if seal == Seal::Broken {
            return Err(damaged("its checksum is wrong"));
        }
        let (header_length, header) = SafeTensors::read_metadata(&bytes).map_err(not_safetensors)?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let header: Result<Unique<Unique<IgnoredAny>>, _> = serde_json::from_slice(&bytes[8..8 + header_length]);
        let file = Self {
            path: path.to_path_buf(),
            program: formats[0].program,
            bytes,
            metadata,
            is_verified: seal == Seal::Intact,
        };
        if let Err(error) = header {
            return Err(file.not_ours(format!("its header cannot be read: {error}")));
        }
        let found = file.metadata("format")?;
        let Some(format) = formats.iter().find(|format| format.name == found) else {
            let hint =
                if found == super::PYTORCH_FORMAT { ": it is for PyTorch; give a file without --save-for" } else { "" };
            return Err(file.not_ours(format!("its format is {found:?} instead of {:?}{hint}", formats[0].name)));
        };
        if format.has_checksum && !file.is_verified {
            return Err(damaged("its checksum is missing"));
        }
        format.keys.iter().try_for_each(|key| file.metadata(key).map(drop))?;
        let checksum = format.has_checksum.then_some(&checksum::KEY);
        let known = format.keys.iter().chain(format.optional).chain(&["format"]).chain(checksum);
        let mut unknown = file.metadata.keys().filter(|key| !known.clone().any(|known| known == key));
        match unknown.next() {
            Some(key) => Err(file.not_ours(format!("its metadata have {key:?}, which is not known"))),
            None => Ok(file),
        }
    }

    /// Pairs content from this file with a warning if the file has no checksum.
    pub fn loaded<T>(&self, content: T) -> Loaded<T> {
        let unverified = (!self.is_verified).then(|| Unverified { path: self.path.clone() });
        Loaded { content, unverified }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has a checksum; it has been verified.
    pub fn is_verified(&self) -> bool {
        self.is_verified
    }

    /// The value of a metadata key.
    ///
    /// # Errors
    /// If the key is missing.
    pub fn metadata(&self, name: &str) -> Result<&str, ModelFileError> {
        let value = self.metadata.get(name);
        value.map(String::as_str).ok_or_else(|| self.not_ours(format!("its metadata have no {name:?}")))
    }

    /// A [`ModelFileError::NotOurs`] with this file's path.
    pub fn not_ours(&self, reason: String) -> ModelFileError {
        ModelFileError::NotOurs { path: self.path.clone(), program: self.program, reason }
    }

    pub(crate) fn architecture(&self) -> Result<Architecture, ModelFileError> {
        let sizes = self.metadata("sizes")?;
        let sizes: Vec<usize> = sizes
            .split(',')
            .map(|size| size.trim().parse().map_err(|_| self.not_ours(format!("sizes {sizes:?} are not integers"))))
            .collect::<Result<_, _>>()?;
        let activation = |name: &str| {
            let value = self.metadata(name)?;
            value.parse().map_err(|_| self.not_ours(format!("unknown {name} {value:?}")))
        };
        Architecture::new(sizes, activation("hidden_activation")?, activation("output_activation")?)
            .map_err(|source| ModelFileError::Architecture { path: self.path.clone(), source })
    }

    /// Checks that the file has only the tensors of `layers` layers under each of the prefixes.
    /// Another tensor may belong to a larger network.
    ///
    /// # Errors
    /// If there is another tensor; the message names it.
    pub fn reject_other_tensors(&self, prefixes: &[&str], layers: usize) -> Result<(), ModelFileError> {
        let is_known = |name: &str| {
            let parts = name.split_once('.').and_then(|(prefix, rest)| Some((prefix, rest.split_once('.')?)));
            parts.is_some_and(|(prefix, (layer, kind))| {
                let is_layer = layer.parse().is_ok_and(|index: usize| index < layers && index.to_string() == layer);
                prefixes.contains(&prefix) && is_layer && ["weight", "bias"].contains(&kind)
            })
        };
        match self.tensors()?.names().into_iter().find(|name| !is_known(name)) {
            Some(name) => {
                Err(self.not_ours(format!("it has a tensor {name:?}, but by its sizes only {layers} layers")))
            }
            None => Ok(()),
        }
    }

    /// The network in the tensors with names that begin with `prefix`.
    ///
    /// # Errors
    /// If a tensor is missing, does not match the architecture, or has a non-finite value.
    pub fn network(&self, prefix: &str, architecture: Architecture) -> Result<Network, ModelFileError> {
        let (weights, biases) = self.layers(prefix, architecture.layers())?.into_iter().unzip();
        Network::new(architecture, weights, biases)
            .map_err(|source| ModelFileError::Shape { path: self.path.clone(), source })
    }

    /// The parameters in the tensors that [`parameter_tensors`](super::parameter_tensors) created.
    /// In the layers of `others`, the file also has other tensors.
    ///
    /// # Errors
    /// If a tensor is missing or surplus, does not match the architecture, has a non-finite value,
    /// or has a value below 0 in `squares`.
    pub fn parameters(
        &self,
        architecture: &Architecture,
        has_velocities: bool,
        optimizer: Optimizer,
        others: &[&str],
    ) -> Result<Parameters, ModelFileError> {
        let network = self.network("layers", architecture.clone())?;
        let has_squares = optimizer == Optimizer::Adam;
        // The optimizer's state has a network's shapes and is checked like one.
        let state = |prefix: &str, is_there: bool| -> Result<Option<LayerArrays>, ModelFileError> {
            let Some(state) = is_there.then(|| self.network(prefix, architecture.clone())).transpose()? else {
                return Ok(None);
            };
            Ok(Some(state.weights().iter().cloned().zip(state.biases().iter().cloned()).collect()))
        };
        let (velocities, squares) = (state("velocities", has_velocities)?, state("squares", has_squares)?);
        let mut values = squares.iter().flatten().flat_map(|(weights, biases)| weights.iter().chain(biases));
        if let Some(negative) = values.find(|square| **square < 0.0) {
            return Err(self.not_ours(format!("its mean squared gradients contain {negative}, which is below 0")));
        }
        let states = [("velocities", has_velocities), ("squares", has_squares)];
        let states = states.into_iter().filter_map(|(prefix, is_there)| is_there.then_some(prefix));
        let prefixes: Vec<&str> = ["layers"].into_iter().chain(states).chain(others.iter().copied()).collect();
        self.reject_other_tensors(&prefixes, architecture.layers())?;
        Ok(Parameters { network, velocities, squares })
    }

    /// All tensors, by name.
    ///
    /// # Errors
    /// If one is not F32, or has a non-finite value.
    pub fn named_tensors(&self) -> Result<Vec<NamedTensor>, ModelFileError> {
        let tensors = self.tensors()?;
        let mut names = tensors.names();
        names.sort_unstable();
        let tensor = |name: &str| {
            let (shape, elements) = self.tensor(&tensors, name)?;
            Ok((name.to_owned(), shape, elements))
        };
        names.into_iter().map(tensor).collect()
    }

    /// A tensor's shape and elements.
    fn tensor(&self, tensors: &SafeTensors<'_>, name: &str) -> Result<(Vec<usize>, Vec<f32>), ModelFileError> {
        let tensor = tensors.tensor(name).map_err(|_| self.not_ours(format!("it has no tensor {name:?}")))?;
        if tensor.dtype() != Dtype::F32 {
            let (dtype, shape) = (tensor.dtype(), tensor.shape());
            return Err(self.not_ours(format!("{name} is {dtype:?} of shape {shape:?} instead of F32")));
        }
        let elements: Vec<f32> =
            tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        match elements.iter().all(|element| element.is_finite()) {
            true => Ok((tensor.shape().to_vec(), elements)),
            false => Err(ModelFileError::NotFinite { path: self.path.clone(), tensor: name.to_owned() }),
        }
    }

    fn tensors(&self) -> Result<SafeTensors<'_>, ModelFileError> {
        SafeTensors::deserialize(&self.bytes)
            .map_err(|source| ModelFileError::NotSafetensors { path: self.path.clone(), source })
    }

    /// The matrix and the vector of each of `count` layers, from tensors with names that begin with
    /// `prefix`.
    fn layers(&self, prefix: &str, count: usize) -> Result<LayerArrays, ModelFileError> {
        let tensors = self.tensors()?;
        let tensor = |name: String, dimensions: usize| {
            let (shape, elements) = self.tensor(&tensors, &name)?;
            match shape.len() == dimensions {
                true => Ok((shape, elements)),
                false => Err(self.not_ours(format!("{name} is of shape {shape:?} instead of {dimensions} dimensions"))),
            }
        };
        let misshapen = |error: ndarray::ShapeError| self.not_ours(error.to_string());
        let layer = |index: usize| {
            let (shape, elements) = tensor(format!("{prefix}.{index}.weight"), 2)?;
            let weights = Array2::from_shape_vec((shape[0], shape[1]), elements).map_err(misshapen)?;
            let (_, elements) = tensor(format!("{prefix}.{index}.bias"), 1)?;
            Ok((weights, Array1::from(elements)))
        };
        (0..count).map(layer).collect()
    }
}

/// A JSON object without duplicate keys. With duplicates, the content would depend on the reader:
/// most use the last one.
struct Unique<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self(PhantomData))
    }
}

impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value::<V>()?;
            if seen.contains(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} is duplicate")));
            }
            seen.insert(key);
        }
        Ok(self)
    }
}
