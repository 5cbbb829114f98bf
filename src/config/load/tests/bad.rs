//! The message of every mistake, each of which is reported once.

use super::yaml;
use crate::model::live::catalog::Catalog;

/// Returns each configuration as a comment, followed by its problems.
fn table(cases: &[&str]) -> String {
    cases
        .iter()
        .map(|case| {
            format!("# {}\n{}", case.trim().replace('\n', "\n# "), yaml(&format!("{case}\n")).problems())
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn invalid_references_are_errors() {
    insta::assert_snapshot!(table(&[
        "yard: { main: { cidr: 10.0.0.0/16 } }\ncrane: { a: { yard: $yard.mian } }",
        "crane: { a: { yard: $yard.main } }",
        "crane: { a: { yard: $crane.b }, b: {} }",
        "crane: { a: { next: $crane.b.address }, b: {} }",
        "crane: { a: { note: $crane.b.adress }, b: {} }",
        "crane: { a: { note: $crane.b }, b: {} }",
        "crane: { a: { tons: $crane.b.address }, b: {} }",
        "crane: { a: { tons: $crane.b.height }, b: {} }",
        "crane: { a: { next: $crane.b }, b: { for_each: [x, y] } }",
        "crane: { a: { next: $crane.b.z }, b: { for_each: [x, y] } }",
        "crane: { a: { next: $crane.b }, b: { when: false } }",
        "crane: { a: { note: '${crane.b.address}' }, b: { when: false } }",
        "crane: { a: { note: '${has(crane.b) ? crane.b.address : \"none\"}' }, b: { when: false } }",
        "crane: { a: { note: $crane.b.x.address }, b: { for_each: [x], when: false } }",
        "crane: { a: { note: '${PORT}' } }",
        "crane: { a: { note: 'run ${PORT}' } }",
        "crane: { a: { note: $PORT } }",
        "crane: { a: { note: echo $env } }",
        "crane: { a: { note: '$crane.b[\"x\"]' } }",
        "vars: { sizes: { type: list(string), default: [a] } }\ncrane: { a: { note: '$vars.sizes[0]' } }",
        "crane: { a: { note: $vars.x } }",
        "vars: { office: { default: a } }\ncrane: { a: { note: '${vars.ofice}' } }",
        "locals: { x: 1 }\ncrane: { a: { note: $locals.y } }",
        "crane: { a: { note: $each.key } }",
        "crane: { a: { note: $vars } }",
        "crane: { a: { note: $crane } }",
        "crane: { a: { note: $crane.b..c } }",
        "crane: { a: { yard: main } }",
    ]), @r#"
    # yard: { main: { cidr: 10.0.0.0/16 } }
    # crane: { a: { yard: $yard.mian } }
    S0201 4:27 there is no resource of this name [3:9 yard.main is declared here] | No block declares yard.mian. | did you mean `$yard.main`? | fix: main
    # crane: { a: { yard: $yard.main } }
    S0201 3:27 there is no resource of this name | No block declares yard.main. | the stack declares no yard
    # crane: { a: { yard: $crane.b }, b: {} }
    S0203 3:21 a reference has the wrong kind or type [3:33 crane.b is declared here] | It takes a reference to a yard, and crane.b is a crane.
    # crane: { a: { next: $crane.b.address }, b: {} }

    # crane: { a: { note: $crane.b.adress }, b: {} }
    S0202 3:30 there is no attribute of this name | A crane has no `adress`. | did you mean `address`? | fix: address
    # crane: { a: { note: $crane.b }, b: {} }
    S0203 3:21 a reference has the wrong kind or type [3:33 crane.b is declared here] | It takes a text, and crane.b is a crane. | name one of its attributes: `$crane.b.ATTRIBUTE`
    # crane: { a: { tons: $crane.b.address }, b: {} }
    S0222 3:21 a reference has the wrong kind or type [3:41 crane.b is declared here] | It takes a whole number (t), and crane.b.address is a text.
    # crane: { a: { tons: $crane.b.height }, b: {} }

    # crane: { a: { next: $crane.b }, b: { for_each: [x, y] } }
    S0204 3:21 a reference must name one instance [3:33 crane.b is declared here] | crane.b has `for_each`: its keys are x, y. | write `$crane.b.x`
    # crane: { a: { next: $crane.b.z }, b: { for_each: [x, y] } }
    S0204 3:30 there is no instance with this key [3:35 crane.b is declared here] | crane.b has no key `z`; it has `for_each`: its keys are x, y. | write `$crane.b.x`
    # crane: { a: { next: $crane.b }, b: { when: false } }
    S0205 3:21 this environment does not have the resource [3:33 crane.b is declared here] | The `when` of crane.b is false in the environment default. | guard it: `${has(crane.b) ? … : …}`, or give this block the same `when`
    # crane: { a: { note: '${crane.b.address}' }, b: { when: false } }
    S0205 3:21 this environment does not have the resource [3:45 crane.b is declared here] | The `when` of crane.b is false in the environment default. | guard it: `${has(crane.b) ? … : …}`, or give this block the same `when`
    # crane: { a: { note: '${has(crane.b) ? crane.b.address : "none"}' }, b: { when: false } }

    # crane: { a: { note: $crane.b.x.address }, b: { for_each: [x], when: false } }
    S0205 3:21 this environment does not have the resource [3:43 crane.b is declared here] | The `when` of crane.b.x is false in the environment default. | guard it: `${has(crane.b.x) ? … : …}`, or give this block the same `when`
    # crane: { a: { note: '${PORT}' } }
    S0211 3:21 this name means nothing here | `PORT` is not a kind, and not one of data, each, env, locals, module, stack, stacks, use, vars. | for the text itself, write `$${PORT}`
    # crane: { a: { note: 'run ${PORT}' } }
    S0211 3:21 this name means nothing here | `PORT` is not a kind, and not one of data, each, env, locals, module, stack, stacks, use, vars. | for the text itself, write `$${PORT}`
    # crane: { a: { note: $PORT } }
    S0211 3:21 this name means nothing here | `PORT` is not a kind, and not one of data, each, env, locals, module, stack, stacks, use, vars. | for the text itself, write `$$PORT`
    # crane: { a: { note: echo $env } }
    S0213 3:21 a `$` inside a text is ambiguous | `$env` is a reference only when it is the whole value. | write `${env}` to fill it in, or `$$env` for the text itself
    # crane: { a: { note: '$crane.b["x"]' } }
    S0213 3:21 a reference has no brackets | name the part after a dot: write `$crane.b.x`
    # vars: { sizes: { type: list(string), default: [a] } }
    # crane: { a: { note: '$vars.sizes[0]' } }
    S0213 4:21 a reference has no brackets | write `${vars.sizes[0]}`
    # crane: { a: { note: $vars.x } }
    S0209 3:27 this variable is not declared | There is no variable `x`. | declare it under `vars`
    # vars: { office: { default: a } }
    # crane: { a: { note: '${vars.ofice}' } }
    S0209 4:29 this variable is not declared | There is no variable `ofice`. | did you mean `office`? | fix: office
    # locals: { x: 1 }
    # crane: { a: { note: $locals.y } }
    S0210 4:29 this local is not declared | There is no local `y`. | declare it under `locals`
    # crane: { a: { note: $each.key } }
    S0212 3:21 `each` is used outside of `for_each` | give the block a `for_each`
    # crane: { a: { note: $vars } }
    S0211 3:21 a reference has too few or too many parts | write `$vars.NAME`, `$locals.NAME`, `$use.MODULE.OUTPUT`, `$each.key`, `$each.value`, `$env`, `$module` or `$stack`
    # crane: { a: { note: $crane } }
    S0201 3:21 a reference names no resource | write `crane.NAME`
    # crane: { a: { note: $crane.b..c } }
    S0214 3:21 a reference has an empty part | `$crane.b..c` has two dots in a row, or ends with one.
    # crane: { a: { yard: main } }
    S0222 3:21 this value has the wrong type | It takes a reference to a yard, and this is a text that is not an id. | write `$yard.NAME` for a block of this stack, or a full id
    "#);
}

#[test]
fn invalid_expressions_are_errors() {
    insta::assert_snapshot!(table(&[
        "crane: { a: { note: '${1 +}' } }",
        "crane: { a: { note: '${1' } }",
        "crane: { a: { note: '${1/0}' } }",
        "crane: { a: { note: 'x${[1]}' } }",
        "crane: { a: { note: '${nope(1)}' } }",
        "crane: { a: { note: '${joni([\"a\"])}' } }",
        "crane: { a: { tons: '${\"7\"}' } }",
        "crane: { a: { tons: '${7 * 100}' } }",
        "crane: { a: { tons: '1${7}' } }",
        "locals: { m: { a: 1 } }\ncrane: { a: { tons: $locals.m.b } }",
        "locals: { m: '${locals.n}', n: '${locals.m}' }\ncrane: { a: { tons: $locals.m } }",
        "crane: { a: { for_each: [x, y], note: '${1/0}' } }",
        "crane: { a: { note: '${file(\"../x\")}' } }",
        "crane: { a: { note: '${file(\"x\")}' } }",
    ]), @r#"
    # crane: { a: { note: '${1 +}' } }
    S0214 3:27 an expression cannot be read | The expression ends where a value is expected. | write the value; for the text `${` itself, write `$${`
    # crane: { a: { note: '${1' } }
    S0214 3:21 an expression is not closed | `${` begins an expression, and no `}` ends it. | close it with `}`, or write `$${` for the text itself
    # crane: { a: { note: '${1/0}' } }
    S0215 3:21 an expression has no value | The expression (`1/0`) fails: the result of `/` is too large, or divides by zero.
    # crane: { a: { note: 'x${[1]}' } }
    S0215 3:21 an expression has no value | The expression fails: a list cannot be inserted into a text.
    # crane: { a: { note: '${nope(1)}' } }
    S0215 3:21 an expression has no value | The expression (`nope(1)`) fails: there is no function `nope`; there are base64, bool, cidr_subnet, contains, double, endsWith, file, format, get, int, join, keys, lowerAscii, matches, replace, sha256, size, split, startsWith, string, trim, upperAscii, values.
    # crane: { a: { note: '${joni(["a"])}' } }
    S0215 3:21 an expression has no value | The expression (`joni(["a"])`) fails: there is no function `joni`; did you mean `join`?
    # crane: { a: { tons: '${"7"}' } }
    S0222 3:21 this value has the wrong type | It takes a whole number (t), and this is a text. | write `${int(…)}` around the expression
    # crane: { a: { tons: '${7 * 100}' } }
    S0223 3:21 this value is out of bounds | It takes 1 to 100 t, and this is 700.
    # crane: { a: { tons: '1${7}' } }
    S0222 3:21 this value has the wrong type | It takes a whole number (t), and this is a text. | write `${int(…)}` around the expression
    # locals: { m: { a: 1 } }
    # crane: { a: { tons: $locals.m.b } }
    S0215 4:21 an expression has no value | The expression (`locals.m.b`) fails: there is no `b` in this map; it has a.
    # locals: { m: '${locals.n}', n: '${locals.m}' }
    # crane: { a: { tons: $locals.m } }
    S0207 3:14 locals depend on each other in a cycle [3:14 locals.m uses locals.n] [3:32 locals.n uses locals.m] | give one of them a value that does not use the others
    # crane: { a: { for_each: [x, y], note: '${1/0}' } }
    S0215 3:39 an expression has no value [3:39 in crane.a (keys x, y)] | The expression (`1/0`) fails: the result of `/` is too large, or divides by zero.
    # crane: { a: { note: '${file("../x")}' } }
    S0215 3:21 an expression has no value | The expression (`file("../x")`) fails: `../x` cannot be read: the path leaves the stack's directory: it must be relative, without `..`.
    # crane: { a: { note: '${file("x")}' } }
    S0215 3:21 an expression has no value | The expression (`file("x")`) fails: `x` cannot be read: entity not found.
    "#);
}

#[test]
fn invalid_blocks_are_errors() {
    insta::assert_snapshot!(table(&[
        "crain: { a: {} }",
        "gate: { a: {} }",
        "policy: { a: {} }",
        "crane: [a]",
        "crane: { a: 5 }",
        "crane: { A b: {} }",
        "crane: { a: { tnos: 5 } }",
        "crane: { a: { yard_id: 5 } }",
        "crane: { a: { zzzzzz: 5 } }",
        "crane: { a: { height: 5 } }",
        "yard: { a: {} }",
        "yard: { a: { cidr: null } }",
        "yard: { a: { cidr: 10.0.0.1/16 } }",
        "crane: { a: { tons: '5', power: no, painted: yes } }",
        "crane: { a: { tons: [5], tags: x, rig: { hok: a }, labels: 5 } }",
        "crane: { a: { tags: [a, b, c, d] } }",
        "crane: { a: { for_each: 5 } }",
        "crane: { a: { for_each: [A] } }",
        "crane: { a: { for_each: [a, a] } }",
        "crane: { a: { for_each: $crane.b.address }, b: {} }",
        "crane: { a: { for_each: $crane.b }, b: {} }",
        "crane: { a: { for_each: $crane.b }, b: { for_each: $crane.a } }",
        "crane: { a: { for_each: '${[crane.b.address]}' }, b: {} }",
        "locals: { x: $crane.b.address }\ncrane: { a: { when: $locals.x }, b: {} }",
        "crane: { a: { when: 5 } }",
        "vars: { s: { type: secret } }\ncrane: { a: { when: '${vars.s == \"x\"}' } }",
        "yard: { a: { cidr: 10.0.0.0/16, gates: { app_x: {}, a-b: {}, ok: { nme: x } } } }",
    ]), @r#"
    # crain: { a: {} }
    S0230 3:1 this block is not known | There is no block `crain`. | did you mean `crane`? | fix, unsure: crane
    # gate: { a: {} }
    S0230 3:1 this block is not known | A gate is written inside its yard, under `gates`. | write `yard: { NAME: { gates: { … } } }`
    # policy: { a: {} }
    S0295 3:11 a policy is wrong | A policy has a condition that denies a change, and a message that explains the denial. | write `deny: "${…}"`, over `self` with `on: KIND`, or over `plan`
    # crane: [a]
    S0236 3:8 a map was expected | `crane` holds named entries. | each entry is a key, not an item: write `crane: { a: { … } }`
    # crane: { a: 5 }
    S0236 3:13 a map was expected | A crane holds attributes, each with its value. | write `a: { name: … }`
    # crane: { A b: {} }
    S0235 3:10 this name cannot be part of an address | Names hold a-z, 0-9, _ and - only, so that addresses need no quotes in a shell. | write `a_b` | fix: a_b
    # crane: { a: { tnos: 5 } }
    S0220 3:15 this key is not known | A crane has no `tnos`. | did you mean `tons`? | fix: tons
    # crane: { a: { yard_id: 5 } }
    S0220 3:15 this key is not known | A crane has no `yard_id`. | write `yard`, which is its name here | fix: yard
    # crane: { a: { zzzzzz: 5 } }
    S0220 3:15 this key is not known | A crane has no `zzzzzz`. | keys are: allow_exposure, deliver_secret, depends_on, for_each, key, labels, lifecycle, model, name, next, note, painted, power, project, rig, tags, tons, when, yard, yards
    # crane: { a: { height: 5 } }
    S0227 3:15 only the service sets this attribute | `height` of a crane can be read by reference, but not set. | remove the line
    # yard: { a: {} }
    S0221 3:9 a required attribute is missing | A yard needs `cidr`, a text. Its network. | add `cidr: …`
    # yard: { a: { cidr: null } }
    S0226 3:20 `null` is used where there is no default | `cidr` has no default: it must have a value.
    # yard: { a: { cidr: 10.0.0.1/16 } }
    S0224 3:20 this text has an invalid format | `10.0.0.1/16` is an address inside the network 10.0.0.0/16. | write 10.0.0.0/16 | fix: 10.0.0.0/16
    # crane: { a: { tons: '5', power: no, painted: yes } }
    S0222 3:21 this value has the wrong type | It takes a whole number (t), and this is a quoted text. | write 5 without quotes | fix: 5
    S0225 3:33 invalid keyword | It takes one of on, off, and this is `no`. | write `off` | fix: off
    S0222 3:46 this value has the wrong type | It takes true or false, and this is `yes`. | write true | fix: true
    # crane: { a: { tons: [5], tags: x, rig: { hok: a }, labels: 5 } }
    S0222 3:21 this value has the wrong type | It takes a whole number (t), and this is a list.
    S0222 3:32 this value has the wrong type | It takes a set, each entry a text, and this is a single value. | write `[x]` | fix: [x]
    S0220 3:42 this key is not known | There is no `hok` here. | did you mean `hook`? | fix: hook
    S0222 3:60 this value has the wrong type | It takes a map, each value a text, and this is a single value.
    # crane: { a: { tags: [a, b, c, d] } }
    S0228 3:21 there are too many entries | It takes at most 3 entries, and this has 4.
    # crane: { a: { for_each: 5 } }
    S0260 3:25 `for_each` needs a collection to iterate over | It takes a set, a list of texts, a map or a block, and this is a whole number. | name each of them: `for_each: [a, b]`
    # crane: { a: { for_each: [A] } }
    S0261 3:26 this key cannot be part of an address | `A` has characters other than a-z, 0-9, _ and -. | write `a`; put a text that must not change into the values of a map: `for_each: { a: … }`
    # crane: { a: { for_each: [a, a] } }
    S0261 3:29 a key occurs twice in `for_each` | The key `a` names two instances of crane.a.
    # crane: { a: { for_each: $crane.b.address }, b: {} }
    S0260 3:25 `for_each` needs a collection to iterate over | `$crane.b.address` is one resource, or an attribute that is not known yet. | name a block that has `for_each` itself, or a variable or local
    # crane: { a: { for_each: $crane.b }, b: {} }
    S0260 3:25 `for_each` needs a collection to iterate over | `$crane.b` is one resource, or an attribute that is not known yet. | name a block that has `for_each` itself, or a variable or local
    # crane: { a: { for_each: $crane.b }, b: { for_each: $crane.a } }
    S0206 3:10 blocks iterate over each other's instances [3:10 the `for_each` of crane.a depends on this one] | give one of the blocks keys of its own
    S0206 3:37 blocks iterate over each other's instances [3:37 the `for_each` of crane.b depends on this one] | give one of the blocks keys of its own
    # crane: { a: { for_each: '${[crane.b.address]}' }, b: {} }
    S0208 3:25 this must be known before any resource exists | `for_each` is evaluated while the configuration is loaded, and attributes of a crane are known only later. | use a variable, or a local that refers to no resource
    # locals: { x: $crane.b.address }
    # crane: { a: { when: $locals.x }, b: {} }
    S0208 4:21 this must be known before any resource exists | `when` is evaluated while the configuration is loaded, and attributes of a resource that the local names are known only later. | use a variable, or a local that refers to no resource
    # crane: { a: { when: 5 } }
    S0262 3:21 `when` is true or false | This is a whole number. | write an expression such as `${env == 'prod'}`
    # vars: { s: { type: secret } }
    # crane: { a: { when: '${vars.s == "x"}' } }
    S0251 3:9 a variable has no value [3:9 declared here without a default] | vars.s takes a secret. | give it by STEAD_VAR_S, or by a line `s: …` in a file of your own that `--var-file` names; `plan` and `apply` ask for it on a terminal; a flag would show it to every user who lists this machine's processes
    # yard: { a: { cidr: 10.0.0.0/16, gates: { app_x: {}, a-b: {}, ok: { nme: x } } } }
    S0224 3:42 this text has an invalid format | `name` defaults to `app_x`. The service reserves logins that begin with app_. | write a `name`
    S0224 3:53 this text has an invalid format | `name` defaults to `a-b`. `a-b` is not a valid login: use a-z, 0-9 and _, and no digit first. | write a `name`
    S0220 3:68 this key is not known | A gate has no `nme`. | did you mean `name`? | fix: name
    "#);
}

#[test]
fn text_that_resembles_an_expression_is_a_warning() {
    insta::assert_snapshot!(table(&[
        "vars: { size: { default: 1 } }\ncrane: { a: { note: file(s), labels: { x: vars.size } } }",
        "vars: { size: { default: x } }\ncrane: { a: { note: \"${'file(s)'}\", labels: { x: \"${'vars.size'}\", y: '$$file(x)', z: $vars.size } } }",
        "vars: { size: { default: 1 } }\nlocals: { mm: { '${vars.size}': 1 } }\ncrane: { a: { labels: $locals.mm } }",
    ]), @r#"
    # vars: { size: { default: 1 } }
    # crane: { a: { note: file(s), labels: { x: vars.size } } }
    S0222 4:21 an expression is written as a text | `file(s)` would be a literal text. | write `"${file('s')}"`; for the text itself, write `"${'file(s)'}"`
    S0222 4:43 an expression is written as a text | `vars.size` would be a literal text. | write `$vars.size`; for the text itself, write `"${'vars.size'}"`
    # vars: { size: { default: x } }
    # crane: { a: { note: "${'file(s)'}", labels: { x: "${'vars.size'}", y: '$$file(x)', z: $vars.size } } }

    # vars: { size: { default: 1 } }
    # locals: { mm: { '${vars.size}': 1 } }
    # crane: { a: { labels: $locals.mm } }
    S0214 4:17 a key cannot be an expression | `${vars.size}` would be a literal key: only values can be expressions. | write the key out, or compute the whole map by one expression: `"${{vars.key: 'value'}}"`
    "#);
}

#[test]
fn invalid_keywords_are_errors() {
    insta::assert_snapshot!(table(&[
        "crane: { a: { lifecycle: { protcet: true, protect: 5, on_remove: kep, replace: x, timeouts: { create: 30, x: 1m } } } }",
        "crane: { a: { lifecycle: { ignore_drift: [nte, { field: note, until: soon }, height] } } }",
        "yard: { a: { cidr: 10.0.0.0/16, lifecycle: { final_snapshot: true } } }",
        "crane: { a: { depends_on: [crane.b, yard.x, nope, crane.a.b, 5] } }",
        "crane: { a: { deliver_secret: { file: x } } }",
        "yard: { a: { cidr: 10.0.0.0/16, gates: { b: { deliver_secret: { file: ../x } }, c: { deliver_secret: { env_file: x } } } } }",
        "project: { p: {}, q: {} }\ncrane: { a: {}, b: { project: $project.p }, c: { project: $crane.a } }",
        "project: { p: { project: x } }",
    ]), @"
    # crane: { a: { lifecycle: { protcet: true, protect: 5, on_remove: kep, replace: x, timeouts: { create: 30, x: 1m } } } }
    S0220 3:28 this key is not known | There is no `protcet` here. | did you mean `protect`?
    S0270 3:52 a `lifecycle` block is wrong | `protect` is true or false. | write `protect: true`, or an expression such as `${env == 'prod'}`
    S0270 3:66 a `lifecycle` block is wrong | It takes one of delete, keep. | did you mean `keep`?
    S0270 3:80 a `lifecycle` block is wrong | It takes one of create_first, delete_first, never. | write one of create_first, delete_first, never
    S0271 3:103 this is not a duration | A duration is a whole number and a unit: s, m or h, at most a week. | add the unit: `30s`, `30m` or `30h`
    S0220 3:107 this key is not known | There is no `x` here. | keys are: create, delete, update
    # crane: { a: { lifecycle: { ignore_drift: [nte, { field: note, until: soon }, height] } } }
    S0270 3:43 a `lifecycle` block is wrong | A crane has no attribute `nte` that can be set. | did you mean `note`?
    S0270 3:70 a `lifecycle` block is wrong | `until` is a date. | write the last day as YYYY-MM-DD
    S0270 3:78 a `lifecycle` block is wrong | A crane has no attribute `height` that can be set. | attributes are: name, yard, next, tons, model, power, painted, note, key, labels, yards, tags, rig
    # yard: { a: { cidr: 10.0.0.0/16, lifecycle: { final_snapshot: true } } }
    S0270 3:46 a `lifecycle` block is wrong | The data of a yard cannot be copied before its deletion. | remove the keyword
    # crane: { a: { depends_on: [crane.b, yard.x, nope, crane.a.b, 5] } }
    S0274 3:28 `depends_on` names no resource | No block declares crane.b. | crane.a is declared, for example
    S0274 3:37 `depends_on` names no resource | No block declares yard.x. | the stack declares no yard
    S0274 3:45 `depends_on` names no resource | name blocks by their addresses: KIND.NAME, or KIND.NAME.KEY for one instance
    S0274 3:51 `depends_on` names no resource | name blocks by their addresses: KIND.NAME, or KIND.NAME.KEY for one instance
    S0274 3:62 `depends_on` names no resource | name blocks by their addresses: KIND.NAME, or KIND.NAME.KEY for one instance
    # crane: { a: { deliver_secret: { file: x } } }
    S0272 3:15 `deliver_secret` is wrong | A crane has no secret to deliver. | write `deliver_secret: { file: ./secrets/NAME }`, `{ env_file: ./.env, variable: NAME }`, or `{ sink: NAME }` for a program from your own settings
    # yard: { a: { cidr: 10.0.0.0/16, gates: { b: { deliver_secret: { file: ../x } }, c: { deliver_secret: { env_file: x } } } } }
    S0273 3:71 this path cannot be used | the path leaves the stack's directory: it must be relative, without `..`.
    S0272 3:102 `deliver_secret` is wrong | It takes `file` alone, `env_file` with a `variable`, or `sink` alone. | write `deliver_secret: { file: ./secrets/NAME }`, `{ env_file: ./.env, variable: NAME }`, or `{ sink: NAME }` for a program from your own settings
    # project: { p: {}, q: {} }
    # crane: { a: {}, b: { project: $project.p }, c: { project: $crane.a } }
    S0275 4:10 a resource does not name its project | The stack has several projects. | add `project: $project.p`
    S0275 4:59 this is not a project | It takes a reference to a project, or a text. | write `project: $project.NAME`, or a project's name or id
    # project: { p: { project: x } }
    S0275 3:26 this is not a project | A project belongs to no project, or to its parent's. | write `project: $project.NAME`, or a project's name or id
    ");
}

#[test]
fn dependency_cycles_are_errors() {
    insta::assert_snapshot!(table(&[
        "crane: { a: { next: $crane.b }, b: { note: '${crane.c.address}' }, c: { depends_on: [crane.a] } }",
        "crane: { a: { next: $crane.a } }",
        "yard: { a: { cidr: 10.0.0.0/16, crane: $crane.a } }\ncrane: { a: { yard: $yard.a } }",
    ]), @"
    # crane: { a: { next: $crane.b }, b: { note: '${crane.c.address}' }, c: { depends_on: [crane.a] } }
    S0206 3:21 resources depend on each other in a cycle [3:21 crane.a depends on crane.b] [3:44 crane.b depends on crane.c] [3:68 crane.c depends on crane.a] | None of them can be created first. | remove one of these references, or set it after both exist
    # crane: { a: { next: $crane.a } }
    S0206 3:21 resources depend on each other in a cycle [3:21 crane.a depends on crane.a] | None of them can be created first. | remove one of these references, or set it after both exist
    # yard: { a: { cidr: 10.0.0.0/16, crane: $crane.a } }
    # crane: { a: { yard: $yard.a } }
    S0206 4:21 resources depend on each other in a cycle [4:21 crane.a depends on yard.a] [3:40 yard.a depends on crane.a] | None of them can be created first. | remove one of these references, or set it after both exist
    ");
}

#[test]
fn violated_rules_are_errors() {
    insta::assert_snapshot!(table(&[
        "crane: { a: { tons: 5, power: off } }",
        "crane: { a: { tons: 1, power: off } }",
        "crane: { a: { for_each: [x, y], tons: 5, power: off } }",
        "yard: { a: { cidr: 10.0.0.0/8 }, b: { cidr: 10.1.0.0/16 }, c: { cidr: 10.2.0.0/16, name: a }, d: { cidr: 11.0.0.0/8 } }",
        "yard: { a: { cidr: 10.0.0.0/8, gates: { a: {}, b: {}, c: {}, d: {} } } }",
    ]), @r#"
    # crane: { a: { tons: 5, power: off } }
    R9001 3:21 Only a crane that runs lifts anything | `power` is off. Rule: the invented manual. | remove `tons`, or set `power: on`
    # crane: { a: { tons: 1, power: off } }

    # crane: { a: { for_each: [x, y], tons: 5, power: off } }
    R9001 3:39 Only a crane that runs lifts anything [3:39 in crane.a (keys x, y)] | `power` is off. Rule: the invented manual. | remove `tons`, or set `power: on`
    # yard: { a: { cidr: 10.0.0.0/8 }, b: { cidr: 10.1.0.0/16 }, c: { cidr: 10.2.0.0/16, name: a }, d: { cidr: 11.0.0.0/8 } }
    R9005 3:45 Yards must not overlap [3:20 yard.a is here] | 10.1.0.0/16 of yard.b overlaps 10.0.0.0/8 of yard.a. Rule: the invented manual.
    R9005 3:71 Yards must not overlap [3:20 yard.a is here] | 10.2.0.0/16 of yard.c overlaps 10.0.0.0/8 of yard.a. Rule: the invented manual.
    R9006 3:90 A yard's name is unique [3:9 yard.a is here] | yard.a and yard.c have the same name. Rule: the invented manual.
    # yard: { a: { cidr: 10.0.0.0/8, gates: { a: {}, b: {}, c: {}, d: {} } } }
    R9004 3:62 A yard has at most 3 gates | yard.a has 4. Rule: the invented manual.
    "#);
}

#[test]
fn violated_rules_over_the_pinned_catalog_are_errors() {
    let pinned: Catalog = serde_json::from_value(serde_json::json!({
        "read_at": null,
        "tables": {"crane": [
            {"id": 7, "slug": "big", "fields": {"power": "on", "small": false}},
            {"id": 8, "slug": "tiny", "fields": {"power": "off", "small": true}},
        ]},
    }))
    .unwrap();
    let check = |text: &str| {
        let config = yaml(text).request(|request| request.pinned = Some(pinned.clone()));
        format!("# {text}\n{}", config.problems())
    };
    insta::assert_snapshot!([
        check("crane: { a: { model: big }, b: { model: 7 }, c: { model: other, power: off } }"),
        check("crane: { a: { model: tiny } }"),
        check("crane: { a: { model: tiny, power: off, painted: true } }"),
        check("crane: { a: { model: '8', power: off, painted: false } }"),
    ].join("\n"), @r#"
    # crane: { a: { model: big }, b: { model: 7 }, c: { model: other, power: off } }

    # crane: { a: { model: tiny } }
    R9002 3:22 A crane's model must have its power | `tiny` has power off, and `power` is on. Rule: the invented manual.
    # crane: { a: { model: tiny, power: off, painted: true } }
    R9003 3:49 A small crane is not painted | `model` is tiny, and `painted` is true. Rule: the invented manual.
    # crane: { a: { model: '8', power: off, painted: false } }
    "#);
}

#[test]
fn invalid_headers_are_errors() {
    let bare = |text: &str| format!("# {text}\n{}", yaml(text).bare().problems());
    insta::assert_snapshot!([
        bare("{}"),
        bare("stead: 2\nstack: a b\nbackend: s3"),
        yaml("stack: x").bare().file("b.stead.yaml", "stead: 1\nstack: y\n").problems(),
        yaml("crane: { a: {} }").file("b.stead.yaml", "crane: { a: {} }\n").problems(),
        yaml("environments: { prod: {}, staging: {} }").problems(),
        yaml("environments: { prod: {}, staging: {} }").env("prdo").problems(),
        yaml("environments: { prod: { default: true }, staging: { default: true, confrm: x, set: {} } }").env("staging").problems(),
        yaml("").env("prod").problems(),
        yaml("").file("x.txt", "").problems(),
    ].join("\n"), @"
    # {}
    S0233 - the stack does not declare its language version | put `stead: 1` (KDL: `stead 1`) at the top of one file
    S0234 - the stack has no name | put `stack: NAME` (KDL: `stack NAME`) into one file
    # stead: 2
    stack: a b
    backend: s3
    S0233 1:8 this version of the language is not known | This program reads version 1. | write `stead: 1`
    S0234 2:8 this is not a valid name for a stack | A stack's name holds a-z, 0-9, _ and - only. | write `stack: shop`, for example
    S0237 3:10 `backend` takes one word: required | The settings or STEAD_BACKEND define where the ledger is stored; a stack cannot define it. | write `backend: required`, or remove the line
    S0234 2:1 the stack is named twice [2:1 named again here] [1:1 named here first] | all stack files of a directory are one stack: keep one name
    S0232 1:10 a name is declared twice [1:10 declared again here] [3:10 declared here first] | There are two declarations of `a`. | keep one of the two
    S0241 3:17 no environment is chosen [3:17 environments are declared here] | The stack has several: prod, staging. | choose one with `--env NAME` or STEAD_ENV, or mark one with `default: true`
    S0240 3:17 this environment is not declared [3:17 environments are declared here] | There is no environment `prdo`. | did you mean `prod`? Environments are: prod, staging
    S0242 3:42 two environments are marked `default` [3:42 also marked] [3:17 marked] | keep one `default: true`
    S0242 3:68 an environment does not have this key | did you mean `confirm`? | fix: confirm
    S0240 - this environment is not declared | There is no environment `prod`. | the stack declares no environments: leave `--env` out
    S0281 - a file is neither YAML nor KDL | `x.txt` ends in neither .yaml, .yml nor .kdl. | rename the file
    ");
}

#[test]
fn no_suggestion_writes_a_duplicate_key() {
    for (case, fixes) in [
        ("vars: { a: { default: x } }\nvariables: { b: { default: y } }", 0),
        ("variable: { a: { default: x } }\nvariables: { b: { default: y } }", 1),
        ("outputs: { a: 1 }\noutput: { b: 2 }", 0),
        ("varss: { a: { default: x } }\nvars: { b: { default: y } }", 0),
        ("yard: { main: { cidr: 10.0.0.0/16, cidr_block: 10.1.0.0/16 } }", 0),
        ("yard: { main: { cidr_block: 10.0.0.0/16, ip_range: 10.1.0.0/16 } }", 1),
        ("yard: { main: { cidr_block: 10.0.0.0/16 }, b: { cidr_block: 10.1.0.0/16 } }", 2),
        ("yard: { main: { cidr: 10.0.0.0/16, lifecycle: { protekt: true, protect: true } } }", 0),
    ] {
        let told = yaml(&format!("{case}\n")).problems();
        assert_eq!(told.matches("| fix").count(), fixes, "{case}\n{told}");
    }
}
