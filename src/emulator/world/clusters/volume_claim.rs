//! Persistent volume claims: the claims of workloads in a cluster become volumes of the account ("Catalogue of other
//! endpoints", Kubernetes). No workload runs in the emulator: `mutate` sets `claims`.

use uuid::Uuid;

use super::find_cluster::find_cluster;
use crate::emulator::world::Time;
use crate::emulator::world::compute::volume::{self};
use crate::emulator::world::engine::billing::Billing;
use crate::emulator::world::engine::status_timeline::Timeline;
use crate::emulator::world::engine::table::TableRecord;
use crate::emulator::world::records::cluster::{BoundClaim, ClaimSize};
use crate::emulator::world::records::compute::Volume;
use crate::emulator::world::request::call::{Call, Reply};
use crate::emulator::world::request::handlers::{Handlers, RenderContext};
use crate::emulator::world::request::route::{Access, Route};
use crate::emulator::world::state::world::World;
use crate::model::schema::Method;

pub(in crate::emulator::world) const ROUTES: &[Route] =
    &[Route::new(Method::Get, "/api/v1/k8s/clusters/{id}/volumes", Access::Account, list_claimed_volumes)];

/// Creates and grows volumes for the claims, and deletes the volumes of removed claims. A claim that shrank gets its
/// old size back, because claims only grow.
pub(in crate::emulator::world) fn apply_volume_claims(world: &mut World, id: Uuid, at: Time) {
    let Some(record) = world.clusters.get(id) else { return };
    let project = record.project;
    let mut cluster = record.body.clone();
    let gone: Vec<_> =
        cluster.bound.keys().filter(|name| !cluster.claims.contains_key(*name)).cloned().collect();
    for name in gone {
        if let Some(bound) = cluster.bound.remove(&name) {
            world.volumes.remove(bound.volume);
        }
        cluster.history.add(at, 0, "claim.released", format!("the volume of the claim {name} is deleted"));
    }
    for (name, size) in &mut cluster.claims {
        let Some(bound) = cluster.bound.get_mut(name) else {
            let volume = provision_claim_volume(world, id, project, *size, at);
            cluster.bound.insert(name.clone(), BoundClaim { volume, size: *size });
            cluster.history.add(at, 0, "claim.bound", format!("the claim {name} has a volume"));
            continue;
        };
        if *size > bound.size {
            world
                .volumes
                .update(bound.volume, at, |volume| volume.body.size = volume.body.size.max(size.0));
            cluster.history.add(at, 0, "claim.grown", format!("the claim {name} has {} GB", size.0));
        } else if *size < bound.size {
            let message = format!("the claim {name} keeps {} GB: claims only grow", bound.size.0);
            cluster.history.add(at, 0, "claim.refused", message);
            *size = bound.size;
        }
        bound.size = *size;
    }
    world.clusters.amend(id, |record| record.body = cluster);
}

fn provision_claim_volume(
    world: &mut World,
    cluster: Uuid,
    project: Option<Uuid>,
    size: ClaimSize,
    at: Time,
) -> Uuid {
    let timeline = Timeline::new(at, volume::CREATING);
    let id = world.fresh_id();
    let body = Volume {
        name: format!("pvc-{id}"),
        size: size.0,
        vm_id: None,
        cluster_id: Some(cluster),
        billing: Billing::Payg,
    };
    world.volumes.insert(TableRecord { id, project, created_at: at, updated_at: at, timeline, body });
    id
}

fn list_claimed_volumes(call: &mut Call<'_>) -> Reply {
    let record = find_cluster(call)?;
    let bound: Vec<_> = record.body.bound.iter().collect();
    let view = RenderContext { world: call.world, now: call.now, detail: false };
    call.list_of(&bound, |fields, (name, bound)| {
        if let Some(volume) = view.world.volumes.get(bound.volume) {
            Volume::show(volume, view, fields);
        }
        fields.write_field("claim", name);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_claim_is_limited() {
        let read = |text| serde_json::from_str::<ClaimSize>(text);
        assert_eq!(read("10").unwrap(), ClaimSize(10));
        assert_eq!(read("10240").unwrap(), ClaimSize(10_240));
        for bad in ["9", "10241", "-10", "10.5", "\"10\""] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::to_string(&ClaimSize(10)).unwrap(), "10");
    }
}
