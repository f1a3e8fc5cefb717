//! How long the door takes to find an endpoint's limiter: by its exact name, by its path, by one of a thousand
//! patterns.

use std::hint::black_box;

use cpu_time::ThreadTime;
use tollgate::{Config, RateLimiter, TokenBucket};

use crate::stage::median;

const ROUNDS: usize = 9;
const LOOKUPS: usize = 400_000;

/// Resources of the API; each has five exact names and ten patterns.
const RESOURCES: usize = 100;

/// Measures and prints it.
pub fn print() {
    let limiter = limiter();
    let rows = rows();
    let mut rounds = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, endpoints), nanos) in rows.iter().zip(&mut rounds) {
            nanos.push(time(&limiter, endpoints));
        }
    }
    let medians: Vec<_> = rounds.into_iter().map(median).collect();
    println!("| endpoint | example | CPU ns a look-up | beyond an exact name |");
    println!("| --- | --- | ---: | ---: |");
    for ((title, endpoints), nanos) in rows.iter().zip(&medians) {
        let beyond = nanos - medians[0];
        println!("| {title} | `{}` | {nanos:.0} | {beyond:.0} |", endpoints[7]);
    }
}

/// CPU nanoseconds a look-up.
fn time(limiter: &RateLimiter, endpoints: &[String]) -> f64 {
    let start = ThreadTime::now();
    for endpoint in endpoints.iter().cycle().take(LOOKUPS) {
        black_box(limiter.limiter(black_box(endpoint)));
    }
    start.elapsed().as_nanos() as f64 / LOOKUPS as f64
}

/// An API of 1,000 patterns and 500 exact names.
fn limiter() -> RateLimiter {
    let bucket = TokenBucket::per_second(10);
    let mut config = Config::builder().default(bucket);
    for resource in (0..RESOURCES).map(path) {
        for exact in ["", "/search", "/export", "/count", "/recent"] {
            config = config.endpoint(format!("{resource}{exact}"), bucket);
        }
        for pattern in [
            "/{id}",
            "/{id}/history",
            "/{id}/comments",
            "/{id}/comments/{comment}",
            "/{id}/comments/{comment}/votes",
            "/{id}/files/{folder}/{file}/{version}",
            "/{id}/files/*",
            "/{id}/public/*",
        ] {
            config = config.endpoint(format!("{resource}{pattern}"), bucket);
        }
        for pattern in ["/{id}", "/{id}/comments/{comment}"] {
            config = config.endpoint(format!("DELETE {resource}{pattern}"), bucket);
        }
    }
    RateLimiter::new(config.build().expect("the config is valid"))
}

/// What is looked up, a few hundred endpoints of each kind in mixed order.
fn rows() -> Vec<(&'static str, Vec<String>)> {
    let endpoints = |method: &str, end: fn(usize) -> String| {
        let order =
            (0..4 * RESOURCES).map(|index| index.wrapping_mul(2_654_435_761) % (4 * RESOURCES));
        let endpoint = |index| format!("{method}{}{}", path(index % RESOURCES), end(index));
        order.map(endpoint).collect()
    };
    vec![
        ("exact name", endpoints("", |_| "/search".to_owned())),
        ("exact path of a method", endpoints("GET ", |_| "/search".to_owned())),
        ("one parameter", endpoints("", |index| format!("/{index}"))),
        ("method and one parameter", endpoints("GET ", |index| format!("/{index}"))),
        ("method of its own", endpoints("DELETE ", |index| format!("/{index}"))),
        ("two parameters", endpoints("GET ", |index| format!("/{index}/comments/{index}"))),
        ("four parameters", endpoints("GET ", |index| format!("/{index}/files/a/b/{index}"))),
        ("rest", endpoints("GET ", |index| format!("/{index}/public/a/b/c"))),
        ("rest behind a parameter", endpoints("GET ", |index| format!("/{index}/files/{index}"))),
        ("the default", endpoints("GET ", |index| format!("/{index}/none"))),
        ("no path", (0..400).map(|index| format!("job {index}")).collect()),
    ]
}

/// The path of a resource.
fn path(resource: usize) -> String {
    format!("/api/v1/resource{resource:03}")
}
