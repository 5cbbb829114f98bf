//! `CronSchedule`: a five-field cron schedule in a time zone. Its rules are those of "Errors", case 5: an invalid
//! schedule and an unknown IANA zone are answered with 400.

use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::message::ErrorResponse;
use super::status_timeline;
use crate::emulator::world::Time;

/// A parsed cron schedule with its time zone.
pub(in crate::emulator::world) struct CronSchedule {
    fields: croner::Cron,
    zone: TimeZone,
}

/// Returns an IANA time zone. The time zone database is built in, so that results are the same on each machine. An
/// unknown name is an error 400.
fn find_time_zone(name: &str) -> Result<TimeZone, ErrorResponse> {
    TimeZoneDatabase::bundled().get(name).map_err(|_| {
        ErrorResponse::bad_request(format!(
            "cron_timezone {name} is not an IANA time zone such as Europe/Paris"
        ))
    })
}

impl CronSchedule {
    /// Parses a cron schedule and the name of an IANA time zone. A schedule that never fires is refused, such as one on
    /// 31 February: a search for its next time would not end.
    pub(in crate::emulator::world) fn parse(schedule: &str, timezone: &str) -> Result<Self, ErrorResponse> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let wrong = |why: String| {
            ErrorResponse::bad_request(format!(
                "cron_schedule {schedule} is not a schedule such as \"0 6 * * 1-5\" (minute, hour, day, \
                 month, weekday): {why}"
            ))
        };
        let fields = parser.parse(schedule).map_err(|error| wrong(error.to_string()))?;
        let cron = Self { fields, zone: find_time_zone(timezone)? };
        if cron.next(Time::UNIX_EPOCH).is_none() {
            return Err(wrong("there is no such day".to_owned()));
        }
        Ok(cron)
    }

    /// Returns the first scheduled time after `after`, which is excluded; `None` if the search finds none.
    pub(in crate::emulator::world) fn next(&self, after: Time) -> Option<Time> {
        let found = self.fields.find_next_occurrence(&after.to_zoned(self.zone.clone()), false);
        found.ok().map(|zoned| zoned.timestamp())
    }

    /// Returns a time, not before `start`, such that at least `times` scheduled times, and not many more, lie
    /// between it and `end` (included).
    pub(in crate::emulator::world) fn shortly_before(&self, start: Time, end: Time, times: usize) -> Time {
        // The span is doubled until it holds enough times: how often a schedule fires is not known in advance.
        let mut seconds = 3_600;
        loop {
            let from = status_timeline::time_after(end, -seconds);
            if from <= start {
                return start;
            }
            let mut at = from;
            let mut found = 0;
            while let Some(next) = self.next(at).filter(|next| *next <= end && found < times) {
                at = next;
                found += 1;
            }
            if found >= times {
                return from;
            }
            seconds *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn schedules_recur_in_their_zone() {
        let now = at("2026-03-04T12:00:00Z");
        for (schedule, zone, wanted) in [
            ("0 6 * * 1-5", "UTC", "2026-03-05T06:00:00Z"),
            ("0 6 * * 1-5", "Europe/Paris", "2026-03-05T05:00:00Z"),
            ("*/15 * * * *", "Asia/Kathmandu", "2026-03-04T12:15:00Z"),
            ("0 0 1 1 *", "America/New_York", "2027-01-01T05:00:00Z"),
            ("0 0 29 2 *", "UTC", "2028-02-29T00:00:00Z"),
            ("30 2 29 3 *", "Europe/Paris", "2026-03-29T01:00:00Z"),
            ("@hourly", "UTC", "2026-03-04T13:00:00Z"),
        ] {
            let cron = CronSchedule::parse(schedule, zone).ok().unwrap();
            assert_eq!(cron.next(now), Some(at(wanted)), "{schedule} {zone}");
        }
    }

    #[test]
    fn an_invalid_schedule_is_rejected() {
        for (schedule, zone, words) in [
            ("", "UTC", "cron_schedule"),
            ("* * * *", "UTC", "cron_schedule"),
            ("* * * * * *", "UTC", "cron_schedule"),
            ("60 * * * *", "UTC", "cron_schedule"),
            ("* 24 * * *", "UTC", "cron_schedule"),
            ("often", "UTC", "cron_schedule"),
            ("0 0 30 2 *", "UTC", "no such day"),
            ("* * * * *", "Paris", "IANA"),
            ("* * * * *", "", "IANA"),
        ] {
            let refusal = CronSchedule::parse(schedule, zone).err().unwrap();
            assert!(refusal.message.contains(words), "{schedule} {zone}: {}", refusal.message);
        }
    }

    #[test]
    fn a_long_interval_skips_to_its_last_runs() {
        let cron = |schedule| CronSchedule::parse(schedule, "UTC").ok().unwrap();
        let (start, end) = (at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z"));
        for schedule in ["* * * * *", "0 6 * * 1-5", "0 0 1 * *", "0 0 29 2 *", "* 3 1 1 *"] {
            let cron = cron(schedule);
            let from = cron.shortly_before(start, end, 50);
            let count = std::iter::successors(cron.next(from), |at| cron.next(*at))
                .take_while(|at| *at <= end)
                .count();
            assert!(count >= 50 || from == start, "{schedule}: {count}");
            assert!(count <= 4_000, "{schedule}: {count}");
        }
        assert_eq!(cron("* * * * *").shortly_before(end, end, 50), end);
    }
}
