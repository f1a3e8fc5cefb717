//! What it costs that several limits decide a call together: one limit, one with a name, two and three.

use cpu_time::ThreadTime;
use tollgate::{Config, Limit, Policy, Rate, RateLimiter, Scope, TokenBucket};

use crate::keys::{Calls, Order, for_each_name};
use crate::stage::median;

const KEYS: usize = 1_000;
const CALLS: usize = 1_000_000;
const ROUNDS: usize = 15;

/// The most that two joint limits may cost, in times of one.
const TWO_AT_MOST: f64 = 2.5;

/// Measures and prints it; says whether two limits are within what they may cost.
pub fn print() -> bool {
    let mut lanes = [
        Lane::new("one limit", bucket().into()),
        Lane::new("one in a list of limits", policy(&[Scope::Client])),
        Lane::new("two limits", policy(&[Scope::Client; 2])),
        Lane::new("three limits", policy(&[Scope::Client; 3])),
        Lane::new("one limit and a ceiling", policy(&[Scope::Client, Scope::Global])),
    ];
    let calls = Calls::drawn(Order::Uniform, KEYS, CALLS, 0);
    for _ in 0..ROUNDS {
        for lane in &mut lanes {
            lane.time(&calls);
        }
    }
    let [one, ..] = &lanes;
    let one = one.median();
    println!("| `RateLimiter::allow`, 1,000 keys | CPU ns a call | times one limit |");
    println!("| --- | ---: | ---: |");
    for lane in &lanes {
        println!("| {} | {:.1} | {:.2} |", lane.name, lane.median(), lane.median() / one);
    }
    lanes[2].median() / one <= TWO_AT_MOST
}

/// Limits of these scopes, of which none ever denies.
fn policy(scopes: &[Scope]) -> Policy {
    let limit = |(number, scope): (usize, &Scope)| {
        Limit::new(format!("limit {number}"), bucket()).scope(*scope)
    };
    Policy::limits(scopes.iter().enumerate().map(limit))
}

fn bucket() -> TokenBucket {
    // So slow that no key becomes whole, and so large that none is denied.
    let rate = Rate::per_second("2").expect("the rate is valid");
    TokenBucket::new(u32::MAX, rate).expect("the bucket is valid")
}

/// A limiter, and what its rounds took.
struct Lane {
    name: &'static str,
    limiter: RateLimiter,
    nanos: Vec<f64>,
}

impl Lane {
    fn new(name: &'static str, policy: Policy) -> Self {
        let config = Config::builder().default(policy).build().expect("the config is valid");
        let limiter = RateLimiter::new(config);
        for_each_name(KEYS, |name| assert!(limiter.allow(name, "/").allowed()));
        Self { name, limiter, nanos: Vec::new() }
    }

    fn time(&mut self, calls: &Calls) {
        let start = ThreadTime::now();
        let allowed = calls.iter().filter(|name| self.limiter.allow(name, "/").allowed()).count();
        let nanos = start.elapsed().as_nanos() as f64;
        assert_eq!(allowed, CALLS, "no limit denies");
        self.nanos.push(nanos / CALLS as f64);
    }

    fn median(&self) -> f64 {
        median(self.nanos.clone())
    }
}
