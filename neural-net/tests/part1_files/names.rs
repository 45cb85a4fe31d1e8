//! Names by which command lines and files select the options of a network and a training run.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use neural_net::engine::GpuPath;
use neural_net::names::UnknownName;
use neural_net::network::Initialization;
use neural_net::preset::Preset;
use neural_net::training::{GradientScale, Schedule};
use neural_net::{Activation, Loss};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Each value is parsed from its displayed name and from nothing else. The error lists all names.
fn check<T>(all: &[T], name: fn(T) -> &'static str)
where
    T: Copy + Debug + PartialEq + Display + FromStr<Err = UnknownName>,
{
    let names: Vec<&str> = all.iter().map(|&value| name(value)).collect();
    for (&value, &name) in all.iter().zip(&names) {
        assert_eq!(value.to_string(), name);
        assert_eq!(name.parse(), Ok(value));
        for other in [name.to_uppercase(), format!(" {name}"), name[1..].to_owned()] {
            let error = other.parse::<T>().unwrap_err();
            assert_eq!((&error.name, &error.names), (&other, &names));
            assert!(
                error.to_string().ends_with(&format!(" {other:?}: it must be one of {}", names.join(", "))),
                "{error}"
            );
        }
    }
}

/// [`check`] for a type stored in files: files use the same names and no others.
fn check_in_files<T>(all: &[T], name: fn(T) -> &'static str)
where
    T: Copy + Debug + PartialEq + Display + FromStr<Err = UnknownName> + Serialize + DeserializeOwned,
{
    check(all, name);
    for &value in all {
        assert_eq!(serde_json::to_value(value).unwrap(), json!(name(value)));
    }
    let error = serde_json::from_value::<T>(json!("")).unwrap_err().to_string();
    let in_files: Vec<&str> = error.split('`').skip(1).step_by(2).filter(|name| !name.is_empty()).collect();
    assert_eq!(in_files, all.iter().map(|&value| name(value)).collect::<Vec<_>>(), "{error}");
}

#[test]
fn part1_choices_are_read_by_their_names() {
    check_in_files(&Activation::ALL, Activation::name);
    check_in_files(&Loss::ALL, Loss::name);
    check_in_files(&Initialization::ALL, Initialization::name);
    check_in_files(&GradientScale::ALL, GradientScale::name);
    check_in_files(&Schedule::ALL, Schedule::name);
    check_in_files(&Preset::ALL, Preset::name);
    check(&GpuPath::ALL, GpuPath::name);
}
