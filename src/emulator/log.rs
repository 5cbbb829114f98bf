//! `RequestLog`: the latest requests to the service, counts by route and status, and the busiest second. It is in
//! memory only and bounded, so that a server that runs for months does not grow.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

/// How many requests are kept as single entries; the oldest is dropped first.
const MAX_LOG_ENTRIES: usize = 10_000;
/// Limit on the entries in one response; a client asks again with the last `seq` that it read.
pub const MAX_ENTRIES_PER_PAGE: usize = 1_000;
/// How many characters of an API key are kept: enough to tell keys apart, too few to use one.
const KEY_PREFIX_CHARS: usize = 8;
/// How many characters of a path are kept.
const MAX_PATH_CHARS: usize = 512;

/// One request, as the log shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestLogEntry {
    /// Sequence number of the request, from 1.
    pub seq: u64,
    /// Real time at which the request was read to its end.
    pub time: Timestamp,
    /// HTTP method of the request; any word of up to 16 characters if the client sent one that HTTP does not define.
    pub method: String,
    /// Path template of the route, such as `/api/v1/vms/{id}`; empty if no route matches.
    pub route: &'static str,
    /// Path of the request, without its query and cut to 512 characters.
    pub path: String,
    /// HTTP status of the response; 0 if the connection was reset instead.
    pub status: u16,
    /// The first 8 characters of the API key that the request had; empty without one.
    pub key_prefix: String,
}

/// The requests that a server received since it started.
#[derive(Debug, Default)]
pub struct RequestLog {
    entries: VecDeque<RequestLogEntry>,
    total: u64,
    counts: BTreeMap<(String, &'static str, u16), u64>,
    recent: VecDeque<Duration>,
    peak: usize,
}

/// Number of requests to one route that ended with one status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteCount {
    /// HTTP method of the request.
    pub method: String,
    /// Path template of the route; empty for requests that match no route.
    pub route: &'static str,
    /// HTTP status of the responses; 0 for connections that were reset.
    pub status: u16,
    /// Number of requests counted here.
    pub count: u64,
}

impl RequestLog {
    /// Records a request that arrived at `arrived`, a time since some fixed moment; sets the entry's `seq`, and
    /// shortens its path and its key.
    pub fn add(&mut self, mut entry: RequestLogEntry, arrived: Duration) {
        self.total += 1;
        entry.seq = self.total;
        entry.key_prefix = entry.key_prefix.chars().take(KEY_PREFIX_CHARS).collect();
        if let Some((end, _)) = entry.path.char_indices().nth(MAX_PATH_CHARS) {
            entry.path.truncate(end);
        }
        *self.counts.entry((entry.method.clone(), entry.route, entry.status)).or_default() += 1;
        while self
            .recent
            .front()
            .is_some_and(|time| arrived.saturating_sub(*time) >= Duration::from_secs(1))
        {
            self.recent.pop_front();
        }
        self.recent.push_back(arrived);
        self.peak = self.peak.max(self.recent.len());
        if self.entries.len() == MAX_LOG_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// Returns the entries with a sequence number above `seq`, oldest first, at most `MAX_ENTRIES_PER_PAGE`.
    pub fn entries_after(&self, seq: u64) -> impl Iterator<Item = &RequestLogEntry> {
        let first = self.entries.front().map_or(1, |entry| entry.seq);
        let skip = usize::try_from(seq.saturating_add(1).saturating_sub(first)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skip).take(MAX_ENTRIES_PER_PAGE)
    }

    /// Returns the number of requests since the server started, including those whose entries were dropped.
    pub fn request_count(&self) -> u64 {
        self.total
    }

    /// Returns the largest number of requests within any one second.
    pub fn peak_per_second(&self) -> usize {
        self.peak
    }

    /// Returns the number of requests by method, route and status, in this order.
    pub fn counts_by_route(&self) -> impl Iterator<Item = RouteCount> {
        self.counts.iter().map(|((method, route, status), count)| RouteCount {
            method: method.clone(),
            route,
            status: *status,
            count: *count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> RequestLogEntry {
        RequestLogEntry {
            seq: 0,
            time: Timestamp::UNIX_EPOCH,
            method: "GET".into(),
            route: "/api/v1/vms",
            path: path.into(),
            status: 200,
            key_prefix: "sk_0123456789".into(),
        }
    }

    #[test]
    fn the_log_is_bounded_and_keeps_counting() {
        let mut log = RequestLog::default();
        (0..12_000).for_each(|n| log.add(entry("/api/v1/vms"), Duration::from_millis(n)));
        assert_eq!(log.request_count(), 12_000);
        assert_eq!(log.entries_after(0).next().unwrap().seq, 2_001);
        assert_eq!(log.entries_after(11_998).map(|entry| entry.seq).collect::<Vec<_>>(), [11_999, 12_000]);
        assert_eq!(log.entries_after(u64::MAX).count(), 0);
        assert_eq!(log.peak_per_second(), 1_000);
        assert_eq!(log.counts_by_route().next().unwrap().count, 12_000);
    }

    #[test]
    fn keys_and_long_paths_are_cut() {
        let mut log = RequestLog::default();
        log.add(entry(&"é".repeat(2_000)), Duration::ZERO);
        let kept = log.entries_after(0).next().unwrap();
        assert_eq!((kept.key_prefix.as_str(), kept.path.chars().count()), ("sk_01234", 512));
    }
}
