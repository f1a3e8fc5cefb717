//! Any text as a config in all three languages: it is refused with the place of each fault, or gives a limiter that
//! decides.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::{Config, LimiterFactory, RateLimiter};
use tollgate_config::{ConfigErrors, Format};

/// The most keys that limiters may hold which are made here: their tables are reserved.
const KEYS_MAX: u64 = 4_000_000;

fuzz_target!(|text: &str| {
    for format in [Format::Yaml, Format::Json, Format::Toml] {
        match tollgate_config::parse(text, format, "fuzzed", &LimiterFactory::new()) {
            Ok(config) => decides(config),
            Err(errors) => lie_inside(&errors, text, format),
        }
    }
});

fn decides(config: Config) {
    let keys = config.limiters().map(|limiter| limiter.max_keys).fold(0, u64::saturating_add);
    if keys > KEYS_MAX {
        return;
    }
    let endpoints: Vec<String> =
        config.policies().filter_map(|policy| policy.endpoint().map(str::to_owned)).collect();
    let limiter = RateLimiter::new(config);
    for endpoint in endpoints.iter().map(String::as_str).chain(["GET /", ""]) {
        let result = limiter.allow("alice", endpoint);
        assert!(result.allowed() || result.reason().is_some());
        assert!(result.remaining() <= result.limit());
    }
}

/// Each fault has a place, which is in the text or right behind it.
fn lie_inside(errors: &ConfigErrors, text: &str, format: Format) {
    // In YAML, a carriage return ends a line too.
    let text = text.replace("\r\n", "\n");
    let ends: &[char] = if format == Format::Yaml { &['\n', '\r'] } else { &['\n'] };
    let lines: Vec<&str> = text.split(ends).collect();
    assert!(errors.iter().len() > 0);
    for error in errors {
        let (line, column) = error.line().zip(error.column()).expect("every fault has a place");
        let read = lines.get(line.wrapping_sub(1)).expect("the line is there");
        // A carriage return before a line feed is a character, of which JSON and TOML may speak.
        assert!((1..=read.chars().count() + 2).contains(&column), "{error}");
        assert!(!error.message().is_empty() && !error.message().contains('\n'), "{error}");
    }
}
