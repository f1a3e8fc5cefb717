//! `ShouldRateLimit`: from a request to its answer.
//!
//! Nothing here waits, so a call that its caller gives up is either never judged, or judged and charged whole: a
//! decision that was made stays made.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tonic::{Request, Response, Status};

use super::answer::{self, Saying};
use super::current::Current;
use super::judge::{Asked, Said, decide_together};
use super::own_limits::{LIMITS_MAX, OwnLimits, TooManyLimits};
use super::question::{self, Question, QuestionFault};
use super::wire::rate_limit_service_server::RateLimitService;
use super::wire::{RateLimitRequest, RateLimitResponse, Unit};
use crate::door::Door;
use crate::gate::Gate;
use crate::metrics::LimitHit;

/// Answers Envoy.
#[derive(Debug)]
pub(super) struct RateLimits {
    gate: Arc<Gate>,
    own_limits: OwnLimits,
    current: ArcSwap<Current>,
}

impl RateLimits {
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        let own_limits = OwnLimits::new(gate.environment());
        let current = ArcSwap::from_pointee(Current::of(&gate));
        Self { gate, own_limits, current }
    }

    fn judge(&self, request: &RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let questions = question::read(request)?;
        let current = Current::in_force(&self.current, &self.gate);
        // Whatever can be refused is, before anything is charged.
        let asked = questions.iter().map(|question| self.ask(question, &request.domain, &current));
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let said = decide_together(&asked, &self.gate);
        for said in &said {
            self.gate.metrics.record_descriptor(said.outcome());
        }
        let sayings = asked.iter().zip(&said);
        let sayings = sayings.map(|(asked, said)| self.saying(asked, said, &current));
        Ok(answer::of(&sayings.collect::<Vec<_>>(), &current.http.answers))
    }

    fn ask<'a>(
        &self,
        question: &Question<'a>,
        domain: &'a str,
        current: &Current,
    ) -> Result<Asked<'a>, TooManyLimits> {
        let meaning = current.mapping.meaning(domain, &question.entries);
        let asked = Asked::new(question, (domain, meaning), &self.own_limits, &self.gate);
        if asked.is_err() {
            self.gate.metrics.record_limit(Door::Envoy, LimitHit::OwnLimits);
        }
        asked
    }

    fn saying<'a>(&self, asked: &'a Asked<'_>, said: &'a Said, current: &'a Current) -> Saying<'a> {
        let limiter = self.gate.limiter();
        let (told, unit) = match (asked, said) {
            (Asked::Endpoint(named, _), Said::Endpoint(result)) => {
                let policy = current.http.policy(limiter, &named.endpoint);
                let unit = current.unit(limiter.entry(&named.endpoint).as_deref(), result);
                (Some((result, policy)), unit)
            }
            (Asked::Own(own), Said::Own(result)) => (Some((result, &own.limiter.policy)), own.unit),
            (Asked::Never(unit), _) => (None, *unit),
            (Asked::Nothing | Asked::Unclear | Asked::Endpoint(..) | Asked::Own(_), _) => {
                (None, Unit::Unknown)
            }
        };
        Saying { said, told, unit }
    }
}

impl From<QuestionFault> for Status {
    fn from(fault: QuestionFault) -> Self {
        Self::invalid_argument(fault.to_string())
    }
}

impl From<TooManyLimits> for Status {
    fn from(_: TooManyLimits) -> Self {
        Self::resource_exhausted(format!(
            "the limit that came with the request would be one more than the {LIMITS_MAX} \
             different ones that may be in use; send fewer, or have them in the config"
        ))
    }
}

#[tonic::async_trait]
impl RateLimitService for RateLimits {
    async fn should_rate_limit(
        &self,
        request: Request<RateLimitRequest>,
    ) -> Result<Response<RateLimitResponse>, Status> {
        let started = self.gate.now();
        let answer = self.judge(request.get_ref())?;
        self.gate.record_answer(Door::Envoy, started);
        Ok(Response::new(answer))
    }
}
