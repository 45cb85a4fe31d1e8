//! The submission's process.

use std::fmt::Display;
use std::fs::File;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use teaching_tests::call;

use crate::times::Clocks;
use crate::{MAX_FRAME, Request, decoded, encoded, read_frame, shortened, write_frame};

/// The return value of a submission's function, fallible or not.
pub trait Answer {
    /// The result.
    type Value;

    /// Returns the result, or the error as a sentence.
    ///
    /// # Errors
    /// The function's.
    fn answer(self) -> Result<Self::Value, String>;
}

impl<T> Answer for Vec<T> {
    type Value = Self;

    fn answer(self) -> Result<Self, String> {
        Ok(self)
    }
}

impl<T, E: Display> Answer for Result<T, E> {
    type Value = T;

    fn answer(self) -> Result<T, String> {
        self.map_err(|error| error.to_string())
    }
}

/// Encodes the return value of a call.
type Encode = Box<dyn FnOnce() -> Vec<u8>>;
/// Makes the call.
type Run = Box<dyn FnOnce() -> Encode>;

/// A function's name, and the closure that decodes its arguments.
type Function = (&'static str, Box<dyn Fn(&[u8]) -> io::Result<Run>>);

/// The functions of a submission.
#[derive(Default)]
pub struct Functions(Vec<Function>);

impl Functions {
    /// Adds a function. Panics in it become errors.
    #[must_use]
    pub fn with<A, R>(mut self, name: &'static str, function: fn(A) -> Result<R, String>) -> Self
    where
        A: DeserializeOwned + 'static,
        R: Serialize + 'static,
    {
        self.0.push((
            name,
            Box::new(move |arguments| {
                let arguments: A = decoded(arguments)?;
                Ok(Box::new(move || {
                    let result = call(|| function(arguments)).map_err(shortened);
                    Box::new(move || encoded(&result))
                }))
            }),
        ));
        self
    }

    /// Answers requests until none are left. Output of the functions goes to standard error, and
    /// their standard input is empty.
    ///
    /// # Errors
    /// If a request cannot be read or answered.
    pub fn serve(self) -> io::Result<()> {
        let (mut requests, mut answers) =
            (File::from(rustix::io::dup(io::stdin())?), File::from(rustix::io::dup(io::stdout())?));
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        let (mut loaded, mut ended): (Option<Run>, Option<Encode>) = (None, None);
        loop {
            let frame = match read_frame(&mut requests, MAX_FRAME) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                frame => frame?,
            };
            match decoded(&frame)? {
                Request::Load { function, arguments } => {
                    let known = self.0.iter().find(|(name, _)| *name == function);
                    let (_, decode) = known.ok_or_else(|| io::Error::other(format!("no function {function}")))?;
                    loaded = Some(decode(&arguments)?);
                }
                Request::Run => {
                    let clocks = Clocks::read();
                    ended = loaded.take().map(|run| run());
                    write_frame(&mut answers, &encoded(&clocks.longest_thread()))?;
                }
                Request::Fetch => {
                    let encode = ended.take().ok_or_else(|| io::Error::other("nothing has run"))?;
                    write_frame(&mut answers, &encode())?;
                }
            }
        }
    }
}
