//! What the config says of requests over HTTP, as the doors ask it.

use hyper::header::{HeaderName, HeaderValue};
use tollgate::Config;
use tollgate_config::{
    ClientConfig, CorsConfig, EndpointConfig, FieldStyle, GatewayConfig, OnMissing,
};
use tollgate_http::{
    Answers, ClientAddress, Clients, Cors, EndpointRules, ForwardingField, HeaderKey, Otherwise,
    Policies,
};

/// Which endpoint a request is for, who it is from, and how it is answered. Made anew for each config.
#[derive(Debug)]
pub(crate) struct HttpRules {
    pub(crate) endpoints: EndpointRules,
    pub(crate) clients: Clients,
    pub(crate) address: ClientAddress,
    pub(crate) answers: Answers,
    pub(crate) policies: Policies,
    /// The field in which trusted proxies say where a request came from.
    pub(crate) believed: HeaderName,
}

impl HttpRules {
    pub(crate) fn of(settings: &GatewayConfig, limits: &Config) -> Self {
        let believed = name(&settings.client.forwarded_header);
        let address = address(&settings.client, &believed);
        Self {
            endpoints: endpoints(settings.endpoint),
            clients: clients(&settings.client, address.clone()),
            address,
            answers: answers(settings),
            policies: Policies::of(limits),
            believed,
        }
    }
}

/// The reader of the file has seen to it that it is one.
fn name(text: &str) -> HeaderName {
    text.parse().unwrap_or(HeaderName::from_static("x-forwarded-for"))
}

fn address(client: &ClientConfig, believed: &HeaderName) -> ClientAddress {
    let field = match believed.as_str() {
        "x-forwarded-for" => ForwardingField::XForwardedFor,
        "forwarded" => ForwardingField::Forwarded,
        _ => ForwardingField::Single(believed.clone()),
    };
    let hops = usize::try_from(client.max_hops).unwrap_or(usize::MAX);
    let address = ClientAddress::forwarded(field, client.trusted_proxies.iter().copied())
        .max_hops(hops)
        .ipv6_prefix(client.ipv6_prefix);
    if client.strict { address.strict() } else { address }
}

fn clients(client: &ClientConfig, address: ClientAddress) -> Clients {
    let Some(header) = &client.header else { return Clients::by_address(address) };
    let otherwise = match header.on_missing {
        OnMissing::Skip => Otherwise::Skip,
        OnMissing::Address => Otherwise::Address,
        OnMissing::Shared => Otherwise::Shared,
        _ => Otherwise::Deny,
    };
    let key = HeaderKey::new(name(&header.name), otherwise);
    let key = if header.only_from_proxies { key.only_from_proxies() } else { key };
    Clients::by_header(key, address)
}

fn endpoints(config: EndpointConfig) -> EndpointRules {
    let switches = [
        (config.fold_case, EndpointRules::fold_case as fn(EndpointRules) -> EndpointRules),
        (config.keep_slashes, EndpointRules::keep_slashes),
        (config.keep_trailing_slash, EndpointRules::keep_trailing_slash),
        (config.keep_parameters, EndpointRules::keep_parameters),
        (config.allow_escaped_slash, EndpointRules::allow_escaped_slash),
    ];
    let switched = switches.into_iter().filter(|(is_on, _)| *is_on);
    switched.fold(EndpointRules::new(), |rules, (_, switch)| switch(rules))
}

fn answers(settings: &GatewayConfig) -> Answers {
    let style = match settings.fields {
        FieldStyle::XRateLimit => tollgate_http::FieldStyle::XRateLimit,
        FieldStyle::None => tollgate_http::FieldStyle::None,
        _ => tollgate_http::FieldStyle::RateLimit,
    };
    let answers = Answers::new().fields(style).jitter(settings.jitter);
    match &settings.cors {
        Some(config) => answers.cors(cors(config)),
        None => answers,
    }
}

fn cors(config: &CorsConfig) -> Cors {
    let Some(origins) = &config.origins else { return Cors::any() };
    let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok());
    let cors = Cors::origins(origins);
    if config.credentials { cors.with_credentials() } else { cors }
}
