//! `Draft`: a stack in the making, whatever tool it comes from.

use crate::config::edit::Literal;
use crate::model::address::{Name, is_legal_segment};
use crate::model::schema::{Kind, Registry};

/// An engine, the names that others have for it, and a small plan.
const ENGINES: &[(&str, &[&str], &str)] = &[
    ("postgres", &["postgres", "postgresql", "pg", "postgis", "pgvector"], "pg-1c-2g"),
    ("mysql", &["mysql", "mariadb", "percona"], "mysql-1c-2g"),
    ("valkey", &["valkey", "redis", "keyvalue"], "valkey-1c-1g"),
    ("kafka", &["kafka", "cp-kafka"], "kafka-2c-4g"),
    ("clickhouse", &["clickhouse", "clickhouse-server"], "clickhouse-2c-8g"),
];

/// A stack in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    vars: Vec<(Name, Literal)>,
    /// Databases by name.
    pub(super) databases: Vec<Database>,
    /// Applications by name.
    pub(super) apps: Vec<App>,
    /// What could not be carried over.
    pub(super) left_out: Vec<String>,
}

/// A database.
#[derive(Debug, Default)]
pub(super) struct Database {
    /// As the other file calls it.
    pub(super) name: String,
    /// As this language calls it.
    pub(super) engine: &'static str,
    /// Where one is said.
    pub(super) version: Option<String>,
    /// Who may reach it from outside.
    pub(super) allowed: Vec<String>,
}

/// An application.
#[derive(Debug, Default)]
pub(super) struct App {
    /// As the other file calls it.
    pub(super) name: String,
    /// Attributes in the order to be written.
    pub(super) attributes: Vec<(&'static str, Literal)>,
    /// Databases that it uses, as the other file calls them.
    pub(super) uses: Vec<String>,
    /// Applications that it waits for.
    pub(super) waits: Vec<String>,
    /// Its host names.
    pub(super) domains: Vec<String>,
    /// Its environment.
    pub(super) env: Vec<(String, Literal)>,
}

impl App {
    /// Sets an attribute, if there is a value.
    pub(super) fn set(&mut self, attribute: &'static str, value: Option<Literal>) {
        if let Some(value) = value {
            self.attributes.push((attribute, value));
        }
    }

    /// Sets an attribute to a text.
    pub(super) fn text(&mut self, attribute: &'static str, value: Option<&str>) {
        self.set(attribute, value.filter(|text| !text.is_empty()).map(plain));
    }

    /// Sets an attribute to a number.
    pub(super) fn number(&mut self, attribute: &'static str, value: Option<&str>) {
        self.set(
            attribute,
            value.filter(|text| text.parse::<u32>().is_ok()).map(|text| Literal::Number(text.into())),
        );
    }
}

/// Returns a text that is no expression.
pub(super) fn plain(text: &str) -> Literal {
    Literal::text(text.replace('$', "$$"))
}

/// Returns the engine that a name stands for.
pub(super) fn engine(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    ENGINES.iter().find(|(_, names, _)| names.contains(&name.as_str())).map(|(engine, ..)| *engine)
}

/// Returns a name that an address can hold.
pub(super) fn legal(name: &str) -> Name {
    let legal: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' { c } else { '-' })
        .collect();
    let legal = legal.trim_matches('-');
    Name::new(if is_legal_segment(legal) { legal } else { "main" })
}

impl Draft {
    /// Declares a variable, once, and returns the way to it.
    pub(super) fn variable(&mut self, name: &str, ty: &str, default: Option<&str>) -> String {
        let name: Name = legal(name).replace('-', "_").into();
        if !self.vars.iter().any(|(known, _)| *known == name) {
            let mut entries = vec![(Name::new_static("type"), Literal::text(ty))];
            entries.extend(default.map(|text| (Name::new_static("default"), plain(text))));
            self.vars.push((name.clone(), Literal::Map(entries)));
        }
        format!("vars.{name}")
    }

    /// Says that something could not be carried over.
    pub(super) fn leave(&mut self, path: &str, why: &str) {
        self.left_out.push(if why.is_empty() { path.to_owned() } else { format!("{path}: {why}") });
    }

    /// Says so of many.
    pub(super) fn leave_all(&mut self, paths: Vec<String>) {
        self.left_out.extend(paths);
    }

    /// Tells whether a database has this name.
    pub(super) fn is_database(&self, name: &str) -> bool {
        self.databases.iter().any(|database| database.name == name)
    }

    /// Returns the top level of the stack's file, and what could not be carried over.
    pub(super) fn finish(
        mut self,
        stack: &str,
        registry: &Registry,
    ) -> (Vec<(Name, Literal)>, Vec<String>) {
        let with = |attributes: [&str; 2]| {
            registry.top_level().find(|kind| attributes.iter().all(|name| kind.attribute(name).is_some()))
        };
        let (apps, databases) = (with(["start_command", "cron_schedule"]), with(["engine", "storage_gb"]));
        let mut entries = vec![
            (Name::new_static("stead"), Literal::Number("1".into())),
            (Name::new_static("stack"), Literal::text(stack)),
        ];
        if !self.vars.is_empty() {
            entries.push((Name::new_static("vars"), Literal::Map(std::mem::take(&mut self.vars))));
        }
        entries.push((
            Name::new_static("project"),
            Literal::Map(vec![(stack.into(), Literal::Map(Vec::new()))]),
        ));
        if let Some(kind) = databases.filter(|_| !self.databases.is_empty()) {
            let blocks = self.databases.iter().map(|one| (legal(&one.name), database(one))).collect();
            entries.push((kind.name.into(), Literal::Map(blocks)));
        }
        if let (Some(kind), Some(databases)) = (apps.filter(|_| !self.apps.is_empty()), databases) {
            let blocks = std::mem::take(&mut self.apps);
            let known: Vec<Name> = blocks.iter().map(|one| legal(&one.name)).collect();
            let blocks =
                blocks.into_iter().map(|one| (legal(&one.name), app(one, kind, databases, &known)));
            entries.push((kind.name.into(), Literal::Map(blocks.collect())));
        }
        (entries, self.left_out)
    }
}

fn database(draft: &Database) -> Literal {
    let plan = ENGINES.iter().find(|(engine, ..)| *engine == draft.engine).map_or("", |(.., plan)| *plan);
    let mut entries = vec![(Name::new_static("engine"), Literal::text(draft.engine))];
    entries
        .extend(draft.version.iter().map(|version| (Name::new_static("engine_version"), plain(version))));
    entries.push((Name::new_static("plan"), Literal::text(plan)));
    if !draft.allowed.is_empty() {
        entries.push((Name::new_static("public_access"), Literal::Boolean(true)));
        let allowed = draft.allowed.iter().map(|network| plain(network)).collect();
        entries.push((Name::new_static("public_allowlist"), Literal::List(allowed)));
    }
    Literal::Map(entries)
}

fn app(draft: App, kind: &Kind, databases: &Kind, known: &[Name]) -> Literal {
    let list = |items: Vec<Literal>| (!items.is_empty()).then_some(Literal::List(items));
    let mut entries: Vec<(Name, Literal)> =
        draft.attributes.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let mut uses = draft.uses;
    uses.sort();
    uses.dedup();
    let links =
        uses.iter().map(|name| Literal::text(format!("${}.{}", databases.name, legal(name)))).collect();
    let domains = draft.domains.iter().map(|domain| plain(domain)).collect();
    let waits = draft.waits.iter().map(|name| legal(name)).filter(|name| known.contains(name));
    let waits = waits.map(|name| Literal::text(format!("{}.{name}", kind.name))).collect();
    entries.extend(list(links).map(|links| (Name::new_static("databases"), links)));
    entries.extend(list(domains).map(|domains| (Name::new_static("domains"), domains)));
    if !draft.env.is_empty() {
        let env = draft.env.into_iter().map(|(key, value)| (Name::from(key), value)).collect();
        entries.push((Name::new_static("env_vars"), Literal::Map(env)));
    }
    entries.extend(list(waits).map(|waits| (Name::new_static("depends_on"), waits)));
    Literal::Map(entries)
}
