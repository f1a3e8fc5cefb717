//! A decision said in HTTP.

mod caller;
mod cors;
mod fields;
mod jitter;
mod policies;
mod problem;
mod refusal;

use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS};

pub use caller::Caller;
pub use cors::Cors;
pub use fields::FieldStyle;
use jitter::Jitter;
pub use policies::{EntryPolicy, Policies};

/// What is told as `%` and hexadecimal digits where only printable ASCII can be told, beside all that is not ASCII.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// How decisions are said in HTTP: which fields, and what goes with a denial.
#[derive(Debug)]
#[must_use]
pub struct Answers {
    style: FieldStyle,
    jitter: Jitter,
    cors: Option<Cors>,
}

impl Default for Answers {
    fn default() -> Self {
        Self::new()
    }
}

impl Answers {
    /// The fields `RateLimit` and `RateLimit-Policy`, no jitter, and nothing for browsers.
    pub fn new() -> Self {
        Self { style: FieldStyle::RateLimit, jitter: Jitter::none(), cors: None }
    }

    /// Which fields tell clients how they stand.
    pub fn fields(self, style: FieldStyle) -> Self {
        Self { style, ..self }
    }

    /// Has each denied client wait up to so much longer, so that those who were denied together do not come back
    /// together. Never shorter.
    pub fn jitter(self, most: Duration) -> Self {
        Self { jitter: Jitter::up_to(most), ..self }
    }

    /// Lets scripts of other origins read the fields, and the answers to their denied requests.
    pub fn cors(self, cors: Cors) -> Self {
        Self { cors: Some(cors), ..self }
    }
}
