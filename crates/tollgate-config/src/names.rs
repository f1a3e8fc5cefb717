//! The names that config files use: one list for the reader and the schema.

use tollgate::{Mode, OnFull, Scope};

pub(crate) use crate::gateway::names::GATEWAY;

pub(crate) const DEFAULT: &str = "default";
pub(crate) const ENDPOINTS: &str = "endpoints";
pub(crate) const SHARED_LIMITS: &str = "sharedLimits";
pub(crate) const EVERY: &str = "every";
pub(crate) const PLANS: &str = "plans";
pub(crate) const CLIENTS: &str = "clients";
pub(crate) const CLIENT: &str = "client";
pub(crate) const PREFIX: &str = "prefix";
pub(crate) const PLAN: &str = "plan";
pub(crate) const OVERRIDES: &str = "overrides";
pub(crate) const UNTIL: &str = "until";
pub(crate) const ENDPOINT: &str = "endpoint";
pub(crate) const ALGORITHM: &str = "algorithm";
pub(crate) const ALGO_CONFIG: &str = "algoConfig";
pub(crate) const LIMITS: &str = "limits";
pub(crate) const USE: &str = "use";
pub(crate) const UNLIMITED: &str = "unlimited";
pub(crate) const DENY: &str = "deny";
pub(crate) const EXEMPT: &str = "exempt";
pub(crate) const COST: &str = "cost";
pub(crate) const PENALTY: &str = "penalty";
pub(crate) const DENIALS: &str = "denials";
pub(crate) const BLOCK_FOR: &str = "blockFor";
pub(crate) const NAME: &str = "name";
pub(crate) const SCOPE: &str = "scope";
pub(crate) const MODE: &str = "mode";
pub(crate) const WAS: &str = "was";
pub(crate) const MAX_KEYS: &str = "maxKeys";
pub(crate) const ON_FULL: &str = "onFull";

/// What a whole config may say.
pub(crate) const CONFIG_FIELDS: [&str; 9] =
    [DEFAULT, ENDPOINTS, SHARED_LIMITS, EVERY, PLANS, CLIENTS, MAX_KEYS, ON_FULL, GATEWAY];

/// What an entry of `endpoints` may say.
pub(crate) const ENTRY_FIELDS: &[&str] = &[
    ENDPOINT,
    ALGORITHM,
    ALGO_CONFIG,
    LIMITS,
    USE,
    UNLIMITED,
    DENY,
    EXEMPT,
    COST,
    PENALTY,
    PLANS,
    OVERRIDES,
    MAX_KEYS,
    ON_FULL,
];

/// What `default` may say: the same but for the endpoint.
pub(crate) const LIMITER_FIELDS: &[&str] = ENTRY_FIELDS.split_at(1).1;

/// What an element of `clients` may say.
pub(crate) const CLIENT_FIELDS: [&str; 3] = [CLIENT, PREFIX, PLAN];

/// What a plan of an entry may say.
pub(crate) const PLAN_FIELDS: [&str; 5] = [ALGORITHM, ALGO_CONFIG, LIMITS, UNLIMITED, DENY];

/// What an override may say.
pub(crate) const OVERRIDE_FIELDS: [&str; 7] =
    [CLIENT, UNTIL, ALGORITHM, ALGO_CONFIG, LIMITS, UNLIMITED, DENY];

/// What a penalty may say.
pub(crate) const PENALTY_FIELDS: [&str; 2] = [DENIALS, BLOCK_FOR];

/// What a limit with a name may say.
pub(crate) const LIMIT_FIELDS: [&str; 8] =
    [NAME, ALGORITHM, ALGO_CONFIG, SCOPE, MODE, WAS, MAX_KEYS, ON_FULL];

/// The words for what happens when a limiter holds as many keys as it may; the first is the
/// default.
pub(crate) const ON_FULL_WORDS: [(&str, OnFull); 3] =
    [("overflow", OnFull::Overflow), ("deny", OnFull::Deny), ("admit", OnFull::Admit)];

/// The words for whose calls a limit counts together; the first is the default.
pub(crate) const SCOPE_WORDS: [(&str, Scope); 3] = [
    (Scope::Client.word(), Scope::Client),
    (Scope::Tenant.word(), Scope::Tenant),
    (Scope::Global.word(), Scope::Global),
];

/// The words for whether a limit denies; the first is the default.
pub(crate) const MODE_WORDS: [(&str, Mode); 2] =
    [(Mode::Enforce.word(), Mode::Enforce), (Mode::Shadow.word(), Mode::Shadow)];
