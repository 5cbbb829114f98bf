//! Seeds: initial content for a world. Either a generated world of a given size, the world of the example `shop`, or
//! an export. The first two send ordinary API requests with fixed names and ids, so each run gives the same world.

mod shop;

use std::path::PathBuf;
use std::str::FromStr;

use serde_json::{Value, json};
use thiserror::Error;
use uuid::Uuid;

use super::world::{
    ApiRequest, DATABASE_PLANS, KUBERNETES_VERSIONS, NODE_PLANS, TEMPLATES, Time, VM_PLANS, World,
    handle_request,
};
use crate::emulator::seeded_rng;
use crate::model::schema::Method;

pub use shop::seed_shop;

/// The initial content of a new world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seed {
    /// A generated world with this many objects, at most 1,000,000.
    Objects(usize),
    /// The objects that the example `shop` creates.
    Shop,
    /// A file with an export (`control::read_export`), which replaces the world.
    File(PathBuf),
}

/// Limit on the objects of a generated world, which is built in memory.
const MAX_SEED_OBJECTS: usize = 1_000_000;

/// A string that is not a seed; the message shows it and the allowed forms.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a seed: write shop, objects=N with N up to 1000000, or the file of an export")]
pub struct SeedError(String);

impl FromStr for Seed {
    type Err = SeedError;

    fn from_str(text: &str) -> Result<Self, SeedError> {
        match text.strip_prefix("objects=") {
            Some(number) => match number.parse() {
                Ok(count) if count <= MAX_SEED_OBJECTS => Ok(Self::Objects(count)),
                _ => Err(SeedError(text.to_owned())),
            },
            None if text == "shop" => Ok(Self::Shop),
            None if text.is_empty() => Err(SeedError(text.to_owned())),
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

/// Fills a world with exactly `count` objects of the main kinds in its default project, by ordinary API requests.
///
/// # Errors
/// When a request is refused; the text is the collection and the response's body.
pub fn seed_objects(world: &mut World, api_key: &str, count: usize, now: Time) -> Result<(), String> {
    let mut filler = SeedWriter { api_key, project: world.default_project(), world, now, left: count };
    // Of each 20 objects: a network, a key, 6 machines, 2 databases, a cluster and 2 apps; then a pool, 4 volumes
    // and 2 schedules on them. The last group is cut short by `SeedWriter::left`.
    let groups = count.div_ceil(20);
    let (mut machines, mut clusters) =
        (Vec::with_capacity(groups * VMS_PER_GROUP), Vec::with_capacity(groups));
    for group in 0..groups {
        let vpc = filler.add_vpc(group)?;
        let key = filler.create_object(
            "ssh-keys",
            &json!({"name": format!("key-{group}"), "public_key": PUBLIC_KEY}),
        )?;
        for index in 0..VMS_PER_GROUP {
            machines.extend(filler.add_vm(group * VMS_PER_GROUP + index, vpc, key)?);
        }
        for index in 0..2 {
            filler.add_database(group * 2 + index, vpc)?;
        }
        clusters.extend(filler.add_cluster(group, vpc)?);
        for index in 0..2 {
            filler.add_app(group * 2 + index)?;
        }
    }
    // After this time all objects are running, and volumes and pools can be attached to them.
    filler.advance_time(jiff::SignedDuration::from_mins(3));
    for cluster in &clusters {
        filler.add_pool(cluster)?;
    }
    for (index, vm) in machines.iter().enumerate().filter(|(index, _)| index % VMS_PER_GROUP < 4) {
        let size = 10 + index % 90;
        filler.create_object(
            "volumes",
            &json!({"name": format!("volume-{index}"), "size": size, "vm_id": vm}),
        )?;
    }
    for (_, vm) in machines.iter().enumerate().filter(|(index, _)| index % VMS_PER_GROUP < 2) {
        filler.create_object("backup-schedules", &json!({"vm_id": vm, "frequency": "daily"}))?;
    }
    let mut spare = 0;
    while filler.left > 0 {
        spare += 1;
        filler.create_object("volumes", &json!({"name": format!("spare-{spare}"), "size": 10}))?;
    }
    Ok(())
}

/// Number of machines in each group of objects.
const VMS_PER_GROUP: usize = 6;
const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl seed@example.com";

/// Sends the requests of a seed in one project, all at the time `now`.
struct SeedWriter<'a> {
    world: &'a mut World,
    api_key: &'a str,
    project: Uuid,
    now: Time,
    /// How many more objects `create_object` may create.
    left: usize,
}

impl SeedWriter<'_> {
    /// Creates an object and returns its id, or `None` once the requested number exists. Callers pass a `None` on as a
    /// reference that is `null`, which counts as absent.
    fn create_object(&mut self, collection: &str, body: &Value) -> Result<Option<Uuid>, String> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let read = self.post_json(collection, body)?;
        let made = read.get("data").or_else(|| read.get("database")).and_then(|data| data.get("id"));
        match made.and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok()) {
            Some(id) => Ok(Some(id)),
            None => Err(format!("{collection}: the answer has no id")),
        }
    }

    /// Sends a POST request and returns the response body; a status of 300 or above is an error.
    fn post_json(&mut self, collection: &str, body: &Value) -> Result<Value, String> {
        let request = ApiRequest {
            method: Method::Post,
            path: format!("/api/v1/{collection}"),
            query: Vec::new(),
            api_key: Some(self.api_key.to_owned()),
            project: Some(self.project.to_string()),
            body: body.to_string().into_bytes(),
        };
        let answer = handle_request(self.world, &request, self.now);
        if answer.status >= 300 {
            return Err(format!("{collection}: {}", String::from_utf8_lossy(&answer.body)));
        }
        serde_json::from_slice(&answer.body).map_err(|error| format!("{collection}: {error}"))
    }

    /// Advances the time of the following requests.
    fn advance_time(&mut self, time: jiff::SignedDuration) {
        self.now = self.now.checked_add(time).unwrap_or(self.now);
    }

    fn add_cluster(&mut self, index: usize, vpc: Option<Uuid>) -> Result<Option<Uuid>, String> {
        let Some(version) = KUBERNETES_VERSIONS.get(index % KUBERNETES_VERSIONS.len()) else {
            return Ok(None);
        };
        let name = format!("cluster-{index}");
        self.create_object("k8s/clusters", &json!({"name": name, "version_id": version.id, "vpc_id": vpc}))
    }

    fn add_pool(&mut self, cluster: &Uuid) -> Result<Option<Uuid>, String> {
        let Some(plan) = NODE_PLANS.first() else { return Ok(None) };
        let body = json!({"name": "general", "plan_id": plan.id, "node_count": 2});
        self.create_object(&format!("k8s/clusters/{cluster}/pools"), &body)
    }

    fn add_app(&mut self, index: usize) -> Result<Option<Uuid>, String> {
        self.create_object(
            "apps/services",
            &json!({"name": format!("app-{index}"), "type": "web", "image": "nginx"}),
        )
    }

    fn add_vpc(&mut self, index: usize) -> Result<Option<Uuid>, String> {
        let cidr = format!("10.{}.{}.0/24", (index >> 8) & 255, index & 255);
        self.create_object("vpcs", &json!({"name": format!("network-{index}"), "cidr": cidr}))
    }

    fn add_vm(
        &mut self,
        index: usize,
        vpc: Option<Uuid>,
        key: Option<Uuid>,
    ) -> Result<Option<Uuid>, String> {
        let at = usize::try_from(seeded_rng::nth_number(1, index as u64) & 0xffff).unwrap_or_default();
        let (Some(template), Some(plan)) =
            (TEMPLATES.get(at % TEMPLATES.len()), VM_PLANS.get(at % VM_PLANS.len()))
        else {
            return Ok(None);
        };
        let keys: Vec<_> = key.into_iter().collect();
        let body = json!({
            "name": format!("machine-{index}"), "template_id": template.id, "pricing_id": plan.id,
            "vpc_id": vpc, "ssh_key_ids": keys,
        });
        self.create_object("vms", &body)
    }

    fn add_database(&mut self, index: usize, vpc: Option<Uuid>) -> Result<Option<Uuid>, String> {
        let Some(plan) = DATABASE_PLANS.get(index % DATABASE_PLANS.len()) else { return Ok(None) };
        let name = format!("database-{index}");
        self.create_object(
            "databases",
            &json!({"name": name, "engine": plan.engine, "plan_id": plan.id, "vpc_id": vpc}),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::world::{RateTier, WorldSetup};

    #[test]
    fn a_seed_is_parsed_as_a_count_a_name_or_a_file() {
        assert_eq!("objects=2000".parse(), Ok(Seed::Objects(2_000)));
        assert_eq!("shop".parse(), Ok(Seed::Shop));
        assert_eq!("cloud.json".parse(), Ok(Seed::File("cloud.json".into())));
        for bad in ["", "objects=", "objects=-1", "objects=1000001"] {
            assert!(bad.parse::<Seed>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_generated_cloud_has_the_requested_size_and_is_reproducible() {
        let made = |count| {
            let setup = WorldSetup { seed: 1, api_key: "sk_test".into(), tier: RateTier::Standard };
            let mut world = World::new(&setup, Time::UNIX_EPOCH);
            seed_objects(&mut world, "sk_test", count, Time::UNIX_EPOCH).unwrap();
            world
        };
        for count in [0, 1, 7, 20, 333] {
            assert_eq!(made(count).object_count(), count);
        }
        let world = serde_json::to_value(made(40)).unwrap();
        for kind in ["vpcs", "vms", "volumes", "databases", "clusters", "node_pools", "apps"] {
            assert!(world[kind].as_array().unwrap().len() > 1, "{kind}");
        }
        let text = |world: World| serde_json::to_string(&world).unwrap();
        assert_eq!(text(made(100)), text(made(100)));
    }
}
