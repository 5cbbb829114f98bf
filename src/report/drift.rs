//! Drift: what differs between the last apply and the live world, in the plan's page and on its own.

use super::list::Listed;
use super::page::{self, Line, Page};
use super::style::{Role, Sign, Style};
use super::words;
use crate::model::address::Name;
use crate::model::value::Value;
use crate::plan::change::{Drift, DriftClass, Leave};

/// The widest column of attributes.
const WIDEST: usize = 40;

/// Characters of a value.
const MOST_OF_VALUE: usize = 60;

/// What a look for drift found.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The stack.
    pub stack: &'a Name,
    /// The environment.
    pub environment: &'a Name,
    /// Differences of managed objects.
    pub drift: &'a [Drift],
    /// Live objects that no address owns.
    pub unmanaged: &'a [Listed],
    /// Number of managed objects.
    pub managed: usize,
}

impl Found<'_> {
    /// Returns the number of differences that need a decision or an apply.
    #[must_use]
    pub fn to_decide(&self) -> usize {
        self.drift.iter().filter(|drift| !is_settled(drift.class)).count()
    }
}

/// Tells whether nothing is to be done about a difference.
pub(super) const fn is_settled(class: DriftClass) -> bool {
    matches!(class, DriftClass::Ignored | DriftClass::Accepted | DriftClass::Unmanaged)
}

/// Returns the page of `stead drift`; one line when there is nothing.
#[must_use]
pub fn page(found: &Found<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    let dot = style.sign(Sign::Dot);
    let keys = found.drift.iter().filter(|drift| drift.class == DriftClass::Unmanaged).count();
    let (open, settled) = (found.to_decide(), found.drift.len() - found.to_decide() - keys);
    let all = found.managed + found.unmanaged.len();
    let mut line = Line::indent(0).put(Role::Strong, format!("{}/{}", found.stack, found.environment));
    line = match open {
        0 => line.say(format!(" {dot} ")).put(Role::Good, "no drift"),
        _ => line.say(format!(" {dot} ")).put(Role::Warn, format!("{open} drifted")),
    };
    if settled > 0 {
        line = line.say(format!(" {dot} {settled} left alone"));
    }
    if keys > 0 {
        line = line.say(format!(" {dot} {}", words::counted(keys, "unmanaged key")));
    }
    if let Some(share) = (found.managed * 100).checked_div(all) {
        line = line.say(format!(" {dot} {share}% of {} managed", words::counted(all, "object")));
    }
    page.line(line);
    let all: Vec<&Drift> = found.drift.iter().collect();
    page.lines(lines(&all, page.style()));
    page.lines(found.unmanaged.iter().map(|object| unmanaged(object, style)));
    page.finish()
}

fn unmanaged(object: &Listed, style: Style) -> Line {
    let name = object.name.as_deref().unwrap_or_default();
    let mut line = Line::indent(2)
        .put(Role::Warn, style.sign(Sign::Question))
        .to_column(4)
        .say(format!("{} {name} {}", object.kind, object.id).replace("  ", " "))
        .put(Role::Faint, "  unmanaged");
    if let Some(price) = object.monthly.filter(|price| !price.is_zero()) {
        line = line.put(Role::Faint, format!(", {} a month", words::money(price)));
    }
    line
}

/// Returns what a difference is in: `database.main.storage_gb`, or a whole resource.
pub(super) fn name(drift: &Drift) -> String {
    match &drift.path {
        Some(path) => format!("{}.{path}", drift.address),
        None => drift.address.to_string(),
    }
}

/// Returns one line for each difference, aligned.
#[must_use]
pub fn lines(drift: &[&Drift], style: Style) -> Vec<Line> {
    let names: Vec<String> = drift.iter().copied().map(name).collect();
    let column = if style.unicode { 6 } else { 7 };
    let column = column + names.iter().map(|name| page::width(name)).max().unwrap_or(0).min(WIDEST);
    drift.iter().zip(&names).map(|(drift, name)| one(drift, name, column, style)).collect()
}

fn one(drift: &Drift, name: &str, column: usize, style: Style) -> Line {
    let (role, sign) = match drift.class {
        DriftClass::Unmanaged => (Role::Warn, Sign::Question),
        class if is_settled(class) => (Role::Faint, Sign::Dot),
        _ => (Role::Warn, Sign::Unequal),
    };
    let mut line = Line::indent(2).put(role, style.sign(sign)).to_column(if style.unicode { 4 } else { 5 });
    line = line.say(name).to_column(column).hanging(column);
    if drift.path.is_some() {
        line = line.put(role, values(drift, style)).say("  ");
    }
    line = line.say(meaning(drift, style));
    let said = drift.leave.as_ref().filter(|_| drift.class == DriftClass::Ignored);
    match said.and_then(|leave| leave.source.as_ref()).or(drift.source.as_ref()) {
        Some(place) => line.at_end(Role::Faint, format!("{}:{}", place.file, place.line)),
        None => line,
    }
}

fn values(drift: &Drift, style: Style) -> String {
    let show = |value: &Value| words::shortened(words::value(value), MOST_OF_VALUE, style);
    if drift.class == DriftClass::Unmanaged {
        return show(&drift.live);
    }
    let (old, new) = (show(&drift.last_applied), show(&drift.live));
    let arrow = style.sign(Sign::Arrow);
    if old == new {
        return format!("{} {arrow} {}", words::typed(&drift.last_applied), words::typed(&drift.live));
    }
    format!("{old} {arrow} {new}")
}

/// Says what is made of a difference, and what a human can do.
pub(super) fn meaning(drift: &Drift, style: Style) -> String {
    let meaning = made_of(drift, style);
    match &drift.leave {
        Some(Leave { ended: true, until: Some(day), .. }) => {
            format!("{meaning}; its ignore_drift ended on {day}")
        }
        _ => meaning,
    }
}

fn made_of(drift: &Drift, style: Style) -> String {
    match drift.class {
        DriftClass::Reverted if drift.last_applied == Value::Null && drift.path.is_some() => {
            "apply removes it: the map is exclusive".to_owned()
        }
        DriftClass::Reverted => "apply puts it back".to_owned(),
        DriftClass::AcceptOnly => {
            let accept = drift.path.as_ref().filter(|_| drift.acceptable);
            if let Some(path) = accept {
                return format!("cannot go back; keep it: stead drift --accept {}.{path}", drift.address);
            }
            let live = words::shortened(words::value(&drift.live), MOST_OF_VALUE, style);
            format!("cannot go back: write {live} in the configuration")
        }
        DriftClass::Accepted => "the configuration says the same now".to_owned(),
        DriftClass::Ignored => match &drift.leave {
            Some(Leave { reason, until, .. }) => {
                let until = until.as_ref().map(|day| format!(" until {day}")).unwrap_or_default();
                let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("left alone (ignore_drift{until}{reason})")
            }
            None => "left alone: the service itself moves it".to_owned(),
        },
        DriftClass::Gone => "the object is gone: apply makes it again".to_owned(),
        DriftClass::Replaced => "gone with a replacement".to_owned(),
        DriftClass::Unmanaged => "unmanaged key: write it, or remove it by hand".to_owned(),
    }
}
