//! Calls to a submission's functions from another process, the judge, which creates the inputs and
//! compares the results.
//!
//! Nothing that a submission prints or returns is a verdict. The submission's process, the runner,
//! [serves](Functions::serve) its functions: it reads requests, calls the functions, and sends back
//! what they return. The grader starts both processes, each in its own sandbox, connected by a
//! socket. The socket is the standard input of the judge, which makes the [`call`]s. A frame is a
//! length in 8 bytes, little-endian, and a value in postcard's format. Submissions are graded on
//! Linux; on systems other than Unix this crate is empty.

#![cfg(unix)]

mod allocations;
mod gpu_calls;
mod matrix;
mod runner;
mod submission;
mod times;

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use allocations::{COUNTING_ALLOCATOR, CountingAllocator, allocations_of};
pub use gpu_calls::{
    Launch, by_simulator, launched, launched_of, of_interpreter, of_interpreter_without_races, on_gpu, only_launch,
    require_kernels, require_writes,
};
pub use matrix::Matrix;
pub use runner::{Answer, Functions};
pub use submission::{call, timed, value};
pub use times::{Times, compared, times_of};

/// Maximum length of a received frame, in bytes.
const MAX_FRAME: u64 = 256 << 20;

/// A request from the judge.
#[derive(Serialize, Deserialize)]
enum Request {
    /// Sends the encoded arguments of a call. The runner does not answer.
    Load { function: String, arguments: Vec<u8> },
    /// Makes the call. The answer is the CPU time of the longest-running thread, in nanoseconds.
    Run,
    /// Fetches what the function returned: a `Result<R, String>`.
    Fetch,
}

fn write_frame(writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    writer.write_all(&(bytes.len() as u64).to_le_bytes())?;
    writer.write_all(bytes)?;
    writer.flush()
}

/// Reads a frame of at most `most` bytes.
fn read_frame(reader: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    reader.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > most {
        let message = format!("{length} bytes, at most {most} are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Maximum length in bytes of a submission's message, and the text appended to a message that was
/// cut.
const MAX_MESSAGE: usize = 4 << 10;
const CUT: &str = "… (cut: it is longer than 4 KiB)";

/// Cuts a message to at most [`MAX_MESSAGE`] bytes.
fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE - CUT.len()));
        message.push_str(CUT);
    }
    message
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    match postcard::to_extend(value, Vec::new()) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("every value that is sent has a known length: {error}"),
    }
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(io::Error::other)
}
