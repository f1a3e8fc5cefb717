//! A service that was wrapped.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use pin_project_lite::pin_project;
use tollgate::{Call, Permit, RateLimitResult};
use tollgate_http::{Caller, Endpoint, Identified, TargetFault};
use tower_service::Service;

use crate::body::LimitedBody;
use crate::layer::TollgateLayer;

/// What is answered where nobody has said how a connection's address is found.
const NO_PEER: &str =
    "the address of the connection is not known; have the layer find it by `peer`";

/// A service that [`TollgateLayer`] limits.
#[derive(Clone, Debug)]
pub struct Tollgate<S> {
    service: S,
    layer: TollgateLayer,
}

/// What was decided of a request.
enum Verdict {
    /// It may go on, and this is held meanwhile.
    Allowed(Permit),
    /// No limit holds for it.
    Unjudged,
    /// It goes no further. Boxed: most requests go on, and none of them is to carry the room for it.
    Refused(Box<Response<String>>),
}

impl Verdict {
    fn refused(response: Response<String>) -> Self {
        Self::Refused(Box::new(response))
    }
}

impl<S> Tollgate<S> {
    pub(crate) const fn new(service: S, layer: TollgateLayer) -> Self {
        Self { service, layer }
    }

    /// Judges a request by its head, which comes to be what was judged.
    fn judge(&self, head: &mut Request<()>, caller: &Caller) -> (Verdict, Cow<'static, str>) {
        let reading = &self.layer.reading;
        let own = reading.endpoint.as_ref().and_then(|endpoint| endpoint(head));
        let found = match reading.endpoints.of_request(head) {
            Ok(endpoint) => endpoint.into_owned(),
            Err(fault) => return (self.refuse(head, &fault, caller), TargetFault::ENDPOINT.into()),
        };
        readdress(head, &found);
        let name = own.unwrap_or_else(|| found.name().to_owned().into());
        if Caller::is_preflight(head.method(), head.headers()) {
            return (Verdict::Unjudged, name);
        }
        (self.ask(head, &name, caller), name)
    }

    /// A target that names no endpoint is charged as one that no config lists, so that who sends nothing else is
    /// limited too.
    fn refuse(&self, head: &Request<()>, fault: &TargetFault, caller: &Caller) -> Verdict {
        match self.ask(head, TargetFault::ENDPOINT, caller) {
            Verdict::Refused(refused) => Verdict::Refused(refused),
            Verdict::Allowed(_) | Verdict::Unjudged => {
                Verdict::refused(self.layer.reading.answers.bad_request(fault, caller))
            }
        }
    }

    fn ask(&self, head: &Request<()>, endpoint: &str, caller: &Caller) -> Verdict {
        let reading = &self.layer.reading;
        let named = reading.client.as_ref().and_then(|client| client(head));
        let client = match named.map_or_else(|| self.identify(head, caller), Ok) {
            Ok(client) => client,
            Err(refused) => return refused.map_or(Verdict::Unjudged, Verdict::Refused),
        };
        let tenant = reading.tenant.as_ref().and_then(|tenant| tenant(head));
        let call = Call::new(&client, endpoint);
        let call = tenant.iter().fold(call, |call, tenant| call.tenant(tenant));
        let result = match self.layer.limiter().acquire_for(&call) {
            Ok(permit) if permit.allowed() => return Verdict::Allowed(permit),
            Ok(permit) => permit.result(),
            Err(error) => error.result(),
        };
        Verdict::refused(self.denial(&result, endpoint, caller))
    }

    /// Who a request is from, by the rules.
    ///
    /// # Errors
    /// What it is answered where they do not tell; nothing where no limit holds for it.
    fn identify(
        &self,
        head: &Request<()>,
        caller: &Caller,
    ) -> Result<String, Option<Box<Response<String>>>> {
        let reading = &self.layer.reading;
        let Some(peer) = (reading.peer)(head) else {
            let mut response = Response::new(NO_PEER.to_owned());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return Err(Some(Box::new(response)));
        };
        match reading.clients.identify(peer, head.headers()) {
            Identified::Client(client) => Ok(client.as_str().to_owned()),
            Identified::Skipped => Err(None),
            Identified::Refused(fault) => {
                Err(Some(Box::new(reading.answers.unidentified(&fault, caller))))
            }
        }
    }

    fn denial(
        &self,
        result: &RateLimitResult,
        endpoint: &str,
        caller: &Caller,
    ) -> Response<String> {
        let policies = self.layer.policies();
        let entry = self.layer.limiter().entry(endpoint);
        self.layer.reading.answers.denial(result, policies.of_entry(entry.as_deref()), caller)
    }
}

/// Has the service see the path that was judged.
fn readdress(head: &mut Request<()>, endpoint: &Endpoint<'_>) {
    let Some(path) = endpoint.rewritten() else { return };
    let mut parts = head.uri().clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(path).ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *head.uri_mut() = uri;
    }
}

impl<S, B, R> Service<Request<B>> for Tollgate<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<LimitedBody<R>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let mut head = Request::from_parts(parts, ());
        let caller = Caller::of(head.headers());
        let (verdict, endpoint) = self.judge(&mut head, &caller);
        let permit = match verdict {
            Verdict::Refused(response) => return Answering::refused(*response),
            Verdict::Allowed(permit) => Some(permit),
            Verdict::Unjudged => None,
        };
        let request = Request::from_parts(head.into_parts().0, body);
        let told = permit.as_ref().map(|permit| Told {
            result: permit.result(),
            endpoint,
            caller,
            layer: self.layer.clone(),
        });
        Answering { kind: Kind::Service { answer: self.service.call(request), permit, told } }
    }
}

/// What the fields of a response tell.
struct Told {
    result: RateLimitResult,
    endpoint: Cow<'static, str>,
    caller: Caller,
    layer: TollgateLayer,
}

impl Told {
    fn add_to<R>(&self, response: &mut Response<R>) {
        let policies = self.layer.policies();
        let entry = self.layer.limiter().entry(&self.endpoint);
        let policy = policies.of_entry(entry.as_deref());
        let answers = &self.layer.reading.answers;
        answers.add_fields(&self.result, policy, &self.caller, response.headers_mut());
    }
}

pin_project! {
    /// The response of a [`Tollgate`], on its way.
    pub struct Answering<F> {
        #[pin]
        kind: Kind<F>,
    }
}

pin_project! {
    #[project = KindProjected]
    enum Kind<F> {
        Service { #[pin] answer: F, permit: Option<Permit>, told: Option<Told> },
        Refused { response: Option<Response<String>> },
    }
}

impl<F> Answering<F> {
    const fn refused(response: Response<String>) -> Self {
        Self { kind: Kind::Refused { response: Some(response) } }
    }
}

impl<F, R, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<LimitedBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindProjected::Service { answer, permit, told } => {
                let mut response = ready!(answer.poll(context))?;
                if let Some(told) = told {
                    told.add_to(&mut response);
                }
                let permit = permit.take();
                Poll::Ready(Ok(response.map(|body| LimitedBody::of_service(body, permit))))
            }
            // A future that is polled again after its end has no answer to give.
            KindProjected::Refused { response } => response
                .take()
                .map_or(Poll::Pending, |response| Poll::Ready(Ok(response.map(LimitedBody::own)))),
        }
    }
}

impl<F> std::fmt::Debug for Answering<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering").finish_non_exhaustive()
    }
}
