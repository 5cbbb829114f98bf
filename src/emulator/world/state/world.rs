//! `World` and its tables: the single list of the kinds that have records.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::account::{Account, StoredRow};
use crate::emulator::world::Time;
use crate::emulator::world::account::api_key::ApiKey;
use crate::emulator::world::account::invitation::Invitation;
use crate::emulator::world::account::project::Project;
use crate::emulator::world::account::project_member::ProjectMember;
use crate::emulator::world::account::role::Role;
use crate::emulator::world::account::spend_cap::SpendSettings;
use crate::emulator::world::account::ssh_key::SshKey;
use crate::emulator::world::admin::inspect::{self, RecordSearch};
use crate::emulator::world::admin::mutate::MutateError;
use crate::emulator::world::apps::app::App;
use crate::emulator::world::apps::database_link::AppLink;
use crate::emulator::world::apps::deployment::Deployment;
use crate::emulator::world::apps::domain::AppDomain;
use crate::emulator::world::apps::events::AppEvent;
use crate::emulator::world::apps::function::ServerlessFunction;
use crate::emulator::world::apps::job_run::JobRun;
use crate::emulator::world::apps::preview::Preview;
use crate::emulator::world::apps::upload::SourceUpload;
use crate::emulator::world::clusters::cluster::Cluster;
use crate::emulator::world::clusters::node_pool::NodePool;
use crate::emulator::world::compute::backup::Backup;
use crate::emulator::world::compute::backup_schedule::BackupSchedule;
use crate::emulator::world::compute::snapshot::DiskSnapshot;
use crate::emulator::world::compute::vm::Vm;
use crate::emulator::world::compute::volume::Volume;
use crate::emulator::world::compute::vpc::Vpc;
use crate::emulator::world::databases::database::Database;
use crate::emulator::world::engine::table::{RecordKind, RenderContext, Table};

/// An event that the clock triggers.
pub(in crate::emulator::world) struct ScheduledEvent {
    pub(in crate::emulator::world) at: Time,
    pub(in crate::emulator::world) id: Uuid,
    /// Handler of the event. Its arguments are the world, the record, the time when it was due, and the time that
    /// the clock moves to.
    pub(in crate::emulator::world) happen: fn(&mut World, Uuid, Time, Time),
}

/// Declares the world's tables and the operations over all of them.
macro_rules! tables {
    ($($field:ident: $body:ident,)*) => {
        /// The complete state of the service.
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct World {
            pub(in crate::emulator::world) account: Account,
            $(#[serde(default)] pub(in crate::emulator::world) $field: Table<$body>,)*
        }

        /// Names of all kinds that have a table.
        pub(in crate::emulator::world) const KINDS: &[&str] = &[$($body::KIND),*];

        impl World {
            /// Returns a world with empty tables.
            pub(in crate::emulator::world) fn without_records(account: Account) -> Self {
                Self { account, $($field: Table::default(),)* }
            }

            /// Returns the number of records, without those that are only history.
            pub(in crate::emulator::world) fn record_count(&self) -> usize {
                0 $(+ if $body::IS_OBJECT { self.$field.len(None) } else { 0 })*
            }

            /// Returns the number of records of each kind.
            pub(in crate::emulator::world) fn counts_by_kind(&self) -> Vec<(&'static str, usize)> {
                vec![$(($body::KIND, self.$field.len(None)),)*]
            }

            /// Returns the selected records of a kind; `None` for an unknown kind.
            pub(in crate::emulator::world) fn inspect_kind(&self, kind: &str, search: &RecordSearch, now: Time) -> Option<Value> {
                let view = RenderContext { world: self, now, detail: false };
                match kind {
                    $($body::KIND => Some(inspect::inspect_table(&self.$field, search, view)),)*
                    _ => None,
                }
            }

            /// Returns one record of a kind; the outer `None` means an unknown kind, the inner one an unknown id.
            pub(in crate::emulator::world) fn inspect_record(&self, kind: &str, id: Uuid, now: Time) -> Option<Option<Value>> {
                let view = RenderContext { world: self, now, detail: true };
                match kind {
                    $($body::KIND => Some(inspect::inspect_table_record(&self.$field, id, view)),)*
                    _ => None,
                }
            }

            /// Returns the total hourly price of everything that is billed by the hour.
            pub(in crate::emulator::world) fn hourly_rate(&self) -> Decimal {
                Decimal::ZERO $(+ self.$field.hourly_rate())*
            }

            /// Renews the subscriptions that are due; returns their total cost.
            pub(in crate::emulator::world) fn renew_all(&mut self, now: Time) -> Decimal {
                Decimal::ZERO $(+ super::billing::renew_subscriptions(&mut self.$field, now))*
            }

            /// Returns the earliest scheduled event.
            pub(in crate::emulator::world) fn next_due(&self) -> Option<ScheduledEvent> {
                let all = [$(next_table_event::<$body>(&self.$field)),*, crate::emulator::world::account::spend_cap::next_spend_event(self)];
                all.into_iter().flatten().min_by_key(|due| due.at)
            }

            /// Marks the ids of another world's records as changed, so that those missing here are stored as removed.
            pub(in crate::emulator::world) fn mark_superseded(&mut self, earlier: &Self) {
                $(self.$field.mark_superseded(&earlier.$field);)*
            }

            /// Adds a row for each record that changed since the last call.
            pub(in crate::emulator::world) fn take_changes(&mut self, rows: &mut Vec<StoredRow>) {
                $(collect_changed_rows(&mut self.$field, rows);)*
            }

            /// Inserts a stored record; `None` for an unknown kind.
            pub(in crate::emulator::world) fn take_in(&mut self, kind: &str, value: &[u8]) -> Option<serde_json::Result<()>> {
                match kind {
                    $($body::KIND => Some(insert_stored(&mut self.$field, value)),)*
                    _ => None,
                }
            }

            /// Sets fields of a record; `None` for an unknown kind.
            pub(in crate::emulator::world) fn mutate_kind(
                &mut self,
                kind: &str,
                id: &str,
                set: &Map<String, Value>,
                now: Time,
            ) -> Option<Result<(), MutateError>> {
                match kind {
                    $($body::KIND => Some(self.mutate_record::<$body>(id, set, now)),)*
                    _ => None,
                }
            }
        }
    };
}

tables! {
    projects: Project,
    roles: Role,
    api_keys: ApiKey,
    invitations: Invitation,
    project_members: ProjectMember,
    ssh_keys: SshKey,
    vpcs: Vpc,
    vms: Vm,
    volumes: Volume,
    snapshots: DiskSnapshot,
    backups: Backup,
    backup_schedules: BackupSchedule,
    databases: Database,
    clusters: Cluster,
    node_pools: NodePool,
    apps: App,
    deployments: Deployment,
    job_runs: JobRun,
    previews: Preview,
    app_domains: AppDomain,
    app_links: AppLink,
    app_events: AppEvent,
    uploads: SourceUpload,
    spend_settings: SpendSettings,
    functions: ServerlessFunction,
}

fn next_table_event<T: RecordKind>(table: &Table<T>) -> Option<ScheduledEvent> {
    table.next().map(|(at, id)| ScheduledEvent { at, id, happen: T::happen })
}

fn insert_stored<T: RecordKind>(table: &mut Table<T>, value: &[u8]) -> serde_json::Result<()> {
    table.insert(serde_json::from_slice(value)?);
    Ok(())
}

fn collect_changed_rows<T: RecordKind>(table: &mut Table<T>, rows: &mut Vec<StoredRow>) {
    rows.extend(table.take_changes().map(|(id, record)| StoredRow {
        key: format!("{}/{id}", T::KIND),
        value: record.and_then(|record| serde_json::to_vec(record).ok()),
    }));
}
