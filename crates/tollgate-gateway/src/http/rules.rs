//! How requests over HTTP are read and answered: who a request is from, which endpoint it is for, and what its
//! client is told. Made anew with each reload.

use tollgate::{Config, RateLimiter};
use tollgate_config::{
    ClientConfig, CorsConfig, EndpointConfig, FieldStyle, GatewayConfig, OnMissing,
};
use tollgate_http::{
    Answers, ClientAddress, Clients, Cors, EndpointRules, EntryPolicy, ForwardingField, HeaderKey,
    Otherwise, Policies,
};

/// What the config makes of requests over HTTP.
#[derive(Debug)]
pub(crate) struct HttpRules {
    /// Whose word counts for where a request came from.
    pub(crate) address: ClientAddress,
    /// Who a request is from.
    pub(crate) clients: Clients,
    /// Which endpoint it is for.
    pub(crate) endpoints: EndpointRules,
    /// What its client is told.
    pub(crate) answers: Answers,
    pub(crate) policies: Policies,
}

impl HttpRules {
    pub(crate) fn of(settings: &GatewayConfig, limits: &Config) -> Self {
        let address = address(&settings.client);
        Self {
            clients: clients(&settings.client, address.clone()),
            address,
            endpoints: endpoints(settings.endpoint),
            answers: answers(settings),
            policies: Policies::of(limits),
        }
    }

    /// What is told of the limits that answer for an endpoint.
    pub(crate) fn policy(&self, limiter: &RateLimiter, endpoint: &str) -> &EntryPolicy {
        self.policies.of_entry(limiter.entry(endpoint).as_deref())
    }
}

fn address(config: &ClientConfig) -> ClientAddress {
    let field = match config.forwarded_header.as_str() {
        "x-forwarded-for" => ForwardingField::XForwardedFor,
        "forwarded" => ForwardingField::Forwarded,
        _ => ForwardingField::Single(config.forwarded_header.clone()),
    };
    let address = ClientAddress::forwarded(field, config.trusted_proxies.iter().copied())
        .max_hops(usize::try_from(config.max_hops).unwrap_or(usize::MAX))
        .ipv6_prefix(config.ipv6_prefix);
    if config.strict { address.strict() } else { address }
}

fn clients(config: &ClientConfig, address: ClientAddress) -> Clients {
    let Some(header) = &config.header else { return Clients::by_address(address) };
    let otherwise = match header.on_missing {
        OnMissing::Skip => Otherwise::Skip,
        OnMissing::Address => Otherwise::Address,
        OnMissing::Shared => Otherwise::Shared,
        OnMissing::Deny | _ => Otherwise::Deny,
    };
    let key = HeaderKey::new(header.name.clone(), otherwise);
    let key = if header.only_from_proxies { key.only_from_proxies() } else { key };
    Clients::by_header(key, address)
}

fn endpoints(config: EndpointConfig) -> EndpointRules {
    type Switch = fn(EndpointRules) -> EndpointRules;
    let switches: [(bool, Switch); 5] = [
        (config.fold_case, EndpointRules::fold_case),
        (config.keep_slashes, EndpointRules::keep_slashes),
        (config.keep_trailing_slash, EndpointRules::keep_trailing_slash),
        (config.keep_parameters, EndpointRules::keep_parameters),
        (config.allow_escaped_slash, EndpointRules::allow_escaped_slash),
    ];
    let on = switches.into_iter().filter(|(is_on, _)| *is_on);
    on.fold(EndpointRules::new(), |rules, (_, switch)| switch(rules))
}

fn answers(settings: &GatewayConfig) -> Answers {
    let style = match settings.fields {
        FieldStyle::XRateLimit => tollgate_http::FieldStyle::XRateLimit,
        FieldStyle::None => tollgate_http::FieldStyle::None,
        FieldStyle::RateLimit | _ => tollgate_http::FieldStyle::RateLimit,
    };
    let answers = Answers::new().fields(style).jitter(settings.jitter);
    settings.cors.iter().map(cors).fold(answers, Answers::cors)
}

fn cors(config: &CorsConfig) -> Cors {
    let cors = config
        .origins
        .as_ref()
        .map_or_else(Cors::any, |origins| Cors::origins(origins.iter().cloned()));
    if config.credentials { cors.with_credentials() } else { cors }
}
