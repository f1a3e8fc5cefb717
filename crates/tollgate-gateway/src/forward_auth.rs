//! What proxies ask before they hand a request on: may it pass?
//!
//! Caddy (`forward_auth`) and Traefik (`ForwardAuth`) pass any answer but 2xx on to the client, so a denial is the 429
//! that the client is to see. nginx (`auth_request`) knows only 2xx, 401 and 403 and makes a 500 of all else, so
//! there a denial is a 403 that carries its status in a field of its own; `deploy/nginx` makes a 429 of it.
//!
//! The request that is asked about stands in `X-Forwarded-Method`, `-Uri`, `-Host` and `-For`, which are believed only
//! of trusted proxies: anybody else could ask in the name of any client. A question that is not understood is never
//! answered by a 2xx.

use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::{Method, StatusCode};
use tollgate::Call;
use tollgate_http::{Caller, Endpoint, Identified, TargetFault};

use crate::gate::Gate;
use crate::http::Received;
use crate::http::answer::{self, Answer};
use crate::http::problem::Problem;
use crate::http::rules::HttpRules;

/// The path that Caddy and Traefik ask under.
pub(crate) const FORWARD_AUTH: &str = "/v1/forward-auth";

/// The path that nginx asks under.
pub(crate) const NGINX_AUTH: &str = "/v1/nginx-auth";

const FORWARDED_METHOD: HeaderName = HeaderName::from_static("x-forwarded-method");
const FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The status that nginx is to answer with.
const STATUS: HeaderName = HeaderName::from_static("x-ratelimit-status");

/// Answers whether the request may pass: 200, or what the client is to see instead.
pub(crate) fn answer(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    let started = gate.now();
    let answer = judge(received, gate)?;
    gate.record_answer(received.door, started);
    Ok(answer)
}

/// The same in statuses that nginx takes.
pub(crate) fn answer_nginx(received: &Received, gate: &Gate) -> Answer {
    let mut answer = answer(received, gate).unwrap_or_else(Answer::from);
    let status = answer.status();
    if !status.is_success() {
        answer.headers_mut().insert(STATUS, status.as_u16().into());
        *answer.status_mut() = StatusCode::FORBIDDEN;
    }
    answer
}

fn judge(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    let rules = gate.http_rules();
    let fields = received.request.headers();
    refuse_untrusted(received, gate, &rules)?;
    let method = method(fields)?;
    let caller = caller(fields);
    let client = match rules.clients.identify(received.peer.ip(), fields) {
        Identified::Client(client) => client,
        Identified::Skipped => return Ok(passed()),
        Identified::Refused(fault) => {
            return Ok(whole(rules.answers.unidentified(&fault, &caller)));
        }
    };
    let endpoint = match endpoint(&method, fields, &rules)? {
        Ok(endpoint) => endpoint,
        Err(fault) => {
            // Whoever sends what cannot be told is charged for it all the same.
            let _charged = gate.decide(&Call::new(client.as_str(), TargetFault::ENDPOINT));
            return Ok(whole(rules.answers.bad_request(&fault, &caller)));
        }
    };
    if Caller::is_preflight(&method, fields) {
        return Ok(passed());
    }
    let decided = gate.decide(&Call::new(client.as_str(), endpoint.name()));
    let result = decided.unwrap_or_else(|error| error.result());
    let policy = rules.policy(gate.limiter(), endpoint.name());
    if !result.allowed() {
        return Ok(whole(rules.answers.denial(&result, policy, &caller)));
    }
    let mut answer = passed();
    rules.answers.add_fields(&result, policy, &caller, answer.headers_mut());
    Ok(answer)
}

/// Refuses whoever is no trusted proxy.
fn refuse_untrusted(received: &Received, gate: &Gate, rules: &HttpRules) -> Result<(), Problem> {
    let peer = received.peer.ip();
    if rules.address.trusts(peer) {
        return Ok(());
    }
    gate.metrics.record_untrusted_forwarding(received.door);
    let detail = format!(
        "only proxies may ask, and {peer} is none of `gateway.client.trustedProxies` in the config file"
    );
    Err(Problem::new(StatusCode::FORBIDDEN, detail))
}

/// The method of the request that is asked about.
fn method(fields: &HeaderMap) -> Result<Method, Problem> {
    let method = required(fields, &FORWARDED_METHOD)?;
    Method::from_bytes(method)
        .map_err(|error| Problem::bad_request(format!("`{FORWARDED_METHOD}`: {error}")))
}

/// The endpoint of the request that is asked about, or why it has none.
fn endpoint<'a>(
    method: &Method,
    fields: &'a HeaderMap,
    rules: &HttpRules,
) -> Result<Result<Endpoint<'a>, TargetFault>, Problem> {
    let target = required(fields, &FORWARDED_URI)?;
    let host = only(fields, &FORWARDED_HOST)?;
    Ok(rules.endpoints.endpoint(method, target, host))
}

fn required<'a>(fields: &'a HeaderMap, name: &HeaderName) -> Result<&'a [u8], Problem> {
    only(fields, name)?.ok_or_else(|| {
        let detail = format!("`{name}` is missing; have the proxy send the request's own");
        Problem::bad_request(detail)
    })
}

/// A field that may be there once. Twice it could mean either.
fn only<'a>(fields: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>, Problem> {
    let mut values = fields.get_all(name).iter();
    let first = values.next().map(HeaderValue::as_bytes);
    if values.next().is_some() {
        return Err(Problem::bad_request(format!(
            "`{name}` is given more than once; send it once"
        )));
    }
    Ok(first)
}

/// What an answer has to know of the request. That it speaks gRPC is left out: a denial in its language is a 200, which
/// a proxy takes for leave to pass.
fn caller(fields: &HeaderMap) -> Caller {
    let origin = fields.get(ORIGIN).map(|origin| (ORIGIN, origin.clone()));
    Caller::of(&origin.into_iter().collect())
}

fn passed() -> Answer {
    answer::empty(StatusCode::OK)
}

/// A response as it is sent.
fn whole(response: hyper::Response<String>) -> Answer {
    response.map(|body| Full::new(body.into()))
}
