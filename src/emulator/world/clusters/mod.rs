//! Kubernetes clusters, node pools, upgrades and volume claims.

pub(super) mod actions;
pub(super) mod cluster;
pub(super) mod events;
pub(super) mod kubeconfig;
pub(super) mod node_pool;
pub(super) mod upgrade;
pub(super) mod versions;
pub(super) mod volume_claim;
