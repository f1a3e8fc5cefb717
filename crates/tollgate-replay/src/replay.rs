//! Recorded traffic run through a config's limits.

use std::io;
use std::time::Duration;

use tollgate::{CallError, Config, Decided, ManualClock, RateLimiter};

use crate::error::ReplayError;
use crate::event::Event;
use crate::input::Input;
use crate::log::{ClientFrom, EndpointFrom, Naming, Origin};
use crate::report::{Report, Tally};
use crate::traffic::Traffic;

/// How many events are decided at a time.
const BATCH: usize = 1_024;

/// Runs recorded traffic through the limits of a config, on a virtual clock: who would have been turned away, when, and
/// for how long?
///
/// ```
/// use tollgate::{Config, TokenBucket};
/// use tollgate_replay::{Input, Replay};
///
/// let events = r#"{"atMs": 0, "client": "alice", "endpoint": "/x"}
/// {"atMs": 999.999999, "client": "alice", "endpoint": "/x"}
/// {"atMs": 1000, "client": "alice", "endpoint": "/x"}
/// "#;
/// let config = Config::builder().default(TokenBucket::per_second(1).burst(1)).build()?;
/// let input = Input::from_reader("events", events.as_bytes())?;
/// let report = Replay::new(config).run(vec![input])?;
/// assert_eq!((report.requests, report.denied), (3, 1));
/// println!("{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Order
/// Lines are decided in order of time, whatever file they are in and in whatever order the files are given, so rotated
/// logs and those of several servers can be replayed together (all are open at once). A server writes a line when its
/// request ends, so logs are out of order by as much as requests are long: a line is held until one more than the
/// [window](Self::window) later was read. What comes later still is counted, named and decided when it comes.
///
/// # Memory
/// The lines of a window, at most a million; a line of at most 1 MiB; and what [`Report`] and the limiters keep.
///
/// # Reproducible
/// The same input gives the same report, but for a limiter that held as many keys as it may: which of them then made
/// room depends on hashes under a random key.
#[derive(Debug)]
#[must_use]
pub struct Replay {
    limiter: RateLimiter,
    naming: Naming,
    window: Duration,
    worst_max: usize,
}

impl Replay {
    /// How far lines may be out of order unless told otherwise.
    pub const DEFAULT_WINDOW: Duration = Duration::from_secs(120);

    /// How many clients and endpoints a report lists unless told otherwise.
    pub const DEFAULT_WORST_MAX: usize = 10;

    /// A replay through new limiters of this config.
    pub fn new(config: Config) -> Self {
        // Every event brings its own time; the clock only keeps the machine's out.
        let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
        Self {
            limiter,
            naming: Naming::default(),
            window: Self::DEFAULT_WINDOW,
            worst_max: Self::DEFAULT_WORST_MAX,
        }
    }

    /// What of a logged request names its client.
    pub fn client(mut self, client: ClientFrom) -> Self {
        self.naming.client = client;
        self
    }

    /// What of a logged request names its endpoint.
    pub fn endpoint(mut self, endpoint: EndpointFrom) -> Self {
        self.naming.endpoint = endpoint;
        self
    }

    /// How far lines may be out of order.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// The most clients, and the most endpoints, that the report lists.
    pub fn worst_max(mut self, worst_max: usize) -> Self {
        self.worst_max = worst_max;
        self
    }

    /// Decides all events of the inputs, which are merged by time.
    ///
    /// # Errors
    /// When an input cannot be read to its end, when event lines and log lines are mixed, when a limit counts by tenant
    /// and a call names none, or when there are lines and none can be read. Single lines that cannot be read are no
    /// error: the report counts them.
    pub fn run(self, inputs: Vec<Input>) -> Result<Report, ReplayError> {
        self.run_with(inputs, |_event, _decided| Ok(()))
    }

    /// Decides all events of the inputs and hands each on with its decision, in the order they are decided:
    /// [`write_decision`](crate::write_decision) makes a line of one.
    ///
    /// # Errors
    /// As [`run`](Self::run); and [`ReplayError::Decisions`] as soon as `each` fails.
    pub fn run_with(
        self,
        inputs: Vec<Input>,
        mut each: impl FnMut(&Event, &Decided) -> io::Result<()>,
    ) -> Result<Report, ReplayError> {
        let mut traffic = Traffic::open(inputs, self.naming, self.window)?;
        let mut tally = Tally::new();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let event = traffic.next()?;
            let last = event.is_none();
            batch.extend(event);
            if last || batch.len() == BATCH {
                for event in &mut batch {
                    event.price_by(&self.limiter);
                }
                decide(&self.limiter, &batch, &mut tally, &mut each)?;
                batch.clear();
            }
            if last {
                break;
            }
        }
        let (intake, origin) = traffic.finish();
        if intake.lines > 0 && intake.unreadable.count == intake.lines {
            return Err(ReplayError::NothingReadable(intake));
        }
        Ok(tally.finish(self.worst_max, origin.unwrap_or(Origin::Recording), intake))
    }
}

fn decide(
    limiter: &RateLimiter,
    batch: &[Event],
    tally: &mut Tally,
    each: &mut impl FnMut(&Event, &Decided) -> io::Result<()>,
) -> Result<(), ReplayError> {
    let calls: Vec<_> = batch.iter().map(Event::call).collect();
    for (event, decided) in batch.iter().zip(limiter.allow_many(&calls)) {
        if let Err(CallError::TenantMissing(source)) = decided {
            return Err(ReplayError::TenantMissing { event: Box::new(event.clone()), source });
        }
        tally.add(event, &decided);
        each(event, &decided).map_err(ReplayError::Decisions)?;
    }
    Ok(())
}
