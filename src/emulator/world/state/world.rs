//! `World` and its tables: the single list of the kinds that have records, and the operations over all of them.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::account::{Account, StoredRow};
use crate::emulator::world::Time;
use crate::emulator::world::engine::table::{RecordKind, Table};

/// A kind that has a table in the world.
pub(in crate::emulator::world) trait StoredKind: RecordKind {
    fn table(world: &World) -> &Table<Self>;
    fn table_mut(world: &mut World) -> &mut Table<Self>;
}

/// The single list of the kinds that have records: calls a macro with the name and the type of each table.
macro_rules! for_each_kind {
    ($apply:ident) => {
        $apply! {
            projects: $crate::emulator::world::account::project::Project,
            roles: $crate::emulator::world::account::role::Role,
            api_keys: $crate::emulator::world::account::api_key::ApiKey,
            invitations: $crate::emulator::world::account::invitation::Invitation,
            project_members: $crate::emulator::world::account::project_member::ProjectMember,
            ssh_keys: $crate::emulator::world::account::ssh_key::SshKey,
            vpcs: $crate::emulator::world::compute::vpc::Vpc,
            vms: $crate::emulator::world::compute::vm::Vm,
            volumes: $crate::emulator::world::compute::volume::Volume,
            snapshots: $crate::emulator::world::compute::snapshot::DiskSnapshot,
            backups: $crate::emulator::world::compute::backup::Backup,
            backup_schedules: $crate::emulator::world::compute::backup_schedule::BackupSchedule,
            databases: $crate::emulator::world::databases::database::Database,
            clusters: $crate::emulator::world::clusters::cluster::Cluster,
            node_pools: $crate::emulator::world::clusters::node_pool::NodePool,
            apps: $crate::emulator::world::apps::app::App,
            deployments: $crate::emulator::world::apps::deployment::Deployment,
            job_runs: $crate::emulator::world::apps::job_run::JobRun,
            previews: $crate::emulator::world::apps::preview::Preview,
            app_domains: $crate::emulator::world::apps::domain::AppDomain,
            app_links: $crate::emulator::world::apps::database_link::AppLink,
            app_events: $crate::emulator::world::apps::events::AppEvent,
            uploads: $crate::emulator::world::apps::upload::SourceUpload,
            spend_settings: $crate::emulator::world::account::spend_cap::SpendSettings,
            functions: $crate::emulator::world::apps::function::ServerlessFunction,
        }
    };
}
pub(in crate::emulator::world) use for_each_kind;

/// Declares the world's tables and the operations over all of them.
macro_rules! tables {
    ($($field:ident: $body:ty,)*) => {
        /// The complete state of the service.
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct World {
            pub(in crate::emulator::world) account: Account,
            $(#[serde(default)] pub(in crate::emulator::world) $field: Table<$body>,)*
        }

        /// Names of all kinds that have a table.
        pub(in crate::emulator::world) const KINDS: &[&str] = &[$(<$body>::KIND),*];

        $(impl StoredKind for $body {
            fn table(world: &World) -> &Table<Self> {
                &world.$field
            }

            fn table_mut(world: &mut World) -> &mut Table<Self> {
                &mut world.$field
            }
        })*

        impl World {
            /// Returns a world with empty tables.
            pub(in crate::emulator::world) fn without_records(account: Account) -> Self {
                Self { account, $($field: Table::default(),)* }
            }

            /// Returns the number of records, without those that are only history.
            pub(in crate::emulator::world) fn record_count(&self) -> usize {
                0 $(+ if <$body>::IS_OBJECT { self.$field.len(None) } else { 0 })*
            }

            /// Returns the number of records of each kind.
            pub(in crate::emulator::world) fn counts_by_kind(&self) -> Vec<(&'static str, usize)> {
                vec![$((<$body>::KIND, self.$field.len(None)),)*]
            }

            /// Returns the total hourly price of everything that is billed by the hour.
            pub(in crate::emulator::world) fn hourly_rate(&self) -> Decimal {
                Decimal::ZERO $(+ self.$field.hourly_rate())*
            }

            /// Renews the subscriptions that are due; returns their total cost.
            pub(in crate::emulator::world) fn renew_all(&mut self, now: Time) -> Decimal {
                Decimal::ZERO $(+ super::billing::renew_subscriptions(&mut self.$field, now))*
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
                    $(<$body>::KIND => Some(insert_stored(&mut self.$field, value)),)*
                    _ => None,
                }
            }
        }
    };
}

for_each_kind!(tables);

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
