//! `MaintenanceWindow`: when the automatic upgrades of a cluster may start. It is weekly, four hours long and in UTC
//! ("Catalogue of other endpoints", Kubernetes).

use jiff::civil;

use crate::emulator::world::Time;
use crate::emulator::world::engine::status_timeline::time_after;

pub(in crate::emulator::world) const DAY: i64 = 24 * 3_600;

pub(in crate::emulator::world) const WEEK: i64 = 7 * DAY;

/// Seconds for which a maintenance window is open.
pub(in crate::emulator::world) const WINDOW_SECS: i64 = 4 * 3_600;

/// A weekly window of four hours; the value is its start, in seconds from the beginning of Sunday (UTC).
#[derive(Debug, Clone, Copy)]
pub(in crate::emulator::world) struct MaintenanceWindow(i64);

impl MaintenanceWindow {
    /// `day` counts from Sunday, 0; an invalid `start` counts as midnight.
    pub(in crate::emulator::world) fn new(day: i8, start: &str) -> Self {
        Self(i64::from(day) * DAY + seconds_of_day(start).unwrap_or_default())
    }

    /// Returns the seconds since the window last opened, from 0 to below a week.
    pub(in crate::emulator::world) fn since_opening(self, time: Time) -> i64 {
        // 1970 began on a Thursday.
        (time.as_second() + 4 * DAY - self.0).rem_euclid(WEEK)
    }

    /// Returns the first moment at or after `time` at which the window is open.
    pub(in crate::emulator::world) fn open_from(self, time: Time) -> Time {
        match self.since_opening(time) {
            open if open < WINDOW_SECS => time,
            past => Time::from_second(time.as_second() + WEEK - past).unwrap_or(Time::MAX),
        }
    }

    /// Returns when the window closes; it must be open at `time`.
    pub(in crate::emulator::world) fn closes_at(self, time: Time) -> Time {
        time_after(time, WINDOW_SECS - self.since_opening(time))
    }
}

/// Reads a time in exactly the form `HH:MM`; returns seconds since midnight, or `None` for another form.
pub(in crate::emulator::world) fn seconds_of_day(text: &str) -> Option<i64> {
    let shape = text.len() == 5 && text.as_bytes().get(2) == Some(&b':');
    let time: civil::Time = shape.then(|| format!("{text}:00"))?.parse().ok()?;
    Some(i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_opens_on_its_day_for_four_hours() {
        // 4 March 2026 is a Wednesday.
        for (day, start, time, wanted) in [
            (3, "12:00", "2026-03-04T12:00:00Z", "2026-03-04T12:00:00Z"),
            (3, "12:00", "2026-03-04T15:59:59.5Z", "2026-03-04T15:59:59.5Z"),
            (3, "12:00", "2026-03-04T16:00:00Z", "2026-03-11T12:00:00Z"),
            (3, "12:01", "2026-03-04T12:00:00Z", "2026-03-04T12:01:00Z"),
            (0, "03:00", "2026-03-04T12:00:00Z", "2026-03-08T03:00:00Z"),
            // Over midnight, and over the end of a week.
            (2, "23:30", "2026-03-04T01:00:00Z", "2026-03-04T01:00:00Z"),
            (6, "22:00", "2026-03-08T01:00:00Z", "2026-03-08T01:00:00Z"),
            (6, "22:00", "2026-03-08T02:00:00.25Z", "2026-03-14T22:00:00Z"),
        ] {
            let time: Time = time.parse().unwrap();
            let window = MaintenanceWindow::new(day, start);
            let open = window.open_from(time);
            assert_eq!(open.to_string(), wanted, "{day} {start} {time}");
            let next = window.open_from(window.closes_at(open));
            assert!(next > open && window.since_opening(next) == 0, "{next}");
        }
    }

    #[test]
    fn a_time_of_day_has_one_format() {
        assert_eq!(seconds_of_day("00:00"), Some(0));
        assert_eq!(seconds_of_day("23:59"), Some(DAY - 60));
        for bad in ["", "3:00", "03:0", "24:00", "03:60", "03-00", "03:00:00", "0300", "aé:00", "-1:00"] {
            assert_eq!(seconds_of_day(bad), None, "{bad}");
        }
    }
}
