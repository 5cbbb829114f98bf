//! Directories of sources: the same digest in both syntaxes, and what each mistake says.

use super::{Config, Disk, yaml};
use crate::config::source_dir::{self, Tree};
use crate::kinds::REGISTRY;
use crate::model::expression::Expression;
use crate::model::value::Value;

fn kdl(text: &str) -> Config {
    let text = format!("stead 1\nstack test\n{text}");
    yaml("").without_yaml().file("a.stead.kdl", &text).registry(REGISTRY)
}

/// Returns the problems of an app whose source is written so.
fn problems(source: &str) -> String {
    let text = format!(
        "vars: {{ key: {{ type: secret }} }}\nvm: {{ a: {{ template: t, plan: p }} }}\napp: {{ web: {{ type: web, {source} }} }}"
    );
    yaml(&text).registry(REGISTRY).var("key", "app").problems()
}

#[test]
fn a_directory_is_its_digest_in_both_syntaxes() {
    let yaml = yaml(
        "
vars: { dir: { default: app } }
app: { web: { type: web, source_dir: $vars.dir } }
serverless_function: { f: { for_each: [a, b], runtime: rust, handler: main, source_dir: ./app/ } }
",
    );
    let kdl = kdl("
vars { dir default=app }
app web type=web source_dir=$vars.dir
serverless_function f runtime=rust handler=main source_dir=\"./app/\" { for_each a b }
");
    let (yaml, kdl) = (yaml.registry(REGISTRY).stack(), kdl.stack());
    let digest = source_dir::of(&Disk, Tree::read(&Disk, "app").unwrap()).unwrap();
    for stack in [&yaml, &kdl] {
        for (address, directory) in [("app.web", "app"), ("serverless_function.f.b", "./app/")] {
            let setting = &stack.resources[address].attributes["source_dir"];
            assert_eq!(setting.expression, Expression::Value(Value::text(&digest)), "{address}");
            assert_eq!(setting.directory.as_deref(), Some(directory));
        }
        assert_eq!(stack.resources["app.web"].attributes["type"].directory, None);
    }
    assert_eq!(yaml.digest, kdl.digest);
}

#[test]
fn an_app_has_one_source() {
    insta::assert_snapshot!(problems("source_dir: app, image: nginx"), @"");
    insta::assert_snapshot!(problems("port: 80"), @"");
    insta::assert_snapshot!(problems("source_dir: app, branch: main"), @"");
}

#[test]
fn every_mistake_has_its_words() {
    insta::assert_snapshot!(problems("source_dir: ../app"), @"");
    insta::assert_snapshot!(problems("source_dir: /srv/app"), @"");
    insta::assert_snapshot!(problems("source_dir: nowhere"), @"");
    insta::assert_snapshot!(problems("source_dir: app/odd"), @"");
    insta::assert_snapshot!(problems("source_dir: ~"), @"");
    insta::assert_snapshot!(problems("source_dir: [app]"), @"");
    insta::assert_snapshot!(problems("source_dir: $vm.a.name"), @"");
    insta::assert_snapshot!(problems("source_dir: $vars.key"), @"");
}
