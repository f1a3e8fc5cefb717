//! A report as an operator reads it.

use std::fmt;

use tollgate::Time;

use super::{BusySecond, Denials, Report};
use crate::intake::{Intake, Noted};
use crate::log::Origin;
use crate::text::{Shown, counted, duration, grouped, share};

/// Where the values of named lines begin.
const LABEL_WIDTH: usize = 17;

/// How wide names are before their counts, unless one is longer.
const NAME_WIDTH: usize = 32;

const NANOS_PER_MILLISECOND: u64 = 1_000_000;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl Report {
    fn lines(&self) -> Vec<String> {
        let mut lines = self.figures();
        lines.extend(table("Clients denied most", &self.worst_clients));
        lines.extend(table("Endpoints denied most", &self.worst_endpoints));
        lines.extend(faults(&self.intake));
        lines
    }

    fn figures(&self) -> Vec<String> {
        let mut lines = vec![
            line(
                "Requests",
                &format!("{} of {}", grouped(self.requests), counted(self.clients, "client")),
            ),
            line("Denied", &self.denied_line()),
        ];
        if self.cost_exceeds_limit > 0 {
            let count = grouped(self.cost_exceeds_limit);
            lines.push(line(
                "Never allowed",
                &format!("{count} of them, at a cost above the limit"),
            ));
        }
        if let Some(waits) = &self.waits {
            let (median, p95) = (duration(waits.median_ms), duration(waits.p95_ms));
            let longest = duration(waits.longest_ms);
            lines.push(line(
                "Wait if denied",
                &format!("median {median}, 95 % within {p95}, longest {longest}"),
            ));
        }
        if let Some((first, last)) = self.covers {
            let span = duration(last.nanos_since(first) / NANOS_PER_MILLISECOND);
            let (first, last) = (self.time(first), self.time(last));
            lines.push(line("Time covered", &format!("{first} to {last} ({span})")));
        }
        lines.extend(self.busy("Busiest second", self.busiest_second, "request"));
        lines.extend(self.busy("Most denials", self.busiest_second_of_denials, "denial"));
        let Intake { lines: read, unreadable, late } = &self.intake;
        let counts = [*read, unreadable.count, late.count].map(grouped);
        let [read, unreadable, late] = counts;
        lines.push(line("Lines", &format!("{read} read, {unreadable} unreadable, {late} late")));
        lines
    }

    fn denied_line(&self) -> String {
        let requests = share(self.denied, self.requests);
        let clients = share(self.clients_denied, self.clients);
        let (denied, clients_denied) =
            (grouped(self.denied), counted(self.clients_denied, "client"));
        format!("{denied} ({requests}) of {clients_denied} ({clients})")
    }

    fn busy(&self, label: &str, second: Option<BusySecond>, noun: &str) -> Option<String> {
        let BusySecond { start, count } = second?;
        Some(line(label, &format!("{} with {}", self.time(start), counted(count, noun))))
    }

    /// A moment: a date for logs, to the second, and milliseconds from the start for event lines.
    fn time(&self, time: Time) -> String {
        match self.origin {
            Origin::Recording => format!("{} ms", grouped(time.as_nanos() / NANOS_PER_MILLISECOND)),
            Origin::UnixEpoch => utc(time),
        }
    }
}

fn utc(time: Time) -> String {
    let timestamp = jiff::Timestamp::from_nanosecond(time.as_nanos().into())
        .expect("64 bits of nanoseconds end in 2554, and the calendar in 9999");
    timestamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn line(label: &str, value: &str) -> String {
    format!("{label:LABEL_WIDTH$}{value}")
}

/// Names with their denials and calls, in columns; nothing where there are none.
fn table(title: &str, rows: &[Denials]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let names: Vec<_> = rows.iter().map(|row| Shown(&row.name).to_string()).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let width = longest.max(NAME_WIDTH);
    let title_width = width.saturating_add(2);
    let mut lines =
        vec![String::new(), format!("{title:title_width$} {:>12} {:>12}", "denied", "of requests")];
    for (row, name) in rows.iter().zip(names) {
        let (denied, requests) = (grouped(row.denied), grouped(row.requests));
        lines.push(format!("  {name:width$} {denied:>12} {requests:>12}"));
    }
    lines
}

/// The first of the lines that cannot be read, or came late.
fn faults(intake: &Intake) -> Vec<String> {
    let late = |by: &std::time::Duration| {
        let by_ms = u64::try_from(by.as_nanos().div_ceil(u128::from(NANOS_PER_MILLISECOND)));
        format!("{} late", duration(by_ms.unwrap_or(u64::MAX)))
    };
    let mut lines = noted("Unreadable lines", &intake.unreadable, ToString::to_string);
    lines.extend(noted("Lines too late to be put in order", &intake.late, late));
    lines
}

fn noted<T>(title: &str, noted: &Noted<T>, say: impl Fn(&T) -> String) -> Vec<String> {
    if noted.count == 0 {
        return Vec::new();
    }
    let mut lines = vec![String::new(), title.to_owned()];
    lines.extend(noted.first.iter().map(|(place, what)| format!("  {place}: {}", say(what))));
    let shown = u64::try_from(noted.first.len()).unwrap_or(u64::MAX);
    match noted.count.saturating_sub(shown) {
        0 => (),
        more => lines.push(format!("  and {} more", grouped(more))),
    }
    lines
}
