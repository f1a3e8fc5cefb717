//! Any bytes as calls of both stores: every answer is the one the quota's definition gives, and the table stays whole.
//! The tests of the library run the same driver, `crates/tollgate/src/store/tests/fuzz`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tollgate::drive_stores(bytes));
