//! Expressions: which are computed now, which wait, and with which bindings.

use super::yaml;

#[test]
fn whole_values_keep_their_type() {
    insta::assert_snapshot!(yaml(
        "
vars: { n: { type: int, default: 5 }, on: { type: bool, default: true }, t: { default: a } }
locals:
  sizes: { small: { tons: 2, tags: [x, y] }, large: { tons: 9 } }
  pick: '${locals.sizes[vars.t == \"a\" ? \"small\" : \"large\"]}'
  yard: $yard.main
  text: 'at ${locals.yard.fence}'
yard: { main: { cidr: '${cidr_subnet(\"10.0.0.0/8\", 8, 3)}' } }
crane:
  a:
    tons: $vars.n
    painted: $vars.on
    power: '${vars.on ? \"on\" : \"off\"}'
    tags: $locals.pick.tags
    note: '$$${vars.n}/${locals.pick.tons} US$ 5'
    labels: { a: $env, b: '${stack}', c: 9.10, d: no, e: '${file(\"motd.txt\")}' }
    rig: { hook: 016, length: '${vars.n - 1}' }
    yard: $locals.yard
    yards: [$locals.yard, 9d6ba6a5-6a53-4c2b-8b0f-6f4a3c9d1e22]
  b:
    tons: null
    note: $locals.text
    labels: { f: $locals.yard.fence, g: '${locals.text + vars.t}', h: '${locals.yard.fence}' }
    yard: '${env == \"default\" ? yard.main : null}'
    next: '${vars.on ? crane.a : crane.c}'
  c: { for_each: [x, y], labels: { l: '${crane.a.address + each.key}', m: '${crane.d[each.key].name}' }, when: '${each.key != \"y\"}' }
  d: { for_each: [x, z] }
"
    )
    .resolved(), @r#"
    crane.a labels={ a: default, b: test, c: 9.10, d: no, e: hello } name=a note=$5/2 US$ 5 painted=true power=on rig={ hook: 016, length: 4 } tags=[x, y] tons=5 yard=$yard.main yards=list($yard.main, 9d6ba6a5-6a53-4c2b-8b0f-6f4a3c9d1e22)
    crane.b labels=map(f: $yard.main:fence, g: cel(locals.text + vars.t | locals: { }, vars: { t: a } |  locals.text=text(at , $yard.main:fence)), h: $yard.main:fence) name=b next=cel(vars.on ? crane.a : crane.c | vars: { on: true } | crane.a, crane.c.x) note=text(at , $yard.main:fence) tons=null yard=cel(env == "default" ? yard.main : null | env: default | yard.main)
    crane.c.x labels=map(l: cel(crane.a.address + each.key | each: { key: x } | crane.a), m: cel(crane.d[each.key].name | each: { key: x } | crane.d.x)) name=c-x
    crane.d.x name=d-x
    crane.d.z name=d-z
    yard.main cidr=10.3.0.0/16 name=main
    "#);
}

#[test]
fn only_referenced_names_are_bound_in_an_expression() {
    insta::assert_snapshot!(yaml(
        "
vars: { a: { default: x }, b: { default: y } }
locals: { big: { one: { two: deep, three: other }, four: 4 } }
crane: { a: {} }
outputs:
  o: '${crane.a.address + vars.a + locals.big.one.two}'
  f: '${file(\"motd.txt\") + crane.a.address}'
  m: '${[1, 2].map(v, string(v) + crane.a.address)}'
"
    )
    .resolved(), @r#"
    crane.a name=a
    output f=cel(file("motd.txt") + crane.a.address | file: { motd.txt: hello } | crane.a)
    output m=cel([1, 2].map(v, string(v) + crane.a.address) |  | crane.a)
    output o=cel(crane.a.address + vars.a + locals.big.one.two | locals: { big: { one: { two: deep } } }, vars: { a: x } | crane.a)
    "#);
}

#[test]
fn an_expensive_expression_ends_in_an_error() {
    let list = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "locals: {{ l: [{list}] }}\noutputs: {{ o: '${{locals.l.all(a, locals.l.all(b, locals.l.all(c, a + b + c >= 0)))}}' }}\n"
    );
    let problems = yaml(&text).problems();
    assert!(problems.starts_with("S0216"), "{problems}");
}

#[test]
fn locals_are_unknown_per_key() {
    insta::assert_snapshot!(yaml(
        "
locals: { m: { x: $crane.a, y: 5, z: '${crane.a.address + \"!\"}' } }
crane: { a: {} }
outputs:
  a: '${locals.m.x.address + string(locals.m.y)}'
  b: '${locals.m.z + env}'
  c: $locals.m.y
  d: $locals.m.x.address
"
    )
    .resolved(), @r#"
    crane.a name=a
    output a=cel(locals.m.x.address + string(locals.m.y) | locals: { m: { y: 5 } } | crane.a locals.m.x=$crane.a)
    output b=cel(locals.m.z + env | env: default, locals: { m: { } } |  locals.m.z=cel(crane.a.address + "!" |  | crane.a))
    output c=5
    output d=cel(locals.m.x.address | locals: { m: { } } | crane.a locals.m.x=$crane.a)
    "#);
    let problems = yaml(
        "locals: { m: { x: $crane.a } }\ncrane: { a: {} }\noutputs: { o: '${locals.m.x.adress + \"\"}' }",
    )
    .problems();
    assert!(problems.contains("did you mean `address`?"), "{problems}");
}
