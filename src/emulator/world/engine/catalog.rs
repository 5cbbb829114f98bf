//! The catalog: templates, plans and prices, as data. All values are invented; the shapes are the service's.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::money::from_cents;

/// An operating system image for new VMs.
pub(crate) struct VmTemplate {
    pub(crate) id: Uuid,
    pub(crate) slug: &'static str,
    pub(in crate::emulator::world) name: &'static str,
    pub(in crate::emulator::world) os_family: &'static str,
    pub(in crate::emulator::world) version: &'static str,
}

/// A size of a VM, with its monthly price. Its `id` is the `pricing_id` of a request ("Catalog pricing").
pub(crate) struct VmPlan {
    pub(crate) id: i64,
    pub(crate) slug: &'static str,
    pub(in crate::emulator::world) cpu: i64,
    /// Memory of the VM in MB.
    pub(in crate::emulator::world) ram: i64,
    /// Disk size in GB.
    pub(in crate::emulator::world) storage: i64,
    cents: i64,
}

/// A plan of a managed database of one engine. A price of 0 makes it the engine's free plan.
pub(crate) struct DatabasePlan {
    pub(crate) id: i64,
    pub(crate) slug: &'static str,
    pub(crate) engine: &'static str,
    pub(in crate::emulator::world) cpu: i64,
    /// Memory of the database in MB.
    pub(in crate::emulator::world) ram: i64,
    /// Storage in GB that the price includes.
    pub(in crate::emulator::world) storage: i64,
    cents: i64,
}

/// A plan of Kubernetes workers. The units are those of `VmPlan`.
pub(crate) struct NodePlan {
    pub(crate) id: i64,
    pub(crate) slug: &'static str,
    /// `shared` or `cpu_optimized`.
    pub(in crate::emulator::world) node_class: &'static str,
    pub(in crate::emulator::world) cpu: i64,
    pub(in crate::emulator::world) ram: i64,
    pub(in crate::emulator::world) storage: i64,
    cents: i64,
}

/// A database engine, such as postgres.
pub(in crate::emulator::world) struct DatabaseEngine {
    pub(in crate::emulator::world) name: &'static str,
    /// Versions that a new database can have, newest first; the first one is the default ("Database").
    pub(in crate::emulator::world) versions: &'static [&'static str],
    /// Port of the private endpoint, followed by the other ports (for postgres the pooled one is first).
    pub(in crate::emulator::world) ports: &'static [u16],
    /// Surcharge for high availability, in percent of the plan's price ("Database", `ha_enabled`).
    pub(in crate::emulator::world) ha_percent: i64,
}

const fn new_template(
    id: u128,
    slug: &'static str,
    name: &'static str,
    os_family: &'static str,
    version: &'static str,
) -> VmTemplate {
    // Version 4 and the RFC's variant, so that the ids have the shape of all others.
    let id = Uuid::from_u128(0x7e3a_91c4_5d20_4b6f_9a11_0000_0000_0000 | id);
    VmTemplate { id, slug, name, os_family, version }
}

pub(crate) static TEMPLATES: [VmTemplate; 8] = [
    new_template(0x01, "ubuntu-24.04", "Ubuntu 24.04 LTS", "ubuntu", "24.04"),
    new_template(0x02, "ubuntu-22.04", "Ubuntu 22.04 LTS", "ubuntu", "22.04"),
    new_template(0x03, "debian-13", "Debian 13", "debian", "13"),
    new_template(0x04, "debian-12", "Debian 12", "debian", "12"),
    new_template(0x05, "rocky-9", "Rocky Linux 9", "rocky", "9"),
    new_template(0x06, "almalinux-9", "AlmaLinux 9", "almalinux", "9"),
    new_template(0x07, "fedora-43", "Fedora 43", "fedora", "43"),
    new_template(0x08, "alpine-3.23", "Alpine Linux 3.23", "alpine", "3.23"),
];

/// `size` is CPUs, memory in MB and disk in GB.
const fn new_vm_plan(id: i64, slug: &'static str, size: (i64, i64, i64), cents: i64) -> VmPlan {
    VmPlan { id, slug, cpu: size.0, ram: size.1, storage: size.2, cents }
}

pub(crate) static VM_PLANS: [VmPlan; 11] = [
    new_vm_plan(1, "std-1c-1g", (1, 1_024, 25), 500),
    new_vm_plan(2, "std-1c-2g", (1, 2_048, 50), 1_000),
    new_vm_plan(3, "std-2c-4g", (2, 4_096, 80), 2_000),
    new_vm_plan(4, "std-4c-8g", (4, 8_192, 160), 4_000),
    new_vm_plan(5, "std-8c-16g", (8, 16_384, 320), 8_000),
    new_vm_plan(6, "cpu-2c-4g", (2, 4_096, 50), 3_600),
    new_vm_plan(7, "cpu-4c-8g", (4, 8_192, 100), 7_200),
    new_vm_plan(8, "cpu-8c-16g", (8, 16_384, 200), 14_400),
    new_vm_plan(9, "cpu-16c-32g", (16, 32_768, 400), 28_800),
    new_vm_plan(10, "mem-2c-16g", (2, 16_384, 100), 9_000),
    new_vm_plan(11, "mem-4c-32g", (4, 32_768, 200), 18_000),
];

/// `size` is CPUs, memory in MB and included storage in GB.
const fn new_database_plan(
    id: i64,
    slug: &'static str,
    engine: &'static str,
    size: (i64, i64, i64),
    cents: i64,
) -> DatabasePlan {
    DatabasePlan { id, slug, engine, cpu: size.0, ram: size.1, storage: size.2, cents }
}

pub(crate) static DATABASE_PLANS: [DatabasePlan; 21] = [
    new_database_plan(101, "pg-free", "postgres", (1, 512, 1), 0),
    new_database_plan(102, "pg-1c-2g", "postgres", (1, 2_048, 20), 1_900),
    new_database_plan(103, "pg-2c-4g", "postgres", (2, 4_096, 50), 3_900),
    new_database_plan(104, "pg-4c-8g", "postgres", (4, 8_192, 100), 7_900),
    new_database_plan(105, "pg-8c-16g", "postgres", (8, 16_384, 200), 15_900),
    new_database_plan(106, "pg-16c-64g", "postgres", (16, 65_536, 500), 49_900),
    new_database_plan(201, "mysql-1c-2g", "mysql", (1, 2_048, 20), 1_900),
    new_database_plan(202, "mysql-2c-4g", "mysql", (2, 4_096, 50), 3_900),
    new_database_plan(203, "mysql-4c-8g", "mysql", (4, 8_192, 100), 7_900),
    new_database_plan(204, "mysql-8c-16g", "mysql", (8, 16_384, 200), 15_900),
    new_database_plan(301, "valkey-free", "valkey", (1, 256, 1), 0),
    new_database_plan(302, "valkey-1c-1g", "valkey", (1, 1_024, 10), 1_500),
    new_database_plan(303, "valkey-1c-2g", "valkey", (1, 2_048, 10), 2_500),
    new_database_plan(304, "valkey-2c-4g", "valkey", (2, 4_096, 20), 4_500),
    new_database_plan(305, "valkey-4c-8g", "valkey", (4, 8_192, 40), 8_500),
    new_database_plan(401, "clickhouse-2c-8g", "clickhouse", (2, 8_192, 100), 8_900),
    new_database_plan(402, "clickhouse-4c-16g", "clickhouse", (4, 16_384, 200), 17_900),
    new_database_plan(403, "clickhouse-8c-32g", "clickhouse", (8, 32_768, 400), 35_900),
    new_database_plan(501, "kafka-2c-4g", "kafka", (2, 4_096, 60), 9_900),
    new_database_plan(502, "kafka-4c-8g", "kafka", (4, 8_192, 120), 19_900),
    new_database_plan(503, "kafka-8c-16g", "kafka", (8, 16_384, 240), 39_900),
];

const fn new_node_plan(id: i64, slug: &'static str, class: &'static str, cpu: i64, cents: i64) -> NodePlan {
    NodePlan { id, slug, node_class: class, cpu, ram: cpu * 2_048, storage: cpu * 40, cents }
}

pub(crate) static NODE_PLANS: [NodePlan; 5] = [
    new_node_plan(701, "std-2c-4g", "shared", 2, 2_400),
    new_node_plan(702, "std-4c-8g", "shared", 4, 4_800),
    new_node_plan(703, "cpu-2c-4g", "cpu_optimized", 2, 4_000),
    new_node_plan(704, "cpu-4c-8g", "cpu_optimized", 4, 8_000),
    new_node_plan(705, "cpu-8c-16g", "cpu_optimized", 8, 16_000),
];

pub(in crate::emulator::world) static ENGINES: [DatabaseEngine; 5] = [
    DatabaseEngine {
        name: "postgres",
        versions: &["18", "17", "16", "15"],
        ports: &[6432, 5432],
        ha_percent: 70,
    },
    DatabaseEngine { name: "mysql", versions: &["8.4", "8.0"], ports: &[3306], ha_percent: 140 },
    DatabaseEngine { name: "valkey", versions: &["8", "7"], ports: &[6379], ha_percent: 70 },
    DatabaseEngine { name: "clickhouse", versions: &["25", "24"], ports: &[9440, 8443], ha_percent: 70 },
    DatabaseEngine { name: "kafka", versions: &["4", "3"], ports: &[9093], ha_percent: 140 },
];

/// Monthly price of a control plane in cents: of a single one, and of a highly available one.
pub(in crate::emulator::world) const CONTROL_PLANE: (i64, i64) = (0, 6_000);
/// Monthly price of 1 GB of a volume, in cents.
pub(in crate::emulator::world) const VOLUME_GB: i64 = 10;
/// Monthly price of 1 GB of a snapshot, in cents.
pub(in crate::emulator::world) const SNAPSHOT_GB: i64 = 5;
/// Monthly price of 1 GB of a backup, in cents.
pub(in crate::emulator::world) const BACKUP_GB: i64 = 4;
/// Monthly price of 1 GB of database storage beyond the plan's included storage, in cents.
const DATABASE_GB: i64 = 20;
/// Monthly price of an IPv4 address, in cents; only the public catalog shows it.
pub(in crate::emulator::world) const IPV4: i64 = 300;

impl VmPlan {
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        from_cents(self.cents)
    }
}

impl DatabasePlan {
    pub(in crate::emulator::world) fn base_monthly_price(&self) -> Decimal {
        from_cents(self.cents)
    }

    pub(crate) fn is_free(&self) -> bool {
        self.cents == 0
    }

    /// Returns the monthly price of 1 GB beyond the plan's included storage, in USD; 0 on a free plan.
    pub(in crate::emulator::world) fn storage_month(&self) -> Decimal {
        if self.is_free() { Decimal::ZERO } else { from_cents(DATABASE_GB) }
    }
}

impl NodePlan {
    pub(in crate::emulator::world) fn node_monthly_price(&self) -> Decimal {
        from_cents(self.cents)
    }
}

pub(in crate::emulator::world) fn vm_plan(id: i64) -> Option<&'static VmPlan> {
    VM_PLANS.iter().find(|plan| plan.id == id)
}

pub(in crate::emulator::world) fn database_plan(id: i64) -> Option<&'static DatabasePlan> {
    DATABASE_PLANS.iter().find(|plan| plan.id == id)
}

pub(in crate::emulator::world) fn node_plan(id: i64) -> Option<&'static NodePlan> {
    NODE_PLANS.iter().find(|plan| plan.id == id)
}

pub(in crate::emulator::world) fn find_engine(name: &str) -> Option<&'static DatabaseEngine> {
    ENGINES.iter().find(|engine| engine.name == name)
}

/// Parent domain of all database host names.
pub(in crate::emulator::world) const HOST_DOMAIN: &str = "emulator.internal";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_and_slugs_are_unique_and_plans_have_an_engine() {
        let templates: BTreeSet<_> = TEMPLATES.iter().map(|template| template.id).collect();
        assert_eq!(templates.len(), TEMPLATES.len());
        assert!(templates.iter().all(|id| id.get_version_num() == 4));
        let ids: BTreeSet<_> = VM_PLANS.iter().map(|plan| plan.id).collect();
        assert_eq!(ids.len(), VM_PLANS.len());
        let slugs: BTreeSet<_> = DATABASE_PLANS.iter().map(|plan| plan.slug).collect();
        assert_eq!(slugs.len(), DATABASE_PLANS.len());
        assert!(DATABASE_PLANS.iter().all(|plan| find_engine(plan.engine).is_some()));
    }
}
