//! Names of clients, 13 to 40 bytes long and of four shapes, and the orders in which they call.

use std::fmt::Write;

/// The lengths a name may have.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 13..=40;

/// Calls to come: names laid out one after another in the order of the calls, as requests lie in a server's buffers.
/// Reading them misses no cache, so what is measured is the limiter.
pub struct Calls {
    text: String,
    ends: Vec<u32>,
}

impl Calls {
    /// One call of each of `keys` clients.
    pub fn once_each(keys: usize) -> Self {
        Self::of(0..keys)
    }

    /// So many calls of `keys` clients in some order, another one for each seed.
    pub fn drawn(order: Order, keys: usize, calls: usize, seed: u64) -> Self {
        Self::of(order.draw(keys, calls, seed).into_iter())
    }

    fn of(clients: impl Iterator<Item = usize>) -> Self {
        let mut calls = Self { text: String::new(), ends: Vec::new() };
        for client in clients {
            push_name(&mut calls.text, client);
            calls.ends.push(u32::try_from(calls.text.len()).expect("the names fit 4 GiB"));
        }
        calls
    }

    /// The first of these calls.
    pub fn first(&self, count: usize) -> Self {
        let ends = self.ends[..count].to_vec();
        let text = ends.last().map(|end| self.text[..*end as usize].to_owned());
        Self { text: text.unwrap_or_default(), ends }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let name = &self.text[start..*end as usize];
            start = *end as usize;
            name
        })
    }
}

/// The name of each of `keys` clients in turn, none of them kept.
pub fn for_each_name(keys: usize, mut visit: impl FnMut(&str)) {
    let mut name = String::new();
    for client in 0..keys {
        name.clear();
        push_name(&mut name, client);
        visit(&name);
    }
}

fn push_name(text: &mut String, client: usize) {
    let start = text.len();
    match client % 4 {
        0 => write!(text, "user:{client:08}"),
        1 => write!(text, "203.0.{}.{}:{client:07}", client / 250 % 250, client % 250),
        2 => write!(text, "tenant-{:04}/client-{client:012}", client % 9_973),
        _ => write!(text, "api-key-{:016x}-{client:015}", client.wrapping_mul(0x9E37_79B9)),
    }
    .expect("a String takes any text");
    let name = &text[start..];
    // An empty name once made a peer look four times slower than it is.
    assert!(NAME_BYTES.contains(&name.len()), "{name:?} has {} bytes", name.len());
}

/// An order of calls: which client comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Any client, all alike.
    Uniform,
    /// The k-th most frequent client calls 1/k as often as the first.
    Zipf,
}

impl Order {
    fn draw(self, keys: usize, calls: usize, seed: u64) -> Vec<usize> {
        let mut random = Random::new(seed);
        match self {
            Self::Uniform => (0..calls).map(|_| random.below(keys)).collect(),
            Self::Zipf => {
                let ranks = Ranks::new(keys);
                (0..calls).map(|_| ranks.client(random.unit())).collect()
            }
        }
    }
}

/// Clients by how often they call, drawn by inversion of the harmonic sums.
struct Ranks {
    sums: Vec<f64>,
}

impl Ranks {
    fn new(keys: usize) -> Self {
        let frequencies = (1..=keys).map(|rank| 1.0 / rank as f64);
        let sums = frequencies.scan(0.0, |sum, frequency| {
            *sum += frequency;
            Some(*sum)
        });
        Self { sums: sums.collect() }
    }

    /// The client at a point of the unit interval. Ranks are scattered, so that frequent clients have names of every
    /// shape.
    fn client(&self, point: f64) -> usize {
        let drawn = point * self.sums.last().expect("there are clients");
        let rank = self.sums.partition_point(|sum| *sum < drawn);
        rank.wrapping_mul(2_654_435_761) % self.sums.len()
    }
}

/// A small, fast source of numbers (xorshift64*), the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds start far apart, and none at 0, where the generator would stay.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn every_client_has_a_name_of_its_own() {
        let calls = Calls::once_each(100_000);
        let names: HashSet<_> = calls.iter().collect();
        assert_eq!(names.len(), 100_000);
        let mut streamed = 0;
        for_each_name(100_000, |name| streamed += usize::from(names.contains(name)));
        assert_eq!(streamed, 100_000);
    }

    #[test]
    fn orders_call_as_often_as_they_say() {
        // Of 100 clients, the most frequent makes 1 in 100 of uniform calls, and 1 in 5.19 of Zipf's.
        for (order, expected) in [(Order::Uniform, 1_000), (Order::Zipf, 19_277)] {
            let calls = Calls::drawn(order, 100, 100_000, 0);
            let mut counts = HashMap::new();
            calls.iter().for_each(|name| *counts.entry(name).or_insert(0) += 1);
            let most: usize = counts.into_values().max().expect("somebody called");
            assert!(most.abs_diff(expected) < expected / 5, "{order:?}: {most}");
        }
    }

    #[test]
    fn the_first_calls_are_the_same_calls() {
        let calls = Calls::drawn(Order::Uniform, 1_000, 100, 0);
        for count in [0, 1, 40, 100] {
            assert!(calls.first(count).iter().eq(calls.iter().take(count)));
        }
    }
}
