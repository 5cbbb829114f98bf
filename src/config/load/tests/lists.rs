//! Plain entries of collections: each is a resource whose address derives from its value.

use super::{Config, yaml};
use crate::kinds::REGISTRY;

/// Returns a stack of an app with these domains and databases, and `more` top-level blocks.
fn app(lists: &str, more: &str) -> Config {
    let text = format!(
        "project: {{ p: {{}} }}
database: {{ main: {{ engine: postgres, engine_version: 16, plan: pg-1c-2g, storage_gb: 40 }} }}
app: {{ web: {{ type: web, repo: acme/shop, branch: main, port: 80, {lists} }} }}
{more}\n"
    );
    yaml(&text).registry(REGISTRY)
}

fn children(config: &Config) -> String {
    let stack = config.stack();
    let all = stack.resources.keys().filter_map(|address| address.as_str().strip_prefix("app.web."));
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_source_of_a_value_does_not_change_its_address() {
    let plain = children(&app("domains: [a.example.com], databases: [$database.main]", ""));
    assert_eq!(plain, "databases.main domains.a-example-com");
    for (lists, more) in [
        ("domains: [$locals.host]", "locals: { host: a.example.com }"),
        ("domains: [$locals.renamed]", "locals: { renamed: a.example.com }"),
        ("domains: [$vars.host]", "vars: { host: { default: a.example.com } }"),
        ("domains: [\"${vars.sub + '.example.com'}\"]", "vars: { sub: { default: a } }"),
        ("domains: [\"${vars.sub}.example.com\"]", "vars: { sub: { default: a } }"),
        ("domains: [$locals.hosts.first]", "locals: { hosts: { first: a.example.com } }"),
    ] {
        let config = app(&format!("{lists}, databases: [$database.main]"), more);
        assert_eq!(children(&config), plain, "{lists}");
    }
    for (lists, more) in [
        ("databases: [$locals.db]", "locals: { db: $database.main }"),
        ("databases: [$locals.db]", "locals: { db: $locals.other, other: $database.main }"),
        ("databases: [$locals.all.db]", "locals: { all: { db: $database.main } }"),
    ] {
        let config = app(&format!("{lists}, domains: [a.example.com]"), more);
        assert_eq!(children(&config), plain, "{lists}");
    }
}

#[test]
fn list_entries_in_instances_and_modules_are_named_by_their_values() {
    let config = yaml(
        "project: { p: {} }
database: { main: { for_each: [x, y], engine: postgres, engine_version: 16, plan: pg-1c-2g, storage_gb: 40 } }
app: { web: { for_each: $database.main, type: web, repo: a/b, branch: main, port: 80, databases: [$each.value], domains: [\"${each.key}.example.com\"] } }
",
    );
    let addresses = |config: &Config| {
        let stack = config.stack();
        let all = stack.resources.keys().filter(|address| address.as_str().split('.').count() > 3);
        all.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        addresses(&config.registry(REGISTRY)),
        "app.web.x.databases.main-x app.web.x.domains.x-example-com app.web.y.databases.main-y app.web.y.domains.y-example-com"
    );
    let module = yaml(
        "project: { p: {} }
database: { main: { engine: postgres, engine_version: 16, plan: pg-1c-2g, storage_gb: 40 } }
use: { eu: { source: ../../m, with: { db: $database.main, host: a.example.com } } }
",
    )
    .shared(
        "m/stead.yaml",
        "vars: { db: {}, host: {} }
app: { web: { type: web, repo: a/b, branch: main, port: 80, databases: [$vars.db], domains: [$vars.host] } }
",
    );
    let module = module.registry(REGISTRY);
    assert_eq!(addresses(&module), "eu.app.web.databases.main eu.app.web.domains.a-example-com");
}

#[test]
fn duplicate_list_values_are_merged_and_name_conflicts_are_errors() {
    let twice = app("domains: [$vars.a, a.example.com]", "vars: { a: { default: a.example.com } }");
    assert_eq!(children(&twice), "domains.a-example-com");
    insta::assert_snapshot!(app("domains: [a-b.example.com, a.b.example.com]", "").problems(), @"S0232 5:94 two entries have the same address [5:77 this entry has the same address] | Both are app.web.domains.a-b-example-com: an address holds a-z, 0-9, _ and - only. | give them names of your own: `domains: { NAME: { domain: … } }`");
    insta::assert_snapshot!(app("domains: $vars.a", "vars: { a: { default: a.example.com } }").problems(), @"S0236 5:76 a list was expected | Each entry of `domains` is a resource with an address of its own. | list the entries here; each may be a reference: `domains: [$vars.one, $vars.two]`");
    insta::assert_snapshot!(app("domains: a.example.com", "").problems(), @"S0236 5:76 a list was expected | Each entry of `domains` is a resource with an address of its own. | write `domains: [a.example.com]` | fix: [a.example.com]");
}
