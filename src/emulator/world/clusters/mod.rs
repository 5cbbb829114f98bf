//! Kubernetes clusters, node pools, upgrades, kubeconfigs and volume claims. Routes accept a cluster's id or short id.

pub(super) mod actions;
pub(super) mod cluster;
pub(super) mod events;
pub(super) mod find_cluster;
pub(super) mod kubeconfig;
pub(super) mod node_pool;
pub(super) mod upgrade;
pub(super) mod version_list;
pub(super) mod volume_claim;
