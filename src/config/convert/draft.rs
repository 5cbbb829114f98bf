//! `StackDraft`: the stack that a conversion builds up. Readers of all formats fill it;
//! `StackDraft::into_entries` turns it into the top level of a stack's file. Invariant: no value that looks
//! like a secret is copied.

use super::interpolate::{InterpolationPart, split_pieces};
use super::unsupported_fields::omission_reason;
use crate::config::edit::ConfigLiteral;
use crate::config::resolve::template;
use crate::model::address::{Name, is_legal_segment};
use crate::model::redact::secret_heuristics::{is_secret_key, looks_secret};
use crate::model::schema::{Kind, Registry};
use crate::model::source::Span;

/// Engines, each with the names that others have for it, and a small plan.
const ENGINES: &[(&str, &[&str], &str)] = &[
    ("postgres", &["postgres", "postgresql", "pg", "postgis", "pgvector"], "pg-1c-2g"),
    ("mysql", &["mysql", "mariadb", "percona"], "mysql-1c-2g"),
    ("valkey", &["valkey", "redis", "keyvalue"], "valkey-1c-1g"),
    ("kafka", &["kafka", "cp-kafka"], "kafka-2c-4g"),
    ("clickhouse", &["clickhouse", "clickhouse-server"], "clickhouse-2c-8g"),
];

/// Stack that a conversion builds up.
#[derive(Debug, Default)]
pub(super) struct StackDraft {
    vars: Vec<DraftVariable>,
    pub(super) databases: Vec<DraftDatabase>,
    pub(super) apps: Vec<DraftApp>,
    /// Fields that could not be converted: span, and path with the reason.
    left_out: Vec<(Span, String)>,
}

/// Variable that the converted stack declares.
#[derive(Debug)]
struct DraftVariable {
    name: Name,
    /// Identity of the value: the name of a variable of the other tool, or the key of a secret that its file contains.
    of: String,
    /// Plain text of the secret, which the converted file must not contain; `None` if the other tool's file
    /// does not contain the value.
    hidden: Option<String>,
    is_secret: bool,
    default: Option<String>,
    /// The stack generates the value.
    generated: bool,
}

/// Database of the converted stack.
#[derive(Debug, Default)]
pub(super) struct DraftDatabase {
    /// Name in the other tool's file.
    pub(super) name: String,
    /// Engine name in our language.
    pub(super) engine: &'static str,
    /// Engine version; `None` if the file does not name one.
    pub(super) version: Option<String>,
    /// Networks that may connect from outside: `None` allows no network, an empty list
    /// every network (Database: `public_allowlist`).
    pub(super) allowed: Option<Vec<String>>,
    /// Further attributes in the order to be written.
    pub(super) attributes: Vec<(&'static str, ConfigLiteral)>,
}

/// Application of the converted stack.
#[derive(Debug, Default)]
pub(super) struct DraftApp {
    /// Name in the other tool's file.
    pub(super) name: String,
    /// Attributes, in the order in which they are written.
    pub(super) attributes: Vec<(&'static str, ConfigLiteral)>,
    /// Databases that it uses, as the other file calls them.
    pub(super) uses: Vec<String>,
    /// Applications that it waits for, as the other file calls them.
    pub(super) waits: Vec<String>,
    pub(super) domains: Vec<String>,
    /// Environment variables, in the order in which they are written.
    pub(super) env: Vec<(String, ConfigLiteral)>,
}

impl DraftApp {
    /// Adds an attribute, if there is a value.
    pub(super) fn set_attribute(&mut self, attribute: &'static str, value: Option<ConfigLiteral>) {
        if let Some(value) = value {
            self.attributes.push((attribute, value));
        }
    }

    /// Adds an attribute with a literal string, if there is a non-empty one.
    pub(super) fn set_text(&mut self, attribute: &'static str, value: Option<&str>) {
        self.set_attribute(attribute, value.filter(|text| !text.is_empty()).map(literal_text));
    }

    /// Adds an attribute with a number, if the string is one that fits into 32 bits.
    pub(super) fn set_number(&mut self, attribute: &'static str, value: Option<&str>) {
        self.set_attribute(
            attribute,
            value.filter(|text| text.parse::<u32>().is_ok()).map(|text| ConfigLiteral::Number(text.into())),
        );
    }

    /// Adds the minimum and maximum number of instances for scaling, each clamped to the legal range of 1 to 6
    /// (Limits); a missing maximum equals the minimum.
    pub(super) fn set_scaling(&mut self, least: Option<&str>, most: Option<&str>) {
        let number = |text: Option<&str>| {
            let number = text.and_then(|text| text.parse::<u32>().ok()).unwrap_or(1).clamp(1, 6);
            ConfigLiteral::Number(number.to_string().into())
        };
        let parts = [
            ("min_replicas", number(least)),
            ("max_replicas", number(most.or(least))),
            ("metric", ConfigLiteral::text("concurrency")),
            ("target", ConfigLiteral::Number("80".into())),
        ];
        self.set_attribute("autoscaling", Some(ConfigLiteral::map(parts)));
    }

    /// Sets a variable of its environment; a later value of the same name replaces an earlier one.
    pub(super) fn set_variable(&mut self, key: &str, value: ConfigLiteral) {
        match self.env.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.env.push((key.to_owned(), value)),
        }
    }
}

/// Returns a string literal in which no part is an expression: dollars are escaped.
pub(super) fn literal_text(text: &str) -> ConfigLiteral {
    ConfigLiteral::text(template::escape_literal(text))
}

/// Returns our name of the engine that another tool calls `name`; `None` if the service has no such engine.
pub(super) fn database_engine(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    ENGINES.iter().find(|(_, names, _)| names.contains(&name.as_str())).map(|(engine, ..)| *engine)
}

/// Converts a name to one that is legal in an address; `main` if nothing of it is legal.
pub(super) fn legal_name(name: &str) -> Name {
    let legal: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' { c } else { '-' })
        .collect();
    let legal = legal.trim_matches('-');
    Name::new(if is_legal_segment(legal) { legal } else { "main" })
}

/// Returns a legal name for each name of the other file, in the same order, without duplicates.
fn unique_names<'n>(originals: impl Iterator<Item = &'n str>) -> Vec<Name> {
    let mut given: Vec<Name> = Vec::new();
    for original in originals {
        let wanted = legal_name(original);
        given.push(free_name(&wanted, "-", |name| given.contains(name)));
    }
    given
}

/// Returns a name that is not taken: `wanted`, or `wanted` with a number appended.
fn free_name(wanted: &str, before: &str, taken: impl Fn(&Name) -> bool) -> Name {
    let numbered = (2_u32..).map(|n| Name::from(format!("{wanted}{before}{n}")));
    let mut all = std::iter::once(Name::new(wanted)).chain(numbered);
    all.find(|name| !taken(name)).unwrap_or_else(|| Name::new(wanted))
}

impl StackDraft {
    /// Returns the variable for a value of the other tool, and declares it on first use.
    fn declare_variable(&mut self, of: &str, hidden: Option<&str>, wanted: &str) -> &mut DraftVariable {
        let same = |known: &DraftVariable| known.of == of && known.hidden.as_deref() == hidden;
        let n = self.vars.iter().position(same).unwrap_or_else(|| {
            let wanted = legal_name(wanted).replace('-', "_");
            let taken = |name: &Name| self.vars.iter().any(|known| known.name == *name);
            self.vars.push(DraftVariable {
                name: free_name(&wanted, "_", taken),
                of: of.to_owned(),
                hidden: hidden.map(str::to_owned),
                is_secret: is_secret_key(of),
                default: None,
                generated: false,
            });
            self.vars.len() - 1
        });
        &mut self.vars[n]
    }

    /// Declares a secret that the user enters or, with `generated`, the stack generates, and returns a reference to it.
    pub(super) fn declare_deferred_secret(&mut self, key: &str, generated: bool) -> ConfigLiteral {
        let variable = self.declare_variable(key, None, key);
        (variable.is_secret, variable.generated) = (true, variable.generated || generated);
        variable.default = None;
        ConfigLiteral::text(format!("$vars.{}", variable.name))
    }

    /// Declares a variable that the other tool reads from its process environment, and returns its name.
    fn declare_external_variable(
        &mut self,
        key: &str,
        default: Option<String>,
        (at, path): (Span, &str),
    ) -> Name {
        let variable = self.declare_variable(key, None, key);
        variable.is_secret |= path.rsplit('.').next().is_some_and(is_secret_key);
        variable.is_secret |= default.as_ref().is_some_and(|default| looks_secret(key, default));
        let name = variable.name.clone();
        let mut why = String::new();
        // The value that makes the variable a secret may come after its first default in the file.
        let earlier = variable.default.take_if(|_| variable.is_secret);
        match (default.or(earlier), &variable.default) {
            (Some(default), _) if variable.is_secret && !default.is_empty() => {
                why = format!("no default is written for the secret {name}");
            }
            // A variable's default is never evaluated, and has no escape for a dollar.
            (Some(default), _) if default.starts_with('$') || default.contains("${") => {
                why = format!("the default of vars.{name} would look like an expression: give it by --var");
            }
            (Some(default), None) => variable.default = Some(default),
            (Some(new), Some(old)) if new != *old => {
                why = format!("vars.{name} has another default already; the default here is {new}");
            }
            _ => {}
        }
        if !why.is_empty() {
            self.leave_out(at, path, &why);
        }
        name
    }

    /// Converts a string of a Compose file; each interpolation becomes a reference to a variable.
    pub(super) fn filled_in(&mut self, text: &str, place: (Span, &str)) -> ConfigLiteral {
        ConfigLiteral::text(self.filled_text(split_pieces(text), place))
    }

    fn filled_text(&mut self, pieces: Vec<InterpolationPart>, (at, path): (Span, &str)) -> String {
        let alone = pieces.len() == 1;
        let mut out = String::new();
        for piece in pieces {
            match piece {
                InterpolationPart::Text(text) if alone => out.push_str(&template::escape_literal(&text)),
                InterpolationPart::Text(text) => out.push_str(&text.replace('$', "$$")),
                InterpolationPart::Variable { name, default, odd } => {
                    if odd {
                        let why =
                            format!("the substitution of {name} is more complex than a default value");
                        self.leave_out(at, path, &why);
                    }
                    let name = self.declare_external_variable(&name, default, (at, path));
                    let (open, close) = if alone { ("$", "") } else { ("${", "}") };
                    out.extend([open, "vars.", name.as_str(), close]);
                }
            }
        }
        template::marked_as_text(out)
    }

    /// Converts the value of an environment variable of a Compose file. A literal next to an interpolation can
    /// be a secret as well.
    pub(super) fn filled_value(
        &mut self,
        app: &str,
        key: &str,
        value: &str,
        place: (Span, &str),
    ) -> ConfigLiteral {
        let pieces = split_pieces(value);
        if let [InterpolationPart::Text(text)] = pieces.as_slice() {
            return self.value_literal(app, key, text, place.0);
        }
        let own: String = pieces
            .iter()
            .map(|piece| if let InterpolationPart::Text(text) = piece { text } else { "" })
            .collect();
        // A login whose password is interpolated contains no secret itself.
        let own = own.replace(":@", "@");
        if own.contains(char::is_alphanumeric) && looks_secret(key, &own) {
            return ConfigLiteral::text(format!(
                "$vars.{}",
                self.declare_hidden_variable(app, key, value, place.0)
            ));
        }
        ConfigLiteral::text(self.filled_text(pieces, place))
    }

    /// Converts a command of a Compose file; secrets among its words become variables.
    pub(super) fn filled_command(
        &mut self,
        app: &str,
        command: &str,
        place: (Span, &str),
    ) -> ConfigLiteral {
        let mut text = self.filled_text(split_pieces(command), place);
        let mut option = "";
        for word in command.split_whitespace().map(|word| word.trim_matches(['\'', '"'])) {
            let (key, value) = word.split_once('=').unwrap_or((option, word));
            option = if word.starts_with("--") && !word.contains('=') { word } else { "" };
            let key = key.trim_start_matches('-');
            if !option.is_empty() || value.contains('$') || !looks_secret(key, value) {
                continue;
            }
            let name = self.declare_hidden_variable(
                app,
                if key.is_empty() { "command_secret" } else { key },
                value,
                place.0,
            );
            text = text.replace(value, &format!("${{vars.{name}}}"));
        }
        ConfigLiteral::text(text)
    }

    /// Converts a literal value; a secret is not copied, but becomes a variable.
    pub(super) fn value_literal(&mut self, app: &str, key: &str, value: &str, at: Span) -> ConfigLiteral {
        if !looks_secret(key, value) {
            return literal_text(value);
        }
        ConfigLiteral::text(format!("$vars.{}", self.declare_hidden_variable(app, key, value, at)))
    }

    /// Declares a variable for a secret that the file contains, notes that it was not copied, and
    /// returns the variable's name.
    fn declare_hidden_variable(&mut self, app: &str, key: &str, value: &str, at: Span) -> Name {
        let others =
            self.vars.iter().any(|known| known.of == key && known.hidden.as_deref() != Some(value));
        let wanted = if others { format!("{app}_{key}") } else { key.to_owned() };
        let variable = self.declare_variable(key, Some(value), &wanted);
        variable.is_secret = true;
        let name = variable.name.clone();
        let why = format!("it looks like a secret, and was not copied: pass it as vars.{name}");
        self.leave_out(at, &format!("{app}.{key}"), &why);
        name
    }

    /// Records that a field could not be converted, and why.
    pub(super) fn leave_out(&mut self, at: Span, path: &str, why: &str) {
        self.left_out.push((at, if why.is_empty() { path.to_owned() } else { format!("{path}: {why}") }));
    }

    /// Records several fields that could not be converted.
    pub(super) fn leave_all(&mut self, fields: Vec<(Span, String, &str)>) {
        for (at, path, key) in fields {
            self.leave_out(at, &path, omission_reason(key));
        }
    }

    /// Returns whether a database has this name in the other tool's file.
    pub(super) fn is_database(&self, name: &str) -> bool {
        self.databases.iter().any(|database| database.name == name)
    }

    /// Returns whether nothing was converted.
    pub(super) fn is_empty(&self) -> bool {
        self.apps.is_empty() && self.databases.is_empty()
    }

    /// Takes the fields that could not be converted, in the order of the file and without duplicates.
    pub(super) fn left_out(&mut self) -> Vec<(Span, String)> {
        let mut all = std::mem::take(&mut self.left_out);
        all.sort_by_key(|(at, _)| at.start);
        all.dedup();
        all
    }

    /// Returns the variables that need a value from the user.
    pub(super) fn required_variables(&self) -> Vec<&Name> {
        let open = self.vars.iter().filter(|one| one.default.is_none() && !one.generated);
        open.map(|one| &one.name).collect()
    }

    /// Returns the top level of the stack's file, in the order to be written.
    pub(super) fn into_entries(self, stack: &str, registry: &Registry) -> Vec<(Name, ConfigLiteral)> {
        let with = |attributes: [&str; 2]| {
            registry.top_level().find(|kind| attributes.iter().all(|name| kind.attribute(name).is_some()))
        };
        let mut entries = vec![
            (Name::new_static("stead"), ConfigLiteral::Number("1".into())),
            (Name::new_static("stack"), ConfigLiteral::text(stack)),
        ];
        if !self.vars.is_empty() {
            let vars = self.vars.into_iter().map(variable_entry).collect();
            entries.push((Name::new_static("vars"), ConfigLiteral::Map(vars)));
        }
        entries.push((
            Name::new_static("project"),
            ConfigLiteral::Map(vec![(stack.into(), ConfigLiteral::Map(Vec::new()))]),
        ));
        let (Some(apps), Some(databases)) =
            (with(["start_command", "cron_schedule"]), with(["engine", "storage_gb"]))
        else {
            return entries;
        };
        let called = ConvertedNames {
            kinds: [apps, databases],
            apps: names_by_original(self.apps.iter().map(|one| one.name.as_str())),
            databases: names_by_original(self.databases.iter().map(|one| one.name.as_str())),
        };
        let of = |blocks: Vec<(Name, ConfigLiteral)>, kind: &Kind| {
            (!blocks.is_empty()).then(|| (Name::from(kind.name), ConfigLiteral::Map(blocks)))
        };
        let blocks = self.databases.into_iter().map(database_literal);
        let blocks = called.databases.iter().map(|(_, name)| name.clone()).zip(blocks).collect();
        entries.extend(of(blocks, databases));
        let blocks = self.apps.into_iter().map(|one| app_literal(one, &called));
        let blocks = called.apps.iter().map(|(_, name)| name.clone()).zip(blocks).collect();
        entries.extend(of(blocks, apps));
        entries
    }
}

/// Names in the converted stack, with the names in the other tool's file.
struct ConvertedNames<'k> {
    kinds: [&'k Kind; 2],
    apps: Vec<(String, Name)>,
    databases: Vec<(String, Name)>,
}

fn names_by_original<'n>(originals: impl Iterator<Item = &'n str> + Clone) -> Vec<(String, Name)> {
    originals.clone().map(str::to_owned).zip(unique_names(originals)).collect()
}

fn variable_entry(variable: DraftVariable) -> (Name, ConfigLiteral) {
    let ty = if variable.is_secret { "secret" } else { "string" };
    let mut entries = vec![(Name::new_static("type"), ConfigLiteral::text(ty))];
    let default = variable.default.map(ConfigLiteral::text);
    entries.extend(default.map(|text| (Name::new_static("default"), text)));
    if variable.generated {
        entries.push((Name::new_static("generate"), ConfigLiteral::Number("32".into())));
    }
    (variable.name, ConfigLiteral::Map(entries))
}

fn database_literal(draft: DraftDatabase) -> ConfigLiteral {
    let plan = ENGINES.iter().find(|(engine, ..)| *engine == draft.engine).map_or("", |(.., plan)| *plan);
    let mut entries = vec![(Name::new_static("engine"), ConfigLiteral::text(draft.engine))];
    entries.extend(
        draft.version.iter().map(|version| (Name::new_static("engine_version"), literal_text(version))),
    );
    entries.push((Name::new_static("plan"), ConfigLiteral::text(plan)));
    entries.extend(draft.attributes.into_iter().map(|(name, value)| (name.into(), value)));
    if let Some(allowed) = draft.allowed {
        entries.push((Name::new_static("public_access"), ConfigLiteral::Boolean(true)));
        let allowed: Vec<ConfigLiteral> = allowed.iter().map(|network| literal_text(network)).collect();
        let allowed = (!allowed.is_empty()).then_some(ConfigLiteral::List(allowed));
        entries.extend(allowed.map(|allowed| (Name::new_static("public_allowlist"), allowed)));
    }
    ConfigLiteral::Map(entries)
}

fn app_literal(draft: DraftApp, called: &ConvertedNames<'_>) -> ConfigLiteral {
    let list = |items: Vec<ConfigLiteral>| (!items.is_empty()).then_some(ConfigLiteral::List(items));
    let find = |all: &[(String, Name)], name: &String| {
        all.iter().find(|(known, _)| known == name).map(|(_, name)| name.clone())
    };
    let [apps, databases] = called.kinds.map(|kind| kind.name);
    let mut entries: Vec<(Name, ConfigLiteral)> =
        draft.attributes.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let mut uses = draft.uses;
    uses.sort();
    uses.dedup();
    let links = uses.iter().filter_map(|name| find(&called.databases, name));
    let links = links.map(|name| ConfigLiteral::text(format!("${databases}.{name}"))).collect();
    let domains = draft.domains.iter().map(|domain| literal_text(domain)).collect();
    let waits = draft.waits.iter().filter_map(|name| find(&called.apps, name));
    let waits = waits.map(|name| ConfigLiteral::text(format!("{apps}.{name}"))).collect();
    entries.extend(list(links).map(|links| (Name::new_static("databases"), links)));
    entries.extend(list(domains).map(|domains| (Name::new_static("domains"), domains)));
    if !draft.env.is_empty() {
        let env = draft.env.into_iter().map(|(key, value)| (Name::from(key), value)).collect();
        entries.push((Name::new_static("env_vars"), ConfigLiteral::Map(env)));
    }
    entries.extend(list(waits).map(|waits| (Name::new_static("depends_on"), waits)));
    ConfigLiteral::Map(entries)
}
