//! Other tools' files, and the stacks that they become: each is a valid one.

use super::*;
use crate::config::load::{Request, load};
use crate::kinds::REGISTRY;
use crate::model::source::Sources;

const COMPOSE: &str = "services:\n  web:\n    build: .\n    ports: [\"80:8080\"]\n    command: [bin/web, \"--log level\"]\n    environment:\n      APP_ENV: prod\n      KEY: ${STRIPE_KEY}\n      URL: http://x/${PATH_OF:-a}\n    depends_on: [db, worker]\n    volumes: [.:/srv]\n    healthcheck: { test: curl -f http://localhost:8080/healthz }\n    restart: always\n  worker:\n    image: acme/worker:2\n    environment: [A=b]\n  db:\n    image: postgres:16.2-alpine\n    environment: { POSTGRES_PASSWORD: x }\nvolumes: { data: }\n";

const RENDER: &str = "databases:\n  - name: shop-db\n    postgresMajorVersion: 16\n    plan: starter\nservices:\n  - type: web\n    name: shop\n    runtime: node\n    repo: https://github.com/acme/shop\n    buildCommand: npm ci\n    startCommand: npm start\n    healthCheckPath: /healthz\n    domains: [shop.example.com]\n    envVars:\n      - key: DATABASE_URL\n        fromDatabase: { name: shop-db, property: connectionString }\n      - key: SECRET\n        generateValue: true\n      - key: MODE\n        value: live\n  - type: cron\n    name: digest\n    repo: https://github.com/acme/shop\n    schedule: \"0 6 * * *\"\n    startCommand: npm run digest\n  - type: keyvalue\n    name: cache\n";

const APP_SPEC: &str = "name: shop\nregion: fra\nservices:\n  - name: web\n    github: { repo: acme/shop, branch: main, deploy_on_push: true }\n    http_port: 8080\n    instance_count: 2\n    routes: [{ path: / }]\n    envs:\n      - { key: DATABASE_URL, value: \"${db.DATABASE_URL}\" }\n      - { key: TOKEN, type: SECRET }\nworkers:\n  - name: jobs\n    image: { registry: acme, repository: jobs, tag: v1 }\ndatabases:\n  - { name: db, engine: PG, version: \"16\" }\ndomains: [{ domain: shop.example.com }]\n";

/// Converts, and reads the result as a stack.
fn converted(text: &str, origin: Origin, to: Syntax) -> Converted {
    let source = Source::new("x.yaml", text);
    let made = convert(&source, origin, "shop", to, &REGISTRY).unwrap();
    let path = if to == Syntax::Yaml { "stead.yaml" } else { "stead.kdl" };
    let mut sources = Sources::default();
    sources.add(Source::new(path, made.text.as_str()));
    let names = ["stripe_key", "secret", "token"];
    let env_vars = names.map(|name| (name.into(), crate::model::secret::Secret::new("x")));
    let asked = |(name, _): &(crate::model::address::Name, _)| made.text.contains(name.as_str());
    let request = Request { env_vars: env_vars.into_iter().filter(asked).collect(), ..Request::default() };
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
fn every_tools_file_becomes_a_valid_stack() {
    for (text, origin) in
        [(COMPOSE, Origin::Compose), (RENDER, Origin::Render), (APP_SPEC, Origin::AppSpec)]
    {
        let (yaml, kdl) = (converted(text, origin, Syntax::Yaml), converted(text, origin, Syntax::Kdl));
        assert_eq!(yaml.left_out, kdl.left_out);
    }
}

#[test]
fn compose_in_full() {
    let made = converted(COMPOSE, Origin::Compose, Syntax::Yaml);
    insta::assert_snapshot!(made.text, @r##"
    # Not carried over:
    # - services.db.environment: the service makes the users and passwords of a database
    # - services.web.volumes

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
    "##);
}

#[test]
fn a_blueprint_in_full() {
    let made = converted(RENDER, Origin::Render, Syntax::Kdl);
    insta::assert_snapshot!(made.text, @r##"
    // Not carried over:
    // - services.shop.buildCommand

    stead 1
    stack shop

    vars {
      secret type=secret
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
    "##);
}

#[test]
fn an_app_spec_in_full() {
    let made = converted(APP_SPEC, Origin::AppSpec, Syntax::Yaml);
    insta::assert_snapshot!(made.text, @r##"
    # Not carried over:
    # - services.web.routes

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
    "##);
}

#[test]
fn what_is_no_such_file_is_said() {
    let refused = |text, origin| {
        convert(&Source::new("x.yaml", text), origin, "s", Syntax::Yaml, &REGISTRY).unwrap_err().code
    };
    assert_eq!(refused("a: 1\n", Origin::Compose), "S0370");
    assert_eq!(refused(COMPOSE, Origin::AppSpec), "S0370");
    assert_eq!(refused("a: [", Origin::Render), "S0125");
}
