//! The three-way diff of one object: written, last applied and live values.
//!
//! Only written attributes are compared. A value that the service does not return is compared by its last applied
//! value, so that it cannot differ forever. Secrets are compared by their fingerprints under the ledger's key.

use super::confirmation;
use super::written::{may_have_been, written_part};
use crate::config::stack::model::IgnoreDrift;
use crate::ledger::state::entry::Entry;
use crate::ledger::state::verification::ValueVerification;
use crate::model::address::Name;
use crate::model::expression::Expression;
use crate::model::live::reading::{AttributeReading, told_part};
use crate::model::live::snapshot::Object;
use crate::model::schema::meaning::same_of;
use crate::model::schema::{Attribute, Presence, TextFormat, Type};
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::{Value, ValueMap};
use crate::plan::decision::{AttributeDiff, DesiredAttribute};
use crate::plan::join::catalog_index::CatalogIndex;
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState};
use crate::plan::model::change::Cause;
use crate::plan::model::compare::{
    are_equivalent, fingerprint_secrets, is_as_applied, is_as_written, is_unset, part_type,
    protect_live_value, protect_unwritten_value, sealed_like,
};

/// The number of characters of a digest that are displayed: `sha256:` and twelve digits.
const SHORT_DIGEST_CHARS: usize = 19;

/// The inputs of the diff of one object.
pub(in crate::plan) struct AttributeDiffer<'s, 'a> {
    joined: &'s JoinedState<'a>,
    subject: &'s ResourceState<'a>,
    object: &'a Object,
    entry: Option<&'a Entry>,
    /// Whether drift counts that the block ignores: a new object has the written values.
    heeds_ignored: bool,
}

impl<'s, 'a> AttributeDiffer<'s, 'a> {
    /// Returns the diff of a resource; `None` if it has no object.
    pub fn new(joined: &'s JoinedState<'a>, subject: &'s ResourceState<'a>) -> Option<Self> {
        let entry = match subject.adoption {
            Some(AdoptionReason::Recovered(entry)) => Some(entry),
            // What was applied was applied to another object.
            Some(AdoptionReason::Requested) => None,
            _ => subject.entry,
        };
        Some(Self { joined, subject, object: subject.object()?, entry, heeds_ignored: false })
    }

    /// Returns the same diff, in which drift counts that the block ignores.
    pub fn heeding_ignored(self) -> Self {
        Self { heeds_ignored: true, ..self }
    }

    fn ignores(&self, name: &str) -> bool {
        !self.heeds_ignored && ignores_drift(self.joined, self.subject, name)
    }

    /// Returns the differences, in the order of the kind's table.
    pub fn differences(&self, wants: &[DesiredAttribute<'a>]) -> Vec<AttributeDiff<'a>> {
        let mut found = Vec::new();
        for want in wants {
            match (&want.attribute.ty, &want.value) {
                (Type::Map(_) | Type::Record(_), Value::Map(_)) => self.by_key(want, &mut found),
                _ => found.extend(self.whole_difference(want)),
            }
        }
        found
    }

    /// Returns the live value of an attribute, as a secret where the written value (`model`) or the last
    /// applied value is one: `Null` if it is not set, and `None` if the service does not show it.
    pub fn live_attribute(&self, attribute: &Attribute, model: Option<&Value>) -> Option<Value> {
        let live = returned_value(attribute, self.object)?;
        let applied = self.last_applied_value(attribute);
        let live = self.named_as([model, applied], attribute, live);
        let both;
        let models: Vec<_> = match (model, applied) {
            // A part that is plain in either list is no secret of the other.
            (Some(model @ Value::List(_)), Some(applied @ Value::List(_))) => vec![model, applied],
            // An entry that the block writes no longer stays as secret as it was.
            (Some(Value::Map(model)), Some(Value::Map(applied))) => {
                let entries = applied.iter().chain(model);
                both = Value::Map(entries.map(|(key, value)| (key.clone(), value.clone())).collect());
                vec![&both]
            }
            _ => model.or(applied).into_iter().collect(),
        };
        let hides = attribute.secret || models.iter().any(|model| model.is_secret());
        Some(if hides { sealed_like(&models, &live, self.joined.key()) } else { live })
    }

    /// Returns the id of another object in the form that the block or the ledger uses, which may be
    /// another of the object's ids.
    fn named_as(&self, words: [Option<&Value>; 2], attribute: &Attribute, live: Value) -> Value {
        let (Type::Reference(of), Value::Text(id)) = (attribute.ty, &live) else { return live };
        let snapshot = self.joined.inputs.snapshot;
        let is_same = |word: &&Value| matches!(word, Value::Text(text) if snapshot.main_id(of, text) == snapshot.main_id(of, id));
        words.into_iter().flatten().find(is_same).cloned().unwrap_or(live)
    }

    /// Returns whether the object shows a value of an attribute.
    pub fn shows(&self, attribute: &Attribute) -> bool {
        self.live_attribute(attribute, None).is_some()
    }

    /// Returns whether the object shows the written value, also where a difference is ignored.
    pub fn shows_written(&self, want: &DesiredAttribute<'a>) -> bool {
        let (attribute, key) = (want.attribute, self.joined.key());
        let target = fingerprint_secrets(want.stored_value(), key);
        let Some(live) = self.live_attribute(attribute, Some(&target)) else { return false };
        // A computed secret is compared by what the ledger recorded of it.
        let wanted =
            self.last_applied_value(attribute).filter(|applied| applied.is_derived()).unwrap_or(&target);
        shows_value(attribute, wanted, &live, key, false)
    }

    /// Returns the last applied value of an attribute; `None` if the ledger has no entry, or the
    /// attribute was not applied.
    pub fn last_applied_value(&self, attribute: &Attribute) -> Option<&'a Value> {
        self.entry?.applied.get(attribute.name)
    }

    fn whole_difference(&self, want: &DesiredAttribute<'a>) -> Option<AttributeDiff<'a>> {
        let attribute = want.attribute;
        let target = fingerprint_secrets(want.stored_value(), self.joined.key());
        let applied = self.last_applied_value(attribute);
        if want.value == Value::Null && leaves_alone(attribute, applied) {
            return None;
        }
        let live = self.live_attribute(attribute, Some(&target));
        let key = self.joined.key();
        let sides = AttributeValues {
            ty: &attribute.ty,
            open: want.stored_value(),
            want: &target,
            applied,
            live: live.as_ref(),
            key,
        };
        let moved = |from: &Value| {
            let ends = live.as_ref().map(|live| (from, live));
            ends.is_some_and(|ends| is_moved_by_service(self.joined, self.subject, attribute, ends))
        };
        let ignored = self.ignores(attribute.name) || moved(&target);
        let (before, cause) = match self.still_not_kept(attribute.name, &sides, ignored) {
            Some(shown) => (shown, Cause::Drift),
            None => sides.evaluate_difference(ignored, attribute)?,
        };
        // A value that the service itself changed since the last apply is not drift.
        let cause = match cause {
            Cause::Both if applied.is_some_and(moved) => Cause::Config,
            cause => cause,
        };
        let before = protect_live_value(attribute, [Some(&target), applied], &before, self.joined.key());
        let names = &self.joined.names;
        let last = applied.filter(|a| {
            !are_equivalent(&attribute.ty, a, &before) && !are_equivalent(&attribute.ty, a, &target)
        });
        Some(AttributeDiff {
            attribute,
            path: attribute.name.into(),
            after: if want.id.is_some() {
                want.value.clone()
            } else {
                display_value(attribute, &target, names)
            },
            last_applied: last
                .map(|value| display_value(attribute, &fingerprint_secrets(value, key), names)),
            cause: self.explain_cause(
                want,
                (&attribute.ty, attribute.name),
                (&before, &target),
                (cause, applied),
            ),
            before: display_value(attribute, &before, names),
            setting: want.setting,
        })
    }

    fn by_key(&self, want: &DesiredAttribute<'a>, found: &mut Vec<AttributeDiff<'a>>) {
        let attribute = want.attribute;
        let target = fingerprint_secrets(&want.value, self.joined.key());
        let applied = self.last_applied_value(attribute);
        let live = self.live_attribute(attribute, Some(&target));
        let ignored = self.ignores(attribute.name);
        let (Value::Map(open), Value::Map(written), before) = (&want.value, &target, as_map(applied))
        else {
            return;
        };
        let live_map = live.as_ref().and_then(|live| as_map(Some(live)));
        let gone =
            before.into_iter().flatten().map(|(key, _)| key).filter(|key| !written.contains_key(*key));
        let none = ValueMap::new();
        let besides = live_map.filter(|_| is_exclusive(want) && !ignored).unwrap_or(&none);
        let managed =
            |key: &&Name| written.contains_key(*key) || before.is_some_and(|m| m.contains_key(*key));
        let extra = besides.keys().filter(|key| !managed(key));
        for key in written.keys().chain(gone).chain(extra) {
            let Some(ty) = part_type(&attribute.ty, key) else { continue };
            let target = written.get(key).unwrap_or(&Value::Null);
            let applied = before.and_then(|map| map.get(key));
            let live = live.as_ref().and_then(|live| told_part(&attribute.ty, live, key));
            let open = open.get(key).unwrap_or(&Value::Null);
            let sides = AttributeValues { ty, open, want: target, applied, live, key: self.joined.key() };
            let path = smol_str::format_smolstr!("{}.{key}", attribute.name);
            let judged = match self.still_not_kept(&path, &sides, ignored) {
                Some(shown) => Some((shown, Cause::Drift)),
                None => sides.evaluate_difference(ignored, attribute),
            };
            let Some((before, cause)) = judged else { continue };
            let before = match (written.get(key), applied) {
                (None, None) => protect_unwritten_value(attribute, &before, self.joined.key()),
                known => protect_live_value(attribute, known.into(), &before, self.joined.key()),
            };
            found.push(AttributeDiff {
                attribute,
                cause: self.explain_cause(want, (ty, &path), (&before, target), (cause, applied)),
                path,
                last_applied: applied
                    .filter(|a| !are_equivalent(ty, a, &before) && !are_equivalent(ty, a, target))
                    .map(|applied| fingerprint_secrets(applied, self.joined.key())),
                before,
                after: target.clone(),
                setting: want.setting,
            });
        }
    }

    /// Returns the value that the object showed after the last write in place of the written one, if this
    /// reading does not show the attribute (a list may lack it) and the written value is unchanged. `None`
    /// otherwise: the service may keep the value now.
    fn still_not_kept(&self, path: &str, sides: &AttributeValues<'_>, ignored: bool) -> Option<Value> {
        let is_open = !ignored && sides.live.is_none() && !sides.want.is_unknown();
        let applied =
            sides.applied.filter(|applied| is_open && are_equivalent(sides.ty, applied, sides.want));
        match applied.and(self.entry)?.confirmation(path) {
            ValueVerification::Different(shown) => Some(shown.clone()),
            _ => None,
        }
    }

    /// Refines the cause of a difference: one that follows from another resource's change is `Upstream`, and a value
    /// counts as drift only if an earlier reading showed the applied one.
    fn explain_cause(
        &self,
        want: &DesiredAttribute<'a>,
        (ty, path): (&Type, &str),
        (live, target): (&Value, &Value),
        (cause, applied): (Cause, Option<&Value>),
    ) -> Cause {
        let cause = match self.entry {
            Some(entry) => confirmation::confirmed_cause(entry, (want.attribute, ty), path, live, cause),
            None => cause,
        };
        let unfinished = self.subject.entry.is_some_and(|entry| entry.unfinished);
        let follows = want.setting.is_none()
            || applied.is_some_and(|applied| self.follows_reference(want, path, (applied, target)));
        match cause {
            Cause::Config | Cause::Both if follows => Cause::Upstream,
            Cause::Config | Cause::Drift | Cause::Unconfirmed if unfinished => Cause::Unfinished,
            cause => cause,
        }
    }

    /// Returns whether a written value, or the part of it at a path, changes because of what it refers to: the object was built on
    /// all of that before, with the same text beside it, and it changes in this plan, or no file changed since the last apply.
    fn follows_reference(
        &self,
        want: &DesiredAttribute<'a>,
        path: &str,
        (applied, target): (&Value, &Value),
    ) -> bool {
        let written = want.setting.and_then(|setting| written_part(&setting.expression, path));
        let sources = written.map(Expression::addresses).unwrap_or_default();
        let number = |address: &_| self.joined.index.get(address);
        let is_held =
            |address: &_| number(address).is_some_and(|n| self.subject.held.binary_search(n).is_ok());
        let changes = || sources.iter().any(|address| want.changing_sources.contains(address));
        !sources.is_empty()
            && written.is_some_and(|written| may_have_been(written, applied))
            && sources.iter().copied().all(is_held)
            && (target.is_unknown() || changes() || self.joined.inputs.is_config_applied())
    }
}

/// Returns whether keys of an open map that the block does not write are removed: the block declares
/// the map as exclusive.
pub(in crate::plan) fn is_exclusive(want: &DesiredAttribute<'_>) -> bool {
    matches!(want.attribute.ty, Type::Map(_)) && want.setting.is_some_and(|setting| setting.exclusive)
}

fn as_map(value: Option<&Value>) -> Option<&ValueMap> {
    match value {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

/// Returns the service's value of an attribute as the configuration would write it: `Null` if it is not set, `None` if
/// the service does not show it or is changing it.
pub(in crate::plan) fn returned_value(attribute: &Attribute, object: &Object) -> Option<Value> {
    AttributeReading::new(attribute, object).comparable_value()
}

/// Returns a stored value for display: catalog ids as names.
pub(in crate::plan) fn display_value(
    attribute: &Attribute,
    value: &Value,
    names: &CatalogIndex<'_>,
) -> Value {
    match attribute.ty {
        Type::Catalog(table) => names
            .find(table, value)
            .map_or_else(|| value.clone(), |record| Value::Text(record.slug.clone())),
        Type::Text { format: TextFormat::Directory, .. } => shorten_digest(value),
        _ => value.clone(),
    }
}

/// Shortens a digest for display; a value that is no digest of that length stays as it is.
fn shorten_digest(digest: &Value) -> Value {
    let text = digest.as_text().and_then(|text| text.get(..SHORT_DIGEST_CHARS));
    text.map_or_else(|| digest.clone(), Value::text)
}

/// Returns whether a written `null` changes nothing: the service chooses the default once, and an attribute
/// that can only grow cannot be reset.
fn leaves_alone(attribute: &Attribute, applied: Option<&Value>) -> bool {
    !attribute.ty.can_be_emptied() && (attribute.grow_only || applied.is_none_or(is_unset))
}

/// Returns whether the block ignores drift of an attribute.
pub(in crate::plan) fn ignores_drift(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    attribute: &str,
) -> bool {
    ignore_rule(joined, subject, attribute).is_some_and(|(_, holds)| holds)
}

/// Returns whether a live value is a recorded one; of a map, each of its keys. `if_not_shown` is the answer for a key that the
/// service does not show.
pub(super) fn shows_value(
    attribute: &Attribute,
    recorded: &Value,
    live: &Value,
    key: &FingerprintKey,
    if_not_shown: bool,
) -> bool {
    match (&attribute.ty, recorded) {
        (ty @ (Type::Map(_) | Type::Record(_)), Value::Map(parts)) => parts.iter().all(|(name, part)| {
            let told = part_type(ty, name).zip(told_part(ty, live, name));
            told.map_or(if_not_shown, |(ty, live)| is_as_applied(ty, part, live, key))
        }),
        _ => same_of(attribute, recorded, live) || is_as_applied(&attribute.ty, recorded, live, key),
    }
}

/// Returns the `ignore_drift` entry of a block for an attribute, and whether it is still valid: it is until the
/// end of its last day in UTC. `None` if the block has none.
pub(in crate::plan) fn ignore_rule<'a>(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'a>,
    attribute: &str,
) -> Option<(&'a IgnoreDrift, bool)> {
    let mut all = subject.resource?.lifecycle.ignore_drift.iter();
    let said = all.find(|ignored| ignored.attribute == attribute)?;
    let today = || joined.inputs.service_time().to_zoned(jiff::tz::TimeZone::UTC).date();
    Some((said, said.until.is_none_or(|until| today() <= until)))
}

/// Returns whether the service itself changed an attribute from one value to another, as another
/// attribute of the object permits.
pub(in crate::plan) fn is_moved_by_service(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    attribute: &Attribute,
    (from, to): (&Value, &Value),
) -> bool {
    let Some((by, modes)) = attribute.moved_by else { return false };
    let mode = subject.object().and_then(|object| object.attributes.get(by)?.as_text());
    let Some((_, moves)) = modes.iter().find(|(word, _)| Some(*word) == mode) else { return false };
    let version = |value| joined.names.version_of(attribute, value);
    version(from).zip(version(to)).is_none_or(|(from, to)| moves.leads(from, to))
}

/// The three values of one attribute that are compared.
struct AttributeValues<'v> {
    ty: &'v Type,
    /// The written value, with the plain text of secrets that are available here.
    open: &'v Value,
    /// The written value, with fingerprints in place of secrets.
    want: &'v Value,
    applied: Option<&'v Value>,
    live: Option<&'v Value>,
    key: &'v FingerprintKey,
}

impl AttributeValues<'_> {
    /// Returns the present value and the cause of the difference; `None` if there is none. With `ignore`, the
    /// live value counts only where nothing was applied yet.
    fn evaluate_difference(&self, ignore: bool, attribute: &Attribute) -> Option<(Value, Cause)> {
        let live = self.live.filter(|_| !ignore || self.applied.is_none());
        let start = match attribute.presence {
            Presence::Default(literal) if self.applied.is_none() => Some(literal.value()),
            _ => None,
        };
        let Some(present) = live.or(self.applied).or(start.as_ref()) else {
            return (!is_unset(self.want)).then_some((Value::Null, Cause::Config));
        };
        if self.want.is_derived() || self.applied.is_some_and(Value::is_derived) {
            return self.judge_derived(live, present);
        }
        let same = |one: &Value, other: &Value| self.is_same(attribute, one, other);
        if !self.want.is_unknown() && same(self.want, present) {
            return None;
        }
        let edited = self.applied.is_none_or(|applied| !same(self.want, applied));
        let drifted = self.applied.zip(live).is_some_and(|(applied, live)| !same(applied, live));
        let cause = match (edited, drifted) {
            (true, true) => Cause::Both,
            (true, false) => Cause::Config,
            (false, _) => Cause::Drift,
        };
        Some((present.clone(), cause))
    }

    /// Returns whether two values of the attribute, or of this part of it, are equal to the service.
    fn is_same(&self, attribute: &Attribute, one: &Value, other: &Value) -> bool {
        if *self.ty == attribute.ty {
            same_of(attribute, one, other)
        } else {
            are_equivalent(self.ty, one, other)
        }
    }

    /// Compares a value that was computed from secrets by its expression and inputs, never by its result. Only the
    /// ledger shows whether the live value is the applied one.
    fn judge_derived(&self, live: Option<&Value>, present: &Value) -> Option<(Value, Cause)> {
        let edited = self.want.is_unknown()
            || self.applied.is_none_or(|applied| !is_as_written(self.ty, self.open, applied, self.key));
        let moved = |(applied, live)| !is_as_applied(self.ty, applied, live, self.key);
        let drifted = self.applied.zip(live).is_some_and(moved);
        let before = match self.applied {
            Some(applied) if !drifted => fingerprint_secrets(applied, self.key),
            _ if present.is_secret() => Value::Secret(Secret::Fingerprint(None)),
            _ => present.clone(),
        };
        let cause = match (edited, drifted) {
            (true, true) => Cause::Both,
            (true, false) => Cause::Config,
            (false, true) => Cause::Drift,
            (false, false) => return None,
        };
        Some((before, cause))
    }
}
