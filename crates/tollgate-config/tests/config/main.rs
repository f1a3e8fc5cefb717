//! What config files may say, what is said of those that are wrong, and that nothing in a file can
//! do harm.

mod envoy;
mod faults;
mod five_faults;
mod gateway;
mod json_and_yaml;
mod own_algorithm;
mod plans;
mod policies;
mod reading;
mod robustness;
mod schema;
mod support;
mod syntax;
