//! Compute: VMs, volumes, VPCs, snapshots and backups: their routes, and what the clock does with them.

pub(super) mod backup;
pub(super) mod backup_schedule;
pub(super) mod snapshot;
pub(super) mod vm;
pub(super) mod vm_actions;
pub(super) mod volume;
pub(super) mod vpc;
