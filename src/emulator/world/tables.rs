//! `World` and its tables: the one list of what the service keeps records of.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Time;
use super::api_key::ApiKey;
use super::app::App;
use super::app_domain::AppDomain;
use super::app_event::AppEvent;
use super::app_link::AppLink;
use super::backup::Backup;
use super::backup_schedule::BackupSchedule;
use super::cluster::Cluster;
use super::database::Database;
use super::deployment::Deployment;
use super::function::Function;
use super::inspect::{self, Search};
use super::invitation::Invitation;
use super::job_run::JobRun;
use super::mutate::MutateError;
use super::node_pool::NodePool;
use super::preview::Preview;
use super::project::Project;
use super::project_member::ProjectMember;
use super::role::Role;
use super::snapshot::Snapshot;
use super::spend::SpendSettings;
use super::ssh_key::SshKey;
use super::state::{Account, Row};
use super::table::{Body, Table, View};
use super::upload::Upload;
use super::vm::Vm;
use super::volume::Volume;
use super::vpc::Vpc;

/// Something that the clock brings about.
pub(super) struct Due {
    pub(super) at: Time,
    pub(super) id: Uuid,
    /// Takes the record, when it was due, and up to when the clock moves.
    pub(super) happen: fn(&mut World, Uuid, Time, Time),
}

/// Declares the world's tables, and what is done with each of them.
macro_rules! tables {
    ($($field:ident: $body:ident,)*) => {
        /// The service's whole state.
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct World {
            pub(super) account: Account,
            $(#[serde(default)] pub(super) $field: Table<$body>,)*
        }

        /// The kinds that have a table of their own.
        pub(super) const KINDS: &[&str] = &[$($body::KIND),*];

        impl World {
            /// Returns a world without any records.
            pub(super) fn without_records(account: Account) -> Self {
                Self { account, $($field: Table::default(),)* }
            }

            /// Returns how many records there are, history left out.
            pub(super) fn records(&self) -> usize {
                0 $(+ if $body::IS_OBJECT { self.$field.len(None) } else { 0 })*
            }

            /// Returns how many records each kind has.
            pub(super) fn counts(&self) -> Vec<(&'static str, usize)> {
                vec![$(($body::KIND, self.$field.len(None)),)*]
            }

            /// Returns some records of a kind; `None` for an unknown kind.
            pub(super) fn inspect_kind(&self, kind: &str, search: &Search, now: Time) -> Option<Value> {
                let view = View { world: self, now, detail: false };
                match kind {
                    $($body::KIND => Some(inspect::listing(&self.$field, search, view)),)*
                    _ => None,
                }
            }

            /// Returns a record of a kind; `None` for an unknown kind.
            pub(super) fn inspect_record(&self, kind: &str, id: Uuid, now: Time) -> Option<Option<Value>> {
                let view = View { world: self, now, detail: true };
                match kind {
                    $($body::KIND => Some(inspect::one(&self.$field, id, view)),)*
                    _ => None,
                }
            }

            /// Returns what an hour costs, of everything that is billed by the hour.
            pub(super) fn rate(&self) -> Decimal {
                Decimal::ZERO $(+ self.$field.rate())*
            }

            /// Extends the subscriptions that are due; returns what they cost.
            pub(super) fn renew_all(&mut self, now: Time) -> Decimal {
                Decimal::ZERO $(+ super::billing::renew(&mut self.$field, now))*
            }

            /// Returns what the clock brings about first.
            pub(super) fn next_due(&self) -> Option<Due> {
                let all = [$(due::<$body>(&self.$field)),*, super::spend::due(self)];
                all.into_iter().flatten().min_by_key(|due| due.at)
            }

            /// Takes over the ids of another world's records.
            pub(super) fn supersede(&mut self, earlier: &Self) {
                $(self.$field.supersede(&earlier.$field);)*
            }

            /// Adds a row for each record that changed since the last call.
            pub(super) fn take_changes(&mut self, rows: &mut Vec<Row>) {
                $(changed(&mut self.$field, rows);)*
            }

            /// Takes a stored record in; `None` for an unknown kind.
            pub(super) fn take_in(&mut self, kind: &str, value: &[u8]) -> Option<serde_json::Result<()>> {
                match kind {
                    $($body::KIND => Some(insert(&mut self.$field, value)),)*
                    _ => None,
                }
            }

            /// Sets fields of a record; `None` for an unknown kind.
            pub(super) fn mutate_kind(
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
    snapshots: Snapshot,
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
    uploads: Upload,
    spend_settings: SpendSettings,
    functions: Function,
}

fn due<T: Body>(table: &Table<T>) -> Option<Due> {
    table.next().map(|(at, id)| Due { at, id, happen: T::happen })
}

fn insert<T: Body>(table: &mut Table<T>, value: &[u8]) -> serde_json::Result<()> {
    table.insert(serde_json::from_slice(value)?);
    Ok(())
}

fn changed<T: Body>(table: &mut Table<T>, rows: &mut Vec<Row>) {
    rows.extend(table.take_changes().map(|(id, record)| Row {
        key: format!("{}/{id}", T::KIND),
        value: record.and_then(|record| serde_json::to_vec(record).ok()),
    }));
}
