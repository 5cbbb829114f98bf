//! The world of the example `shop`: the objects of its first environment, created by ordinary API requests.

use serde_json::{Value, json};
use uuid::Uuid;

use super::SeedWriter;
use crate::emulator::world::{
    DATABASE_PLANS, KUBERNETES_VERSIONS, NODE_PLANS, TEMPLATES, Time, VM_PLANS, World,
};

const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtD1m0Jt1pXcVb1cYc0oY2uJ4s8Zb3vQfV8sF3kXq5L deploy@shop";

/// Fills a world with the objects that the example `shop` creates in its first environment, with different secrets;
/// also creates the project and an API key of that environment.
///
/// # Errors
/// When a request is refused; the text is the collection and the response's body.
pub fn seed_shop(world: &mut World, api_key: &str, now: Time) -> Result<(), String> {
    let mut filler = SeedWriter { api_key, project: world.default_project(), world, now, left: usize::MAX };
    let project = json!({"name": "shop-staging", "description": "The shop, staging"});
    filler.project = filler.create_object("projects", &project)?.unwrap_or(filler.project);
    filler.create_object("api-keys", &json!({"name": "ci-staging"}))?;
    let vpc = filler.create_object("vpcs", &json!({"name": "main", "cidr": "10.20.0.0/16"}))?;
    let vm = add_shop_vm(&mut filler, vpc)?;
    let database = add_shop_database(&mut filler, vpc)?;
    let cluster = add_shop_cluster(&mut filler, vpc)?;
    let web = add_shop_apps(&mut filler)?;
    // After this time all objects are running, and a volume can be attached.
    filler.advance_time(jiff::SignedDuration::from_mins(3));
    filler.create_object("volumes", &json!({"name": "media", "size": 100, "vm_id": vm}))?;
    let schedule = json!({"vm_id": vm, "frequency": "daily", "hour": 3, "retention": 7});
    filler.create_object("backup-schedules", &schedule)?;
    filler.post_json(&format!("databases/{database}/users"), &json!({"name": "reporting"}))?;
    add_shop_pools(&mut filler, cluster)?;
    filler.post_json(
        &format!("apps/services/{}/domains", web[0]),
        &json!({"domain": "staging.shop.example.com"}),
    )?;
    for app in &web {
        filler
            .post_json(&format!("apps/services/{app}/database-links"), &json!({"database_id": database}))?;
    }
    Ok(())
}

fn add_shop_vm(filler: &mut SeedWriter<'_>, vpc: Option<Uuid>) -> Result<Option<Uuid>, String> {
    let key = json!({"name": "deploy-staging", "public_key": PUBLIC_KEY});
    let key = filler.create_object("ssh-keys", &key)?;
    let template = TEMPLATES.iter().find(|template| template.slug == "ubuntu-24.04");
    let plan = VM_PLANS.iter().find(|plan| plan.slug == "std-1c-2g");
    let machine = json!({
        "name": "web-a", "template_id": template.map(|template| template.id),
        "pricing_id": plan.map(|plan| plan.id), "vpc_id": vpc, "ssh_key_ids": [key],
        "user_data": "#cloud-config\npackages: [nginx]",
    });
    filler.create_object("vms", &machine)
}

fn add_shop_database(filler: &mut SeedWriter<'_>, vpc: Option<Uuid>) -> Result<Uuid, String> {
    let plan = DATABASE_PLANS.iter().find(|plan| plan.slug == "pg-1c-2g");
    let database = json!({
        "name": "main", "engine": "postgres", "engine_version": "16", "plan_id": plan.map(|plan| plan.id),
        "storage_gb": 40, "vpc_id": vpc, "public_access": true,
        "public_allowlist": ["198.51.100.0/24", "203.0.113.0/24"],
    });
    Ok(filler.create_object("databases", &database)?.unwrap_or_default())
}

fn add_shop_cluster(filler: &mut SeedWriter<'_>, vpc: Option<Uuid>) -> Result<Uuid, String> {
    let version = KUBERNETES_VERSIONS.iter().rfind(|version| version.text().starts_with("1.31."));
    let cluster = json!({
        "name": "jobs", "version_id": version.map(|version| version.id), "vpc_id": vpc,
        "upgrade_mode": "auto_patch", "maintenance_day": 0, "maintenance_start": "02:00",
    });
    Ok(filler.create_object("k8s/clusters", &cluster)?.unwrap_or_default())
}

fn add_shop_pools(filler: &mut SeedWriter<'_>, cluster: Uuid) -> Result<(), String> {
    for (name, plan, count) in [("general", "std-2c-4g", 2), ("batch", "cpu-4c-8g", 1)] {
        let plan = NODE_PLANS.iter().find(|node| node.slug == plan).map(|node| node.id);
        let pool = json!({"name": name, "plan_id": plan, "node_count": count});
        filler.create_object(&format!("k8s/clusters/{cluster}/pools"), &pool)?;
    }
    Ok(())
}

/// Creates the apps; returns those that use the database, the app with the public domain first.
fn add_shop_apps(filler: &mut SeedWriter<'_>) -> Result<[Uuid; 2], String> {
    let app = |name: &str, more: Value| {
        let mut app = json!({"name": name, "repo": "acme/shop", "branch": "main"});
        if let (Value::Object(app), Value::Object(more)) = (&mut app, more) {
            app.extend(more);
        }
        app
    };
    let web = json!({
        "type": "web", "port": 8080, "health_check_path": "/healthz",
        "min_replicas": 1, "max_replicas": 2, "autoscaling_metric": "concurrency", "autoscaling_target": 80,
        "env_vars": {"APP_ENV": "staging", "PAYMENT_KEY": "made-up", "SESSION_KEY": "made-up"},
    });
    let worker =
        json!({"type": "worker", "start_command": "bin/worker", "env_vars": {"SESSION_KEY": "made-up"}});
    let digest = json!({
        "type": "cron", "start_command": "bin/digest", "cron_schedule": "0 6 * * 1-5",
        "cron_timezone": "Europe/Paris",
    });
    let web = filler.create_object("apps/services", &app("web", web))?;
    let worker = filler.create_object("apps/services", &app("worker", worker))?;
    filler.create_object("apps/services", &app("digest", digest))?;
    Ok([web.unwrap_or_default(), worker.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::world::{RateTier, WorldSetup};

    #[test]
    fn the_shop_seed_creates_its_objects() {
        let setup = WorldSetup { seed: 1, api_key: "sk_test".into(), tier: RateTier::Standard };
        let mut world = World::new(&setup, Time::UNIX_EPOCH);
        seed_shop(&mut world, "sk_test", Time::UNIX_EPOCH).unwrap();
        let world = serde_json::to_value(&world).unwrap();
        for (kind, count) in [("vms", 1), ("clusters", 1), ("node_pools", 2), ("apps", 3), ("databases", 1)]
        {
            assert_eq!(world[kind].as_array().unwrap().len(), count, "{kind}");
        }
    }
}
