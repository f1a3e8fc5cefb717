//! Rate limiting over HTTP, without a server: who a request is from, which endpoint it is for, and a decision said in
//! fields, statuses and bodies.
//!
//! Should you use this? If you write a front door for [`RateLimiter`](tollgate::RateLimiter): a reverse proxy, a
//! middleware, an endpoint that a proxy asks. It does no I/O and needs no runtime; it takes the types of the `http`
//! crate and gives them back.
//!
//! ```
//! use http::{HeaderMap, Request};
//! use tollgate::{Config, RateLimiter, TokenBucket};
//! use tollgate_http::{Answers, Caller, ClientAddress, Clients, EndpointRules, Identified, Policies};
//!
//! let config = Config::builder()
//!     .default(TokenBucket::per_second(10))
//!     .endpoint("GET /search", TokenBucket::per_minute(60).burst(1))
//!     .build()?;
//! let policies = Policies::of(&config);
//! let limiter = RateLimiter::new(config);
//! let clients = Clients::by_address(ClientAddress::of_peer());
//! let (rules, answers) = (EndpointRules::new(), Answers::new());
//!
//! let request = Request::get("/./search?q=1").header("host", "api.example.com").body(())?;
//! let caller = Caller::of(request.headers());
//! let endpoint = rules.of_request(&request)?;
//! assert_eq!((endpoint.name(), endpoint.path_and_query()), ("GET /search", "/search?q=1"));
//!
//! let Identified::Client(client) = clients.identify("203.0.113.7".parse()?, request.headers()) else {
//!     unreachable!("everybody has an address");
//! };
//! let entry = limiter.entry(endpoint.name());
//! let policy = policies.of_entry(entry.as_deref());
//!
//! let allowed = limiter.allow(client.as_str(), endpoint.name());
//! let mut fields = HeaderMap::new();
//! answers.add_fields(&allowed, policy, &caller, &mut fields);
//! assert_eq!(fields["ratelimit-policy"], r#""GET /search";q=1;w=1"#);
//!
//! let denied = limiter.allow(client.as_str(), endpoint.name());
//! let response = answers.denial(&denied, policy, &caller);
//! assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (429, &"1".parse()?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! | what | most | beyond it |
//! | --- | --- | --- |
//! | proxies a request comes through | [8](ClientAddress::DEFAULT_MAX_HOPS) unless said | the client is unidentified |
//! | an IPv6 client | [64](ClientAddress::DEFAULT_IPV6_PREFIX) bits of its address unless said | the rest does not count |
//!
//! Fields and targets may be of any length: what is done takes time in proportion, and a server bounds them.
//!
//! # Map
//! - **Which endpoint**: [`EndpointRules`] bring a request target into one normal form, an [`Endpoint`]: what is judged
//!   and what is to be forwarded. What cannot be told for sure is a [`TargetFault`].
//! - **Who**: [`Clients`] make a [`ClientKey`] of the peer's address and the request's fields; [`ClientAddress`] says
//!   which forwarding field is believed, and from whom; [`HeaderKey`] is an API key or a claim in a field.
//! - **The answer**: [`Answers`] write a result into a response's fields, or make the whole response of a denial.
//!   [`Policies`] are what a config has to tell of each endpoint.

#![forbid(unsafe_code)]

mod answer;
mod client;
mod endpoint;

pub use answer::{Answers, Caller, Cors, EntryPolicy, FieldStyle, Policies};
pub use client::{
    ClientAddress, ClientFault, ClientKey, ClientPart, Clients, ForwardingField, HeaderKey,
    Identified, Otherwise, is_forwarding_field, is_underscore_twin,
};
pub use endpoint::{Endpoint, EndpointRules, Host, TargetFault, TargetFaultKind};
