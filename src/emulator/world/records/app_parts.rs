//! The records that belong to an app: deployments, runs, previews, domains, links, events; and functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::app::StoredArchive;
use crate::emulator::world::Time;
use crate::emulator::world::engine::child_index::ChildIndex;
use crate::emulator::world::engine::table::{ChildKind, RecordKind, Table, TableRecord};

/// An app's login to a database ("App platform": database links). Its password follows from the id and `rotations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct AppLink {
    pub(in crate::emulator::world) service_id: Uuid,
    pub(in crate::emulator::world) database_id: Uuid,
    pub(in crate::emulator::world) user: String,
    /// How often the password was rotated.
    pub(in crate::emulator::world) rotations: u64,
}

/// Index of the links by app, and by (database, app, link) for the search of a database's apps.
#[derive(Default)]
pub(in crate::emulator::world) struct AppLinkIndex {
    pub(in crate::emulator::world) children: ChildIndex,
    pub(in crate::emulator::world) databases: BTreeSet<(Uuid, Uuid, Uuid)>,
}

impl RecordKind for AppLink {
    const KIND: &'static str = "app_database_link";
    const TITLE: &'static str = "database link";
    type Index = AppLinkIndex;

    fn index(index: &mut AppLinkIndex, record: &TableRecord<Self>, present: bool) {
        index.children.index_child(record.body.service_id, record.age_key(), present);
        let key = (record.body.database_id, record.body.service_id, record.id);
        if present {
            index.databases.insert(key);
        } else {
            index.databases.remove(&key);
        }
    }
}

impl ChildKind for AppLink {
    fn children(table: &Table<Self>) -> &ChildIndex {
        &table.index().children
    }
}

/// One rollout of an app. The newest ready one serves; older ones are history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Deployment {
    pub(in crate::emulator::world) service_id: Uuid,
    /// The cause of the deployment, such as `resume`.
    pub(in crate::emulator::world) trigger: String,
    pub(in crate::emulator::world) image: String,
    pub(in crate::emulator::world) branch: String,
    /// The uploaded archive; `None` for an app from an image or a repository.
    pub(in crate::emulator::world) source: Option<StoredArchive>,
}

impl Deployment {
    /// Returns whether the rollout is not finished; only then it can be canceled.
    pub(in crate::emulator::world) fn in_progress(record: &TableRecord<Self>, now: Time) -> bool {
        matches!(record.status(now), "queued" | "building" | "deploying")
    }
}

impl RecordKind for Deployment {
    const KIND: &'static str = "deployment";
    const TITLE: &'static str = "deployment";
    const IS_OBJECT: bool = false;
    type Index = ChildIndex;

    fn index(index: &mut ChildIndex, record: &TableRecord<Self>, present: bool) {
        index.index_child(record.body.service_id, record.age_key(), present);
    }
}

impl ChildKind for Deployment {
    fn children(table: &Table<Self>) -> &ChildIndex {
        table.index()
    }
}

/// A custom domain of an app.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct AppDomain {
    pub(in crate::emulator::world) service_id: Uuid,
    pub(in crate::emulator::world) domain: String,
}

/// Index of the domains by app, and by name in lower case: domain names ignore case.
#[derive(Default)]
pub(in crate::emulator::world) struct AppDomainIndex {
    pub(in crate::emulator::world) children: ChildIndex,
    pub(in crate::emulator::world) names: HashMap<String, Uuid>,
}

impl RecordKind for AppDomain {
    const KIND: &'static str = "app_domain";
    const TITLE: &'static str = "domain";
    type Index = AppDomainIndex;

    fn index(index: &mut AppDomainIndex, record: &TableRecord<Self>, present: bool) {
        index.children.index_child(record.body.service_id, record.age_key(), present);
        let name = record.body.domain.to_ascii_lowercase();
        if present {
            index.names.insert(name, record.id);
        } else if index.names.get(&name) == Some(&record.id) {
            index.names.remove(&name);
        }
    }
}

impl ChildKind for AppDomain {
    fn children(table: &Table<Self>) -> &ChildIndex {
        &table.index().children
    }
}

/// An entry of an app's event list ("Events"). The specification does not show the shape, so it is assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct AppEvent {
    pub(in crate::emulator::world) service_id: Uuid,
    #[serde(rename = "type")]
    pub(in crate::emulator::world) kind: String,
    pub(in crate::emulator::world) message: String,
}

impl RecordKind for AppEvent {
    const KIND: &'static str = "app_event";
    const TITLE: &'static str = "event";
    const IS_OBJECT: bool = false;
    type Index = ChildIndex;

    fn index(index: &mut ChildIndex, record: &TableRecord<Self>, present: bool) {
        index.index_child(record.body.service_id, record.age_key(), present);
    }
}

impl ChildKind for AppEvent {
    fn children(table: &Table<Self>) -> &ChildIndex {
        table.index()
    }
}

/// A serverless function. The specification names it only, so its fields are assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct ServerlessFunction {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) runtime: String,
    pub(in crate::emulator::world) handler: String,
    pub(in crate::emulator::world) memory_mb: i64,
    pub(in crate::emulator::world) timeout_seconds: i64,
    pub(in crate::emulator::world) env_vars: BTreeMap<String, String>,
    pub(in crate::emulator::world) source: Option<StoredArchive>,
    pub(in crate::emulator::world) version: i64,
}

/// Index of the functions by project and name; a name can be in use more than once only by `mutate`.
#[derive(Default)]
pub(in crate::emulator::world) struct FunctionIndex(
    pub(in crate::emulator::world) HashMap<(Option<Uuid>, String), BTreeSet<Uuid>>,
);

impl RecordKind for ServerlessFunction {
    const KIND: &'static str = "serverless_function";
    const TITLE: &'static str = "function";
    type Index = FunctionIndex;

    fn index(index: &mut FunctionIndex, record: &TableRecord<Self>, present: bool) {
        let key = (record.project, record.body.name.clone());
        if present {
            index.0.entry(key).or_default().insert(record.id);
        } else if let Some(same) = index.0.get_mut(&key) {
            same.remove(&record.id);
            if same.is_empty() {
                index.0.remove(&key);
            }
        }
    }
}

/// One run of a job ("App job run"). Its outcome is fixed when it starts, and shown when the status is final.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct JobRun {
    pub(in crate::emulator::world) service_id: Uuid,
    /// The deployment that the run executes; `None` if the app has none.
    pub(in crate::emulator::world) deployment_id: Option<Uuid>,
    pub(in crate::emulator::world) trigger: String,
    pub(in crate::emulator::world) scheduled_for: Time,
    /// Exit code that the run will end with.
    pub(in crate::emulator::world) exit_code: i64,
    pub(in crate::emulator::world) error: String,
}

impl JobRun {
    /// Returns whether the run has not ended: its exit code is not shown yet.
    pub(in crate::emulator::world) fn is_going(record: &TableRecord<Self>, now: Time) -> bool {
        matches!(record.status(now), "queued" | "running")
    }
}

impl RecordKind for JobRun {
    const KIND: &'static str = "job_run";
    const TITLE: &'static str = "job run";
    const IS_OBJECT: bool = false;
    type Index = ChildIndex;

    fn index(index: &mut ChildIndex, record: &TableRecord<Self>, present: bool) {
        index.index_child(record.body.service_id, record.age_key(), present);
    }
}

impl ChildKind for JobRun {
    fn children(table: &Table<Self>) -> &ChildIndex {
        table.index()
    }
}

/// A copy of an app, built from a pull request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Preview {
    pub(in crate::emulator::world) service_id: Uuid,
    pub(in crate::emulator::world) pull_request: i64,
    pub(in crate::emulator::world) branch: String,
}

impl RecordKind for Preview {
    const KIND: &'static str = "preview";
    const TITLE: &'static str = "preview";
    const IS_OBJECT: bool = false;
    type Index = ChildIndex;

    fn index(index: &mut ChildIndex, record: &TableRecord<Self>, present: bool) {
        index.index_child(record.body.service_id, record.age_key(), present);
    }
}

impl ChildKind for Preview {
    fn children(table: &Table<Self>) -> &ChildIndex {
        table.index()
    }
}
