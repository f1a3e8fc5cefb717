//! The house rules as tests: each lists every place that breaks it, and what to do there.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod arrows;
mod documents;
mod offence;
mod project;
mod rooms;
mod safety;
mod sizes;
mod words;
