//! Recorded traffic of several inputs as one stream of events, in order of time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::time::Duration;

use crate::error::ReplayError;
use crate::event::Event;
use crate::input::{Input, LINE_BYTES_MAX, Line, Lines};
use crate::intake::{Intake, Place};
use crate::line_fault::LineFault;
use crate::log::{Naming, Origin, parse_line};
use crate::reorder::{Late, Reorder};

/// The events of all inputs. Where a file ends another goes on, and files that cover the same time are merged: the next
/// line read is always the one whose event is earliest, so the order in which files are given does not matter. What
/// is out of order within a file, or across the seam of two, is put into order within the window.
#[derive(Debug)]
pub(crate) struct Traffic {
    sources: BinaryHeap<Reverse<Source>>,
    reorder: Reorder<Recorded>,
    reading: Reading,
}

/// What all sources share.
#[derive(Debug)]
struct Reading {
    naming: Naming,
    intake: Intake,
    /// What the times count from, and the line that said so first.
    origin: Option<(Origin, Place)>,
}

/// An event and the line it was read from.
#[derive(Debug)]
struct Recorded {
    event: Event,
    place: Place,
}

/// An input that is not at its end, with the event that it goes on with.
#[derive(Debug)]
struct Source {
    /// Which of the inputs it is: of events at one time, those of an earlier input come first.
    order: usize,
    head: Recorded,
    lines: Lines,
}

impl Traffic {
    /// Reads the inputs up to the first event of each.
    pub(crate) fn open(
        inputs: Vec<Input>,
        naming: Naming,
        window: Duration,
    ) -> Result<Self, ReplayError> {
        let mut reading = Reading { naming, intake: Intake::default(), origin: None };
        let mut sources = BinaryHeap::new();
        for (order, input) in inputs.into_iter().enumerate() {
            let mut lines = Lines::new(input);
            if let Some(head) = reading.next_event(&mut lines)? {
                sources.push(Reverse(Source { order, head, lines }));
            }
        }
        Ok(Self { sources, reorder: Reorder::new(window), reading })
    }

    /// The next event, `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, ReplayError> {
        loop {
            if let Some(due) = self.reorder.pop_due() {
                return Ok(Some(due.event));
            }
            let Some(recorded) = self.next_recorded()? else {
                return Ok(self.reorder.pop().map(|last| last.event));
            };
            if let Err(Late { item, by }) = self.reorder.push(recorded.event.at, recorded) {
                self.reading.intake.late.note(item.place, by);
                return Ok(Some(item.event));
            }
        }
    }

    /// Ends the reading: how it went, and what the times count from where there were any.
    pub(crate) fn finish(self) -> (Intake, Option<Origin>) {
        (self.reading.intake, self.reading.origin.map(|(origin, _first)| origin))
    }

    /// The earliest of the events that the inputs go on with.
    fn next_recorded(&mut self) -> Result<Option<Recorded>, ReplayError> {
        let Some(mut earliest) = self.sources.peek_mut() else { return Ok(None) };
        let Reverse(source) = &mut *earliest;
        Ok(Some(match self.reading.next_event(&mut source.lines)? {
            Some(next) => std::mem::replace(&mut source.head, next),
            None => PeekMut::pop(earliest).0.head,
        }))
    }
}

impl Reading {
    /// The event of the next line that has one. Lines that cannot be read are noted, but for empty ones at the end.
    fn next_event(&mut self, lines: &mut Lines) -> Result<Option<Recorded>, ReplayError> {
        let mut empty_lines = 0_u64;
        loop {
            let parsed = match lines.next()? {
                None => return Ok(None),
                Some(Line::Text(text)) if text.trim().is_empty() => {
                    empty_lines = empty_lines.saturating_add(1);
                    continue;
                }
                Some(Line::Text(text)) => parse_line(&text, &self.naming),
                Some(Line::TooLong) => Err(LineFault::TooLong { max: LINE_BYTES_MAX }),
            };
            let place = Place::new(lines.name(), lines.number());
            for number in place.line.saturating_sub(empty_lines)..place.line {
                self.note_unreadable(Place::new(&place.file, number), LineFault::Empty);
            }
            empty_lines = 0;
            match parsed {
                Err(fault) => self.note_unreadable(place, fault),
                Ok((event, origin)) => {
                    self.intake.lines = self.intake.lines.saturating_add(1);
                    self.check_origin(origin, &place)?;
                    return Ok(Some(Recorded { event, place }));
                }
            }
        }
    }

    fn note_unreadable(&mut self, place: Place, fault: LineFault) {
        self.intake.lines = self.intake.lines.saturating_add(1);
        self.intake.unreadable.note(place, fault);
    }

    fn check_origin(&mut self, origin: Origin, place: &Place) -> Result<(), ReplayError> {
        let (known, first) = self.origin.get_or_insert_with(|| (origin, place.clone()));
        match (*known, origin) {
            (Origin::Recording, Origin::UnixEpoch) => {
                Err(ReplayError::Mixed { event: first.clone(), log: place.clone() })
            }
            (Origin::UnixEpoch, Origin::Recording) => {
                Err(ReplayError::Mixed { event: place.clone(), log: first.clone() })
            }
            (Origin::Recording, Origin::Recording) | (Origin::UnixEpoch, Origin::UnixEpoch) => {
                Ok(())
            }
        }
    }
}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.head.event.at, self.order).cmp(&(other.head.event.at, other.order))
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Source {}
