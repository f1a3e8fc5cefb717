//! The names that config files use: one list for the reader and the schema.

use tollgate::OnFull;

pub(crate) const DEFAULT: &str = "default";
pub(crate) const ENDPOINTS: &str = "endpoints";
pub(crate) const ENDPOINT: &str = "endpoint";
pub(crate) const ALGORITHM: &str = "algorithm";
pub(crate) const ALGO_CONFIG: &str = "algoConfig";
pub(crate) const MAX_KEYS: &str = "maxKeys";
pub(crate) const ON_FULL: &str = "onFull";

/// What a whole config may say.
pub(crate) const CONFIG_FIELDS: [&str; 4] = [DEFAULT, ENDPOINTS, MAX_KEYS, ON_FULL];

/// What `default` may say, and an entry beside its endpoint.
pub(crate) const LIMITER_FIELDS: [&str; 4] = [ALGORITHM, ALGO_CONFIG, MAX_KEYS, ON_FULL];

/// What an entry of `endpoints` may say.
pub(crate) const ENTRY_FIELDS: [&str; 5] = [ENDPOINT, ALGORITHM, ALGO_CONFIG, MAX_KEYS, ON_FULL];

/// The words for what happens when a limiter holds as many keys as it may; the first is the
/// default.
pub(crate) const ON_FULL_WORDS: [(&str, OnFull); 3] =
    [("overflow", OnFull::Overflow), ("deny", OnFull::Deny), ("admit", OnFull::Admit)];
