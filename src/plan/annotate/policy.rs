//! Evaluation of policies: those on a kind for each of its resources, the others once for the plan. In: the
//! decisions, or the plan without its policy results; out: results, and a blocker for each denial. A policy
//! never sees a secret's value.

use std::collections::BTreeSet;

use crate::config::check::policies::SELF_FIELDS;
use crate::config::stack::model::Policy;
use crate::model::address::{Address, Name};
use crate::model::cel::evaluate_program;
use crate::model::cel::{CelProgram, CelValue, ExpressionScope, PathSegment, ReferencePath};
use crate::model::diagnostic::blocker_code;
use crate::model::schema::Type;
use crate::model::values::value::{Attributes, Value, ValueMap};
use crate::plan::artifact::fingerprint::with_fingerprint;
use crate::plan::decision::{Decision, DecisionKind};
use crate::plan::diff::attributes::display_value;
use crate::plan::diff::planned_values::planned_value;
use crate::plan::join::joined_state::{AdoptionReason, JoinedState, ResourceState};
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{Action, Plan, PolicyResult, PolicyStatus};
use crate::plan::model::compare::fingerprint_secrets;

/// The result of one evaluation.
pub(in crate::plan) enum PolicyEvaluation {
    /// The expression is false.
    Pass,
    /// The expression is true.
    Deny,
    /// The result depends on values that are known after apply: up to three addresses, joined with commas.
    Unknown(String),
    /// The expression cannot be evaluated: the reason as a phrase. It counts as a denial.
    Failed(String),
}

/// Evaluates the policies on kinds for each resource of the kind. The results contain every resource that does
/// not pass, and one passing result for a policy that all resources pass.
pub(in crate::plan) fn of_resources(
    joined: &JoinedState<'_>,
    decisions: &[Decision<'_>],
) -> Vec<PolicyResult> {
    let mut found = Vec::new();
    for policy in joined.inputs.stack.policies.iter().filter(|policy| !policy.on.is_empty()) {
        let Ok(program) = CelProgram::parse(&policy.deny.source) else { continue };
        let named = ReferencedNames::from_paths(&program.paths());
        let before = found.len();
        for (subject, decision) in joined.subjects.iter().zip(decisions) {
            let concerns = policy.on.iter().any(|kind| kind.name == subject.kind.name);
            // A policy on resources does not apply to one that is deleted or forgotten, unless it reads `action`.
            let goes = matches!(decision.act, DecisionKind::Delete | DecisionKind::Forget)
                || subject.resource.is_none();
            if !concerns || (goes && !named.names_explicitly("action")) {
                continue;
            }
            let seen = Value::Map(named.visible_attributes(joined, subject, decision).into());
            let said = evaluate_policy(policy, &program, &[("self", &seen)]);
            found.extend(policy_result(joined, policy, Some(subject), said));
        }
        if found.len() == before {
            found.push(passing_result(joined, policy));
        }
    }
    found
}

/// Evaluates the policies on the plan, adds the results of all policies to it, with a blocker for each denial,
/// and computes the fingerprint. The fingerprint is last because it covers the results.
pub(in crate::plan) fn evaluate_policies(
    joined: &JoinedState<'_>,
    mut plan: Plan,
    mut rulings: Vec<PolicyResult>,
) -> Plan {
    for policy in joined.inputs.stack.policies.iter().filter(|policy| policy.on.is_empty()) {
        let Ok(program) = CelProgram::parse(&policy.deny.source) else { continue };
        let names_changes = ReferencedNames::from_paths(&program.paths()).names_explicitly("changes");
        let seen = Value::Map(plan_attributes(&plan, names_changes).into());
        let said = evaluate_policy(policy, &program, &[("plan", &seen)]);
        rulings.push(
            policy_result(joined, policy, None, said).unwrap_or_else(|| passing_result(joined, policy)),
        );
    }
    plan.policy = rulings;
    let denied = plan.policy.iter().filter(|ruling| ruling.verdict == PolicyStatus::Deny);
    plan.blocks.extend(denied.map(|ruling| Blocker {
        code: blocker_code::POLICY.code.into(),
        address: ruling.address.clone(),
        text: format!("{}: {}", ruling.name, ruling.message),
        help: format!(
            "Change what the policy denies, or: stead apply --override {} --reason \"...\" (recorded).",
            ruling.name
        ),
        source: ruling.source.clone(),
    }));
    with_fingerprint(plan)
}

/// Evaluates a policy with the given root values (`self` or `plan`) and the policy's own bindings.
pub(in crate::plan) fn evaluate_policy(
    policy: &Policy,
    program: &CelProgram,
    roots: &[(&'static str, &Value)],
) -> PolicyEvaluation {
    let mut scope = ExpressionScope::default();
    let bound = policy.deny.bindings.iter().map(|(name, value)| (name.clone(), value));
    let roots = roots.iter().map(|(name, value)| (Name::new_static(name), *value));
    scope.roots.extend(bound.chain(roots).map(|(name, value)| (name, CelValue::from_borrowed(value))));
    let value = match evaluate_program(program, &scope) {
        Ok(value) => value,
        Err(error) => return PolicyEvaluation::Failed(error.to_string()),
    };
    match value {
        Value::Bool(true) => PolicyEvaluation::Deny,
        Value::Bool(false) => PolicyEvaluation::Pass,
        Value::Unknown(addresses) => {
            let names: Vec<&str> = addresses.iter().take(3).map(Address::as_str).collect();
            PolicyEvaluation::Unknown(names.join(", "))
        }
        // Whether the policy passes would reveal something about the secret.
        Value::Secret(_) => {
            PolicyEvaluation::Failed("it reads a secret, which a policy cannot do".to_owned())
        }
        other => PolicyEvaluation::Failed(format!("it is {}, and not true or false", other.type_name())),
    }
}

fn policy_result(
    joined: &JoinedState<'_>,
    policy: &Policy,
    subject: Option<&ResourceState<'_>>,
    said: PolicyEvaluation,
) -> Option<PolicyResult> {
    let overridden = joined.inputs.options.overrides.contains(&policy.name);
    let no = if overridden { PolicyStatus::Overridden } else { PolicyStatus::Deny };
    let (verdict, message) = match said {
        PolicyEvaluation::Pass => return None,
        PolicyEvaluation::Deny => (no, policy.message.clone()),
        PolicyEvaluation::Unknown(waits) => (
            PolicyStatus::Unknown,
            format!("It is evaluated once the values of {waits} are known: {}", policy.message),
        ),
        PolicyEvaluation::Failed(why) => (no, format!("It cannot be evaluated: {why}.")),
    };
    let source = joined.inputs.stack.sources.location_of(policy.span);
    let address = subject.map(|subject| subject.address.clone());
    Some(PolicyResult { name: policy.name.clone(), address, verdict, message, source })
}

fn passing_result(joined: &JoinedState<'_>, policy: &Policy) -> PolicyResult {
    PolicyResult {
        name: policy.name.clone(),
        address: None,
        verdict: PolicyStatus::Pass,
        message: policy.message.clone(),
        source: joined.inputs.stack.sources.location_of(policy.span),
    }
}

/// The first names that an expression reads below its root (`self` or `plan`); `None` if it reads the whole root.
struct ReferencedNames(Option<BTreeSet<Name>>);

impl ReferencedNames {
    fn from_paths(paths: &[ReferencePath]) -> Self {
        let rooted = paths.iter().filter(|path| matches!(path.root.as_str(), "self" | "plan"));
        let first = |path: &ReferencePath| match path.segments.first() {
            Some(PathSegment::Name(name)) => Some(name.clone()),
            _ => None,
        };
        Self(rooted.map(first).collect())
    }

    fn names_explicitly(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|names| names.contains(name))
    }

    fn covers_name(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Returns the attributes of a resource that a policy reads: planned values, or the live ones of a resource
    /// that is deleted. Secrets are replaced by their fingerprints.
    fn visible_attributes(
        &self,
        joined: &JoinedState<'_>,
        subject: &ResourceState<'_>,
        decision: &Decision<'_>,
    ) -> Attributes {
        let mut seen = Attributes::new();
        for attribute in subject.kind.attributes.iter().filter(|attribute| self.covers_name(attribute.name))
        {
            let waits = || Value::Unknown(vec![subject.address.clone()]);
            let absent = || if attribute.is_writable() { Value::Null } else { waits() };
            let value = planned_value(subject, decision, attribute.name).unwrap_or_else(absent);
            let value = match (&attribute.ty, value) {
                (Type::List(_) | Type::Set { .. }, Value::Null) => Value::List(Vec::new()),
                (Type::Map(_), Value::Null) => Value::Map(ValueMap::new()),
                (Type::Catalog(_), value) => display_value(attribute, &value, &joined.names),
                (_, value) if attribute.secret && !value.is_secret() => {
                    fingerprint_secrets(&value, joined.key())
                }
                (_, value) => value,
            };
            seen.insert(attribute.name.into(), value);
        }
        for name in SELF_FIELDS.iter().filter(|name| self.covers_name(name)) {
            let value = match *name {
                "address" => Value::text(subject.address.as_str()),
                "kind" => Value::text(subject.kind.name),
                "action" => Value::text(action_name(subject, decision)),
                "id" => subject.object().map_or(Value::Null, |object| Value::Text(object.id.clone())),
                _ => subject.block.and_then(|block| block.key.clone()).map_or(Value::Null, Value::Text),
            };
            seen.insert(Name::new_static(name), value);
        }
        seen
    }
}

fn action_name(subject: &ResourceState<'_>, decision: &Decision<'_>) -> &'static str {
    let adopted =
        matches!(subject.adoption, Some(AdoptionReason::Requested | AdoptionReason::Recovered(_)));
    match decision.act {
        DecisionKind::Keep | DecisionKind::Update if adopted => "adopt",
        DecisionKind::Keep | DecisionKind::Frozen => "none",
        DecisionKind::Create => "create",
        DecisionKind::Update => "update",
        DecisionKind::Replace { .. } => "replace",
        DecisionKind::Delete => "delete",
        DecisionKind::Forget => "forget",
    }
}

/// Returns the attributes of the plan that a policy reads; costs are monthly and in USD. `changes` is computed
/// only `with_changes`, because it is as large as the plan.
fn plan_attributes(plan: &Plan, with_changes: bool) -> Attributes {
    let count = |action: Action| {
        let count = plan.changes.iter().filter(|change| change.action == action).count();
        Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    };
    let cost = &plan.cost;
    let mut seen: Attributes = [
        ("monthly_before", Value::Decimal(cost.monthly_before)),
        ("monthly_after", Value::Decimal(cost.monthly_after)),
        ("monthly_delta", Value::Decimal(cost.monthly_after - cost.monthly_before)),
        ("create", count(Action::Create)),
        ("update", count(Action::Update)),
        ("replace", count(Action::Replace)),
        ("delete", count(Action::Delete)),
        ("adopt", count(Action::Adopt)),
        ("move", count(Action::Move)),
        ("forget", count(Action::Forget)),
        ("unchanged", Value::Integer(i64::try_from(plan.unchanged).unwrap_or(i64::MAX))),
        ("stack", Value::Text(plan.base.stack.clone())),
        ("env", Value::Text(plan.base.environment.clone())),
    ]
    .into_iter()
    .map(|(name, value)| (Name::new_static(name), value))
    .collect();
    if with_changes {
        let changes = plan.changes.iter().map(|change| {
            let action = serde_json::to_value(change.action).ok();
            let action = action.as_ref().and_then(|word| word.as_str()).unwrap_or_default();
            let fields = [
                ("address", Value::text(change.address.as_str())),
                ("kind", Value::Text(change.kind.clone())),
                ("action", Value::text(action)),
            ];
            Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
        });
        seen.insert("changes".into(), Value::List(changes.collect()));
    }
    seen
}
