//! The plan in the shape of Terraform's JSON, for tools that read it, such as policy checks and review bots.
//!
//! With the values of all resources, `before` and `after` are whole, and unchanged resources are `no-op`; without them, as for
//! a saved plan, they have what the plan has: the attributes that change, and those that the block writes.

mod address;
mod modules;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use self::address::TerraformAddress;
use self::modules::ModuleTree;
use self::values::{TerraformValue, value_type};
use crate::model::address::{Address, Name};
use crate::model::values::value::{Attributes, Value, ValueMap};
use crate::plan::model::change::{Action, AttributeChange, Change, Drift, PolicyResult, PolicyStatus};
use crate::plan::model::output::{OutputAction, PlannedOutput};
use crate::plan::model::resource_values::{PlanValues, ResourceValues, WrittenValue};
use crate::report::json_writer::to_compact;
use crate::report::review::view::PlanReview;
use crate::report::text::phrases;

/// Version of Terraform's JSON format that the document follows; tools refuse another major version.
const FORMAT_VERSION: &str = "1.2";

/// Version of the form of `prior_state`.
const STATE_FORMAT_VERSION: &str = "1.0";

/// Version of Terraform whose documents these equal; some tools read it.
const TERRAFORM_VERSION: &str = "1.9.8";

/// Name of the provider of all resources.
const PROVIDER: &str = "stead";

/// The document, with its parts in the order in which Terraform writes them.
#[derive(Serialize)]
struct TerraformPlan<'a> {
    format_version: &'a str,
    terraform_version: &'a str,
    planned_values: Json,
    resource_drift: Vec<Json>,
    resource_changes: Vec<Json>,
    output_changes: Json,
    prior_state: Json,
    configuration: Json,
    checks: Vec<Json>,
    timestamp: String,
    applyable: bool,
    complete: bool,
    errored: bool,
}

/// Returns the plan in the shape of Terraform's JSON: one line, which is all that some tools read.
pub(super) fn tfjson_plan(of: &PlanReview<'_>) -> String {
    let plan = of.plan;
    let nothing = PlanValues::default();
    let report = TerraformReport { of, values: of.values.unwrap_or(&nothing) };
    let document = TerraformPlan {
        format_version: FORMAT_VERSION,
        terraform_version: TERRAFORM_VERSION,
        planned_values: report.planned_values(),
        resource_drift: report.resource_drift(),
        resource_changes: report.resource_changes(),
        output_changes: output_changes(&plan.planned_outputs),
        prior_state: report.prior_state(),
        configuration: report.configuration(),
        checks: report.checks(),
        timestamp: plan.base.made_at.to_string(),
        applyable: !plan.is_blocked(&BTreeSet::new()) && plan.has_changes(),
        complete: plan.left_out == 0,
        errored: false,
    };
    to_compact(&document) + "\n"
}

/// Returns the status of a check. A check of Terraform that only warns has failed, too.
const fn check_status(verdict: PolicyStatus) -> &'static str {
    match verdict {
        PolicyStatus::Pass | PolicyStatus::Allowed => "pass",
        PolicyStatus::Unknown => "unknown",
        PolicyStatus::Warn | PolicyStatus::Overridden | PolicyStatus::Deny => "fail",
    }
}

/// A report with the values that it shows; these are empty for a saved plan.
struct TerraformReport<'a> {
    of: &'a PlanReview<'a>,
    values: &'a PlanValues,
}

impl TerraformReport<'_> {
    fn address(&self, address: &Address) -> TerraformAddress {
        TerraformAddress::new(address, &self.values.modules, self.of.registry)
    }

    /// Returns a check for each policy, with an instance for each result; its status is the worst of theirs.
    fn checks(&self) -> Vec<Json> {
        let mut by_name: BTreeMap<&Name, Vec<&PolicyResult>> = BTreeMap::new();
        for ruling in &self.of.plan.policy {
            by_name.entry(&ruling.name).or_default().push(ruling);
        }
        let check = |(name, rulings): (&Name, Vec<&PolicyResult>)| {
            let display = format!("policy.{name}");
            let worst = rulings.iter().map(|ruling| ruling.verdict).max().unwrap_or(PolicyStatus::Pass);
            let instance = |ruling: &&PolicyResult| {
                let address = |address| self.address(address).full_address();
                let subject = ruling.address.as_ref().map_or_else(|| display.clone(), address);
                let status = check_status(ruling.verdict);
                let mut instance = json!({"address": {"to_display": subject}, "status": status});
                if status != "pass" {
                    instance["problems"] = json!([{"message": ruling.message}]);
                }
                instance
            };
            json!({
                "address": {"kind": "check", "name": name, "to_display": display},
                "status": check_status(worst),
                "instances": rulings.iter().map(instance).collect::<Vec<_>>(),
            })
        };
        by_name.into_iter().map(check).collect()
    }

    /// Returns the parts of an entry that say which resource it is about.
    fn identity(&self, address: &Address) -> Map<String, Json> {
        let parts = self.address(address);
        let mut entry = Map::new();
        entry.insert("address".to_owned(), parts.full_address().into());
        let module = parts.module_address();
        if !module.is_empty() {
            entry.insert("module_address".to_owned(), module.into());
        }
        entry.insert("mode".to_owned(), "managed".into());
        entry.insert("type".to_owned(), parts.kind.into());
        entry.insert("name".to_owned(), parts.name.into());
        if let Some(index) = parts.index {
            entry.insert("index".to_owned(), index.into());
        }
        entry.insert("provider_name".to_owned(), PROVIDER.into());
        entry
    }

    /// Returns all resources with what happens to each, by address; unchanged ones, too, if their values are known.
    fn resource_changes(&self) -> Vec<Json> {
        let changes: BTreeMap<&Address, &Change> =
            self.of.plan.changes.iter().map(|change| (&change.address, change)).collect();
        let addresses: BTreeSet<&Address> =
            changes.keys().copied().chain(self.values.resources.keys()).collect();
        let entry = |address: &Address| {
            let (change, values) = (changes.get(address), self.values.resources.get(address));
            self.resource_change(address, change.copied(), values)
        };
        addresses.into_iter().map(entry).collect()
    }

    fn resource_change(
        &self,
        address: &Address,
        change: Option<&Change>,
        values: Option<&ResourceValues>,
    ) -> Json {
        let (before, after) = match (values, change) {
            (Some(values), _) => (object(values.before.as_ref()), object(values.after.as_ref())),
            (None, Some(change)) => values_of_change(change),
            (None, None) => (TerraformValue::absent(), TerraformValue::absent()),
        };
        let mut entry = self.identity(address);
        let mut body = json!({
            "actions": change.map_or(&["no-op"][..], tfjson_actions),
            "before": before.value,
            "after": after.value,
            "after_unknown": if after.value.is_null() { json!({}) } else { after.unknown() },
            "before_sensitive": before.sensitive(),
            "after_sensitive": after.sensitive(),
        });
        if let Some(was) = change.and_then(|change| change.was.as_ref()) {
            entry.insert("previous_address".to_owned(), self.address(&was.address).full_address().into());
        }
        if let Some(change) = change.filter(|change| change.action == Action::Adopt) {
            body["importing"] = json!({"id": change.id});
        }
        let forced: Vec<&AttributeChange> = change
            .into_iter()
            .flat_map(|change| &change.attributes)
            .filter(|one| one.forces_replacement)
            .collect();
        if !forced.is_empty() {
            let paths: Vec<Vec<&str>> =
                forced.iter().map(|one| one.path.splitn(2, '.').collect()).collect();
            body["replace_paths"] = json!(paths);
            entry.insert("action_reason".to_owned(), "replace_because_cannot_update".into());
        }
        entry.insert("change".to_owned(), body);
        Json::Object(entry)
    }

    /// Returns the resources and outputs after the apply.
    fn planned_values(&self) -> Json {
        let after = |values: &ResourceValues| values.after.clone();
        let outputs = self.of.plan.planned_outputs.iter();
        let outputs = outputs.filter_map(|output| Some((&output.name, output.after.as_ref()?)));
        json!({"outputs": state_outputs(outputs), "root_module": self.state_module(&after)})
    }

    /// Returns the resources and outputs before the apply.
    fn prior_state(&self) -> Json {
        let before = |values: &ResourceValues| values.before.clone();
        let outputs = self.of.plan.planned_outputs.iter();
        let outputs = outputs.filter_map(|output| Some((&output.name, output.before.as_ref()?)));
        json!({
            "format_version": STATE_FORMAT_VERSION,
            "terraform_version": TERRAFORM_VERSION,
            "values": {"outputs": state_outputs(outputs), "root_module": self.state_module(&before)},
        })
    }

    fn state_module(&self, of: &dyn Fn(&ResourceValues) -> Option<Attributes>) -> Json {
        let mut tree = ModuleTree::default();
        for (address, values) in &self.values.resources {
            let Some(attributes) = of(values) else { continue };
            let shown = TerraformValue::of_object(&attributes);
            let mut entry = self.identity(address);
            entry.remove("module_address");
            entry.insert("schema_version".to_owned(), 0.into());
            entry.insert("sensitive_values".to_owned(), shown.sensitive());
            entry.insert("values".to_owned(), shown.value);
            tree.add(&self.address(address).modules, Json::Object(entry));
        }
        tree.into_values()
    }

    /// Returns what the blocks say: constants, and the addresses that expressions refer to. The instances of a block are one.
    fn configuration(&self) -> Json {
        let mut tree = ModuleTree::default();
        let mut seen = BTreeSet::new();
        for (address, values) in self.values.resources.iter().filter(|(_, values)| values.is_declared) {
            let parts = self.address(address);
            if !seen.insert((parts.modules.clone(), parts.block_address())) {
                continue;
            }
            let mut entry = json!({
                "address": parts.block_address(),
                "mode": "managed",
                "type": parts.kind,
                "name": parts.name,
                "provider_config_key": PROVIDER,
                "schema_version": 0,
                "expressions": self.expressions(values),
            });
            if parts.index.is_some() {
                entry["for_each_expression"] = json!({});
            }
            let needed = values.depends_on.iter().map(|one| self.address(one).block_address());
            let needed: BTreeSet<String> = needed.collect();
            if !needed.is_empty() {
                entry["depends_on"] = json!(needed);
            }
            tree.add(&parts.modules, entry);
        }
        let mut root = tree.into_configuration();
        let outputs: Map<String, Json> = self
            .values
            .outputs
            .iter()
            .map(|(name, value)| (name.to_string(), json!({"expression": self.expression(value)})))
            .collect();
        root.insert("outputs".to_owned(), Json::Object(outputs));
        json!({
            "provider_config": {PROVIDER: {"name": PROVIDER, "full_name": PROVIDER}},
            "root_module": root,
        })
    }

    fn expressions(&self, values: &ResourceValues) -> Json {
        let expression = |(name, value): (&Name, &WrittenValue)| (name.to_string(), self.expression(value));
        let mut all: Map<String, Json> = values.written.iter().map(expression).collect();
        // A child belongs to its parent without an attribute that says so.
        if let Some(parent) = &values.parent {
            let references = instance_references(&self.address(parent), ["id"]);
            all.insert("parent".to_owned(), json!({"references": references}));
        }
        Json::Object(all)
    }

    fn expression(&self, value: &WrittenValue) -> Json {
        match value {
            WrittenValue::Constant(value) => json!({"constant_value": TerraformValue::new(value).value}),
            WrittenValue::References(names) => json!({"references": self.references(names)}),
        }
    }

    /// Returns what an expression refers to, as Terraform lists it: each attribute before the instance that has it, and that
    /// before its block. Of several instances of one block there is only the block, as for an expression over all of them.
    fn references(&self, names: &[Name]) -> Vec<String> {
        let mut blocks: BTreeMap<String, BTreeMap<TerraformAddress, BTreeSet<&str>>> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for name in names {
            if let Some((address, attribute)) = self.referred_resource(name) {
                let parts = self.address(&address);
                let instances = blocks.entry(parts.block_address()).or_default();
                instances.entry(parts).or_default().extend(attribute);
            } else {
                let variable = name.strip_prefix("vars.").map(|variable| format!("var.{variable}"));
                others.insert(variable.unwrap_or_else(|| name.to_string()));
            }
        }
        let of_block = |(block, instances): (String, BTreeMap<TerraformAddress, BTreeSet<&str>>)| {
            let mut instances = instances.into_iter();
            match (instances.next(), instances.next()) {
                (Some((only, attributes)), None) => instance_references(&only, attributes),
                _ => vec![block],
            }
        };
        blocks.into_iter().flat_map(of_block).chain(others).collect()
    }

    /// Splits what an expression refers to into a resource and its attribute; `None` if it is none of the plan's resources.
    fn referred_resource<'n>(&self, name: &'n Name) -> Option<(Address, Option<&'n str>)> {
        let known =
            |text: &str| Address::parse(text).ok().filter(|one| self.values.resources.contains_key(one));
        if let Some(address) = known(name) {
            return Some((address, None));
        }
        let (address, attribute) = name.rsplit_once('.')?;
        Some((known(address)?, Some(attribute)))
    }

    /// Returns the differences of live objects from what was last applied, one entry for each object.
    fn resource_drift(&self) -> Vec<Json> {
        let mut by_address: BTreeMap<&Address, Vec<&Drift>> = BTreeMap::new();
        for drift in &self.of.plan.drift {
            by_address.entry(&drift.address).or_default().push(drift);
        }
        let entry = |(address, drifts): (&Address, Vec<&Drift>)| {
            let live = self.values.resources.get(address).and_then(|values| values.before.clone());
            let (mut before, mut after) = (live.clone().unwrap_or_default(), live.unwrap_or_default());
            let is_gone = drifts.iter().any(|drift| drift.path.is_none());
            for (path, drift) in drifts.iter().filter_map(|drift| Some((drift.path.as_ref()?, drift))) {
                insert_at(&mut before, path, drift.last_applied.clone());
                insert_at(&mut after, path, drift.live.clone());
            }
            let (before, after) = (TerraformValue::of_object(&before), TerraformValue::of_object(&after));
            let mut entry = self.identity(address);
            entry.insert(
                "change".to_owned(),
                json!({
                    "actions": [if is_gone { "delete" } else { "update" }],
                    "before": before.value,
                    "after": if is_gone { Json::Null } else { after.value.clone() },
                    "after_unknown": {},
                    "before_sensitive": before.sensitive(),
                    "after_sensitive": if is_gone { Json::Bool(false) } else { after.sensitive() },
                }),
            );
            let classes: BTreeSet<&str> =
                drifts.iter().map(|drift| phrases::drift_class(drift.class)).collect();
            entry.insert("classes".to_owned(), json!(classes));
            Json::Object(entry)
        };
        by_address.into_iter().map(entry).collect()
    }
}

/// Returns the references to attributes of an instance: each attribute, the instance, and its block.
fn instance_references<'a>(
    instance: &TerraformAddress,
    attributes: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let (own, block) = (instance.instance_address(), instance.block_address());
    let mut all: Vec<String> = attributes.into_iter().map(|name| format!("{own}.{name}")).collect();
    all.extend((own != block).then_some(own));
    all.push(block);
    all
}

/// Returns a whole object, or that there is none.
fn object(attributes: Option<&Attributes>) -> TerraformValue {
    attributes.map_or_else(TerraformValue::absent, TerraformValue::of_object)
}

/// Returns what a change shows of its object before and after: what changes, and what its block writes besides.
fn values_of_change(change: &Change) -> (TerraformValue, TerraformValue) {
    let (mut before, mut after) = (Attributes::new(), Attributes::new());
    for unchanged in &change.rest {
        before.insert(unchanged.path.clone(), unchanged.value.clone());
        after.insert(unchanged.path.clone(), unchanged.value.clone());
    }
    for attribute in &change.attributes {
        insert_at(&mut before, &attribute.path, attribute.before.clone());
        insert_at(&mut after, &attribute.path, attribute.after.clone());
    }
    let is_new = change.action == Action::Create;
    let is_gone = matches!(change.action, Action::Delete | Action::Forget);
    (object((!is_new).then_some(&before)), object((!is_gone).then_some(&after)))
}

/// Sets the value at `attribute` or `attribute.key`; no effect on a key of an attribute that is no map. Only the first dot
/// separates, because a key may contain dots.
fn insert_at(attributes: &mut Attributes, path: &str, value: Value) {
    let Some((attribute, key)) = path.split_once('.') else {
        attributes.insert(path.into(), value);
        return;
    };
    let mut map = match attributes.get(attribute) {
        Some(Value::Map(map)) => map.clone(),
        None | Some(Value::Null) => ValueMap::new(),
        Some(_) => return,
    };
    map.insert(key.into(), value);
    attributes.insert(attribute.into(), Value::Map(map));
}

fn tfjson_actions(change: &Change) -> &'static [&'static str] {
    match (change.action, change.create_first) {
        (Action::Create, _) => &["create"],
        (Action::Update, _) => &["update"],
        (Action::Replace, Some(true)) => &["create", "delete"],
        (Action::Replace, _) => &["delete", "create"],
        (Action::Delete, _) => &["delete"],
        (Action::Forget, _) => &["forget"],
        (Action::Read, _) => &["read"],
        (Action::Adopt, _) if !change.steps.is_empty() => &["update"],
        (Action::Adopt | Action::Move, _) => &["no-op"],
    }
}

/// Returns the outputs of a state: a value that is not known yet is absent.
fn state_outputs<'o>(outputs: impl Iterator<Item = (&'o Name, &'o Value)>) -> Json {
    let entry = |(name, value): (&Name, &Value)| {
        let shown = TerraformValue::new(value);
        let mut entry = json!({"sensitive": shown.is_sensitive()});
        if !shown.is_unknown() {
            if let Some(ty) = value_type(&shown.value) {
                entry["type"] = ty;
            }
            entry["value"] = shown.value;
        }
        (name.to_string(), entry)
    };
    Json::Object(outputs.map(entry).collect())
}

/// Returns all outputs with what happens to each.
fn output_changes(outputs: &[PlannedOutput]) -> Json {
    let entry = |output: &PlannedOutput| {
        let action = output.action();
        let before = output.before.as_ref().map_or_else(TerraformValue::absent, TerraformValue::new);
        let after = match (action, &output.after) {
            // What no planned change makes known stays as it is.
            (OutputAction::Keep, _) => before.clone(),
            (_, Some(after)) => TerraformValue::new(after),
            (_, None) => TerraformValue::absent(),
        };
        let actions = match action {
            OutputAction::Keep => "no-op",
            OutputAction::Add => "create",
            OutputAction::Change => "update",
            OutputAction::Remove => "delete",
        };
        let body = json!({
            "actions": [actions],
            "before": before.value,
            "after": after.value,
            "after_unknown": after.unknown(),
            "before_sensitive": before.sensitive(),
            "after_sensitive": after.sensitive(),
        });
        (output.name.to_string(), body)
    };
    let shown =
        outputs.iter().filter(|output| output.before.is_some() || output.action() != OutputAction::Keep);
    Json::Object(shown.map(entry).collect())
}
