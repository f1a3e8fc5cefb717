//! Whole replays of made-up traffic: order, faults and the summary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{self, Write};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tollgate::{Config, SlidingWindowLog, TokenBucket};
use tollgate_replay::{
    Event, Input, InputError, LineFault, Origin, Replay, ReplayError, Report, write_decision,
};

/// One call a second, for each client.
fn config() -> Config {
    Config::builder().default(TokenBucket::per_second(1).burst(1)).build().unwrap()
}

fn input(name: &'static str, text: &str) -> Input {
    Input::from_reader(name, io::Cursor::new(text.to_owned().into_bytes())).unwrap()
}

fn event(millis: u64, client: &str) -> String {
    format!(r#"{{"atMs":{millis},"client":"{client}","endpoint":"/x"}}"#)
}

/// A line of a log, at a second of one minute.
fn logged(second: u64, client: &str) -> String {
    format!(r#"{client} - - [17/May/2015:10:05:{second:02} +0000] "GET /x HTTP/1.1" 200 2"#)
}

fn run(inputs: Vec<Input>) -> Result<Report, ReplayError> {
    Replay::new(config()).run(inputs)
}

/// The clients in the order they are decided.
fn order(replay: Replay, inputs: Vec<Input>) -> String {
    let mut clients = String::new();
    let each = |event: &Event, _: &_| {
        clients.push_str(&event.client);
        Ok(())
    };
    replay.run_with(inputs, each).unwrap();
    clients
}

#[test]
fn lines_are_decided_in_order_of_time_within_the_window_and_late_ones_as_they_come() {
    let text = [
        event(5_000, "c"),
        event(4_000, "b"),
        event(8_000, "e"),
        event(2_999, "a"),
        event(7_000, "d"),
    ];
    let inputs = || vec![input("a", &text.join("\n"))];
    assert_eq!(order(Replay::new(config()), inputs()), "abcde");
    let narrow = || Replay::new(config()).window(Duration::from_secs(2));
    assert_eq!(order(narrow(), inputs()), "bcade");

    let report = narrow().run(inputs()).unwrap();
    assert_eq!(report.intake.late.count, 1);
    let (place, by) = &report.intake.late.first[0];
    assert_eq!((place.to_string(), *by), ("a:4".to_owned(), Duration::from_millis(2_001)));
}

#[test]
fn files_are_merged_by_time_whatever_order_they_are_given_in() {
    let first = [logged(1, "a"), logged(3, "c"), logged(2, "b")].join("\n");
    let second = [logged(4, "e"), logged(3, "d"), logged(5, "f")].join("\n");
    let narrow = || Replay::new(config()).window(Duration::from_secs(1));
    assert_eq!(order(narrow(), vec![input("1", &first), input("2", &second)]), "abcdef");
    assert_eq!(order(narrow(), vec![input("2", &second), input("1", &first)]), "abcdef");
    let other_server = [logged(1, "x"), logged(5, "y")].join("\n");
    let inputs = vec![input("1", &first), input("2", &other_server), input("3", "\n\n")];
    assert_eq!(order(narrow(), inputs), "axbcy");
}

#[test]
fn a_bucket_is_asked_at_the_recorded_times() {
    let text = [event(0, "a"), event(999, "a"), event(1_000, "a"), event(1_000, "b")].join("\n");
    let mut decisions = Vec::new();
    let replay = Replay::new(config());
    let report = replay
        .run_with(vec![input("a", &text)], |event, decided| {
            write_decision(&mut decisions, event, decided)
        })
        .unwrap();
    let expected = r#"{"atMs":0,"client":"a","endpoint":"/x","cost":1,"allowed":true,"remaining":0,"retryAfterMs":null,"limit":1,"resetAfterMs":1000}
{"atMs":999,"client":"a","endpoint":"/x","cost":1,"allowed":false,"remaining":0,"retryAfterMs":1,"limit":1,"resetAfterMs":1}
{"atMs":1000,"client":"a","endpoint":"/x","cost":1,"allowed":true,"remaining":0,"retryAfterMs":null,"limit":1,"resetAfterMs":1000}
{"atMs":1000,"client":"b","endpoint":"/x","cost":1,"allowed":true,"remaining":0,"retryAfterMs":null,"limit":1,"resetAfterMs":1000}
"#;
    assert_eq!(String::from_utf8(decisions).unwrap(), expected);
    assert_eq!((report.requests, report.denied, report.origin), (4, 1, Origin::Recording));
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_the_first_five_named() {
    let long = "x".repeat(1 << 21);
    let text = [
        "",
        "junk",
        &event(1, "a"),
        "",
        "{",
        r#"{"atMs":-1}"#,
        &long,
        "\u{0}",
        &event(2, "b"),
        "",
        "",
    ];
    let report = run(vec![input("in", &text.join("\n"))]).unwrap();
    assert_eq!((report.requests, report.intake.lines, report.intake.unreadable.count), (2, 9, 7));
    let named: Vec<_> =
        report.intake.unreadable.first.iter().map(|(place, _)| place.to_string()).collect();
    assert_eq!(named, ["in:1", "in:2", "in:4", "in:5", "in:6"]);
    assert_eq!(report.intake.unreadable.first[2].1, LineFault::Empty);
}

#[test]
fn input_of_which_no_line_can_be_read_is_an_error_and_empty_input_is_none() {
    let noise: String = (0..2_000_u32).map(|n| char::from_u32(n * 7 % 251).unwrap()).collect();
    let error = run(vec![input("noise", &noise)]).unwrap_err();
    assert!(matches!(error, ReplayError::NothingReadable(_)), "{error:?}");
    assert!(error.to_string().starts_with("none of "), "{error}");
    assert!(error.to_string().contains("; the first, noise:1: "), "{error}");
    for nothing in ["", "\n\n"] {
        let report = run(vec![input("nothing", nothing)]).unwrap();
        assert_eq!((report.requests, report.intake.lines), (0, 0));
    }
}

#[test]
fn event_lines_and_log_lines_do_not_mix() {
    for (first, second, places) in [
        (event(1, "a"), logged(1, "b"), ["1:1 is an event line", "2:1 an access log line"]),
        (logged(1, "b"), event(1, "a"), ["2:1 is an event line", "1:1 an access log line"]),
    ] {
        let error = run(vec![input("1", &first), input("2", &second)]).unwrap_err().to_string();
        assert!(places.iter().all(|place| error.contains(place)), "{error}");
    }
}

#[test]
fn what_ends_a_replay_is_named() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(event(1, "a").repeat(1_000).as_bytes()).unwrap();
    let mut cut = encoder.finish().unwrap();
    cut.truncate(cut.len() / 2);
    let cut = Input::from_reader("cut.gz", io::Cursor::new(cut)).unwrap();
    let error = run(vec![cut]).unwrap_err();
    assert!(matches!(error, ReplayError::Input(InputError::Gzip { .. })), "{error:?}");
    assert!(error.to_string().contains("`cut.gz` is cut off or corrupt"), "{error}");

    let full = |_: &_, _: &_| Err(io::Error::from(io::ErrorKind::StorageFull));
    let error = Replay::new(config()).run_with(vec![input("1", &event(1, "a"))], full).unwrap_err();
    assert!(matches!(error, ReplayError::Decisions(_)), "{error:?}");
}

#[test]
fn the_summary_of_a_log_is_read_at_a_glance() {
    let mut lines = vec![logged(1, "198.18.0.7"); 1_200];
    lines.extend([
        logged(3, "198.18.0.8"),
        logged(3, "\u{1b}[31m"),
        "junk".to_owned(),
        logged(3, "198.18.0.8"),
    ]);
    let config =
        Config::builder().default(SlidingWindowLog::new(1, Duration::from_secs(90))).build();
    let report =
        Replay::new(config.unwrap()).run(vec![input("access.log", &lines.join("\n"))]).unwrap();
    let expected = "\
Requests         1,203 of 3 clients
Denied           1,200 (99.75 %) of 2 clients (66.66 %)
Wait if denied   median 1m 30s, 95 % within 1m 30s, longest 1m 30s
Time covered     2015-05-17 10:05:01 UTC to 2015-05-17 10:05:03 UTC (2s)
Busiest second   2015-05-17 10:05:01 UTC with 1,200 requests
Most denials     2015-05-17 10:05:01 UTC with 1,199 denials
Lines            1,204 read, 1 unreadable, 0 late

Clients denied most                      denied  of requests
  198.18.0.7                              1,199        1,200
  198.18.0.8                                  1            2

Endpoints denied most                    denied  of requests
  GET /x                                  1,200        1,203

Unreadable lines
  access.log:1203: neither an event line nor an access log line: there is no time in brackets; known are JSON lines, \
and the common and combined log formats";
    assert_eq!(report.to_string(), expected);
}

#[test]
fn the_summary_of_event_lines_counts_in_milliseconds() {
    let mut lines: Vec<_> = (0..7).map(|_| event(0, "z")).collect();
    lines.insert(0, event(3_600_000, "a"));
    lines.push(r#"{"atMs":3600000.5,"client":"a","endpoint":"/x","cost":9}"#.to_owned());
    let replay = Replay::new(config()).window(Duration::ZERO).worst_max(0);
    let report = replay.run(vec![input("a", &lines.join("\n"))]).unwrap();
    let expected = "\
Requests         9 of 2 clients
Denied           7 (77.77 %) of 2 clients (100.00 %)
Never allowed    1 of them, at a cost above the limit
Wait if denied   median 1s, 95 % within 1s, longest 1s
Time covered     0 ms to 3,600,000 ms (1h)
Busiest second   0 ms with 7 requests
Most denials     0 ms with 6 denials
Lines            9 read, 0 unreadable, 0 late";
    assert_eq!(report.to_string(), expected);
}

proptest! {
    #[test]
    fn any_bytes_make_a_report_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        head in prop::sample::select(vec![&b""[..], b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\0", b"{\"atMs\":1"]),
    ) {
        let input = Input::from_reader("bytes", io::Cursor::new([head, &bytes].concat())).unwrap();
        if let Ok(report) = run(vec![input]) {
            let read = report.intake.lines.saturating_sub(report.intake.unreadable.count);
            prop_assert_eq!(report.requests, read);
            prop_assert!(report.to_string().starts_with("Requests "));
        }
    }
}
