//! Source directories: the same digest in both syntaxes, and the message of each mistake.

use super::{Config, Disk, yaml};
use crate::config::input::source_dir::{self, SourceTree};
use crate::kinds::REGISTRY;
use crate::model::expression::Expression;
use crate::model::values::value::Value;

fn kdl(text: &str) -> Config {
    let text = format!("stead 1\nstack test\n{text}");
    yaml("").without_yaml().file("a.stead.kdl", &text).registry(REGISTRY)
}

/// Returns the problems of an app with this `source`.
fn problems(source: &str) -> String {
    let text = format!(
        "vars: {{ key: {{ type: secret }} }}\nvm: {{ a: {{ template: t, plan: p }} }}\napp: {{ web: {{ type: web, {source} }} }}"
    );
    yaml(&text).registry(REGISTRY).env_var("key", "app").problems()
}

#[test]
fn a_source_directory_resolves_to_its_digest_in_both_syntaxes() {
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
    let digest = source_dir::directory_digest(&Disk, SourceTree::read(&Disk, "app").unwrap()).unwrap();
    for stack in [&yaml, &kdl] {
        for (address, directory) in [("app.web", "app"), ("serverless_function.f.b", "./app/")] {
            let setting = &stack.resources[address].attributes["source_dir"];
            assert_eq!(setting.expression, Expression::Value(Value::text(&digest)), "{address}");
            assert_eq!(setting.directory.as_ref().map(|path| path.as_str()), Some(directory));
        }
        assert_eq!(stack.resources["app.web"].attributes["type"].directory, None);
    }
    assert_eq!(yaml.digest, kdl.digest);
}

#[test]
fn an_app_has_one_source() {
    insta::assert_snapshot!(problems("source_dir: app, image: nginx"), @"R1102 5:38 An app has exactly one source | `image` and `source_dir` are both written. Rule: contract, 3, app. | keep one of `image`, `repo`, `source_dir`");
    insta::assert_snapshot!(problems("port: 80"), @"R1102 5:8 An app has exactly one source | None of them is written. Rule: contract, 3, app. | write one of `image`, `repo`, `source_dir`");
    insta::assert_snapshot!(problems("source_dir: app, branch: main"), @"R1103 5:51 Only an app that is built from a repository has a branch | `branch` is written, and `repo` is not. Rule: contract, 3, app. | write `repo`, or remove `branch`");
}

#[test]
fn a_secret_file_in_a_source_directory_is_an_error() {
    let text = |sink: &str| {
        yaml(&format!(
            "app: {{ web: {{ type: web, source_dir: app }}, other: {{ type: web, source_dir: app }} }}\napi_key: {{ ci: {{ role: developer, deliver_secret: {{ file: {sink} }} }} }}"
        ))
        .registry(REGISTRY)
    };
    assert_eq!(text("ci-key").problems(), "");
    insta::assert_snapshot!(text("app/ci-key").problems(), @"S0276 3:77 these sources would contain a secret | The secret of api_key.ci is delivered to `app/ci-key`, which `app` would upload. | name the file in `.steadignore`, or deliver it elsewhere");
}

#[test]
fn every_source_error_has_its_own_message() {
    insta::assert_snapshot!(problems("source_dir: ../app"), @r#"
    S0273 5:38 this path cannot be used | the path leaves the stack's directory: it must be relative, without `..`.
    "#);
    insta::assert_snapshot!(problems("source_dir: /srv/app"), @r#"
    S0273 5:38 this path cannot be used | the path leaves the stack's directory: it must be relative, without `..`.
    "#);
    insta::assert_snapshot!(problems("source_dir: nowhere"), @"S0276 5:38 these sources cannot be uploaded | `nowhere` cannot be read: entity not found.");
    insta::assert_snapshot!(problems("source_dir: app/odd"), @"S0276 5:38 these sources cannot be uploaded | `app/odd/pipe` is a pipe, a socket or a device. | list the files in `.steadignore` that are not needed to build and run it");
    insta::assert_snapshot!(problems("source_dir: ~"), @r#"
    S0226 5:38 `null` is used where there is no default | `source_dir` has no default: it must have a value.
    "#);
    insta::assert_snapshot!(problems("source_dir: [app]"), @r#"
    S0222 5:38 this value has the wrong type | It takes a text, and this is a list.
    "#);
    insta::assert_snapshot!(problems("source_dir: $vm.a.name"), @"S0208 5:38 a directory must be known while the configuration is loaded | `source_dir` depends on a live object, or is a secret: its files cannot be compared. | write the path, or a variable that holds it");
    insta::assert_snapshot!(problems("source_dir: $vars.key"), @"S0208 5:38 a directory must be known while the configuration is loaded | `source_dir` depends on a live object, or is a secret: its files cannot be compared. | write the path, or a variable that holds it");
}
