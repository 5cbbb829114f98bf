//! The real binary against every variation, over loopback: exit codes, what is printed, what the world has, and the
//! remedies that are printed on the way.
//!
//! `STEAD_WORLD="bare lists"` runs one variation alone, and prints every command with its output.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::{env, thread};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value as Json, json};
use stead::model::schema::Method;

use crate::contract::{COLLECTIONS, target};
use crate::here::{BOUNDS, Here, Run};
use crate::layer::{Effect, Variation};
use crate::runs::variations;
use crate::{hiding, ignoring, representation};

/// One of most kinds, so that each variation has something to vary.
///
/// The schedule runs on yesterday's weekday. The world's clock is a thousand times as fast as ours, and a schedule that
/// runs during the test makes a backup, which rightly blocks a destroy.
static STACK: LazyLock<String> = LazyLock::new(|| {
    let yesterday = Timestamp::now().to_zoned(TimeZone::UTC).date().yesterday().unwrap();
    TEMPLATE.replace("YESTERDAY", &yesterday.strftime("%A").to_string().to_lowercase())
});

const TEMPLATE: &str = "\
stead: 1
stack: shop
environments: { prod: { default: true } }
project: { shop: { description: ours } }
ssh_key: { mine: { public_key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHEChLAFY9VYXIZ0Qk2lBfbPrZrnkRTsBbBjwqSVxSs a@b\" } }
vpc: { main: { cidr: 10.1.0.0/16 }, side: { cidr: 10.2.0.0/16 }, back: { cidr: 10.3.0.0/16 } }
vm:
  web: { plan: std-1c-1g, template: ubuntu-24.04, vpc: $vpc.main, ssh_keys: [$ssh_key.mine], console_require_mfa: true }
volume: { media: { size: 10, vm: $vm.web } }
backup_schedule: { nightly: { vm: $vm.web, frequency: weekly, day_of_week: YESTERDAY, hour: 7, retention: 5 } }
database:
  main: { plan: pg-2c-4g, vpc: $vpc.main, public_access: true, public_allowlist: [203.0.128.0/17, 203.0.0.0/17] }
cluster:
  jobs:
    version: \"1.32\"
    maintenance_day: monday
    maintenance_start: \"02:00\"
    node_pools:
      small: { plan: std-2c-4g, node_count: 3, labels: { role: batch }, taints: [\"a=b:NoSchedule\", \"c=d:NoExecute\"] }
app:
  site:
    type: web
    source_dir: ./one
    description: ours
    start_command: bin/run
    health_check_path: /healthz
    port: 3000
    env_vars: { MODE: fast }
    domains: { www: { domain: www.example.com } }
    databases: { main: { database: $database.main } }
role: { reader: { permissions: [apps:read, databases:read] } }
api_key:
  ci: { role: developer, expires_at: \"2030-01-01T00:00:00Z\", deliver_secret: { file: ./secrets/key } }
invitation: { ann: { email: ann@example.com, role: viewer } }
";

/// Runs at the same time: most of a run waits.
const AT_ONCE: usize = 6;

/// Applies until nothing has to wait for a value that is not kept: as many as there are levels in the stack.
const MOST_APPLIES: usize = 6;

/// Where the remedy for a value that is not kept is written: before what stands first in the block.
const BLOCKS: [(&str, &str, &str); 6] = [
    ("project", "{ shop: { ", ", "),
    ("vm", "web: { ", ", "),
    ("backup_schedule", "nightly: { ", ", "),
    ("node_pool", "small: { ", ", "),
    ("api_key", "ci: { ", ", "),
    ("app", "site:\n", "\n    "),
];

/// Returns the stack with what the plan proposes: `ignore_drift` for each value that is not kept.
fn with_remedies(ignored: &[(&str, &str)]) -> String {
    let mut stack = STACK.clone();
    for (kind, begins, ends) in BLOCKS {
        let of = ignored.iter().filter(|(of, _)| *of == kind);
        let fields: Vec<&str> = of.map(|(_, field)| *field).collect();
        if !fields.is_empty() {
            let indent = if begins.ends_with('\n') { "    " } else { "" };
            let entry = format!("{indent}lifecycle: {{ ignore_drift: [{}] }}", fields.join(", "));
            let ends = if indent.is_empty() { ends } else { "\n" };
            stack = stack.replacen(begins, &format!("{begins}{entry}{ends}"), 1);
        }
    }
    stack
}

/// One variation, with a directory of its own.
struct Trial {
    variation: &'static Variation,
    here: Here,
}

impl Trial {
    fn new(variation: &'static Variation) -> Self {
        let here = Here::new(variation, &STACK);
        here.write("one/Dockerfile", "FROM scratch\n");
        here.write("taken/stead.yaml", "stead: 1\nstack: taken\n");
        Self { variation, here }
    }

    fn expect(&mut self, code: i32, args: &str, says: &[&str]) -> Run {
        self.here.expect(code, args, says)
    }

    fn wrong(&mut self, what: impl Into<String>) {
        self.here.wrong(what);
    }

    fn ignored(&self) -> Vec<(&'static str, &'static str)> {
        let Effect::Ignores(fields) = self.variation.effect else { return Vec::new() };
        let of_stack = |(kind, field): &(&str, &str)| {
            let block = STACK.split_once(&format!("\n{kind}:"));
            *kind == "node_pool" || block.is_some_and(|(_, rest)| rest.contains(&format!("{field}:")))
        };
        fields.iter().filter_map(|field| field.split_once('.')).filter(of_stack).collect()
    }

    /// Everything of the account, by collection and id.
    fn inventory(&self) -> BTreeMap<&'static str, BTreeSet<String>> {
        let top = COLLECTIONS.iter().filter(|of| of.parent.is_none());
        let ids = |row: &Json| row["id"].as_str().map_or_else(|| row["id"].to_string(), str::to_owned);
        top.map(|of| (of.kind, self.here.world.rows(of.path).iter().map(ids).collect())).collect()
    }

    fn all(&mut self) {
        let before = self.inventory();
        self.applies();
        self.has_what_is_written(&before);
        if self.here.wrong.is_empty() {
            self.is_edited();
            self.is_imported();
            self.does();
            self.states_projects();
            self.is_mended();
        }
        self.is_destroyed(&before);
    }

    /// Applies, and plans: no change where only the representation differs, and each value that is not kept by name.
    fn applies(&mut self) {
        let apply = format!("apply --yes {BOUNDS}");
        let ignored = self.ignored();
        if ignored.is_empty() {
            self.expect(0, &apply, &["Applied: 17 done"]);
            self.expect(0, "plan --exit-code", &["No changes"]);
            self.expect(0, "drift --exit-code", &["no drift"]);
            return;
        }
        let mut run = self.expect(1, &apply, &["was sent"]);
        for _ in 0..MOST_APPLIES {
            if !run.all.contains("skipped") {
                break;
            }
            run = self.here.run(&apply);
        }
        let plan = self.expect(0, "plan", &[]);
        let last = self.expect(1, &apply, &["`lifecycle.ignore_drift`"]);
        for (what, run) in [("apply", &run), ("plan", &plan), ("the last apply", &last)] {
            for (kind, field) in &ignored {
                // The changes of an apply name attributes, too; what it says of them stands in backticks.
                let named = [format!("`{field}"), format!(".{field}`")];
                let is_named = what == "plan" && run.all.contains(field)
                    || named.iter().any(|name| run.all.contains(name));
                if !is_named {
                    self.wrong(format!("{what} does not name {kind}.{field}:\n{}", run.all));
                }
            }
            if run.all.contains("No changes") {
                self.wrong(format!("{what} says that nothing changes:\n{}", run.all));
            }
        }
        self.expect(0, "drift --exit-code", &["no drift"]);
    }

    /// What the plan proposes for a value that is not kept ends it.
    fn is_mended(&mut self) {
        let ignored = self.ignored();
        if !ignored.is_empty() {
            self.here.write("stead.yaml", &with_remedies(&ignored));
            self.expect(0, "plan --exit-code", &["No changes"]);
            self.expect(0, &format!("apply --yes {BOUNDS}"), &["No changes"]);
        }
    }

    /// There is one object of each block, with its values.
    fn has_what_is_written(&mut self, before: &BTreeMap<&'static str, BTreeSet<String>>) {
        let after = self.inventory();
        for (kind, ids) in &after {
            let made = ids.difference(&before[kind]).count();
            let written = match *kind {
                // More than one small page.
                "vpc" => 3,
                kind => usize::from(STACK.contains(&format!("\n{kind}:"))),
            };
            if made != written {
                self.wrong(format!("{made} objects of {kind}, not {written}"));
            }
        }
        let vm = self.here.world.rows("/api/v1/vms").pop().unwrap_or_default();
        let ignored = self.ignored();
        for (kind, path, field, wanted) in [
            ("volume", "/api/v1/volumes", "vm_id", vm["id"].clone()),
            ("vm", "/api/v1/vms", "console_require_mfa", json!(true)),
            ("app", "/api/v1/apps/services", "health_check_path", json!("/healthz")),
            ("app", "/api/v1/apps/services", "description", json!("ours")),
            ("app", "/api/v1/apps/services", "port", json!(3000)),
            ("backup_schedule", "/api/v1/backup-schedules", "retention", json!(5)),
        ] {
            let Some(id) =
                self.here.world.rows(path).pop().and_then(|row| row["id"].as_str().map(str::to_owned))
            else {
                self.wrong(format!("there is no {kind}"));
                continue;
            };
            let (_, json) = self.here.world.ask(Method::Get, &format!("{path}/{id}"), None, &Json::Null);
            if json["data"][field] != wanted && !ignored.contains(&(kind, field)) {
                self.wrong(format!("{kind}.{field} stands at {}, not {wanted}", json["data"][field]));
            }
        }
    }

    /// Others detach the volume and change the app: the drift has both, and what it proposes puts them back.
    fn is_edited(&mut self) {
        let volume = self.here.world.rows("/api/v1/volumes").remove(0);
        let app = self.here.world.rows("/api/v1/apps/services").remove(0);
        for (method, path, row, body) in [
            (Method::Post, "/api/v1/volumes/{id}/detach", &volume, Json::Null),
            (Method::Patch, "/api/v1/apps/services/{id}", &app, json!({"health_check_path": "/other"})),
        ] {
            let path = path.replace("{id}", row["id"].as_str().unwrap());
            let (status, answer) = self.here.world.ask(method, &path, row["project_id"].as_str(), &body);
            assert!(status < 300, "{path}: {answer}");
        }
        let both = ["volume.media.vm", "app.site.health_check_path", "2 differences"];
        let drift = self.expect(3, "drift --exit-code", &both);
        self.expect(2, "plan --exit-code", &["changed outside stead", "volume.media", "app.site"]);
        let plan = self.here.follow(&drift, "plan", "", 0);
        let ends = i32::from(!self.ignored().is_empty());
        self.here.follow(&plan, "apply", &format!("--yes {BOUNDS}"), ends);
        self.expect(0, "drift --exit-code", &["no drift"]);
        if ends == 0 {
            self.expect(0, "plan --exit-code", &["No changes"]);
        }
        let volume = self.here.world.rows("/api/v1/volumes").remove(0);
        if volume["vm_id"].is_null() {
            self.wrong("the volume is still detached");
        }
    }

    /// Another stack takes everything over, has nothing to do, and changes what its block changes.
    fn is_imported(&mut self) {
        let changes = self.here.world.sent().len();
        let import = self.expect(0, "-C taken import --all --yes", &["14 objects imported"]);
        self.here.follow(&import, "-C taken plan", "--exit-code", 0);
        if self.here.world.sent().len() != changes {
            self.wrong("an import changes something");
        }
        self.here.edit("taken/volume.stead.yaml", "size: 10", "size: 20");
        self.expect(0, &format!("-C taken apply --yes {BOUNDS}"), &["1 done"]);
        let volume = self.here.world.rows("/api/v1/volumes").remove(0);
        if volume["size"] != 20 {
            self.wrong(format!("the volume is not resized: {volume}"));
        }
        self.expect(3, "drift --exit-code", &["volume.media.size"]);
        self.here.edit("stead.yaml", "size: 10", "size: 20");
    }

    /// Each change states the project of its object.
    fn states_projects(&mut self) {
        let mut of = BTreeMap::new();
        for collection in COLLECTIONS.iter().filter(|one| one.states_project && one.parent.is_none()) {
            for row in self.here.world.rows(collection.path) {
                of.insert(row["id"].as_str().unwrap().to_owned(), row["project_id"].clone());
            }
        }
        for sent in self.here.world.sent() {
            let Some(target) = target(&sent.path).filter(|target| target.of.states_project) else {
                continue;
            };
            let known = target.parent.as_ref().or(target.id.as_ref()).and_then(|id| of.get(id));
            let stated = sent.project.as_deref();
            if stated.is_none() || known.is_some_and(|known| stated != known.as_str()) {
                self.wrong(format!("{} {} states {stated:?}, not {known:?}", sent.method, sent.path));
            }
        }
    }

    fn does(&mut self) {
        self.expect(0, "get vm.web", &["web"]);
        self.expect(0, "do connection database.main", &[]);
        self.expect(0, "do reboot vm.web --yes", &[]);
        if !self.here.world.sent().iter().any(|sent| sent.path.ends_with("/reboot")) {
            self.wrong("nothing rebooted the VM");
        }
    }

    /// Nothing of the stack is left, and everything else is.
    fn is_destroyed(&mut self, before: &BTreeMap<&'static str, BTreeSet<String>>) {
        self.expect(0, &format!("destroy --yes --confirm shop {BOUNDS}"), &["Destroyed: 17 done"]);
        let after = self.inventory();
        if after != *before {
            self.wrong(format!(
                "after the destroy there is {after:?}, before the apply there was {before:?}"
            ));
        }
        self.expect(0, &format!("destroy --yes --confirm shop {BOUNDS}"), &[]);
    }
}

#[test]
fn the_binary_passes_under_every_service_variation() {
    let only = env::var("STEAD_WORLD").ok();
    let wanted = |variation: &&Variation| only.as_ref().is_none_or(|only| *only == variation.name);
    // A list that lags by more than the bound that is given here, or what is hidden, is for the laws.
    let suits = |variation: &&Variation| {
        matches!(
            variation.effect,
            Effect::Representation | Effect::Ignores(_) | Effect::Hides(hiding::SECRETS)
        ) || ignoring::VARIATIONS.iter().any(|one| one.name == variation.name)
    };
    let all = variations().filter(suits);
    let all: Vec<&'static Variation> =
        [&representation::PLAIN].into_iter().chain(all).filter(wanted).collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(variation) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let mut trial = Trial::new(variation);
                    trial.all();
                    let found = trial.here.wrong.iter().map(|what| format!("{}: {what}", variation.name));
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}
