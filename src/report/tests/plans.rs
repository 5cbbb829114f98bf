//! Hand-built plans.

use jiff::Timestamp;
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::ledger::state::entry::OwnedObject;
use crate::model::address::Address;
use crate::model::live::snapshot::RequestCount;
use crate::model::schema::Effect;
use crate::model::source::SourceLocation;
use crate::model::values::secret::Secret;
use crate::model::values::value::Value;
use crate::plan::model::block::Blocker;
use crate::plan::model::change::{
    Action, AttributeChange, Cause, Change, ChangeCost, ChangeEffect, Drift, DriftClass, IgnoreDriftMatch,
    Plan, PlanCost, UnchangedAttribute,
};
use crate::plan::model::due::DueTotal;
use crate::plan::model::plan_base::PlanBase;
use crate::plan::model::step::{CriticalPath, LedgerMetadata, Operation, PlannedCall, Step, TargetProject};

pub(crate) fn at(line: u32) -> SourceLocation {
    SourceLocation { file: "shop.stead.yaml".into(), line, column: 5 }
}

pub(crate) fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

pub(crate) fn time(second: i64) -> Timestamp {
    Timestamp::from_second(1_792_000_000 + second).unwrap()
}

pub(crate) fn sealed(digest: &str) -> Value {
    Value::Secret(Secret::Fingerprint(Some(digest.into())))
}

/// A fingerprint that is displayed as `7f3a-c91e`.
pub(crate) const FINGERPRINT: &str = "7f3ac91e0123456789abcdef0123456789abcdef0123456789abcdef01234567";

pub(crate) fn empty() -> Plan {
    Plan {
        base: PlanBase {
            stack: "shop".into(),
            environment: "prod".into(),
            account: "acc-1".into(),
            project: Some("p-1".into()),
            lineage: Uuid::nil(),
            serial: 12,
            reads: String::new(),
            config: "3f9c2e1d00112233".repeat(4),
            objects: Vec::new(),
            made_at: time(0),
            nonce: Uuid::nil(),
            destroy: false,
            delete_data: [].into(),
        },
        changes: Vec::new(),
        steps: Vec::new(),
        drift: Vec::new(),
        cost: PlanCost::default(),
        critical_path: CriticalPath::default(),
        holds_deletions: false,
        unchanged: 41,
        left_out: 0,
        blocks: Vec::new(),
        outputs: [].into(),
        planned_outputs: Vec::new(),
        bookkeeping: Vec::new(),
        policy: Vec::new(),
        undecided: Vec::new(),
        notes: Vec::new(),
        requests: RequestCount { sent: 12, pages: 9, limited: 0, waited_ms: 0 },
        digests: [].into(),
        fingerprint: FINGERPRINT.into(),
    }
}

pub(crate) fn change(action: Action, at_address: &str) -> Change {
    let address = address(at_address);
    Change {
        kind: address.root().into(),
        address,
        id: None,
        was: None,
        action,
        create_first: None,
        cause: Cause::Config,
        reason: None,
        attributes: Vec::new(),
        rest: Vec::new(),
        effects: Vec::new(),
        cost: ChangeCost::default(),
        hits: Vec::new(),
        steps: Vec::new(),
        source: Some(at(20)),
        seconds: 0,
    }
}

pub(crate) fn attribute(path: &str, before: Value, after: Value) -> AttributeChange {
    AttributeChange {
        path: path.into(),
        before,
        after,
        removed: false,
        forces_replacement: false,
        source: Some(at(22)),
        set_by: None,
        cause: Cause::Config,
        last_applied: None,
        secrets: Vec::new(),
        names: None,
        live_names: None,
    }
}

fn priced(before: i64, after: i64) -> ChangeCost {
    let price = |amount: i64| (amount > 0).then(|| Decimal::from(amount));
    ChangeCost { monthly_before: price(before), monthly_after: price(after), ..ChangeCost::default() }
}

fn step(at_address: &str, operation: Operation, after: &[usize], seconds: u32) -> Step {
    let address = address(at_address);
    Step {
        kind: address.root().into(),
        address,
        operation,
        after: after.to_vec(),
        seconds,
        timeout_seconds: 600,
    }
}

pub(crate) fn create() -> Operation {
    Operation::Create {
        desired: [].into(),
        project: TargetProject::None,
        parent: None,
        remember: LedgerMetadata::default(),
        deposes: false,
    }
}

fn update(calls: &[&str]) -> Operation {
    let planned = |call: &&str| PlannedCall { call: (*call).into(), attributes: [].into() };
    Operation::Update {
        object: None,
        calls: calls.iter().map(planned).collect(),
        desired: [].into(),
        remember: LedgerMetadata::default(),
    }
}

fn delete(id: &str) -> Operation {
    let object =
        OwnedObject { id: id.into(), parent: None, project: None, created_at: None, provisional: false };
    Operation::Delete { object, deposed: true }
}

fn replaced_vm() -> Change {
    let mut template = attribute("template", Value::text("ubuntu-22.04"), Value::text("ubuntu-24.04"));
    template.forces_replacement = true;
    let ip = attribute(
        "public_ipv4_address",
        Value::text("203.0.113.20"),
        Value::unknown(vec![address("vm.web.a")]),
    );
    Change {
        id: Some("5b1e09c2-1111-4222-8333-444455556666".into()),
        create_first: Some(true),
        reason: Some("the API cannot change template in place".into()),
        attributes: vec![template, AttributeChange { source: None, ..ip }],
        effects: vec![ChangeEffect { code: Effect::AddressChange, text: "its address changes".into() }],
        cost: priced(24, 24),
        hits: vec![address("volume.media"), address("backup_schedule.nightly.a")],
        steps: vec![0, 3],
        seconds: 240,
        ..change(Action::Replace, "vm.web.a")
    }
}

fn updates() -> Vec<Change> {
    let mut replicas = attribute("replica_count", Value::Integer(1), Value::Integer(2));
    replicas.set_by = Some(Box::new("vars.replicas, set by environments.prod".into()));
    let mut allowlist = attribute(
        "public_allowlist",
        Value::List(vec![Value::text("203.0.113.0/24")]),
        Value::List(vec![Value::text("203.0.113.0/24"), Value::text("198.51.100.7/32")]),
    );
    (allowlist.cause, allowlist.last_applied) = (Cause::Both, Some(Box::new(Value::List(vec![]))));
    let password = attribute("password", sealed("9a41aaaaaaaaaaaa"), sealed("c07dbbbbbbbbbbbb"));
    let database = Change {
        attributes: vec![
            replicas,
            allowlist,
            password,
            attribute("vpc", Value::text("vpc-1"), Value::Null),
        ],
        rest: vec![UnchangedAttribute {
            names: None,
            live_names: None,
            path: "engine".into(),
            value: Value::text("postgres"),
            source: Some(at(23)),
        }],
        effects: vec![ChangeEffect {
            code: Effect::Charge,
            text: "the difference is charged at once".into(),
        }],
        cost: priced(100, 148),
        steps: vec![1],
        seconds: 180,
        ..change(Action::Update, "database.main")
    };
    let follow = Change {
        attributes: vec![AttributeChange {
            cause: Cause::Upstream,
            ..attribute("vm", Value::text("5b1e09c2"), Value::unknown(vec![address("vm.web.a")]))
        }],
        cause: Cause::Upstream,
        steps: vec![2],
        seconds: 2,
        ..change(Action::Update, "volume.media")
    };
    vec![database, follow]
}

pub(crate) fn creation(at_address: &str) -> Change {
    let name = at_address.replace('.', "-").replacen("vm-", "", 1);
    Change {
        attributes: vec![
            attribute("name", Value::Null, Value::text(name)),
            attribute("plan", Value::Null, Value::text("cpu-4c-8g")),
            attribute("template", Value::Null, Value::text("ubuntu-24.04")),
            attribute("user_data", Value::Null, sealed("11")),
            attribute("vpc", Value::Null, Value::unknown(vec![address("vpc.main")])),
        ],
        cost: priced(0, 24),
        steps: vec![4],
        seconds: 120,
        ..change(Action::Create, at_address)
    }
}

fn drift() -> Vec<Drift> {
    let drift = |path: &str, last_applied, live, class| Drift {
        address: address("database.main"),
        path: Some(path.into()),
        last_applied,
        live,
        class,
        leave: None,
        acceptable: false,
        unconfirmed: false,
        blocked_by: None,
        source: Some(at(25)),
    };
    vec![
        Drift {
            acceptable: true,
            ..drift("storage_gb", Value::Integer(40), Value::Integer(60), DriftClass::AcceptOnly)
        },
        Drift {
            leave: Some(IgnoreDriftMatch {
                reason: Some("opened by hand".into()),
                until: Some("2026-12-31".into()),
                ended: false,
                source: Some(at(31)),
            }),
            ..drift("public_access", Value::Bool(false), Value::Bool(true), DriftClass::Ignored)
        },
        Drift {
            leave: Some(IgnoreDriftMatch {
                reason: None,
                until: Some("2026-06-30".into()),
                ended: true,
                source: None,
            }),
            ..drift("engine_version", Value::text("16"), Value::Integer(16), DriftClass::Reverted)
        },
        drift("labels.team", Value::Null, Value::text("red"), DriftClass::Unmanaged),
        Drift {
            address: address("vpc.main"),
            path: None,
            source: None,
            ..drift("", Value::Null, Value::Null, DriftClass::Gone)
        },
    ]
}

fn blocks() -> Vec<Blocker> {
    vec![
        Blocker {
            code: "protected".into(),
            address: Some(address("volume.old")),
            text: "It is protected and would be deleted.".into(),
            help: "Write `protect: false`, apply, then remove the block.".into(),
            source: Some(at(60)),
        },
        Blocker {
            code: "deletion_budget".into(),
            address: None,
            text: "14 of 41 objects would go, more than 30 %.".into(),
            help: "Look again, then pass --allow-deletes.".into(),
            source: None,
        },
    ]
}

/// Everything that a plan can hold, once.
pub(crate) fn full() -> Plan {
    let mut changes = vec![replaced_vm()];
    changes.push(Change {
        id: Some("vol-9".into()),
        cost: priced(8, 0),
        effects: vec![ChangeEffect { code: Effect::DataLoss, text: "its data is lost for good".into() }],
        reason: Some("it is no longer in the configuration".into()),
        seconds: 1,
        ..change(Action::Delete, "volume.old")
    });
    changes.extend(updates());
    changes.push(creation("vm.web.b"));
    changes.push(Change { id: Some("k-1".into()), ..change(Action::Adopt, "ssh_key.ops") });
    changes.push(Change { reason: Some("was vm.frontend".into()), ..change(Action::Move, "vm.front") });
    changes.push(Change { cost: priced(12, 12), ..change(Action::Forget, "vm.legacy") });
    Plan {
        changes,
        steps: vec![
            step("vm.web.a", create(), &[], 120),
            step("database.main", update(&["scale", "public-access"]), &[], 180),
            step("volume.media", update(&["attach"]), &[0], 2),
            step("vm.web.a", delete("5b1e09c2"), &[2], 120),
            step("vm.web.b", create(), &[], 120),
        ],
        drift: drift(),
        cost: PlanCost {
            monthly_before: "339.40".parse().unwrap(),
            monthly_after: "412.40".parse().unwrap(),
            unpriced: 1,
            priced_at: Some(time(0)),
            moved: vec![("vm cpu-4c-8g".into(), Decimal::from(22), Decimal::from(24))],
            due: DueTotal { amount: Decimal::new(1_950, 2), unknown: 1, at: Some(time(0)) },
        },
        critical_path: CriticalPath { steps: vec![0, 2, 3], seconds: 242 },
        blocks: blocks(),
        ..empty()
    }
}

/// A plan whose every text is hostile.
pub(crate) fn hostile() -> Plan {
    let evil = "a\u{1b}]52;c;ZXZpbA==\u{7}\r\n::error::owned\u{202e}##[group]x\u{200b}";
    let mut change = creation("vm.web");
    change.id = Some(evil.into());
    change.reason = Some(evil.into());
    for attribute in &mut change.attributes {
        attribute.path = evil.into();
        attribute.before = Value::text(evil);
        attribute.after = Value::Map([(evil.into(), Value::text(evil))].into());
        attribute.set_by = Some(Box::new(evil.into()));
        attribute.source = Some(SourceLocation { file: evil.into(), line: 1, column: 1 });
    }
    change.effects = vec![ChangeEffect { code: Effect::Restart, text: evil.into() }];
    change.action = Action::Update;
    let mut plan = full();
    plan.base.stack = evil.into();
    plan.base.environment = evil.into();
    plan.cost.moved = vec![(evil.into(), Decimal::ONE, Decimal::TWO)];
    plan.drift.push(Drift {
        address: address("vm.web"),
        path: Some(evil.into()),
        last_applied: Value::text(evil),
        live: Value::text(format!("{evil}::")),
        class: DriftClass::AcceptOnly,
        leave: None,
        acceptable: false,
        unconfirmed: false,
        blocked_by: None,
        source: Some(SourceLocation { file: evil.into(), line: 1, column: 1 }),
    });
    plan.blocks.push(Blocker {
        code: evil.into(),
        address: None,
        text: evil.into(),
        help: evil.into(),
        source: None,
    });
    plan.changes.push(change);
    plan
}

/// A plan of many creations.
pub(crate) fn many(count: usize) -> Plan {
    Plan {
        changes: (0..count).map(|n| creation(&format!("vm.web.n{n:05}"))).collect(),
        steps: (0..count).map(|n| step(&format!("vm.web.n{n:05}"), create(), &[], 20)).collect(),
        ..empty()
    }
}

/// A plan of many creations, of which no two are equal.
pub(crate) fn distinct(count: usize) -> Plan {
    let mut plan = many(count);
    for (number, change) in plan.changes.iter_mut().enumerate() {
        change.attributes[1].after = Value::Integer(i64::try_from(number).unwrap());
    }
    plan
}
