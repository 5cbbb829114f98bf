//! Drift: the differences between what was last applied and the live objects, as a part of the plan's page and
//! as a page of its own.

use super::list::ObjectSummary;
use crate::model::address::Name;
use crate::model::schema::format_monthly;
use crate::model::values::value::Value;
use crate::plan::artifact::drift_history::DriftHistoryDiff;
use crate::plan::model::change::{Drift, DriftClass, IgnoreDriftMatch, PolicyResult};
use crate::plan::model::note::PlanNote;
use crate::report::groups;
use crate::report::text::notes;
use crate::report::text::page::{self, TextLine, TextPage};
use crate::report::text::phrases;
use crate::report::text::policy_results;
use crate::report::text::style::{Symbol, TextRole, TextStyle};

/// Limit on the width of the attribute column.
const MAX_PATH_WIDTH: usize = 40;

/// Length limit in characters of a value.
const MAX_VALUE_CHARS: usize = 60;

/// The results of a drift check.
#[derive(Debug, Clone, Copy)]
pub struct DriftReport<'a> {
    /// Name of the stack.
    pub stack: &'a Name,
    /// Name of the environment.
    pub environment: &'a Name,
    /// Differences between last applied and live attributes of managed objects.
    pub drift: &'a [Drift],
    /// Unmanaged live objects in the projects that the stack uses.
    pub unmanaged: &'a [ObjectSummary],
    /// Number of managed objects.
    pub managed: usize,
    /// Counts of what the check did not cover.
    pub elsewhere: OtherProjectCounts,
    /// Results of the previous check, if any.
    pub memory: &'a DriftHistoryDiff,
    /// Declared attributes that the service does not keep or does not show; they are not drift.
    pub notes: &'a [PlanNote],
    /// What the live objects open to others.
    pub exposures: &'a [PolicyResult],
    /// Whether the page also shows what every object begins with.
    pub verbose: bool,
}

/// Objects of the account outside the stack's projects; they are only counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherProjectCounts {
    /// Number of projects outside the stack in which an object was read that this ledger does not own.
    pub projects: usize,
    /// Number of unmanaged objects that belong to the account rather than to a project.
    pub account: usize,
    /// Whether another ledger could not be read, so that the unmanaged objects are not known.
    pub unread: bool,
    /// Whether the unmanaged objects are those of a whole account, which are shown on their own.
    pub by_account: bool,
}

impl OtherProjectCounts {
    /// Returns a sentence on what was not checked; `None` if everything was.
    #[must_use]
    pub fn describe_unread(self) -> Option<String> {
        let mut said = Vec::new();
        if self.projects > 0 {
            said.push(phrases::count_noun(self.projects, "other project"));
        }
        if self.account > 0 {
            said.push(format!("{} in no project", phrases::count_noun(self.account, "object")));
        }
        (!said.is_empty()).then(|| format!("also in this account: {}", said.join(", ")))
    }
}

/// Returns the key that identifies a difference across checks.
#[must_use]
pub fn drift_key(drift: &Drift) -> String {
    drift_name(drift)
}

/// Returns the key that identifies an unmanaged object across checks. It never equals the key of a difference,
/// which has no blank in its first part.
#[must_use]
pub fn key_of_object(object: &ObjectSummary) -> String {
    let parent = object.parent.as_ref().map(|parent| format!("{parent}/")).unwrap_or_default();
    format!("unmanaged {}:{parent}{}", object.kind, object.id)
}

/// Returns the text for an unmanaged object: kind, name and id.
#[must_use]
pub fn object_name(object: &ObjectSummary) -> String {
    let name = object.name.as_deref().unwrap_or_default();
    format!("{} {name} {}", object.kind, object.id).replace("  ", " ")
}

impl DriftReport<'_> {
    /// Returns all results of the check, each as its key and its text.
    pub fn observed_items(&self) -> impl Iterator<Item = (String, String)> {
        let drift = self.drift.iter().map(|drift| (drift_key(drift), drift_name(drift)));
        drift.chain(self.unmanaged.iter().map(|object| (key_of_object(object), object_name(object))))
    }

    /// Returns how many results are new, known, and resolved since the previous check; `None` if
    /// there was no previous check.
    #[must_use]
    pub fn since_last_look(&self) -> Option<(usize, usize, usize)> {
        self.memory.last_look?;
        let new = self.observed_items().filter(|(key, _)| self.memory.is_new(key)).count();
        Some((new, self.drift.len() + self.unmanaged.len() - new, self.memory.resolved.len()))
    }

    /// Returns the number of differences that need a decision or an apply.
    #[must_use]
    pub fn to_decide(&self) -> usize {
        count_undecided(self.drift)
    }

    /// Returns the number of objects that the API key may not read.
    #[must_use]
    pub fn not_readable(&self) -> usize {
        count_not_readable(self.drift)
    }
}

/// Returns the number of differences that need a decision or an apply.
#[must_use]
pub fn count_undecided(drift: &[Drift]) -> usize {
    let needs = |drift: &&Drift| !is_settled(drift.class) && drift.class != DriftClass::NotReadable;
    drift.iter().filter(needs).count()
}

/// Returns the number of objects that the API key may not read.
#[must_use]
pub fn count_not_readable(drift: &[Drift]) -> usize {
    drift.iter().filter(|drift| drift.class == DriftClass::NotReadable).count()
}

/// Returns what is not known about that many objects.
pub(in crate::report) fn describe_not_readable(count: usize) -> String {
    format!("{} not readable", phrases::count_noun(count, "object"))
}

/// Returns whether a difference needs neither a decision nor an apply.
pub(in crate::report) const fn is_settled(class: DriftClass) -> bool {
    matches!(class, DriftClass::Ignored | DriftClass::Accepted | DriftClass::Unmanaged)
}

/// Returns the page of `stead drift`; a single line if there is no drift.
#[must_use]
pub fn drift_page(found: &DriftReport<'_>, style: TextStyle) -> String {
    let mut page = TextPage::new(style);
    page.add_line(drift_headline(found, style));
    let all: Vec<&Drift> = found.drift.iter().collect();
    let seen = |drift: &Drift| first_seen(found.memory, &drift_key(drift));
    page.add_lines(lines_with(&all, true, page.style(), seen));
    page.add_lines(found.unmanaged.iter().map(|object| unmanaged_line(object, found.memory, style)));
    page.add_lines(found.memory.resolved.iter().map(|gone| {
        TextLine::indent(2)
            .push_styled(TextRole::Success, style.sign(Symbol::Tick))
            .to_column(4)
            .push_text(&gone.name)
            .push_styled(
                TextRole::Faint,
                format!(
                    "  resolved, was first seen {}",
                    phrases::format_age(gone.first_seen, found.memory.now)
                ),
            )
    }));
    notes::add_notes(&mut page, found.notes.iter());
    let exposures = policy_results::named_results(found.exposures, found.verbose);
    policy_results::add_policy_results(&mut page, exposures, found.verbose);
    if let Some(told) = found.elsewhere.describe_unread() {
        let text = format!("{told}: stead ls --unmanaged --all-projects");
        page.add_line(
            TextLine::indent(2)
                .push_styled(TextRole::Faint, style.sign(Symbol::Dot))
                .to_column(4)
                .push_styled(TextRole::Faint, text),
        );
    }
    page.finish()
}

/// Returns the line with the counts of a check.
fn drift_headline(found: &DriftReport<'_>, style: TextStyle) -> TextLine {
    let dot = style.sign(Symbol::Dot);
    let keys = found.drift.iter().filter(|drift| drift.class == DriftClass::Unmanaged).count();
    let (open, unknown) = (found.to_decide(), found.not_readable());
    let settled = found.drift.len() - open - unknown - keys;
    let all = found.managed + found.unmanaged.len();
    let mut line =
        TextLine::indent(0).push_styled(TextRole::Strong, format!("{}/{}", found.stack, found.environment));
    line = match (open, unknown) {
        (0, 0) => line.push_text(format!(" {dot} ")).push_styled(TextRole::Success, "no drift"),
        (0, _) => line,
        _ => line
            .push_text(format!(" {dot} "))
            .push_styled(TextRole::Warning, format!("drift: {}", phrases::count_noun(open, "difference"))),
    };
    if unknown > 0 {
        let text = describe_not_readable(unknown);
        line = line.push_text(format!(" {dot} ")).push_styled(TextRole::Warning, text);
    }
    if settled > 0 {
        line = line.push_text(format!(" {dot} {settled} left alone"));
    }
    if keys > 0 {
        line = line.push_text(format!(" {dot} {}", phrases::count_noun(keys, "unmanaged key")));
    }
    if found.elsewhere.by_account {
        line = line.push_text(format!(" {dot} {}", phrases::count_noun(found.managed, "managed object")));
    } else if found.elsewhere.unread {
        line = line.push_text(format!(" {dot} unmanaged: not known"));
    } else if let Some(share) = (found.managed * 100).checked_div(all) {
        line = line.push_text(format!(" {dot} {share}% of {} managed", phrases::count_noun(all, "object")));
    }
    if let Some((new, known, resolved)) = found.since_last_look().filter(|told| *told != (0, 0, 0)) {
        line = line.push_text(format!(" {dot} new {new}, known {known}, resolved {resolved}"));
    }
    if let Some(counted) = policy_results::count_unnamed(found.exposures, found.verbose) {
        line = line.push_styled(TextRole::Faint, format!(" {dot} {counted}"));
    }
    line
}

/// Returns since when a result is known; `None` if there was no previous check.
pub(in crate::report) fn first_seen(memory: &DriftHistoryDiff, key: &str) -> Option<String> {
    let first = memory.first_seen(key).filter(|_| memory.last_look.is_some())?;
    let is_new = memory.is_new(key);
    Some(if is_new {
        "NEW".to_owned()
    } else {
        format!("first seen {}", phrases::format_age(first, memory.now))
    })
}

fn unmanaged_line(object: &ObjectSummary, memory: &DriftHistoryDiff, style: TextStyle) -> TextLine {
    let mut line = TextLine::indent(2)
        .push_styled(TextRole::Warning, style.sign(Symbol::Unknown))
        .to_column(4)
        .push_text(object_name(object))
        .push_styled(TextRole::Faint, "  unmanaged");
    if let Some(price) = object.monthly {
        line = line.push_styled(TextRole::Faint, format_monthly(price));
    }
    match first_seen(memory, &key_of_object(object)) {
        Some(since) => line.push_styled(TextRole::Faint, format!(" {} {since}", style.sign(Symbol::Dot))),
        None => line,
    }
}

/// Returns the path of a difference, such as `database.main.storage_gb`, or the address of a whole resource.
pub(in crate::report) fn drift_name(drift: &Drift) -> String {
    attribute_name(drift.address.as_str(), drift)
}

fn attribute_name(address: &str, drift: &Drift) -> String {
    match &drift.path {
        Some(path) => format!("{address}.{path}"),
        None => address.to_owned(),
    }
}

/// Returns one aligned line for each difference; with `grouped`, one for equal differences, and one with their names.
#[must_use]
pub fn drift_lines(drift: &[&Drift], grouped: bool, style: TextStyle) -> Vec<TextLine> {
    lines_with(drift, grouped, style, |_| None)
}

/// Returns the lines of `drift_lines`, with an additional text from `more`, which is equal in a group.
fn lines_with(
    drift: &[&Drift],
    grouped: bool,
    style: TextStyle,
    more: impl Fn(&Drift) -> Option<String>,
) -> Vec<TextLine> {
    if grouped {
        return group_lines(drift, style, more);
    }
    let names: Vec<String> = drift.iter().copied().map(drift_name).collect();
    let column = if style.unicode { 6 } else { 7 };
    let column =
        column + names.iter().map(|name| page::display_width(name)).max().unwrap_or(0).min(MAX_PATH_WIDTH);
    let line = |(drift, name): (&&Drift, &String)| drift_line(drift, name, (column, more(drift)), style);
    drift.iter().zip(&names).map(line).collect()
}

fn group_lines(
    drift: &[&Drift],
    style: TextStyle,
    more: impl Fn(&Drift) -> Option<String>,
) -> Vec<TextLine> {
    let groups = groups::group_drift(drift, &more);
    let names: Vec<String> =
        groups.iter().map(|group| attribute_name(&group.address, group.first)).collect();
    let column = if style.unicode { 6 } else { 7 };
    let column =
        column + names.iter().map(|name| page::display_width(name)).max().unwrap_or(0).min(MAX_PATH_WIDTH);
    let mut lines = Vec::with_capacity(groups.len());
    for (group, name) in groups.iter().zip(&names) {
        lines.push(drift_line(&group.shown, name, (column, more(group.first)), style));
        if !group.members.is_empty() {
            let start = if style.unicode { 4 } else { 5 };
            lines.push(
                TextLine::indent(start).push_styled(TextRole::Faint, &group.members).continue_at(start + 2),
            );
        }
    }
    lines
}

fn drift_line(
    drift: &Drift,
    name: &str,
    (column, more): (usize, Option<String>),
    style: TextStyle,
) -> TextLine {
    let (role, sign) = match drift.class {
        DriftClass::Unmanaged | DriftClass::NotReadable => (TextRole::Warning, Symbol::Unknown),
        class if is_settled(class) => (TextRole::Faint, Symbol::Dot),
        _ => (TextRole::Warning, Symbol::NotEqual),
    };
    let mut line = TextLine::indent(2).push_styled(role, style.sign(sign)).to_column(if style.unicode {
        4
    } else {
        5
    });
    line = line.push_text(name).to_column(column).continue_at(column);
    if drift.path.is_some() {
        line = line.push_styled(role, value_change(drift, style)).push_text("  ");
    }
    line = line.push_text(explain_drift(drift, style));
    if let Some(more) = more {
        line = line.push_styled(TextRole::Faint, format!(" {} {more}", style.sign(Symbol::Dot)));
    }
    let said = drift.leave.as_ref().filter(|_| drift.class == DriftClass::Ignored);
    match said.and_then(|leave| leave.source.as_ref()).or(drift.source.as_ref()) {
        Some(place) => line.at_end(TextRole::Faint, format!("{}:{}", place.file, place.line)),
        None => line,
    }
}

fn value_change(drift: &Drift, style: TextStyle) -> String {
    let show = |value: &Value| phrases::shorten_text(phrases::format_value(value), MAX_VALUE_CHARS, style);
    if drift.class == DriftClass::Unmanaged {
        return show(&drift.live);
    }
    let (old, new) = (show(&drift.last_applied), show(&drift.live));
    let arrow = style.sign(Symbol::Arrow);
    if old == new {
        return format!(
            "{} {arrow} {}",
            phrases::format_typed(&drift.last_applied),
            phrases::format_typed(&drift.live)
        );
    }
    format!("{old} {arrow} {new}")
}

/// Returns what stead does about a difference, and what the user can do.
pub(in crate::report) fn explain_drift(drift: &Drift, style: TextStyle) -> String {
    let mut meaning = made_of(drift, style);
    if drift.unconfirmed {
        meaning.push_str("; no earlier read confirmed the applied value");
    }
    match &drift.leave {
        Some(IgnoreDriftMatch { ended: true, until: Some(day), .. }) => {
            format!("{meaning}; its ignore_drift ended on {day}")
        }
        _ => meaning,
    }
}

fn made_of(drift: &Drift, style: TextStyle) -> String {
    if let Some(code) = &drift.blocked_by {
        let gone = if drift.class == DriftClass::Gone { "the object is gone, and " } else { "" };
        return format!("{gone}apply is blocked ({code}): stead plan shows why");
    }
    match drift.class {
        DriftClass::Reverted if drift.last_applied == Value::Null && drift.path.is_some() => {
            "apply removes it: the map is exclusive".to_owned()
        }
        DriftClass::Reverted => "apply reverts it".to_owned(),
        DriftClass::AcceptOnly => {
            let accept = drift.path.as_ref().filter(|_| drift.acceptable);
            if let Some(path) = accept {
                return format!(
                    "cannot be reverted; keep it: stead drift --accept {}.{path}",
                    drift.address
                );
            }
            let live = phrases::shorten_text(phrases::format_value(&drift.live), MAX_VALUE_CHARS, style);
            format!("cannot be reverted: write {live} in the configuration")
        }
        DriftClass::Accepted => "the configuration now has the same value".to_owned(),
        DriftClass::Ignored => match &drift.leave {
            Some(IgnoreDriftMatch { reason, until, .. }) => {
                let until = until.as_ref().map(|day| format!(" until {day}")).unwrap_or_default();
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("left alone (ignore_drift{until}{reason})")
            }
            None => "left alone: the service itself changes it".to_owned(),
        },
        DriftClass::Gone => "the object is gone: apply recreates it".to_owned(),
        DriftClass::NotReadable => {
            "not known whether it is gone: the API key may not read its project".to_owned()
        }
        DriftClass::Replaced => "ends with the object, which apply replaces or deletes".to_owned(),
        DriftClass::Unmanaged => "unmanaged key: write it, or remove it by hand".to_owned(),
    }
}
