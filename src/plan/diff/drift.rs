//! Drift: differences between the last applied and the live values, and what the plan does about each. In: a resource
//! and its decision; out: one `Drift` for each attribute or map key. Only reports: the decision is made already.

use super::attributes::{
    AttributeDiffer, display_value, ignore_rule, ignores_drift, is_exclusive, is_moved_by_service,
    shows_value,
};
use super::confirmation::is_not_kept;
use crate::config::edit::{ConfigLiteral, Edit, EditPath, EditableFile, apply_edits};
use crate::config::stack::model::AttributeSetting;
use crate::ledger::state::verification::ValueVerification;
use crate::model::address::Name;
use crate::model::live::reading::told_part;
use crate::model::schema::meaning::same_of;
use crate::model::schema::{Attribute, Type};
use crate::model::source::SourceLocation;
use crate::model::values::secret::{FingerprintKey, Secret};
use crate::model::values::value::{Value, ValueMap};
use crate::plan::decision::{Decision, DecisionKind, DesiredAttribute};
use crate::plan::join::joined_state::{JoinedState, ResourceState};
use crate::plan::join::live_state::LiveState;
use crate::plan::model::change::{Drift, DriftClass, IgnoreDriftMatch};
use crate::plan::model::compare::{
    are_equivalent, fingerprint_secrets, is_as_applied, part_type, protect_live_value,
    protect_unwritten_value,
};

/// Returns the drift of one resource, in the order of the kind's table. An attribute that the block does not write any
/// more has no drift, and a resource outside the plan's scope is skipped. An object that is deleted because it has no block
/// any more still differs from what was applied.
pub(in crate::plan) fn subject_drift(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    decision: &Decision<'_>,
) -> Vec<Drift> {
    let Some(resource) = subject.resource.filter(|_| decision.act != DecisionKind::Frozen) else {
        return if decision.act == DecisionKind::Delete {
            removed_drift(joined, subject)
        } else {
            Vec::new()
        };
    };
    if let LiveState::Gone(_) | LiveState::Deleting(_) = subject.live {
        return vec![Drift {
            address: subject.address.clone(),
            path: None,
            last_applied: subject
                .owned_object()
                .map(|owned| Value::Text(owned.id.clone()))
                .unwrap_or_default(),
            live: Value::Null,
            class: DriftClass::Gone,
            leave: None,
            acceptable: false,
            unconfirmed: false,
            blocked_by: None,
            source: joined.inputs.stack.sources.location_of(resource.span),
        }];
    }
    let Some(diff) = AttributeDiffer::new(joined, subject) else { return Vec::new() };
    let mut finder = DriftFinder { joined, subject, decision, found: Vec::new() };
    for want in &decision.wants {
        let applied = diff.last_applied_value(want.attribute);
        let live = applied.and_then(|applied| diff.live_attribute(want.attribute, Some(applied)));
        if let Some((applied, live)) = applied.zip(live) {
            finder.find_drift(want, applied, &live);
        }
    }
    finder.found
}

/// Returns the attributes in which an object without a block differs from what was applied last.
fn removed_drift(joined: &JoinedState<'_>, subject: &ResourceState<'_>) -> Vec<Drift> {
    let Some(diff) = AttributeDiffer::new(joined, subject) else { return Vec::new() };
    let key = joined.key();
    let drift = |attribute: &'static Attribute| {
        let applied = diff.last_applied_value(attribute)?;
        let live = diff.live_attribute(attribute, Some(applied))?;
        let moved = is_moved_by_service(joined, subject, attribute, (applied, &live));
        let confirmation = subject.entry.map(|entry| entry.confirmation(attribute.name));
        let is_not_kept = matches!(confirmation, Some(ValueVerification::Different(_)));
        if moved || is_not_kept || shows_value(attribute, applied, &live, key, true) {
            return None;
        }
        let shown = |value: &_| display_value(attribute, value, &joined.names);
        let live = displayed_live(attribute, (applied, None), &live, key);
        Some(Drift {
            address: subject.address.clone(),
            path: Some(attribute.name.into()),
            last_applied: shown(&fingerprint_secrets(applied, key)),
            live: shown(&live),
            class: DriftClass::Replaced,
            leave: None,
            acceptable: false,
            unconfirmed: confirmation == Some(ValueVerification::Unknown),
            blocked_by: None,
            source: None,
        })
    };
    subject.kind.attributes.iter().filter_map(drift).collect()
}

/// Returns a live value for display, where it differs from the applied one, and from the desired one if there is one.
fn displayed_live(
    attribute: &Attribute,
    (applied, wanted): (&Value, Option<&Value>),
    live: &Value,
    key: &FingerprintKey,
) -> Value {
    if applied.is_derived() && live.is_secret() {
        // The fingerprint would reveal the result of the expression.
        return Value::Secret(Secret::Fingerprint(None));
    }
    protect_live_value(attribute, [Some(applied), wanted], live, key)
}

struct DriftFinder<'s, 'a> {
    joined: &'s JoinedState<'a>,
    subject: &'s ResourceState<'a>,
    decision: &'s Decision<'a>,
    found: Vec<Drift>,
}

/// The three values of one attribute, or of one key of a map.
struct DriftValues<'v> {
    ty: &'v Type,
    wanted: &'v Value,
    applied: &'v Value,
    live: &'v Value,
}

impl DriftFinder<'_, '_> {
    fn find_drift(&mut self, want: &DesiredAttribute<'_>, applied: &Value, live: &Value) {
        let ty = &want.attribute.ty;
        let wanted = fingerprint_secrets(want.stored_value(), self.joined.key());
        let (Value::Map(before), Value::Map(written)) = (applied, &wanted) else {
            self.add(want, want.attribute.name.into(), &DriftValues { ty, wanted: &wanted, applied, live });
            return;
        };
        self.find_unwritten_keys(want, before, written, live);
        for (key, applied) in before {
            let (Some(wanted), Some(ty)) = (written.get(key), part_type(ty, key)) else { continue };
            let Some(live) = told_part(&want.attribute.ty, live, key) else { continue };
            let path = smol_str::format_smolstr!("{}.{key}", want.attribute.name);
            self.add(want, path, &DriftValues { ty, wanted, applied, live });
        }
    }

    /// Adds the live keys of an open map that this stack does not write.
    fn find_unwritten_keys(
        &mut self,
        want: &DesiredAttribute<'_>,
        before: &ValueMap,
        written: &ValueMap,
        live: &Value,
    ) {
        let (Type::Map(_), Value::Map(live)) = (&want.attribute.ty, live) else { return };
        let ignored = ignores_drift(self.joined, self.subject, want.attribute.name);
        let class = match self.decision.act {
            DecisionKind::Replace { .. } => DriftClass::Replaced,
            _ => DriftClass::Reverted,
        };
        let class = if is_exclusive(want) && !ignored { class } else { DriftClass::Unmanaged };
        for (key, value) in live {
            if before.contains_key(key) || written.contains_key(key) {
                continue;
            }
            self.found.push(Drift {
                address: self.subject.address.clone(),
                path: Some(smol_str::format_smolstr!("{}.{key}", want.attribute.name)),
                last_applied: Value::Null,
                live: protect_unwritten_value(want.attribute, value, self.joined.key()),
                class,
                leave: None,
                acceptable: false,
                unconfirmed: false,
                blocked_by: None,
                source: self.setting_location(want.setting, want.attribute.name),
            });
        }
    }

    fn add(&mut self, want: &DesiredAttribute<'_>, path: Name, sides: &DriftValues<'_>) {
        let is_derived = sides.applied.is_derived();
        let is_as_applied = if is_derived {
            is_as_applied(sides.ty, sides.applied, sides.live, self.joined.key())
        } else {
            is_same(want, sides.ty, sides.applied, sides.live)
        };
        if is_as_applied || leaves_alone(want, sides.wanted) || is_not_kept(self.decision, &path) {
            return;
        }
        let shown = |value: &_| display_value(want.attribute, value, &self.joined.names);
        let known = (sides.applied, Some(sides.wanted));
        let live = displayed_live(want.attribute, known, sides.live, self.joined.key());
        let source = self.setting_location(want.setting, &path);
        let class = self.classify_drift(want, &path, sides);
        // It is proposed only for this class, and the check reads the file.
        let acceptable = class == DriftClass::AcceptOnly
            && want.setting.is_some_and(|setting| {
                can_accept(self.joined, self.subject, setting, (path.as_str(), sides.live))
            });
        let said = ignore_rule(self.joined, self.subject, want.attribute.name);
        let said = said.filter(|(_, holds)| !holds || class == DriftClass::Ignored);
        self.found.push(Drift {
            address: self.subject.address.clone(),
            class,
            leave: said.map(|(ignored, holds)| IgnoreDriftMatch {
                reason: ignored.reason.clone(),
                until: ignored.until.map(|until| smol_str::format_smolstr!("{until}")),
                ended: !holds,
                source: self.joined.inputs.stack.sources.location_of(ignored.span),
            }),
            last_applied: shown(&fingerprint_secrets(sides.applied, self.joined.key())),
            live: shown(&live),
            unconfirmed: self
                .subject
                .entry
                .is_some_and(|e| e.confirmation(&path) == ValueVerification::Unknown),
            acceptable,
            blocked_by: None,
            path: Some(path),
            source,
        });
    }

    fn classify_drift(
        &self,
        want: &DesiredAttribute<'_>,
        path: &Name,
        sides: &DriftValues<'_>,
    ) -> DriftClass {
        let moved =
            |from| is_moved_by_service(self.joined, self.subject, want.attribute, (from, sides.live));
        let is_replaced = matches!(self.decision.act, DecisionKind::Replace { .. });
        if ignores_drift(self.joined, self.subject, want.attribute.name) && !is_replaced
            || moved(sides.wanted)
            || moved(sides.applied)
        {
            DriftClass::Ignored
        } else if !sides.wanted.is_unknown() && is_same(want, sides.ty, sides.wanted, sides.live) {
            DriftClass::Accepted
        } else if is_replaced {
            DriftClass::Replaced
        } else if self.decision.differences.iter().any(|difference| difference.path == *path) {
            DriftClass::Reverted
        } else {
            DriftClass::AcceptOnly
        }
    }

    fn setting_location(&self, setting: Option<&AttributeSetting>, path: &str) -> Option<SourceLocation> {
        self.joined.inputs.stack.sources.location_of(setting?.origin(path).0)
    }
}

/// Returns whether the live value can be written to the configuration: the file has a plain value for this resource
/// alone, and the edit by `drift --accept` is possible.
pub(in crate::plan) fn can_accept(
    joined: &JoinedState<'_>,
    subject: &ResourceState<'_>,
    setting: &AttributeSetting,
    (path, live): (&str, &Value),
) -> bool {
    let alone = subject.resource.is_some_and(|resource| resource.key.is_none());
    if !alone || setting.origin(path).1.is_some() || setting.directory.is_some() {
        return false;
    }
    let source = joined.inputs.stack.sources.get(setting.span.source);
    let Some((source, literal)) = source.zip(ConfigLiteral::from_value(live)) else { return false };
    let target = path.split('.').fold(EditPath::from_text(subject.address.as_str()), EditPath::with_key);
    let file = EditableFile { source, registry: &joined.inputs.registry };
    apply_edits(&file, &[Edit::Set(target, literal)]).is_ok()
}

/// Returns whether two values of an attribute, or of a part of it, are equal to the service.
fn is_same(want: &DesiredAttribute<'_>, ty: &Type, one: &Value, other: &Value) -> bool {
    if *ty == want.attribute.ty {
        same_of(want.attribute, one, other)
    } else {
        are_equivalent(ty, one, other)
    }
}

/// Returns whether a written `null` accepts any live value, because the service chooses the default.
fn leaves_alone(want: &DesiredAttribute<'_>, wanted: &Value) -> bool {
    let unsettable = matches!(want.attribute.ty, Type::Reference(_) | Type::List(_) | Type::Set { .. });
    *wanted == Value::Null && !unsettable
}
