//! What only tests need: models for the model checker, sections of a few lines, and a check of a whole section.

#[cfg(loom)]
mod models;
#[cfg(not(loom))]
mod planned;
#[cfg(not(loom))]
mod validate;
