//! One request and its answer.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::Guard;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, StatusCode, Version, upgrade};
use tollgate::{Call, Permit};
use tollgate_http::{Caller, Endpoint, Identified, TargetFault};

use super::active::Active;
use super::body::{Held, Watched};
use super::fields;
use super::tunnel::{Tunnel, Tunnels};
use super::upstream::Upstream;
use crate::door::Door;
use crate::gate::Gate;
use crate::http::answer::Answer;
use crate::http::problem::Problem;
use crate::http::rules::HttpRules;

/// A request that is being answered.
pub(super) struct Exchange {
    pub(super) peer: IpAddr,
    pub(super) active: Active,
    pub(super) gate: Arc<Gate>,
    pub(super) upstream: Arc<Upstream>,
    pub(super) tunnels: Tunnels,
}

/// What was decided of a request.
enum Verdict {
    /// It may go on, and this is held meanwhile.
    Allowed(Permit),
    /// No limit holds for it.
    Unjudged,
    /// It goes no further.
    Refused(Answer),
}

impl Exchange {
    /// Judges a request, sends it on where it may, and gives what is to be answered.
    pub(super) async fn answer(self, request: Request<Incoming>) -> Response<Held> {
        let gate = Arc::clone(&self.gate);
        let rules = Guard::into_inner(gate.http_rules());
        if !fields::is_coded_as_known(request.headers()) {
            return self.refuse_coding();
        }
        let caller = Caller::of(request.headers());
        let endpoint = match rules.endpoints.of_request(&request) {
            Ok(endpoint) => endpoint.into_owned(),
            Err(fault) => {
                // Whoever sends what cannot be told is charged for it all the same.
                let _charged = self.judge(&rules, &request, TargetFault::ENDPOINT, &caller);
                return self.own(rules.answers.bad_request(&fault, &caller).map(Into::into));
            }
        };
        let permit = match self.judge(&rules, &request, endpoint.name(), &caller) {
            Verdict::Allowed(permit) => Some(permit),
            Verdict::Unjudged => None,
            Verdict::Refused(answer) => return self.own(answer),
        };
        let result = permit.as_ref().map(Permit::result);
        let mut response = match self.forward(request, &endpoint, permit).await {
            Ok(response) => response,
            Err((problem, active)) => return Held::whole(problem.into(), active),
        };
        if let Some(result) = result {
            let policy = rules.policy(gate.limiter(), endpoint.name());
            rules.answers.add_fields(&result, policy, &caller, response.headers_mut());
        }
        response
    }

    /// The connection is closed after it: what would come next is in a code that nobody here reads.
    fn refuse_coding(self) -> Response<Held> {
        let detail =
            "the field `transfer-encoding` has another value than chunked; send that, or a length";
        let mut answer = Answer::from(Problem::bad_request(detail));
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        self.own(answer)
    }

    fn own(self, answer: Answer) -> Response<Held> {
        Held::whole(answer, self.active)
    }
}

impl Exchange {
    fn judge(
        &self,
        rules: &HttpRules,
        request: &Request<Incoming>,
        endpoint: &str,
        caller: &Caller,
    ) -> Verdict {
        if Caller::is_preflight(request.method(), request.headers()) {
            return Verdict::Unjudged;
        }
        let client = match rules.clients.identify(self.peer, request.headers()) {
            Identified::Client(client) => client,
            Identified::Skipped => return Verdict::Unjudged,
            Identified::Refused(fault) => {
                return Verdict::Refused(
                    rules.answers.unidentified(&fault, caller).map(Into::into),
                );
            }
        };
        let started = self.gate.now();
        let acquired = self.gate.acquire(&Call::new(client.as_str(), endpoint));
        self.gate.record_answer(Door::Proxy, started);
        let result = match acquired {
            Ok(permit) if permit.allowed() => return Verdict::Allowed(permit),
            Ok(permit) => permit.result(),
            Err(error) => error.result(),
        };
        let policy = rules.policy(self.gate.limiter(), endpoint);
        Verdict::Refused(rules.answers.denial(&result, policy, caller).map(Into::into))
    }

    /// Sends a request on. What is held goes with the answer, until its last byte was sent.
    async fn forward(
        self,
        request: Request<Incoming>,
        endpoint: &Endpoint<'_>,
        permit: Option<Permit>,
    ) -> Result<Response<Held>, (Problem, Active)> {
        let Self { peer, active, gate, upstream, tunnels } = self;
        let (mut head, body) = request.into_parts();
        let switch = fields::upgrade_of(&head.headers).filter(|_| head.version == Version::HTTP_11);
        let client_side = switch.is_some().then(|| head.extensions.remove()).flatten();
        if let Err(problem) = readdress(&mut head, endpoint, &upstream, (&gate, peer)) {
            return Err((problem, active));
        }
        if let Some(protocol) = switch {
            fields::set_upgrade(&mut head.headers, protocol);
        }
        let time = gate.settings().limits.body_timeout;
        let body = Watched::new(body, gate, time);
        let mut response = match upstream.send(Request::from_parts(head, body)).await {
            Ok(response) => response,
            Err(problem) => return Err((problem, active)),
        };
        let switched = fields::upgrade_of(response.headers());
        fields::remove_hop_by_hop(response.headers_mut());
        *response.version_mut() = Version::HTTP_11;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let Some((protocol, client)) = switched.zip(client_side) else {
                let detail = "the upstream switched to a protocol that was not asked for";
                return Err((Problem::new(StatusCode::BAD_GATEWAY, detail), active));
            };
            let upstream = upgrade::on(&mut response);
            fields::set_upgrade(response.headers_mut(), protocol);
            tunnels.open(Tunnel { client, upstream, permit, active });
            return Ok(response.map(|_| Held::empty()));
        }
        Ok(response.map(|body| Held::streamed(body, permit, active)))
    }
}

/// Turns the head of a request into the one that the upstream is sent: what was judged, and from whom it came.
fn readdress(
    head: &mut Parts,
    endpoint: &Endpoint<'_>,
    upstream: &Upstream,
    (gate, peer): (&Gate, IpAddr),
) -> Result<(), Problem> {
    if head.method == Method::CONNECT {
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "no tunnels are opened by CONNECT"));
    }
    let path = PathAndQuery::try_from(endpoint.path_and_query());
    let target = path.ok().and_then(|path| upstream.at(path));
    head.uri = target.ok_or_else(|| Problem::bad_request("the target cannot be forwarded"))?;
    head.version = Version::HTTP_11;
    let host = endpoint.host().and_then(|host| HeaderValue::try_from(host.to_string()).ok());
    let rules = gate.http_rules();
    fields::remove_hop_by_hop(&mut head.headers);
    let believed = &gate.settings().client.forwarded_header;
    fields::remove_forwarding(&mut head.headers, rules.address.trusts(peer), believed);
    fields::add_forwarding(&mut head.headers, peer, host.as_ref());
    fields::join_cookies(&mut head.headers);
    if let Some(host) = host {
        head.headers.insert(HOST, host);
    }
    Ok(())
}
