//! The origin of a value; in a map, each entry has its own.

use super::yaml;
use crate::config::stack::known_values::substitute_known_values;
use crate::config::stack::model::AttributeSetting;
use crate::kinds::REGISTRY;
use crate::model::address::Name;

const TEXT: &str = "vars:
  label: { default: x }
  size: { type: int, default: 2 }
environments:
  e: { default: true, vars: { label: y, size: 3 }, set: { app.web.env_vars.A: two } }
locals: { twice: $vars.label }
project: { p: {} }
app:
  web:
    type: web
    repo: acme/shop
    branch: main
    port: 80
    env_vars:
      A: one
      B: $vars.label
      C: plain
    autoscaling: { min_replicas: 1, max_replicas: $vars.size, metric: concurrency, target: 80 }
  worker: { type: worker, repo: $app.web.repo, branch: main, start_command: \"run ${app.web.repo} ${app.web.id}\" }
";

#[test]
fn every_entry_of_a_map_has_its_own_location_and_origin() {
    let stack = yaml(TEXT).registry(REGISTRY).stack();
    let place = |setting: &AttributeSetting, path: &str| {
        let (span, by) = setting.part_origin(path);
        let line = stack.sources.location_of(span).unwrap().line;
        format!("{line} {}", by.map_or("-", |by| by.as_str()))
    };
    let web = &stack.resources["app.web"];
    let env = &web.attributes["env_vars"];
    for (path, wanted) in [
        ("A", "7 environments.e.set"),
        ("B", "18 vars.label, set by environments.e"),
        ("C", "19 -"),
        ("", "17 -"),
    ] {
        assert_eq!(place(env, path), wanted, "{path}");
    }
    assert_eq!(env.decided_by().map(Name::as_str), Some("environments.e.set"));
    let scaling = &web.attributes["autoscaling"];
    assert_eq!(place(scaling, "max_replicas"), "20 vars.size, set by environments.e");
    assert_eq!(place(scaling, "target"), "20 -");
    let named = |path: &str| {
        let setting = &stack.named[path];
        format!("{} {}", super::expression(&setting.expression), place(setting, ""))
    };
    assert_eq!(named("vars.size"), "3 7 vars.size, set by environments.e");
    assert_eq!(named("locals.twice"), "y 8 vars.label, set by environments.e");
}

#[test]
fn known_values_are_substituted_into_references() {
    let stack = yaml(TEXT).registry(REGISTRY).stack();
    let worker = &stack.resources["app.worker"];
    let shown = |name: &str| {
        super::expression(&substitute_known_values(&stack, &worker.attributes[name].expression))
    };
    assert_eq!(shown("repo"), "acme/shop");
    assert_eq!(shown("start_command"), "text(run , acme/shop,  , $app.web:id)");
}
