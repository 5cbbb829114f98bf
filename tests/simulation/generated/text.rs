//! Random configurations over all kinds, as text: what a person could write and the service takes.

use std::fmt::Write as _;

use crate::machine::SimRandom;
use crate::stack::KEY;

/// What was written so far.
struct Text<'r> {
    /// Decides what there is.
    chance: &'r SimRandom,
    /// Decides what can be changed in place: another one makes an edit of the same stack.
    values: &'r SimRandom,
    /// It is the edit: what can only go forward has gone.
    edited: bool,
    /// By kind, in order: the entries.
    blocks: Vec<(&'static str, Vec<(String, String)>)>,
    count: usize,
}

/// One of these plans is of an engine.
const PLANS: &[(&str, &[&str])] = &[
    ("postgres", &["pg-free", "pg-1c-2g", "pg-2c-4g", "pg-8c-16g"]),
    ("mysql", &["mysql-1c-2g", "mysql-4c-8g"]),
    ("valkey", &["valkey-free", "valkey-1c-1g", "valkey-4c-8g"]),
    ("clickhouse", &["clickhouse-2c-8g"]),
    ("kafka", &["kafka-2c-4g", "kafka-8c-16g"]),
];
const VM_PLANS: &[&str] = &["std-1c-1g", "std-1c-2g", "std-2c-4g", "cpu-4c-8g", "mem-2c-16g"];
const SIZES: &[&str] = &["app-xs", "app-s", "app-m", "app-l"];
const NODES: &[&str] = &["std-2c-4g", "cpu-2c-4g", "cpu-4c-8g"];
/// A version, and one that it can be upgraded to at once.
const VERSIONS: &[(&str, &str)] = &[("1.31", "1.32"), ("1.32", "1.33"), ("1.33.5", "1.33.5")];
const TEMPLATES: &[&str] = &["ubuntu-24.04", "ubuntu-22.04"];
const ROLES: &[&str] = &["admin", "developer", "viewer"];

/// Returns a configuration of about so many resources.
pub fn generate(chance: &SimRandom, values: &SimRandom, size: usize, edited: bool) -> String {
    let mut text = Text { chance, values, edited, blocks: Vec::new(), count: 0 };
    while text.count < size {
        text.one();
    }
    if chance.once_in(2) {
        text.project();
    }
    let mut all = String::new();
    for (kind, entries) in &text.blocks {
        writeln!(all, "{kind}:").unwrap();
        for (name, entry) in entries {
            writeln!(all, "  {name}: {{ {entry} }}").unwrap();
        }
    }
    all
}

impl Text<'_> {
    fn add(&mut self, kind: &'static str, entry: &[String]) {
        self.count += 1;
        let name = format!("r{}", self.count);
        let entry = (name, entry.join(", "));
        match self.blocks.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, entries)) => entries.push(entry),
            None => self.blocks.push((kind, vec![entry])),
        }
    }

    fn all(&self, kind: &str) -> Vec<String> {
        let block = self.blocks.iter().find(|(of, _)| *of == kind);
        block
            .into_iter()
            .flat_map(|(_, entries)| entries)
            .map(|(name, _)| format!("${kind}.{name}"))
            .collect()
    }

    fn any(&self, kind: &str) -> Option<String> {
        let all = self.all(kind);
        (!all.is_empty()).then(|| self.chance.pick(&all).clone())
    }

    fn pick(&self, from: &[&'static str]) -> &'static str {
        self.chance.pick::<&str>(from)
    }

    /// An entry that is there once in so many times, and may come and go.
    fn maybe(&self, times: u64, entry: impl FnOnce() -> String) -> Option<String> {
        self.values.once_in(times).then(entry)
    }

    /// An entry that stays.
    fn ever(&self, times: u64, entry: impl FnOnce() -> String) -> Option<String> {
        self.chance.once_in(times).then(entry)
    }

    fn one(&mut self) {
        match self.chance.below(18) {
            0 | 1 => self.vpc(),
            2..=4 => self.vm(),
            5 | 6 => self.volume(),
            7 => self.copy(),
            8 => self.schedule(),
            9 | 10 => self.database(),
            11 => self.cluster(),
            12 | 13 => self.app(),
            14 => {
                let runtime = self.pick(&["node20", "python312", "go122", "rust"]);
                let source =
                    self.ever(2, || format!("source_dir: ./{}", self.values.pick::<&str>(&["one", "two"])));
                let memory = self.maybe(2, || format!("memory_mb: {}", 128 + self.values.below(1_921)));
                let env = self.maybe(3, || "env_vars: { MODE: fast }".to_owned());
                let entry = [Some(format!("runtime: {runtime}, handler: main.run")), source, memory, env];
                self.add("serverless_function", &entry.into_iter().flatten().collect::<Vec<_>>());
            }
            15 => self.add("ssh_key", &[format!("public_key: {KEY} k{}", self.count)]),
            16 => self.people(),
            _ => {
                if self.all("spend_settings").is_empty() {
                    let cap = 1_000 + self.values.below(10_000);
                    let action = self.pick(&["notify_only", "pause"]);
                    self.add("spend_settings", &[format!("monthly_cap_usd: {cap}, cap_action: {action}")]);
                }
            }
        }
    }

    fn vpc(&mut self) {
        self.add("vpc", &[format!("cidr: 10.{}.0.0/16", self.count)]);
    }

    /// Paid by the month, once in so many times; for what holds data that does not change.
    fn monthly(&self, changes: bool) -> Option<String> {
        let monthly = || "billing_type: subscription".to_owned();
        if changes { self.maybe(5, monthly) } else { self.ever(4, monthly) }
    }

    fn vm(&mut self) {
        // Another template or billing takes another machine.
        let template = if self.values.once_in(6) { TEMPLATES[1] } else { TEMPLATES[0] };
        let mut entry = vec![format!("template: {template}, plan: {}", self.pick(VM_PLANS))];
        entry.extend(self.monthly(true));
        entry.extend(self.any("vpc").map(|vpc| format!("vpc: {vpc}")).filter(|_| self.chance.once_in(2)));
        let keys = self.all("ssh_key");
        entry.extend((!keys.is_empty()).then(|| format!("ssh_keys: [{}]", keys.join(", "))));
        entry
            .extend(self.maybe(4, || "power: off".to_owned()).map(|power| power.replace("off", "\"off\"")));
        entry.extend(self.maybe(4, || "console_require_mfa: true".to_owned()));
        self.add("vm", &entry);
    }

    fn volume(&mut self) {
        // It can only grow.
        let grown = if self.edited { self.values.below(3) * self.values.below(200) } else { 0 };
        let mut entry = vec![format!("size: {}", 1 + self.chance.below(500) + grown)];
        entry.extend(self.monthly(false));
        entry.extend(self.any("vm").map(|vm| format!("vm: {vm}")).filter(|_| self.values.once_in(2)));
        self.add("volume", &entry);
    }

    /// A snapshot or a backup.
    fn copy(&mut self) {
        let (vm, volume) = (self.any("vm"), self.any("volume"));
        match (vm, volume, self.chance.below(3)) {
            (Some(vm), _, 0) => self.add("backup", &[format!("vm: {vm}")]),
            (Some(vm), _, 1) => self.add("snapshot", &[format!("vm: {vm}")]),
            (_, Some(volume), _) => self.add("snapshot", &[format!("volume: {volume}")]),
            _ => self.volume(),
        }
    }

    /// A VM has at most one of a frequency.
    fn schedule(&mut self) {
        let taken = self.blocks.iter().find(|(kind, _)| *kind == "backup_schedule");
        let taken: Vec<String> =
            taken.into_iter().flat_map(|(_, all)| all).map(|(_, entry)| entry.clone()).collect();
        let frequency = self.pick(&["daily", "weekly"]);
        let free = |vm: &String| {
            !taken.iter().any(|entry| entry.starts_with(&format!("vm: {vm}, frequency: {frequency}")))
        };
        let Some(vm) = self.any("vm").filter(free) else { return self.vm() };
        let mut entry = vec![format!("vm: {vm}, frequency: {frequency}")];
        entry.extend((frequency == "weekly").then(|| "day_of_week: friday".to_owned()));
        entry.extend(self.maybe(2, || {
            format!("hour: {}, retention: {}", self.values.below(12), 1 + self.values.below(30))
        }));
        self.add("backup_schedule", &entry);
    }

    fn database(&mut self) {
        let (engine, plans) = *self.chance.pick(PLANS);
        let plan = self.pick(plans);
        let paid = !plan.ends_with("free");
        let mut entry = vec![format!("engine: {engine}, plan: {plan}")];
        entry.extend(self.monthly(false).filter(|_| paid));
        entry.extend(self.ever(3, || "engine_version: 16".to_owned()).filter(|_| engine == "postgres"));
        entry.extend(self.any("vpc").map(|vpc| format!("vpc: {vpc}")).filter(|_| self.values.once_in(2)));
        entry.extend(
            self.ever(3, || format!("storage_gb: {}", 500 + self.chance.below(300))).filter(|_| paid),
        );
        entry.extend(self.maybe(3, || "ha_enabled: true".to_owned()).filter(|_| paid));
        entry
            .extend(self.maybe(3, || "public_access: true, public_allowlist: [203.0.113.0/24]".to_owned()));
        let queries = "saved_queries: { slow: { query: SELECT 1 } }".to_owned();
        entry.extend(self.maybe(4, || queries));
        entry.extend(
            self.maybe(2, || "users: { reader: {}, writer: {} }".to_owned()).filter(|_| engine != "valkey"),
        );
        if engine == "postgres" && paid {
            entry.extend(self.maybe(3, || format!("replica_count: {}", self.values.below(4))));
            entry.extend(self.ever(3, || "extensions: [vector]".to_owned()));
        }
        self.add("database", &entry);
    }

    fn cluster(&mut self) {
        let (now, next) = *self.chance.pick(VERSIONS);
        let upgraded = self.chance.once_in(2) && self.edited;
        let mut entry = vec![format!("version: \"{}\"", if upgraded { next } else { now })];
        entry.extend(self.any("vpc").map(|vpc| format!("vpc: {vpc}")).filter(|_| self.chance.once_in(2)));
        entry.extend(self.ever(2, || "control_plane_count: 3".to_owned()));
        let pools = (0..=self.chance.below(2)).map(|n| {
            let labels = self.maybe(3, || ", labels: { role: batch }".to_owned()).unwrap_or_default();
            let taints = self.maybe(4, || ", taints: [\"a=b:NoSchedule\"]".to_owned()).unwrap_or_default();
            let count = 2 + self.values.below(4);
            // Another plan takes another pool.
            let plan = self.values.pick::<&str>(NODES);
            format!("p{n}: {{ plan: {plan}, node_count: {count}{labels}{taints} }}")
        });
        entry.push(format!("node_pools: {{ {} }}", pools.collect::<Vec<_>>().join(", ")));
        self.add("cluster", &entry);
    }

    fn app(&mut self) {
        let kind = self.pick(&["web", "private", "worker", "cron", "job"]);
        let source = match self.chance.below(3) {
            0 => format!("image: {}", self.values.pick::<&str>(&["nginx", "httpd"])),
            1 => format!("repo: acme/shop, branch: {}", self.values.pick::<&str>(&["main", "next"])),
            _ => format!("source_dir: ./{}", self.values.pick::<&str>(&["one", "two"])),
        };
        // Another sort of source takes another app.
        let source = if self.values.once_in(8) { "image: caddy".to_owned() } else { source };
        let mut entry = vec![format!("type: {kind}, {source}")];
        entry.extend(self.monthly(true));
        entry.extend((!self.chance.once_in(4)).then(|| format!("size: {}", self.values.pick(SIZES))));
        entry.extend((kind == "cron").then(|| "cron_schedule: \"0 3 1 1 *\"".to_owned()));
        let scaled = |least: u64| {
            format!(
                "autoscaling: {{ min_replicas: {least}, max_replicas: {}, metric: concurrency, target: 50 }}",
                1 + least + self.values.below(3)
            )
        };
        entry.extend(match (kind, self.chance.below(3)) {
            ("web", 0) => Some(scaled(self.values.below(3))),
            ("private", 0) => Some(scaled(0)),
            ("web" | "private" | "worker", 1) => Some(format!("instances: {}", 1 + self.values.below(6))),
            _ => None,
        });
        entry.extend(self.maybe(3, || "env_vars: { MODE: fast, EMPTY: \"\" }".to_owned()));
        if matches!(kind, "web" | "private") {
            entry.extend(self.maybe(3, || format!("port: {}", 3_000 + self.values.below(5_000))));
            entry.extend(self.maybe(3, || "health_check_path: /healthz".to_owned()));
        }
        let domain = format!("domains: [r{}.example.com]", self.count);
        entry.extend(self.maybe(3, || domain).filter(|_| kind == "web"));
        let links = self.linkable();
        entry.extend((!links.is_empty()).then(|| format!("databases: [{}]", self.chance.pick(&links))));
        self.add("app", &entry);
    }

    fn linkable(&self) -> Vec<String> {
        if self.chance.once_in(2) { self.all("database") } else { Vec::new() }
    }

    /// Roles, keys and invitations.
    fn people(&mut self) {
        match self.chance.below(3) {
            0 => {
                let more = self.maybe(2, || ", compute:write".to_owned()).unwrap_or_default();
                self.add("role", &[format!("permissions: [apps:read, databases:read{more}]")]);
            }
            1 => {
                let role = self.any("role").unwrap_or_else(|| self.pick(ROLES).to_owned());
                // Another end takes another key.
                let year = if self.values.once_in(4) { 2031 } else { 2030 };
                let goes = format!("deliver_secret: {{ file: ./secrets/key{} }}", self.count);
                let body = format!("role: {role}, expires_at: \"{year}-01-01T00:00:00Z\", {goes}");
                self.add("api_key", &[body]);
            }
            _ => {
                let role = self.pick(ROLES);
                self.add("invitation", &[format!("email: r{}@example.com, role: {role}", self.count)]);
            }
        }
    }

    /// The project that everything is in, with the keys as its members.
    fn project(&mut self) {
        let member = |(n, key): (usize, &String)| format!("m{n}: {{ api_key: {key}, role: developer }}");
        let members: Vec<String> = self.all("api_key").iter().enumerate().map(member).collect();
        self.add("project", &[format!("members: {{ {} }}", members.join(", "))]);
    }
}
