//! The limits and defaults of the program, for the documentation. Each value is read from the constant that the program
//! uses, so that a page cannot be outdated.

use crate::apply::context::{DEFAULT_CONCURRENCY, TimingBounds};
use crate::cli::process::helper_program::HELPER_TIMEOUT;
use crate::cli::service::embedded_cloud;
use crate::cloud::capabilities::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use crate::cloud::http::decode::MAX_BODY_BYTES;
use crate::config::input::source_dir::MAX_ARCHIVE_BYTES;
use crate::config::syntax::decode::MAX_BYTES;
use crate::config::syntax::limits::{
    MAX_DEPTH, MAX_FILES, MAX_INSTANCES, MAX_MODULE_DEPTH, MAX_NODES, MAX_PROBLEMS,
};
use crate::ledger::age_file::MAX_VALUE_BYTES;
use crate::ledger::journal::intent_candidates::WATCH_DURATION;
use crate::ledger::state::run_details::{MAX_FULL_RUNS, MAX_KEPT_RESOURCES};
use crate::ledger::state::run_history::MAX_RUNS;
use crate::ledger::stores::shared::lease::{LEASE_DURATION, LEASE_RENEWAL_INTERVAL};
use crate::model::budget::{MAX_VALUE_NODES, MAX_VALUE_TEXT_BYTES};
use crate::model::cel::MAX_STEPS;
use crate::model::crypto::recipient::MAX_RECIPIENTS;
use crate::plan::artifact::binding::{DEFAULT_LIFETIME, LIFETIME_RANGE};
use crate::plan::inputs::DELETION_LIMIT_PERCENT;

/// A limit or a default.
pub(super) struct LimitRow {
    /// Heading under which it stands.
    pub(super) group: &'static str,
    /// Name of the limit or default.
    pub(super) name: &'static str,
    /// Returns the value with its unit.
    pub(super) value: fn() -> String,
    /// What happens at the limit, and how to change it, as sentences.
    pub(super) text: &'static str,
}

const fn row(
    group: &'static str,
    name: &'static str,
    value: fn() -> String,
    text: &'static str,
) -> LimitRow {
    LimitRow { group, name, value, text }
}

const PLANS: &str = "Plans and applies";
const LEDGERS: &str = "Ledgers";
const FILES: &str = "Files of a stack";
const SERVICE: &str = "Requests";

/// All rows, by group.
pub(super) const LIMITS: &[LimitRow] = &[
    row(
        PLANS,
        "deletion limit",
        || format!("more than {DELETION_LIMIT_PERCENT} % of the managed objects"),
        "A plan that deletes so many is blocked (`deletion_budget`), unless they are fewer than 3. `--allow-deletes` lifts the limit for one apply. The replacement of an object with data counts as a deletion.",
    ),
    row(
        PLANS,
        "lifetime of a saved plan",
        || format!("{} days", DEFAULT_LIFETIME.as_hours() / 24),
        "An older plan is refused. `plan --expires TIME` sets another lifetime.",
    ),
    row(
        PLANS,
        "longest lifetime of a saved plan",
        || format!("{} days", LIFETIME_RANGE.end().as_hours() / 24),
        "A longer `--expires` is an error.",
    ),
    row(
        PLANS,
        "concurrent steps",
        || DEFAULT_CONCURRENCY.to_string(),
        "`apply --parallel N` sets another number. The rate limit holds with any number.",
    ),
    row(
        PLANS,
        "effect bound",
        || seconds(TimingBounds::default().effect),
        "A request takes effect within this time after it was sent, or never. `--effect-bound TIME` sets another one; `--strict` assumes none. With `--cloud local` it is 1 s.",
    ),
    row(
        PLANS,
        "listing bound",
        || seconds(TimingBounds::default().listing),
        "A new object is listed within this time. `--listing-bound TIME` sets another one; `--strict` assumes none. With `--cloud local` it is 1 s.",
    ),
    row(
        PLANS,
        "watch for late effects",
        || format!("{} days", WATCH_DURATION.as_secs() / 86_400),
        "For so long after a lost request, each plan looks for an object that it created after all.",
    ),
    row(
        LEDGERS,
        "lease",
        || seconds(LEASE_DURATION),
        "Another process takes over a lease that was not renewed for this time, on shared stores. It proves first that the former holder can write nothing more.",
    ),
    row(
        LEDGERS,
        "renewal of the lease",
        || seconds(LEASE_RENEWAL_INTERVAL),
        "The holder renews its lease at this interval.",
    ),
    row(
        LEDGERS,
        "past applies",
        || MAX_RUNS.to_string(),
        "`stead history` shows so many; older ones are dropped.",
    ),
    row(
        LEDGERS,
        "past applies in full",
        || MAX_FULL_RUNS.to_string(),
        "`stead history show N` lists the resources and requests of so many; of older ones the summary is kept.",
    ),
    row(
        LEDGERS,
        "resources of past applies",
        || MAX_KEPT_RESOURCES.to_string(),
        "All past applies together keep so many resources in full; the last apply is kept in full in any case.",
    ),
    row(
        LEDGERS,
        "recipients",
        || MAX_RECIPIENTS.to_string(),
        "The largest number of `secrets.recipients`.",
    ),
    row(LEDGERS, "a secret in the ledger", || bytes(MAX_VALUE_BYTES as u64), "A larger one is refused."),
    row(FILES, "a file", || bytes(MAX_BYTES), "A larger one is refused (S0101)."),
    row(FILES, "files of a stack", || MAX_FILES.to_string(), "With its includes and modules."),
    row(FILES, "nesting of a file", || format!("{MAX_DEPTH} levels"), "Deeper values are refused (S0104)."),
    row(FILES, "values in a file", || MAX_NODES.to_string(), "With those that aliases repeat (S0105)."),
    row(
        FILES,
        "values that expressions give",
        || format!("{} of text, {MAX_VALUE_NODES} values", bytes(MAX_VALUE_TEXT_BYTES as u64)),
        "Counted together, and apart from the values that the files contain (S0218).",
    ),
    row(FILES, "steps of an expression", || MAX_STEPS.to_string(), "An expression that needs more fails."),
    row(FILES, "nesting of modules", || format!("{MAX_MODULE_DEPTH} levels"), "Deeper ones are refused."),
    row(FILES, "module instances", || MAX_INSTANCES.to_string(), "More are refused."),
    row(
        FILES,
        "diagnostics of one file",
        || MAX_PROBLEMS.to_string(),
        "Further problems of its syntax are not listed.",
    ),
    row(
        FILES,
        "archive of `source_dir`",
        || bytes(MAX_ARCHIVE_BYTES),
        "A larger directory is refused; `.steadignore` leaves files out.",
    ),
    row(SERVICE, "answer of the service", || bytes(MAX_BODY_BYTES as u64), "A larger one is an error."),
    row(
        SERVICE,
        "page of a list",
        || DEFAULT_PAGE_SIZE.to_string(),
        "The first size that is asked for; `doctor --api` learns a larger one.",
    ),
    row(
        SERVICE,
        "largest page of a list",
        || MAX_PAGE_SIZE.to_string(),
        "`doctor --api` never learns a larger size.",
    ),
    row(
        SERVICE,
        "helper programs",
        || seconds(HELPER_TIMEOUT),
        "A source, sink or key command that takes longer is ended.",
    ),
    row(
        SERVICE,
        "speed of the built-in cloud",
        || format!("{} s per second", embedded_cloud::SPEED),
        "`emulator --speed N` sets another one.",
    ),
];

fn seconds(duration: std::time::Duration) -> String {
    format!("{} s", duration.as_secs())
}

fn bytes(count: u64) -> String {
    match count {
        count if count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        count if count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        count => format!("{} MB", count / 1_000_000),
    }
}
