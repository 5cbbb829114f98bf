//! The records of compute: VPCs, VMs, volumes, snapshots, backups and their schedules.

use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use jiff::ToSpan as _;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::emulator::world::Time;
use crate::emulator::world::engine::billing::{Billing, Charge};
use crate::emulator::world::engine::catalog::{self, BACKUP_GB, SNAPSHOT_GB, VOLUME_GB};
use crate::emulator::world::engine::money::from_cents;
use crate::emulator::world::engine::table::{RecordKind, TableRecord};

/// A copy of a VM's disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Backup {
    pub(in crate::emulator::world) name: String,
    /// Id of the VM, which may have been deleted since.
    pub(in crate::emulator::world) product_vm: Uuid,
    /// Size in GB.
    pub(in crate::emulator::world) storage_size: i64,
    /// Sequence number among the VM's on-demand backups, or among those of its schedule.
    pub(in crate::emulator::world) increment_id: i64,
    pub(in crate::emulator::world) created_by: Uuid,
    /// Id of the schedule that created the backup, which may have been deleted since.
    pub(in crate::emulator::world) schedule: Option<Uuid>,
    pub(in crate::emulator::world) billing: Billing,
}

impl Backup {
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        backup_price(self.storage_size)
    }
}

pub(in crate::emulator::world) fn backup_price(size: i64) -> Decimal {
    from_cents(BACKUP_GB) * Decimal::from(size)
}

/// Index of the backups by origin: on demand by VM and number, scheduled by schedule and time.
#[derive(Default)]
pub(in crate::emulator::world) struct BackupIndex {
    pub(in crate::emulator::world) on_demand: BTreeSet<(Uuid, i64, Uuid)>,
    pub(in crate::emulator::world) scheduled: BTreeSet<(Uuid, Time, Uuid)>,
    /// Scheduled backups by project.
    pub(in crate::emulator::world) projects: BTreeSet<(Option<Uuid>, Uuid)>,
}

impl BackupIndex {
    /// Returns the highest number among a VM's on-demand backups.
    pub(in crate::emulator::world) fn latest_number(&self, vm: Uuid) -> i64 {
        let all = (vm, i64::MIN, Uuid::nil())..=(vm, i64::MAX, Uuid::max());
        self.on_demand.range(all).next_back().map_or(0, |(_, number, _)| *number)
    }

    /// Returns the scheduled backups of a project.
    pub(in crate::emulator::world) fn scheduled_in(&self, project: Uuid) -> impl Iterator<Item = Uuid> {
        let all = (Some(project), Uuid::nil())..=(Some(project), Uuid::max());
        self.projects.range(all).map(|(_, backup)| *backup)
    }

    /// Returns the backups of a schedule, oldest first.
    pub(in crate::emulator::world) fn of_schedule(&self, schedule: Uuid) -> impl Iterator<Item = Uuid> {
        let all = (schedule, Time::MIN, Uuid::nil())..=(schedule, Time::MAX, Uuid::max());
        self.scheduled.range(all).map(|(_, _, backup)| *backup)
    }
}

impl RecordKind for Backup {
    const KIND: &'static str = "backup";
    const TITLE: &'static str = "backup";
    type Index = BackupIndex;

    fn index(index: &mut BackupIndex, record: &TableRecord<Self>, present: bool) {
        if record.body.schedule.is_some() {
            let place = (record.project, record.id);
            let _ = if present { index.projects.insert(place) } else { index.projects.remove(&place) };
        }
        let demanded = (record.body.product_vm, record.body.increment_id, record.id);
        match (record.body.schedule.map(|schedule| (schedule, record.created_at, record.id)), present) {
            (Some(key), true) => drop(index.scheduled.insert(key)),
            (Some(key), false) => drop(index.scheduled.remove(&key)),
            (None, true) => drop(index.on_demand.insert(demanded)),
            (None, false) => drop(index.on_demand.remove(&demanded)),
        }
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        Some(record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }
}

/// The interval between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::emulator::world) enum Frequency {
    Daily,
    Weekly,
}

/// A schedule of recurring backups of one VM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct BackupSchedule {
    pub(in crate::emulator::world) vm_id: Uuid,
    pub(in crate::emulator::world) frequency: Frequency,
    /// Day of a weekly schedule; Sunday is 0.
    pub(in crate::emulator::world) day_of_week: Option<i8>,
    pub(in crate::emulator::world) hour: i8,
    pub(in crate::emulator::world) retention: i64,
    pub(in crate::emulator::world) enabled: bool,
    /// Number of backups created so far.
    #[serde(default)]
    pub(in crate::emulator::world) made: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::emulator::world) last_run: Option<Time>,
}

pub(in crate::emulator::world) const DAY: i64 = 24 * 3_600;

impl BackupSchedule {
    /// Returns the interval between runs, in seconds.
    pub(in crate::emulator::world) fn period_secs(&self) -> i64 {
        match self.frequency {
            Frequency::Daily => DAY,
            Frequency::Weekly => 7 * DAY,
        }
    }

    /// Returns the first run after a time.
    pub(in crate::emulator::world) fn next_run(&self, now: Time) -> Option<Time> {
        let today = now.to_zoned(TimeZone::UTC).date();
        let mut next = today.at(self.hour, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?;
        let wanted = self.day_of_week.and_then(|day| Weekday::from_sunday_zero_offset(day).ok());
        while next.timestamp() <= now || wanted.is_some_and(|day| next.weekday() != day) {
            next = next.checked_add(1.day()).ok()?;
        }
        self.enabled.then(|| next.timestamp())
    }

    /// Returns the backup record for a run.
    pub(in crate::emulator::world) fn new_backup(
        &self,
        disk: i64,
        number: i64,
        id: Uuid,
        run: Time,
    ) -> Backup {
        let word = match self.frequency {
            Frequency::Daily => "daily",
            Frequency::Weekly => "weekly",
        };
        Backup {
            name: format!("auto-{word}-{}", run.to_zoned(TimeZone::UTC).date()),
            product_vm: self.vm_id,
            storage_size: disk,
            increment_id: number,
            created_by: id,
            schedule: Some(id),
            billing: Billing::Payg,
        }
    }
}

/// Index of the schedules by VM and frequency.
#[derive(Default)]
pub(in crate::emulator::world) struct BackupScheduleIndex(
    pub(in crate::emulator::world) BTreeSet<(Uuid, Frequency, Uuid)>,
);

impl BackupScheduleIndex {
    pub(in crate::emulator::world) fn of_vm(&self, vm: Uuid) -> Vec<Uuid> {
        let all = (vm, Frequency::Daily, Uuid::nil())..=(vm, Frequency::Weekly, Uuid::max());
        self.0.range(all).map(|(_, _, schedule)| *schedule).collect()
    }

    /// Returns whether another schedule of the VM has this frequency.
    pub(in crate::emulator::world) fn is_frequency_taken(
        &self,
        vm: Uuid,
        frequency: Frequency,
        except: Option<Uuid>,
    ) -> bool {
        let same = (vm, frequency, Uuid::nil())..=(vm, frequency, Uuid::max());
        self.0.range(same).any(|(_, _, schedule)| Some(*schedule) != except)
    }
}

impl RecordKind for BackupSchedule {
    const KIND: &'static str = "backup_schedule";
    const TITLE: &'static str = "backup schedule";
    type Index = BackupScheduleIndex;

    fn index(index: &mut BackupScheduleIndex, record: &TableRecord<Self>, present: bool) {
        let key = (record.body.vm_id, record.body.frequency, record.id);
        if present {
            index.0.insert(key);
        } else {
            index.0.remove(&key);
        }
    }

    fn next(record: &TableRecord<Self>) -> Option<Time> {
        // A changed schedule applies from the change on: runs that it missed before are not made up for.
        let since = record.body.last_run.map_or(record.updated_at, |last| last.max(record.updated_at));
        record.body.next_run(since)
    }
}

/// The source of a snapshot, which may have been deleted since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type", content = "id")]
pub(in crate::emulator::world) enum SnapshotSource {
    Vm(Uuid),
    Volume(Uuid),
}

/// The state of a VM or a volume at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct DiskSnapshot {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) source: SnapshotSource,
    /// Size in GB.
    pub(in crate::emulator::world) size: i64,
}

impl DiskSnapshot {
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        from_cents(SNAPSHOT_GB) * Decimal::from(self.size)
    }
}

impl RecordKind for DiskSnapshot {
    const KIND: &'static str = "snapshot";
    const TITLE: &'static str = "snapshot";
    type Index = ();

    fn index((): &mut (), _: &TableRecord<Self>, _: bool) {}

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        Some(Billing::Payg.charge(record.body.monthly_price()))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Vm {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) template_id: Uuid,
    pub(in crate::emulator::world) pricing_id: i64,
    pub(in crate::emulator::world) vpc_id: Option<Uuid>,
    pub(in crate::emulator::world) ssh_key_ids: Vec<Uuid>,
    /// Accepted in requests, but never part of a response.
    pub(in crate::emulator::world) user_data: String,
    pub(in crate::emulator::world) console_require_mfa: bool,
    pub(in crate::emulator::world) billing: Billing,
    pub(in crate::emulator::world) public_ipv4_address: Ipv4Addr,
    pub(in crate::emulator::world) private_ipv4_address: Option<Ipv4Addr>,
}

impl Vm {
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        catalog::vm_plan(self.pricing_id).map_or(Decimal::ZERO, catalog::VmPlan::monthly_price)
    }

    /// Returns the size of the disk in GB.
    pub(in crate::emulator::world) fn disk_size(&self) -> i64 {
        catalog::vm_plan(self.pricing_id).map_or(0, |plan| plan.storage)
    }
}

/// Index of the machines by network and private address.
#[derive(Default)]
pub(in crate::emulator::world) struct VmIndex(
    pub(in crate::emulator::world) HashMap<Uuid, BTreeSet<(u32, Uuid)>>,
);

impl VmIndex {
    pub(in crate::emulator::world) fn in_vpc(&self, vpc: Uuid) -> usize {
        self.0.get(&vpc).map_or(0, BTreeSet::len)
    }

    /// Returns a free private address: the one above the highest address in use, else the lowest free one.
    pub(in crate::emulator::world) fn free_address(&self, vpc: Uuid, network: Ipv4Net) -> Option<u32> {
        let first = gateway_address(network).checked_add(1)?;
        let last = network.broadcast().to_bits();
        let taken = self.0.get(&vpc);
        let highest = taken.and_then(|taken| taken.last()).map(|(address, _)| *address);
        let next = highest.map_or(first, |address| address.saturating_add(1).max(first));
        if next < last {
            return Some(next);
        }
        let is_free = |at: &u32| {
            let from = (*at, Uuid::nil())..=(*at, Uuid::max());
            taken.is_none_or(|taken| taken.range(from).next().is_none())
        };
        (first..last).find(is_free)
    }
}

impl RecordKind for Vm {
    const KIND: &'static str = "vm";
    const TITLE: &'static str = "VM";
    type Index = VmIndex;

    fn index(index: &mut VmIndex, record: &TableRecord<Self>, present: bool) {
        let Some(vpc) = record.body.vpc_id else { return };
        let members = index.0.entry(vpc).or_default();
        let key = (record.body.private_ipv4_address.map_or(0, Ipv4Addr::to_bits), record.id);
        if present {
            members.insert(key);
        } else {
            members.remove(&key);
            if members.is_empty() {
                index.0.remove(&vpc);
            }
        }
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        Some(record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Volume {
    pub(in crate::emulator::world) name: String,
    pub(in crate::emulator::world) size: i64,
    pub(in crate::emulator::world) vm_id: Option<Uuid>,
    /// Id of the cluster that owns the volume, for a persistent volume claim.
    #[serde(default)]
    pub(in crate::emulator::world) cluster_id: Option<Uuid>,
    pub(in crate::emulator::world) billing: Billing,
}

impl Volume {
    pub(in crate::emulator::world) fn monthly_price(&self) -> Decimal {
        volume_price(self.size)
    }
}

pub(in crate::emulator::world) fn volume_price(size: i64) -> Decimal {
    from_cents(VOLUME_GB) * Decimal::from(size)
}

/// Returns the status to show: `in_use` for an available volume that is attached.
pub(in crate::emulator::world) fn volume_status(record: &TableRecord<Volume>, now: Time) -> &str {
    match record.status(now) {
        "available" if record.body.vm_id.is_some() || record.body.cluster_id.is_some() => "in_use",
        status => status,
    }
}

/// Index of the volumes by VM.
#[derive(Default)]
pub(in crate::emulator::world) struct VolumeIndex(pub(in crate::emulator::world) BTreeSet<(Uuid, Uuid)>);

impl VolumeIndex {
    pub(in crate::emulator::world) fn of_vm(&self, vm: Uuid) -> Vec<Uuid> {
        self.0.range((vm, Uuid::nil())..=(vm, Uuid::max())).map(|(_, volume)| *volume).collect()
    }
}

impl RecordKind for Volume {
    const KIND: &'static str = "volume";
    const TITLE: &'static str = "volume";
    type Index = VolumeIndex;

    fn index(index: &mut VolumeIndex, record: &TableRecord<Self>, present: bool) {
        let Some(vm) = record.body.vm_id else { return };
        if present {
            index.0.insert((vm, record.id));
        } else {
            index.0.remove(&(vm, record.id));
        }
    }

    fn charge(record: &TableRecord<Self>) -> Option<Charge> {
        Some(record.body.billing.charge(record.body.monthly_price()))
    }

    fn renew(record: &mut TableRecord<Self>, until: Time) {
        record.body.billing.extend(until);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::emulator::world) struct Vpc {
    pub(in crate::emulator::world) name: String,
    #[serde(with = "as_text")]
    pub(in crate::emulator::world) cidr: Ipv4Net,
}

/// Serializes a network as text and keeps the requested address, host bits included.
mod as_text {
    use ipnet::Ipv4Net;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's derive calls it so")]
    pub(super) fn serialize<S: Serializer>(network: &Ipv4Net, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(network)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ipv4Net, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| D::Error::custom(format!("`{text}` is not an IPv4 network")))
    }
}

/// Index of the networks: first address, last address, id.
#[derive(Default)]
pub(in crate::emulator::world) struct VpcIndex(pub(in crate::emulator::world) BTreeSet<(u32, u32, Uuid)>);

impl VpcIndex {
    pub(in crate::emulator::world) fn overlaps(&self, network: Ipv4Net) -> bool {
        let (first, last) = address_bounds(network);
        // Networks of the account are nested or disjoint, so it is enough to check the last one that begins before
        // `last`. Only `mutate` can break this rule.
        self.0.range(..=(last, u32::MAX, Uuid::max())).next_back().is_some_and(|(_, end, _)| *end >= first)
    }
}

pub(in crate::emulator::world) fn address_bounds(network: Ipv4Net) -> (u32, u32) {
    (network.network().to_bits(), network.broadcast().to_bits())
}

impl RecordKind for Vpc {
    const KIND: &'static str = "vpc";
    const TITLE: &'static str = "VPC";
    type Index = VpcIndex;

    fn index(index: &mut VpcIndex, record: &TableRecord<Self>, present: bool) {
        let (first, last) = address_bounds(record.body.cidr);
        if present {
            index.0.insert((first, last, record.id));
        } else {
            index.0.remove(&(first, last, record.id));
        }
    }
}

/// Returns the gateway's address: the first host address of the network.
pub(in crate::emulator::world) fn gateway_address(network: Ipv4Net) -> u32 {
    let (first, last) = address_bounds(network);
    first.saturating_add(1).min(last)
}
