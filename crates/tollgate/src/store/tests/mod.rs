//! What tests both stores: what they have in common, and any calls, which a fuzzer makes too.

#[cfg(test)]
mod both;
pub(crate) mod fuzz;
