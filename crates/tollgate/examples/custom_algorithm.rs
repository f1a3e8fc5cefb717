//! An algorithm of your own, with a name for config files: `cargo run -p tollgate --example custom_algorithm`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use tollgate::{
    Algorithm, CarriedOver, Decision, Environment, Faults, LimiterFactory, Parameters, Time, Value,
};

/// After each call a client rests for so many nanoseconds.
#[derive(Clone, Debug, PartialEq)]
struct Cooldown(u64);

impl Algorithm for Cooldown {
    /// When the client may call again; for one never seen, the origin of all clocks.
    type State = Time;

    fn limit(&self) -> u32 {
        1
    }
    fn decide(&self, ready_at: &Time, now: Time, cost: u32) -> Decision {
        let wait = Duration::from_nanos(ready_at.nanos_since(now));
        match (cost, wait.is_zero()) {
            (0, ready) => Decision::allow(u32::from(ready), wait),
            (_, true) => Decision::allow(0, Duration::from_nanos(self.0)),
            (_, false) => Decision::deny(0, wait, wait),
        }
    }
    fn charge(&self, ready_at: &mut Time, now: Time, _cost: u32) {
        *ready_at = now.plus_nanos(self.0);
    }
    fn debt(&self, ready_at: &Time, now: Time) -> u64 {
        ready_at.nanos_since(now)
    }
    fn join(&self, ready_at: &mut Time, other: &Time, _now: Time) {
        *ready_at = (*ready_at).max(*other);
    }
    /// Whoever rests already rests as long as it was told.
    fn carry_over(&self, _ready_at: &mut Time, _now: Time, _from: &Self) -> CarriedOver {
        CarriedOver::Whole
    }
}

fn cooldown(parameters: &Parameters) -> Result<Cooldown, Faults> {
    let mut reader = parameters.reader();
    let rest_ms = reader.whole("restMs", 1..=3_600_000);
    reader.finish_with(rest_ms.map(|millis| Cooldown(millis.saturating_mul(1_000_000))))
}

fn main() -> Result<(), Faults> {
    let factory = LimiterFactory::new().register("Cooldown", cooldown);
    let parameters = Parameters::new().with("restMs", Value::Number("2000".to_owned()));
    let limiter = factory.limiter("Cooldown", &parameters, &Environment::new())?;
    for client in ["alice", "alice", "bob"] {
        println!("{client} waits {} ms", limiter.allow(client).retry_after_ms().unwrap_or(0));
    }
    Ok(())
}
