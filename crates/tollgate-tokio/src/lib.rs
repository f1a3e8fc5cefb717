//! Calls that wait for a rate limiter instead of being refused, on tokio.
//!
//! Should you use this? If the caller is your own: a worker that must keep to a partner's limit, a job that may take
//! its time. A server that lets strangers wait keeps their requests open; it should refuse them and say when to come
//! back.
//!
//! [`Waiting`] stands around a [`RateLimiter`](tollgate::RateLimiter): [`until_allowed`](Waiting::until_allowed)
//! sleeps for exactly as long as the limiter says, in line with others who wait for the same, and never asks in
//! between. [`TokioClock`] has a limiter go by tokio's time, for tests that pause it.
//!
//! # Limits
//! | what | most | beyond it |
//! | --- | --- | --- |
//! | calls that wait | [10,000](Waiting::WAITERS) unless said | denied at once |
//! | calls that wait for one client and entry | [100](Waiting::WAITERS_PER_LINE) unless said | denied at once |

#![forbid(unsafe_code)]

mod clock;
mod line;
mod waiting;

pub use clock::TokioClock;
pub use waiting::{Waited, Waiting};
