//! The page of `lock`: who holds the lock of a ledger, and how long it can last.

use jiff::Timestamp;
use serde::Serialize;

use super::record::format_time;
use crate::report::text::page::{TextLine, TextPage};
use crate::report::text::style::TextStyle;

/// Whether a lock blocks other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LockStatus {
    /// Its holder has it: other processes wait.
    Held,
    /// The process of its holder has ended: the next apply takes the lock over.
    Dead,
    /// It expired: the next apply takes the lock over.
    RunOut,
}

/// The holder of a lock, as `lock` shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct LockHolder {
    /// The actor, as a name.
    pub who: String,
    /// When the lock was taken, by the holder's clock.
    pub since: Timestamp,
    /// Process id of the holder; `None` if not known.
    pub process: Option<u32>,
    /// Status of the lock.
    pub standing: LockStatus,
    /// Seconds since the last renewal; `None` for a lock that needs no renewal.
    pub renewed: Option<u64>,
    /// Maximum number of seconds until the lock expires; `None` if it does not expire.
    pub left: Option<u64>,
}

/// Returns the page on a ledger's lock: its holder, since when, and when it expires; `None` means
/// that the lock is free.
#[must_use]
pub fn lock_page(holder: Option<&LockHolder>, place: &str, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    let Some(holder) = holder else {
        page.add_line(TextLine::indent(0).push_text(format!("The lock of {place} is free.")));
        return page.finish();
    };
    page.add_line(TextLine::indent(0).push_text(format!("{} has the lock of {place}.", holder.who)));
    let since = format!("since {} by its own clock", format_time(holder.since));
    page.add_line(TextLine::indent(2).push_text(match holder.process {
        Some(process) => format!("{since}, process {process}"),
        None => since,
    }));
    page.add_line(
        TextLine::indent(2).push_text(match (holder.standing, holder.left) {
            (LockStatus::Dead, _) => "its process is gone: the next apply takes the lock over".to_owned(),
            (LockStatus::RunOut, _) => {
                "it ran out: the next apply takes the lock over, and checks the outcome of its requests"
                    .to_owned()
            }
            (LockStatus::Held, Some(left)) => {
                format!("without a renewal it runs out in {left} s at the latest")
            }
            (LockStatus::Held, None) => "it lasts as long as its process".to_owned(),
        }),
    );
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_shows_its_holder_and_its_duration() {
        let holder = LockHolder {
            who: "ada@build-7".into(),
            since: "2026-11-21T12:00:00Z".parse().unwrap(),
            process: Some(7),
            standing: LockStatus::Held,
            renewed: Some(10),
            left: Some(230),
        };
        let text = |holder: &LockHolder| lock_page(Some(holder), "s3://b/p", TextStyle::plain(100));
        assert_eq!(
            text(&holder),
            "ada@build-7 has the lock of s3://b/p.\n  since 2026-11-21 12:00:00 UTC by its own clock, process 7\n  \
             without a renewal it runs out in 230 s at the latest\n"
        );
        assert!(
            text(&LockHolder { standing: LockStatus::Dead, ..holder.clone() }).contains("process is gone")
        );
        assert!(
            text(&LockHolder { standing: LockStatus::RunOut, ..holder.clone() }).contains("it ran out")
        );
        assert!(text(&LockHolder { left: None, ..holder }).contains("as long as its process"));
        assert_eq!(lock_page(None, "file:x", TextStyle::plain(80)), "The lock of file:x is free.\n");
    }
}
