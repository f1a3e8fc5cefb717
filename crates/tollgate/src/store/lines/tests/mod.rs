//! What only tests need: models for the model checker, and a check of a whole section.

#[cfg(loom)]
mod models;
#[cfg(not(loom))]
mod validate;
