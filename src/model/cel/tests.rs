//! Tests of expressions over values and live objects, and of their limits.

use std::sync::Arc;

use super::{CelProgram, CelValue, ExpressionScope, PathSegment, evaluate_program};
use crate::model::address::{Address, Name};
use crate::model::budget::{Budget, MAX_VALUE_NODES, MAX_VALUE_TEXT_BYTES};
use crate::model::evaluate::{concatenate_parts, evaluate_cel, evaluate_expression};
use crate::model::expression::{AttributeLookup, CelExpression, EvaluationError, Expression, Reference};
use crate::model::values::secret::Secret;
use crate::model::values::value::{Attributes, Value, ValueMap};

fn vars() -> ValueMap {
    ValueMap::from([
        ("n".into(), Value::Integer(5)),
        ("t".into(), Value::text("text")),
        ("list".into(), Value::List(vec![Value::text("b"), Value::text("a")])),
        ("map".into(), Value::Map([("a".into(), Value::Integer(1)), ("b-c".into(), Value::Null)].into())),
        ("s".into(), Value::Secret(Secret::new("canary"))),
        ("digits".into(), Value::Secret(Secret::new("31337"))),
        ("w".into(), Value::Secret(Secret::new_withheld())),
        ("u".into(), Value::unknown(vec![Address::new("vm", "web")])),
    ])
}

fn eval(source: &str) -> String {
    let vars = vars();
    let mut scope = ExpressionScope::default();
    scope.roots.insert("vars".into(), CelValue::of_map(&vars));
    let value = CelProgram::parse(source)
        .map_err(|error| EvaluationError::Failed(format!("syntax: {}", error.message)))
        .and_then(|program| evaluate_program(&program, &scope));
    match value {
        Ok(value) => value.to_string(),
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn operators_and_macros_evaluate() {
    for (source, expected) in [
        ("1 + 2 * 3 - 4 / 2 % 2", "7"),
        ("7 / 2", "3"),
        ("0.1 + 0.2", "0.3"),
        ("1.5 * 2", "3.0"),
        ("1 == 1.0", "true"),
        ("-vars.n", "-5"),
        ("'a' + \"b\" + vars.t", "abtext"),
        ("[1] + [2, 3]", "[1, 2, 3]"),
        ("vars.list[1] + string(vars.map['a'])", "a1"),
        ("vars.n > 3 && vars.t == 'text'", "true"),
        ("vars.n > 3 ? 'yes' : 1 / 0", "yes"),
        ("false && 1 / 0 == 1", "false"),
        ("1 / 0 == 1 && false", "false"),
        ("true || vars.missing", "true"),
        ("'a' in vars.list", "true"),
        ("'a' in vars.map", "true"),
        ("has(vars.map.a)", "true"),
        ("has(vars.map.z)", "false"),
        ("vars.`map`.`b-c` == null", "true"),
        ("{'x': 1, 'y': [2]}", "{ x: 1, y: [2] }"),
        ("{'x': 1}.x", "1"),
        ("[1, 2, 3].filter(x, x > 1).map(x, x * 2)", "[4, 6]"),
        ("vars.list.all(x, size(x) == 1)", "true"),
        ("vars.list.exists(x, x == 'a')", "true"),
        ("vars.list.exists_one(x, x == 'z')", "false"),
        ("[0, 2].exists(x, 4 / x == 2)", "true"),
        ("[0, 1].all(x, 4 / x == 2)", "false"),
        ("vars.map.map(k, k)", "[a, b-c]"),
        ("[[1, 2], [3]].map(l, l.map(x, x + 1))", "[[2, 3], [4]]"),
        ("[1, 2] == [1, 2] && {'a': 1} != {'a': 2}", "true"),
        ("'a' < 'b' && 1 < 1.5", "true"),
        (
            "1 + 'a'",
            "! `+` does not work on a whole number and a text; `string(…)` converts a number to a text",
        ),
        ("9223372036854775807 + 1", "! the result of `+` is too large, or divides by zero"),
        ("vars.list[2]", "! there is no element 2: the list has 2"),
        ("vars.map.z", "! there is no `z` in this map; it has a, b-c"),
        ("vras.n", "! there is no `vras`; did you mean `vars`?"),
        ("vars.n.x", "! a whole number has no `x`"),
        ("1 ? 2 : 3", "! true or false was expected, not a whole number"),
        ("'a' < 1", "! a text and a whole number cannot be ordered"),
        ("{'a': 1, 'a': 2}", "! the key `a` occurs twice in a map"),
    ] {
        assert_eq!(eval(source), expected, "{source}");
    }
}

#[test]
fn functions_evaluate() {
    for (source, expected) in [
        ("get(vars.map, 'a', 7)", "1"),
        ("get(vars.map, 'z', 7)", "7"),
        ("get(vars.map, 'b-c', 7)", "7"),
        ("keys(vars.map)", "[a, b-c]"),
        ("values(vars.map)", "[1, null]"),
        ("size(vars.list) + size('äö') + size(vars.map)", "6"),
        ("join(vars.list, '-') + vars.list.join()", "b-aba"),
        ("format('%s-%03d-%x-%%', ['a', 7, 255])", "a-007-ff-%"),
        ("'%5s|'.format(['ab'])", "   ab|"),
        ("cidr_subnet('10.0.0.0/8', 8, 3)", "10.3.0.0/16"),
        ("cidr_subnet('10.0.0.0/8', 24, 16777215)", "10.255.255.255/32"),
        ("sha256('abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("base64('a') + base64('ab') + base64('abc')", "YQ==YWI=YWJj"),
        ("'a,b'.split(',').map(x, upperAscii(x))", "[A, B]"),
        ("' a '.trim().replace('a', 'b')", "b"),
        ("'abc'.matches('^a.c$') && 'abc'.startsWith('ab') && 'abc'.contains('b')", "true"),
        ("int('7') + int(2.9)", "9"),
        ("string(true) + string(1.50)", "true1.5"),
        ("cidr_subnet('10.0.0.0/8', 25, 0)", "! 10.0.0.0/8 does not have 25 more bits for subnets"),
        ("cidr_subnet('10.0.0.0/30', 2, 4)", "! 10.0.0.0/30 has 4 subnets of /32: 0 to 3"),
        ("format('%s', [])", "! `format` has too few values"),
        ("format('%q', [1])", "! `format` supports %s, %d, %x and %%, with a width up to 99"),
        ("'a'.matches('(')", "! the pattern of `matches` is not a regular expression, or too large"),
        ("file('x')", "! `x` can be read only while the configuration is loaded"),
        ("length(vars.list)", "! there is no function `length`; write `size(x)`"),
        ("concat([1], [2])", "! there is no function `concat`; write `list + list`"),
        ("jion(vars.list)", "! there is no function `jion`; did you mean `join`?"),
    ] {
        assert_eq!(eval(source), expected, "{source}");
    }
}

#[test]
fn unknown_and_secret_inputs_make_the_result_unknown_or_secret() {
    let unknown = "(known once vm.web is applied)";
    for (source, expected) in [
        ("vars.u + 'x'", unknown),
        ("vars.u == 'x'", unknown),
        ("vars.u ? 1 : 2", unknown),
        ("vars.u.any.thing", unknown),
        ("has(vars.u.any)", unknown),
        ("vars.u && false", "false"),
        ("true || vars.u", "true"),
        ("vars.u || false", unknown),
        ("[vars.u, 1]", "[(known once vm.web is applied), 1]"),
        ("[1, 2].map(x, vars.u)", "[(known once vm.web is applied), (known once vm.web is applied)]"),
        ("[1, 2].filter(x, vars.u)", unknown),
        ("[vars.u, 'a'] == ['b', 'b']", "false"),
        ("join([vars.u])", unknown),
        ("'a' in ['a', vars.u]", "true"),
        ("'b' in ['a', vars.u]", unknown),
        ("vars.s", "(secret)"),
        ("'x' + vars.s", "(secret)"),
        ("vars.s == 'canary'", "(secret)"),
        ("size(vars.s)", "(secret)"),
        ("[vars.s, 'x']", "[(secret), x]"),
        ("[vars.s, 'x'].map(v, v + '!')", "(secret)"),
        ("{'a': vars.s, 'b': 'x'}", "{ a: (secret), b: x }"),
        ("size([vars.s, 'x'])", "2"),
        ("size([vars.s + 'x'])", "(secret)"),
        ("vars.s == 'x' ? {'YES': ''} : {}", "(secret)"),
        ("vars.s == 'x' ? null : 1", "(secret)"),
        ("vars.s == 'x' ? vars.u : 'known'", "(known once vm.web is applied)"),
        ("vars.s.split('').map(c, ['0', '1', 'a', 'z'].filter(x, x <= c))", "(secret)"),
        ("vars.n > 3 ? vars.s : 'x'", "(secret)"),
        ("vars.s.startsWith('x') ? 'a' : 'b'", "(secret)"),
        ("true ? 'plain' : vars.s", "plain"),
        ("sha256(vars.s)", "(secret)"),
    ] {
        assert_eq!(eval(source), expected, "{source}");
    }
}

/// A failure on the substitute of a secret is withheld; a failure that depends on no secret is shown.
#[test]
fn an_expression_that_fails_on_a_withheld_secret_is_withheld() {
    let vars = vars();
    let mut scope = ExpressionScope::default();
    scope.roots.insert("vars".into(), CelValue::of_map(&vars));
    let value = |source: &str| evaluate_program(&CelProgram::parse(source).unwrap(), &scope);
    for source in [
        "cidr_subnet(vars.w, 8, 1)",
        "vars.w.split('/')[7]",
        "'10.0.0.0/' + string(int(vars.w))",
        "int(vars.w) > 3 ? 'a' : 'b'",
        "{vars.w: 1}['x']",
    ] {
        let is_undecided = |value| matches!(value, Value::Secret(secret) if secret.is_undecided());
        assert!(value(source).is_ok_and(is_undecided), "{source}");
    }
    let is_withheld = |value| matches!(value, Value::Secret(secret) if secret.is_withheld());
    assert!(value("vars.w + 'x'").is_ok_and(is_withheld));
    for source in [
        "cidr_subnet(vars.s, 8, 1)",
        "vars.list[7]",
        "[vars.w][1]",
        "vars.w + vars.list[7]",
        "vars.w + string(7 / 0)",
        "vars.w ? 1 : 2",
    ] {
        assert!(value(source).is_err(), "{source}");
    }
}

#[test]
fn evaluation_is_bounded() {
    let tens = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let nested = (0..8).fold("true".to_owned(), |inner, n| format!("{tens}.all(v{n}, {inner})"));
    assert!(eval(&nested).contains("steps"), "{nested}");
    let grown =
        (0..8).fold("'x'".to_owned(), |inner, n| format!("{tens}.map(v{n}, {inner}).join('aaaaaaaaaa')"));
    assert!(eval(&grown).starts_with('!'), "grown");
    for source in [
        format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        vec!["1"; 2000].join(" + "),
        format!("{}1", "true ? 1 : ".repeat(3000)),
        format!("{}1{}", "[".repeat(3000), "]".repeat(3000)),
        "a".repeat(20_000),
        format!("a{}", ".b".repeat(3000)),
    ] {
        assert!(eval(&source).starts_with("! syntax"), "{}", &source[..20]);
    }
    assert!(eval(&vec!["1"; 100].join(" + ")).starts_with("100"));
    // A list that a macro builds is not copied for each element.
    assert_eq!(eval(&format!("size({tens}.map(a, {tens}.map(b, {tens}.map(c, {tens}))))")), "10");
}

/// Evaluates over a list of a thousand entries and a string of 100 bytes, with this much of the budget left.
fn eval_within(source: &str, text: usize, nodes: usize) -> Result<Value, EvaluationError> {
    let budget = Budget::default();
    budget.charge_text(MAX_VALUE_TEXT_BYTES - text).unwrap();
    budget.charge_nodes(MAX_VALUE_NODES - nodes).unwrap();
    let list = Value::List((0..1000).map(Value::Integer).collect());
    let vars = ValueMap::from([("l".into(), list), ("t".into(), Value::text("x".repeat(100)))]);
    let mut scope = ExpressionScope { budget: Some(&budget), ..ExpressionScope::default() };
    scope.roots.insert("vars".into(), CelValue::of_map(&vars));
    let value = evaluate_program(&CelProgram::parse(source).unwrap(), &scope);
    if value.is_err() {
        // Intermediate values are refunded.
        assert_eq!(budget.charge_text(text), Ok(()));
        assert_eq!(budget.charge_nodes(nodes), Ok(()));
    }
    value
}

#[test]
fn a_value_over_the_budget_is_not_built() {
    // Budgets of text bytes and nodes: the first suffices, the second does not.
    for (source, enough, less) in [
        ("vars.t + vars.t", (450, 9), (150, 9)),
        ("[1, 2, 3].map(x, upperAscii(vars.t))", (700, 99), (250, 99)),
        ("base64(vars.t)", (300, 9), (120, 9)),
        ("vars.t.replace('x', 'yy')", (550, 9), (250, 9)),
        ("vars.t.split('x')", (150, 250), (150, 90)),
        ("[vars.t, vars.t].join(',')", (450, 9), (150, 9)),
        ("format('%s%s', [vars.t, vars.t])", (450, 9), (150, 9)),
        ("vars.l", (0, 1500), (0, 900)),
        ("vars.l.map(x, x)", (0, 6000), (0, 2000)),
        ("vars.l + vars.l", (0, 5000), (0, 1500)),
        ("{'a': {'b': {'c': 1}}}", (0, 80), (0, 20)),
        ("size([vars.l + []].map(l, [1, 2, 3].map(i, l + [i])))", (0, 5000), (0, 3000)),
    ] {
        assert!(eval_within(source, enough.0, enough.1).is_ok(), "{source}");
        assert_eq!(eval_within(source, less.0, less.1), Err(EvaluationError::TooLarge), "{source}");
    }
    let budget = Budget::default();
    budget.charge_text(MAX_VALUE_TEXT_BYTES - 150).unwrap();
    let part = Value::text("x".repeat(100));
    assert!(concatenate_parts(std::slice::from_ref(&part), &budget).is_ok());
    assert_eq!(concatenate_parts(&[part.clone(), part], &budget), Err(EvaluationError::TooLarge));
}

/// vm.web.a exists, vm.web.b is being created, vpc.main does not exist yet.
struct World;

impl AttributeLookup for World {
    fn attribute(&self, address: &Address, attribute: Option<&str>) -> Value {
        let (attributes, complete) = self.object(address);
        match attributes.get(attribute.unwrap_or("id")) {
            Some(value) => value.clone(),
            None if complete => Value::Null,
            None => Value::unknown(vec![address.clone()]),
        }
    }

    fn object(&self, address: &Address) -> (Attributes, bool) {
        let known = |pairs: &[(&'static str, &str)]| {
            pairs.iter().map(|(key, text)| (Name::new_static(key), Value::text(text))).collect()
        };
        match address.as_str() {
            "vm.web.a" => (known(&[("id", "id-a"), ("ip", "1.1.1.1"), ("name", "a")]), true),
            "vm.web.b" => (known(&[("id", "id-b"), ("name", "b")]), false),
            _ => (Attributes::new(), false),
        }
    }
}

fn live(
    source: &str,
    bindings: &[(&'static str, Value)],
    waiting: &[(&'static str, Expression)],
) -> String {
    let cel = CelExpression {
        source: source.to_owned(),
        bindings: bindings.iter().map(|(key, value)| (Name::new_static(key), value.clone())).collect(),
        objects: ["vm.web.a", "vm.web.a.users.x", "vm.web.b", "vpc.main"]
            .map(|text| Address::parse(text).unwrap())
            .into(),
        waiting: waiting.iter().map(|(key, part)| (Name::new_static(key), part.clone())).collect(),
        module: Name::default(),
    };
    let expression = Expression::Cel(Arc::new(cel));
    let text = serde_json::to_string(&expression).unwrap();
    assert_eq!(serde_json::from_str::<Expression>(&text).unwrap(), expression);
    match evaluate_expression(&expression, &World) {
        Ok(value) => value.to_string(),
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn attributes_of_live_objects_are_known_individually() {
    for (source, expected) in [
        ("vm.web.a.ip + '!'", "1.1.1.1!"),
        ("vm.web.b.name", "b"),
        ("vm.web.a.users.x.name + vm.web.a.ip", "(known once vm.web.a.users.x is applied)"),
        ("has(vm.web.a.users.y)", "false"),
        ("vm.web.b.ip", "(known once vm.web.b is applied)"),
        ("vm.web.a.none == null", "true"),
        ("has(vm.web.a.none)", "false"),
        ("has(vm.web.b.ip)", "(known once vm.web.b is applied)"),
        ("get(vm.web.b, 'ip', 'x')", "(known once vm.web.b is applied)"),
        ("get(vm.web.a, 'none', 'x')", "x"),
        ("values(vm.web).map(v, v.ip)", "[1.1.1.1, (known once vm.web.b is applied)]"),
        ("keys(vm.web)", "[a, b]"),
        ("size(vm.web)", "2"),
        ("vm.web['a'].ip", "1.1.1.1"),
        ("has(vm.gone)", "false"),
        ("has(vm.gone) ? vm.gone.ip : 'none'", "none"),
        ("vpc.main.gateway + vm.web.b.ip", "(known once vm.web.b, vpc.main is applied)"),
        // A whole resource is its id where a single value is expected.
        ("env == 'prod' ? vm.web.a : vpc.main", "id-a"),
        ("[vm.web.a, vpc.main]", "[id-a, (known once vpc.main is applied)]"),
        ("vm.web.a == vm.web.b", "false"),
    ] {
        assert_eq!(live(source, &[("env", Value::text("prod"))], &[]), expected, "{source}");
    }
}

#[test]
fn an_unknown_binding_is_evaluated_first() {
    let reference = |attribute: Option<&str>| {
        Expression::Reference(Reference {
            address: Address::parse("vm.web.a").unwrap(),
            attribute: attribute.map(Name::new),
        })
    };
    let waiting = [("locals.ip", reference(Some("ip"))), ("each.value", reference(None))];
    assert_eq!(
        live("locals.ip + '/' + each.value.name + each.key", &[("each", each_key())], &waiting),
        "1.1.1.1/ak"
    );
}

#[test]
fn neither_a_key_nor_a_message_shows_a_secret() {
    let fails = "! an expression that uses a secret fails; the reason is not shown, because it could reveal a part of the secret";
    for (source, expected) in [
        ("{vars.s: 1}", "(secret)"),
        ("{vars.s + 'x': 1}.y", fails),
        ("{'a': {upperAscii(vars.s): 1}}.a.b", fails),
        ("vars.s.split('n').map(x, {x: 1})", "(secret)"),
        ("{'a': vars.s, vars.t: 1}", "{ a: (secret), text: 1 }"),
        ("['a', 'b'].map(x, {x: vars.s})", "[{ a: (secret) }, { b: (secret) }]"),
        ("vars.map[vars.s]", fails),
        ("{}[vars.s]", fails),
        ("[1, 2][vars.s]", fails),
        ("[1, 2][int(vars.digits)]", fails),
        ("vars.s + vars.mpa", fails),
        ("vars.s + 1", fails),
        ("file(vars.s)", fails),
        ("cidr_subnet('10.0.0.0/8', int(vars.digits), 0)", fails),
        ("int(vars.digits) + 1", "(secret)"),
        ("double(vars.digits) > 1.5 ? 'a' : 'b'", "(secret)"),
        ("int(vars.s)", fails),
        ("1 / (vars.s == 'canary' ? 0 : 1)", fails),
        // An error that does not depend on the secret may be shown.
        ("upper(vars.s)", "! there is no function `upper`; write `upperAscii(text)`"),
        (
            "vars.s == 'x' ? upperAsci(vars.t) : 'y'",
            "! there is no function `upperAsci`; did you mean `upperAscii`?",
        ),
        ("int(true)", "! `int` takes a number or a text, not a boolean"),
        ("double([1])", "! `double` takes a number or a text, not a list"),
    ] {
        assert_eq!(eval(source), expected, "{source}");
    }
}

#[test]
fn a_fingerprinted_secret_cannot_be_computed_with() {
    let sealed = Value::Map([("s".into(), Value::Secret(Secret::Fingerprint(None)))].into());
    let cel = |source: &str| CelExpression {
        source: source.to_owned(),
        bindings: [(Name::new_static("vars"), sealed.clone())].into(),
        objects: Vec::new(),
        waiting: [].into(),
        module: Name::default(),
    };
    assert_eq!(
        evaluate_cel(&cel("vars.s"), &World, &Budget::default()).map(|value| value.to_string()),
        Ok("(secret)".into())
    );
    let computed = evaluate_cel(&cel("vars.s + 'x'"), &World, &Budget::default());
    assert_eq!(computed, Err(EvaluationError::Sensitive));
}

fn each_key() -> Value {
    Value::Map([("key".into(), Value::text("k"))].into())
}

#[test]
fn template_parts_are_concatenated() {
    let text =
        |parts: &[Value]| concatenate_parts(parts, &Budget::default()).map(|value| value.to_string());
    assert_eq!(text(&[Value::text("a"), Value::Integer(1), Value::Bool(true)]), Ok("a1true".into()));
    assert_eq!(text(&[Value::text("a"), Value::Secret(Secret::new("b"))]), Ok("(secret)".into()));
    assert_eq!(text(&[Value::Secret(Secret::Fingerprint(None)), Value::text("a")]), Ok("(secret)".into()));
    assert_eq!(
        text(&[Value::unknown(vec![Address::new("vm", "a")]), Value::Secret(Secret::new("b"))]),
        Ok("(known once vm.a is applied)".into())
    );
    assert!(text(&[Value::List(Vec::new())]).is_err() && text(&[Value::Null]).is_err());
}

#[test]
fn the_paths_of_an_expression_are_found() {
    let paths = |source: &str| {
        CelProgram::parse(source)
            .unwrap()
            .paths()
            .into_iter()
            .map(|path| {
                let parts: Vec<String> = path
                    .segments
                    .iter()
                    .map(|segment| match segment {
                        PathSegment::Name(name) => name.to_string(),
                        PathSegment::Computed(_) => "*".into(),
                    })
                    .collect();
                format!("{}{}{}", path.root, if path.tested { "?" } else { ":" }, parts.join("."))
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(paths("vm.web['a'].ip + vars.x"), "vm:web.a.ip vars:x");
    assert_eq!(paths("vm.web[each.key].ip"), "each:key vm:web.*.ip");
    assert_eq!(paths("has(vm.a.b) ? vm.a.b : 'x'"), "vm?a.b vm:a.b");
    assert_eq!(paths("values(vm.web).map(v, v.ip + env)"), "vm:web env:");
    assert_eq!(paths("[1].map(vm, vm.x)[0] + vm.y"), "vm:y");
    assert_eq!(CelProgram::parse("vpc.main").unwrap().as_path().map(|path| path.segments.len()), Some(1));
    assert_eq!(CelProgram::parse("has(vpc.main)").unwrap().as_path(), None);
}
