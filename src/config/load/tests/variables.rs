//! Variables: the source of each value, and the message of each wrong one.

use super::yaml;
use crate::config::stack::model::Stack;
use crate::model::redact::SentSecrets;
use crate::model::values::secret::Secret;

const ALL: &str = "
environments: { dev: { default: true, vars: { size: env } }, prod: {} }
vars: { size: { default: def } }
outputs: { size: $vars.size }
";

#[test]
fn the_source_with_the_highest_precedence_sets_a_variable() {
    assert_eq!(yaml(ALL).env("prod").resolved(), "output size=def");
    assert_eq!(yaml(ALL).resolved(), "output size=env");
    assert_eq!(yaml(ALL).var_file("size: one\n").resolved(), "output size=one");
    assert_eq!(yaml(ALL).var_file("size: one\n").var_file("size: two\n").resolved(), "output size=two");
    assert_eq!(
        yaml(ALL).var_file("size: one\n").env_var("size", "process").resolved(),
        "output size=process"
    );
    assert_eq!(yaml(ALL).env_var("size", "process").var("size", "flag").resolved(), "output size=flag");
}

#[test]
fn the_origin_of_a_value_is_recorded() {
    let text = "
environments: { prod: { vars: { size: 7 } } }
vars: { size: { type: int, default: 1 } }
locals: { double: '${vars.size * 2}' }
crane: { a: { tons: $vars.size }, b: { tons: '${locals.double}' }, c: { tons: 3 } }
";
    let stack = yaml(text).stack();
    let set_by = |address: &str| {
        stack.resources[address].attributes["tons"].set_by.as_deref().cloned().unwrap_or_default()
    };
    assert_eq!(set_by("crane.a"), "vars.size, set by environments.prod");
    assert_eq!(set_by("crane.b"), "vars.size, set by environments.prod");
    assert_eq!(set_by("crane.c"), "");
    assert_eq!(stack.environment.name, "prod");
}

#[test]
fn invalid_variables_are_errors() {
    let with = |vars: &str| yaml(&format!("vars: {{ x: {vars} }}\n"));
    insta::assert_snapshot!([
        with("{}").problems(),
        with("{ type: set(string) }").problems(),
        with("{ type: text }").problems(),
        with("{ typ: int }").problems(),
        with("5").problems(),
        with("{ type: int, default: a }").problems(),
        with("{ type: int, default: '5' }").problems(),
        with("{ type: int }").var("x", "five").problems(),
        with("{ type: int }").env_var("x", "canary").problems(),
        with("{ type: int }").var_file("x: []\n").problems(),
        with("{ one_of: [small, large] }").var("x", "smal").problems(),
        with("{ type: int, default: 9, check: '${self >= 1 && self <= 6}' }").problems(),
        with("{ type: int, default: 9, check: 'self' }").problems(),
        with("{ type: int, default: 9, check: '${self.a}' }").problems(),
        with("{ default: '${env}' }").problems(),
        with("{ default: a }").var("y", "1").var("z", "1").problems(),
        with("{ default: a }").var_file("xx: 1\n").problems(),
        yaml("vars: { x: { default: 1 } }\nenvironments: { p: { vars: { xx: 1 } } }").problems(),
        with("{ type: secret, default: hush }").problems(),
        with("{ type: secret, default: { from_file: secret.txt } }").problems(),
        with("{ type: secret, from_file: ../up }").problems(),
    ].join("\n"), @r#"
    S0251 3:9 a variable has no value [3:9 declared here without a default] | vars.x takes a text. | give it in one of three ways: `--var x=…`, STEAD_VAR_X=…, or a line `x: …` in a file given by `--var-file`
    S0251 3:9 a variable has no value [3:9 declared here without a default] | vars.x takes a set, each entry a text. | give it in one of three ways: `--var x=…`, STEAD_VAR_X=…, or a line `x: …` in a file given by `--var-file`
    S0250 3:20 a variable's declaration is wrong | `text` is not a type. Types are: string, int, number, bool, cidr, secret, list(string), set(string), map(string). | write `type: string`
    S0220 3:14 this key is not known | There is no `typ` here. | did you mean `type`? | fix: type
    S0250 3:12 a variable's declaration is wrong | A declaration is a map. | write `x: { default: … }`
    S0253 3:34 a variable's value has the wrong type | vars.x, set by default: It takes a whole number, and this is `a`.
    S0253 3:34 a variable's value has the wrong type | vars.x, set by default: It takes a whole number, and this is a quoted text. | write 5 without quotes | fix: 5
    S0253 3:9 a variable's value has the wrong type | vars.x, set by --var: It takes a whole number, and this is `five`.
    S0253 3:9 a variable's value has the wrong type | vars.x, set by STEAD_VAR_X: It takes a whole number.
    S0253 1:1 a variable's value has the wrong type | vars.x, set by vars0.yaml: It takes a whole number.
    S0254 3:9 a variable's value is not allowed | vars.x, set by --var, is `smal`; it takes one of small, large. | did you mean `small`?
    S0254 3:34 a variable's value is not allowed [3:44 this check fails] | vars.x, set by default, is `9`.
    S0250 3:44 a variable's declaration is wrong | `check` is an expression over `self`. | write, for example, `check: "${self >= 1}"`
    S0215 3:44 an expression has no value | The expression (`self.a`) fails: a whole number has no `a`.
    S0253 3:23 a variable's value has the wrong type | vars.x, set by default: It takes a plain value, and this is an expression. | compute it in `locals`; variables are plain values
    S0252 - this variable is not declared | --var gives a value to `y`, and no `vars` block declares it. | declare it under `vars`, or leave the value out
    S0252 - this variable is not declared | --var gives a value to `z`, and no `vars` block declares it. | declare it under `vars`, or leave the value out
    S0252 1:1 this variable is not declared | vars0.yaml gives a value, on this line, to a variable that no `vars` block declares. | declare it under `vars`, or leave the value out
    S0252 4:30 this variable is not declared | environments.p gives a value to `xx`, and no `vars` block declares it. | declare it under `vars`, or leave the value out
    S0298 3:9 nothing uses this variable | No expression and no reference names vars.x. | use it, as in `$vars.x`, or remove it
    S0255 3:37 a secret is written in a file of the stack | Everyone who can read the files, or their history, can read it. | give it by STEAD_VAR_X, a variable file or `from_file`
    S0298 3:9 nothing uses this variable | No expression and no reference names vars.x. | use it, as in `$vars.x`, or remove it
    S0253 3:39 a variable's value has the wrong type | vars.x, set by from_file: `../up` cannot be read: the path leaves the stack's directory: it must be relative, without `..`.
    "#);
}

#[test]
fn secret_files_are_confined_to_the_stack_directory() {
    let stack =
        yaml("vars: { s: { type: secret, from_file: secret.txt } }\ncrane: { a: { key: $vars.s } }")
            .stack();
    let expression = &stack.resources["crane.a"].attributes["key"].expression;
    assert!(expression.is_secret());
    assert_eq!(
        expression.known_value().and_then(|value| value.to_body(&mut SentSecrets::default())),
        Some("canary-file".into())
    );
}

#[test]
fn a_variable_is_set_by_the_environment_variable_in_the_message() {
    let dashed =
        || yaml("vars: { my-key: { type: string } }\ncrane: { a: { note: \"${vars['my-key']}\" } }");
    assert!(dashed().problems().contains("STEAD_VAR_MY_KEY=…"));
    let stack = dashed().env_var("my_key", "given").stack();
    let note = &stack.resources["crane.a"].attributes["note"].expression;
    assert_eq!(note.known_value().map(ToString::to_string).as_deref(), Some("given"));
    let wrong = yaml("vars: { x: { type: int, check: '${self > 1}' } }").env_var("x", "1").problems();
    assert!(wrong.contains("vars.x, set by STEAD_VAR_X, is not what its `check` allows"), "{wrong}");
}

#[test]
fn no_message_reveals_how_close_a_secret_is() {
    let one_of = yaml("vars: { s: { type: secret, one_of: [canary1, other] } }").env_var("s", "canary2");
    insta::assert_snapshot!(one_of.problems(), @"S0254 3:9 a variable's value is not allowed | vars.s, set by STEAD_VAR_S, is none of the 2 that its `one_of` lists.");
    let name =
        yaml("vars: { s: { type: secret } }\ncrane: { a: { name: 'x-${vars.s}' } }").env_var("s", "canary");
    insta::assert_snapshot!(name.problems(), @"S0222 4:21 this value has the wrong type | It takes a text that is not secret, and this is a secret. | compute the name from values that are not secret");
    let key = yaml("vars: { s: { type: secret } }\ncrane: { a: { labels: \"${ {vars.s: 'x'} }\" } }");
    let labels =
        key.env_var("s", "canary").stack().resources["crane.a"].attributes["labels"].expression.clone();
    assert_eq!(labels.known_value().map(ToString::to_string).as_deref(), Some("(secret)"));
    // One problem without a location: its number or its location would show which of several guesses is right.
    let text = "
vars: { s: { type: secret } }
crane: { a: { note: \"${1 / (vars.s == 'canary' ? 0 : 1)}\" }, b: { note: \"${1 / (vars.s == 'other' ? 0 : 1)}\" } }
outputs: { o: \"${[1][vars.s == 'other' ? 1 : 0]}\" }
";
    let (one, other) = (yaml(text).env_var("s", "canary"), yaml(text).env_var("s", "other"));
    assert_eq!(one.problems(), other.problems());
    insta::assert_snapshot!(one.problems(), @"S0219 - an expression over a secret fails | An expression over a secret has the wrong type or no value. Which one, and why, is not shown, because that would reveal something about the secret. | try the expressions over secrets one by one: stead eval 'EXPRESSION'");
}

#[test]
fn a_secret_is_never_printed() {
    let text = "
vars: { s: { type: secret, check: '${size(self) > 3}' } }
locals: { url: 'https://${vars.s}@x', pair: { a: $vars.s, b: plain } }
crane:
  a: { key: $vars.s, note: $locals.url, labels: { l: '${locals.pair.a + \"!\"}', m: $locals.pair.b } }
  b: { note: '${vars.s + crane.a.address}' }
outputs: { o: '${base64(vars.s)}' }
";
    let stack = yaml(text).env_var("s", "canary").stack();
    let shown = format!("{:?} {:?}", stack.resources, stack.outputs);
    assert!(!shown.contains("canary") && !shown.contains("Y2FuYXJ5"), "{shown}");
    for resource in stack.resources.values() {
        for (name, setting) in &resource.attributes {
            let json = serde_json::to_string(&setting.expression).unwrap();
            assert!(!json.contains("canary"), "{json}");
            assert_eq!(setting.expression.is_secret(), name != "name", "{} {name}", resource.address);
        }
    }
    let labels = stack.resources["crane.a"].attributes["labels"].expression.known_value().unwrap();
    assert_eq!(labels.to_string(), "{ l: (secret), m: plain }");
    for wrong in ["tons: $vars.s", "power: $vars.s", "yard: $vars.s", "tons: '${int(vars.s)}'"] {
        let problems = yaml(&format!("vars: {{ s: {{ type: secret }} }}\ncrane: {{ a: {{ {wrong} }} }}"))
            .env_var("s", "canary")
            .problems();
        assert!(problems.contains("S02") && !problems.contains("canary"), "{problems}");
    }
}

#[test]
fn a_deferred_secret_has_a_placeholder_that_is_never_exposed() {
    let text = "
vars: { s: { type: secret, generate: 24, check: '${size(self) == 24}' }, t: { type: secret, source: vault } }
crane: { a: { key: $vars.s, note: 'x${vars.s}', labels: { t: $vars.t, n: '${vars.t + \"!\"}' } } }
";
    let stack = yaml(text).stack();
    for name in ["key", "note", "labels"] {
        let value = stack.resources["crane.a"].attributes[name].expression.known_value().unwrap();
        assert!(value.is_secret() && value.to_wire().is_none(), "{name}: nothing of it can be sent");
    }
    assert_eq!(stack.deferred_secrets.keys().collect::<Vec<_>>(), ["s", "t"]);
    let text_of = |name: &str, text: &str| (name.into(), Secret::new(text));
    let available_secrets = [text_of("s", "abcdefghijklmnopqrstuvwx"), text_of("t", "hush")];
    let whole = yaml(text).request(|request| request.available_secrets = available_secrets.into()).stack();
    let wire = |name: &str| {
        whole.resources["crane.a"].attributes[name]
            .expression
            .known_value()?
            .to_body(&mut SentSecrets::default())
    };
    assert_eq!(wire("note"), Some("xabcdefghijklmnopqrstuvwx".into()));
    assert_eq!(wire("labels"), Some(serde_json::json!({"t": "hush", "n": "hush!"})));
    assert_eq!(whole.digest, stack.digest, "a digest tells of secrets that they are there");
    let short = yaml(text).request(|request| request.available_secrets = [text_of("s", "short")].into());
    assert!(short.problems().contains("S0254"), "it is checked once it is at hand");
}

#[test]
fn invalid_deferred_secrets_are_errors() {
    let with = |vars: &str| {
        yaml(&format!("vars: {{ x: {vars} }}\ncrane: {{ a: {{ labels: {{ k: $vars.x }} }} }}\n"))
    };
    for (vars, says) in [
        ("{ generate: 32 }", "`generate` gives a secret. | write `type: secret`"),
        ("{ type: secret, generate: 8 }", "`generate` takes a number of characters, 16 to 128."),
        ("{ type: secret, generate: long }", "`generate` takes a number of characters, 16 to 128."),
        ("{ type: secret, source: ./tool }", "`source` takes the name of a command in your own settings."),
        ("{ type: secret, generate: 32, from_file: a }", "both define the source of the value"),
        ("{ type: secret, generate: 32, deliver_secret: { file: ../x } }", "S0273"),
        ("{ type: secret, generate: 32, deliver_secret: { sink: ./x } }", "S0272"),
    ] {
        let problems = with(vars).problems();
        assert!(problems.contains(says), "{vars}: {problems}");
    }
    let lost = yaml("vars: { x: { type: secret, generate: 32 } }\ncrane: { a: { note: 'k${vars.x}' } }\n");
    assert!(lost.problems().contains("a generated secret would be lost"), "{}", lost.problems());
    assert_eq!(with("{ type: secret, default: { generate: 32 } }").problems(), "");
    let other = "crane: { a: { labels: { k: $vars.x }, sise: 1 } }\n";
    let other = yaml(&format!("vars: {{ x: {{ type: secret, generate: 32 }} }}\n{other}")).problems();
    assert!(!other.contains("would be lost"), "{other}");
    // An empty default reveals nothing.
    assert_eq!(with("{ type: secret, default: \"\" }").problems(), "");
}

#[test]
fn a_secret_in_a_variable_file_is_taken_literally() {
    let text = "vars: { key: { type: secret } }\ncrane: { a: { note: $vars.key } }";
    for secret in ["${x}", "$${x}", "$vars.key", "a\\nb", "007"] {
        let given = yaml(text).var_file(&format!("key: '{secret}'"));
        assert_eq!(given.problems(), yaml(text).env_var("key", secret).problems());
        let known = |stack: Stack| format!("{:?}", stack.named["vars.key"].expression);
        assert_eq!(known(given.stack()), known(yaml(text).env_var("key", secret).stack()));
    }
}

/// A CI system sets a variable without a secret of its name to an empty string.
#[test]
fn an_empty_environment_variable_is_not_a_secret_but_a_valid_string() {
    let text = "vars: { key: { type: secret }, note: { type: string } }\noutputs: { note: $vars.note }";
    let given = |key: &str| yaml(text).env_var("key", key).env_var("note", "").problems();
    assert!(given("").contains("S0251") && given("").contains("vars.key takes a secret"), "{}", given(""));
    assert!(!given("x").contains("S0251"), "{}", given("x"));
}
