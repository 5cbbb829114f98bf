//! Other tools' files, and the stacks that they become: each is a valid one.

use super::*;
use crate::config::input::request::LoadRequest;
use crate::config::load::load;
use crate::kinds::REGISTRY;
use crate::model::source::Sources;
use crate::model::values::secret::Secret;

const COMPOSE: &str = "services:\n  web:\n    build: .\n    ports: [\"80:8080\"]\n    command: [bin/web, \"--log level\"]\n    environment:\n      APP_ENV: prod\n      KEY: ${STRIPE_KEY}\n      URL: http://x/${PATH_OF:-a}\n    depends_on: [db, worker]\n    volumes: [.:/srv]\n    healthcheck: { test: curl -f http://localhost:8080/healthz }\n    restart: always\n  worker:\n    image: acme/worker:2\n    environment: [A=b]\n  db:\n    image: postgres:16.2-alpine\n    environment: { POSTGRES_PASSWORD: x }\nvolumes: { data: }\n";

const RENDER: &str = "databases:\n  - name: shop-db\n    postgresMajorVersion: 16\n    plan: starter\nservices:\n  - type: web\n    name: shop\n    runtime: node\n    repo: https://github.com/acme/shop\n    buildCommand: npm ci\n    startCommand: npm start\n    healthCheckPath: /healthz\n    domains: [shop.example.com]\n    envVars:\n      - key: DATABASE_URL\n        fromDatabase: { name: shop-db, property: connectionString }\n      - key: SECRET\n        generateValue: true\n      - key: MODE\n        value: live\n  - type: cron\n    name: digest\n    repo: https://github.com/acme/shop\n    schedule: \"0 6 * * *\"\n    startCommand: npm run digest\n  - type: keyvalue\n    name: cache\n";

const APP_SPEC: &str = "name: shop\nregion: fra\nservices:\n  - name: web\n    github: { repo: acme/shop, branch: main, deploy_on_push: true }\n    http_port: 8080\n    instance_count: 2\n    routes: [{ path: / }]\n    envs:\n      - { key: DATABASE_URL, value: \"${db.DATABASE_URL}\" }\n      - { key: TOKEN, type: SECRET }\nworkers:\n  - name: jobs\n    image: { registry: acme, repository: jobs, tag: v1 }\ndatabases:\n  - { name: db, engine: PG, version: \"16\" }\ndomains: [{ domain: shop.example.com }]\n";

/// Converts, and reads the result as a stack.
fn converted(text: &str, origin: SourceFormat, to: Syntax) -> ConvertedStack {
    let source = Source::new("x.yaml", text);
    let made = convert_foreign_file(&source, origin, "shop", to, &REGISTRY).unwrap();
    let path = if to == Syntax::Yaml { "stead.yaml" } else { "stead.kdl" };
    let mut sources = Sources::default();
    sources.add(Source::new(path, made.text.as_str()));
    let name = |name: &String| name.trim_start_matches("STEAD_VAR_").to_lowercase().into();
    let env_vars = made.needed.iter().map(|given| (name(given), Secret::new("x")));
    let request = LoadRequest { env_vars: env_vars.collect(), ..LoadRequest::default() };
    let read = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    if let Err(rejected) = load(REGISTRY, sources, &request, &read) {
        // A directory of sources is read from the disk, which is not there.
        let others =
            rejected.diagnostics.iter().filter(|problem| !["S0273", "S0276"].contains(&problem.code));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&Diagnostic>::new(), "{}", made.text);
    }
    made
}

#[test]
fn every_foreign_format_becomes_a_valid_stack() {
    for (text, origin) in [
        (COMPOSE, SourceFormat::Compose),
        (RENDER, SourceFormat::Render),
        (APP_SPEC, SourceFormat::AppSpec),
    ] {
        let (yaml, kdl) = (converted(text, origin, Syntax::Yaml), converted(text, origin, Syntax::Kdl));
        assert_eq!(yaml.left_out, kdl.left_out);
    }
}

#[test]
fn a_complete_compose_file_is_converted() {
    let made = converted(COMPOSE, SourceFormat::Compose, Syntax::Yaml);
    insta::assert_snapshot!(made.text, @r#"
    # Not carried over:
    # - x.yaml:11: services.web.volumes: an app keeps no files from one deployment to the next: keep them in a database or an object store
    # - x.yaml:19: services.db.environment: the service creates the users and passwords of a database
    # To be given:
    # - STEAD_VAR_STRIPE_KEY

    stead: 1
    stack: shop

    vars:
      stripe_key:
        type: secret
      path_of:
        type: string
        default: a

    project:
      shop: {}

    database:
      db:
        engine: postgres
        engine_version: "16"
        plan: pg-1c-2g

    app:
      web:
        type: web
        source_dir: "."
        start_command: bin/web '--log level'
        port: 8080
        health_check_path: /healthz
        databases: [$database.db]
        env_vars:
          APP_ENV: prod
          KEY: $vars.stripe_key
          URL: "http://x/${vars.path_of}"
        depends_on: [app.worker]
      worker:
        type: worker
        image: acme/worker:2
        env_vars:
          A: b
    "#);
}

#[test]
fn a_complete_render_blueprint_is_converted() {
    let made = converted(RENDER, SourceFormat::Render, Syntax::Kdl);
    insta::assert_snapshot!(made.text, @r#"
    // Not carried over:
    // - x.yaml:10: services.shop.buildCommand: the platform detects how to build; other build steps must be part of the source

    stead 1
    stack shop

    vars {
      secret type=secret generate=32
    }

    project shop

    database shop-db engine=postgres engine_version="16" plan=pg-1c-2g
    database cache engine=valkey plan=valkey-1c-1g

    app shop type=web repo="acme/shop" branch=main start_command="npm start" port=10000 {
      health_check_path "/healthz"
      databases $database.shop-db
      domains shop.example.com
      env_vars SECRET=$vars.secret MODE=live
    }
    app digest type=cron repo="acme/shop" branch=main start_command="npm run digest" {
      cron_schedule "0 6 * * *"
    }
    "#);
}

#[test]
fn a_complete_app_spec_is_converted() {
    let made = converted(APP_SPEC, SourceFormat::AppSpec, Syntax::Yaml);
    insta::assert_snapshot!(made.text, @r#"
    # Not carried over:
    # - x.yaml:8: services.web.routes: each app has an address of its own: there is no routing by path
    # To be given:
    # - STEAD_VAR_TOKEN

    stead: 1
    stack: shop

    vars:
      token:
        type: secret

    project:
      shop: {}

    database:
      db:
        engine: postgres
        engine_version: "16"
        plan: pg-1c-2g

    app:
      web:
        type: web
        repo: acme/shop
        branch: main
        port: 8080
        instances: 2
        databases: [$database.db]
        domains: [shop.example.com]
        env_vars:
          TOKEN: $vars.token
      jobs:
        type: worker
        image: acme/jobs:v1
    "#);
}

/// Returns what a Compose file becomes, and what was left out.
fn compose(text: &str) -> (String, String) {
    let made = converted(text, SourceFormat::Compose, Syntax::Yaml);
    (made.text, made.left_out.join("\n"))
}

#[test]
fn compose_interpolations_are_converted_everywhere() {
    let (text, left) = compose(
        "services:\n  web:\n    image: acme/web:${TAG:-${OLD:-1}}\n    command: [sh, -c, 'echo $$HOME ${WORD}']\n    ports: ['${OUT}:80', '53:53/udp', 443]\n    scale: 9\n    environment:\n      - KEY=${API_KEY:-a}\n      - TWICE=1\n      - TWICE=2\n      - EMPTY=\n",
    );
    for says in
        ["acme/web:${vars.tag}", "echo $$HOME ${vars.word}", "port: 80", "TWICE: \"2\"", "EMPTY: \"\""]
    {
        assert!(text.contains(says), "{says}\n{text}");
    }
    insta::assert_snapshot!(left, @r#"
    x.yaml:2: services.web: an app has 1 to 6 instances, and not 9
    x.yaml:3: services.web.image: the substitution of TAG is more complex than a default value
    x.yaml:5: services.web.ports: 53:53/udp: it is not a TCP port with a known number
    x.yaml:5: services.web.ports: 443: an app listens on one port
    x.yaml:8: services.web.environment.KEY: no default is written for the secret api_key
    x.yaml:10: services.web.environment.TWICE: it is written twice, and the last value is used
    "#);
}

#[test]
fn container_host_names_are_reported_or_replaced_by_references() {
    let (text, left) = compose(
        "services:\n  web:\n    build: { context: ., dockerfile: Other }\n    environment:\n      DATABASE_URL: postgres://u:p@db:5432/x\n      CACHE: redis://cache:6379\n      API: http://api:3000/v1\n      MODE: api\n  api: { image: x, expose: [3000], depends_on: [db], command: wait db:5432 }\n  api.2: { image: x }\n  api-2: { image: x }\n  db: { image: 'postgres:16', ports: ['5432:5432'], volumes: ['d:/x'] }\n  cache: { image: 'redis:${V:-7}' }\n",
    );
    assert!(text.contains("databases: [$database.cache, $database.db]"), "{text}");
    assert!(text.contains("api-2-2:") && text.contains("MODE: api"), "{text}");
    assert!(!text.contains("postgres://"), "{text}");
    insta::assert_snapshot!(left, @r#"
    x.yaml:3: services.web.build.dockerfile: the platform detects how to build; other build steps must be part of the source
    x.yaml:6: services.web.environment.CACHE: it names the container cache: the link to it sets DATABASE_URL and related variables
    x.yaml:7: services.web.environment.API: it names the container api: the address of that app is its `url`
    x.yaml:9: services.api.command: it names the container db, which has another address here
    x.yaml:12: services.db.ports: an app connects through its link; other clients need `public_access` and `public_allowlist`
    x.yaml:12: services.db.volumes: the service manages its files; it starts empty: load a dump, and run initial statements by hand
    "#);
}

#[test]
fn secrets_are_not_copied() {
    let (text, left) = compose(
        "services:\n  a: { image: x, environment: { JWT_SECRET: one, HASH: 'sk_live_0123456789abcdef' } }\n  b: { image: x, environment: { JWT_SECRET: one } }\n  c: { image: x, environment: { JWT_SECRET: two } }\n",
    );
    assert!(!text.contains("one") && !text.contains("two") && !text.contains("sk_live"), "{text}");
    assert_eq!(text.matches("JWT_SECRET: $vars.jwt_secret").count(), 2, "{text}");
    assert!(text.contains("JWT_SECRET: $vars.c_jwt_secret"), "{text}");
    insta::assert_snapshot!(left, @r#"
    x.yaml:2: a.JWT_SECRET: it looks like a secret, and was not copied: pass it as vars.jwt_secret
    x.yaml:2: a.HASH: it looks like a secret, and was not copied: pass it as vars.hash
    x.yaml:3: b.JWT_SECRET: it looks like a secret, and was not copied: pass it as vars.jwt_secret
    x.yaml:4: c.JWT_SECRET: it looks like a secret, and was not copied: pass it as vars.c_jwt_secret
    "#);
}

#[test]
fn a_render_blueprint_of_projects_and_env_groups_is_converted() {
    let text = "projects:\n  - name: shop\n    environments:\n      - name: prod\n        services:\n          - { type: web, name: w, repo: 'https://github.com/a/b.git', scaling: { minInstances: 1, maxInstances: 9 }, envVars: [{ fromGroup: g }, { key: PORT, value: 4000 }] }\n        databases:\n          - { name: d, diskSizeGB: 40, highAvailability: { enabled: true }, ipAllowList: [{ source: 0.0.0.0/0 }] }\n      - { name: dev, services: [{ type: web, name: w }] }\nenvVarGroups:\n  - name: g\n    envVars: [{ key: MADE, generateValue: true }, { key: MODE, value: live }]\n";
    let made = converted(text, SourceFormat::Render, Syntax::Kdl);
    insta::assert_snapshot!(made.text, @r#"
    // Not carried over:
    // - x.yaml:6: projects.shop.environments.prod.services.w.scaling: the number of replicas follows the concurrent requests, 80 for each replica, and is at most 6
    // - x.yaml:8: projects.shop.environments.prod.databases.d.ipAllowList: 0.0.0.0/0 means every address, which here is an empty `public_allowlist`
    // - x.yaml:9: projects.shop.environments.dev: only the first environment is read: declare the others as `environments` of the stack

    stead 1
    stack shop

    vars {
      made type=secret generate=32
    }

    project shop

    database d engine=postgres plan=pg-1c-2g storage_gb=40 ha_enabled=#true public_access=#true

    app w type=web repo="a/b" branch=main port=4000 {
      autoscaling min_replicas=1 max_replicas=6 metric=concurrency target=80
      env_vars MADE=$vars.made MODE=live PORT="4000"
    }
    "#);
}

#[test]
fn a_wrapped_app_spec_with_bindings_is_converted() {
    let text = "spec:\n  name: shop\n  workers: [{ name: w, image: { repository: x }, envs: [{ key: A, value: '' }, { key: B, value: '${_self.PRIVATE_DOMAIN}' }, { key: C, value: 'mysql://${db.HOSTNAME}/x' }] }]\n  services: [{ name: web, source_dir: /api, gitlab: { repo: a/b }, instance_count: 0 }]\n  databases: [{ name: db, engine: MYSQL }]\n  domains: [{ domain: shop.example.com }]\n  static_sites: [{ name: ui }]\n";
    let made = converted(text, SourceFormat::AppSpec, Syntax::Kdl);
    insta::assert_snapshot!(made.text, @r#"
    // Not carried over:
    // - x.yaml:3: w.B: `_self.PRIVATE_DOMAIN` is filled in by the other platform
    // - x.yaml:3: w.C: the link to db sets DATABASE_URL and related variables
    // - x.yaml:4: spec.services.web.gitlab: only repositories on GitHub are built; for others, `source_dir` uploads a copy of the files
    // - x.yaml:4: spec.services.web.instance_count: at least one instance runs: remove the block, or give it a `when`
    // - x.yaml:7: spec.static_sites.ui: there are no static sites: serve the files from a web app

    stead 1
    stack shop

    project shop

    database db engine=mysql plan=mysql-1c-2g

    app web type=web source_dir=api port=8080 {
      domains shop.example.com
    }
    app w type=worker image=x {
      databases $database.db
      env_vars A=""
    }
    "#);
}

#[test]
fn a_file_without_a_convertible_service_is_an_error() {
    for (text, origin) in [
        ("name: s\nstatic_sites: [{ name: ui }]\n", SourceFormat::AppSpec),
        ("services: [{ type: web, name: s, runtime: static }]\n", SourceFormat::Render),
    ] {
        let source = Source::new("x.yaml", text);
        let problem = convert_foreign_file(&source, origin, "s", Syntax::Yaml, &REGISTRY).unwrap_err();
        assert_eq!(problem.summary, "no part of this file can be converted");
        assert_eq!(problem.labels.len(), 1);
    }
}

#[test]
fn text_that_resembles_an_expression_is_escaped() {
    let (text, left) = compose(
        "services: { web: { image: x, environment: { A: 'file(x)', B: vars.x, C: '$$x', D: '${E:-vars.e}', F: 'file(${G:-a$$b})', H: '${I:-$$x}' } } }\n",
    );
    for says in [
        "A: \"${'file(x)'}\"",
        "B: \"${'vars.x'}\"",
        "C: \"$$x\"",
        "default: vars.e",
        "F: \"${'file('}${vars.g})\"",
        "default: a$b",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert!(left.contains("the default of vars.i would look like an expression"), "{left}");
}

#[test]
fn a_file_of_another_format_is_an_error() {
    let refused = |text, origin| {
        convert_foreign_file(&Source::new("x.yaml", text), origin, "s", Syntax::Yaml, &REGISTRY)
            .unwrap_err()
            .code
    };
    assert_eq!(refused("a: 1\n", SourceFormat::Compose), "S0370");
    assert_eq!(refused(COMPOSE, SourceFormat::AppSpec), "S0370");
    assert_eq!(refused("a: [", SourceFormat::Render), "S0125");
}

#[test]
fn secrets_next_to_interpolations_are_not_copied() {
    let (text, left) = compose(
        "services:\n  web:\n    image: x\n    command: [run, '--token=sk_live_0123456789abcdef', --api-key, hunter2, --mode, fast]\n    ports: [{ target: 53, protocol: udp }]\n    environment:\n      DB_PASSWORD: 'pa$$word'\n      EXT: 'postgres://u:hunter3@host/db?x=$FOO'\n      OPEN: 'postgres://${U}:${P}@host/db'\n      DATABASE_URL: '${DATABASE_URL:-postgres://u:hunter4@h/db}'\n      A: '${X:-hunter5}'\n      X_PASSWORD: '${X:-hunter5}'\n      B: '${Y:-a}'\n      C: '${Y:-postgres://u:hunter6@h/db}'\n",
    );
    for secret in ["hunter", "pa$", "sk_live"] {
        assert!(!text.contains(secret) && !left.contains(secret), "{secret}\n{text}\n{left}");
    }
    for says in [
        "run --token=${vars.token} --api-key ${vars.api_key} --mode fast",
        "DB_PASSWORD: $vars.db_password",
        "postgres://${vars.u}:${vars.p}@host/db",
        "A: $vars.x",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert!(!text.contains("default:"), "{text}");
    assert!(left.contains("services.web.ports: 53/udp: it is not a TCP port"), "{left}");
}
