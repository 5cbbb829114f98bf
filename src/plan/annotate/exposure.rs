//! Exposures: what an object opens to others, by the table of its kind. In: a resource with its planned and its live values.
//! Out: advisory results, and the effect of a change that opens something. Invariant: what is not known, or not shown by
//! the service, is no exposure; nothing here changes a decision or the fingerprint.

use std::cell::Cell;
use std::collections::BTreeMap;

use ipnet::Ipv4Net;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::policy::values::{format_time, live_fact, planned_fact};
use crate::config::stack::model::AllowedExposure;
use crate::model::address::Name;
use crate::model::cel::policy::PolicyLevel;
use crate::model::schema::{Effect, Exposure, ExposureCheck, Presence, Type};
use crate::model::values::value::Value;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::model::change::{ChangeEffect, PolicyResult, PolicyStatus};
use crate::plan::model::note::{NoteCode, PlanNote};

/// The exposures of one resource.
#[derive(Default)]
pub(in crate::plan) struct ResourceExposures {
    pub results: Vec<PolicyResult>,
    /// What a change of the resource opens; `None` if it opens nothing.
    pub effect: Option<ChangeEffect>,
}

/// Returns the exposures of a resource after the plan; those of the live object if nothing will be applied.
pub(in crate::plan) fn resource_exposures(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> ResourceExposures {
    let only_looks = joined.inputs.options.only_looks;
    let goes = matches!(decision.act, DecisionKind::Delete | DecisionKind::Forget);
    let is_present = if only_looks {
        subject.object().is_some()
    } else {
        subject.resource.is_some() && !goes && !decision.leaves_absent(subject.object())
    };
    if !is_present {
        return ResourceExposures::default();
    }
    let (mut results, mut opened) = (Vec::new(), Vec::new());
    for exposure in subject.kind.exposures {
        let live = || is_exposed(joined, subject, exposure, &|name| live_value(joined, subject, name));
        let planned = |name: &str| {
            let attribute = subject.kind.attribute(name)?;
            Some(planned_fact(joined, subject, decision, attribute))
        };
        let is_open = if only_looks { live() } else { is_exposed(joined, subject, exposure, &planned) };
        if !is_open {
            continue;
        }
        let allowed = find_silencer(joined, subject, exposure);
        let is_silent = allowed.is_some_and(|(_, holds)| holds);
        let was_open = subject.object().is_some() && live();
        let begins_open = exposure.is_default && decision.is_new();
        if !is_silent && !was_open && !begins_open && !only_looks {
            opened.push(format!("{}: {}", exposure.code, exposure.text));
        }
        results.push(exposure_result(joined, subject, exposure, allowed));
    }
    let effect = ChangeEffect { code: Effect::Exposure, text: opened.join("; ") };
    ResourceExposures { results, effect: (!opened.is_empty()).then_some(effect) }
}

/// Returns a note for each allowed exposure that an object does not have, as far as that is known and does not depend on the time.
pub(in crate::plan) fn unused_allowances(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<PlanNote> {
    let mut notes = Vec::new();
    for (subject, decision) in joined.subjects.iter().zip(decisions) {
        let Some(block) = subject.resource.filter(|block| !block.allowed_exposures.is_empty()) else {
            continue;
        };
        if decision.act == DecisionKind::Frozen {
            continue;
        }
        let is_unknown = Cell::new(false);
        let value_of = |name: &str| {
            let value = planned_fact(joined, subject, decision, subject.kind.attribute(name)?);
            is_unknown.set(is_unknown.get() || value.is_unknown());
            Some(value)
        };
        for allowed in &block.allowed_exposures {
            let mut known = subject.kind.exposures.iter();
            let exposure = known.find(|one| one.code == allowed.code && !one.check.depends_on_time());
            is_unknown.set(false);
            if exposure.is_some_and(|one| !is_exposed(joined, subject, one, &value_of)) && !is_unknown.get()
            {
                notes.push(PlanNote {
                    code: NoteCode::NotExposed,
                    text: format!("{} allows {}, which it does not have", subject.address, allowed.code),
                    help: "remove the entry of allow_exposure: it would silence a later exposure"
                        .to_owned(),
                    source: joined.inputs.stack.sources.location_of(allowed.span),
                    address: Some(subject.address.clone()),
                });
            }
        }
    }
    notes
}

/// Returns the silencer of a block for an exposure, and whether it still holds: it does until the end of its last day (UTC).
fn find_silencer<'a>(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'a>,
    exposure: &Exposure,
) -> Option<(&'a AllowedExposure, bool)> {
    let allowed = subject.block?.allowed_exposures.iter().find(|one| one.code == exposure.code)?;
    let today = joined.inputs.service_time().to_zoned(TimeZone::UTC).date();
    Some((allowed, allowed.until.is_none_or(|until| today <= until)))
}

/// Returns whether an exposure follows from the service's default alone: there is no object yet, or lists do not show the
/// attribute, which may have been changed outside stead.
fn is_by_default(joined: &JoinedState<'_>, subject: &ResourceState<'_>, exposure: &Exposure) -> bool {
    let ExposureCheck::LeftAt { attribute, .. } = exposure.check else { return false };
    let attribute = subject.kind.attribute(attribute);
    attribute.is_some_and(|attribute| live_fact(joined, subject, attribute) == Value::Null)
}

/// Returns whether the block writes the attribute of an exposure that objects begin with: the object was opened since.
fn is_written(subject: &ResourceState<'_>, exposure: &Exposure) -> bool {
    let ExposureCheck::LeftAt { attribute, .. } = exposure.check else { return false };
    subject.block.is_some_and(|block| block.attributes.contains_key(attribute))
}

fn exposure_result(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    exposure: &Exposure,
    allowed: Option<(&AllowedExposure, bool)>,
) -> PolicyResult {
    let until = |allowed: &AllowedExposure| allowed.until.map(|day| day.to_string()).unwrap_or_default();
    let (verdict, more) = match allowed {
        None => (PolicyStatus::Warn, String::new()),
        Some((allowed, true)) => {
            let end = allowed.until.map(|day| format!(" until {day}")).unwrap_or_default();
            (PolicyStatus::Allowed, format!("; allowed{end}: {}", allowed.reason))
        }
        Some((allowed, false)) => {
            (PolicyStatus::Warn, format!("; its allow_exposure ended on {}", until(allowed)))
        }
    };
    let default = match (is_by_default(joined, subject, exposure), subject.object()) {
        (false, _) => "",
        (true, None) => " by default",
        // Lists do not show it, and it may have been changed outside stead.
        (true, Some(_)) => " (assumed)",
    };
    let depends_on_time =
        exposure.check.depends_on_time() || allowed.is_some_and(|(allowed, _)| allowed.until.is_some());
    let now = || (Name::new_static("now"), Name::new(format_time(joined.inputs.service_time())));
    let context: BTreeMap<Name, Name> = depends_on_time.then(now).into_iter().collect();
    PolicyResult {
        name: exposure.code.into(),
        address: Some(subject.address.clone()),
        level: PolicyLevel::Advisory,
        verdict,
        message: format!("{}{default}{more}", exposure.text),
        context,
        is_default: exposure.is_default && !is_written(subject, exposure),
        source: subject.block.and_then(|block| joined.inputs.stack.sources.location_of(block.span)),
    }
}

/// Returns the live value of an attribute, as a condition reads it; the service's default for one that it does not show.
fn live_value(joined: &JoinedState<'_>, subject: &ResourceState<'_>, name: &str) -> Option<Value> {
    let attribute = subject.kind.attribute(name)?;
    let live = live_fact(joined, subject, attribute);
    Some(match (live, attribute.presence) {
        (Value::Null, Presence::Default(default)) => default.value(),
        (live, _) => live,
    })
}

/// Returns whether an object with these values is exposed.
fn is_exposed(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    exposure: &Exposure,
    value_of: &dyn Fn(&str) -> Option<Value>,
) -> bool {
    let is_true = |name: &str| value_of(name).and_then(|value| value.as_bool()) == Some(true);
    let text_of = |name: &str| value_of(name).and_then(|value| value.as_text().map(str::to_owned));
    match exposure.check {
        ExposureCheck::OpenToAll { open, allowlist } => {
            is_true(open) && value_of(allowlist).is_some_and(|list| list == Value::List(Vec::new()))
        }
        ExposureCheck::WideAllowlist { open, allowlist, shortest_prefix, most_addresses } => {
            let Some(Value::List(networks)) = value_of(allowlist) else { return false };
            let networks: Vec<_> =
                networks.iter().filter_map(|network| parse_network(network.as_text()?)).collect();
            let is_short = networks.iter().any(|(_, _, prefix)| *prefix < shortest_prefix);
            is_true(open) && (is_short || count_addresses(networks) > most_addresses)
        }
        ExposureCheck::CreatedBefore { attribute, values, day } => {
            let is_one = text_of(attribute).is_some_and(|text| values.contains(&text.as_str()));
            let created = text_of("created_at").and_then(|text| text.parse::<Timestamp>().ok());
            let start = day.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok());
            is_one && created.zip(start).is_some_and(|(created, start)| created < start.timestamp())
        }
        ExposureCheck::LongLived { attribute } => match value_of(attribute) {
            Some(Value::Null) => true,
            Some(Value::Text(text)) if text.is_empty() => true,
            Some(Value::Text(text)) => {
                let limit = joined.inputs.service_time().to_zoned(TimeZone::UTC).checked_add(1.year());
                let end = text.parse::<Timestamp>().ok();
                end.zip(limit.ok()).is_some_and(|(end, limit)| end > limit.timestamp())
            }
            _ => false,
        },
        ExposureCheck::PrivilegedRole { attribute, holder } => {
            let is_set = |value: Value| value != Value::Null && value != Value::text("");
            let is_holder = subject.kind.name == holder || value_of(holder).is_some_and(is_set);
            let privileged = &joined.inputs.options.policy.privileged_roles;
            let role = value_of(attribute).filter(|role| !role.is_unknown());
            let table = subject.kind.attribute(attribute).and_then(|attribute| match attribute.ty {
                Type::Catalog(table) => Some(table),
                _ => None,
            });
            let slug = role.map(|role| match table.and_then(|table| joined.names.find(table, &role)) {
                Some(record) => record.slug.to_string(),
                None => role.to_string(),
            });
            is_holder
                && slug.is_some_and(|slug| privileged.iter().any(|one| one.eq_ignore_ascii_case(&slug)))
        }
        ExposureCheck::LeftAt { attribute, value } => {
            let written = subject.block.and_then(|block| block.attributes.get(attribute));
            // A stack that writes this value says so on purpose; one that writes another is exposed while it is not applied.
            let is_intended = written.is_some_and(|setting| {
                setting.expression.known_value().is_none_or(|written| *written == value.value())
            });
            let is_default = |live: &Value| written.is_none() && *live == Value::Null;
            !is_intended
                && value_of(attribute).is_some_and(|live| live == value.value() || is_default(&live))
        }
    }
}

/// Parses an IPv4 network, or an address: its first and last address as numbers, and its prefix.
fn parse_network(text: &str) -> Option<(u64, u64, u8)> {
    let network = if text.contains('/') { text.parse() } else { format!("{text}/32").parse() };
    let network: Ipv4Net = network.ok()?;
    let [first, last] =
        [network.network(), network.broadcast()].map(|address| u64::from(u32::from(address)));
    Some((first, last, network.prefix_len()))
}

/// Returns how many addresses are in any of these networks.
fn count_addresses(mut networks: Vec<(u64, u64, u8)>) -> u64 {
    networks.sort_unstable();
    let (mut count, mut covered) = (0, 0);
    for (first, last, _) in networks {
        let first = first.max(covered);
        if last >= first {
            count += last - first + 1;
            covered = last + 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_overlapping_networks_count_once() {
        let count = |networks: &[&str]| {
            count_addresses(networks.iter().filter_map(|text| parse_network(text)).collect())
        };
        assert_eq!(count(&["10.0.0.0/8", "10.1.0.0/16"]), 1 << 24);
        assert_eq!(count(&["10.0.0.0/16", "10.1.0.0/16", "192.0.2.7"]), (1 << 17) + 1);
        assert_eq!(count(&["0.0.0.0/0", "not a network"]), 1 << 32);
        assert_eq!(count(&[]), 0);
    }
}
