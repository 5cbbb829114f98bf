//! The kinds of the real service: the example of the language resolves, and both files of rules hold.

use super::yaml;
use crate::config::stack::lock_file;
use crate::kinds::REGISTRY;
use crate::model::address::Address;
use crate::model::live::catalog::Catalog;
use crate::model::source::SourceId;

const SHOP: &str = "
vars:
  office: { type: cidr, description: Office egress, default: 198.51.100.0/24 }
  nodes: { type: set(string), default: [a] }
  size: { one_of: [small, large], default: small }
environments:
  staging: { default: true }
  prod: { confirm: typed, vars: { nodes: [a, b], size: large } }
locals:
  sizes: { small: { db: pg-1c-2g, node: std-2c-4g, ha: false }, large: { db: pg-4c-8g, node: cpu-4c-8g, ha: true } }
  pick: ${locals.sizes[vars.size]}
project: { shop: { name: \"shop-${env}\" } }
vpc: { main: { cidr: 10.20.0.0/16 } }
vm:
  web:
    for_each: $vars.nodes
    template: ubuntu-24.04
    plan: $locals.pick.node
    vpc: $vpc.main
    lifecycle: { replace: create_first, ignore_drift: [console_require_mfa], timeouts: { create: 15m } }
volume: { media: { size: 100, vm: $vm.web.a, lifecycle: { protect: true, on_remove: keep } } }
backup_schedule: { nightly: { for_each: $vm.web, vm: $each.value, frequency: daily, hour: 3, retention: 7 } }
database:
  main:
    engine: postgres
    engine_version: 16
    plan: $locals.pick.db
    storage_gb: 40
    ha_enabled: $locals.pick.ha
    vpc: $vpc.main
    public_access: true
    public_allowlist: [$vars.office, 203.0.113.0/24]
    users: { reporting: {} }
    lifecycle: { protect: \"${env == 'prod'}\", timeouts: { create: 30m, update: 1h } }
outputs: { db_host: $database.main.connection_host, web_ips: \"${values(vm.web).map(v, v.public_ipv4_address)}\" }
";

#[test]
fn the_example_resolves() {
    let shop = yaml(SHOP).registry(REGISTRY);
    insta::assert_snapshot!(shop.resolved(), @r#"
    backup_schedule.nightly.a frequency=daily hour=3 retention=7 vm=$vm.web.a
    database.main engine=postgres engine_version=16 ha_enabled=false name=main plan=pg-1c-2g public_access=true public_allowlist=[198.51.100.0/24, 203.0.113.0/24] storage_gb=40 vpc=$vpc.main
    database.main.users.reporting name=reporting
    project.shop name=shop-staging
    vm.web.a name=web-a plan=std-2c-4g template=ubuntu-24.04 vpc=$vpc.main
    volume.media name=media size=100 vm=$vm.web.a
    vpc.main cidr=10.20.0.0/16 name=main
    output db_host=$database.main:connection_host
    output web_ips=cel(values(vm.web).map(v, v.public_ipv4_address) |  | vm.web.a)
    "#);
    let prod = yaml(SHOP).registry(REGISTRY).env("prod").stack();
    assert_eq!(prod.resources.len(), 9);
    assert!(prod.resources["database.main"].lifecycle.protect);
    assert_eq!(prod.project.as_ref().map(Address::as_str), Some("project.shop"));
    assert_ne!(prod.digest, yaml(SHOP).registry(REGISTRY).stack().digest);
}

#[test]
fn the_services_rules_are_checked() {
    let check = |text: &str| format!("# {text}\n{}", yaml(text).registry(REGISTRY).problems());
    let entries: Vec<String> = (1..=21).map(|n| format!("203.0.{n}.0/24")).collect();
    insta::assert_snapshot!([
        check(&format!("database: {{ a: {{ plan: p, public_allowlist: [{}] }} }}", entries.join(", "))),
        check("database: { a: { plan: p, public_allowlist: [0.0.0.0/0, '::/0', 1.2.3.4] } }"),
        check("database: { a: { plan: p, engine: mysql, replica_count: 1, extensions: [x], engine_config: { maxmemory-policy: noeviction } } }"),
        check("database: { a: { plan: p, users: { app_x: {}, fnb_y: {}, Z: {} } } }"),
        check("vpc: { a: { cidr: 10.0.0.0/8 }, b: { cidr: 10.9.0.0/16 } }"),
        check("vm: { a: { template: t, plan: p } }\nbackup_schedule: { a: { vm: $vm.a, frequency: daily, day_of_week: monday }, b: { vm: $vm.a, frequency: daily } }"),
        check("ssh_key: { a: { public_key: '-----BEGIN PRIVATE KEY-----' } }"),
        check("database: { a: { plan: p, engine_version: 9.10, region: eu, storage_gb: 5GB } }"),
    ].join("\n"), @"
    # database: { a: { plan: p, public_allowlist: [203.0.1.0/24, 203.0.2.0/24, 203.0.3.0/24, 203.0.4.0/24, 203.0.5.0/24, 203.0.6.0/24, 203.0.7.0/24, 203.0.8.0/24, 203.0.9.0/24, 203.0.10.0/24, 203.0.11.0/24, 203.0.12.0/24, 203.0.13.0/24, 203.0.14.0/24, 203.0.15.0/24, 203.0.16.0/24, 203.0.17.0/24, 203.0.18.0/24, 203.0.19.0/24, 203.0.20.0/24, 203.0.21.0/24] } }
    S0228 3:45 there are too many entries | It takes at most 20 entries, and this has 21.
    # database: { a: { plan: p, public_allowlist: [0.0.0.0/0, '::/0', 1.2.3.4] } }
    S0224 3:46 this text has an invalid format | 0.0.0.0/0 allows every address, and the service refuses it. | name the networks, or leave the list empty
    S0224 3:57 this text has an invalid format | An IPv4 network such as 10.0.0.0/16 was expected, and this is `::/0`. | the service takes IPv4 networks only
    S0224 3:65 this text has an invalid format | An IPv4 network such as 10.0.0.0/16 was expected, and this is `1.2.3.4`. | write 1.2.3.4/32 for this one address | fix: 1.2.3.4/32
    # database: { a: { plan: p, engine: mysql, replica_count: 1, extensions: [x], engine_config: { maxmemory-policy: noeviction } } }
    R0302 3:57 Only postgres has read replicas | `engine` is mysql. Rule: specification, Errors, case 2. | remove `replica_count`, or set `engine: postgres`
    R0305 3:72 Only postgres has extensions | `engine` is mysql. Rule: specification, Catalogue of other endpoints, Databases. | remove `extensions`, or set `engine: postgres`
    R0304 3:92 Only valkey has engine settings: maxmemory-policy | `engine` is mysql. Rule: specification, Errors, case 2. | remove `engine_config`, or set `engine: valkey`
    # database: { a: { plan: p, users: { app_x: {}, fnb_y: {}, Z: {} } } }
    S0224 3:36 this text has an invalid format | `name` defaults to `app_x`. The service reserves logins that begin with app_. | write a `name`
    S0224 3:47 this text has an invalid format | `name` defaults to `fnb_y`. The service reserves logins that begin with fnb_. | write a `name`
    S0235 3:58 this name cannot be part of an address | Names hold a-z, 0-9, _ and - only, so that addresses need no quotes in a shell. | write `z` | fix: z
    # vpc: { a: { cidr: 10.0.0.0/8 }, b: { cidr: 10.9.0.0/16 } }
    R0101 3:44 The networks of an account's VPCs must not overlap [3:19 vpc.a is here] | 10.9.0.0/16 of vpc.b overlaps 10.0.0.0/8 of vpc.a. Rule: specification, Resources, VPC, cidr.
    # vm: { a: { template: t, plan: p } }
    backup_schedule: { a: { vm: $vm.a, frequency: daily, day_of_week: monday }, b: { vm: $vm.a, frequency: daily } }
    R0201 4:67 Only a weekly schedule has a day of the week | `frequency` is daily. Rule: contract, 3, backup_schedule. | remove `day_of_week`, or set `frequency: weekly`
    R0202 4:86 A VM has at most one schedule of each frequency [4:20 backup_schedule.a is here] | backup_schedule.a and backup_schedule.b have the same vm and frequency. Rule: contract, 3, backup_schedule.
    # ssh_key: { a: { public_key: '-----BEGIN PRIVATE KEY-----' } }
    S0224 3:29 this text has an invalid format | This is a private key. | give the public one, the file ending in .pub
    # database: { a: { plan: p, engine_version: 9.10, region: eu, storage_gb: 5GB } }
    S0225 3:57 invalid keyword | It takes one of us-east, and this is `eu`.
    S0222 3:73 this value has the wrong type | It takes a whole number (GB), and this is `5GB`. | the unit is GB already: write 5 | fix: 5
    ");
}

const SHOP_KDL: &str = "
stead 1
stack test
vars {
  office type=cidr description=\"Office egress\" default=\"198.51.100.0/24\"
  nodes type=\"set(string)\" { default a }
  size default=small { one_of small large }
}
environments {
  staging default=#true
  prod confirm=typed { vars size=large { nodes a b } }
}
locals {
  sizes {
    small db=pg-1c-2g node=std-2c-4g ha=#false
    large db=pg-4c-8g node=cpu-4c-8g ha=#true
  }
  pick \"${locals.sizes[vars.size]}\"
}
project shop name=\"shop-${env}\"
vpc main cidr=\"10.20.0.0/16\"
vm web for_each=$vars.nodes template=ubuntu-24.04 plan=$locals.pick.node vpc=$vpc.main {
  lifecycle replace=create_first { ignore_drift console_require_mfa; timeouts create=\"15m\" }
}
volume media size=100 vm=$vm.web.a { lifecycle protect=#true on_remove=keep }
backup_schedule nightly for_each=$vm.web vm=$each.value frequency=daily hour=3 retention=7
database main engine=postgres engine_version=\"16\" plan=$locals.pick.db storage_gb=40 ha_enabled=$locals.pick.ha vpc=$vpc.main {
  public_access #true
  public_allowlist $vars.office \"203.0.113.0/24\"
  users { reporting }
  lifecycle protect=\"${env == 'prod'}\" { timeouts create=\"30m\" update=\"1h\" }
}
outputs {
  db_host $database.main.connection_host
  web_ips \"${values(vm.web).map(v, v.public_ipv4_address)}\"
}
";

#[test]
fn both_syntaxes_give_the_same_stack() {
    for env in ["staging", "prod"] {
        let kdl = yaml("").without_yaml().file("shop.stead.kdl", SHOP_KDL).registry(REGISTRY).env(env);
        let yaml = yaml(SHOP).registry(REGISTRY).env(env);
        assert_eq!(kdl.resolved(), yaml.resolved());
        assert_eq!(kdl.stack().digest, yaml.stack().digest);
    }
}

#[test]
fn a_lock_file_pins_the_names_in_use() {
    let catalog: Catalog = serde_json::from_value(serde_json::json!({
        "read_at": "2026-01-02T03:04:05Z",
        "tables": {
            "database": [{"id": "d1", "slug": "pg-1c-2g", "fields": {"engine": "postgres", "monthly_price": "12.50"}},
                         {"id": "d2", "slug": "unused", "fields": {}}],
            "template": [{"id": "t1", "slug": "ubuntu-24.04", "fields": {}}],
            "vm": [{"id": 7, "slug": "std-2c-4g", "fields": {"storage": 40}}, {"id": 8, "slug": "other", "fields": {}}],
            "volume": [{"id": 1, "slug": "", "fields": {"price_per_gb_month": "0.1"}}],
        },
    }))
    .unwrap();
    let stack = yaml(SHOP).registry(REGISTRY).stack();
    let lock = lock_file::build_lock(REGISTRY, &stack, &catalog);
    let text = lock_file::render_lock(&lock).unwrap();
    insta::assert_snapshot!(text, @r#"
    # Catalog names and prices of this stack. Written by stead; commit it.
    lock: 1
    catalog:
      read_at: 2026-01-02T03:04:05Z
      tables:
        database:
        - id: d1
          slug: pg-1c-2g
          fields:
            engine: postgres
            monthly_price: '12.50'
        template:
        - id: t1
          slug: ubuntu-24.04
          fields: {}
        vm:
        - id: 7
          slug: std-2c-4g
          fields:
            storage: 40
        volume:
        - id: 1
          slug: ''
          fields:
            price_per_gb_month: '0.1'
    "#);
    assert_eq!(lock_file::parse(SourceId(0), &text).unwrap(), lock);
    for wrong in [
        "",
        "lock: 2\ncatalog: { tables: {} }\n",
        "lock: 1\ncatalog: {",
        "lock: 1\nmore: 1\ncatalog: { tables: {} }",
    ] {
        let problem = lock_file::parse(SourceId(0), wrong).unwrap_err();
        assert_eq!(problem.code, "S0280", "{wrong}");
    }
}

#[test]
fn project_membership_of_a_key_is_declared_in_its_block() {
    let text = "
project: { shop: { members: { boss: { member: 0f3c, role: admin } } }, till: {} }
api_key:
  ci: { role: developer, projects: { shop: developer, till: { role: viewer } }, deliver_secret: { file: ./ci } }
  bots: { for_each: [a, b], projects: { shop: viewer }, deliver_secret: { file: \"./${each.key}\" } }
  gone: { when: false, projects: { shop: viewer }, deliver_secret: { file: ./gone } }
";
    let kdl = "
project shop { members { boss member=\"0f3c\" role=admin } }
project till
api_key ci role=developer { projects shop=developer { till role=viewer }; deliver_secret file=\"./ci\" }
api_key bots { for_each a b; projects shop=viewer; deliver_secret file=\"./${each.key}\" }
api_key gone { when #false; projects shop=viewer; deliver_secret file=\"./gone\" }
";
    let shown = yaml(text).registry(REGISTRY).resolved();
    insta::assert_snapshot!(shown, @r#"
    api_key.bots.a name=bots-a
    api_key.bots.b name=bots-b
    api_key.ci name=ci role=developer
    project.shop name=shop
    project.shop.members.boss member=0f3c role=admin
    project.shop.members.bots.a api_key=$api_key.bots.a role=viewer
    project.shop.members.bots.b api_key=$api_key.bots.b role=viewer
    project.shop.members.ci api_key=$api_key.ci role=developer
    project.till name=till
    project.till.members.ci api_key=$api_key.ci role=viewer
    "#);
    let head = "stead 1\nstack shop\n";
    let same = yaml("").without_yaml().file("a.stead.kdl", &format!("{head}{kdl}")).registry(REGISTRY);
    assert_eq!(same.resolved(), shown);
}

#[test]
fn duplicate_or_unknown_projects_of_a_key_are_errors() {
    let said = |text: &str| yaml(text).registry(REGISTRY).problems();
    let key = |projects: &str| {
        format!(
            "project: {{ shop: {{ members: {{ ci: {{ member: x, role: admin }} }} }} }}\napi_key: {{ ci: {{ projects: {projects}, deliver_secret: {{ file: ./ci }} }} }}\n"
        )
    };
    insta::assert_snapshot!(said(&key("{ shp: developer }")), @r#"
    S0201 4:30 there is no such project | No block declares project.shp. | did you mean shop?
    "#);
    insta::assert_snapshot!(said(&key("{ shop: developer }")), @r#"
    S0232 4:30 the same name is declared in two places [3:31 it is also declared here] | Both are project.shop.members.ci.
    "#);
    insta::assert_snapshot!(said(&key("developer")), @r#"
    S0236 4:18 a map was expected | write `projects: { NAME: role }`
    "#);
}

#[test]
fn a_one_time_secret_requires_a_sink() {
    let text = "
api_key: { ci: { role: viewer }, gone: { when: false, role: viewer } }
database: { main: { engine: postgres, plan: pg-1c-2g, storage_gb: 20, users: { reporting: {} } } }
";
    insta::assert_snapshot!(yaml(text).registry(REGISTRY).problems(), @r#"
    S0272 4:12 the target of its secret is not declared | The service shows the secret of an api_key once, in the response to its creation. | write `deliver_secret: { file: ./secrets/NAME }`, `{ env_file: ./.env, variable: NAME }`, or `{ sink: NAME }` for a program from your own settings; or store it encrypted in the ledger: `secrets: { recipients: [age1…] }` at the top
    "#);
}
