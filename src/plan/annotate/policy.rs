//! Policies, judged: those on a kind for each of its resources, the others over the plan.

use crate::model::cel::evaluate_program;
use std::collections::BTreeSet;

use crate::config::check::policies::OF_SELF;
use crate::config::stack::model::Policy;
use crate::model::address::{Address, Name};
use crate::model::cel::{Item, Path, Program, Scope, Segment};
use crate::model::schema::Type;
use crate::model::value::{Attributes, Value};
use crate::plan::artifact::fingerprint::plan_fingerprint;
use crate::plan::decision::{Act, Verdict};
use crate::plan::diff::attributes::display_value;
use crate::plan::diff::planned_values::planned_value;
use crate::plan::join::joined_state::{Adoption, Subject, Survey};
use crate::plan::model::block::{Block, POLICY};
use crate::plan::model::change::{Action, Plan, Ruling, RulingVerdict};
use crate::plan::model::compare::fingerprint_secrets;

/// What one evaluation says.
pub(in crate::plan) enum Said {
    Pass,
    Deny,
    Unknown(String),
    Failed(String),
}

/// Judges the policies that are about resources, one by one.
pub(in crate::plan) fn of_resources(survey: &Survey<'_>, verdicts: &[Verdict<'_>]) -> Vec<Ruling> {
    let mut found = Vec::new();
    for policy in survey.inputs.stack.policies.iter().filter(|policy| !policy.on.is_empty()) {
        let Ok(program) = Program::parse(&policy.deny.source) else { continue };
        let named = Named::from_paths(&program.paths());
        let before = found.len();
        for (subject, verdict) in survey.subjects.iter().zip(verdicts) {
            let concerns = policy.on.iter().any(|kind| kind.name == subject.kind.name);
            // What goes is no business of a rule about what is there, unless it asks.
            let goes = matches!(verdict.act, Act::Delete | Act::Forget) || subject.resource.is_none();
            if !concerns || (goes && !named.names_explicitly("action")) {
                continue;
            }
            let seen = Value::Map(named.visible_attributes(survey, subject, verdict));
            let said = evaluate_policy(policy, &program, &[("self", &seen)]);
            found.extend(policy_result(survey, policy, Some(subject), said));
        }
        if found.len() == before {
            found.push(passing_result(survey, policy));
        }
    }
    found
}

/// Judges the policies that are about the plan, and says of the plan what all of them say.
pub(in crate::plan) fn evaluate_policies(
    survey: &Survey<'_>,
    mut plan: Plan,
    mut rulings: Vec<Ruling>,
) -> Plan {
    for policy in survey.inputs.stack.policies.iter().filter(|policy| policy.on.is_empty()) {
        let Ok(program) = Program::parse(&policy.deny.source) else { continue };
        let seen = Value::Map(plan_attributes(
            &plan,
            Named::from_paths(&program.paths()).names_explicitly("changes"),
        ));
        let said = evaluate_policy(policy, &program, &[("plan", &seen)]);
        rulings.push(
            policy_result(survey, policy, None, said).unwrap_or_else(|| passing_result(survey, policy)),
        );
    }
    plan.policy = rulings;
    let denied = plan.policy.iter().filter(|ruling| ruling.verdict == RulingVerdict::Deny);
    plan.blocks.extend(denied.map(|ruling| Block {
        code: POLICY.into(),
        address: ruling.address.clone(),
        text: format!("{}: {}", ruling.name, ruling.message),
        help: format!(
            "Change what it is about, or: stead apply --override {} --reason \"...\" (recorded).",
            ruling.name
        ),
        source: ruling.source.clone(),
    }));
    match plan_fingerprint(&plan) {
        Ok(fingerprint) => plan.fingerprint = fingerprint,
        // A plan without a fingerprint cannot be reviewed: nothing applies it.
        Err(error) => plan.blocks.push(Block {
            code: "fingerprint".into(),
            address: None,
            text: format!("the plan has no fingerprint: {error}"),
            help: "This is a defect of stead: please report it.".to_owned(),
            source: None,
        }),
    }
    plan
}

/// Evaluates a policy over what it sees.
pub(in crate::plan) fn evaluate_policy(
    policy: &Policy,
    program: &Program,
    roots: &[(&'static str, &Value)],
) -> Said {
    let mut scope = Scope::default();
    let bound = policy.deny.bindings.iter().map(|(name, value)| (name.clone(), value));
    let roots = roots.iter().map(|(name, value)| (Name::new_static(name), *value));
    scope.roots.extend(bound.chain(roots).map(|(name, value)| (name, Item::from_borrowed(value))));
    let value = match evaluate_program(program, &scope) {
        Ok(value) => value,
        Err(error) => return Said::Failed(error.to_string()),
    };
    match value {
        Value::Bool(true) => Said::Deny,
        Value::Bool(false) => Said::Pass,
        Value::Unknown(addresses) => {
            let names: Vec<&str> = addresses.iter().take(3).map(Address::as_str).collect();
            Said::Unknown(names.join(", "))
        }
        // What it says would tell something of the secret.
        Value::Secret(_) => Said::Failed("it looks into a secret, which no policy can".to_owned()),
        other => Said::Failed(format!("it is {}, and not true or false", other.type_name())),
    }
}

fn policy_result(
    survey: &Survey<'_>,
    policy: &Policy,
    subject: Option<&Subject<'_>>,
    said: Said,
) -> Option<Ruling> {
    let overridden = survey.inputs.options.overrides.contains(&policy.name);
    let no = if overridden { RulingVerdict::Overridden } else { RulingVerdict::Deny };
    let (verdict, message) = match said {
        Said::Pass => return None,
        Said::Deny => (no, policy.message.clone()),
        Said::Unknown(waits) => {
            (RulingVerdict::Unknown, format!("It is decided once {waits} is there: {}", policy.message))
        }
        Said::Failed(why) => (no, format!("It cannot be decided: {why}.")),
    };
    let source = survey.inputs.stack.sources.location_of(policy.span);
    let address = subject.map(|subject| subject.address.clone());
    Some(Ruling { name: policy.name.clone(), address, verdict, message, source })
}

fn passing_result(survey: &Survey<'_>, policy: &Policy) -> Ruling {
    Ruling {
        name: policy.name.clone(),
        address: None,
        verdict: RulingVerdict::Pass,
        message: policy.message.clone(),
        source: survey.inputs.stack.sources.location_of(policy.span),
    }
}

/// What an expression names of its root; `None`: all of it.
struct Named(Option<BTreeSet<Name>>);

impl Named {
    fn from_paths(paths: &[Path]) -> Self {
        let rooted = paths.iter().filter(|path| matches!(path.root.as_str(), "self" | "plan"));
        let first = |path: &Path| match path.segments.first() {
            Some(Segment::Name(name)) => Some(name.clone()),
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

    /// Returns what a policy sees of a resource: as it will be, or, when it goes, as it is.
    fn visible_attributes(
        &self,
        survey: &Survey<'_>,
        subject: &Subject<'_>,
        verdict: &Verdict<'_>,
    ) -> Attributes {
        let mut seen = Attributes::new();
        for attribute in subject.kind.attributes.iter().filter(|attribute| self.covers_name(attribute.name))
        {
            let waits = || Value::Unknown(vec![subject.address.clone()]);
            let absent = || if attribute.is_writable() { Value::Null } else { waits() };
            let value = planned_value(subject, verdict, attribute.name).unwrap_or_else(absent);
            let value = match (&attribute.ty, value) {
                (Type::List(_) | Type::Set { .. }, Value::Null) => Value::List(Vec::new()),
                (Type::Map(_), Value::Null) => Value::Map(Attributes::new()),
                (Type::Catalog(_), value) => display_value(attribute, &value, &survey.names),
                (_, value) if attribute.secret && !value.is_secret() => {
                    fingerprint_secrets(&value, survey.key())
                }
                (_, value) => value,
            };
            seen.insert(attribute.name.into(), value);
        }
        for name in OF_SELF.iter().filter(|name| self.covers_name(name)) {
            let value = match *name {
                "address" => Value::text(subject.address.as_str()),
                "kind" => Value::text(subject.kind.name),
                "action" => Value::text(action_name(subject, verdict)),
                "id" => subject.object().map_or(Value::Null, |object| Value::Text(object.id.clone())),
                _ => subject.block.and_then(|block| block.key.clone()).map_or(Value::Null, Value::Text),
            };
            seen.insert(Name::new_static(name), value);
        }
        seen
    }
}

fn action_name(subject: &Subject<'_>, verdict: &Verdict<'_>) -> &'static str {
    let adopted = matches!(subject.adoption, Some(Adoption::Asked | Adoption::Recovered(_)));
    match verdict.act {
        Act::Keep | Act::Update if adopted => "adopt",
        Act::Keep | Act::Frozen => "none",
        Act::Create => "create",
        Act::Update => "update",
        Act::Replace { .. } => "replace",
        Act::Delete => "delete",
        Act::Forget => "forget",
    }
}

/// Returns what a policy sees of a plan.
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
