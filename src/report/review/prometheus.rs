//! Metrics of a plan, for a collector of text files: a drift cron writes them, an alert reads them.

use std::fmt::{Display, Write as _};

use rust_decimal::Decimal;

use super::view::{Reviewed, counts};
use crate::plan::change::DriftClass;
use crate::report::words;

/// The classes of drift, so that one without any is 0 and not absent.
const CLASSES: [DriftClass; 7] = [
    DriftClass::Reverted,
    DriftClass::AcceptOnly,
    DriftClass::Accepted,
    DriftClass::Ignored,
    DriftClass::Gone,
    DriftClass::Replaced,
    DriftClass::Unmanaged,
];

/// Returns the metrics; of a look only those of what was looked at.
pub(super) fn plan(of: &Reviewed<'_>) -> String {
    let plan = of.plan;
    let base = &plan.base;
    let mut page = Page {
        text: String::new(),
        labels: format!("stack=\"{}\",env=\"{}\"", label(&base.stack), label(&base.environment)),
    };
    if !of.looks {
        intended(&mut page, of);
    }
    page.about("stead_drift", "Live differences from what was last applied, by class.");
    for class in CLASSES {
        let count = plan.drift.iter().filter(|drift| drift.class == class).count();
        page.one("stead_drift", &[("class", words::drift_class(class))], count);
    }
    page.about("stead_read_timestamp_seconds", "When the live world was last read.");
    page.one("stead_read_timestamp_seconds", &[], base.made_at.as_second());
    page.text
}

/// What an apply would do.
fn intended(page: &mut Page, of: &Reviewed<'_>) {
    let plan = of.plan;
    page.about("stead_changes", "Changes that an apply would make, by action.");
    for (action, count) in counts(plan) {
        page.one("stead_changes", &[("action", words::action(action))], count);
    }
    page.about("stead_unchanged_resources", "Resources that are as configured.");
    page.one("stead_unchanged_resources", &[], plan.unchanged);
    page.about("stead_blocks", "Reasons besides policies why the plan cannot be applied.");
    page.one("stead_blocks", &[], of.blocks().count());
    page.about("stead_policies_denied", "Policies that say no.");
    page.one("stead_policies_denied", &[], plan.denied().len());
    page.about("stead_monthly_dollars", "The monthly bill of what is managed, now and after an apply.");
    page.one("stead_monthly_dollars", &[("when", "before")], dollars(plan.cost.monthly_before));
    page.one("stead_monthly_dollars", &[("when", "after")], dollars(plan.cost.monthly_after));
}

fn dollars(amount: Decimal) -> Decimal {
    amount.normalize()
}

struct Page {
    text: String,
    labels: String,
}

impl Page {
    fn about(&mut self, name: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }

    fn one(&mut self, name: &str, more: &[(&str, &str)], value: impl Display) {
        let more =
            more.iter().fold(String::new(), |text, (key, value)| text + &format!(",{key}=\"{value}\""));
        let _ = writeln!(self.text, "{name}{{{}{more}}} {value}", self.labels);
    }
}

fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
