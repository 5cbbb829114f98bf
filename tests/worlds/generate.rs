//! Generated stacks over all kinds: small ones, so that many are run. A number says everything of one.

use serde_json::json;
use stead::model::schema::Method;

use crate::machine::SimRandom;
use crate::stack::KEY;
use crate::written::{Attr, Block, Edit, Truth, Written};

const ROLES: &str = "/api/v1/roles";
const TEMPLATES: &str = "/api/v1/public/templates";
const VM_PLANS: &str = "/api/v1/public/pricing/vm";
const DATABASE_PLANS: &str = "/api/v1/public/pricing/database";
const NODE_PLANS: &str = "/api/v1/public/pricing/kubernetes";
const VERSIONS: &str = "/api/v1/k8s/versions";
const PUBLIC: &str = "/public-access";

struct Generator<'r> {
    chance: &'r SimRandom,
    stack: Written,
    count: usize,
}

/// Returns the stack of a number: of its kind first, then of what it needs and of others.
pub fn generate(number: u64) -> Written {
    let chance = SimRandom::new(number.wrapping_mul(0x9E37) ^ 0x0030_17D5);
    let mut generator = Generator { chance: &chance, stack: Written::default(), count: 0 };
    generator.one(number % KINDS);
    for _ in 0..chance.below(3) {
        generator.one(chance.below(KINDS));
    }
    if chance.once_in(2) {
        generator.project();
    }
    generator.stack
}

/// How many beginnings of a stack there are.
pub const KINDS: u64 = 16;

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

impl Generator<'_> {
    fn add(&mut self, kind: &'static str, attributes: Vec<Attr>) -> String {
        self.count += 1;
        let address = format!("{kind}.r{}", self.count);
        self.stack.blocks.push(Block {
            address: address.clone(),
            kind,
            parent: None,
            attributes,
            besides: "",
        });
        address
    }

    fn child(&mut self, kind: &'static str, of: &str, collection: &'static str, attributes: Vec<Attr>) {
        self.count += 1;
        let address = format!("{of}.{collection}.r{}", self.count);
        let parent = Some((of.to_owned(), collection));
        self.stack.blocks.push(Block { address, kind, parent, attributes, besides: "" });
    }

    fn any(&mut self, kind: &'static str, make: fn(&mut Self) -> String) -> String {
        let all: Vec<String> = self.stack.of_kind(kind).map(|block| block.address.clone()).collect();
        if all.is_empty() { make(self) } else { self.chance.pick(&all).clone() }
    }

    /// An attribute that is written once in so many times; else it is known, and others may change it.
    fn maybe(&self, times: u64, mut attr: Attr) -> Attr {
        attr.unwritten = !self.chance.once_in(times);
        attr
    }

    /// Adds attributes, each once in four times.
    fn sometimes<const N: usize>(&self, all: &mut Vec<Attr>, attributes: [Attr; N]) {
        all.extend(attributes.into_iter().filter(|_| self.chance.once_in(4)));
    }

    fn word(name: &'static str, word: &'static str) -> Attr {
        Attr::new(name, quoted(word), Truth::Is(json!(word)))
    }

    fn region() -> Attr {
        Self::word("region", "us-east")
    }

    fn billing() -> Attr {
        Self::word("billing_type", "payg")
    }

    /// A name that no call changes, or that others leave.
    fn name(&self) -> Attr {
        let name = format!("n{}", self.count + 1);
        Attr::new("name", name.clone(), Truth::Is(json!(name)))
    }

    fn link(name: &'static str, field: &'static str, to: String) -> Attr {
        Attr::new(name, format!("${to}"), Truth::IdOf(to)).field(field)
    }

    fn one(&mut self, which: u64) {
        match which {
            0 => drop(self.vpc()),
            1 => drop(self.vm()),
            2 => drop(self.volume()),
            3 => self.copy(),
            4 => self.schedule(),
            5 => drop(self.database()),
            6 => self.cluster(),
            7 | 8 => drop(self.app()),
            9 => self.function(),
            10 => drop(self.ssh_key()),
            11 => drop(self.role()),
            12 => drop(self.api_key()),
            13 => self.invitation(),
            14 => self.cache(),
            _ => self.spend(),
        }
    }

    fn vpc(&mut self) -> String {
        let cidr = format!("10.{}.0.0/16", self.count + 1);
        let mut all = vec![Attr::new("cidr", cidr.clone(), Truth::Is(json!(cidr)))];
        self.sometimes(&mut all, [self.name(), Self::region()]);
        self.add("vpc", all)
    }

    fn ssh_key(&mut self) -> String {
        let key = format!("{KEY} k{}", self.count + 1);
        let mut all = vec![Attr::new("public_key", quoted(&key), Truth::Is(json!(key)))];
        self.sometimes(&mut all, [self.name()]);
        self.add("ssh_key", all)
    }

    fn vm(&mut self) -> String {
        let plan =
            Attr::new("plan", "std-2c-4g", Truth::Catalog(VM_PLANS, "std-2c-4g")).field("pricing_id");
        let template = Truth::Catalog(TEMPLATES, "ubuntu-24.04");
        let policy = json!({"console_require_mfa": false});
        let off = self.chance.once_in(3);
        let (text, status, edit, other) = if off {
            ("\"off\"", "stopped", "/start", "active")
        } else {
            ("\"on\"", "active", "/stop", "stopped")
        };
        let mut all = vec![
            Attr::new("template", "ubuntu-24.04", template).field("template_id"),
            plan.moved(json!(2)),
            self.maybe(2, Attr::new("console_require_mfa", "true", Truth::Is(json!(true)))),
            self.maybe(2, Attr::new("power", text, Truth::Is(json!(status))))
                .field("status")
                .edited(Edit::Call(Method::Post, edit, json!(null)), Truth::Is(json!(other))),
        ];
        if !all[2].unwritten {
            all[2] = all[2]
                .clone()
                .edited(Edit::Call(Method::Patch, "/console-policy", policy), Truth::Is(json!(false)));
        }
        if self.chance.once_in(2) {
            // It is resized in the state that was declared.
            all[3].edit = None;
        }
        if all[3].unwritten {
            // It runs unless somebody says otherwise.
            all.remove(3);
        }
        if self.chance.once_in(2) {
            let vpc = self.any("vpc", Self::vpc);
            all.push(Self::link("vpc", "vpc_id", vpc));
        }
        if self.chance.once_in(3) {
            let keys = vec![self.any("ssh_key", Self::ssh_key)];
            let text: Vec<_> = keys.iter().map(|key| format!("${key}")).collect();
            let text = format!("[{}]", text.join(", "));
            all.push(Attr::new("ssh_keys", text, Truth::IdsOf(keys)).field("ssh_key_ids"));
        }
        self.sometimes(&mut all, [self.name(), Self::region(), Self::billing()]);
        self.add("vm", all)
    }

    fn volume(&mut self) -> String {
        let size = 10 + i64::try_from(self.chance.below(90)).unwrap();
        let mut all = vec![Attr::new("size", size.to_string(), Truth::Number(size)).moved(json!(size - 5))];
        if self.chance.once_in(2) {
            let vm = self.any("vm", Self::vm);
            all.push(
                Self::link("vm", "vm_id", vm)
                    .edited(Edit::Call(Method::Post, "/detach", json!(null)), Truth::Is(json!(null))),
            );
        }
        self.sometimes(&mut all, [self.name(), Self::region(), Self::billing()]);
        self.add("volume", all)
    }

    fn copy(&mut self) {
        match self.chance.below(3) {
            0 => {
                let vm = self.any("vm", Self::vm);
                let mut all = vec![Self::link("vm", "product_vm", vm)];
                self.sometimes(&mut all, [self.name()]);
                self.add("backup", all);
            }
            1 => {
                let vm = self.any("vm", Self::vm);
                self.add("snapshot", vec![Self::link("vm", "vm_id", vm), self.renamed("/rename")]);
            }
            _ => {
                let volume = self.any("volume", Self::volume);
                self.add(
                    "snapshot",
                    vec![Self::link("volume", "volume_id", volume), self.renamed("/rename")],
                );
            }
        }
    }

    /// A name that others change.
    fn renamed(&self, tail: &'static str) -> Attr {
        let name = format!("n{}", self.count + 1);
        Attr::new("name", name.clone(), Truth::Is(json!(name))).patched(tail, json!("theirs"))
    }

    fn schedule(&mut self) {
        let vm = self.vm();
        let frequency = if self.chance.once_in(2) { "weekly" } else { "daily" };
        let mut all = vec![
            Self::link("vm", "vm_id", vm),
            Attr::new("frequency", frequency, Truth::Is(json!(frequency))),
            self.maybe(2, Attr::new("hour", "7", Truth::Number(7)).patched("", json!(9))),
            self.maybe(2, Attr::new("retention", "5", Truth::Number(5)).patched("", json!(6))),
            self.maybe(3, Attr::new("enabled", "true", Truth::Is(json!(true))).patched("", json!(false))),
        ];
        if frequency == "weekly" {
            all.push(Attr::new("day_of_week", "friday", Truth::Number(5)).patched("", json!(1)));
        }
        self.add("backup_schedule", all);
    }

    fn database(&mut self) -> String {
        let plan =
            Attr::new("plan", "pg-2c-4g", Truth::Catalog(DATABASE_PLANS, "pg-2c-4g")).field("plan_id");
        let mut all = vec![
            Attr::new("engine", "postgres", Truth::Is(json!("postgres"))),
            plan.moved(json!(102)),
            self.renamed(""),
            self.maybe(3, Attr::new("storage_gb", "80", Truth::Number(80)).moved(json!(60))),
            self.maybe(3, Attr::new("replica_count", "1", Truth::Number(1)).moved(json!(2))),
            self.maybe(3, Attr::new("ha_enabled", "true", Truth::Is(json!(true))).moved(json!(false))),
        ];
        if all[5].unwritten {
            all[5] = Attr { unwritten: true, ..Attr::new("ha_enabled", "", Truth::Is(json!(false))) };
        }
        if self.chance.once_in(2) {
            let vpc = self.any("vpc", Self::vpc);
            let edit = Edit::Call(Method::Delete, "/vpc", json!(null));
            all.push(Self::link("vpc", "vpc_id", vpc).edited(edit, Truth::Is(json!(null))));
        }
        match self.chance.below(3) {
            0 => {
                let closed = Edit::Call(Method::Post, PUBLIC, json!({"enabled": false}));
                all.push(
                    Attr::new("public_access", "true", Truth::Is(json!(true)))
                        .edited(closed, Truth::Is(json!(false))),
                );
            }
            1 => {
                let list = "[203.0.113.0/24, 198.51.100.0/24]";
                let truth = Truth::SetOf(vec!["203.0.113.0/24", "198.51.100.0/24"]);
                let wider = json!({"enabled": true, "allowlist": ["192.0.2.0/24"]});
                all.push(Attr::new("public_access", "true", Truth::Is(json!(true))));
                all.push(
                    Attr::new("public_allowlist", list, truth).edited(
                        Edit::Call(Method::Post, PUBLIC, wider),
                        Truth::SetOf(vec!["192.0.2.0/24"]),
                    ),
                );
            }
            _ => {}
        }
        if self.chance.once_in(3) {
            all.push(Attr::new("extensions", "[vector, postgis]", Truth::SetOf(vec!["vector", "postgis"])));
        }
        self.sometimes(&mut all, [Self::word("engine_version", "16"), Self::region(), Self::billing()]);
        let address = self.add("database", all);
        if self.chance.once_in(3) {
            let mut all = Vec::new();
            self.sometimes(&mut all, [self.name()]);
            self.child("database_user", &address, "users", all);
        }
        if self.chance.once_in(3) {
            let query = Attr::new("query", "SELECT 1", Truth::Is(json!("SELECT 1")));
            let mut all = vec![query.moved_query()];
            self.sometimes(&mut all, [self.name()]);
            self.child("saved_query", &address, "saved_queries", all);
        }
        address
    }

    fn cache(&mut self) {
        let policy = json!({"maxmemory-policy": "allkeys-lru"});
        let plan = Truth::Catalog(DATABASE_PLANS, "valkey-1c-1g");
        let mut all = vec![
            Self::word("engine", "valkey"),
            Attr::new("plan", "valkey-1c-1g", plan).field("plan_id"),
            Attr::new("engine_config", "{ maxmemory-policy: allkeys-lru }", Truth::Has(policy)),
        ];
        self.sometimes(&mut all, [self.name(), Self::word("engine_version", "8")]);
        self.add("database", all);
    }

    fn cluster(&mut self) {
        let mut all = vec![
            Attr::new("version", "\"1.32\"", Truth::Catalog(VERSIONS, "1.32")).field("version_id"),
            self.maybe(2, Attr::new("upgrade_mode", "auto_patch", Truth::Is(json!("auto_patch"))))
                .patched("/maintenance", json!("manual")),
            self.maybe(2, Attr::new("maintenance_day", "sunday", Truth::Number(0)))
                .patched("/maintenance", json!(3)),
            self.maybe(2, Attr::new("maintenance_start", "\"02:00\"", Truth::Is(json!("02:00"))))
                .patched("/maintenance", json!("05:00")),
        ];
        all[1..].iter_mut().filter(|attr| attr.unwritten).for_each(|attr| attr.edit = None);
        if self.chance.once_in(3) {
            let vpc = self.any("vpc", Self::vpc);
            all.push(Self::link("vpc", "vpc_id", vpc));
        }
        let planes = Attr::new("control_plane_count", "3", Truth::Number(3));
        self.sometimes(&mut all, [self.name(), Self::region(), planes]);
        let address = self.add("cluster", all);
        let plan = Truth::Catalog(NODE_PLANS, "std-2c-4g");
        let mut pool = vec![
            Attr::new("plan", "std-2c-4g", plan).field("plan_id"),
            Attr::new("node_count", "3", Truth::Number(3)).patched("", json!(4)),
        ];
        if self.chance.once_in(2) {
            let labels = Attr::new("labels", "{ role: batch }", Truth::Has(json!({"role": "batch"})));
            pool.push(labels.patched("", json!({"role": "theirs"})));
        }
        if self.chance.once_in(2) {
            let taints = Truth::SetOf(vec!["a=b:NoSchedule", "c=d:NoExecute"]);
            let attr = Attr::new("taints", "[\"a=b:NoSchedule\", \"c=d:NoExecute\"]", taints);
            let body = json!({"taints": ["e=f:NoSchedule"]});
            let to = Truth::SetOf(vec!["e=f:NoSchedule"]);
            pool.push(attr.edited(Edit::Call(Method::Patch, "", body), to));
        }
        self.sometimes(&mut pool, [self.name()]);
        self.child("node_pool", &address, "node_pools", pool);
    }

    fn app(&mut self) -> String {
        let kind: &'static str = self.chance.pick::<&str>(&["web", "worker", "cron"]);
        let mut all = vec![Attr::new("type", kind, Truth::Is(json!(kind)))];
        match self.chance.below(3) {
            0 => all.push(Attr::new("image", "nginx", Truth::Is(json!("nginx")))),
            1 => {
                all.push(Attr::new("repo", "acme/shop", Truth::Is(json!("acme/shop"))));
                all.push(Attr::new("branch", "main", Truth::Is(json!("main"))).patched("", json!("next")));
                let connection = Attr::new("github_installation_id", "42", Truth::Number(42));
                self.sometimes(&mut all, [connection]);
            }
            _ => all.push(Attr::new("source_dir", "./one", Truth::Untold)),
        }
        all.push(
            self.maybe(
                3,
                Attr::new("description", "ours", Truth::Is(json!("ours"))).patched("", json!("x")),
            ),
        );
        all.push(
            self.maybe(
                3,
                Attr::new("size", "app-s", Truth::Is(json!("app-s"))).patched("", json!("app-m")),
            ),
        );
        let start = Attr::new("start_command", "bin/run", Truth::Is(json!("bin/run")));
        all.push(self.maybe(3, start.patched("", json!("bin/other"))));
        if kind == "web" {
            let path = Attr::new("health_check_path", "/healthz", Truth::Is(json!("/healthz")));
            all.push(self.maybe(2, path.patched("", json!("/other"))));
            all.push(
                self.maybe(2, Attr::new("port", "3000", Truth::Number(3000)).patched("", json!(4000))),
            );
        }
        if kind == "cron" {
            let cron = Attr::new("cron_schedule", "\"0 3 1 1 *\"", Truth::Is(json!("0 3 1 1 *")));
            all.push(cron.patched("", json!("0 4 1 1 *")));
            let zone = Self::word("cron_timezone", "Europe/Berlin").patched("", json!("UTC"));
            let twice = Self::word("cron_concurrency", "forbid").patched("", json!("replace"));
            self.sometimes(&mut all, [zone, twice]);
        }
        if self.chance.once_in(2) {
            let vars = Attr::new("env_vars", "{ MODE: fast }", Truth::Has(json!({"MODE": "fast"})));
            all.push(vars.patched("", json!({"MODE": "slow"})));
        }
        let previews =
            Attr::new("previews_enabled", "true", Truth::Is(json!(true))).patched("", json!(false));
        self.sometimes(&mut all, [self.name(), Self::billing(), previews]);
        if kind != "cron" {
            let scale = Edit::Call(Method::Post, "/scale", json!({"instances": 3}));
            let count = Attr::new("instances", "2", Truth::Number(2));
            all.push(self.maybe(3, count.edited(scale, Truth::Number(3))));
        }
        let address = self.add("app", all);
        self.children_of_app(&address, kind);
        address
    }

    fn children_of_app(&mut self, address: &str, kind: &str) {
        if kind == "web" && self.chance.once_in(2) {
            let host = format!("r{}.example.com", self.count);
            let domain = Attr::new("domain", host.clone(), Truth::Is(json!(host)));
            self.child("app_domain", address, "domains", vec![domain]);
        }
        if self.chance.once_in(3) {
            let database = self.any("database", Self::database);
            let link = Self::link("database", "database_id", database);
            self.child("app_database_link", address, "databases", vec![link]);
        }
    }

    fn function(&mut self) {
        let mut all = vec![
            Attr::new("runtime", "python312", Truth::Is(json!("python312"))),
            Attr::new("handler", "main.run", Truth::Is(json!("main.run"))).patched("", json!("main.other")),
            self.maybe(2, Attr::new("memory_mb", "256", Truth::Number(256)).patched("", json!(512))),
            self.maybe(2, Attr::new("timeout_seconds", "20", Truth::Number(20)).patched("", json!(25))),
            Attr::new("source_dir", "./one", Truth::Untold),
        ];
        if self.chance.once_in(2) {
            let vars = Attr::new("env_vars", "{ MODE: fast }", Truth::Has(json!({"MODE": "fast"})));
            all.push(vars.patched("", json!({"MODE": "slow"})));
        }
        self.sometimes(&mut all, [self.name()]);
        self.add("serverless_function", all);
    }

    fn role(&mut self) -> String {
        let both = vec!["apps:read", "databases:read"];
        let other = Edit::Call(Method::Patch, "", json!({"permissions": ["apps:read"]}));
        let permissions = Attr::new("permissions", "[apps:read, databases:read]", Truth::SetOf(both));
        let mut all = vec![permissions.edited(other, Truth::SetOf(vec!["apps:read"]))];
        self.sometimes(&mut all, [self.name()]);
        self.add("role", all)
    }

    fn role_of(slug: &'static str) -> Attr {
        Attr::new("role", slug, Truth::Catalog(ROLES, slug)).field("role_id")
    }

    fn api_key(&mut self) -> String {
        let end = "2030-01-01T00:00:00Z";
        let expires = Attr::new("expires_at", quoted(end), Truth::Instant(end));
        let mut all = vec![Self::role_of("developer"), self.maybe(2, expires)];
        self.sometimes(&mut all, [self.name(), Self::word("rate_limit_tier", "standard")]);
        let address = self.add("api_key", all);
        self.stack.blocks.last_mut().unwrap().besides = "deliver_secret: { file: ./secrets/key }";
        address
    }

    fn invitation(&mut self) {
        let email = format!("r{}@example.com", self.count + 1);
        let address = Attr::new("email", email.clone(), Truth::Is(json!(email)));
        self.add("invitation", vec![address, Self::role_of("viewer")]);
    }

    fn spend(&mut self) {
        if self.stack.of_kind("spend_settings").next().is_some() {
            return;
        }
        let cap = Attr::new("monthly_cap_usd", "5000", Truth::Number(5000)).patched("", json!(6000));
        let action = Attr::new("cap_action", "notify_only", Truth::Is(json!("notify_only")));
        let enabled = Attr::new("enabled", "true", Truth::Is(json!(true)));
        self.add("spend_settings", vec![cap, action, self.maybe(2, enabled)]);
    }

    /// The project that everything is in, with a key as its member.
    fn project(&mut self) {
        let about = Attr::new("description", "ours", Truth::Is(json!("ours"))).patched("", json!("x"));
        let keys: Vec<String> = self.stack.of_kind("api_key").map(|key| key.address.clone()).collect();
        let mut all = vec![about];
        self.sometimes(&mut all, [self.name()]);
        let address = self.add("project", all);
        for key in keys {
            let of = Self::link("api_key", "api_key_id", key);
            self.child("project_member", &address, "members", vec![of, Self::role_of("developer")]);
        }
    }
}

impl Attr {
    /// Others write another text under a saved query's name.
    fn moved_query(self) -> Self {
        let to = json!("SELECT 2");
        self.edited(Edit::Call(Method::Put, "", json!({"query": to})), Truth::Is(to))
    }
}
