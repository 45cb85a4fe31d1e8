//! Options of the emulator, read from environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

use cuda_launch::{Schedule, Search};
use ptx_interpreter::{Options as LaunchOptions, Uninitialised};
use thiserror::Error;

use crate::architecture::{Architecture, UnknownArchitecture};

/// The devices: a list such as `sm_90,sm_75`.
pub const DEVICES: &str = "CUDA_EMULATOR_DEVICES";
/// Number of multiprocessors of each device.
pub const MULTIPROCESSORS: &str = "CUDA_EMULATOR_MULTIPROCESSORS";
/// `on` or `off`: whether to check for data races.
pub const RACES: &str = "CUDA_EMULATOR_RACES";
/// `on` or `off`: whether to enforce rules on barriers and shuffles that PTX does not have.
pub const STRICT: &str = "CUDA_EMULATOR_STRICT";
/// How to report loads of uninitialized memory: `off`, `note` or `error`.
pub const UNINITIALISED: &str = "CUDA_EMULATOR_UNINITIALISED";
/// `on` or `off`: whether volatile accesses are treated as plain ones.
pub const VOLATILE_IS_PLAIN: &str = "CUDA_EMULATOR_VOLATILE_IS_PLAIN";
/// `on` or `off`: whether unordered writes of the same value are errors.
pub const SAME_VALUE_FAULTS: &str = "CUDA_EMULATOR_SAME_VALUE_FAULTS";
/// Number of schedules in which each launch runs.
pub const ORDERS: &str = "CUDA_EMULATOR_ORDERS";
/// Seed that chooses the schedules after the first two.
pub const SEED: &str = "CUDA_EMULATOR_SEED";
/// The only schedule in which each launch runs, such as `descending@3`.
pub const ORDER: &str = "CUDA_EMULATOR_ORDER";
/// Seed that chooses when queued work runs, as late or as early as CUDA allows. With 0, work runs
/// when it is queued.
pub const ASYNC_ORDER: &str = "CUDA_EMULATOR_ASYNC_ORDER";
/// Maximum number of source lines per launch for which the first error is reported.
pub const MAX_FAULTS: &str = "CUDA_EMULATOR_MAX_FAULTS";
/// `on` or `off`: whether a launch and its program continue after an error. Otherwise the context
/// has an error, as on a GPU.
pub const KEEP_GOING: &str = "CUDA_EMULATOR_KEEP_GOING";
/// The file for launches and errors in JSON. `%p` in its name is replaced by the process id.
pub const JSON: &str = "CUDA_EMULATOR_JSON";
/// The file for the names of the driver functions called, one line per call, in order. `%p` in its
/// name is replaced by the process id.
pub const CALLS: &str = "CUDA_EMULATOR_CALLS";
/// The folder for the first launch with an error, which `kernel-debugger` can replay.
pub const CAPTURE: &str = "CUDA_EMULATOR_CAPTURE";
/// The CUDA version that the driver reports, such as 12.9.
pub const VERSION: &str = "CUDA_EMULATOR_VERSION";

/// CUDA's own variable: the devices that the program sees, by number or UUID.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// CUDA's own variable: with 1, a launch returns its error itself; otherwise the next call does.
const LAUNCH_BLOCKING: &str = "CUDA_LAUNCH_BLOCKING";

/// Default for the maximum number of source lines per launch for which the first error is reported.
const DEFAULT_MAX_FAULTS: u64 = 20;

/// The CUDA version that the driver reports by default: the newest. Programs reject a driver older
/// than their toolkit, and accept any newer one.
const DEFAULT_VERSION: (i32, i32) = (13, 5);

/// The options from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The devices that the program sees.
    pub(crate) devices: Vec<Architecture>,
    pub(crate) launch: LaunchOptions,
    pub(crate) json: Option<PathBuf>,
    pub(crate) calls: Option<PathBuf>,
    pub(crate) capture: Option<PathBuf>,
    /// The seed of an asynchronous order.
    pub(crate) async_order: Option<u64>,
    /// Whether a launch itself returns its error.
    pub(crate) launch_blocking: bool,
    /// In the format of `cuDriverGetVersion`: 12090.
    pub(crate) version: i32,
}

/// An environment variable with an invalid value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{variable} is {value:?}: it must be {expected}")]
pub struct OptionError {
    /// The variable's name.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The values that are allowed.
    pub expected: String,
}

impl Options {
    /// Reads the options from the environment.
    ///
    /// # Errors
    /// The first variable with an invalid value.
    pub fn from_environment() -> Result<Self, OptionError> {
        Self::new(|variable| std::env::var_os(variable))
    }

    /// Reads the options from the variables that `get` returns. An empty variable counts as unset.
    ///
    /// # Errors
    /// Same as [`from_environment`](Self::from_environment).
    pub fn new(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, OptionError> {
        let path = |variable| get(variable).filter(|value| !value.is_empty());
        let text = |variable| path(variable).map(|value| value.to_string_lossy().into_owned());
        let wrong = |variable, value: &str, expected: &str| {
            let (value, expected) = (value.to_owned(), expected.to_owned());
            OptionError { variable, value, expected }
        };
        let number = |variable, default: u64, maximum: u64| match text(variable) {
            None => Ok(default),
            Some(value) => value.parse().ok().filter(|number| (1..=maximum).contains(number)).ok_or_else(|| {
                let expected = format!("a number from 1 to {maximum}");
                wrong(variable, &value, &expected)
            }),
        };
        let devices = text(DEVICES).unwrap_or_else(|| "sm_90".to_owned());
        let architectures = devices.split(',').map(|name| name.trim().parse());
        let mut architectures = architectures
            .collect::<Result<Vec<Architecture>, UnknownArchitecture>>()
            .map_err(|unknown| wrong(DEVICES, &devices, &unknown.to_string()))?;
        for (place, device) in (0..).zip(&mut architectures) {
            device.number = place;
            device.multiprocessors = number(MULTIPROCESSORS, device.multiprocessors.into(), 1024)? as u32;
        }
        if let Some(visible) = get(VISIBLE_DEVICES) {
            architectures = visible_devices(&architectures, &visible.to_string_lossy());
        }
        let is_on = |variable, default| match text(variable).as_deref() {
            None => Ok(default),
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            Some(value) => Err(wrong(variable, value, "on or off")),
        };
        let schedule = match text(ORDER) {
            None => Schedule::default(),
            Some(value) => value.parse().map_err(|_| wrong(ORDER, &value, "an order that a fault's message names"))?,
        };
        let seed = |variable| match text(variable) {
            None => Ok(0),
            Some(value) => value.parse().map_err(|_| wrong(variable, &value, "a number from 0 to 2⁶⁴ − 1")),
        };
        let uninitialised = match text(UNINITIALISED) {
            None => Uninitialised::Note,
            Some(value) => value.parse().map_err(|_| wrong(UNINITIALISED, &value, "off, note or error"))?,
        };
        let runs = number(ORDERS, 1, 1_000_000)? as u32;
        let version = match text(VERSION) {
            None => DEFAULT_VERSION,
            Some(value) => {
                let parts =
                    value.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
                let is_known = |(major, minor): &(i32, i32)| (11..=13).contains(major) && (0..10).contains(minor);
                parts.filter(is_known).ok_or_else(|| wrong(VERSION, &value, "11.0 to 13.9"))?
            }
        };
        Ok(Self {
            devices: architectures,
            launch: LaunchOptions {
                check_races: is_on(RACES, true)?,
                strict: is_on(STRICT, false)?,
                uninitialised,
                volatile_is_plain: is_on(VOLATILE_IS_PLAIN, false)?,
                same_value_races_are_faults: is_on(SAME_VALUE_FAULTS, false)?,
                max_faults: number(MAX_FAULTS, DEFAULT_MAX_FAULTS, 1000)? as usize,
                keep_going: is_on(KEEP_GOING, false)?,
                schedule,
                search: Search { runs, seed: seed(SEED)?, ..Search::ONE },
                ..LaunchOptions::default()
            },
            json: path(JSON).map(|path| with_process_id(&path.to_string_lossy())),
            calls: path(CALLS).map(|path| with_process_id(&path.to_string_lossy())),
            capture: path(CAPTURE).map(PathBuf::from),
            async_order: Some(seed(ASYNC_ORDER)?).filter(|seed| *seed != 0),
            launch_blocking: text(LAUNCH_BLOCKING).is_some_and(|value| value != "0"),
            version: version.0 * 1000 + version.1 * 10,
        })
    }
}

/// The devices in a list of numbers and UUIDs, up to the first invalid entry (CUDA C++ Programming
/// Guide, "CUDA Environment Variables"). A UUID may be abbreviated to a prefix that identifies one
/// device.
fn visible_devices(all: &[Architecture], list: &str) -> Vec<Architecture> {
    let mut visible: Vec<Architecture> = Vec::new();
    for name in list.split(',').map(str::trim) {
        let is_named = |device: &&Architecture| match name.parse::<u32>() {
            Ok(number) => device.number == number,
            Err(_) => name.starts_with("GPU-") && device.uuid_text().starts_with(name),
        };
        match all.iter().filter(is_named).collect::<Vec<_>>()[..] {
            [device] if !visible.contains(device) => visible.push(*device),
            _ => break,
        }
    }
    visible
}

fn with_process_id(path: &str) -> PathBuf {
    path.replace("%p", &std::process::id().to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<Options, OptionError> {
        Options::new(|name| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn defaults_check_everything_on_one_device() {
        let options = options(&[]).unwrap();
        assert_eq!(options.devices, ["sm_90".parse().unwrap()]);
        assert!(options.launch.check_races);
        assert_eq!(options.launch.search, Search::ONE);
        assert_eq!((options.launch.strict, options.launch.uninitialised), (false, Uninitialised::Note));
        assert!(!options.launch.volatile_is_plain && !options.launch.same_value_races_are_faults);
        assert!(!options.launch.keep_going && options.async_order.is_none());
        assert_eq!((options.launch.max_faults, options.version), (20, 13_050));
    }

    #[test]
    fn each_variable_has_an_effect() {
        let options = options(&[
            (DEVICES, "sm_75, sm_90"),
            (MULTIPROCESSORS, "132"),
            (RACES, "off"),
            (STRICT, "on"),
            (UNINITIALISED, "error"),
            (VOLATILE_IS_PLAIN, "on"),
            (SAME_VALUE_FAULTS, "on"),
            (ORDERS, "8"),
            (SEED, "7"),
            (ORDER, "descending@3"),
            (ASYNC_ORDER, "9"),
            (MAX_FAULTS, "5"),
            (KEEP_GOING, "on"),
            (JSON, "out-%p.json"),
            (CALLS, "calls"),
            (CAPTURE, "folder"),
            (VERSION, "12.9"),
        ])
        .unwrap();
        assert_eq!(options.devices.iter().map(|device| device.multiprocessors).collect::<Vec<_>>(), [132; 2]);
        assert!(!options.launch.check_races);
        assert_eq!((options.launch.strict, options.launch.uninitialised), (true, Uninitialised::Error));
        assert!(options.launch.volatile_is_plain && options.launch.same_value_races_are_faults);
        assert_eq!((options.launch.search.runs, options.launch.search.seed), (8, 7));
        assert_eq!(options.launch.schedule.to_string(), "descending@3");
        assert_eq!((options.launch.max_faults, options.launch.keep_going), (5, true));
        assert_eq!(options.json, Some(format!("out-{}.json", std::process::id()).into()));
        assert_eq!((options.calls, options.capture), (Some("calls".into()), Some("folder".into())));
        assert_eq!((options.async_order, options.version), (Some(9), 12_090));
    }

    #[test]
    fn a_program_sees_the_devices_of_a_list() {
        let with_list = |list| options(&[(DEVICES, "sm_75,sm_80,sm_90"), (VISIBLE_DEVICES, list)]).unwrap().devices;
        let second = options(&[(DEVICES, "sm_75,sm_80")]).unwrap().devices[1].uuid_text();
        assert_eq!(second, "GPU-43554441-2065-6d75-6c61-746f72200001");
        for (list, numbers) in [
            ("1", &[1][..]),
            ("2, 0", &[2, 0]),
            ("0,3,1", &[0]),
            ("0,0,1", &[0]),
            ("1,-1,2", &[1]),
            (&second, &[1]),
            (&second[..second.len() - 1], &[]),
            ("", &[]),
        ] {
            assert_eq!(with_list(list).iter().map(|device| device.number).collect::<Vec<_>>(), numbers, "{list:?}");
        }
        assert_eq!(with_list("1")[0].major, 8);
    }

    #[test]
    fn a_wrong_value_is_named_with_what_it_must_be() {
        for (variable, value, message) in [
            (DEVICES, "sm_9", "CUDA_EMULATOR_DEVICES is \"sm_9\": it must be "),
            (RACES, "yes", "CUDA_EMULATOR_RACES is \"yes\": it must be on or off"),
            (UNINITIALISED, "no", "CUDA_EMULATOR_UNINITIALISED is \"no\": it must be off, note or error"),
            (ORDERS, "0", "CUDA_EMULATOR_ORDERS is \"0\": it must be a number from 1 to 1000000"),
            (SEED, "x", "CUDA_EMULATOR_SEED is \"x\": it must be a number from 0 to 2⁶⁴ − 1"),
            (ASYNC_ORDER, "-1", "CUDA_EMULATOR_ASYNC_ORDER is \"-1\": it must be a number from 0 to 2⁶⁴ − 1"),
            (ORDER, "?", "CUDA_EMULATOR_ORDER is \"?\": it must be an order that a fault's message names"),
            (VERSION, "9.2", "CUDA_EMULATOR_VERSION is \"9.2\": it must be 11.0 to 13.9"),
        ] {
            let error = options(&[(variable, value)]).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
