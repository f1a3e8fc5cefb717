//! Algorithms of the user's own, which a config file names like the built-in ones.

use tollgate::algorithm::FixedWindowState;
use tollgate::{
    Algorithm, CarriedOver, Decision, Faults, FixedWindow, LimiterFactory, Parameters, Time,
};
use tollgate_config::Format;

/// A fixed window that begins with a fault of its own for one parameter.
#[derive(Clone, Debug, PartialEq)]
struct Nightly(FixedWindow);

impl Nightly {
    /// Reads `requests`, and `algorithm`, a name that an entry's own field has too.
    fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        let mut reader = parameters.reader();
        let requests = reader.whole("requests", 1..=10);
        let inner = reader.text("algorithm");
        reader.finish()?;
        let (Some(requests), Some("inner")) = (requests, inner) else {
            let message = "`algorithm` is not known; expected inner";
            return Err(tollgate::Fault::of_field("algorithm", message).into());
        };
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        FixedWindow::new(requests, std::time::Duration::from_secs(86_400)).map(Self)
    }
}

impl Algorithm for Nightly {
    type State = FixedWindowState;

    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn decide(&self, state: &FixedWindowState, now: Time, cost: u32) -> Decision {
        self.0.decide(state, now, cost)
    }

    fn charge(&self, state: &mut FixedWindowState, now: Time, cost: u32) {
        self.0.charge(state, now, cost);
    }

    fn debt(&self, state: &FixedWindowState, now: Time) -> u64 {
        self.0.debt(state, now)
    }

    fn join(&self, state: &mut FixedWindowState, other: &FixedWindowState, now: Time) {
        self.0.join(state, other, now);
    }

    fn carry_over(&self, state: &mut FixedWindowState, now: Time, from: &Self) -> CarriedOver {
        self.0.carry_over(state, now, &from.0)
    }
}

fn factory() -> LimiterFactory {
    LimiterFactory::new().register("Nightly", Nightly::from_parameters)
}

#[test]
fn a_registered_algorithm_is_named_like_a_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    let text = "
[default]
algorithm = 'Nightly'
algoConfig = { requests = 5, algorithm = 'inner' }
";
    std::fs::write(&path, text).unwrap();
    let config = tollgate_config::load_with(&path, &factory()).unwrap();
    let limiter = config.limiters().next().unwrap();
    assert_eq!((limiter.algorithm.name(), limiter.algorithm.limit()), ("Nightly", 5));

    let errors = tollgate_config::load(&path).unwrap_err().to_string();
    assert!(errors.contains(":3:13: default: unknown algorithm `Nightly`; known are "), "{errors}");
}

#[test]
fn its_faults_stand_at_its_own_parameters() {
    let faults = |algo_config: &str| {
        let text = format!("default:\n  algorithm: Nightly\n  algoConfig: {algo_config}\n");
        let errors = tollgate_config::parse(&text, Format::Yaml, "f", &factory()).unwrap_err();
        errors.to_string()
    };
    assert_eq!(
        faults("{ requests: 11, request: 1, algorithm: inner }"),
        "f:3:27: default: `requests` is 11; expected a whole number from 1 to 10\n\
         f:3:31: default: unknown field `request`; did you mean `requests`?"
    );
    assert_eq!(
        faults("{ requests: 1, algorithm: outer }"),
        "f:3:41: default: `algorithm` is not known; expected inner"
    );
    assert_eq!(faults("{ requests: 1 }"), "f:3:15: default: missing `algorithm`; expected a text");
}

#[test]
fn its_name_is_among_those_suggested() {
    let text = "default: { algorithm: Nightli, algoConfig: {} }";
    let errors = tollgate_config::parse(text, Format::Yaml, "f", &factory()).unwrap_err();
    let expected = "f:1:23: default: unknown algorithm `Nightli`; did you mean `Nightly`? ";
    assert!(errors.to_string().starts_with(expected), "{errors}");
}
